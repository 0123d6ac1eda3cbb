/**
 * Compares the generated protocol with Kafka's own classes: for every message in every version, random values that we
 * write are read by Java as the same JSON, Java writes the same bytes from that JSON, and we read those bytes as the same
 * value. The same with nothing set, so that defaults are Kafka's. Of stored messages our JSON must be Kafka's, too.
 *
 * Run: `node tools/verify_protocol.ts [--write] [--seed 1] [--each 3] [--libs DIR]`. `--write` keeps the values as
 * `tests/vectors/protocol.json.gz`, which `npm test` checks without Java.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { Reader } from "../src/bytes/reader.ts";
import { Writer } from "../src/bytes/writer.ts";
import { seededRandom } from "../src/core/random.ts";
import type { MessageSchema } from "../src/protocol/api.ts";
import { messageToJson } from "../src/protocol/message_json.ts";
import { canonicalJson } from "../tests/helpers/canonical_json.ts";
import { camelCase, LIBS, type MessageSpec, parseRange, pathOf, readDefinitions } from "./protocol/definitions.ts";
import { isStored } from "./protocol/message_code.ts";
import { MessageShape, parseJson, type Style, type Value } from "./protocol/message_shape.ts";

interface Codec {
  encode(w: Writer, value: unknown, version: number): void;
  decode(r: Reader, version: number): unknown;
  /** Of a stored message. */
  readonly schema?: MessageSchema<unknown>;
}

/** A value: bytes, a hash of what is read from them, and of a stored message a hash of its JSON. */
type VectorValue = [bytes: string, hash: string, json?: string];
type Vector = [name: string, path: string, version: number, ...values: VectorValue[]];

const { values: options } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "3" },
    libs: { type: "string", default: LIBS },
  },
});
const STYLES: readonly Style[] = ["usual", "few", "extreme"];
const random = seededRandom(Number(options.seed));
const { messages, classes } = await readDefinitions(options.libs);

async function codecOf(spec: MessageSpec): Promise<Codec> {
  const module = await import(`../src/protocol/${pathOf(spec)}.ts`);
  const schema = isStored(spec) ? { schema: module[`${camelCase(spec.name)}Schema`] } : {};
  return { encode: module[`encode${spec.name}`], decode: module[`decode${spec.name}`], ...schema };
}

/** The class that Kafka made of a definition. */
function classOf(spec: MessageSpec): string {
  const isData = spec.type === "request" || spec.type === "response" || spec.type === "header";
  const name = classes.get(isData ? `${spec.name}Data` : spec.name);
  if (name === undefined) throw new Error(`the jars have no class for ${spec.name}`);
  return name;
}

const java = spawn("java", ["-Xmx256m", "-cp", `${options.libs}/*`, "tools/java/ProtocolDriver.java"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: java.stdout })[Symbol.asyncIterator]();

interface Answer {
  /** The value in the JSON of Kafka's converter. */
  readonly json: string;
  /** The bytes that Java writes from that JSON. */
  readonly again: string;
  /** The bytes that Java writes from the value. */
  readonly direct: string;
  /** The value as text. */
  readonly text: string;
}

/** What Java makes of `bytes`. */
async function askJava(name: string, version: number, bytes: string): Promise<Answer> {
  java.stdin.write(`${name} ${version} ${bytes}\n`);
  const { value: answer, done } = await lines.next();
  if (done) throw new Error("Java ended");
  if (answer.startsWith("! ")) throw new Error(`Java: ${answer.slice(2)}`);
  const [json, again, direct, text] = answer.split("\t") as [string, string, string, string];
  return { json, again, direct, text };
}

function same(what: string, actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`${what} ${actual}\n  and not ${expected}`);
}

/** Checks `input`, which stands for `value`, in both directions; answers its bytes and a hash of what is to be read. */
async function compare(
  spec: MessageSpec,
  shape: MessageShape,
  codec: Codec,
  version: number,
  input: Value,
  value: Value,
): Promise<VectorValue> {
  const writer = new Writer();
  codec.encode(writer, input, version);
  const bytes = Buffer.from(writer.toBytes()).toString("base64");
  const name = classOf(spec);
  const { json, again, direct, text } = await askJava(name, version, bytes);
  // Java's text has every field, also those that its JSON leaves out since they have their defaults.
  const className = name.slice(name.lastIndexOf(".") + 1);
  same("Java took for", shape.normalJavaText(text), shape.toJavaText(className, value));
  // Kafka's converters leave every batch out, so that messages with one are compared by Java's bytes of what it read.
  const visible = shape.hasRecords ? shape.withoutRecords(value) : value;
  same("Java read", canonicalJson(shape.fromJson(parseJson(json))), canonicalJson(visible));
  if (!shape.hasRecords) same("Java wrote from JSON", again, bytes);
  same("Java wrote", direct, bytes);
  const reader = new Reader(Buffer.from(direct, "base64"), spec.name);
  const expected = canonicalJson(value);
  const read = codec.decode(reader, version);
  same("we read", canonicalJson(read), expected);
  if (reader.remaining !== 0) throw new Error(`we left ${reader.remaining} bytes`);
  if (codec.schema === undefined) return [bytes, hash(expected)];
  const kafkas = JSON.stringify(parseJson(json), (_, item) => typeof item === "bigint" ? String(item) : item);
  same("our JSON is", JSON.stringify(messageToJson(codec.schema, read, version)), kafkas);
  return [bytes, hash(expected), hash(kafkas)];
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64").slice(0, 8);
}

const failures: string[] = [];
const vectors: Vector[] = [];
let checked = 0;
for (const spec of messages) {
  const codec = await codecOf(spec);
  const shape = new MessageShape(spec, random);
  const { min, max } = parseRange(spec.validVersions);
  for (let version = min; version <= max; version++) {
    const vector: Vector = [spec.name, pathOf(spec), version];
    const values = Array.from({ length: Number(options.each) }, (_, i) => shape.random(version, STYLES[i % 3]!));
    const pairs: [input: Value, value: Value][] = [
      [{}, shape.defaults()],
      ...values.map((v): [Value, Value] => [v, v]),
    ];
    for (const [input, value] of pairs) {
      try {
        vector.push(await compare(spec, shape, codec, version, input, value));
        checked++;
      } catch (error) {
        failures.push(`${spec.name} v${version}: ${(error as Error).message}`);
      }
    }
    vectors.push(vector);
  }
}
java.stdin.end();

for (const failure of failures.slice(0, 20)) process.stderr.write(`${failure.slice(0, 2000)}\n`);
process.stdout.write(
  `${messages.length} messages, ${vectors.length} versions, ${checked} values equal in both directions, ` +
    `${failures.length} not\n`,
);
if (options.write && failures.length === 0) {
  mkdirSync("tests/vectors", { recursive: true });
  const packed = gzipSync(JSON.stringify(vectors), { level: 9 });
  writeFileSync("tests/vectors/protocol.json.gz", packed);
  process.stdout.write(`tests/vectors/protocol.json.gz: ${packed.length} bytes\n`);
}
process.exitCode = failures.length === 0 ? 0 : 1;
