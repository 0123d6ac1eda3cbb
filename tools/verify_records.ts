/**
 * Has Kafka's own classes read what this library writes: every message format, codec and timestamp type, with offset gaps,
 * null and empty fields and large values, and the odd batches that compaction and coordinators make.
 *
 * Run: `node tools/verify_records.ts [--libs DIR]`.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { nativeCodecs } from "../adapters/codecs_native.ts";
import { COMPRESSION_TYPES } from "../src/compression/codec.ts";
import { plainCodecs } from "../src/compression/plain_codecs.ts";
import { seededRandom } from "../src/core/random.ts";
import { crc32c } from "../src/hash/crc32c.ts";
import { encodeRecordBatch, type RecordAtOffset, type RecordBatchHeader } from "../src/records/encode_record_batch.ts";
import { MessageSetBuilder } from "../src/records/message_set_builder.ts";
import type { BatchCompression } from "../src/records/record_batch_builder.ts";
import { LIBS } from "./protocol/definitions.ts";

const { values: options } = parseArgs({ options: { libs: { type: "string", default: LIBS } } });
const codecs = { ...nativeCodecs(), ...plainCodecs };
const random = seededRandom(7);
const TIME = 1_700_000_000_000;
const TIMESTAMP_TYPES = { none: "NoTimestampType", create: "CreateTime", append: "LogAppendTime" };

/** Bytes with some repetition, so that codecs find matches, long and short. */
function bytesOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => i % 97 < 60 ? i % 23 : Math.floor(random() * 256));
}

function recordsOf(count: number, size: number, hasGaps: boolean): RecordAtOffset[] {
  let offset = 40;
  return Array.from({ length: count }, (_, i) => {
    offset += hasGaps ? 1 + i % 3 : 1;
    return {
      offset,
      timestamp: i % 11 === 10 ? -1 : TIME + (i % 5) * 1000 - i,
      key: i % 4 === 0 ? null : i % 4 === 1 ? new Uint8Array(0) : bytesOf(i % 40),
      value: i % 7 === 3 ? null : i % 7 === 4 ? new Uint8Array(0) : bytesOf(size + i),
      headers: i % 3 === 0 ? [["h", bytesOf(3)], ["", null], ["h", new Uint8Array(0)]] : [],
    };
  });
}

/** The records as Java prints them. */
function linesOf(records: readonly RecordAtOffset[], magic: number, timestamp?: number, baseSequence = -1): string {
  const base64 = (bytes: RecordAtOffset["key"] | undefined) =>
    bytes === null || bytes === undefined ? "null" : `"${Buffer.from(bytes as Uint8Array).toString("base64")}"`;
  const base = records[0]?.offset ?? 0;
  return records.map((record) => {
    const time = magic === 0 ? -1 : timestamp ?? record.timestamp;
    const sequence = baseSequence < 0 ? -1 : baseSequence + record.offset - base;
    const headers = magic < 2 ? [] : record.headers ?? [];
    const fields = [record.offset, time, sequence, base64(record.key), base64(record.value)];
    return [...fields, ...headers.map(([key, value]) => `${key}=${base64(value)}`)].join(" ") + "\t";
  }).join("");
}

interface Case {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What Java must print. */
  readonly expected: string;
}

function messageSet(
  name: string,
  magic: 0 | 1,
  records: readonly RecordAtOffset[],
  compression?: BatchCompression,
  logAppendTime?: number,
): Case {
  const builder = new MessageSetBuilder({ magic, compression, logAppendTime });
  for (const { offset, timestamp, key, value } of records) builder.append(offset, timestamp, key, value);
  const type = magic === 0 ? "none" : logAppendTime === undefined ? "create" : "append";
  const head = (group: readonly RecordAtOffset[]) => {
    const time = magic === 0 ? -1 : logAppendTime ?? Math.max(...group.map(({ timestamp }) => timestamp));
    const offsets = [group[0]!.offset, group.at(-1)!.offset];
    const codec = compression?.type ?? "none";
    return `batch ${
      [magic, codec, TIMESTAMP_TYPES[type], ...offsets, time].join(" ")
    } -1 -1 -1 -1 -1 false false null null\t`;
  };
  // Without a codec each message is a batch.
  const groups = compression === undefined ? records.map((record) => [record]) : [records];
  const expected = groups.map((group) => head(group) + linesOf(group, magic, logAppendTime)).join("");
  return { name, bytes: builder.build(), expected };
}

