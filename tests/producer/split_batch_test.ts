import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { seededRandom } from "../../src/core/random.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { splitBatch } from "../../src/producer/split_batch.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { range, stage, textOf } from "../helpers/producer_stage.ts";
import type { Verdict } from "../helpers/scripted_broker.ts";

/** A value that does not compress. */
function noise(seed: number, length: number): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
}

const metricOf = (producer: { metrics(): { name: string; value: number }[] }, name: string) =>
  producer.metrics().find((metric) => metric.name === name)?.value ?? 0;

describe("splitBatch", () => {
  test("keeps keys, values, headers, timestamps and order, null and empty included", () => {
    const whole = new RecordBatchBuilder(new Uint8Array(4096));
    const records: [number, Uint8Array | null, Uint8Array | null, [string, Uint8Array | null][]][] = range(20).map((
      i,
    ) => [
      5000 + (i % 3) * 1000 - i,
      i % 4 === 0 ? null : new Uint8Array(i % 5).fill(i),
      i % 7 === 0 ? null : new Uint8Array(i * 10).fill(i),
      i % 3 === 0 ? [] : [["a", null], ["a", new Uint8Array([i])]],
    ]);
    for (const [timestamp, key, value, headers] of records) assert.ok(whole.append(timestamp, key, value, headers));
    const parts = splitBatch(whole, 600);
    assert.ok(parts.length > 2);
    const read = parts.flatMap((part) => {
      const bytes = part.seal({ crc32c });
      assert.ok(bytes.length <= 600 || part.recordCount === 1, `${bytes.length}`);
      return [...new RecordBatch(bytes).records()];
    });
    assert.deepEqual(
      read.map(({ timestamp, key, value, headers }) => [timestamp, key, value, headers.map(([k, v]) => [k, v])]),
      records,
    );
  });

  test("makes at least two, even where the batch is smaller than batchSize, and ends at one record each", () => {
    let parts = [new RecordBatchBuilder(new Uint8Array(4096))];
    for (let i = 0; i < 9; i++) parts[0]!.append(i, null, new Uint8Array(20));
    for (let round = 0; parts.some((part) => part.recordCount > 1); round++) {
      assert.ok(round < 5);
      parts = parts.flatMap((part) => {
        if (part.recordCount === 1) return [part];
        const smaller = splitBatch(part, 16384);
        assert.ok(smaller.length >= 2);
        return smaller;
      });
    }
    assert.equal(parts.length, 9);
  });
});

