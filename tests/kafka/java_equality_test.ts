/** What our producer and Java's make of the same records, byte by byte in the broker's files; and a million records, counted by others. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Kafka } from "../../mod.ts";
import { seededRandom } from "../../src/core/random.ts";
import {
  bootstrapServers,
  cluster,
  createTopic,
  type Header,
  javaConsume,
  javaProduce,
  javaTool,
  kcat,
  type SentRecord,
  uniqueName,
} from "./helpers.ts";

const PARTITIONS = 6;
const RECORDS = 10_000;
/** More than all records of a partition take, so that each partition gets one batch from either producer. */
const BATCH_BYTES = 4_000_000;
const START = 1_700_000_000_000;
const text = (value: string) => new TextEncoder().encode(value);

/** Keys, values, headers and times of every kind. Records without a key say their partition: else chance decides. */
function sample(): SentRecord[] {
  const random = seededRandom(20_26);
  const below = (limit: number) => Math.floor(random() * limit);
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));
  const keys: (() => Uint8Array | null)[] = [
    () => null,
    () => new Uint8Array(0),
    () => text(`user-${below(5000)}`),
    () => text(`ключ-${below(5000)} 鍵 🔑 é`),
    () => bytes(1 + below(40)),
    () => bytes(4), // a whole word of murmur2
    () => Uint8Array.of(0x80 | below(128)), // negative as Java's byte
    () => text("k".repeat(60 + below(10))), // around the first length of two bytes
  ];
  const sizes = [0, 1, 62, 63, 64, 65, 127, 128, 2000];
  const headers: (() => Header[])[] = [
    () => [],
    () => [["h", text("x")]],
    () => [["same", text("1")], ["same", null], ["same", new Uint8Array(0)]],
    () => [["", bytes(below(100))], ["заголовок 🏷", text("ü")]],
    () => Array.from({ length: below(70) }, (_, i): Header => [`h${i}`, bytes(below(4))]),
  ];
  return Array.from({ length: RECORDS }, (_, i) => {
    const key = keys[i % keys.length]!();
    const value = i % 11 === 0 ? null : bytes(i % 5 === 0 ? sizes[below(sizes.length)]! : below(2001));
    return {
      ...(key === null || i % 97 === 0 ? { partition: below(PARTITIONS) } : {}),
      key,
      value,
      headers: i % 4 === 0 ? headers[below(headers.length)]!() : [],
      // Also before the first of the batch, and far from it: deltas below zero and of more than 32 bits.
      timestamp: i % 501 === 500 ? below(START) : START + i * 10 - below(1000),
    };
  });
}

