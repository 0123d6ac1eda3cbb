import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientContext } from "../../src/client/client_context.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { seededRandom } from "../../src/core/random.ts";
import { murmur2 } from "../../src/hash/murmur2.ts";
import { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { range, stage } from "../helpers/producer_stage.ts";

/** Sends `n` records in batches of one each. */
function sendEach(producer: Producer, n: number): Promise<(number | KafkaError)[]> {
  return Promise.all(
    range(n).map((i) =>
      producer.send({ topic: "t", value: filled(i) }).then((metadata) => metadata.offset, (error: KafkaError) => error)
    ),
  );
}

// A buffer for one such record has no room for a second one.
const filled = (i: number) => `${i}`.padEnd(100, ".");
const oneRecordBatches: ProducerOptions = { batchSize: 1 };

describe("Producer", () => {
  test("answers each record with its partition, offset, timestamp and sizes", async () => {
    const { producer, broker, run } = await stage({ topics: { t: 3 } });
    const metadata = await run(producer.send({ topic: "t", partition: 2, key: "é", value: "abc", timestamp: 123 }));
    assert.deepEqual({ ...metadata }, {
      topic: "t",
      partition: 2,
      offset: 0,
      timestamp: 123,
      serializedKeySize: 2,
      serializedValueSize: 3,
    });
    const second = await run(producer.send({ topic: "t", partition: 2, value: null }));
    assert.deepEqual([second.offset, second.serializedKeySize, second.serializedValueSize], [1, -1, -1]);
    assert.deepEqual(broker.values("t", 2), ["abc", "null"]);
    await run(producer.close());
  });

  test("records sent together go into one batch, and a batch that is not full leaves after lingerMs", async () => {
    const { producer, broker, clock, run } = await stage({}, { lingerMs: 50 });
    await run(producer.send({ topic: "t", value: "first" }));
    const start = clock.now();
    await run(Promise.all(range(100).map((i) => producer.send({ topic: "t", value: `${i}` }))));
    assert.equal(clock.now() - start, 50);
    assert.equal(broker.produceRequests.length, 2);
    await run(producer.close());
  });

  test("a key decides the partition as murmur2 of its bytes does, for text and bytes alike", async () => {
    const { producer, run } = await stage({ topics: { t: 7 } });
    for (const key of ["21", "user-42", "日本語", "", "x".repeat(300)]) {
      const bytes = new TextEncoder().encode(key);
      const expected = (murmur2(bytes) & 0x7fffffff) % 7;
      const sent = await run(Promise.all([key, bytes].map((k) => producer.send({ topic: "t", key: k, value: "v" }))));
      assert.deepEqual(sent.map((metadata) => metadata.partition), [expected, expected]);
    }
    assert.equal((await run(producer.send({ topic: "t", key: "user-42", value: "v" }))).partition, 1459644460 % 7);
    await run(producer.close());
  });

  test("what a send was given may change once the call has returned", async () => {
    const { producer, broker, run } = await stage({});
    const value = new Uint8Array([65]);
    const waitsForMetadata = producer.send({ topic: "t", value });
    value[0] = 66;
    await run(waitsForMetadata);
    const atOnce = producer.send({ topic: "t", value });
    value[0] = 67;
    await run(atOnce);
    assert.deepEqual(broker.values("t"), ["A", "B"]);
    await run(producer.close());
  });

  test("a record that waits for metadata goes where its key said when it was sent", async () => {
    const { producer, run } = await stage({ topics: { t: 7 } });
    const key = new TextEncoder().encode("user-42");
    const record = { topic: "t", key, value: "v", partition: undefined as number | undefined };
    const sent = producer.send(record);
    key.fill(0);
    record.partition = 6;
    assert.equal((await run(sent)).partition, 1459644460 % 7);
    await run(producer.close());
  });

  test("scenario 12: after one retriable error, five batches in flight arrive in their first order", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 1 ? { error: 6 } : "answer" as const;
    const { producer, broker, run } = await stage({ verdict }, oneRecordBatches);
    assert.deepEqual(await run(sendEach(producer, 8)), range(8));
    assert.deepEqual(broker.values("t"), range(8).map(filled));
    await run(producer.close());
  });

  for (const cut of ["cut-before", "cut-after"] as const) {
    test(`a connection ${cut} the first batch is stored loses, doubles and reorders nothing`, async () => {
      const verdict = (api: string, nth: number) => api === "Produce" && nth === 1 ? cut : "answer" as const;
      const { producer, broker, run } = await stage({ verdict }, oneRecordBatches);
      assert.deepEqual(await run(sendEach(producer, 8)), range(8));
      assert.deepEqual(broker.values("t"), range(8).map(filled));
      await run(producer.close());
    });
  }

  test("faults at every request of a run: each record exactly once, in order", async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = seededRandom(seed);
      const verdict = (api: string) => {
        if (api !== "Produce" || random() > 0.4) return "answer" as const;
        const faults = ["cut-before", "cut-after", "silence", { error: 6 }, { error: 20, append: true }, {
          error: 7,
          append: true,
        }] as const;
        return faults[Math.floor(random() * faults.length)]!;
      };
      const { producer, broker, run } = await stage({ verdict }, oneRecordBatches, { requestTimeoutMs: 1000 });
      const offsets = await run(sendEach(producer, 20));
      assert.deepEqual(broker.values("t"), range(20).map(filled), `seed ${seed}`);
      assert.deepEqual(offsets, range(20), `seed ${seed}`);
      await run(producer.close());
    }
  });

  test("scenario 14: a batch refused for good fails alone; those behind it start a new epoch and arrive in order", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 2 ? { error: 87 } : "answer" as const;
    const { producer, broker, run } = await stage({ verdict }, oneRecordBatches);
    const results = await run(sendEach(producer, 6));
    const failed = results[1] as KafkaError;
    assert.deepEqual([failed.code, failed.outcome, failed.topic, failed.partition], [
      "INVALID_RECORD",
      "rejected",
      "t",
      0,
    ]);
    assert.deepEqual(broker.values("t"), [0, 2, 3, 4, 5].map(filled));
    assert.deepEqual(results.filter((result) => typeof result === "number"), [0, 1, 2, 3, 4]);
    await run(producer.close());
  });

  test("scenario 17: a duplicate counts as stored, at an offset that is not known", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 1 ? { error: 46 } : "answer" as const;
    const { producer, run } = await stage({ verdict });
    assert.equal((await run(producer.send({ topic: "t", value: "x" }))).offset, -1);
    await run(producer.close());
  });

  test("scenario 10: with its retries spent a batch fails and says what was tried", async () => {
    const verdict = (api: string) => api === "Produce" ? { error: 19 } : "answer" as const;
    const { producer, run } = await stage({ verdict }, { retries: 2 });
    await assert.rejects(run(producer.send({ topic: "t", value: "x" })), (error: KafkaError) => {
      assert.equal(error.code, "NOT_ENOUGH_REPLICAS");
      assert.equal(error.outcome, "not-written");
      assert.match(error.message, /^t-0: 1 record failed after \d+ ms \(3 attempts\): .*NOT_ENOUGH_REPLICAS \(19\)/);
      return true;
    });
    await run(producer.close());
  });

  test("scenario 10: the delivery time-out beats retries, and an unanswered request leaves the outcome unknown", async () => {
    const verdict = (api: string) => api === "Produce" ? "silence" as const : "answer" as const;
    const { producer, clock, run } = await stage({ verdict }, { deliveryTimeoutMs: 5000 }, { requestTimeoutMs: 2000 });
    await assert.rejects(run(producer.send({ topic: "t", value: "x" })), (error: KafkaError) => {
      assert.deepEqual([error.code, error.outcome, error.retriable], ["DELIVERY_TIMEOUT", "unknown", false]);
      return true;
    });
    assert.ok(clock.now() >= 5000 && clock.now() < 6000, `${clock.now()}`);
    await run(producer.close({ timeoutMs: 0 }));
  });

  test("scenario 28: an unknown topic is waited for as long as maxBlockMs, and named with the last reason", async () => {
    const { producer, clock, run } = await stage({}, { maxBlockMs: 3000 });
    await assert.rejects(run(producer.send({ topic: "nosuch", value: "x" })), (error: KafkaError) => {
      assert.deepEqual([error.code, error.outcome, error.topic], [
        "UNKNOWN_TOPIC_OR_PARTITION",
        "not-written",
        "nosuch",
      ]);
      assert.match(error.message, /topic nosuch: no metadata within 3000 ms; last: .*UNKNOWN_TOPIC_OR_PARTITION \(3\)/);
      return true;
    });
    assert.equal(clock.now(), 3000);
    await run(producer.close());
  });

  test("scenario 28: a partition that the topic does not have is waited for, then refused", async () => {
    const { producer, run } = await stage({}, { maxBlockMs: 1000 });
    await assert.rejects(run(producer.send({ topic: "t", partition: 5, value: "x" })), (error: KafkaError) => {
      assert.deepEqual([error.outcome, error.topic, error.partition], ["not-written", "t", 5]);
      return true;
    });
    await run(producer.close());
  });

  test("a topic that may not be written is refused at once, and asked about again after", async () => {
    let denied = true;
    const { producer, clock, run } = await stage({ topicError: () => denied ? 29 : 0 });
    await assert.rejects(run(producer.send({ topic: "t", value: "x" })), { code: "TOPIC_AUTHORIZATION_FAILED" });
    assert.ok(clock.now() < 1000);
    denied = false;
    assert.equal((await run(producer.send({ topic: "t", value: "x" }))).offset, 0);
    await run(producer.close());
  });

  test("scenario 25: a topic that is sent to is never forgotten, and is asked for no more often than its age says", async () => {
    const ages = { metadataMaxAgeMs: 10_000, metadataMaxIdleMs: 5000 };
    const { producer, broker, clock, run } = await stage({}, {}, ages);
    for (let i = 0; i < 60; i++) {
      await run(producer.send({ topic: "t", value: `${i}` }));
      await clock.advance(1000);
    }
    assert.equal(broker.values("t").length, 60);
    // Once at first, then every 10 of about 60 seconds; were it forgotten, each time once more.
    const asked = broker.requests.filter((api) => api === "Metadata").length;
    assert.ok(asked >= 6 && asked <= 8, `${asked}`);
    await run(producer.close());
  });

  test("scenario 15: a batch that expired with its fate unknown does not stop those after it", async () => {
    const verdict = (api: string, nth: number) =>
      api === "Produce" && nth === 1 ? "silence" as const : "answer" as const;
    const { producer, broker, run } = await stage({ verdict }, { deliveryTimeoutMs: 2005 }, { requestTimeoutMs: 2000 });
    const error: KafkaError = await run(
      producer.send({ topic: "t", value: "a" }).then(
        () => assert.fail("it was acknowledged"),
        (cause: KafkaError) => cause,
      ),
    );
    assert.equal(error.outcome, "unknown");
    await run(Promise.all(range(5).map((i) => producer.send({ topic: "t", value: `${i}` }))));
    assert.deepEqual(broker.values("t"), ["a", ...range(5).map(String)]);
    await run(producer.close());
  });

  test("records that wait for metadata keep their order, and flush covers them", async () => {
    const { producer, broker, run } = await stage({}, { lingerMs: 10_000 });
    const sends = range(10).map((i) => producer.send({ topic: "t", value: `${i}` }));
    await run(producer.flush());
    assert.deepEqual(broker.values("t"), range(10).map(String));
    await Promise.all(sends);
    await run(producer.close());
  });

  test("with memory for one batch, sends wait in line and all arrive in order", async () => {
    const { producer, broker, run } = await stage({}, { batchSize: 200, bufferMemory: 200, lingerMs: 10_000 });
    const value = (i: number) => `${i}`.padEnd(60, ".");
    await run(Promise.all(range(50).map((i) => producer.send({ topic: "t", value: value(i) }))));
    assert.deepEqual(broker.values("t"), range(50).map(value));
    await run(producer.close());
  });

  test("memory that does not come within maxBlockMs is an error that says how much is in use", async () => {
    const verdict = (api: string) => api === "Produce" ? "silence" as const : "answer" as const;
    const { producer, run } = await stage({ verdict }, { batchSize: 100, bufferMemory: 100, maxBlockMs: 500 });
    const first = producer.send({ topic: "t", value: "x" });
    first.catch(() => {});
    await assert.rejects(
      run(
        producer.send({ topic: "t", value: "y".repeat(10), partition: 0 }).then(() =>
          producer.send({ topic: "t", value: "z".repeat(30) })
        ),
      ),
      (error: KafkaError) => ["BUFFER_EXHAUSTED", "DELIVERY_TIMEOUT"].includes(error.code),
    );
    await run(producer.close({ timeoutMs: 0 }));
    await assert.rejects(first);
  });

  test("acks=0 is done when it is written, at no known offset", async () => {
    const { producer, broker, run } = await stage({}, { acks: 0 });
    assert.equal((await run(producer.send({ topic: "t", value: "x" }))).offset, -1);
    await run(producer.close());
    assert.deepEqual(broker.values("t"), ["x"]);
  });

  test("scenario 11: with one request in flight and no idempotence a retried batch goes before its successors", async () => {
    const verdict = (api: string, nth: number) => api === "Produce" && nth === 1 ? { error: 6 } : "answer" as const;
    const options = { ...oneRecordBatches, maxInFlightRequestsPerConnection: 1, enableIdempotence: false };
    const { producer, broker, run } = await stage({ verdict }, options);
    await run(sendEach(producer, 5));
    assert.deepEqual(broker.values("t"), range(5).map(filled));
    await run(producer.close());
  });

  test("close sends what is left, and what is sent after is refused", async () => {
    const { producer, broker, run } = await stage({}, { lingerMs: 10_000 });
    const sent = producer.send({ topic: "t", value: "x" });
    await run(producer.close());
    assert.equal((await sent).offset, 0);
    assert.deepEqual(broker.values("t"), ["x"]);
    await assert.rejects(producer.send({ topic: "t", value: "y" }), { code: "CLOSED", outcome: "not-written" });
  });

  test("close gives up after its time-out and tells the truth about what was under way", async () => {
    const verdict = (api: string) => api === "Produce" ? "silence" as const : "answer" as const;
    const { producer, clock, run } = await stage({ verdict });
    const sent = producer.send({ topic: "t", value: "x" });
    sent.catch(() => {});
    await run(producer.close({ timeoutMs: 700 }));
    assert.equal(clock.now(), 700);
    await assert.rejects(sent, { code: "CLOSED", outcome: "unknown" });
  });

  test("bad records are refused with their topic, and nothing is sent", async () => {
    const { producer, broker, run } = await stage({});
    const bad = [
      { topic: "", value: "x" },
      { topic: "t" },
      { topic: "t", value: 5 },
      { topic: "t", value: "x", key: {} },
      { topic: "t", value: "x", partition: -1 },
      { topic: "t", value: "x", timestamp: 1.5 },
      { topic: "t", value: "x", headers: [["a"]] },
      { topic: "t", value: "x", headers: { a: 5 } },
    ];
    for (const record of bad) {
      await assert.rejects(
        producer.send(record as never),
        { code: "INVALID_RECORD", outcome: "not-written" },
        JSON.stringify(record),
      );
    }
    await assert.rejects(producer.send({ topic: "t", value: "x".repeat(1_048_576) }), (error: KafkaError) => {
      assert.equal(error.code, "RECORD_TOO_LARGE");
      assert.match(error.message, /^t: a record of \d+ bytes is larger than maxRequestSize=1048576/);
      return true;
    });
    await run(producer.close());
    assert.deepEqual(broker.values("t"), []);
  });

  test("a broker that cannot be reached is named in the error", async () => {
    const network = new MemoryNetwork();
    network.setReachability("gone", 9092, "refuse");
    const clock = new ManualClock();
    const context = clientContext({ bootstrapServers: "gone:9092", clock }, {
      connect: network.connect,
      codecs: () => Promise.resolve({}),
    });
    const producer = new Producer(context, { maxBlockMs: 2000 });
    const sent = producer.send({ topic: "t", value: "x" });
    sent.catch(() => {});
    await clock.runUntil(sent.then(() => {}, () => {}), 100_000);
    await assert.rejects(sent, (error: KafkaError) => {
      assert.equal(error.outcome, "not-written");
      assert.match(error.message, /topic t: no metadata within 2000 ms.*gone:9092/);
      return true;
    });
    await producer.close();
  });

  test("a codec that is not there is an error that names it", async () => {
    const { producer, run } = await stage({}, { compressionType: "lz4" });
    await assert.rejects(run(producer.send({ topic: "t", value: "x" })), { code: "UNSUPPORTED_CODEC", message: /lz4/ });
    await run(producer.close());
  });
});
