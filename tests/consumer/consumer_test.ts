import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Consumer } from "../../src/consumer/consumer.ts";
import type { ConsumerOptions, EndOffset, StartOffset } from "../../src/consumer/consumer_options.ts";
import {
  AbortedError,
  BrokerError,
  ConfigError,
  CorruptRecordError,
  KafkaError,
  TimeoutError,
} from "../../src/core/kafka_error.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import type { FetchRequest, FetchResponse } from "../../src/protocol/fetch.ts";
import { batchOf, FakeCluster, markerOf } from "../helpers/fake_cluster.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const text = new TextDecoder();

function stage(nodes?: number[]): { clock: ManualClock; cluster: FakeCluster } {
  const clock = new ManualClock();
  return { clock, cluster: new FakeCluster(clock, nodes) };
}

function valuesOf(records: readonly { readonly value: Uint8Array | null }[]): string[] {
  return records.map(({ value }) => text.decode(value!));
}

/** Reads to the end. */
async function read(
  cluster: FakeCluster,
  options: ConsumerOptions,
  client?: Partial<ClientOptions>,
): Promise<string[]> {
  const values: string[] = [];
  for await (const record of new Consumer(cluster.context(client), options)) values.push(...valuesOf([record]));
  return values;
}

/** Reads `count` records and leaves the loop. */
async function readSome(consumer: Consumer, count: number): Promise<string[]> {
  const values: string[] = [];
  if (count === 0) return values;
  for await (const record of consumer) {
    values.push(...valuesOf([record]));
    if (values.length === count) break;
  }
  return values;
}

/** The error that `run` rejects with. */
async function errorOf(run: Promise<unknown>): Promise<KafkaError> {
  try {
    await run;
  } catch (error) {
    assert.ok(error instanceof KafkaError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "did not reject" });
}

/** Ten records at offsets 0 to 9, one a batch, with timestamps 1000, 1100, … */
function tenRecords(cluster: FakeCluster): void {
  const partition = cluster.addTopic("t").partitions[0]!;
  for (let n = 0; n < 10; n++) cluster.produce(partition, [`${n}`], { timestamp: 1000 + n * 100 });
}

