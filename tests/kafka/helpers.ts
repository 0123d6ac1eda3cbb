/**
 * What the tests against a real Kafka share: the cluster, fresh topics, and others' clients as a second opinion.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import process from "node:process";
import type { ToolOptions, ToolResult } from "../../tools/kafka/java_server.ts";
import { runJavaTool } from "../../tools/kafka/java_tool.ts";
import { requireKcat } from "../../tools/kafka/kcat.ts";
import { KafkaCluster } from "../../tools/kafka/kafka_cluster.ts";
import { KafkaDistribution } from "../../tools/kafka/kafka_distribution.ts";
import { runProgram } from "../../tools/kafka/processes.ts";

/** A header as all helpers take and give it. */
export type Header = readonly [key: string, value: Uint8Array | null];

/** A record to send. */
export interface SentRecord {
  /** Partition to send to; the client's partitioner decides when left out. */
  readonly partition?: number;
  /** Milliseconds since 1970; now when left out. */
  readonly timestamp?: number;
  /** Key; none when left out. */
  readonly key?: Uint8Array | null;
  /** Value; null is a tombstone. */
  readonly value: Uint8Array | null;
  /** Headers in order. */
  readonly headers?: readonly Header[];
}

/** Where a record was put. */
export interface Placed {
  readonly partition: number;
  /** −1 with acks=0. */
  readonly offset: number;
  readonly timestamp: number;
}

/** A record as a client read it. */
export interface ReadRecord {
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
}

/** A record as Java read it. */
export interface JavaRecord extends ReadRecord {
  readonly timestampType: "CreateTime" | "LogAppendTime";
  readonly headers: readonly Header[];
}

/** A record as kcat read it. */
export interface KcatRecord extends ReadRecord {
  /** Headers as kcat prints them: `key=value,…`, with NULL for null. */
  readonly headers: string;
}

/** The cluster the tests run against. */
export function cluster(): KafkaCluster {
  const directory = process.env["KAFKA_DIR"];
  if (directory === undefined) {
    throw new Error(
      "these tests need a real Kafka: npm run test:kafka, or npx node tools/kafka.ts run -- npx node --test tests/kafka/NAME_test.ts",
    );
  }
  return KafkaCluster.attach(directory);
}

/** `host:port` of the cluster, for our clients. */
export function bootstrapServers(): string[] {
  return cluster().bootstrap.split(",");
}

/** A topic name that no other test, file or runtime uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString("hex")}`;
}

/** Runs a Java class that must succeed and returns what it printed. An argument `@` becomes the bootstrap list. */
export async function javaTool(className: string, args: readonly string[], options: ToolOptions = {}): Promise<string> {
  // Sooner than a test's own limit, so that what the tool said is seen.
  const { code, stdout, stderr } = await cluster().tool(className, args, { timeoutMs: 45_000, ...options });
  if (code !== 0) throw new Error(`${className} ${args.join(" ")} ended with code ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Makes a topic and waits until its leaders serve it.
 *
 * Just after creation Metadata names a leader that still answers NOT_LEADER_OR_FOLLOWER. An idempotent producer with several batches in flight can
 * then have its second one accepted before the first (a broker takes any first sequence from a producer it does not know), after which the first
 * fails with OUT_OF_ORDER_SEQUENCE_NUMBER for ever. Seen with the Java producer, about once in ten runs.
 */
export async function createTopic(
  name: string,
  partitions = 1,
  configs: Readonly<Record<string, string | number>> = {},
): Promise<string> {
  await javaTool("org.apache.kafka.tools.TopicCommand", [
    ...["--bootstrap-server", "@", "--create", "--topic", name, "--partitions", `${partitions}`],
    ...Object.entries(configs).flatMap(([key, value]) => ["--config", `${key}=${value}`]),
  ]);
  const offsets = await javaTool("org.apache.kafka.tools.GetOffsetShell", ["--bootstrap-server", "@", "--topic", name]);
  const served = offsets.split("\n").filter((line) => line === `${name}:${line.split(":")[1]}:0`).length;
  if (served !== partitions) {
    throw new Error(`of ${name}'s ${partitions} partitions only these are served:\n${offsets}`);
  }
  return name;
}

