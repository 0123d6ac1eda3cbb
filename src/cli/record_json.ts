/**
 * Records as JSON lines, written by `consume -o json` and `log read -o json` and read back by `produce --input json`: bytes
 * that are not UTF-8 come as base64 under another name, null is null, and payload text is quoted, never parsed.
 *
 * @module
 */

import type { ProducerRecord } from "../producer/record_metadata.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { UsageError } from "./command.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** One line for `record`, without its end. */
export function recordToJson(record: KafkaRecord): string {
  return JSON.stringify({
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    timestamp: record.timestamp,
    timestampType: record.timestampType,
    ...payload("key", record.key),
    ...payload("value", record.value),
    headers: record.headers.map(([name, value]) => {
      const text = decode(value);
      return text === undefined ? [name, null, toBase64(value!)] : [name, text];
    }),
  });
}

/**
 * The record in a line; `topic` is where it goes, whatever the line says.
 *
 * @throws UsageError naming the line.
 */
export function recordFromJson(line: string, number: number, topic: string): ProducerRecord {
  let json: { [name: string]: unknown };
  try {
    json = JSON.parse(line);
  } catch {
    throw new UsageError(`line ${number} is not JSON: ${line.slice(0, 60)}`);
  }
  if (typeof json !== "object" || json === null) throw new UsageError(`line ${number} is not an object`);
  const fail = (what: string) => new UsageError(`line ${number}: ${what}`);
  const bytes = (name: string): Uint8Array | string | null => {
    const base64 = json[`${name}Base64`];
    if (typeof base64 === "string") return fromBase64(base64);
    const text = json[name];
    if (text === undefined || text === null) return null;
    if (typeof text !== "string") throw fail(`${name} must be a string or null`);
    return text;
  };
  const headers = json.headers ?? [];
  if (!Array.isArray(headers)) throw fail("headers must be a list of [name, value]");
  return {
    topic,
    key: bytes("key"),
    value: bytes("value"),
    headers: headers.map((header) => {
      if (!Array.isArray(header) || typeof header[0] !== "string") throw fail("a header must be [name, value]");
      return [header[0], typeof header[2] === "string" ? fromBase64(header[2]) : header[1] ?? null] as const;
    }),
    ...(typeof json.timestamp === "number" && json.timestamp >= 0 ? { timestamp: json.timestamp } : {}),
  };
}

/** Text for a terminal: bytes as UTF-8, null as `null`. */
export function payloadText(bytes: Uint8Array | null): string {
  return bytes === null ? "null" : new TextDecoder().decode(bytes);
}

function payload(name: string, bytes: Uint8Array | null): Record<string, string | null> {
  const text = decode(bytes);
  return text === undefined ? { [`${name}Base64`]: toBase64(bytes!) } : { [name]: text };
}

/** The text of `bytes`; undefined when they are not UTF-8. */
function decode(bytes: Uint8Array | null): string | null | undefined {
  if (bytes === null) return null;
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw new UsageError(`not base64: ${text.slice(0, 60)}`);
  }
}