describe("Consumer: where reading begins and ends", () => {
  const cases: [StartOffset, EndOffset, string][] = [
    ["earliest", "end", "0123456789"],
    ["latest", "end", ""],
    [7, "end", "789"],
    [0, { offset: 3 }, "012"],
    [{ offset: 4 }, { offset: 6 }, "45"],
    [-3, "end", "789"],
    [-100, { offset: 2 }, "01"],
    [{ timestamp: 1450 }, "end", "56789"],
    ["earliest", { timestamp: 1450 }, "01234"],
    [{ timestamp: 99_999 }, "end", ""],
    [8, { timestamp: 99_999 }, "89"],
    [5, { offset: 5 }, ""],
    [6, { offset: 2 }, ""],
  ];
  for (const [from, until, expected] of cases) {
    test(`from ${JSON.stringify(from)} until ${JSON.stringify(until)} gives "${expected}"`, async () => {
      const { clock, cluster } = stage();
      tenRecords(cluster);
      const values = await clock.runUntil(read(cluster, { topics: "t", from, until }));
      assert.equal(values.join(""), expected);
      assert.equal(clock.pendingTimers, 0);
    });
  }

  test("a batch is cut to what was asked for, at both ends", async () => {
    const { clock, cluster } = stage();
    cluster.produce(cluster.addTopic("t").partitions[0]!, ["a", "b", "c", "d", "e"]);
    const consumer = new Consumer(cluster.context(), { topics: ["t"], from: 1, until: { offset: 4 } });
    const steps: unknown[] = [];
    await clock.runUntil((async () => {
      for await (const batch of consumer.batches()) {
        const { topic, partition, baseOffset, lastOffset, highWatermark } = batch;
        steps.push({ topic, partition, baseOffset, lastOffset, highWatermark, values: valuesOf(batch.records()) });
      }
    })());
    assert.deepEqual(steps, [
      { topic: "t", partition: 0, baseOffset: 1, lastOffset: 3, highWatermark: 5, values: ["b", "c", "d"] },
    ]);
    assert.deepEqual(consumer.positions(), [{ topic: "t", partition: 0, position: 4, highWatermark: 5, end: 4 }]);
  });

  test("assignments have places of their own and read only their partitions", async () => {
    const { clock, cluster } = stage([1, 2]);
    const { partitions } = cluster.addTopic("t", 3);
    partitions.forEach((partition, p) => cluster.produce(partition, [`${p}a`, `${p}b`, `${p}c`]));
    const values = await clock.runUntil(read(cluster, {
      assignments: [{ topic: "t", partition: 2, from: 2 }, { topic: "t", partition: 0, until: { offset: 1 } }],
      until: "end",
    }));
    assert.deepEqual(values.sort(), ["0a", "2c"]);
  });

  test("the end is where it was when reading began", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a"]);
    const consumer = new Consumer(cluster.context(), { topics: "t", until: "end" });
    const values = await clock.runUntil((async () => {
      const values: string[] = [];
      for await (const record of consumer) {
        values.push(...valuesOf([record]));
        cluster.produce(partition, ["late"]);
      }
      return values;
    })());
    assert.deepEqual(values, ["a"]);
  });

  test("every partition of every topic is read in order, from all nodes", async () => {
    const { clock, cluster } = stage([1, 2, 3]);
    const expected = new Map<string, string[]>();
    for (const name of ["x", "y"]) {
      cluster.addTopic(name, 5).partitions.forEach((partition, p) => {
        const values = Array.from({ length: 40 }, (_, n) => `${name}${p}:${n}`);
        for (let n = 0; n < 40; n += 4) cluster.produce(partition, values.slice(n, n + 4));
        expected.set(`${name}-${p}`, values);
      });
    }
    const got = new Map<string, string[]>();
    await clock.runUntil((async () => {
      const options = { topics: ["x", "y"], until: "end", maxPartitionFetchBytes: 300, fetchMaxBytes: 900 } as const;
      for await (const record of new Consumer(cluster.context(), options)) {
        const name = `${record.topic}-${record.partition}`;
        got.set(name, [...got.get(name) ?? [], ...valuesOf([record])]);
      }
    })());
    assert.deepEqual([...got].sort(), [...expected].sort());
  });

  test("without until it waits for new records and for new partitions", async () => {
    const { clock, cluster } = stage([1, 2]);
    const topic = cluster.addTopic("t");
    cluster.produce(topic.partitions[0]!, ["a"]);
    const consumer = new Consumer(cluster.context({ metadataMaxAgeMs: 60_000 }), { topics: "t" });
    const iterator = consumer[Symbol.asyncIterator]();
    assert.deepEqual(valuesOf([(await clock.runUntil(iterator.next())).value!]), ["a"]);
    const next = iterator.next();
    await clock.advance(5000);
    cluster.produce(topic.partitions[0]!, ["b"]);
    assert.deepEqual(valuesOf([(await clock.runUntil(next, 1)).value!]), ["b"]);
    cluster.produce(cluster.addPartition(topic), ["new"]);
    assert.deepEqual(valuesOf([(await clock.runUntil(iterator.next(), 70_000)).value!]), ["new"]);
    await consumer.close();
    await clock.flush();
    assert.equal(clock.pendingTimers, 0);
  });
});

