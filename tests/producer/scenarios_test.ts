/** Scenarios of the Java client's own tests that no other file here has: accumulator, sender, identity. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { Accumulator } from "../../src/producer/accumulator.ts";
import { BufferPool } from "../../src/producer/buffer_pool.ts";
import type { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import { testGzip } from "../helpers/fake_cluster.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { range, stage } from "../helpers/producer_stage.ts";
import type { Verdict } from "../helpers/scripted_broker.ts";

const produce = (of: (nth: number) => Verdict) => (api: string, nth: number): Verdict =>
  api === "Produce" ? of(nth) : "answer";

const alone: ProducerOptions = { batchSize: 1 };

function codeOf(sent: Promise<{ offset: number }>): Promise<number | string> {
  return sent.then(({ offset }) => offset, (error: KafkaError) => `${error.code} ${error.outcome}`);
}

function assertMemoryIsBack(producer: Pick<Producer, "metrics">): void {
  const of = (name: string) => producer.metrics().find((metric) => metric.name === name)!.value;
  assert.equal(of("buffer-available-bytes"), of("buffer-total-bytes"));
}

describe("scenario 1: what makes a batch leave", () => {
  const quiet = { lingerMs: 10_000, batchSize: 1000 };

  test("a full batch at once, one that is not after exactly lingerMs", async () => {
    const { producer, broker, clock, run } = await stage({}, quiet);
    await run(producer.partitionsFor("t"));
    const start = clock.now();
    producer.send({ topic: "t", value: "x" }).catch(() => {});
    await clock.advance(9999);
    assert.equal(broker.produceRequests.length, 0);
    await clock.advance(1);
    assert.equal(broker.produceRequests.length, 1);
    assert.equal(clock.now() - start, 10_000);
    // Eleven records of 100 bytes: the first nine fill a batch of 1000, the rest waits.
    for (const i of range(11)) producer.send({ topic: "t", value: `${i}`.padEnd(100, ".") }).catch(() => {});
    await clock.advance(0);
    assert.equal(broker.produceRequests.length, 2);
    assert.equal(broker.batches("t").at(-1)!.count, 8);
    await run(producer.close());
    assert.equal(broker.values("t").length, 12);
  });

  test("somebody who waits for memory", async () => {
    const { producer, broker, clock, run } = await stage({ topics: { t: 2 } }, { ...quiet, bufferMemory: 1000 });
    const first = producer.send({ topic: "t", partition: 0, value: "x" });
    await clock.advance(5000);
    assert.equal(broker.produceRequests.length, 0);
    // A record for another partition's batch finds no memory; the one that lingers goes.
    const second = producer.send({ topic: "t", partition: 1, value: "y" });
    await run(first);
    assert.equal(clock.now(), 5000);
    await run(Promise.all([second, producer.close()]));
  });
});

test("scenario 3: maxRequestSize is kept, and no partition starves in the long run", async () => {
  const partitions = 6;
  const { producer, broker, run } = await stage({ topics: { t: partitions } }, {
    batchSize: 600,
    maxRequestSize: 1500,
    maxInFlightRequestsPerConnection: 1,
    lingerMs: 0,
  });
  const sends: Promise<unknown>[] = [];
  for (let round = 0; round < 30; round++) {
    for (let partition = 0; partition < partitions; partition++) {
      sends.push(producer.send({ topic: "t", partition, value: `${round}`.padEnd(480, ".") }));
    }
  }
  await run(Promise.all(sends));
  const first = broker.produceRequests.slice(0, 45);
  const shares = range(partitions).map(() => 0);
  for (const { topicData } of first) {
    const parts = topicData.flatMap(({ partitionData }) => partitionData);
    const size = parts.reduce((sum, { records }) => sum + records!.length, 0);
    assert.ok(size <= 1500 || parts.length === 1, `${size}`);
    for (const { index } of parts) shares[index]!++;
  }
  assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${shares}`);
  await run(producer.close());
});

test("compression that takes long lets the event loop turn between two requests", async () => {
  let inTurn = 0;
  const turns: number[] = [];
  const compress = (bytes: Uint8Array): Uint8Array => {
    if (inTurn++ === 0) {
      clock.nextTurn(() => {
        turns.push(inTurn);
        inTurn = 0;
      });
    }
    clock.spend(6);
    return testGzip.compress(bytes);
  };
  const codecs = { gzip: { ...testGzip, compress } };
  const { producer, broker, clock, run } = await stage(
    {},
    { compressionType: "gzip", batchSize: 300, lingerMs: 0 },
    { codecs },
  );
  await run(producer.send({ topic: "t", value: "first" }));
  // No two alike, so that they stay large.
  const value = (i: number) => Uint8Array.from({ length: 300 }, (_, at) => (i * 7919 + at * at * 31) >> 3);
  await run(Promise.all(range(30).map((i) => producer.send({ topic: "t", value: value(i) }))));
  assert.ok(turns.length > 20, `${turns.length}`);
  assert.deepEqual(turns.filter((n) => n > 1), []);
  assert.equal(broker.values("t").length, 31);
  await run(producer.close());
});

test("with nothing that may be sent, a look that takes long is not followed by another one at once", async () => {
  const verdict = (api: string): Verdict => api === "Produce" ? "silence" : "answer";
  const options = { ...alone, maxInFlightRequestsPerConnection: 1 };
  const { producer, broker, clock, run } = await stage({ verdict }, options);
  await run(producer.partitionsFor("t"));
  const sends = range(2).map((i) => codeOf(producer.send({ topic: "t", value: `${i}` })));
  while (broker.produceRequests.length === 0) await clock.advance(1);
  const [now, nextTurn] = [clock.now.bind(clock), clock.nextTurn.bind(clock)];
  let turns = 0;
  clock.now = () => {
    clock.spend(6);
    return now();
  };
  clock.nextTurn = (turn) => {
    if (++turns < 100) nextTurn(turn);
  };
  const flushed = producer.flush();
  await clock.flush();
  assert.ok(turns < 10, `${turns}`);
  Object.assign(clock, { now, nextTurn });
  await producer.close({ timeoutMs: 0 });
  await run(flushed);
  assert.deepEqual(await Promise.all(sends), ["CLOSED unknown", "CLOSED not-written"]);
});

describe("scenario 4: the wait before a batch is sent again", () => {
  test("doubles with each failure up to its maximum, within 20 %", async () => {
    const { producer, broker, clock, run } = await stage({
      verdict: produce((nth) => nth <= 6 ? { error: 19 } : "answer"),
    });
    const at: number[] = [];
    broker.script.verdict = (api, nth) => {
      if (api === "Produce") at.push(clock.now());
      return api === "Produce" && nth <= 6 ? { error: 19 } : "answer";
    };
    await run(producer.send({ topic: "t", value: "x" }));
    const waits = at.slice(1).map((time, i) => time - at[i]!);
    [100, 200, 400, 800, 1000, 1000].forEach((expected, i) =>
      assert.ok(waits[i]! >= expected * 0.8 && waits[i]! <= Math.min(1000, expected * 1.2), `${waits}`)
    );
    await run(producer.close());
  });

  test("scenario 22: is left out when the answer names a newer leader, and only then; metadata is asked for in any case", async () => {
    for (const hint of [{ leaderId: 2, leaderEpoch: 1 }, { leaderId: 2, leaderEpoch: 0 }, undefined]) {
      let moved = false;
      const { producer, broker, clock, run } = await stage({
        nodes: 2,
        leader: () => moved ? 2 : 1,
        partitionAnswer: () => moved || hint === undefined ? {} : { currentLeader: hint },
        verdict: (api, _, node) => {
          if (api !== "Produce" || node === 2) return "answer";
          return { error: 6 };
        },
      });
      await run(producer.partitionsFor("t"));
      const asked = broker.requests.filter((api) => api === "Metadata").length;
      const sent = producer.send({ topic: "t", value: "x" });
      await clock.advance(5);
      moved = true;
      const start = clock.now();
      await run(sent);
      const waited = clock.now() - start;
      assert.equal(waited < 50, hint?.leaderEpoch === 1, `${JSON.stringify(hint)}: ${waited}`);
      await clock.advance(2000);
      assert.ok(broker.requests.filter((api) => api === "Metadata").length > asked);
      await run(producer.close());
    }
  });
});

describe("scenario 6: the delivery time-out", () => {
  test("counts from the first record, whatever lingerMs, and stops no later batch", async () => {
    for (const lingerMs of [0, 900]) {
      const { producer, broker, clock, run } = await stage({ verdict: produce(() => "silence") }, {
        lingerMs,
        deliveryTimeoutMs: 2000,
      }, { requestTimeoutMs: 1000 });
      await run(producer.partitionsFor("t"));
      const start = clock.now();
      assert.match(await run(codeOf(producer.send({ topic: "t", value: "x" }))) as string, /^DELIVERY_TIMEOUT unknown/);
      assert.equal(clock.now() - start, 2000, `lingerMs ${lingerMs}`);
      broker.script.verdict = () => "answer";
      // It was stored, though the broker never said so.
      assert.equal(await run(codeOf(producer.send({ topic: "t", value: "y" }))), 1);
      await run(producer.close());
      assertMemoryIsBack(producer);
    }
  });

  test("may be as long as a number of 32 bits: nothing overflows", async () => {
    const longest = 2 ** 31 - 1;
    const { producer, run } = await stage({}, { deliveryTimeoutMs: longest, lingerMs: 1000, maxBlockMs: longest });
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "x" }))), 0);
    await run(producer.close({ timeoutMs: longest }));
  });

  test("scenario 11: with one request in flight the next batch waits for the answer though the first has expired", async () => {
    const options = {
      ...alone,
      maxInFlightRequestsPerConnection: 1,
      enableIdempotence: false,
      deliveryTimeoutMs: 1500,
    };
    const { producer, broker, clock, run } = await stage({
      verdict: produce((nth) => nth === 1 ? "silence" : "answer"),
    }, {
      ...options,
      lingerMs: 0,
    }, { requestTimeoutMs: 1500 });
    await run(producer.partitionsFor("t"));
    const first = codeOf(producer.send({ topic: "t", value: "a" }));
    await clock.advance(1000);
    const second = codeOf(producer.send({ topic: "t", value: "b" }));
    await clock.advance(499);
    assert.equal(broker.produceRequests.length, 1);
    await run(Promise.all([first, second]));
    assert.match(await first as string, /unknown$/);
    assert.deepEqual(broker.values("t"), ["a", "b"]);
    await run(producer.close());
  });
});

describe("order and identity", () => {
  test("scenario 13: the second is acknowledged while the first is being retried: order in the log stays", async () => {
    // The first batch is refused for a moment; without idempotence and with several in flight the second may pass it, which
    // is what the option allows. With idempotence it may not.
    for (const enableIdempotence of [true, false]) {
      const { producer, broker, run } = await stage(
        { verdict: produce((nth) => nth === 2 ? { error: 6 } : "answer") },
        {
          ...alone,
          enableIdempotence,
        },
      );
      const warm = await run(codeOf(producer.send({ topic: "t", value: "0" })));
      assert.equal(warm, 0);
      const offsets = await run(Promise.all(["1", "2"].map((value) => codeOf(producer.send({ topic: "t", value })))));
      assert.deepEqual(broker.values("t"), enableIdempotence ? ["0", "1", "2"] : ["0", "2", "1"]);
      assert.deepEqual(offsets, enableIdempotence ? [1, 2] : [2, 1]);
      await run(producer.close());
    }
  });

  test("scenario 15: a batch that expired before it was ever sent leaves no doubt behind", async () => {
    const { producer, broker, clock, run } = await stage({ leader: () => -1 }, { deliveryTimeoutMs: 1500 }, {
      requestTimeoutMs: 1000,
    });
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "x" }))), "DELIVERY_TIMEOUT not-written");
    broker.script.leader = () => 1;
    await clock.advance(5000);
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "y" }))), 0);
    // The same epoch, from the first sequence on.
    assert.deepEqual(broker.batches("t").map(({ producerEpoch, baseSequence }) => [producerEpoch, baseSequence]), [[
      0,
      0,
    ]]);
    await run(producer.close());
  });

  test("scenario 16: UNKNOWN_PRODUCER_ID is retried as it is without a log start, in a new epoch with one", async () => {
    for (const [logStartOffset, epoch] of [[-1, 0], [1, 1], [0, 1]] as const) {
      const { producer, broker, run } = await stage({
        verdict: produce((nth) => nth === 2 ? { error: 59 } : "answer"),
        partitionAnswer: () => ({ logStartOffset }),
      }, alone);
      assert.equal(await run(codeOf(producer.send({ topic: "t", value: "0" }))), 0);
      assert.equal(await run(codeOf(producer.send({ topic: "t", value: "1" }))), 1);
      const last = broker.batches("t").at(-1)!;
      assert.deepEqual([last.producerEpoch, last.baseSequence], [epoch, epoch === 0 ? 1 : 0], `${logStartOffset}`);
      await run(producer.close());
    }
  });

  test("scenario 18: with the last epoch used up a new producer id is asked for; what was sent under the old one keeps it", async () => {
    // The second of three in flight is refused for good, so that a new epoch is due while the third is on its way.
    const { producer, broker, run } = await stage({
      epoch: (next) => next === 1001 ? 32767 : 0,
      verdict: produce((nth) => nth === 3 ? { error: 87 } : "answer"),
    }, alone);
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "0" }))), 0);
    const outcomes = await run(
      Promise.all(["1", "2", "3"].map((value) => codeOf(producer.send({ topic: "t", value })))),
    );
    assert.deepEqual(outcomes, [1, "INVALID_RECORD rejected", 2]);
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "4" }))), 3);
    assert.equal(broker.requests.filter((api) => api === "InitProducerId").length, 2);
    assert.deepEqual(broker.values("t"), ["0", "1", "3", "4"]);
    assert.deepEqual(
      broker.batches("t").map(({ producerEpoch, baseSequence }) => [producerEpoch === 32767, baseSequence]),
      [[true, 0], [true, 1], [false, 0], [false, 1]],
    );
    await run(producer.close());
  });

  test("scenario 23: not allowed to be idempotent: what waits fails, and after the ACL is mended the next send works", async () => {
    let allowed = false;
    const verdict = (api: string): Verdict => api === "InitProducerId" && !allowed ? { error: 31 } : "answer";
    const { producer, run } = await stage({ verdict });
    assert.equal(
      await run(codeOf(producer.send({ topic: "t", value: "x" }))),
      "CLUSTER_AUTHORIZATION_FAILED not-written",
    );
    allowed = true;
    assert.equal(await run(codeOf(producer.send({ topic: "t", value: "y" }))), 0);
    await run(producer.close());
  });

  test("case 011: appended but not answered, one to five in flight: each record once, in order", async () => {
    for (let inFlight = 1; inFlight <= 5; inFlight++) {
      for (
        const fault of ["cut-after", "cut-before", { error: 7, append: true }, { error: 20, append: true }] as const
      ) {
        const { producer, broker, run } = await stage({ verdict: produce((nth) => nth === 2 ? fault : "answer") }, {
          ...alone,
          maxInFlightRequestsPerConnection: inFlight,
        });
        await run(codeOf(producer.send({ topic: "t", value: "first" })));
        const offsets = await run(
          Promise.all(range(5).map((i) => codeOf(producer.send({ topic: "t", value: `${i}` })))),
        );
        assert.deepEqual(
          broker.values("t"),
          ["first", ...range(5).map(String)],
          `${inFlight} ${JSON.stringify(fault)}`,
        );
        assert.deepEqual(offsets, range(5).map((i) => i + 1));
        await run(producer.close());
      }
    }
  });

  test("case 097: an offset that the broker does not tell is −1 for each record; its time goes before the record's", async () => {
    for (const [baseOffset, logAppendTimeMs] of [[-1, -1], [0, -1], [41, -1], [41, 1_700_000_000_000]] as const) {
      const { producer, run } = await stage({ partitionAnswer: () => ({ baseOffset, logAppendTimeMs }) }, {
        lingerMs: 5,
      });
      const results = await run(
        producer.sendAll(range(3).map((i) => ({ topic: "t", value: "x", timestamp: 100 + i }))),
      );
      assert.deepEqual(
        results.map(({ offset, timestamp }) => [offset, timestamp]),
        range(3).map((i) => [baseOffset < 0 ? -1 : baseOffset + i, logAppendTimeMs < 0 ? 100 + i : logAppendTimeMs]),
      );
      await run(producer.close());
    }
  });
});

describe("memory of batches on their way", () => {
  test("case 002, scenario 20: bytes of a request that has expired do not change while they wait for the socket", async () => {
    const { producer, network, clock, run } = await stage({ topics: { x: 1, y: 1 } }, {
      batchSize: 300,
      bufferMemory: 600,
      deliveryTimeoutMs: 1000,
      lingerMs: 0,
      acks: 1,
    }, { requestTimeoutMs: 1000 });
    await run(producer.send({ topic: "x", value: "warm" }));
    await run(producer.send({ topic: "y", value: "warm" }));
    const { client } = network.connections("broker", 9092).at(-1)!;
    const held: Uint8Array[][] = [];
    client.write = (parts) => {
      held.push([...parts]);
      return new Promise(() => {}); // the socket takes nothing
    };
    const first = codeOf(producer.send({ topic: "x", value: "A".repeat(200) }));
    await clock.advance(100);
    assert.equal(held.length, 1);
    const before = held[0]!.map((part) => part.slice());
    await clock.advance(900);
    assert.match(await first as string, /DELIVERY_TIMEOUT|REQUEST_TIMED_OUT/);
    // The next records of that size would take the memory, were it free.
    for (const i of range(3)) producer.send({ topic: "y", value: `${i}`.repeat(200) }).catch(() => {});
    await clock.advance(100);
    assert.deepEqual(held[0], before);
    await producer.close({ timeoutMs: 0 });
    assertMemoryIsBack(producer);
  });

  test("scenario 5: after a flood of sends and any outcome all memory is there again, and each settles once", async () => {
    for (const fault of ["silence", "cut-before", "cut-after", { error: 87 }, { error: 6 }] as const) {
      const { producer, run } = await stage({
        topics: { t: 3 },
        verdict: produce((nth) => nth % 3 === 0 ? fault : "answer"),
      }, {
        batchSize: 300,
        bufferMemory: 2000,
        deliveryTimeoutMs: 3000,
        maxBlockMs: 1500,
      }, { requestTimeoutMs: 1000 });
      let settled = 0;
      const all = Promise.allSettled(
        range(120).map((i) => {
          const sent = producer.send({ topic: "t", value: `${i}`.padEnd(90, ".") });
          void sent.then(() => settled++, () => settled++);
          return sent;
        }),
      );
      await run(all);
      await run(producer.close({ timeoutMs: 5000 }));
      assert.equal(settled, 120);
      assertMemoryIsBack(producer);
    }
  });
});

test("scenario 24: acks=0 is told when it is written; a broker that hangs up is found again", async () => {
  const { producer, broker, clock, network, run } = await stage({}, { acks: 0, ...alone });
  assert.equal(await run(codeOf(producer.send({ topic: "t", value: "1" }))), -1);
  const asked = broker.requests.filter((api) => api === "Metadata").length;
  network.cutAll("broker", 9092);
  assert.equal(await run(codeOf(producer.send({ topic: "t", value: "2" }))), -1);
  // Metadata that was just had is asked for again after a back-off; what can be sent does not wait for it.
  await clock.advance(200);
  assert.ok(broker.requests.filter((api) => api === "Metadata").length > asked);
  await run(producer.close());
});

test("scenario 26: a version the broker does not have fails the batch and not the loop", async () => {
  const ranges: Record<number, [number, number]> = { 0: [99, 99] };
  const { producer, broker, network, clock, run } = await stage({ ranges });
  assert.equal(await run(codeOf(producer.send({ topic: "t", value: "x" }))), "UNSUPPORTED_VERSION not-written");
  delete ranges[0];
  network.cutAll("broker", 9092);
  await clock.advance(2000);
  assert.equal(await run(codeOf(producer.send({ topic: "t", value: "y" }))), 0);
  assert.equal(broker.values("t").length, 1);
  await run(producer.close());
});

test("the accumulator opens no batch where there is no memory, and says how much it takes", () => {
  const clock = new ManualClock();
  const pool = new BufferPool(100, 100, clock);
  const accumulator = new Accumulator({
    batchSize: 100,
    bufferSize: 100,
    pool,
    clock,
    sticky: { batchSize: 100, random: () => 0, adaptive: true },
    onBatch: () => {},
  });
  const partitions = range(2).map((partition) => ({ partition, leader: 1, leaderEpoch: 0, replicas: [], isr: [] }));
  const topic = { name: "t", id: "", isInternal: false, partitions };
  const record = { key: null, value: "x", headers: [], timestamp: 0, bound: 86, keySize: -1, valueSize: 1 };
  const queues = accumulator.queuesOf("t");
  assert.equal(accumulator.append(queues, topic, 0, record)?.recordCount, 1);
  assert.equal(accumulator.append(queues, topic, 1, record), undefined);
  assert.equal(accumulator.memoryFor(record), 100);
  assert.equal(accumulator.memoryFor({ ...record, bound: 150 }), 150);
  assert.equal(accumulator.hasRoom("t", 0, 86), true);
  assert.equal(accumulator.hasRoom("t", 1, 86), false);
  assert.deepEqual([...accumulator.active].map(({ partition }) => partition), [0]);
});
