import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PartitionMetadata, TopicMetadata } from "../../src/client/cluster.ts";
import { randomInt, seededRandom } from "../../src/core/random.ts";
import { PartitionQueue } from "../../src/producer/partition_queue.ts";
import { type ClusterView, clusterView, type PartitionRequest } from "../../src/producer/partitioner.ts";
import { ProducerBatch } from "../../src/producer/producer_batch.ts";
import { roundRobin } from "../../src/producer/round_robin.ts";
import { type StickyOptions, StickyPartitioner } from "../../src/producer/sticky_partitioner.ts";
import { uniformSticky } from "../../src/producer/uniform_sticky.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { range, stage } from "../helpers/producer_stage.ts";

/** A topic whose partitions have these leaders. */
function topicOf(leaders: readonly number[], name = "t"): TopicMetadata {
  const partitions: PartitionMetadata[] = leaders.map((leader, partition) => ({
    partition,
    leader,
    leaderEpoch: 0,
    replicas: [],
    isr: [],
  }));
  return { name, id: "A".repeat(22), isInternal: false, partitions };
}

function viewOf(topic: TopicMetadata): ClusterView {
  const nodes = topic.partitions.map(({ leader }) => leader).filter((leader) => leader >= 0);
  return clusterView("c", nodes, new Map([[topic.name, topic]]));
}

function requestOf(topic: TopicMetadata): PartitionRequest<unknown, unknown> {
  return { topic: topic.name, key: null, keyBytes: null, value: null, valueBytes: null, cluster: viewOf(topic) };
}

/** Queues with so many batches; undefined for a partition that was never used. */
function queuesOf(lengths: readonly (number | undefined)[]): (PartitionQueue | undefined)[] {
  return lengths.map((length, partition) => {
    if (length === undefined) return undefined;
    const queue = new PartitionQueue("t", partition);
    for (let i = 0; i < length; i++) {
      const builder = new RecordBatchBuilder(new Uint8Array(100));
      queue.waiting.push(new ProducerBatch("t", partition, builder, new Uint8Array(), 0, i));
    }
    return queue;
  });
}

/** How often each partition is chosen by so many choices. */
function choices(
  n: number,
  topic: TopicMetadata,
  lengths: readonly (number | undefined)[],
  options: Partial<StickyOptions> = {},
): number[] {
  const sticky = new StickyPartitioner(
    { batchSize: 100, random: seededRandom(42), adaptive: true, ...options },
    queuesOf(lengths),
  );
  const counts = topic.partitions.map(() => 0);
  for (let i = 0; i < n; i++) {
    counts[sticky.current(topic.partitions)]!++;
    sticky.appended(topic.partitions, 200, false); // enough to move on in any case
  }
  return counts;
}

/** Whether each count is within four standard deviations of its share. */
function assertShares(counts: readonly number[], weights: readonly number[]): void {
  const n = counts.reduce((sum, count) => sum + count, 0);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  counts.forEach((count, i) => {
    const share = weights[i]! / whole;
    const deviation = Math.sqrt(n * share * (1 - share));
    assert.ok(Math.abs(count - n * share) <= 4 * deviation, `${counts} for weights ${weights}`);
  });
}

