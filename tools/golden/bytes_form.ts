import { toBase64 } from "../../src/bytes/base64.ts";
import type { View } from "./differences.ts";

/** Most bytes that stand in `expected.json` as they are. */
const MAX_WHOLE = 256;

/** Bytes as `expected.json` has them: base64, or length and hash when there are many. */
export async function bytesForm(bytes: Uint8Array | null): Promise<View> {
  if (bytes === null) return null;
  if (bytes.length <= MAX_WHOLE) return toBase64(bytes);
  return { length: bytes.length, sha256: await sha256(bytes) };
}

/** SHA-256 in hex. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
