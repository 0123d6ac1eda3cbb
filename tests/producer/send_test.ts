import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deferred } from "../../src/core/deferred.ts";
import { AbortedError, type KafkaError } from "../../src/core/kafka_error.ts";
import { RecordMetadata } from "../../src/producer/record_metadata.ts";
import { SendAllError } from "../../src/producer/send_group.ts";
import { range, stage, textOf } from "../helpers/producer_stage.ts";

const silence = (api: string) => api === "Produce" ? "silence" as const : "answer" as const;

describe("sendAll", () => {
  test("answers where each record was stored, in the order given, across topics and partitions", async () => {
    const { producer, broker, run } = await stage({ topics: { a: 2, b: 1 } }, { batchSize: 300 });
    const records = range(30).map((i) => ({
      topic: i % 3 === 0 ? "b" : "a",
      ...(i % 3 === 0 ? {} : { partition: i % 2 }),
      value: `${i}`.padEnd(50, "."),
    }));
    const results = await run(producer.sendAll(records));
    assert.equal(results.length, 30);
    results.forEach(({ topic, partition, offset, serializedValueSize }, i) => {
      assert.deepEqual([topic, serializedValueSize], [records[i]!.topic, 50]);
      assert.equal(Number.parseInt(broker.values(topic, partition)[offset]!), i);
    });
    await run(producer.close());
  });

  test("takes any iterable, and none at all", async () => {
    const { producer, run } = await stage();
    assert.deepEqual(await run(producer.sendAll([])), []);
    const results = await run(producer.sendAll((function* () {
      for (let i = 0; i < 3; i++) yield { topic: "t", value: `${i}` };
    })()));
    assert.deepEqual(results.map(({ offset }) => offset), [0, 1, 2]);
    await run(producer.close());
  });

  test("keeps its place among single sends", async () => {
    const { producer, broker, run } = await stage();
    const first = producer.send({ topic: "t", value: "0" });
    const all = producer.sendAll(["1", "2"].map((value) => ({ topic: "t", value })));
    const last = producer.send({ topic: "t", value: "3" });
    await run(Promise.all([first, all, last]));
    assert.deepEqual(broker.values("t"), ["0", "1", "2", "3"]);
    assert.deepEqual((await all).map(({ offset }) => offset), [1, 2]);
    assert.deepEqual([(await first).offset, (await last).offset], [0, 3]);
    await run(producer.close());
  });

  test("when some fail says how many, which, and what became of each, once all are settled", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 2 ? { error: 87 } : "answer" as const;
    const { producer, broker, run, failure } = await stage({ verdict }, { batchSize: 1, maxRequestSize: 1000 });
    const error = await failure(producer.sendAll([
      { topic: "t", value: "0" },
      { topic: "t", value: "1" },
      { topic: "t", value: "2".repeat(2000) },
      { topic: "t", value: 3 as never },
      { topic: "t", value: "4" },
    ]));
    assert.ok(error instanceof SendAllError);
    assert.deepEqual(
      error.results.map((result) => result instanceof RecordMetadata ? result.offset : result.code),
      [0, "INVALID_RECORD", "RECORD_TOO_LARGE", "INVALID_RECORD", 1],
    );
    assert.match(error.message, /^3 of 5 records failed; first: t-0: 1 record failed after .*INVALID_RECORD \(87\)/);
    assert.deepEqual([error.code, error.outcome, error.retriable], ["INVALID_RECORD", "unknown", false]);
    assert.deepEqual(broker.values("t"), ["0", "4"]);
    await run(producer.close());
  });

  test("of one outcome it has that outcome", async () => {
    const { producer, failure } = await stage({ verdict: silence });
    const sent = producer.sendAll(range(3).map((i) => ({ topic: "t", value: `${i}` })));
    sent.catch(() => {});
    await producer.close({ timeoutMs: 0 });
    const error = await failure(sent);
    assert.deepEqual([error.code, error.outcome], ["CLOSED", "not-written"]);
    assert.match(error.message, /^3 of 3 records failed/);
  });

  test("goes through interceptors and serializers, and waits for memory in order", async () => {
    const seen: number[] = [];
    const { producer, broker, run } = await stage({}, {
      bufferMemory: 600,
      batchSize: 200,
      valueSerializer: (n: number) => Promise.resolve(`${n}`.padEnd(60, ".")),
      interceptors: [{ onAcknowledgement: ({ offset }) => void seen.push(offset) }],
    });
    const results = await run(producer.sendAll(range(40).map((value) => ({ topic: "t", value }))));
    assert.deepEqual(results.map(({ offset }) => offset), range(40));
    assert.deepEqual(broker.values("t").map((value) => Number.parseInt(value)), range(40));
    assert.deepEqual(seen, range(40));
    await run(producer.close());
  });
});