function recordBatch(name: string, records: readonly RecordAtOffset[], header: Partial<RecordBatchHeader>): Case {
  const { baseOffset = records[0]!.offset, lastOffset = records.at(-1)!.offset, baseSequence = -1 } = header;
  const time = header.maxTimestamp ?? header.logAppendTime ?? Math.max(...records.map(({ timestamp }) => timestamp));
  const fields = [
    2,
    header.compression?.type ?? "none",
    header.logAppendTime === undefined ? TIMESTAMP_TYPES.create : TIMESTAMP_TYPES.append,
    baseOffset,
    lastOffset,
    time,
    header.producerId ?? -1,
    header.producerEpoch ?? -1,
    baseSequence,
    baseSequence < 0 ? -1 : baseSequence + lastOffset - baseOffset,
    header.partitionLeaderEpoch ?? -1,
    header.isTransactional ?? false,
    header.isControl ?? false,
    header.deleteHorizonMs ?? "null",
    records.length,
  ];
  return {
    name,
    bytes: encodeRecordBatch(records, { crc32c, ...header }),
    expected: `batch ${fields.join(" ")}\t${linesOf(records, 2, header.logAppendTime, baseSequence)}`,
  };
}

function* cases(): Generator<Case> {
  for (const type of COMPRESSION_TYPES) {
    const compression = type === "none" ? undefined : { type, codec: codecs[type]! };
    for (
      const [count, size, hasGaps] of [[1, 5, false], [40, 20, true], [300, 900, true], [2, 200_000, false]] as const
    ) {
      const records = recordsOf(count, size, hasGaps);
      const name = `${type}, ${count} of ${size} B${hasGaps ? " with gaps" : ""}`;
      for (const logAppendTime of [undefined, TIME + 60_000]) {
        const when = `${name}, ${logAppendTime === undefined ? "CreateTime" : "LogAppendTime"}`;
        yield recordBatch(`v2 ${when}`, records, { compression, logAppendTime });
        if (type === "zstd") continue;
        yield messageSet(`v1 ${when}`, 1, records, compression, logAppendTime);
        if (logAppendTime === undefined) yield messageSet(`v0 ${name}`, 0, records, compression);
      }
    }
  }
  const producer = { producerId: 2 ** 40, producerEpoch: 3, baseSequence: 10, partitionLeaderEpoch: 293 };
  const offsets = { baseOffset: 2 ** 33, lastOffset: 2 ** 33 + 9 };
  const inside = recordsOf(3, 9, true).map((record) => ({
    ...record,
    offset: record.offset + 2 ** 33 - 38,
    headers: [],
  }));
  yield recordBatch("empty", [], { ...producer, ...offsets, maxTimestamp: TIME, isTransactional: true });
  yield recordBatch("empty, never with a codec", [], { ...offsets, maxTimestamp: -1 });
  yield recordBatch("delete horizon", inside, { deleteHorizonMs: TIME + 86_400_000, baseOffset: inside[0]!.offset });
  yield recordBatch("compacted", inside, {
    lastOffset: inside.at(-1)!.offset + 2 ** 31 - 10_000,
    isTransactional: true,
    producerId: 1,
    producerEpoch: 0,
  });
  const marker = [{
    offset: 7,
    timestamp: TIME,
    key: Uint8Array.of(0, 0, 0, 1),
    value: Uint8Array.of(0, 0, 0, 0, 0, 10),
  }];
  yield recordBatch("marker", marker, { producerId: 5, producerEpoch: 0, isTransactional: true, isControl: true });
}

const java = spawn("java", ["-Xmx256m", "-cp", `${options.libs}/*`, "tools/java/RecordsDriver.java"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: java.stdout })[Symbol.asyncIterator]();
let equal = 0;
const failures: string[] = [];
for (const { name, bytes, expected } of cases()) {
  java.stdin.write(`${Buffer.from(bytes).toString("base64")}\n`);
  const { value: answer, done } = await lines.next();
  if (done) throw new Error("Java ended");
  if (answer === expected) equal++;
  else failures.push(`${name}: Java read ${answer.slice(0, 300)}\n  and not ${expected.slice(0, 300)}`);
}
java.stdin.end();
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.stdout.write(`${equal} batches read by Kafka as they were written, ${failures.length} not\n`);
process.exitCode = failures.length === 0 ? 0 : 1;
