/**
 * Stored messages as JSON, in the form of Kafka's own converters: the fields that the version has, in their order; a tagged
 * field only when it is not at its default; bytes in base64.
 *
 * @module
 */

import { toBase64 } from "../bytes/base64.ts";
import type { MessageField, MessageSchema } from "./api.ts";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  /** A member. */
  readonly [name: string]: Json;
}

/** `message`, which was read in `version`, as JSON. An integer beyond ±(2^53−1) becomes a string of its digits. */
export function messageToJson<T>(schema: MessageSchema<T>, message: T, version: number): JsonObject {
  return structToJson(schema.fields, message, version);
}

function structToJson(fields: readonly MessageField[], struct: unknown, version: number): JsonObject {
  const json: { [name: string]: Json } = {};
  for (const field of fields) {
    if (version < (field.from ?? 0) || version > (field.until ?? version)) continue;
    const value = (struct as { readonly [name: string]: unknown })[field.name];
    if (field.unless !== undefined && isSame(value, field.unless)) continue;
    json[field.name] = toJson(value, field.fields ?? [], version);
  }
  return json;
}

function toJson(value: unknown, fields: readonly MessageField[], version: number): Json {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return toBase64(value);
  if (Array.isArray(value)) return value.map((item) => toJson(item, fields, version));
  return structToJson(fields, value, version);
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => isSame((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]));
}