describe("a batch that is too large for the broker", () => {
  for (const enableIdempotence of [true, false]) {
    const kind = enableIdempotence ? "idempotent" : "not idempotent";

    test(`case 080, scenario 7: is sent in parts, in order, each promise settled once (${kind})`, async () => {
      const options = {
        batchSize: 4000,
        lingerMs: 20,
        enableIdempotence,
        maxInFlightRequestsPerConnection: enableIdempotence ? 5 : 1,
      };
      const { producer, broker, run } = await stage({ maxBatchBytes: 1500 }, options);
      const sends = range(40).map((i) =>
        producer.send({
          topic: "t",
          key: `k${i}`,
          value: `${i}`.padEnd(200, "."),
          headers: [["n", `${i}`]],
          timestamp: i,
        })
      );
      const results = await run(Promise.all(sends));
      assert.deepEqual(results.map(({ offset, timestamp }) => [offset, timestamp]), range(40).map((i) => [i, i]));
      assert.deepEqual(
        broker.records("t").map(({ key, headers, timestamp }) => [textOf(key), textOf(headers[0]![1]), timestamp]),
        range(40).map((i) => [`k${i}`, `${i}`, i]),
      );
      assert.ok(broker.batches("t").every(({ size }) => size <= 1500));
      assert.ok(metricOf(producer, "batch-split-total") >= 2);
      await run(producer.close());
      assert.equal(metricOf(producer, "buffer-available-bytes"), metricOf(producer, "buffer-total-bytes"));
    });
  }

  test("scenario 19: the parts have consecutive sequences, from the one of the whole on", async () => {
    const { producer, broker, run } = await stage({ maxBatchBytes: 700 }, { batchSize: 2000, lingerMs: 20 });
    await run(producer.sendAll(range(9).map((i) => ({ topic: "t", value: `${i}`.padEnd(180, ".") }))));
    const batches = broker.batches("t");
    let next = 0;
    for (const { baseSequence, count, producerEpoch } of batches) {
      assert.deepEqual([baseSequence, producerEpoch], [next, 0]);
      next += count;
    }
    assert.equal(next, 9);
    assert.ok(batches.length >= 3);
    await run(producer.close());
  });

  test("scenario 19: five in flight, the first split, faults in between: every record once and in order", {
    timeout: 20_000,
  }, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed);
      const faults = ["cut-before", "cut-after", "silence", { error: 6 }, { error: 20, append: true }] as const;
      const verdict = (api: string): Verdict =>
        api === "Produce" && random() < 0.3 ? faults[Math.floor(random() * faults.length)]! : "answer";
      const options = { batchSize: 800, lingerMs: 1 };
      const { producer, broker, run } = await stage({ verdict, maxBatchBytes: 500 }, options, {
        requestTimeoutMs: 1000,
      });
      const sends: Promise<number>[] = [];
      for (let i = 0; i < 40; i++) {
        const value = `${i}`.padEnd(60 + Math.floor(random() * 200), ".");
        sends.push(producer.send({ topic: "t", value }).then(({ offset }) => offset));
      }
      assert.deepEqual(await run(Promise.all(sends)), range(40), `seed ${seed}`);
      const values = broker.values("t").map((value) => Number.parseInt(value));
      assert.deepEqual(values, range(40), `seed ${seed}`);
      await run(producer.close());
      assert.equal(
        metricOf(producer, "buffer-available-bytes"),
        metricOf(producer, "buffer-total-bytes"),
        `seed ${seed}`,
      );
    }
  });

  test("case 080: one record alone fails, says so, and those around it are stored", async () => {
    const { producer, broker, run } = await stage({ maxBatchBytes: 500 }, { batchSize: 2000, lingerMs: 20 });
    const outcomes = await run(
      Promise.all(
        [100, 900, 100].map((size, i) =>
          producer.send({ topic: "t", value: `${i}`.padEnd(size, ".") }).then(
            () => "stored",
            (error: KafkaError) => error,
          )
        ),
      ),
    );
    const failed = outcomes[1] as KafkaError;
    assert.deepEqual([outcomes[0], outcomes[2]], ["stored", "stored"]);
    assert.deepEqual([failed.code, failed.outcome, failed.partition], ["MESSAGE_TOO_LARGE", "rejected", 0]);
    assert.match(
      failed.message,
      /^t-0: 1 record failed after \d+ ms \(1 attempt\): t-0: Produce: MESSAGE_TOO_LARGE \(10\)\. It was refused; sending the same again will not help\. Raise the topic's max\.message\.bytes, or send less in one record\.$/,
    );
    assert.deepEqual(broker.values("t").map((value) => value[0]), ["0", "2"]);
    await run(producer.close());
  });

  test("flush waits for the last part of a batch that was there when it was called", async () => {
    // A part in the middle is refused for a moment, long after the first one is stored.
    const verdict = (api: string, nth: number): Verdict => api === "Produce" && nth === 4 ? { error: 19 } : "answer";
    const { producer, broker, run } = await stage({ maxBatchBytes: 600, verdict }, {
      batchSize: 2000,
      lingerMs: 90_000,
    });
    let stored = 0;
    for (const i of range(9)) producer.send({ topic: "t", value: `${i}`.padEnd(180, ".") }).then(() => stored++);
    const storedAtFlush = await run(producer.flush().then(() => stored));
    assert.equal(storedAtFlush, 9);
    assert.equal(broker.values("t").length, 9);
    await run(producer.close());
  });

  test("flush comes behind all promises of a batch whose last part was split again and again", async () => {
    // Each record is as large as all behind it, and more, so that it becomes a part, and what is behind it another one.
    const sizes = [100];
    for (let sum = 100; sizes.length < 12; sum += sizes[0]!) sizes.unshift(sum + 200);
    const [parts, tooLarge] = [sizes.length, { error: 10 }];
    const verdict = (api: string, nth: number): Verdict =>
      api === "Produce" && nth % 2 === 1 && nth < 2 * parts - 1 ? tooLarge : "answer";
    const options = { batchSize: 900_000, lingerMs: 90_000 };
    const { producer, broker, run } = await stage({ verdict }, options);
    await run(producer.partitionsFor("t")); // so that no record waits on its way to the batch
    const settled: string[] = [];
    for (const [i, size] of sizes.entries()) {
      producer.send({ topic: "t", value: "x".repeat(size) }).then(({ offset }) => settled.push(`${i} at ${offset}`));
    }
    await run(producer.flush().then(() => settled.push("flush")));
    assert.deepEqual(settled, [...range(parts).map((i) => `${i} at ${i}`), "flush"]);
    assert.equal(broker.produceRequests.length, 2 * parts - 1);
    await run(producer.close());
  });

  test("scenario 19: one that has expired meanwhile is not split", async () => {
    const { producer, broker, clock, run } = await stage({ maxBatchBytes: 600 }, {
      batchSize: 2000,
      deliveryTimeoutMs: 1010,
      lingerMs: 10,
    }, { requestTimeoutMs: 1000, retryBackoffMs: 900, retryBackoffMaxMs: 900 });
    broker.script.verdict = (api, nth) => api === "Produce" && nth === 1 ? { error: 19 } : "answer";
    // The second attempt leaves after 900 ms, and its answer comes when the batch is too old.
    const sends = range(9).map((i) =>
      producer.send({ topic: "t", value: `${i}`.padEnd(180, ".") }).then(
        () => "stored",
        (error: KafkaError) => error.code,
      )
    );
    const before = clock.now();
    const outcomes = await run(Promise.all(sends));
    assert.ok(clock.now() - before <= 1100);
    assert.ok(outcomes.every((outcome) => outcome === outcomes[0]), `${outcomes}`);
    await run(producer.close());
  });

  for (const isKnown of [false, true]) {
    const how = isKnown ? "appended at once" : "that waited for metadata";
    test(`close without waiting settles the records, ${how}, of a batch that is being split`, async () => {
      // The whole, then halves of halves: each request of these is a moment to close in.
      for (const requests of range(7)) {
        const { producer, broker, clock, run } = await stage({ maxBatchBytes: 600 }, { batchSize: 2000 });
        if (isKnown) await run(producer.partitionsFor("t"));
        const sends = range(9).map((i) =>
          producer.send({ topic: "t", value: `${i}`.padEnd(180, ".") }).then(
            () => "stored",
            (error: KafkaError) => error.code,
          )
        );
        while (broker.produceRequests.length <= requests) await clock.advance(1);
        await producer.close({ timeoutMs: 0 });
        const outcomes = await Promise.all(sends);
        const closed = outcomes.indexOf("CLOSED");
        const stored = closed < 0 ? outcomes.length : closed;
        assert.deepEqual(outcomes, outcomes.map((_, i) => i < stored ? "stored" : "CLOSED"), `${requests}`);
        assert.ok(broker.values("t").length >= stored);
      }
    });
  }
});

