/** What the message of each error says: what was tried, where, how often and how long, what came back, and what to do. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ClosedError, type KafkaError, ProduceError, TimeoutError } from "../../src/core/kafka_error.ts";
import { range, stage } from "../helpers/producer_stage.ts";
import type { Verdict } from "../helpers/scripted_broker.ts";

const produce = (verdict: Verdict) => (api: string): Verdict => api === "Produce" ? verdict : "answer";

function detailsOf({ code, outcome, retriable, topic, partition }: KafkaError): unknown[] {
  return [code, outcome, retriable, topic, partition];
}

describe("errors of a batch", () => {
  test("refused by the broker: its error, and that sending again will not help", async () => {
    const { producer, run, failure } = await stage({ verdict: produce({ error: 44 }), topics: { t: 4 } });
    const sends = range(3).map((i) => producer.send({ topic: "t", partition: 3, value: `${i}` }));
    sends.forEach((sent) => sent.catch(() => {}));
    const error = await failure(sends[0]!);
    assert.deepEqual(detailsOf(error), ["POLICY_VIOLATION", "rejected", false, "t", 3]);
    assert.equal(
      error.message,
      "t-3: 3 records failed after 5 ms (1 attempt): t-3: Produce: POLICY_VIOLATION (44). " +
        "They were refused; sending the same again will not help.",
    );
    assert.ok(error instanceof ProduceError);
    assert.equal((error.cause as KafkaError).code, "POLICY_VIOLATION");
    await run(producer.close());
  });

  test("retries spent on a definite error: they were not stored", async () => {
    const { producer, run, failure } = await stage({ verdict: produce({ error: 19 }) }, { retries: 2 });
    const error = await failure(producer.send({ topic: "t", value: "x" }));
    assert.deepEqual(detailsOf(error), ["NOT_ENOUGH_REPLICAS", "not-written", true, "t", 0]);
    assert.match(
      error.message,
      /^t-0: 1 record failed after \d+ ms \(3 attempts\): t-0: Produce: NOT_ENOUGH_REPLICAS \(19\)\. It was not stored; sending it again is safe\.$/,
    );
    await run(producer.close());
  });

  test("retries off and no answer: they may be stored", async () => {
    const { producer, failure } = await stage({ verdict: produce("silence") }, { retries: 0 }, {
      requestTimeoutMs: 2000,
    });
    const error = await failure(producer.send({ topic: "t", value: "x" }));
    assert.deepEqual(detailsOf(error), ["REQUEST_TIMED_OUT", "unknown", true, "t", 0]);
    assert.equal(
      error.message,
      "t-0: 1 record failed after 2005 ms (1 attempt, retries are off): node 1 (broker:9092): no answer to Produce v12 " +
        "within 2000 ms (Produce was sent and not answered). It may be stored: check the topic before sending it again.",
    );
    await producer.close({ timeoutMs: 0 });
  });

  test("the delivery time-out: the option, the attempts and the last error", async () => {
    const { producer, failure } = await stage({ verdict: produce({ error: 6 }) }, { deliveryTimeoutMs: 3000 }, {
      requestTimeoutMs: 2000,
    });
    const sends = range(2).map((i) => producer.send({ topic: "t", value: `${i}` }));
    sends.forEach((sent) => sent.catch(() => {}));
    const error = await failure(sends[1]!);
    assert.deepEqual(detailsOf(error), ["DELIVERY_TIMEOUT", "not-written", false, "t", 0]);
    assert.match(
      error.message,
      /^t-0: 2 records failed after 3000 ms \([5-9] attempts\): deliveryTimeoutMs=3000 passed; last: t-0: Produce: NOT_LEADER_OR_FOLLOWER \(6\)\. They were not stored; sending them again is safe\.$/,
    );
    await producer.close({ timeoutMs: 0 });
  });

  test("the delivery time-out of what was never sent: why it was not", async () => {
    const stuck = { leader: () => -1 };
    const { producer, failure } = await stage(stuck, { deliveryTimeoutMs: 3000 }, { requestTimeoutMs: 2000 });
    const error = await failure(producer.send({ topic: "t", value: "x" }));
    assert.deepEqual(detailsOf(error), ["DELIVERY_TIMEOUT", "not-written", false, "t", 0]);
    assert.equal(
      error.message,
      "t-0: 1 record failed after 3000 ms (never sent): deliveryTimeoutMs=3000 passed; last: no leader known. " +
        "It was not stored; sending it again is safe.",
    );
    await producer.close({ timeoutMs: 0 });
  });

  test("scenario 21: records the broker names say so, others that they failed along with them", async () => {
    const recordErrors = [{ batchIndex: 1, batchIndexErrorMessage: "no such schema" }, {
      batchIndex: 2,
      batchIndexErrorMessage: null,
    }];
    const { producer, run } = await stage({
      verdict: produce({ error: 87 }),
      partitionAnswer: () => ({ recordErrors, errorMessage: "two are bad" }),
    });
    const errors = await run(
      Promise.all(range(3).map((i) => producer.send({ topic: "t", value: `${i}` }).catch((e: KafkaError) => e))),
    ) as KafkaError[];
    assert.deepEqual(errors.map((error) => error.message), [
      "t-0: record 0 of 3: it failed because another record of its batch was refused. It was not stored; sending it again " +
      "without that one is safe.",
      "t-0: record 1 of 3: this record was refused: no such schema. Sending the same again will not help.",
      "t-0: record 2 of 3: this record was refused. Sending the same again will not help.",
    ]);
    assert.deepEqual(errors.map(({ code, outcome }) => [code, outcome]), [
      ["INVALID_RECORD", "not-written"],
      ["INVALID_RECORD", "rejected"],
      ["INVALID_RECORD", "rejected"],
    ]);
    assert.match((errors[0]!.cause as KafkaError).message, /INVALID_RECORD \(87\)/);
    await run(producer.close());
  });

  test("scenario 21: one named record keeps the error of its partition", async () => {
    const { producer, run } = await stage({
      verdict: produce({ error: 32 }),
      partitionAnswer: () => ({ recordErrors: [{ batchIndex: 0, batchIndexErrorMessage: "too old" }] }),
    });
    const errors = await run(
      Promise.all(range(2).map((i) => producer.send({ topic: "t", value: `${i}` }).catch((e: KafkaError) => e))),
    ) as KafkaError[];
    assert.deepEqual(errors.map(({ code }) => code), ["INVALID_TIMESTAMP", "INVALID_RECORD"]);
    await run(producer.close());
  });

  test("closed without waiting: whether it was sent", async () => {
    const { producer, clock, failure } = await stage({ verdict: produce("silence") });
    const sent = producer.send({ topic: "t", value: "x" });
    sent.catch(() => {});
    await clock.advance(100);
    await producer.close({ timeoutMs: 0 });
    const error = await failure(sent);
    assert.deepEqual(detailsOf(error), ["CLOSED", "unknown", false, "t", 0]);
    assert.equal(
      error.message,
      "t-0: 1 record failed after 100 ms (1 attempt): the producer was closed before the broker acknowledged. " +
        "It may be stored: check the topic before sending it again.",
    );
  });
});

describe("errors of a record that was not sent", () => {
  test("no metadata: the topic, the time and the last reason", async () => {
    const { producer, failure } = await stage({}, { maxBlockMs: 3000 });
    const error = await failure(producer.send({ topic: "nosuch", value: "x" }));
    assert.deepEqual(detailsOf(error), ["UNKNOWN_TOPIC_OR_PARTITION", "not-written", true, "nosuch", undefined]);
    assert.ok(error instanceof TimeoutError);
    assert.equal(
      error.message,
      "topic nosuch: no metadata within 3000 ms; last: topic nosuch: UNKNOWN_TOPIC_OR_PARTITION (3)",
    );
    await producer.close();
  });

  test("no memory: how much is in use, and what to change", async () => {
    const options = { batchSize: 100, bufferMemory: 200, maxBlockMs: 500 };
    const { producer, clock, failure } = await stage({ verdict: produce("silence") }, options);
    producer.send({ topic: "t", value: "x".repeat(60) }).catch(() => {});
    await clock.advance(100);
    const error = await failure(producer.send({ topic: "t", value: "y".repeat(60) }));
    assert.deepEqual(detailsOf(error), ["BUFFER_EXHAUSTED", "not-written", true, "t", undefined]);
    assert.ok(error instanceof TimeoutError);
    assert.equal(
      error.message,
      "t: no memory for a record within maxBlockMs=500: 145 of bufferMemory=200 bytes hold records that are not " +
        "acknowledged. It was not sent: send more slowly, or raise bufferMemory or maxBlockMs.",
    );
    await producer.close({ timeoutMs: 0 });
  });

  test("too large: the size, the limit and what to change", async () => {
    const { producer, run, failure } = await stage({}, { maxRequestSize: 1000, bufferMemory: 100_000 });
    const error = await failure(producer.send({ topic: "t", partition: 0, value: "x".repeat(1000) }));
    assert.deepEqual(detailsOf(error), ["RECORD_TOO_LARGE", "not-written", false, "t", 0]);
    assert.equal(
      error.message,
      "t: a record of 1086 bytes is larger than maxRequestSize=1000. It was not sent; raise maxRequestSize, and the " +
        "topic's max.message.bytes, or send less at once.",
    );
    await run(producer.close());
    const small = await stage({}, { bufferMemory: 500, batchSize: 100 });
    const buffer = await small.failure(small.producer.send({ topic: "t", value: "x".repeat(1000) }));
    assert.match(buffer.message, /larger than bufferMemory=500/);
    await small.run(small.producer.close());
  });

  test("sent after close", async () => {
    const { producer, failure } = await stage();
    await producer.close({ timeoutMs: 0 });
    const error = await failure(producer.send({ topic: "t", value: "x" }));
    assert.deepEqual(detailsOf(error), ["CLOSED", "not-written", false, "t", undefined]);
    assert.ok(error instanceof ClosedError);
    assert.equal(error.message, "t: the producer is closed; the record was not sent");
  });

  test("bytes of records are in no message", async () => {
    const { producer, failure } = await stage({ verdict: produce({ error: 87 }) }, { maxRequestSize: 1000 });
    const secret = "hunter2".repeat(3);
    const headers = { authorization: secret };
    const errors = [
      await failure(producer.send({ topic: "t", key: secret, value: secret, headers })),
      await failure(producer.send({ topic: "t", key: secret, value: secret.repeat(100), headers })),
      await failure(producer.send({ topic: "t", key: secret, value: { secret } as never, headers })),
    ];
    for (const error of errors) {
      assert.doesNotMatch(`${error.message} ${JSON.stringify(error)} ${error.cause}`, /hunter2/);
    }
    await producer.close();
  });
});
