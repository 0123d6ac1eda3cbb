import { Buffer } from "node:buffer";

/** JSON with sorted names, base64 for bytes and digits for bigints: equal text means equal values. */
export function canonicalJson(value: unknown): string {
  if (value instanceof Uint8Array) return `"${Buffer.from(value).toString("base64")}"`;
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value === 0 ? 0 : value);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(",")}}`;
}
