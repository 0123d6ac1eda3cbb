/**
 * Values of a message for trying its code: random ones, its defaults, and what Kafka's JSON says.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { type Random, randomInt } from "../../src/core/random.ts";
import {
  camelCase,
  elementOf,
  type FieldSpec,
  includes,
  integerDefault,
  isBigint,
  isEmpty,
  isNullByDefault,
  type MessageSpec,
  parseRange,
  structsOf,
  versionsOf,
  ZERO_UUID,
} from "./definitions.ts";

/** What a message consists of. */
export type Value = null | boolean | number | bigint | string | Uint8Array | Value[] | { [name: string]: Value };

/** "few": empty lists and half of the fields by default; "extreme": ends of the ranges, long and wide strings, more nulls. */
export type Style = "usual" | "few" | "extreme";

const TEXTS = ["", "a", "topic-1", "日本語", "😀 é", "\u0000\u07ff\uffff", "x".repeat(130)];
const INTEGERS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  int8: [-128, 127],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

/** The fields and structs of one message. */
export class MessageShape {
  readonly #fields: readonly FieldSpec[];
  readonly #structs: ReadonlyMap<string, readonly FieldSpec[]>;
  readonly #random: Random;

  /** The shape of `spec`, with `random` as the source of values. */
  constructor(spec: MessageSpec, random: Random) {
    this.#fields = spec.fields ?? [];
    this.#structs = structsOf(spec);
    this.#random = random;
  }

  /** Whether a record batch is part of it. */
  get hasRecords(): boolean {
    return [this.#fields, ...this.#structs.values()].flat().some((field) => field.type === "records");
  }

  /** A value that `version` can carry. */
  random(version: number, style: Style): Value {
    return this.#randomStruct(this.#fields, version, style);
  }

  /** What a message is when nothing was set. */
  defaults(): Value {
    return this.#defaultsOf(this.#fields);
  }

  /** The value in the JSON of Kafka's converters, which leaves out what the version does not have. */
  fromJson(json: unknown): Value {
    return this.#structFromJson(this.#fields, json as Record<string, unknown>);
  }

  /** The value as the `toString` of Kafka's class prints it; of batches and buffers only the size. */
  toJavaText(name: string, value: Value): string {
    return this.#structToJava(name, this.#fields, value as Record<string, Value>);
  }

  /** What Kafka's class printed, brought to the form of `toJavaText`. */
  normalJavaText(text: string): string {
    let normal = text.replace(/MemoryRecords\(size=(\d+), buffer=[^\]]*\]\)/g, "$1 bytes")
      .replace(/java\.nio\.HeapByteBuffer\[pos=(\d+) lim=(\d+) cap=\d+\]/g, (_, start, end) => `${end - start} bytes`);
    for (const field of [this.#fields, ...this.#structs.values()].flat()) {
      const name = camelCase(field.name);
      if (field.type === "float64") {
        const pattern = new RegExp(`(\\b${name}=)([^,)]+)`, "g");
        normal = normal.replace(pattern, (_, head, value) => `${head}${Number(value)}`);
      } else if (field.type === "int64" && BigInt(field.default ?? 0) > Number.MAX_SAFE_INTEGER) {
        normal = normal.replaceAll(`${name}=${field.default}`, `${name}=${integerDefault(field)}`);
      }
    }
    return normal;
  }

  /** The value as Kafka's converters see it: with empty batches. */
  withoutRecords(value: Value): Value {
    return this.#structWithoutRecords(this.#fields, value as Record<string, Value>);
  }

  #pick<T>(list: readonly T[]): T {
    return list[randomInt(this.#random, list.length)]!;
  }

  #bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => randomInt(this.#random, 256));
  }

