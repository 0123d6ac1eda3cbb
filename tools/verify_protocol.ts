/**
 * Compares `src/protocol/` with Kafka's own classes: for every message and version, random values are encoded here, decoded
 * in Java, turned into JSON by Kafka's converters and back, encoded in Java, and decoded here.
 *
 * Run: `node tools/verify_protocol.ts [--write] [--seed 1] [--each 3] [--libs DIR]`. `--write` keeps the values as
 * `tests/vectors/protocol.json.gz`, which `npm test` checks without Java.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { Reader } from "../src/bytes/reader.ts";
import { Writer } from "../src/bytes/writer.ts";
import { type Random, randomInt, seededRandom } from "../src/core/random.ts";
import { canonicalJson as canonical } from "../tests/helpers/canonical_json.ts";
import { type FieldSpec, type MessageSpec, parseRange, readDefinitions, snake } from "./generate_protocol.ts";

type Value = null | boolean | number | string | Uint8Array | Value[] | { [name: string]: Value };
type Style = "empty" | "usual" | "extreme";

interface Codec {
  encode(w: Writer, value: unknown, version: number): void;
  decode(r: Reader, version: number): unknown;
}

const { values: options } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "3" },
    libs: { type: "string", default: ".cache/kafka/4.3.1/libs" },
  },
});
const random = seededRandom(Number(options.seed));
const { specs, classes } = readDefinitions(options.libs);

const ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";
const TEXTS = ["", "a", "topic-1", "日本語", "😀 é", "x".repeat(130)];
const lowerFirst = (name: string) => name[0]!.toLowerCase() + name.slice(1);
const includes = (range: string | undefined, version: number) => {
  const { min, max } = parseRange(range);
  return version >= min && version <= max;
};

function pick<T>(random: Random, list: readonly T[]): T {
  return list[randomInt(random, list.length)]!;
}

const INTEGERS: Record<string, [number, number]> = {
  int8: [-128, 127],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

function randomBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, () => randomInt(random, 256));
}

function randomScalar(type: string, style: Style): Value {
  if (type in INTEGERS) {
    const [min, max] = INTEGERS[type]!;
    if (style === "extreme") return pick(random, [min, max, -1 < min ? 0 : -1]);
    return Math.max(min, Math.min(max, Math.floor((random() - 0.2) * 2 ** randomInt(random, 53))));
  }
  switch (type) {
    case "bool":
      return random() < 0.5;
    case "float64":
      return style === "extreme" ? pick(random, [Number.MAX_VALUE, 5e-324, -0.5]) : random() * 1e6;
    case "string":
      return pick(random, style === "extreme" ? TEXTS.slice(3) : TEXTS);
    case "uuid":
      return Buffer.from(randomBytes(16)).toString("base64url");
    default:
      return randomBytes(randomInt(random, style === "extreme" ? 40 : 6));
  }
}

/** Definitions of one message: its fields and the structs they name. */
class Shape {
  readonly spec: MessageSpec;
  readonly #structs = new Map<string, FieldSpec[]>();

  constructor(spec: MessageSpec) {
    this.spec = spec;
    for (const common of spec.commonStructs ?? []) this.#structs.set(common.name, common.fields);
    const collect = (fields: FieldSpec[]) => {
      for (const field of fields) {
        if (field.fields === undefined) continue;
        this.#structs.set(field.type.replace("[]", ""), field.fields);
        collect(field.fields);
      }
    };
    collect(spec.fields ?? []);
    for (const common of spec.commonStructs ?? []) collect(common.fields);
  }