describe("Consumer: what is fetched", () => {
  test("compressed batches, headers, keys and LogAppendTime come through", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a", "b"], { gzip: true, key: "k", headers: [["h", "1"]], timestamp: 5000 });
    cluster.produce(partition, ["c", "d"], { attributes: 0x08, timestamp: 7000 });
    const got: unknown[] = [];
    await clock.runUntil((async () => {
      for await (const record of new Consumer(cluster.context(), { topics: "t", until: "end" })) {
        const { offset, timestamp, timestampType, key, headers } = record;
        got.push([offset, timestamp, timestampType, key === null ? null : text.decode(key), headers.length]);
      }
    })());
    assert.deepEqual(got, [
      [0, 5000, "CreateTime", "k", 1],
      [1, 5001, "CreateTime", "k", 1],
      // With LogAppendTime each record has the batch's greatest timestamp.
      [2, 7001, "LogAppendTime", null, 0],
      [3, 7001, "LogAppendTime", null, 0],
    ]);
  });

  test("control batches are not handed out and end a partition all the same", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a"], { producerId: 7, isTransactional: true });
    cluster.append(partition, markerOf("commit", 1, 7));
    cluster.produce(partition, ["b"], { producerId: 7, isTransactional: true });
    cluster.append(partition, markerOf("commit", 3, 7));
    assert.deepEqual(await clock.runUntil(read(cluster, { topics: "t", until: "end" })), ["a", "b"]);
  });

  test("read_committed hides aborted transactions, interleaved ones too, and stops at the last stable offset", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    const transactional = (producerId: number) => ({ producerId, isTransactional: true });
    cluster.produce(partition, ["7 aborted"], transactional(7)); // 0
    cluster.produce(partition, ["8 committed"], transactional(8)); // 1
    cluster.produce(partition, ["plain"], { producerId: 7 }); // 2
    cluster.produce(partition, ["7 aborted"], transactional(7)); // 3
    cluster.append(partition, markerOf("commit", 4, 8));
    cluster.append(partition, markerOf("abort", 5, 7));
    cluster.produce(partition, ["7 committed"], transactional(7)); // 6
    cluster.append(partition, markerOf("commit", 7, 7));
    cluster.produce(partition, ["8 aborted"], transactional(8)); // 8
    cluster.append(partition, markerOf("abort", 9, 8));
    cluster.produce(partition, ["9 open"], transactional(9)); // 10
    partition.lastStableOffset = 10;
    // Out of order, as brokers may give them.
    partition.aborted = [{ producerId: 8, firstOffset: 8 }, { producerId: 7, firstOffset: 0 }];
    const committed = read(cluster, { topics: "t", until: "end", isolationLevel: "read_committed" });
    assert.deepEqual(await clock.runUntil(committed), ["8 committed", "plain", "7 committed"]);
    const all = await clock.runUntil(read(cluster, { topics: "t", until: "end" }));
    assert.equal(all.length, 7);
  });

  test("a batch that the answer cuts off is fetched again; one larger than all limits comes whole", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    const values = Array.from({ length: 9 }, (_, n) => `${n}`.repeat(100));
    for (const value of values) cluster.produce(partition, [value]);
    cluster.produce(partition, ["x".repeat(5000)]);
    const options = { topics: "t", until: "end", maxPartitionFetchBytes: 500 } as const;
    assert.deepEqual(await clock.runUntil(read(cluster, options)), [...values, "x".repeat(5000)]);
    assert.equal(cluster.countOf("Fetch"), 6);
  });

  test("brokers without topic ids are asked by name", async () => {
    const { clock, cluster } = stage();
    const topic = cluster.addTopic("t");
    topic.id = "AAAAAAAAAAAAAAAAAAAAAA";
    cluster.produce(topic.partitions[0]!, ["a"]);
    assert.deepEqual(await clock.runUntil(read(cluster, { topics: "t", until: "end" })), ["a"]);
    cluster.maxVersions.set("Fetch", 4);
    assert.deepEqual(await clock.runUntil(read(cluster, { topics: "t", until: "end" })), ["a"]);
    assert.deepEqual(cluster.calls.filter(({ api }) => api === "Fetch").map(({ version }) => version), [12, 4]);
  });

  test("at most one answer waits and one is eaten, however slow the caller is", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    for (let n = 0; n < 20; n++) cluster.produce(partition, ["x".repeat(1000)]);
    const consumer = new Consumer(cluster.context(), { topics: "t", maxPartitionFetchBytes: 1200 });
    const iterator = consumer[Symbol.asyncIterator]();
    await clock.runUntil(iterator.next());
    await clock.advance(10_000);
    assert.equal(cluster.countOf("Fetch"), 2);
    await clock.runUntil(iterator.next());
    await clock.advance(10_000);
    assert.equal(cluster.countOf("Fetch"), 3);
    await consumer.close();
  });

  test("a long poll always has all partitions of its node in it", async () => {
    const { clock, cluster } = stage();
    const { partitions } = cluster.addTopic("t", 4);
    for (const partition of partitions) cluster.produce(partition, ["a"]);
    const consumer = new Consumer(cluster.context(), { topics: "t" });
    const iterator = consumer[Symbol.asyncIterator]();
    for (let n = 0; n < 4; n++) await clock.runUntil(iterator.next());
    void iterator.next();
    await clock.flush();
    const fetches = cluster.calls.filter(({ api }) => api === "Fetch").map(({ request }) => request as FetchRequest);
    assert.deepEqual(fetches.map(({ topics }) => topics[0]!.partitions.length), [4, 4]);
    assert.deepEqual(fetches.map(({ maxWaitMs }) => maxWaitMs), [500, 500]);
    await consumer.close();
  });

  test("next() called several times at once is answered in order", async () => {
    const { clock, cluster } = stage();
    tenRecords(cluster);
    const iterator = new Consumer(cluster.context(), { topics: "t", until: "end" })[Symbol.asyncIterator]();
    const results = await clock.runUntil(Promise.all(Array.from({ length: 12 }, () => iterator.next())));
    assert.equal(results.slice(0, 10).map(({ value }) => text.decode(value!.value!)).join(""), "0123456789");
    assert.deepEqual(results.slice(10).map(({ done }) => done), [true, true]);
  });
});