/** The record batches of a partition as they stand in the broker's file. */
function batchesOf(topic: string, partition: number): Uint8Array[] {
  const folder = cluster().partitionDirectory(topic, partition);
  const [segment, ...more] = readdirSync(folder).filter((name) => name.endsWith(".log"));
  assert.deepEqual(more, []);
  const file = new Uint8Array(readFileSync(join(folder, segment!)));
  const view = new DataView(file.buffer);
  const batches: Uint8Array[] = [];
  for (let at = 0; at < file.length;) {
    const size = 12 + view.getInt32(at + 8);
    batches.push(file.subarray(at, at + size));
    at += size;
  }
  return batches;
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("against the Java producer", () => {
  test(`the same ${RECORDS} records: the same partitions, order and bytes; a Java consumer reads the same`, {
    timeout: 120_000,
  }, async () => {
    const limits = { "max.message.bytes": 2 * BATCH_BYTES };
    const [ours, javas] = [
      await createTopic(uniqueName("equal-ours"), PARTITIONS, limits),
      await createTopic(uniqueName("equal-java"), PARTITIONS, limits),
    ];
    const records = sample();
    const settings = { bufferMemory: 64_000_000, maxRequestSize: 32_000_000, batchSize: BATCH_BYTES, lingerMs: 30_000 };
    const producer = new Kafka({ bootstrapServers: bootstrapServers() }).producer(settings);
    const sends = records.map((record) => producer.send({ topic: ours, ...record }));
    await producer.flush();
    const placed = await Promise.all(sends);
    await producer.close();
    const placedByJava = await javaProduce(javas, records, {
      "buffer.memory": settings.bufferMemory,
      "max.request.size": settings.maxRequestSize,
      "batch.size": settings.batchSize,
      "linger.ms": 15_000,
    });

    assert.equal(placed.length, placedByJava.length);
    for (const [i, { partition, offset, timestamp }] of placed.entries()) {
      assert.deepEqual({ partition, offset, timestamp }, placedByJava[i], `record ${i}`);
    }
    assert.equal(new Set(placed.map(({ partition }) => partition)).size, PARTITIONS);

    for (let partition = 0; partition < PARTITIONS; partition++) {
      const [our, java] = [batchesOf(ours, partition), batchesOf(javas, partition)];
      assert.deepEqual([our.length, java.length], [1, 1], `batches of partition ${partition}`);
      const [a, b] = [our[0]!, java[0]!];
      assert.equal(a.length, b.length);
      // Length, format; attributes, last offset delta, base and greatest timestamp; behind the producer's id and epoch the
      // sequence and the count. What differs are the id and with it the checksum.
      for (const [from, to] of [[0, 12], [16, 17], [21, 43], [51, 61]] as const) {
        assert.deepEqual(a.slice(from, to), b.slice(from, to), `partition ${partition}, bytes ${from} to ${to}`);
      }
      assert.equal(sha256(a.subarray(61)), sha256(b.subarray(61)), `records of partition ${partition}`);
    }

    // Each partition comes in order, the partitions as they like.
    const inOrder = async (topic: string) =>
      (await javaConsume(topic)).sort((a, b) => a.partition - b.partition || a.offset - b.offset);
    const [read, readOfJava] = [await inOrder(ours), await inOrder(javas)];
    assert.equal(read.length, RECORDS);
    assert.equal(readOfJava.length, RECORDS);
    const sent = placed.map(({ partition, offset }, i) => [`${partition} ${offset}`, records[i]!] as const);
    const byPlace = new Map(sent);
    for (const [i, { partition, offset, key, value, headers, timestamp, timestampType }] of read.entries()) {
      // One by one: the difference of two lists of ten thousand would take gigabytes to print.
      assert.deepEqual(read[i], readOfJava[i]);
      const record = byPlace.get(`${partition} ${offset}`)!;
      assert.deepEqual({ key, value, headers, timestamp, timestampType }, {
        key: record.key,
        value: record.value,
        headers: record.headers,
        timestamp: record.timestamp,
        timestampType: "CreateTime",
      });
    }
  });

  test("a million records with acks=all: GetOffsetShell counts them, kcat reads each once", {
    timeout: 120_000,
  }, async () => {
    const count = 1_000_000;
    const topic = await createTopic(uniqueName("million"), PARTITIONS);
    const producer = new Kafka({ bootstrapServers: bootstrapServers() }).producer({ acks: "all", batchSize: 131_072 });
    const valueOf = (i: number) => `${i}`.padStart(7, "0").padEnd(20, ".");
    for (let from = 0; from < count; from += 50_000) {
      // Five calls side by side: what is sent must stand in order across calls.
      await Promise.all([0, 1, 2, 3, 4].map((part) =>
        producer.sendAll(Array.from({ length: 10_000 }, (_, i) => {
          const number = from + part * 10_000 + i;
          return { topic, partition: number % PARTITIONS, value: valueOf(number) };
        }))
      ));
    }
    await producer.close();

    const offsets = await javaTool("org.apache.kafka.tools.GetOffsetShell", [
      ...["--bootstrap-server", "@", "--topic", topic],
    ]);
    const ends = offsets.split("\n").filter((line) => line.startsWith(`${topic}:`)).map((line) =>
      Number(line.split(":")[2])
    );
    assert.equal(ends.length, PARTITIONS);
    assert.equal(ends.reduce((sum, end) => sum + end, 0), count);

    const lines = new TextDecoder().decode(
      await kcat(["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-X", "check.crcs=true", "-f", "%p %o %s\\n"]),
    ).split("\n");
    assert.equal(lines.pop(), "");
    assert.equal(lines.length, count);
    const next = Array.from({ length: PARTITIONS }, (_, partition) => ({ offset: 0, number: partition }));
    for (const line of lines) {
      const [partition, offset, read] = line.split(" ") as [string, string, string];
      const expected = next[Number(partition)]!;
      const number = valueOf(expected.number);
      if (Number(offset) !== expected.offset || read !== number) {
        assert.fail(`partition ${partition}: ${offset} ${read} where ${expected.offset} ${number} was due`);
      }
      expected.offset++;
      expected.number += PARTITIONS;
    }
  });
});