describe("writable", () => {
  test("sends what is written, in order, and closes when all of it is stored", async () => {
    const { producer, broker, run } = await stage({}, { lingerMs: 100 });
    const stream = producer.writable("t");
    const writer = stream.getWriter();
    for (const i of range(20)) void writer.write({ key: `k${i}`, value: `${i}`, headers: { n: `${i}` } });
    await run(writer.close());
    assert.deepEqual(
      broker.records("t").map(({ key, value }) => [textOf(key), textOf(value)]),
      range(20).map((i) => [
        `k${i}`,
        `${i}`,
      ]),
    );
    await run(producer.close());
  });

  test("case 053: holds its source back while memory is short, and never has more than one record waiting", async () => {
    let held = true;
    const verdict = (api: string) => held && api === "Produce" ? "silence" as const : "answer" as const;
    const { producer, broker, clock, run } = await stage({ verdict }, { batchSize: 1000, bufferMemory: 4000 }, {
      requestTimeoutMs: 5000,
    });
    let pulled = 0;
    const source = new ReadableStream<{ value: string }>({
      pull(controller) {
        if (pulled === 200) controller.close();
        else controller.enqueue({ value: `${pulled++}`.padEnd(100, ".") });
      },
    });
    const piped = source.pipeTo(producer.writable("t"));
    await clock.advance(1000);
    const stuck = pulled;
    assert.ok(stuck > 20 && stuck < 45, `${stuck}`);
    const waiting = producer.metrics().find(({ name }) => name === "waiting-threads")!.value;
    assert.ok(waiting <= 2, `${waiting}`); // the record and the mark behind it
    await clock.advance(3000);
    assert.equal(pulled, stuck);
    held = false;
    await run(piped);
    assert.deepEqual(broker.values("t").map((value) => Number.parseInt(value)), range(200));
    await run(producer.close());
  });

  test("the first record that fails ends the stream with its error", async () => {
    const { producer, broker, run, failure } = await stage({}, { maxRequestSize: 1000 });
    const writer = producer.writable("t").getWriter();
    await run(writer.write({ value: "good" }));
    const error = await failure(writer.write({ value: "x".repeat(2000) }));
    assert.equal(error.code, "RECORD_TOO_LARGE");
    assert.equal((await failure(writer.write({ value: "too late" }))).code, "RECORD_TOO_LARGE");
    assert.equal((await failure(writer.closed)).code, "RECORD_TOO_LARGE");
    await run(producer.close());
    assert.deepEqual(broker.values("t"), ["good"]);
  });

  test("a record that the broker refuses is told by close at the latest", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 2 ? { error: 87 } : "answer" as const;
    const { producer, run, failure } = await stage({ verdict }, { batchSize: 1 });
    const writer = producer.writable("t").getWriter();
    writer.closed.catch(() => {});
    const writes = range(3).map((i) => writer.write({ value: `${i}` }).catch(() => {}));
    assert.equal((await failure(writer.close())).code, "INVALID_RECORD");
    await run(Promise.all(writes));
    await run(producer.close());
  });

  test("aborting it takes back nothing that was written", async () => {
    const { producer, broker, run } = await stage({}, { lingerMs: 1000 });
    const writer = producer.writable("t").getWriter();
    await run(writer.write({ value: "written" }));
    await run(writer.abort(new Error("enough")));
    await run(producer.close());
    assert.deepEqual(broker.values("t"), ["written"]);
  });
});

