import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import type { Logger } from "../../src/core/logger.ts";
import { type Deferred, deferred } from "../../src/core/deferred.ts";
import type { Interceptor } from "../../src/producer/interceptor.ts";
import type { Payload } from "../../src/producer/record_metadata.ts";
import { intSerializer, jsonSerializer } from "../../src/producer/serializers.ts";
import { range, stage, textOf } from "../helpers/producer_stage.ts";

function keptLog(): { readonly log: string[]; readonly logger: Logger } {
  const log: string[] = [];
  const note = (message: string) => void log.push(message);
  return { log, logger: { debug: () => {}, info: note, warn: note, error: note } };
}

describe("serializers", () => {
  test("their types are the producer's: bytes, text or promises of either are sent", async () => {
    const { producer, broker, run } = await stage({}, {
      keySerializer: intSerializer,
      valueSerializer: jsonSerializer<{ total: number }>(),
    });
    const sent = await run(producer.send({ topic: "t", key: 258, value: { total: 9.5 } }));
    assert.deepEqual([sent.serializedKeySize, sent.serializedValueSize], [4, 13]);
    const [record] = broker.records("t");
    assert.deepEqual(record!.key, new Uint8Array([0, 0, 1, 2]));
    assert.equal(textOf(record!.value), '{"total":9.5}');
    // @ts-expect-error: a key must be a number
    producer.send({ topic: "t", key: "x", value: { total: 1 } }).catch(() => {});
    await run(producer.close());
  });

  test("null is no key and a tombstone; a serializer is not asked, and may answer null itself", async () => {
    const asked: unknown[] = [];
    const { producer, broker, run } = await stage({}, {
      keySerializer: (key: string) => (asked.push(key), key),
      valueSerializer: (value: string) => (asked.push(value), value === "none" ? null : value),
    });
    await run(producer.sendAll([
      { topic: "t", value: null },
      { topic: "t", key: null, value: "none" },
      { topic: "t", key: "k", value: "v" },
    ]));
    assert.deepEqual(broker.records("t").map(({ key, value }) => [textOf(key), textOf(value)]), [
      [null, null],
      [null, null],
      ["k", "v"],
    ]);
    assert.deepEqual(asked, ["none", "k", "v"]);
    await run(producer.close());
  });

  test("a serializer sees topic and part and may add headers, behind those given", async () => {
    const { producer, broker, run } = await stage({}, {
      valueSerializer: (value: string, { topic, part, headers }) => {
        headers.push(["schema", `${topic}-${part}-${headers.length}`]);
        return value;
      },
    });
    const headers: [string, Payload | null][] = [["a", "1"]];
    await run(producer.send({ topic: "t", value: "v", headers }));
    await run(producer.send({ topic: "t", value: "v", headers: { b: new Uint8Array([2]) } }));
    assert.deepEqual(headers, [["a", "1"]]);
    const names = broker.records("t").map((r) => r.headers.map(([name, value]) => [name, textOf(value)]));
    assert.deepEqual(names, [[["a", "1"], ["schema", "t-value-1"]], [["b", "\u0002"], ["schema", "t-value-1"]]]);
    await run(producer.close());
  });

  test("scenario 30: headers cannot change any more once the record is serialized", async () => {
    let kept: [string, Payload | null][] = [];
    const { producer, run } = await stage({}, {
      valueSerializer: (value: string, { headers }) => (kept = headers, value),
    });
    await run(producer.send({ topic: "t", value: "v", headers: [["a", "1"]] }));
    assert.throws(() => kept.push(["late", null]), TypeError);
    await run(producer.close());
  });

  test("an object is serialized within send, so that it may change after", async () => {
    const { producer, broker, run } = await stage({}, { valueSerializer: jsonSerializer<{ n: number }>() });
    const value = { n: 1 };
    const sends = [producer.send({ topic: "t", value })];
    value.n = 2;
    await run(sends[0]!);
    sends.push(producer.send({ topic: "t", value }));
    value.n = 3;
    await run(sends[1]!);
    assert.deepEqual(broker.values("t"), ['{"n":1}', '{"n":2}']);
    await run(producer.close());
  });

  test("asynchronous serializers that end in any order leave the order of the calls", async () => {
    const waiting: { value: string; answer: Deferred<string> }[] = [];
    const { producer, broker, clock, run } = await stage({}, {
      valueSerializer: (value: string) => {
        if (value.startsWith("now")) return value;
        const answer = deferred<string>();
        waiting.push({ value, answer });
        return answer.promise;
      },
    });
    await run(producer.send({ topic: "t", value: "now 0" }));
    const sends = Promise.all(["a", "b", "now 1", "c"].map((value) => producer.send({ topic: "t", value })));
    await clock.flush();
    for (const { value, answer } of waiting.reverse()) {
      answer.resolve(value.toUpperCase());
      await clock.advance(100);
    }
    await run(sends);
    assert.deepEqual(broker.values("t"), ["now 0", "A", "B", "now 1", "C"]);
    await run(producer.close());
  });

  test("the time of a slow serializer is not taken from maxBlockMs, neither from its own record's nor from others'", async () => {
    const answer = deferred<string>();
    const topics: Record<string, number> = {};
    const { producer, broker, clock, run } = await stage({ topics }, {
      maxBlockMs: 1000,
      valueSerializer: (value: string) => value === "slow" ? answer.promise : value,
    });
    const sends = Promise.all(["slow", "behind"].map((value) => producer.send({ topic: "t", value })));
    await clock.advance(5000);
    answer.resolve("slow at last");
    // The topic is made half a second later, so both wait for metadata as well.
    await clock.advance(500);
    topics["t"] = 1;
    await run(sends);
    assert.deepEqual(broker.values("t"), ["slow at last", "behind"]);
    await run(producer.close());
  });

  test("one that throws, rejects or answers nonsense fails that send only and says which it was", async () => {
    const { producer, broker, run, failure } = await stage({}, {
      keySerializer: (key: string) => {
        if (key === "bad") throw new RangeError("no such key");
        return key;
      },
      valueSerializer: (value: string) => {
        if (value === "rejected") return Promise.reject(new Error("registry is down"));
        return value === "nonsense" ? 5 as never : value;
      },
    });
    const before = producer.send({ topic: "t", value: "1" });
    const failures = [{ key: "bad", value: "x" }, { value: "rejected" }, { value: "nonsense" }].map((record) =>
      failure(producer.send({ topic: "t", ...record }))
    );
    const after = producer.send({ topic: "t", value: "2" });
    const [key, rejected, nonsense] = await Promise.all(failures);
    assert.deepEqual([key!.code, key!.outcome, key!.topic], ["SERIALIZATION_FAILED", "not-written", "t"]);
    assert.equal(key!.message, "t: the key serializer failed: no such key. The record was not sent.");
    assert.ok(key!.cause instanceof RangeError);
    assert.equal(rejected!.message, "t: the value serializer failed: registry is down. The record was not sent.");
    assert.equal(nonsense!.code, "INVALID_RECORD");
    await run(Promise.all([before, after]));
    assert.deepEqual(broker.values("t"), ["1", "2"]);
    await run(producer.close());
  });
});

