/** Scenario 29 and case 056: close during every kind of wait, and flush. */
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { deferred } from "../../src/core/deferred.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import type { Producer } from "../../src/producer/producer.ts";
import { range, stage } from "../helpers/producer_stage.ts";
import type { Verdict } from "../helpers/scripted_broker.ts";

const silent = (name: string) => (api: string): Verdict => api === name ? "silence" : "answer";

/** Counts how often each send settles, and as what. */
function watched(): { of(sent: Promise<unknown>): void; readonly outcomes: string[] } {
  const outcomes: string[] = [];
  return {
    of: (sent) =>
      void sent.then(
        () => outcomes.push("stored"),
        (error: KafkaError) => outcomes.push(`${error.code} ${error.outcome}`),
      ),
    outcomes,
  };
}

function assertMemoryIsBack(producer: Pick<Producer<never, never>, "metrics">): void {
  const of = (name: string) => producer.metrics().find((metric) => metric.name === name)!.value;
  assert.equal(of("buffer-available-bytes"), of("buffer-total-bytes"));
}

describe("close without waiting (scenarios 5 and 29)", () => {
  test("while records wait for metadata: none was written", async () => {
    const { producer, clock } = await stage({ verdict: silent("Metadata") });
    const { of, outcomes } = watched();
    for (const i of range(3)) of(producer.send({ topic: "t", value: `${i}` }));
    await clock.advance(100);
    await producer.close({ timeoutMs: 0 });
    await clock.flush();
    assert.deepEqual(outcomes, range(3).map(() => "CLOSED not-written"));
    assert.equal(clock.pendingTimers, 0);
  });

  test("while records wait for memory: those sent may be stored, the rest was not written, and none slips in after", async () => {
    const { producer, broker, clock } = await stage({ verdict: silent("Produce") }, {
      batchSize: 100,
      bufferMemory: 200,
    });
    const { of, outcomes } = watched();
    for (const i of range(6)) of(producer.send({ topic: "t", value: `${i}`.padEnd(80, ".") }));
    await clock.advance(100);
    assert.ok(broker.produceRequests.length > 0);
    await producer.close({ timeoutMs: 0 });
    await clock.flush();
    assert.deepEqual(outcomes.slice().sort(), [
      ...range(5).map(() => "CLOSED not-written"),
      "CLOSED unknown",
    ]);
    assert.equal(clock.pendingTimers, 0);
    assertMemoryIsBack(producer);
  });

  test("while a serializer is at work, and for what stands behind it", async () => {
    const never = deferred<string>();
    const { producer, clock, run } = await stage({}, {
      valueSerializer: (value: string) => value === "slow" ? never.promise : value,
    });
    await run(producer.send({ topic: "t", value: "the topic is known" }));
    const { of, outcomes } = watched();
    for (const value of ["slow", "quick"]) of(producer.send({ topic: "t", value }));
    await clock.advance(100);
    await producer.close({ timeoutMs: 0 });
    never.resolve("too late");
    await clock.flush();
    assert.deepEqual(outcomes, ["CLOSED not-written", "CLOSED not-written"]);
    assertMemoryIsBack(producer);
  });

  for (const api of ["InitProducerId", "ApiVersions"]) {
    test(`while ${api} is not answered`, async () => {
      const { producer, clock } = await stage({ verdict: silent(api) });
      const { of, outcomes } = watched();
      of(producer.send({ topic: "t", value: "x" }));
      await clock.advance(100);
      await producer.close({ timeoutMs: 0 });
      await clock.flush();
      assert.deepEqual(outcomes, ["CLOSED not-written"]);
      assert.equal(clock.pendingTimers, 0);
      assertMemoryIsBack(producer);
    });
  }

  test("while a batch waits out its back-off: it was refused before, so it was not written", async () => {
    const { producer, clock } = await stage({ verdict: (api) => api === "Produce" ? { error: 19 } : "answer" });
    const { of, outcomes } = watched();
    of(producer.send({ topic: "t", value: "x" }));
    await clock.advance(50);
    await producer.close({ timeoutMs: 0 });
    await clock.flush();
    assert.deepEqual(outcomes, ["CLOSED not-written"]);
    assertMemoryIsBack(producer);
  });

  test("while a batch whose fate is not known waits to be sent again: it may be stored", async () => {
    const { producer, clock } = await stage({ verdict: (api) => api === "Produce" ? "cut-after" : "answer" });
    const { of, outcomes } = watched();
    of(producer.send({ topic: "t", value: "x" }));
    await clock.advance(20);
    await producer.close({ timeoutMs: 0 });
    await clock.flush();
    assert.deepEqual(outcomes, ["CLOSED unknown"]);
  });

  test("before anything was sent, and at once after construction", async () => {
    const { producer, clock, failure } = await stage();
    await producer.close({ timeoutMs: 0 });
    assert.equal((await failure(producer.partitionsFor("t"))).code, "CLOSED");
    assert.equal(clock.pendingTimers, 0);
  });
});

