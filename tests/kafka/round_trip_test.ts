import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { Kafka } from "../../mod.ts";
import type { CompressionType, ProducerRecord } from "../../mod.ts";
import { seededRandom } from "../../src/core/random.ts";
import {
  bootstrapServers,
  createTopic,
  javaConsume,
  javaProduce,
  kcatConsume,
  kcatProduce,
  partitionForKeys,
  uniqueName,
} from "./helpers.ts";

const PARTITIONS = 3;
const RECORDS = 20_000;
const kafka = () => new Kafka({ bootstrapServers: bootstrapServers() });
const text = (value: string) => new TextEncoder().encode(value);

/** Records with everything that a record can have: keys and none, headers, nulls, empty and large values, all bytes. */
function records(topic: string, seed: number): ProducerRecord[] {
  const random = seededRandom(seed);
  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(random() * 256));
  return Array.from({ length: RECORDS }, (_, i) => {
    const kind = i % 10;
    const value = i === 777 || i === 15_000
      ? bytes(900_000)
      : kind === 1
      ? null
      : kind === 2
      ? new Uint8Array(0)
      : bytes(1 + Math.floor(random() * 150));
    const key = kind === 3 ? null : kind === 4 ? new Uint8Array(0) : text(`key-${Math.floor(random() * 1000)}`);
    const headers: [string, Uint8Array | null][] = kind === 5
      ? [["a", text("1")], ["a", null], ["é", new Uint8Array(0)]]
      : [];
    return { topic, key, value, headers, timestamp: 1_700_000_000_000 + i };
  });
}

interface Seen {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestamp: number;
}

/** A digest of records in order, since a hundred thousand are too many to print. */
function digest(list: readonly Seen[]): string {
  const hash = createHash("sha256");
  for (const { key, value, timestamp } of list) {
    hash.update(`${timestamp} ${key === null ? "null" : key.length} ${value === null ? "null" : value.length} `);
    hash.update(key ?? new Uint8Array(0));
    hash.update(value ?? new Uint8Array(0));
  }
  return hash.digest("hex");
}