/** Sends records with the Java producer; each must be acknowledged. `properties` are its settings, such as `{ acks: "1" }`. */
export async function javaProduce(
  topic: string,
  records: readonly SentRecord[],
  properties: Readonly<Record<string, string | number>> = {},
): Promise<Placed[]> {
  const lines = records.map((record) =>
    JSON.stringify({
      topic,
      partition: record.partition ?? null,
      timestamp: record.timestamp ?? null,
      keyBase64: toBase64(record.key ?? null),
      valueBase64: toBase64(record.value),
      headers: (record.headers ?? []).map(([key, value]) => [key, toBase64(value)]),
    })
  );
  // The producer gives up before we do, and says why.
  const settings = javaProperties({ "delivery.timeout.ms": 40_000, "request.timeout.ms": 20_000, ...properties });
  const output = await javaTool("JavaProduce", ["--bootstrap-server", "@", ...settings], {
    stdin: lines.join("\n"),
  });
  return parseLines(output) as Placed[];
}

/** Reads a topic with the Java consumer, from its beginning to its end of now; each partition in order. */
export async function javaConsume(
  topic: string,
  options: { readonly partition?: number; readonly properties?: Readonly<Record<string, string | number>> } = {},
): Promise<JavaRecord[]> {
  const output = await javaTool("JavaConsume", [
    ...["--bootstrap-server", "@", "--topic", topic],
    ...(options.partition === undefined ? [] : ["--partition", `${options.partition}`]),
    ...javaProperties(options.properties ?? {}),
  ]);
  return (parseLines(output) as JavaLine[]).map(({ keyBase64, valueBase64, headers, ...record }) => ({
    ...record,
    key: fromBase64(keyBase64),
    value: fromBase64(valueBase64),
    headers: headers.map(([key, value]): Header => [key, fromBase64(value)]),
  }));
}

/** The partition the Java producer picks for each key. */
export async function partitionForKeys(keys: readonly Uint8Array[], partitions: number): Promise<number[]> {
  const stdin = keys.map((key) => Buffer.from(key).toString("hex") + "\n").join("");
  const output = await javaTool("JavaPartitioner", [`${partitions}`], { stdin });
  return output.trimEnd().split("\n").map((line) => Number.parseInt(line, 10));
}

/**
 * Sends records with kcat. What it cannot say is refused: null next to empty, an empty value without a key, and headers that differ by record (all take `headers` of
 * the first), or hold null. `args` are further arguments, such as `["-z", "gzip", "-X", "acks=1"]`.
 */
export async function kcatProduce(
  topic: string,
  records: readonly SentRecord[],
  args: readonly string[] = [],
): Promise<void> {
  const parts = new Map<number | undefined, SentRecord[]>();
  for (const record of records) {
    const part = parts.get(record.partition);
    if (part === undefined) parts.set(record.partition, [record]);
    else part.push(record);
  }
  for (const [partition, part] of parts) await kcatProduceTo(topic, partition, part, args);
}