describe("Consumer: what goes wrong", () => {
  test("a leader that moved is followed: with the hint of the answer at once, else through metadata", async (t) => {
    for (const version of [16, 11]) {
      await t.test(`Fetch v${version}`, async () => {
        const { clock, cluster } = stage([1, 2]);
        cluster.maxVersions.set("Fetch", version);
        const partition = cluster.addTopic("t").partitions[0]!;
        cluster.produce(partition, ["a"]);
        const consumer = new Consumer(cluster.context(), { topics: "t" });
        const iterator = consumer[Symbol.asyncIterator]();
        await clock.runUntil(iterator.next());
        const next = iterator.next();
        await clock.flush();
        partition.leader = 2;
        partition.epoch = 1;
        cluster.produce(partition, ["b"]);
        const started = clock.now();
        assert.deepEqual(valuesOf([(await clock.runUntil(next)).value!]), ["b"]);
        assert.ok(clock.now() - started <= (version === 16 ? 0 : 200), `took ${clock.now() - started} ms`);
        const last = cluster.calls.filter(({ api, node }) => api === "Fetch" && node === 2)[0]!.request as FetchRequest;
        assert.equal(last.topics[0]!.partitions[0]!.currentLeaderEpoch, version >= 9 ? 1 : -1);
        await consumer.close();
      });
    }
  });

  test("an offset that is not in the log is an error with the range there is", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    partition.logStart = 5;
    cluster.produce(partition, ["f", "g"]);
    const error = await clock.runUntil(errorOf(read(cluster, { topics: "t", from: 2, until: "end" })));
    assert.ok(error instanceof BrokerError);
    assert.deepEqual([error.code, error.topic, error.partition, error.offset], ["OFFSET_OUT_OF_RANGE", "t", 0, 2]);
    assert.match(error.message, /t-0: offset 2 .* offsets 5 to before 7/);
    const options = { topics: "t", from: 2, until: "end" } as const;
    const earliest = await clock.runUntil(read(cluster, { ...options, autoOffsetReset: "earliest" }));
    assert.deepEqual(earliest, ["f", "g"]);
    assert.deepEqual(await clock.runUntil(read(cluster, { ...options, autoOffsetReset: "latest" })), []);
    assert.equal(clock.pendingTimers, 0);
  });

  test("a wrong checksum is an error with topic, partition and offset, after the records before it", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a"]);
    const damaged = batchOf(["bbbb"], { baseOffset: 1 });
    damaged[damaged.length - 3]! ^= 0x01;
    cluster.append(partition, damaged);
    const values: string[] = [];
    const error = await clock.runUntil(errorOf((async () => {
      for await (const record of new Consumer(cluster.context(), { topics: "t", until: "end" })) {
        values.push(...valuesOf([record]));
      }
    })()));
    assert.deepEqual(values, ["a"]);
    assert.ok(error instanceof CorruptRecordError);
    assert.deepEqual([error.topic, error.partition, error.offset], ["t", 0, 1]);
    assert.match(error.message, /t-0, offset 1/);
    const unchecked = await clock.runUntil(read(cluster, { topics: "t", until: "end", checkCrcs: false }));
    assert.equal(unchecked.length, 2);
    assert.equal(clock.pendingTimers, 0);
  });

  test("bytes without one whole batch, and batch headers that cannot be, are errors and not asked for again", async (t) => {
    const good = batchOf(["a"], { baseOffset: 0 });
    const badLength = good.slice();
    new DataView(badLength.buffer).setInt32(8, -5);
    const badMagic = good.slice();
    badMagic[16] = 9;
    for (
      const [what, records] of [["cut", good.subarray(0, 40)], ["length", badLength], ["magic", badMagic]] as const
    ) {
      await t.test(what, async () => {
        const { clock, cluster } = stage();
        cluster.produce(cluster.addTopic("t").partitions[0]!, ["a"]);
        cluster.after = ({ api }, answer) => {
          if (api === "Fetch") (answer as FetchResponse).responses[0]!.partitions[0]!.records = records;
          return answer;
        };
        const error = await clock.runUntil(errorOf(read(cluster, { topics: "t", until: "end" })));
        assert.ok(error instanceof CorruptRecordError, error.message);
        assert.deepEqual([error.topic, error.partition, error.offset], ["t", 0, 0]);
        assert.equal(cluster.countOf("Fetch"), 1);
      });
    }
  });

  test("a garbled answer costs the connection, not a record", async () => {
    const { clock, cluster } = stage();
    tenRecords(cluster);
    let times = 0;
    cluster.frame = ({ api }, frame) => api === "Fetch" && times++ < 2 ? frame.subarray(0, 30) : frame;
    const values = await clock.runUntil(read(cluster, { topics: "t", until: "end" }));
    assert.equal(values.join(""), "0123456789");
    assert.equal(times, 3);
  });

  test("a broker that goes away and comes back is waited for", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a"]);
    const consumer = new Consumer(cluster.context(), { topics: "t" });
    const iterator = consumer[Symbol.asyncIterator]();
    await clock.runUntil(iterator.next());
    const next = iterator.next();
    await clock.flush();
    cluster.network.setReachability("127.0.0.1", 9092, "refuse");
    cluster.network.cutAll("127.0.0.1", 9092);
    await clock.advance(20_000);
    cluster.network.setReachability("127.0.0.1", 9092, "open");
    cluster.produce(partition, ["b"]);
    assert.deepEqual(valuesOf([(await clock.runUntil(next, 5000)).value!]), ["b"]);
    await consumer.close();
  });

  test("a broker that stays away ends reading with an error that names partition, host and cause", async () => {
    const { clock, cluster } = stage();
    const partition = cluster.addTopic("t").partitions[0]!;
    cluster.produce(partition, ["a"]);
    const consumer = new Consumer(cluster.context({ defaultApiTimeoutMs: 30_000 }), { topics: "t" });
    const iterator = consumer[Symbol.asyncIterator]();
    await clock.runUntil(iterator.next());
    const next = errorOf(iterator.next());
    await clock.flush();
    cluster.network.setReachability("127.0.0.1", 9092, "refuse");
    cluster.network.cutAll("127.0.0.1", 9092);
    const started = clock.now();
    const error = await clock.runUntil(next);
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.topic, error.partition, error.offset, error.code], ["t", 0, 1, "ECONNREFUSED"]);
    assert.match(error.message, /t-0: .*127\.0\.0\.1:9092/);
    const took = clock.now() - started;
    assert.ok(took >= 30_000 && took < 32_000, `${took} ms`);
    assert.equal((await iterator.next()).done, true);
    assert.equal(clock.pendingTimers, 0);
  });

  test("a topic that is not there is an error after defaultApiTimeoutMs, or made where the broker makes topics", async () => {
    const { clock, cluster } = stage();
    const client = { defaultApiTimeoutMs: 3000 };
    const error = await clock.runUntil(errorOf(read(cluster, { topics: "none", until: "end" }, client)));
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.code, error.topic], ["UNKNOWN_TOPIC_OR_PARTITION", "none"]);
    cluster.autoCreate = true;
    const refused = read(cluster, { topics: "none", until: "end", allowAutoCreateTopics: false }, client);
    assert.ok(await clock.runUntil(errorOf(refused)) instanceof TimeoutError);
    assert.deepEqual(await clock.runUntil(read(cluster, { topics: "none", until: "end" }, client)), []);
    assert.equal(clock.pendingTimers, 0);
  });

  test("a topic that was deleted and created again is not mistaken for the old one", async () => {
    const { clock, cluster } = stage();
    cluster.produce(cluster.addTopic("t").partitions[0]!, ["a"]);
    const consumer = new Consumer(cluster.context(), { topics: "t" });
    const iterator = consumer[Symbol.asyncIterator]();
    await clock.runUntil(iterator.next());
    const next = errorOf(iterator.next());
    await clock.flush();
    cluster.topics.delete("t");
    cluster.produce(cluster.addTopic("t").partitions[0]!, ["other", "other"]);
    const error = await clock.runUntil(next);
    assert.deepEqual([error.code, error.topic, error.partition], ["TOPIC_RECREATED", "t", 0]);
  });

  test("a refusal is an error at once", async () => {
    const { clock, cluster } = stage();
    cluster.produce(cluster.addTopic("t").partitions[0]!, ["a"]);
    cluster.after = ({ api }, answer) => {
      if (api !== "Fetch") return answer;
      const { topicId } = (answer as FetchResponse).responses[0]!;
      return { responses: [{ topicId, partitions: [{ partitionIndex: 0, errorCode: 29 }] }] };
    };
    const error = await clock.runUntil(errorOf(read(cluster, { topics: "t", until: "end" })));
    assert.deepEqual([error.code, error.topic, error.partition], ["TOPIC_AUTHORIZATION_FAILED", "t", 0]);
    assert.equal(clock.pendingTimers, 0);
  });

  test("neither errors nor empty answers that come at once are asked for again at once", async (t) => {
    for (const what of ["errors", "empty answers", "answers without the partition"]) {
      await t.test(what, async () => {
        const { clock, cluster } = stage();
        cluster.addTopic("t");
        cluster.longPoll = false;
        cluster.after = ({ api }, answer) => {
          if (api !== "Fetch" || what === "empty answers") return answer;
          const { topicId } = (answer as FetchResponse).responses[0]!;
          const partitions = what === "errors" ? [{ partitionIndex: 0, errorCode: 56 }] : [];
          return { responses: [{ topicId, partitions }] };
        };
        const consumer = new Consumer(cluster.context(), { topics: "t" });
        const next = consumer[Symbol.asyncIterator]().next();
        await clock.runUntil(new Promise<void>((resolve) => clock.setTimer(10_000, resolve)));
        const fetches = cluster.countOf("Fetch");
        assert.ok(fetches > 5 && fetches <= 101, `${fetches} fetches in 10 s`);
        await consumer.close();
        assert.equal((await next).done, true);
        assert.equal(clock.pendingTimers, 0);
      });
    }
  });
});