/** Without acknowledgements the broker may still be at work when everything is written. */
async function whenStored(topic: string, count: number): Promise<void> {
  const admin = kafka().admin();
  try {
    for (let stored = 0, tries = 0; stored < count && tries < 200; tries++) {
      stored = (await admin.listOffsets(topic, "latest")).reduce((sum, { offset }) => sum + offset, 0);
      if (stored < count) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await admin.close();
  }
}

const cases: [CompressionType, 0 | 1 | "all"][] = [["none", "all"], ["gzip", 1], ["zstd", "all"], ["snappy", 0], [
  "lz4",
  "all",
]];

describe("round trips through a real Kafka", () => {
  for (const [compressionType, acks] of cases) {
    test(`${RECORDS} records sent with ${compressionType} and acks ${acks} are read back alike by Java, kcat and us`, {
      timeout: 180_000,
    }, async () => {
      const topic = await createTopic(uniqueName(`ours-${compressionType}`), PARTITIONS);
      const sent = records(topic, 42);
      const producer = kafka().producer({ compressionType, acks, batchSize: 65_536 });
      const byPartition: Seen[][] = Array.from({ length: PARTITIONS }, () => []);
      const metadata = await Promise.all(sent.map((record) => producer.send(record)));
      await producer.close();
      for (const [i, { partition, offset }] of metadata.entries()) {
        const { key, value, timestamp } = sent[i] as {
          key: Uint8Array | null;
          value: Uint8Array | null;
          timestamp: number;
        };
        if (acks !== 0) assert.equal(offset, byPartition[partition]!.length, `record ${i}`);
        byPartition[partition]!.push({ key, value, timestamp });
      }
      if (acks === 0) await whenStored(topic, RECORDS);
      const java = await javaConsume(topic);
      const kcat = await kcatConsume(topic);
      const ours: (Seen & { partition: number })[] = [];
      for await (const r of kafka().consumer({ topics: topic, from: "earliest", until: "end" })) {
        ours.push({ partition: r.partition, key: r.key, value: r.value, timestamp: r.timestamp });
        if (r.timestamp % 10 === 5) {
          assert.deepEqual(r.headers.map(([name, value]) => [name, value === null ? null : value.length]), [["a", 1], [
            "a",
            null,
          ], ["é", 0]]);
        }
      }
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const expected = digest(byPartition[partition]!);
        const of = (list: readonly (Seen & { partition: number })[]) =>
          digest(list.filter((r) => r.partition === partition));
        assert.equal(of(java), expected, `Java, partition ${partition}`);
        assert.equal(of(kcat), expected, `kcat, partition ${partition}`);
        assert.equal(of(ours), expected, `we, partition ${partition}`);
      }
      const withHeaders = java.find((r) => r.timestamp % 10 === 5)!;
      assert.deepEqual(withHeaders.headers, [["a", text("1")], ["a", null], ["é", new Uint8Array(0)]]);
    });
  }

  test("we read exactly what the Java producer and kcat wrote, with every codec", { timeout: 120_000 }, async () => {
    for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
      const topic = await createTopic(uniqueName(`theirs-${codec}`), 1);
      const list = Array.from({ length: 500 }, (_, i) => ({
        partition: 0,
        timestamp: 1_700_000_000_000 + i,
        key: i % 3 === 0 ? null : text(`k${i}`),
        value: i % 7 === 0 ? null : text(`value ${i} `.repeat(20)),
        headers: i % 5 === 0 ? [["h", text(`${i}`)] as const] : [],
      }));
      await javaProduce(topic, list, { "compression.type": codec });
      await kcatProduce(
        topic,
        list.slice(0, 50).map(({ partition, key, value }) => ({
          partition,
          key: key ?? text("k"),
          value: value ?? text("v"),
        })),
        ["-z", codec],
      );
      const read: (Seen & { headers: unknown })[] = [];
      const consumer = kafka().consumer({ topics: topic, from: "earliest", until: "end" });
      for await (const r of consumer) {
        read.push({
          key: r.key?.slice() ?? null,
          value: r.value?.slice() ?? null,
          timestamp: r.timestamp,
          headers: r.headers,
        });
      }
      assert.equal(read.length, 550);
      assert.equal(digest(read.slice(0, 500)), digest(list), codec);
      assert.deepEqual(read[5]!.headers, [["h", text("5")]]);
      assert.deepEqual(read.slice(500).map((r) => r.value), list.slice(0, 50).map((r) => r.value ?? text("v")), codec);
    }
  });

  test("1,000 keys go to the partitions that Java puts them in", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("keys"), 7);
    const random = seededRandom(9);
    const keys = Array.from(
      { length: 1000 },
      (_, i) =>
        i % 2 === 0 ? text(`user-${i} ✓`) : Uint8Array.from({ length: i % 40 }, () => Math.floor(random() * 256)),
    );
    const expected = await partitionForKeys(keys, 7);
    const producer = kafka().producer();
    const sent = await Promise.all(keys.map((key) => producer.send({ topic, key, value: "x" })));
    await producer.close();
    assert.deepEqual(sent.map((metadata) => metadata.partition), expected);
  });

  test("an unknown topic is an error that names it, and the program can end", { timeout: 60_000 }, async () => {
    const producer = kafka().producer({ maxBlockMs: 1500 });
    await assert.rejects(producer.send({ topic: "no-such-topic", value: "x" }), {
      code: "UNKNOWN_TOPIC_OR_PARTITION",
      outcome: "not-written",
      topic: "no-such-topic",
      message: /no-such-topic/,
    });
    await producer.close();
  });

  test(
    "a record that the broker finds too large is refused with its topic and partition",
    { timeout: 60_000 },
    async () => {
      const topic = await createTopic(uniqueName("large"), 1);
      const producer = kafka().producer({ maxRequestSize: 4_000_000 });
      await assert.rejects(producer.send({ topic, value: new Uint8Array(2_000_000) }), {
        code: "MESSAGE_TOO_LARGE",
        outcome: "rejected",
        topic,
        partition: 0,
      });
      assert.equal((await producer.send({ topic, value: "still alive" })).offset, 0);
      await producer.close();
    },
  );
});