describe("close that waits", () => {
  test("sends what waits for metadata, memory or a serializer before", async () => {
    const { producer, broker, run } = await stage({}, {
      batchSize: 100,
      bufferMemory: 200,
      lingerMs: 50_000,
      valueSerializer: (n: number) => Promise.resolve(`${n}`.padEnd(80, ".")),
    });
    const { of, outcomes } = watched();
    for (const i of range(10)) of(producer.send({ topic: "t", value: i }));
    await run(producer.close());
    assert.deepEqual(outcomes, range(10).map(() => "stored"));
    assert.deepEqual(broker.values("t").map((value) => Number.parseInt(value)), range(10));
  });

  test("case 056: ten records and a dead broker: each is settled once when the time is over", async () => {
    const { producer, clock, network, run } = await stage({}, { lingerMs: 60_000 });
    await run(producer.partitionsFor("t"));
    const { of, outcomes } = watched();
    for (const i of range(10)) of(producer.send({ topic: "t", value: `${i}` }));
    network.setReachability("broker", 9092, "refuse");
    network.cutAll("broker", 9092);
    const start = clock.now();
    await run(producer.close({ timeoutMs: 2000 }));
    assert.equal(clock.now() - start, 2000);
    assert.deepEqual(outcomes, range(10).map(() => "CLOSED not-written"));
    await clock.flush();
    assert.equal(clock.pendingTimers, 0);
  });

  test("may be called again, and a later call with less time ends it sooner", async () => {
    const { producer, clock, run } = await stage({ verdict: silent("Produce") });
    const { of, outcomes } = watched();
    of(producer.send({ topic: "t", value: "x" }));
    const closed = producer.close();
    await clock.advance(1000);
    assert.deepEqual(outcomes, []);
    const sooner = producer.close({ timeoutMs: 500 });
    await run(Promise.all([closed, sooner, producer.close()]));
    assert.equal(clock.now(), 1500);
    assert.deepEqual(outcomes, ["CLOSED unknown"]);
    await producer.close({ timeoutMs: 0 });
    await producer.close();
  });

  test("a negative or missing time is refused", async () => {
    const { producer, failure, run } = await stage();
    for (const timeoutMs of [-1, NaN, "5"]) {
      assert.equal((await failure(producer.close({ timeoutMs: timeoutMs as never }))).code, "INVALID_CONFIG");
    }
    assert.equal((await run(producer.send({ topic: "t", value: "still open" }))).offset, 0);
    await run(producer.close());
  });

  test("a late answer after close settles nothing twice and returns no memory twice (scenario 20)", async () => {
    const { producer, clock } = await stage({ verdict: silent("Produce") }, {}, { requestTimeoutMs: 2000 });
    const { of, outcomes } = watched();
    of(producer.send({ topic: "t", value: "x" }));
    await clock.advance(100);
    await producer.close({ timeoutMs: 0 });
    await clock.advance(10_000);
    assert.deepEqual(outcomes, ["CLOSED unknown"]);
    assertMemoryIsBack(producer);
  });
});

