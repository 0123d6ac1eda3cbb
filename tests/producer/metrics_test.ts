import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Metrics } from "../../src/core/metrics.ts";
import type { Metric } from "../../src/producer/producer_metrics.ts";
import { range, stage } from "../helpers/producer_stage.ts";
import type { Verdict } from "../helpers/scripted_broker.ts";

/** The figure with this name, of the client, or of the topic or node given. */
function figure(metrics: readonly Metric[], name: string, tag?: string): number {
  const found = metrics.filter((metric) =>
    metric.name === name && (metric.tags.topic ?? metric.tags["node-id"]) === tag
  );
  assert.equal(found.length, 1, `${name} of ${tag ?? "the client"}: ${found.length}`);
  return found[0]!.value;
}

describe("producer.metrics()", () => {
  test("has Java's names, groups and tags", async () => {
    const { producer, run } = await stage({}, {}, { clientId: "shop" });
    await run(producer.send({ topic: "t", value: "x" }));
    const metrics = producer.metrics();
    // Of producer.md §11; what Java measures of its selector, and of transactions, is not there.
    const client = [
      ...["batch-size-avg", "batch-size-max", "compression-rate-avg", "metadata-age", "produce-throttle-time-avg"],
      ...["produce-throttle-time-max", "record-queue-time-avg", "record-queue-time-max", "record-send-rate"],
      ...["record-send-total", "record-size-avg", "record-size-max", "records-per-request-avg", "request-latency-avg"],
      ...[
        "request-latency-max",
        "requests-in-flight",
        "buffer-total-bytes",
        "buffer-available-bytes",
        "waiting-threads",
      ],
      ...["metadata-wait-time-ns-total", "connection-count", "connection-creation-rate", "connection-creation-total"],
      ...["request-rate", "request-total", "request-size-avg", "request-size-max", "response-rate", "response-total"],
      ...["incoming-byte-rate", "incoming-byte-total", "outgoing-byte-rate", "outgoing-byte-total"],
    ];
    for (const name of client) figure(metrics, name);
    for (const name of ["record-send-rate", "record-send-total", "byte-rate", "byte-total", "compression-rate"]) {
      figure(metrics, name, "t");
    }
    for (const name of ["request-total", "request-latency-avg", "incoming-byte-total", "outgoing-byte-rate"]) {
      figure(metrics, name, "node-1");
    }
    const groups = new Set(metrics.map(({ group, tags }) => `${group} ${Object.keys(tags)}`));
    assert.deepEqual([...groups].sort(), [
      "producer-metrics client-id",
      "producer-node-metrics client-id,node-id",
      "producer-topic-metrics client-id,topic",
    ]);
    assert.ok(metrics.every(({ tags }) => tags["client-id"] === "shop"));
    await run(producer.close());
  });

  test("counts records and batches as Java does: sends at each attempt, errors and retries by record", async () => {
    const verdict = (api: string, nth: number): Verdict =>
      api !== "Produce" ? "answer" : nth === 1 ? { error: 19 } : nth === 3 ? { error: 87 } : "answer";
    const { producer, run } = await stage({ verdict, topics: { t: 1, u: 1 } }, { lingerMs: 10 });
    await run(producer.sendAll(range(3).map((i) => ({ topic: "t", value: `${i}` }))));
    await run(producer.sendAll(range(2).map((i) => ({ topic: "u", value: `${i}` }))).catch(() => {}));
    const metrics = producer.metrics();
    assert.equal(figure(metrics, "record-send-total"), 3 + 3 + 2);
    assert.equal(figure(metrics, "record-send-total", "t"), 6);
    assert.equal(figure(metrics, "record-retry-total"), 3);
    assert.equal(figure(metrics, "record-error-total"), 2);
    assert.equal(figure(metrics, "record-error-total", "u"), 2);
    assert.equal(figure(metrics, "records-per-request-avg"), 8 / 3);
    await run(producer.close());
  });

  test("measures sizes in bytes and times in milliseconds, memory as it is", async () => {
    const { producer, broker, clock, run } = await stage({}, { lingerMs: 40 });
    const sent = producer.send({ topic: "t", value: "x".repeat(100) });
    await clock.advance(20);
    assert.equal(figure(producer.metrics(), "buffer-available-bytes"), 33554432 - 16384);
    await run(sent);
    const metrics = producer.metrics();
    const [batch] = broker.batches("t");
    assert.equal(figure(metrics, "batch-size-avg"), batch!.size);
    assert.equal(figure(metrics, "byte-total", "t"), batch!.size);
    assert.equal(figure(metrics, "record-queue-time-max"), 40);
    assert.equal(figure(metrics, "record-size-max"), 61 + 21 + 1 + 2 + 100 + 1);
    assert.equal(figure(metrics, "compression-rate-avg"), 1);
    assert.equal(figure(metrics, "buffer-available-bytes"), 33554432);
    assert.equal(figure(metrics, "buffer-total-bytes"), 33554432);
    assert.equal(figure(metrics, "requests-in-flight"), 0);
    await run(producer.close());
  });

  test("rates, averages and maxima are of the last 30 to 60 seconds, totals of all time", async () => {
    const { producer, clock, run } = await stage({}, { lingerMs: 0 });
    await run(producer.sendAll(range(300).map(() => ({ topic: "t", value: "x" }))));
    assert.equal(figure(producer.metrics(), "record-send-rate"), 300 / 30);
    await clock.advance(45_000);
    await run(producer.sendAll(range(60).map(() => ({ topic: "t", value: "x" }))));
    const rate = figure(producer.metrics(), "record-send-rate");
    assert.ok(Math.abs(rate - 360 / 45) < 0.01, `${rate}`);
    await clock.advance(60_000);
    assert.equal(figure(producer.metrics(), "record-send-rate"), 0);
    assert.ok(Number.isNaN(figure(producer.metrics(), "batch-size-avg")));
    assert.ok(Number.isNaN(figure(producer.metrics(), "batch-size-max")));
    assert.equal(figure(producer.metrics(), "record-send-total"), 360);
    await run(producer.close());
  });

  test("waiting is counted in nanoseconds: metadata, memory and flush", async () => {
    let held = true;
    const verdict = (api: string): Verdict => held && api === "Produce" ? "silence" : "answer";
    const { producer, clock, run } = await stage({ verdict }, { batchSize: 100, bufferMemory: 250 }, {
      requestTimeoutMs: 1000,
    });
    const sends = range(4).map((i) => producer.send({ topic: "t", value: `${i}`.padEnd(80, ".") }));
    await clock.advance(300);
    assert.ok(figure(producer.metrics(), "waiting-threads") >= 2);
    assert.equal(figure(producer.metrics(), "requests-in-flight"), 1);
    held = false;
    await run(producer.flush());
    await Promise.all(sends);
    const metrics = producer.metrics();
    assert.ok(figure(metrics, "flush-time-ns-total") > 500e6);
    assert.ok(figure(metrics, "bufferpool-wait-time-ns-total") > 500e6);
    assert.ok(metrics.every(({ name }) => !name.endsWith("-ns-rate")));
    await run(producer.close());
  });

  test("connections and nodes: each node for itself, the client in sum", async () => {
    const { producer, network, run } = await stage({ nodes: 2, topics: { t: 2 } });
    await run(producer.sendAll([0, 1].map((partition) => ({ topic: "t", partition, value: "x" }))));
    let metrics = producer.metrics();
    const ofNodes = metrics.filter(({ name, tags }) => name === "request-total" && "node-id" in tags);
    assert.ok(ofNodes.length >= 2);
    assert.equal(figure(metrics, "request-total"), ofNodes.reduce((sum, { value }) => sum + value, 0));
    assert.equal(figure(metrics, "connection-count"), figure(metrics, "connection-creation-total"));
    network.cutAll("broker2", 9092);
    await run(producer.send({ topic: "t", partition: 1, value: "again" }));
    metrics = producer.metrics();
    assert.equal(figure(metrics, "connection-close-total"), 1);
    assert.equal(
      figure(metrics, "connection-count"),
      figure(metrics, "connection-creation-total") - figure(metrics, "connection-close-total"),
    );
    await run(producer.close());
    assert.equal(figure(producer.metrics(), "connection-count"), 0);
  });

  test("a Metrics that throws stops nothing", async () => {
    const broken = () => {
      throw new Error("broken");
    };
    const { producer, run } = await stage({}, {}, { metrics: { count: broken, observe: broken } });
    assert.equal((await run(producer.send({ topic: "t", value: "x" }))).offset, 0);
    assert.equal(figure(producer.metrics(), "record-send-total"), 1);
    await run(producer.close());
  });

  test("go to the Metrics given as well", async () => {
    const given: string[] = [];
    const metrics: Metrics = {
      count: (name, value, tags) => void given.push(`${name} ${value} ${tags.topic ?? ""}`),
      observe: (name, value) => void given.push(`${name} ${value}`),
    };
    const { producer, run } = await stage({}, {}, { metrics });
    await run(producer.sendAll(range(3).map(() => ({ topic: "t", value: "x" }))));
    for (const line of ["record-send-total 3 ", "record-send-total 3 t", "records-per-request 3"]) {
      assert.ok(given.includes(line), line);
    }
    await run(producer.close());
  });
});