describe("the estimate of compression", () => {
  test("lets batches fill batchSize after compression, within Java's margin, and splitting stays rare", async () => {
    const options = { batchSize: 4000, compressionType: "gzip", lingerMs: 10 } as const;
    const { producer, broker, run } = await stage({ maxBatchBytes: 4600 }, options);
    const value = (i: number) => `{"id":${i},"state":"open","note":"${"lorem ipsum ".repeat(6)}"}`;
    for (let round = 0; round < 60; round++) {
      await run(producer.sendAll(range(300).map((i) => ({ topic: "t", value: value(round * 300 + i) }))));
    }
    const sizes = broker.batches("t").map(({ size }) => size);
    const counts = broker.batches("t").map(({ count }) => count);
    // At first a batch is taken for incompressible; later it holds many times as many records.
    assert.ok(counts[0]! < 45, `${counts[0]}`);
    assert.ok(Math.max(...counts) > 150, `${Math.max(...counts)}`);
    assert.ok(Math.max(...sizes) <= 4600);
    assert.equal(broker.values("t").length, 18_000);
    await run(producer.close());
  });

  test("scenario 7: records that compress well and badly in turn make few splits, and all arrive in order", async () => {
    const options = { batchSize: 4000, compressionType: "gzip", lingerMs: 10 } as const;
    const { producer, broker, run } = await stage({ maxBatchBytes: 4600 }, options);
    let sent = 0;
    for (let round = 0; round < 80; round++) {
      const compressible = round % 20 < 15;
      await run(producer.sendAll(
        range(60).map((i) => {
          sent++;
          return { topic: "t", key: `${sent}`, value: compressible ? "x".repeat(100) : noise(round * 100 + i, 100) };
        }),
      ));
    }
    assert.deepEqual(broker.records("t").map(({ key }) => Number(textOf(key))), range(sent).map((i) => i + 1));
    const splits = metricOf(producer, "batch-split-total");
    assert.ok(splits <= 8, `${splits} splits of ${broker.produceRequests.length} requests`);
    await run(producer.close());
  });
});