describe("a signal", () => {
  test("gives up a record that waits for metadata; those around it are sent", async () => {
    const { producer, broker, run, failure } = await stage();
    const controller = new AbortController();
    const sends = ["a", "b", "c"].map((value) =>
      producer.send({ topic: "t", value }, value === "b" ? { signal: controller.signal } : {})
    );
    sends[1]!.catch(() => {});
    controller.abort(new Error("the user left"));
    const error = await failure(sends[1]!);
    assert.ok(error instanceof AbortedError);
    assert.deepEqual([error.code, error.outcome, error.topic], ["ABORTED", "not-written", "t"]);
    assert.equal((error.cause as Error).message, "the user left");
    await run(Promise.all([sends[0]!, sends[2]!]));
    assert.deepEqual(broker.values("t"), ["a", "c"]);
    await run(producer.close());
  });

  test("rejects at once, also the record whose turn it is and those behind it", async () => {
    const { producer, clock } = await stage({}, { maxBlockMs: 60_000 });
    const controller = new AbortController();
    const sends = range(3).map((i) =>
      producer.send({ topic: "nosuch", value: `${i}` }, { signal: controller.signal }).catch((e: KafkaError) => e.code)
    );
    await clock.advance(1000);
    controller.abort();
    assert.deepEqual(await Promise.all(sends), ["ABORTED", "ABORTED", "ABORTED"]);
    assert.equal(clock.now(), 1000);
    await producer.close({ timeoutMs: 0 });
    await clock.flush();
    assert.equal(clock.pendingTimers, 0);
  });

  test("gives up a record that waits for memory, and the memory is not lost", async () => {
    let held = true;
    const verdict = (api: string) => held && api === "Produce" ? "silence" as const : "answer" as const;
    const options = { batchSize: 1, bufferMemory: 400 };
    const { producer, broker, clock, run, failure } = await stage({ verdict }, options, { requestTimeoutMs: 2000 });
    const value = (i: number) => `${i}`.padEnd(200, ".");
    const first = producer.send({ topic: "t", value: value(0) });
    await clock.advance(100);
    const controller = new AbortController();
    const second = producer.send({ topic: "t", value: value(1) }, { signal: controller.signal });
    second.catch(() => {});
    const third = producer.send({ topic: "t", value: value(2) });
    await clock.advance(100);
    controller.abort();
    assert.equal((await failure(second)).code, "ABORTED");
    held = false;
    await run(Promise.all([first, third]));
    assert.deepEqual(broker.values("t").map((text) => text[0]), ["0", "2"]);
    await run(producer.close());
    const left = producer.metrics().find(({ name }) => name === "buffer-available-bytes")!;
    assert.equal(left.value, 400);
  });

  test("gives up a record whose serializer is at work", async () => {
    const never = deferred<string>();
    const { producer, broker, run, failure } = await stage({}, {
      valueSerializer: (value: string) => value === "slow" ? never.promise : value,
    });
    const controller = new AbortController();
    const slow = producer.send({ topic: "t", value: "slow" }, { signal: controller.signal });
    slow.catch(() => {});
    const next = producer.send({ topic: "t", value: "next" });
    controller.abort();
    assert.equal((await failure(slow)).code, "ABORTED");
    await run(next);
    assert.deepEqual(broker.values("t"), ["next"]);
    await run(producer.close());
  });

  test("that has fired before refuses the record, and has no effect once it is in a batch", async () => {
    const { producer, broker, run, failure } = await stage({}, { lingerMs: 100 });
    await run(producer.send({ topic: "t", value: "0" }));
    assert.equal(
      (await failure(producer.send({ topic: "t", value: "1" }, { signal: AbortSignal.abort() }))).code,
      "ABORTED",
    );
    const controller = new AbortController();
    const sent = producer.send({ topic: "t", value: "2" }, { signal: controller.signal });
    controller.abort();
    await run(sent);
    assert.deepEqual(broker.values("t"), ["0", "2"]);
    await run(producer.close());
  });

  test("of many sends is let go of when each has left the line", async () => {
    const { producer, run } = await stage();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (type: string, ...rest: [EventListener]) => (listeners++, add(type, ...rest));
    signal.removeEventListener = (type: string, ...rest: [EventListener]) => (listeners--, remove(type, ...rest));
    const sends = range(10).map((i) => producer.send({ topic: "t", partition: 0, value: `${i}` }, { signal }));
    assert.ok(listeners >= 10, `${listeners}`);
    await run(Promise.all(sends));
    assert.equal(listeners, 0);
    await run(producer.close());
  });
});