describe("Consumer: how it ends", () => {
  test("close() ends a loop that waits, and what was connected", async () => {
    const { clock, cluster } = stage();
    cluster.addTopic("t");
    const consumer = new Consumer(cluster.context(), { topics: "t" });
    const reading = readSome(consumer, 1);
    await clock.advance(3000);
    await consumer.close();
    await consumer.close();
    assert.deepEqual(await reading, []);
    await clock.flush();
    assert.equal(clock.pendingTimers, 0);
    assert.equal(cluster.network.connections("127.0.0.1", 9092).length, 0);
  });

  test("close() before and during the start ends quietly", async () => {
    const { clock, cluster } = stage();
    const unused = new Consumer(cluster.context(), { topics: "t" });
    await unused.close();
    assert.deepEqual(await readSome(unused, 1), []);
    const starting = new Consumer(cluster.context(), { topics: "missing" });
    const reading = readSome(starting, 1);
    await clock.advance(500);
    await starting.close();
    assert.deepEqual(await clock.runUntil(reading), []);
    assert.equal(clock.pendingTimers, 0);
  });

  test("leaving the loop closes the consumer", async () => {
    const { clock, cluster } = stage();
    tenRecords(cluster);
    const consumer = new Consumer(cluster.context(), { topics: "t" });
    assert.deepEqual(await clock.runUntil(readSome(consumer, 3)), ["0", "1", "2"]);
    assert.deepEqual(await readSome(consumer, 1), []);
    assert.equal(clock.pendingTimers, 0);
    assert.equal(cluster.network.connections("127.0.0.1", 9092).length, 0);
  });

  test("a signal ends it with an AbortedError: before, at the start, while it waits, and between records", async () => {
    const { clock, cluster } = stage();
    tenRecords(cluster);
    const before = new Consumer(cluster.context(), { topics: "t", signal: AbortSignal.abort("why") });
    const error = await errorOf(readSome(before, 1));
    assert.ok(error instanceof AbortedError);
    assert.equal(error.cause, "why");
    for (const [topics, wait] of [["missing", 500], ["t", 500]] as const) {
      const controller = new AbortController();
      const consumer = new Consumer(cluster.context(), { topics, from: "latest", signal: controller.signal });
      const reading = errorOf(readSome(consumer, 1));
      await clock.advance(wait);
      controller.abort();
      assert.ok(await clock.runUntil(reading) instanceof AbortedError);
    }
    const controller = new AbortController();
    const iterator = new Consumer(cluster.context(), { topics: "t", signal: controller.signal })
      [Symbol.asyncIterator]();
    await clock.runUntil(iterator.next());
    controller.abort();
    assert.ok(await errorOf(iterator.next()) instanceof AbortedError);
    assert.equal((await iterator.next()).done, true);
    assert.equal(clock.pendingTimers, 0);
  });
});

test("Consumer: options that do not fit are refused with a reason", () => {
  const { cluster } = stage();
  const make = (options: unknown) => () => new Consumer(cluster.context(), options as ConsumerOptions);
  const wrong: [unknown, RegExp][] = [
    [{}, /say what to read/],
    [{ topics: "t", assignments: [{ topic: "t", partition: 0 }] }, /not both/],
    [{ topics: [] }, /topics/],
    [{ topics: "t", from: "begin" }, /from .*"earliest"/],
    [{ topics: "t", from: 1.5 }, /from/],
    [{ topics: "t", until: 5 }, /until/],
    [{ topics: "t", until: { offset: -1 } }, /until/],
    [{ topics: "t", isolationLevel: "none" }, /isolation\.level/],
    [{ topics: "t", fetchMinByte: 1 }, /did you mean fetchMinBytes/],
    [{ assignments: [{ topic: "t" }] }, /assignments/],
    [{ assignments: [{ topic: "t", partition: 1 }, { topic: "t", partition: 1 }] }, /t-1 is in assignments twice/],
  ];
  for (const [options, message] of wrong) {
    assert.throws(make(options), (error) => error instanceof ConfigError && message.test(error.message));
  }
});