  #randomStruct(fields: readonly FieldSpec[], version: number, style: Style): Value {
    return Object.fromEntries(fields.map((field) => [camelCase(field.name), this.#randomField(field, version, style)]));
  }

  #randomField(field: FieldSpec, version: number, style: Style): Value {
    if (!includes(versionsOf(field), version)) return this.#default(field);
    const nullable = parseRange(field.nullableVersions);
    // A default of null is no value in a version without nulls.
    const hasDefault = this.#default(field) !== null || includes(nullable, version);
    if (hasDefault && style === "few" && this.#random() < 0.5) return this.#default(field);
    if (includes(nullable, version) && this.#random() < (style === "usual" ? 0.2 : 0.4)) return null;
    const element = elementOf(field.type);
    if (element === undefined) return this.#randomOf(field.type, version, style, isBigint(field));
    const length = style === "few" ? 0 : 1 + randomInt(this.#random, 2);
    return Array.from({ length }, () => this.#randomOf(element, version, style, false));
  }

  #randomOf(type: string, version: number, style: Style, big: boolean): Value {
    const struct = this.#structs.get(type);
    if (struct !== undefined) return this.#randomStruct(struct, version, style);
    if (big) {
      return style === "extreme"
        ? this.#pick([-(2n ** 63n), 2n ** 63n - 1n])
        : Buffer.from(this.#bytes(8)).readBigInt64BE();
    }
    const range = INTEGERS[type];
    if (range !== undefined) {
      const [min, max] = range;
      if (style === "extreme") return this.#pick([min, max, min === 0 ? 0 : -1]);
      return Math.max(min, Math.min(max, Math.floor((this.#random() - 0.2) * 2 ** randomInt(this.#random, 53))));
    }
    switch (type) {
      case "bool":
        return this.#random() < 0.5;
      case "float64":
        return style === "extreme" ? this.#pick([Number.MAX_VALUE, 5e-324, -0.5]) : this.#random() * 1e6;
      case "string":
        return this.#pick(style === "extreme" ? TEXTS.slice(3) : TEXTS);
      case "uuid":
        return Buffer.from(this.#bytes(16)).toString("base64url");
      case "bytes":
      case "records":
        return this.#bytes(randomInt(this.#random, style === "extreme" ? 40 : 6));
      default:
        throw new Error(`no values for the type ${type}`);
    }
  }

  #defaultsOf(fields: readonly FieldSpec[]): Value {
    return Object.fromEntries(fields.map((field) => [camelCase(field.name), this.#default(field)]));
  }

  #default(field: FieldSpec): Value {
    const { type } = field;
    if (isNullByDefault(field)) return null;
    if (type === "records" && !isEmpty(parseRange(field.nullableVersions))) return null;
    if (type.startsWith("[]")) return [];
    if (type === "bytes" || type === "records") return new Uint8Array(0);
    if (type === "string") return String(field.default ?? "");
    if (type === "uuid") return ZERO_UUID;
    if (type === "bool") return String(field.default) === "true";
    const struct = this.#structs.get(type);
    if (struct !== undefined) return this.#defaultsOf(struct);
    return isBigint(field) ? BigInt(integerDefault(field)) : integerDefault(field);
  }

  #structFromJson(fields: readonly FieldSpec[], json: Record<string, unknown>): Value {
    return Object.fromEntries(fields.map((field) => {
      const name = camelCase(field.name);
      const value = json[name];
      const element = elementOf(field.type);
      if (value === undefined) return [name, this.#default(field)];
      if (value === null) return [name, null];
      if (element === undefined) return [name, this.#valueFromJson(field.type, value, isBigint(field))];
      return [name, (value as unknown[]).map((item) => this.#valueFromJson(element, item, false))];
    }));
  }

  #valueFromJson(type: string, value: unknown, big: boolean): Value {
    const struct = this.#structs.get(type);
    if (struct !== undefined) return this.#structFromJson(struct, value as Record<string, unknown>);
    if (type === "bytes" || type === "records") return new Uint8Array(Buffer.from(value as string, "base64"));
    return big ? BigInt(value as number | bigint) : value as Value;
  }

  #structToJava(name: string, fields: readonly FieldSpec[], value: Record<string, Value>): string {
    const texts = fields.map((field) => {
      const inner = value[camelCase(field.name)]!;
      const element = elementOf(field.type);
      const text = inner === null
        ? "null"
        : element !== undefined
        ? `[${(inner as Value[]).map((item) => this.#toJava(element, item, true)).join(", ")}]`
        : this.#toJava(field.zeroCopy ? "records" : field.type, inner, false);
      return `${camelCase(field.name)}=${text}`;
    });
    return `${name}(${texts.join(", ")})`;
  }

  #toJava(type: string, value: Value, isElement: boolean): string {
    const struct = this.#structs.get(type);
    if (struct !== undefined) return this.#structToJava(type, struct, value as Record<string, Value>);
    if (type === "records") return `${(value as Uint8Array).length} bytes`;
    if (type === "bytes") return `[${[...new Int8Array(value as Uint8Array)].join(", ")}]`;
    return type === "string" && !isElement ? `'${value}'` : String(value);
  }

  #structWithoutRecords(fields: readonly FieldSpec[], value: Record<string, Value>): Value {
    return Object.fromEntries(fields.map((field) => {
      const name = camelCase(field.name);
      const inner = value[name]!;
      const struct = this.#structs.get(elementOf(field.type) ?? field.type);
      if (inner === null) return [name, null];
      if (field.type === "records") return [name, new Uint8Array(0)];
      if (struct === undefined) return [name, inner];
      const without = (item: Value): Value => this.#structWithoutRecords(struct, item as Record<string, Value>);
      return [name, Array.isArray(inner) ? inner.map(without) : without(inner)];
    }));
  }
}

/** Reads JSON whose integers may be too large for a number: those become bigints. */
export function parseJson(text: string): unknown {
  type Context = { readonly source?: string };
  const revive = (_name: string, value: unknown, context?: Context): unknown =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context!.source!)
      : value;
  return JSON.parse(text, revive as (this: unknown, key: string, value: unknown) => unknown);
}
