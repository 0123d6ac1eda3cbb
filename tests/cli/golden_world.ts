import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { goldenCopy } from "../helpers/memory_copy.ts";
import { FakeWorld, type Ran } from "./fake_io.ts";

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));

/** Names of all sets that are whole directories. */
export const GOLDEN_SETS: readonly string[] = readdirSync(GOLDEN, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "16-damaged")
  .map(({ name }) => name)
  .sort();

/** What Kafka's classes say of a set. */
// deno-lint-ignore no-explicit-any -- the file of another program, looked at field by field
export function expectedOf(set: string): any {
  // One number in decoded payloads is beyond what JSON.parse holds; elsewhere such numbers are strings.
  return JSON.parse(unzipped(`${set}/expected.json.gz`).replace(/"metadataHash":(\d{16,})/g, '"metadataHash":"$1"'));
}

/** What Kafka's tool prints of a set, without its standard error. */
export function dumpOf(set: string): string {
  return unzipped(`${set}/dump.txt.gz`).split("--- stderr ---\n")[0]!;
}

function unzipped(path: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(gunzipSync(readFileSync(`${GOLDEN}${path}`)));
}

/** A world with all codecs and a golden set at `/data`. */
export async function worldWith(set: string): Promise<FakeWorld> {
  const world = new FakeWorld();
  world.codecs = { ...plainCodecs, ...nativeCodecs() };
  world.folders.set("/data", await goldenCopy(set));
  return world;
}

/** The JSON lines of an answer. */
// deno-lint-ignore no-explicit-any -- lines of JSON, looked at field by field
export function jsonLines({ out }: Ran): any[] {
  return out.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}

/** Base64 in the form of expected.json: of more than 256 bytes only length and hash. */
export function bytesForm(base64: string | null): unknown {
  if (base64 === null) return null;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  if (bytes.length <= 256) return base64;
  return { length: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