describe("the sticky choice (scenario 8)", () => {
  test("follows the lengths of the queues: 0, 3, 1 are chosen 4 : 1 : 3", () => {
    assertShares(choices(80_000, topicOf([1, 1, 1]), [0, 3, 1]), [4, 1, 3]);
    assertShares(choices(80_000, topicOf([1, 2]), [9, 0]), [1, 10]);
  });

  test("is uniform when queues are alike, one was never used, there is one partition, or it is not adaptive", () => {
    assertShares(choices(40_000, topicOf([1, 1, 1]), [2, 2, 2]), [1, 1, 1]);
    assertShares(choices(40_000, topicOf([1, 1, 1]), [0, 9, undefined]), [1, 1, 1]);
    assertShares(choices(40_000, topicOf([1, 1, 1]), [0, 9, 1], { adaptive: false }), [1, 1, 1]);
    assert.deepEqual(choices(10, topicOf([1]), [5]), [10]);
  });

  test("leaves out partitions without a leader, unless none has one", () => {
    assertShares(choices(40_000, topicOf([1, -1, 1]), [undefined, undefined, undefined]), [1, 0, 1]);
    assertShares(choices(40_000, topicOf([1, -1, 1]), [0, 5, 3]), [4, 0, 1]);
    assertShares(choices(40_000, topicOf([-1, -1]), [undefined, undefined]), [1, 1]);
    assertShares(choices(40_000, topicOf([-1, -1]), [1, 0]), [1, 1]);
  });

  test("leaves out nodes that take nothing, unless all of them do", () => {
    const isStalled = (node: number) => node === 2;
    assertShares(choices(40_000, topicOf([1, 2, 3]), [0, 0, 0], { isStalled }), [1, 0, 1]);
    assertShares(choices(40_000, topicOf([1, 2, 3]), [0, 0, 2], { isStalled }), [3, 0, 1]);
    assertShares(choices(40_000, topicOf([2, 2]), [0, 4], { isStalled }), [1, 1]);
  });

  test("stays for a batch's worth, longer while the batch is not full, and at most for two", () => {
    const topic = topicOf([1, 1, 1, 1, 1, 1, 1, 1]);
    const queues = queuesOf([0, 0, 0, 0, 0, 0, 0, 0]);
    // Counts upwards, so that each move shows.
    let next = 0;
    const random = () => (next++ % 8) / 8;
    const sticky = new StickyPartitioner({ batchSize: 100, random, adaptive: false }, queues);
    assert.equal(sticky.current(topic.partitions), 0);
    sticky.appended(topic.partitions, 99, true);
    assert.equal(sticky.current(topic.partitions), 0, "99 of 100 bytes");
    sticky.appended(topic.partitions, 1, true);
    assert.equal(sticky.current(topic.partitions), 1, "100 bytes and a full batch");

    const batch = new ProducerBatch("t", 1, new RecordBatchBuilder(new Uint8Array(100)), new Uint8Array(), 0, 0);
    queues[1]!.open = batch;
    sticky.appended(topic.partitions, 150, false);
    assert.equal(sticky.current(topic.partitions), 1, "a batch that is not full is filled first");
    queues[1]!.open = undefined;
    assert.equal(sticky.current(topic.partitions), 2, "it was sent meanwhile");

    queues[2]!.open = batch;
    sticky.appended(topic.partitions, 199, false);
    assert.equal(sticky.current(topic.partitions), 2);
    sticky.appended(topic.partitions, 1, false);
    assert.equal(sticky.current(topic.partitions), 3, "twice a batch's worth");
  });

  test("gives every partition the same bytes over time, whatever the sizes of records", async () => {
    const { producer, broker, run } = await stage({ topics: { t: 4 } }, { batchSize: 1000 });
    const random = seededRandom(5);
    const partitions = 4;
    let sent = 0;
    for (let round = 0; round < 40; round++) {
      await run(producer.sendAll(
        range(50).map(() => {
          const size = 10 + randomInt(random, 200);
          sent += size;
          return { topic: "t", value: "x".repeat(size) };
        }),
      ));
    }
    for (let p = 0; p < partitions; p++) {
      const bytes = broker.values("t", p).reduce((sum, value) => sum + value.length, 0);
      assert.ok(Math.abs(bytes / sent - 1 / partitions) < 0.06, `partition ${p}: ${bytes} of ${sent}`);
    }
    await run(producer.close());
  });

  test("with partitionerAvailabilityTimeoutMs a node that takes nothing gets no more records without a key", async () => {
    // Node 2 never answers; its five requests stay open, and after the time-out nothing more is put on its queues.
    const verdict = (api: string, _: number, node: number) =>
      api === "Produce" && node === 2 ? "silence" as const : "answer" as const;
    const counts: number[] = [];
    for (const partitionerAvailabilityTimeoutMs of [0, 100]) {
      const options = { batchSize: 1, partitionerAvailabilityTimeoutMs, maxInFlightRequestsPerConnection: 1 };
      const { producer, broker, clock } = await stage({ nodes: 2, topics: { t: 2 }, verdict }, options);
      for (let i = 0; i < 200; i++) {
        producer.send({ topic: "t", value: `${i}` }).catch(() => {});
        await clock.advance(20);
      }
      counts.push(broker.values("t", 0).length);
      await producer.close({ timeoutMs: 0 });
    }
    // Adaptive weights alone leave it a few, the time-out none but those of the first moments.
    assert.ok(counts[1]! >= 190 && counts[1]! > counts[0]!, `${counts}`);
  });
});