describe("what a send was given", () => {
  test("case 052: shared memory that changes, and a buffer that is transferred, leave the record as it was", async () => {
    const { producer, broker, run } = await stage();
    for (const round of [0, 1]) {
      const shared = new Uint8Array(new SharedArrayBuffer(3)).fill(65);
      const moved = new Uint8Array(3).fill(66);
      const sends = [shared, moved].map((value) => producer.send({ topic: "t", value, headers: { h: value } }));
      shared.fill(90);
      structuredClone(moved.buffer, { transfer: [moved.buffer] });
      assert.equal(moved.length, 0);
      await run(Promise.all(sends));
      assert.deepEqual(broker.values("t").slice(2 * round), ["AAA", "BBB"]);
    }
    assert.deepEqual(broker.records("t").map(({ headers }) => textOf(headers[0]![1])), ["AAA", "BBB", "AAA", "BBB"]);
    await run(producer.close());
  });

  test("case 025: null, empty and absent stay apart, headers keep their order and may repeat", async () => {
    const { producer, broker, run } = await stage();
    await run(producer.sendAll([
      { topic: "t", key: null, value: null },
      { topic: "t", key: "", value: "" },
      { topic: "t", value: "v", headers: [["", null]] },
      { topic: "t", key: "k", value: null, headers: [["x", ""], ["y", "1"], ["x", null], ["x", "z"]] },
    ]));
    const read = broker.records("t").map(({ key, value, headers }) => [
      textOf(key),
      textOf(value),
      headers.map(([name, bytes]) => [name, textOf(bytes)]),
    ]);
    assert.deepEqual(read, [
      [null, null, []],
      ["", "", []],
      [null, "v", [["", null]]],
      ["k", null, [["x", ""], ["y", "1"], ["x", null], ["x", "z"]]],
    ]);
    await run(producer.close());
  });

  test("case 049: topics and headers may have any name an object has of its own", async () => {
    const names = ["__proto__", "constructor", "toString", "shift", "9", "10", "a.b", "a_b", "x".repeat(249)];
    const { producer, broker, run } = await stage({ topics: Object.fromEntries(names.map((name) => [name, 1])) });
    // `{ __proto__: 1 }` by fromEntries is an own property; in a literal it would not be.
    for (const name of names) {
      const { topic } = await run(producer.send({ topic: name, value: name, headers: [[name, "1"]] }));
      assert.equal(topic, name);
      assert.deepEqual(broker.values(name), [name]);
      assert.deepEqual(broker.records(name)[0]!.headers.map(([key]) => key), [name]);
    }
    await run(producer.close());
  });

  test("case 058: the bound that is checked is never less than what a record takes", async () => {
    const maxRequestSize = 1000;
    const { producer, run, failure } = await stage({}, { maxRequestSize, batchSize: 100 });
    const headers = range(900).map(() => ["h", null] as const);
    assert.equal((await failure(producer.send({ topic: "t", value: "x", headers }))).code, "RECORD_TOO_LARGE");
    // 61 bytes of batch, 21 of record at most, 1 + 2 of lengths, 1 of headers.
    const largest = maxRequestSize - 61 - 21 - 1 - 2 - 1;
    for (let k = 0; k < 20; k++) {
      const sent = producer.send({ topic: "t", value: "x".repeat(largest - 10 + k) });
      if (k <= 10) await run(sent);
      else assert.equal((await failure(sent)).code, "RECORD_TOO_LARGE", `${k}`);
    }
    await run(producer.close());
  });

  test("case 059: a timestamp is milliseconds, now when absent, and anything else is refused", async () => {
    const { producer, broker, clock, run, failure } = await stage();
    const wall = clock.wallTime();
    await run(
      producer.sendAll([5000, 1000, 9000, undefined].map((timestamp) => ({ topic: "t", value: "v", timestamp }))),
    );
    assert.deepEqual(broker.records("t").map(({ timestamp }) => timestamp), [5000, 1000, 9000, wall]);
    for (const timestamp of [NaN, 1.5, -1, Infinity, "1700000000000", new Date(), null]) {
      const error = await failure(producer.send({ topic: "t", value: "v", timestamp: timestamp as never }));
      assert.deepEqual([error.code, error.outcome], ["INVALID_RECORD", "not-written"], String(timestamp));
    }
    await run(producer.close());
  });

  test("scenario 2: a record larger than batchSize is a batch of its own, compressed or not", async () => {
    for (const compressionType of ["none", "gzip"] as const) {
      const { producer, broker, run } = await stage({}, { batchSize: 500, compressionType, lingerMs: 10 });
      const sizes = [10, 3000, 10, 10];
      await run(producer.sendAll(sizes.map((n, i) => ({ topic: "t", value: `${i}`.padEnd(n, "abcdefgh") }))));
      assert.deepEqual(broker.values("t").map((value) => value.length), sizes);
      assert.deepEqual(
        broker.batches("t").map(({ count }) => count),
        compressionType === "none" ? [1, 1, 2] : [1, 1, 2],
      );
      await run(producer.close());
    }
  });
});
