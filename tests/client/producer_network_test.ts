/** What a producer makes of the network below it, before embedded brokers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClientOptions } from "../../src/client/client_options.ts";
import { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import { type ClusterStage, clusterStage } from "./cluster_stage.ts";

/** A producer on a stage whose own view of the cluster is not used. */
async function producerStage(
  broker: Parameters<typeof clusterStage>[0] = {},
  client: Partial<ClientOptions> = {},
  options: ProducerOptions = {},
): Promise<ClusterStage & { readonly producer: Producer; send(value: string, partition?: number): Promise<number> }> {
  const stage = await clusterStage(broker, client);
  const producer = new Producer(stage.context, { lingerMs: 0, ...options });
  return {
    ...stage,
    producer,
    send: async (value, partition) => {
      const record = { topic: "t", value, ...(partition === undefined ? {} : { partition }) };
      return (await stage.run(producer.send(record))).offset;
    },
    async close() {
      await stage.run(producer.close());
      return await stage.close();
    },
  };
}

describe("scenario 44", () => {
  test("flush and close right after construction end at once, without a connection", async () => {
    const { producer, attempts, clock, run, close } = await producerStage();
    await run(producer.flush());
    assert.equal(clock.pendingTimers, 0);
    assert.equal(await close(), 0);
    assert.deepEqual(attempts, []);
    assert.equal(clock.now(), 0);
  });

  test("a connection closed for being idle is made again when it is needed, in whatever moment that is", async () => {
    for (const acks of ["all", 1, 0] as const) {
      const { attempts, clock, send, close } = await producerStage({}, { connectionsMaxIdleMs: 1000 }, {
        acks,
        ...(acks === "all" ? {} : { enableIdempotence: false }),
      });
      await send("first");
      let offset = 0;
      for (const pause of [999, 1000, 1001, 1000, 5000]) {
        await clock.advance(pause);
        const start = clock.now();
        assert.equal(await send(`after ${pause}`), acks === 0 ? -1 : ++offset);
        assert.ok(clock.now() - start <= 1, `${clock.now() - start} ms: an idle connection is no failure to wait for`);
      }
      assert.ok(attempts.length >= 5, `${attempts.length}`);
      assert.equal(await close(), 0);
    }
  });

  test("partitions that are added are used, by whoever names one at once, by others when the metadata is old", async () => {
    const { producer, broker, clock, run, send, close } = await producerStage({}, { metadataMaxAgeMs: 3000 });
    await send("a", 0);
    const waiting = producer.send({ topic: "t", partition: 1, value: "b" });
    waiting.catch(() => {});
    await clock.advance(700);
    await broker.createPartitions("t", 2);
    assert.equal((await run(waiting)).partition, 1);
    assert.ok(clock.now() < 3000);
    await broker.createPartitions("t", 3);
    const used = new Set<number>();
    for (let i = 0; i < 200 && used.size < 3; i++) {
      await clock.advance(50);
      // A key for each partition of three.
      used.add((await run(producer.send({ topic: "t", key: `${i}`, value: "c" }))).partition);
    }
    assert.deepEqual([...used].sort(), [0, 1, 2]);
    assert.equal(await close(), 0);
  });
});

test("scenario 41: a node that throttles gets no further batch until its time is over, the others go on", async () => {
  const { broker, clock, send, times, close } = await producerStage({ nodes: 2, topics: { t: 2 } });
  broker.moveLeader("t", 0, 1);
  broker.moveLeader("t", 1, 2);
  await send("a", 0);
  await send("b", 1);
  broker.script({ api: "Produce", node: 1, throttleMs: 3000 });
  await send("c", 0);
  const throttledAt = clock.now();
  assert.equal(await send("d", 1), 1);
  assert.equal(clock.now(), throttledAt);
  assert.equal(await send("e", 0), 2);
  assert.equal(times("Produce").at(-1)! - throttledAt, 3000);
  assert.equal(await close(), 0);
});

test("case 077: a producer before brokers that refuse tries each of them once in its back-off, and goes on within 2 s", async () => {
  const { producer, attempts, clock, reach, run, close } = await producerStage({ nodes: 2 });
  reach("refuse");
  const sent = Array.from({ length: 50 }, (_, i) => producer.send({ topic: "t", value: `${i}` }));
  await clock.advance(30_000);
  assert.ok(attempts.length <= 36 && attempts.length >= 15, `${attempts.length} attempts in 30 s`);
  let before = clock.now();
  reach("open");
  assert.deepEqual((await run(Promise.all(sent))).map(({ offset }) => offset), sent.map((_, i) => i));
  assert.ok(clock.now() - before <= 2000);
  // Now that it knows both nodes, and has records for one of them.
  reach("refuse");
  attempts.length = 0;
  const more = producer.send({ topic: "t", value: "more" });
  await clock.advance(60_000);
  for (const address of new Set(attempts.map(({ to }) => to))) {
    const count = attempts.filter(({ to }) => to === address).length;
    assert.ok(count <= 66, `${address}: ${count} attempts in 60 s`);
  }
  before = clock.now();
  reach("open");
  assert.equal((await run(more)).offset, 50);
  assert.ok(clock.now() - before <= 2000);
  assert.equal(await close(), 0);
});