describe("roundRobin", () => {
  test("takes the partitions in turn, each topic for itself, keys or not", async () => {
    const { producer, run } = await stage({ topics: { a: 3, b: 2 } }, { partitioner: roundRobin() });
    const places: string[] = [];
    for (const topic of ["a", "a", "b", "a", "a", "b", "b"]) {
      const { partition } = await run(producer.send({ topic, key: "same", value: "x" }));
      places.push(`${topic}${partition}`);
    }
    assert.deepEqual(places, ["a0", "a1", "b0", "a2", "a0", "b1", "b0"]);
    await run(producer.close());
  });

  test("is asked once for a record, also for one that waits for memory", async () => {
    const { producer, run } = await stage({ topics: { t: 3 } }, {
      partitioner: roundRobin(),
      batchSize: 1,
      bufferMemory: 250,
    });
    assert.equal((await run(producer.send({ topic: "t", value: "first" }))).partition, 0);
    const sent = await run(producer.sendAll(range(12).map(() => ({ topic: "t", value: "x".repeat(100) }))));
    assert.deepEqual(sent.map(({ partition }) => partition), range(12).map((i) => (i + 1) % 3));
    await run(producer.close());
  });

  test("skips partitions without a leader, and takes any when none has one", () => {
    const partitioner = roundRobin();
    const some = topicOf([1, -1, 2]);
    assert.deepEqual(range(4).map(() => partitioner.partition(requestOf(some))), [0, 2, 0, 2]);
    const none = topicOf([-1, -1], "u");
    assert.deepEqual(range(4).map(() => partitioner.partition(requestOf(none))), [0, 1, 0, 1]);
  });
});

describe("uniformSticky", () => {
  test("stays until a new batch begins, then goes to another partition", async () => {
    const { producer, broker, run } = await stage({ topics: { t: 4 } }, {
      batchSize: 500,
      partitioner: uniformSticky(seededRandom(3)),
    });
    const sent = await run(
      producer.sendAll(range(40).map((i) => ({ topic: "t", key: `${i}`, value: "x".repeat(90) }))),
    );
    const runs: number[] = [];
    sent.forEach(({ partition }, i) => {
      if (i === 0 || sent[i - 1]!.partition !== partition) runs.push(1);
      else runs[runs.length - 1]!++;
    });
    // 4 such records fill a batch of 500 bytes. The first run is longer by nothing: the first record begins a batch, too.
    assert.ok(runs.every((length) => length === 4), `${runs}`);
    assert.equal(range(4).reduce((sum, p) => sum + broker.batches("t", p).length, 0), 10);
    await run(producer.close());
  });

  test("never goes where no leader is, and moves only for the partition it is on", () => {
    const partitioner = uniformSticky(seededRandom(1));
    const topic = topicOf([1, -1, 2, 3]);
    const view = viewOf(topic);
    let at = partitioner.partition(requestOf(topic));
    for (let i = 0; i < 50; i++) {
      partitioner.onNewBatch!("t", view, (at + 1) % 4);
      assert.equal(partitioner.partition(requestOf(topic)), at);
      partitioner.onNewBatch!("t", view, at);
      const next = partitioner.partition(requestOf(topic));
      assert.notEqual(next, at);
      assert.notEqual(next, 1);
      at = next;
    }
  });
});