async function kcatProduceTo(
  topic: string,
  partition: number | undefined,
  records: readonly SentRecord[],
  args: readonly string[],
): Promise<void> {
  const hasKeys = records.some((record) => (record.key ?? null) !== null);
  const hasNull = records.some((record) => record.value === null || hasKeys && (record.key ?? null) === null);
  const headers = JSON.stringify(records[0]?.headers ?? []);
  for (const record of records) {
    if (record.timestamp !== undefined) throw new Error("kcat cannot set a timestamp");
    if (!hasKeys && (record.value ?? "").length === 0) throw new Error("kcat skips a record without key and value");
    if (hasNull && (record.value?.length === 0 || record.key?.length === 0)) {
      throw new Error("kcat sends either all empty keys and values as null or none");
    }
    if (JSON.stringify(record.headers ?? []) !== headers) {
      throw new Error("kcat sends the same headers with every record");
    }
  }
  // Random, so that no value holds them.
  const [endOfKey, endOfRecord] = [randomBytes(8).toString("hex"), randomBytes(8).toString("hex")];
  const input = records.flatMap(({ key, value }) => [
    ...(hasKeys ? [key ?? new Uint8Array(), Buffer.from(endOfKey)] : []),
    value ?? new Uint8Array(),
    Buffer.from(endOfRecord),
  ]);
  await kcat([
    ...["-P", "-t", topic, "-D", endOfRecord],
    ...(partition === undefined ? [] : ["-p", `${partition}`]),
    ...(hasKeys ? ["-K", endOfKey] : []),
    ...(hasNull ? ["-Z"] : []),
    ...(records[0]?.headers ?? []).flatMap(([key, value]) => ["-H", `${key}=${Buffer.from(value!).toString("utf8")}`]),
    ...args,
  ], Buffer.concat(input));
}

/** Reads a topic with kcat, from its beginning to its end of now. */
export async function kcatConsume(topic: string, args: readonly string[] = []): Promise<KcatRecord[]> {
  const end = randomBytes(8).toString("hex");
  const bytes = Buffer.from(
    await kcat([
      ...["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-X", "check.crcs=true"],
      ...["-f", `%p %o %T %K %S\\n%k%s%h${end}`, ...args],
    ]),
  );
  const records: KcatRecord[] = [];
  for (let at = 0; at < bytes.length;) {
    const line = bytes.indexOf("\n", at);
    const [partition, offset, timestamp, keySize, valueSize] = bytes.toString("latin1", at, line).split(" ").map(
      Number,
    );
    at = line + 1;
    const take = (size: number): Uint8Array | null => {
      if (size < 0) return null;
      at += size;
      return new Uint8Array(bytes.subarray(at - size, at));
    };
    const key = take(keySize!);
    const value = take(valueSize!);
    const next = bytes.indexOf(end, at);
    const headers = bytes.toString("utf8", at, next);
    at = next + end.length;
    records.push({ partition: partition!, offset: offset!, timestamp: timestamp!, key, value, headers });
  }
  return records;
}

/** Runs kcat on the cluster and returns what it printed. */
export async function kcat(args: readonly string[], stdin: Uint8Array = new Uint8Array()): Promise<Uint8Array> {
  const { code, stdout, stderr } = await runProgram(await requireKcat(), ["-b", cluster().bootstrap, ...args], {
    stdin,
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`kcat ${args.join(" ")} ended with code ${code}:\n${stderr}`);
  return stdout;
}

/** Kafka's own look at segment, index and snapshot files; needs no broker. Code 0 alone does not mean that it liked them: read the text. */
export async function dumpLogSegments(
  files: readonly string[],
  args: readonly string[] = ["--deep-iteration"],
): Promise<{ readonly code: number; readonly text: string }> {
  const all = [...args, "--files", files.join(",")];
  const name = "org.apache.kafka.tools.DumpLogSegments";
  const { code, stdout, stderr }: ToolResult = process.env["KAFKA_DIR"] === undefined
    ? await runJavaTool(new KafkaDistribution(), name, all)
    : await cluster().tool(name, all);
  return { code, text: stdout + stderr };
}

/** A line of JavaConsume. */
interface JavaLine extends Omit<JavaRecord, "key" | "value" | "headers"> {
  readonly keyBase64: string | null;
  readonly valueBase64: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
}

function parseLines(text: string): unknown[] {
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as unknown);
}

function javaProperties(properties: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(properties).flatMap(([key, value]) => ["-X", `${key}=${value}`]);
}

function toBase64(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** A plain array: assert.deepEqual tells a Buffer from one. */
function fromBase64(text: string | null): Uint8Array | null {
  return text === null ? null : new Uint8Array(Buffer.from(text, "base64"));
}