describe("interceptors", () => {
  test("form a chain in their order, before the serializers", async () => {
    const add = (mark: string): Interceptor<string, string> => ({
      onSend: (record) => ({ ...record, value: record.value + mark, headers: { ...record.headers, [mark]: "1" } }),
    });
    const { producer, broker, run } = await stage<string, string>({}, {
      interceptors: [add("a"), {}, add("b")],
      valueSerializer: (value) => value.toUpperCase(),
    });
    await run(producer.send({ topic: "t", value: "v" }));
    const [record] = broker.records("t");
    assert.equal(textOf(record!.value), "VAB");
    assert.deepEqual(record!.headers.map(([name]) => name), ["a", "b"]);
    await run(producer.close());
  });

  test("scenario 30: what one throws or answers wrongly is logged and passed over", async () => {
    const { log, logger } = keptLog();
    const interceptors: Interceptor[] = [
      { onSend: (record) => ({ ...record, value: `${record.value}1` }) },
      {
        onSend: () => {
          throw new Error("onSend is broken");
        },
        onAcknowledgement: () => {
          throw new Error("onAcknowledgement is broken");
        },
        close: () => Promise.reject(new Error("close is broken")),
      },
      { onSend: () => undefined as never },
      { onSend: (record) => ({ ...record, value: `${record.value}2` }) },
    ];
    const { producer, broker, run } = await stage({}, { interceptors }, { logger });
    assert.equal((await run(producer.send({ topic: "t", value: "v" }))).offset, 0);
    assert.deepEqual(broker.values("t"), ["v12"]);
    await run(producer.close());
    assert.deepEqual(log, [
      "interceptor: onSend for t failed: onSend is broken",
      "interceptor: onSend for t failed: it answered no record",
      "interceptor: onAcknowledgement for t failed: onAcknowledgement is broken",
      "close of an interceptor or partitioner failed: close is broken",
    ]);
  });

  test("onAcknowledgement comes once a record, before its promise, with where it was stored and its headers", async () => {
    const seen: string[] = [];
    const { producer, run } = await stage({ topics: { t: 2 } }, {
      interceptors: [{
        onAcknowledgement: ({ topic, partition, offset, serializedValueSize }, error, headers) =>
          seen.push(`${topic}-${partition}@${offset} ${serializedValueSize} ${error} ${headers.map(([n]) => n)}`),
      }],
    });
    const sends = range(3).map((i) =>
      producer.send({ topic: "t", partition: 1, value: `${i}`, headers: [[`h${i}`, null]] }).then(() =>
        seen.push(`promise ${i}`)
      )
    );
    await run(Promise.all(sends));
    assert.deepEqual(seen, [
      ...range(3).map((i) => `t-1@${i} 1 undefined h${i}`),
      ...range(3).map((i) => `promise ${i}`),
    ]);
    await run(producer.close());
  });

  test("scenario 30: a record that failed is acknowledged with its partition if it was known, and −1 elsewhere", async () => {
    const seen: [string, number, number, number, string | undefined][] = [];
    const interceptors: Interceptor[] = [{
      onAcknowledgement: ({ topic, partition, offset, timestamp }, error) =>
        seen.push([topic, partition, offset, timestamp, error?.code]),
    }];
    const verdict = (api: string) => api === "Produce" ? { error: 87 } : "answer" as const;
    const { producer, failure } = await stage({ verdict, topics: { t: 2 } }, {
      interceptors,
      maxBlockMs: 1000,
      maxRequestSize: 1000,
    });
    await failure(producer.send({ topic: "t", value: "x".repeat(1000) }));
    await failure(producer.send({ topic: "t", partition: 1, value: "x".repeat(1000) }));
    await failure(producer.send({ topic: "nosuch", value: "x" }));
    await failure(producer.send({ topic: "t", value: 5 as never }));
    await failure(producer.send({ topic: "t", partition: 1, value: "refused by the broker" }));
    await producer.close({ timeoutMs: 0 });
    await failure(producer.send({ topic: "t", value: "after close" }));
    assert.deepEqual(seen, [
      ["t", -1, -1, -1, "RECORD_TOO_LARGE"],
      ["t", 1, -1, -1, "RECORD_TOO_LARGE"],
      ["nosuch", -1, -1, -1, "UNKNOWN_TOPIC_OR_PARTITION"],
      ["t", -1, -1, -1, "INVALID_RECORD"],
      ["t", 1, -1, -1, "INVALID_RECORD"],
      ["t", -1, -1, -1, "CLOSED"],
    ]);
  });

  test("scenario 26: one that throws on acknowledgement does not stop the records behind it", async () => {
    let calls = 0;
    const { producer, broker, run } = await stage({}, {
      interceptors: [{
        onAcknowledgement: () => {
          calls++;
          throw new Error("broken");
        },
      }],
    });
    const results = await run(Promise.all(range(5).map((i) => producer.send({ topic: "t", value: `${i}` }))));
    assert.deepEqual(results.map(({ offset }) => offset), range(5));
    assert.equal(calls, 5);
    assert.equal(broker.values("t").length, 5);
    await run(producer.close());
  });

  test("scenario 29: interceptors and the partitioner are closed once, whatever follows", async () => {
    let closed = 0;
    const close = () => void closed++;
    const { producer, run } = await stage({}, {
      interceptors: [{ close }, { close }],
      partitioner: { partition: () => 0, close },
    });
    await run(producer.send({ topic: "t", value: "x" }));
    await Promise.all([run(producer.close()), producer.close({ timeoutMs: 0 }), producer.close()]);
    assert.equal(closed, 3);
  });

  test("something that is no record is refused, with and without interceptors", async () => {
    for (
      const options of [{}, { interceptors: [{ onSend: (record: never) => record, onAcknowledgement: () => {} }] }]
    ) {
      const { producer, failure } = await stage({}, options);
      for (const bad of [undefined, null, 5, "text", {}, { topic: 5, value: "x" }]) {
        const error: KafkaError = await failure(producer.send(bad as never));
        assert.deepEqual([error.code, error.outcome], ["INVALID_RECORD", "not-written"], String(bad));
      }
      await producer.close({ timeoutMs: 0 });
    }
  });
});