describe("a partitioner of the program's own", () => {
  test("sees the record, its bytes and the cluster, and decides", async () => {
    const seen: unknown[] = [];
    const { producer, run } = await stage({ topics: { t: 3, other: 2 }, nodes: 2 }, {
      keySerializer: (key: number) => `k${key}`,
      valueSerializer: (value: { n: number }) => new Uint8Array([value.n]),
      partitioner: ({ topic, key, keyBytes, value, valueBytes, cluster }) => {
        seen.push([
          topic,
          key,
          keyBytes,
          value,
          valueBytes,
          cluster.clusterId,
          cluster.nodes,
          cluster.partitions(topic).length,
        ]);
        assert.deepEqual(cluster.partitions("unknown"), []);
        assert.equal(cluster.availablePartitions(topic).length, 3);
        return value!.n % 3;
      },
    });
    assert.equal((await run(producer.send({ topic: "t", key: 7, value: { n: 5 } }))).partition, 2);
    assert.equal((await run(producer.send({ topic: "t", value: { n: 1 } }))).partition, 1);
    assert.deepEqual(seen, [
      ["t", 7, new Uint8Array([107, 55]), { n: 5 }, new Uint8Array([5]), "scripted", [1, 2], 3],
      ["t", null, null, { n: 1 }, new Uint8Array([1]), "scripted", [1, 2], 3],
    ]);
    await run(producer.close());
  });

  test("may send records itself", async () => {
    let nested: Promise<unknown> | undefined;
    const { producer, broker, run } = await stage({ topics: { t: 2 } }, {
      partitioner: ({ value }) => {
        if (value === "outer") nested = producer.send({ topic: "t", value: "inner", partition: 1 });
        return 0;
      },
    });
    await run(producer.send({ topic: "t", value: "first" }));
    await run(producer.send({ topic: "t", value: "outer" }));
    await run(nested!);
    assert.deepEqual([broker.values("t", 0), broker.values("t", 1)], [["first", "outer"], ["inner"]]);
    await run(producer.close());
  });

  test("is not asked for a record that names its partition", async () => {
    const { producer, run } = await stage({ topics: { t: 3 } }, { partitioner: () => assert.fail("asked") });
    assert.equal((await run(producer.send({ topic: "t", partition: 2, value: "x" }))).partition, 2);
    await run(producer.close());
  });

  test("that throws or answers an impossible partition fails that send only", async () => {
    const answers: Record<string, unknown> = { negative: -1, large: 3, half: 0.5, text: "1", none: undefined };
    const { producer, broker, run, failure } = await stage({ topics: { t: 3 } }, {
      partitioner: ({ key }) => {
        if (key === "throws") throw new Error("no idea");
        return (answers[key as string] ?? (key === "none" ? undefined : 0)) as number;
      },
    });
    const before = producer.send({ topic: "t", key: "ok", value: "1" });
    for (const key of ["throws", ...Object.keys(answers)]) {
      const error = await failure(producer.send({ topic: "t", key, value: "x" }));
      assert.deepEqual([error.code, error.outcome, error.topic], ["PARTITIONER_FAILED", "not-written", "t"], key);
      const reason = key === "throws" ? "no idea" : `it answered ${answers[key]}, the topic's partitions are 0 to 2`;
      assert.equal(error.message, `t: the partitioner failed: ${reason}. The record was not sent.`);
    }
    await run(Promise.all([before, producer.send({ topic: "t", key: "ok", value: "2" })]));
    assert.deepEqual(broker.values("t"), ["1", "2"]);
    await run(producer.close());
  });
});

describe("keys", () => {
  // murmur2 of each key as Java's Utils.murmur2 has it, and the partition of 3, 7, 12 and 100.
  const vectors: readonly (readonly [string | Uint8Array, number, readonly number[]])[] = [
    ["", 275646681, [0, 2, 9, 81]],
    ["0", 971027396, [2, 3, 8, 96]],
    ["a", -1563381124, [1, 5, 4, 24]],
    ["abc", 479470107, [0, 4, 3, 7]],
    ["kafka", -798503068, [1, 3, 4, 80]],
    ["user-42", 1459644460, [1, 1, 4, 60]],
    ["日本語", 1431860170, [1, 6, 10, 70]],
    ["😀", 131881617, [0, 0, 9, 17]],
    [new Uint8Array([0xff]), -311467685, [0, 5, 3, 63]],
  ];

  test("case 028: a key goes where Java's producer puts it", async () => {
    const topics = { t3: 3, t7: 7, t12: 12, t100: 100, t10: 10 };
    const { producer, run } = await stage({ topics });
    for (const [key, hash, expected] of vectors) {
      for (const [i, count] of [3, 7, 12, 100].entries()) {
        const { partition } = await run(producer.send({ topic: `t${count}`, key, value: "v" }));
        assert.equal(partition, (hash & 0x7fffffff) % count, `${key} of ${count}`);
        assert.equal(partition, expected[i], `${key} of ${count}`);
      }
    }
    // Where the sign is masked away, not dropped: abs would give 8 and 2.
    for (const [key, expected] of [["21", 0], ["foobar", 6], ["wu", 0]] as const) {
      assert.equal((await run(producer.send({ topic: "t10", key, value: "v" }))).partition, expected, key);
    }
    assert.equal((await run(producer.send({ topic: "t12", key: "100:48069", value: "v" }))).partition, 9);
    await run(producer.close());
  });

  test("partitionerIgnoreKeys treats all records as if they had none", async () => {
    const { producer, run } = await stage({ topics: { t: 8 } }, { partitionerIgnoreKeys: true, batchSize: 1 });
    const places = new Set<number>();
    for (let i = 0; i < 40; i++) {
      places.add((await run(producer.send({ topic: "t", key: "same", value: "v" }))).partition);
    }
    assert.ok(places.size > 3, `${[...places]}`);
    await run(producer.close());
  });
});