describe("flush", () => {
  test("case 056: does not wait for lingerMs, and leaves what is sent during it to go its way", async () => {
    const { producer, broker, clock, run } = await stage({}, { lingerMs: 60_000 });
    const { of, outcomes } = watched();
    for (const i of range(10)) of(producer.send({ topic: "t", value: `${i}` }));
    const flushed = producer.flush();
    await run(flushed);
    assert.ok(clock.now() < 100, `${clock.now()}`);
    assert.equal(outcomes.length, 10);
    // Sent with nobody flushing: it lingers again.
    of(producer.send({ topic: "t", value: "10" }));
    await clock.advance(30_000);
    assert.equal(broker.values("t").length, 10);
    await run(producer.flush());
    assert.equal(broker.values("t").length, 11);
    await run(producer.close());
  });

  test("does not fail because records do, and does not wait for those sent after it", async () => {
    const verdict = (api: string, nth: number): Verdict =>
      api !== "Produce" ? "answer" : nth === 1 ? { error: 87 } : "silence";
    const { producer, clock, run } = await stage({ verdict }, { batchSize: 1 }, { requestTimeoutMs: 50_000 });
    const { of, outcomes } = watched();
    of(producer.send({ topic: "t", value: "refused" }));
    const flushed = producer.flush();
    await run(flushed);
    assert.deepEqual(outcomes, ["INVALID_RECORD rejected"]);
    of(producer.send({ topic: "t", value: "stuck" }));
    const stuck = producer.flush();
    let done = false;
    void stuck.then(() => done = true);
    await clock.advance(1000);
    assert.equal(done, false);
    await producer.close({ timeoutMs: 0 });
    await run(stuck);
    assert.deepEqual(outcomes, ["INVALID_RECORD rejected", "CLOSED unknown"]);
  });

  test("covers a topic's line that stands for another topic's sake no longer than its own", async () => {
    const { producer, broker, run } = await stage({ topics: { t: 1, u: 1 } }, { lingerMs: 60_000, maxBlockMs: 3000 });
    const lost = producer.send({ topic: "nosuch", value: "x" });
    lost.catch(() => {});
    for (const topic of ["t", "u"]) producer.send({ topic, value: topic }).catch(() => {});
    await run(producer.flush());
    assert.deepEqual([broker.values("t"), broker.values("u")], [["t"], ["u"]]);
    await assert.rejects(lost);
    await run(producer.close());
  });
});

describe("case 055", () => {
  test("1,000 sends when the broker dies: each is settled once, and no rejection is left over", async () => {
    const strays: unknown[] = [];
    const note = (reason: unknown) => void strays.push(reason);
    process.on("unhandledRejection", note);
    try {
      const { producer, broker, clock, network, run } = await stage({}, { batchSize: 500, deliveryTimeoutMs: 4000 }, {
        requestTimeoutMs: 1000,
      });
      const settled = range(1000).map(() => 0);
      const all = Promise.allSettled(
        range(1000).map((i) => {
          const sent = producer.send({ topic: "t", value: `${i}`.padEnd(100, ".") });
          void sent.then(() => settled[i]!++, () => settled[i]!++);
          return sent;
        }),
      );
      while (broker.produceRequests.length < 3) await clock.advance(1);
      network.setReachability("broker", 9092, "refuse");
      network.cutAll("broker", 9092);
      const outcomes = await run(all);
      assert.equal(outcomes.length, 1000);
      assert.ok(outcomes.some(({ status }) => status === "rejected"));
      await run(producer.close({ timeoutMs: 1000 }));
      await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(settled, range(1000).map(() => 1));
      assert.deepEqual(strays, []);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});