  /** Whether a record batch is part of it. */
  get hasRecords(): boolean {
    return [this.spec.fields ?? [], ...this.#structs.values()].flat().some((field) => field.type === "records");
  }

  random(version: number, style: Style): Value {
    return this.#randomStruct(this.spec.fields ?? [], version, style);
  }

  /** The value in Java's JSON, with the defaults of what it leaves out. */
  fromJson(json: unknown, version: number): Value {
    return this.#structFromJson(this.spec.fields ?? [], json as Record<string, unknown>, version);
  }

  #randomStruct(fields: FieldSpec[], version: number, style: Style): Value {
    return Object.fromEntries(
      fields.map((field) => [lowerFirst(field.name), this.#randomField(field, version, style)]),
    );
  }

  #randomField(field: FieldSpec, version: number, style: Style): Value {
    const present = includes(field.versions, version) &&
      (field.taggedVersions === undefined || includes(field.taggedVersions, version));
    if (!present || (style === "empty" && random() < 0.5)) return this.#default(field, version);
    if (includes(field.nullableVersions, version) && random() < (style === "usual" ? 0.2 : 0.4)) return null;
    const { type } = field;
    if (!type.startsWith("[]")) return this.#randomOf(type, version, style);
    const length = style === "empty" ? 0 : 1 + randomInt(random, 2);
    return Array.from({ length }, () => this.#randomOf(type.slice(2), version, style));
  }

  #randomOf(type: string, version: number, style: Style): Value {
    const struct = this.#structs.get(type);
    return struct === undefined ? randomScalar(type, style) : this.#randomStruct(struct, version, style);
  }

  #default(field: FieldSpec, version: number): Value {
    const { type } = field;
    const given = field.default;
    if (String(given) === "null") return null;
    if (type.startsWith("[]")) return [];
    if (type === "records") return null;
    if (type === "bytes") return new Uint8Array(0);
    if (type === "string") return String(given ?? "");
    if (type === "uuid") return ZERO_UUID;
    if (type === "bool") return String(given) === "true";
    const struct = this.#structs.get(type);
    if (struct === undefined) return Number(given ?? 0);
    return Object.fromEntries(struct.map((inner) => [lowerFirst(inner.name), this.#default(inner, version)]));
  }

  #structFromJson(fields: FieldSpec[], json: Record<string, unknown>, version: number): Value {
    return Object.fromEntries(fields.map((field) => {
      const name = lowerFirst(field.name);
      const value = json[name];
      if (value === undefined) return [name, this.#default(field, version)];
      if (value === null) return [name, null];
      if (!field.type.startsWith("[]")) return [name, this.#valueFromJson(field.type, value, version)];
      return [name, (value as unknown[]).map((item) => this.#valueFromJson(field.type.slice(2), item, version))];
    }));
  }

  #valueFromJson(type: string, value: unknown, version: number): Value {
    const struct = this.#structs.get(type);
    if (struct !== undefined) return this.#structFromJson(struct, value as Record<string, unknown>, version);
    if (type === "bytes" || type === "records") return new Uint8Array(Buffer.from(value as string, "base64"));
    return value as Value;
  }
}

/** The value with an empty batch where there is one. */
function withoutRecords(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutRecords);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      /records$/i.test(name) && inner instanceof Uint8Array ? new Uint8Array(0) : withoutRecords(inner),
    ]),
  );
}

async function codecOf(spec: MessageSpec): Promise<Codec | undefined> {
  const path = spec.type === "request" || spec.type === "response"
    ? `${snake(spec.name.replace(/Re(quest|sponse)$/, ""))}.ts`
    : spec.type === "header"
    ? `${snake(spec.name)}.ts`
    : `records/${snake(spec.name)}.ts`;
  try {
    const module = await import(`../src/protocol/${path}`);
    return { encode: module[`encode${spec.name}`], decode: module[`decode${spec.name}`] };
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

const java = spawn("java", ["-Xmx512m", "-cp", `${options.libs}/*`, "tools/java/ProtocolDriver.java"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: java.stdout })[Symbol.asyncIterator]();

let checked = 0;
let messages = 0;
const failures: string[] = [];
const vectors: [name: string, path: string, version: number, ...values: [bytes: string, hash: string][]][] = [];

for (const spec of specs.sort((a, b) => a.name < b.name ? -1 : 1)) {
  const { min, max } = parseRange(spec.validVersions);
  if (spec.fields === undefined || max < min) continue;
  const isRpc = ["request", "response", "header"].includes(spec.type);
  const javaClass = classes.get(isRpc ? `${spec.name}Data` : spec.name);
  const codec = await codecOf(spec);
  if (codec === undefined || javaClass === undefined) {
    if (codec !== undefined || javaClass !== undefined) failures.push(`${spec.name}: only on one side`);
    continue;
  }
  messages++;
  const shape = new Shape(spec);
  for (let version = min; version <= max; version++) {
    const row: [string, string][] = [];
    for (let i = 0; i < Number(options.each); i++) {
      const value = shape.random(version, (["usual", "empty", "extreme"] as const)[i % 3]!);
      const what = `${spec.name} v${version}`;
      try {
        const writer = new Writer();
        codec.encode(writer, value, version);
        const bytes = Buffer.from(writer.toBytes()).toString("base64");
        java.stdin.write(`${javaClass} ${version} ${bytes}\n`);
        const answer = (await lines.next()).value;
        if (answer === undefined) throw new Error("Java ended");
        if (answer.startsWith("! ")) throw new Error(`Java: ${answer.slice(2)}`);
        const [json, throughJson, direct] = answer.split("\t") as [string, string, string];
        // Kafka's converters write every `records` field as empty: those are compared by the bytes alone.
        const encoded = shape.hasRecords ? direct : throughJson;
        const theirs = canonical(shape.hasRecords ? value : shape.fromJson(JSON.parse(json), version));
        if (shape.hasRecords) {
          const inJson = canonical(shape.fromJson(JSON.parse(json), version));
          if (inJson !== canonical(withoutRecords(value))) {
            throw new Error(`Java read ${inJson}\n  of ${canonical(value)}`);
          }
        } else if (theirs !== canonical(value)) throw new Error(`Java read ${theirs}\n  of ${canonical(value)}`);
        if (encoded !== bytes) throw new Error(`Java wrote ${encoded}\n  where we wrote ${bytes}`);
        const reader = new Reader(Buffer.from(encoded, "base64"), what);
        const ours = canonical(codec.decode(reader, version));
        if (ours !== theirs) throw new Error(`we read ${ours}\n  of ${theirs}`);
        if (reader.remaining !== 0) throw new Error(`we left ${reader.remaining} bytes`);
        row.push([bytes, createHash("sha256").update(theirs).digest("base64").slice(0, 8)]);
        checked++;
      } catch (error) {
        failures.push(`${what}: ${(error as Error).message}`);
      }
    }
    const path = isRpc && spec.type !== "header"
      ? snake(spec.name.replace(/Re(quest|sponse)$/, ""))
      : (isRpc ? "" : "records/") + snake(spec.name);
    vectors.push([spec.name, path, version, ...row]);
  }
}
java.stdin.end();

for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(
  `${messages} messages, ${vectors.length} versions, ${checked} values equal in both directions, ${failures.length} not`,
);
if (options.write && failures.length === 0) {
  mkdirSync("tests/vectors", { recursive: true });
  const packed = gzipSync(JSON.stringify(vectors), { level: 9 });
  writeFileSync("tests/vectors/protocol.json.gz", packed);
  console.log(`tests/vectors/protocol.json.gz: ${packed.length} bytes`);
}
process.exitCode = failures.length === 0 ? 0 : 1;
