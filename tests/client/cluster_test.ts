import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { seededRandom } from "../../src/core/random.ts";
import { apiVersionsApi } from "../../src/protocol/api_versions.ts";
import { initProducerIdApi } from "../../src/protocol/init_producer_id.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import { addressesOf, clusterStage, metadataSays, startBroker, watch } from "./cluster_stage.ts";

const gaps = (times: readonly number[]) => times.slice(1).map((time, i) => Math.round(time - times[i]!));
const second = { timeoutMs: 1000 };

/** Waits for `t` to be known, and that the client is connected to its node and no more to where it began. */
async function settled(stage: Awaited<ReturnType<typeof clusterStage>>) {
  const { cluster, clock, run } = stage;
  await run(cluster.waitForTopic("t", second));
  for (const node of cluster.nodes.values()) await run(node.connect("main"));
  await clock.advance(2000);
  return stage;
}

describe("Cluster: asking for metadata", () => {
  test("scenario 42: new topics are asked for at once and alone, and what was known stays", async () => {
    const { cluster, seen, times, run, clock, close } = await clusterStage({ topics: { a: 1, b: 2, c: 3 } });
    await run(cluster.waitForTopic("a", second));
    const [version] = [cluster.metadata.version];
    await run(Promise.all([cluster.waitForTopic("b", second), cluster.waitForTopic("c", second)]));
    assert.deepEqual([...cluster.metadata.topics.keys()].sort(), ["a", "b", "c"]);
    assert.deepEqual(seen.filter(({ api }) => api === "Metadata").map(({ topics }) => topics), [["a"], ["b", "c"]]);
    assert.equal(clock.now(), 0);
    assert.equal(cluster.metadata.version, version! + 1);
    // One request is all it takes: nothing more comes by itself.
    await clock.advance(100_000);
    assert.equal(times("Metadata").length, 2);
    assert.equal(await close(), 0);
  });

  test("scenario 42: a topic that comes while an answer is under way is asked for when that is there", async () => {
    const { cluster, seen, broker, run, clock, close } = await clusterStage({ topics: { a: 1, b: 1 } });
    broker.script({ api: "Metadata", delayMs: 300 });
    const waiting = [cluster.waitForTopic("a", second)];
    await clock.advance(100);
    waiting.push(cluster.waitForTopic("b", second));
    await run(Promise.all(waiting));
    assert.deepEqual(
      seen.filter(({ api }) => api === "Metadata").map(({ topics, at }) => [topics, at]),
      [[["a"], 0], [["b"], 300]],
    );
    assert.equal(await close(), 0);
  });

  test("scenario 42: what is wanted while a connection is being made is in the request that goes over it", async () => {
    const { cluster, seen, broker, run, clock, network, addresses, close } = await clusterStage({
      topics: { a: 1, b: 1 },
    });
    await run(cluster.waitForTopic("a", second));
    network.cutAll(...addresses[0]!);
    await clock.advance(2000);
    network.cutAll(...addresses[0]!);
    await clock.flush();
    await clock.advance(60);
    seen.length = 0;
    broker.script({ api: "ApiVersions", delayMs: 300 });
    cluster.topic("b");
    await clock.advance(250);
    cluster.requestUpdate();
    await clock.advance(2000);
    assert.deepEqual(seen.filter(({ api }) => api === "Metadata").map(({ topics }) => topics.join()), ["a,b"]);
    assert.equal(await close(), 0);
  });

  test("scenario 42: a bootstrap server that must stand in for the nodes is asked for all that is known", async () => {
    const { cluster, seen, broker, run, clock, close } = await clusterStage({ topics: { a: 1, b: 1 } }, {
      reconnectBackoffMs: 5000,
    });
    // What the broker says of itself leads nowhere.
    broker.script(
      metadataSays((answer) => ({ ...answer, brokers: answer.brokers.map((b) => ({ ...b, host: "nowhere" })) })),
    );
    await run(cluster.waitForTopic("a", second));
    await assert.rejects(run(cluster.nodes.get(1)!.connect("main")), { code: "ENOTFOUND" });
    await clock.advance(2000);
    seen.length = 0;
    await run(cluster.waitForTopic("b", second));
    assert.deepEqual(seen.map(({ api, topics }) => [api, topics.join()]), [["Metadata", "a,b"]]);
    assert.equal(await close(), 0);
  });

  test("scenario 42: answers without news are asked for ever more seldom, until there is news", async () => {
    const stage = await settled(await clusterStage());
    const { cluster, broker, clock, times, close } = stage;
    broker.moveLeader("t", 0, -1);
    const from = times("Metadata").length;
    // Whoever needs a leader asks again and again.
    const ask = async (ms: number) => {
      for (let i = 0; i < ms / 10; i++) {
        if (cluster.leader("t", 0) === undefined) cluster.requestUpdate();
        await clock.advance(10);
      }
    };
    cluster.requestUpdate();
    await clock.advance(0);
    await ask(5000);
    // In steps of 10 ms: the news that there is none, then twice as long each time.
    assert.deepEqual(gaps(times("Metadata").slice(from)), [100, 100, 200, 400, 800, 1000, 1000, 1000]);
    broker.moveLeader("t", 0, 1);
    await ask(3000);
    assert.equal(cluster.leader("t", 0)?.node.id, 1);
    const known = times("Metadata").length;
    await ask(3000);
    assert.equal(times("Metadata").length, known);
    // A topic never asked for need not wait for what others have brought about.
    broker.moveLeader("t", 0, -1);
    cluster.requestUpdate();
    await ask(4000);
    await broker.createTopic("new", 1);
    const start = clock.now();
    await stage.run(cluster.waitForTopic("new", second));
    assert.equal(clock.now(), start);
    assert.equal(await close(), 0);
  });

  test("an update that fails is asked for again by whoever needs it, ever later, and never in a loop", async () => {
    const { cluster, broker, clock, times, run, close } = await clusterStage();
    // A broker that starts knows no brokers yet: a failure, though it answers well.
    broker.script(metadataSays((answer) => ({ ...answer, brokers: [] })));
    const waiting = cluster.waitForTopic("t", { timeoutMs: 6000 });
    await assert.rejects(run(waiting), {
      code: "CONNECTION_FAILED",
      message: /no metadata within 6000 ms; last: .*no brokers yet/,
    });
    assert.deepEqual(gaps(times("Metadata")), [100, 200, 400, 800, 1000, 1000, 1000, 1000]);
    broker.clearScript();
    const start = clock.now();
    await run(cluster.waitForTopic("t", { timeoutMs: 6000 }));
    assert.ok(clock.now() - start <= 1000);
    assert.equal(await close(), 0);
  });

  test("all is asked for again when it is old, and topics nobody uses are left out then", async () => {
    const { cluster, seen, clock, run, close } = await clusterStage({ topics: { a: 1, b: 1 } }, {
      metadataMaxAgeMs: 20_000,
      metadataMaxIdleMs: 30_000,
    });
    await run(Promise.all([cluster.waitForTopic("a", second), cluster.waitForTopic("b", second)]));
    const asked = () => seen.filter(({ api }) => api === "Metadata").map(({ topics, at }) => [topics.join(), at]);
    for (let i = 0; i < 80; i++) {
      await clock.advance(1000);
      cluster.leader("a", 0);
      cluster.refreshIfOld(clock.now());
    }
    await clock.flush();
    assert.deepEqual(asked().slice(1), [["a,b", 20_000], ["a", 40_000], ["a", 60_000], ["a", 80_000]]);
    assert.equal(cluster.metadata.topics.has("b"), false);
    // Used again, it is new again.
    const start = clock.now();
    await run(cluster.waitForTopic("b", second));
    assert.deepEqual(asked().at(-1), ["b", start]);
    assert.equal(await close(), 0);
  });

  test("scenario 42: what is asked for because it is old does not count as asking in vain", async () => {
    const { cluster, times, clock, run, close } = await clusterStage({}, { metadataMaxAgeMs: 300 });
    await run(cluster.waitForTopic("t", second));
    for (let i = 0; i < 300; i++) {
      await clock.advance(10);
      cluster.refreshIfOld(clock.now());
    }
    assert.deepEqual(
      gaps(times("Metadata")),
      Array.from({ length: 10 }, () => 300).slice(0, times("Metadata").length - 1),
    );
    assert.ok(times("Metadata").length >= 10);
    assert.equal(await close(), 0);
  });

  test("scenario 44: more partitions are found by whoever waits for one, and when the metadata is old", async () => {
    const { cluster, broker, clock, run, close } = await clusterStage({}, { metadataMaxAgeMs: 5000 });
    const waiting = cluster.waitForTopic("t", { timeoutMs: 30_000 }, 2);
    await clock.advance(1500);
    await broker.createPartitions("t", 3);
    assert.equal((await run(waiting)).partitions.length, 3);
    assert.ok(clock.now() <= 2600, `${clock.now()}`);
    await broker.createPartitions("t", 4);
    for (let i = 0; i < 6; i++) {
      await clock.advance(1000);
      cluster.refreshIfOld(clock.now());
    }
    await clock.flush();
    assert.equal(cluster.metadata.topics.get("t")!.partitions.length, 4);
    await assert.rejects(run(cluster.waitForTopic("t", second, 4)), {
      code: "METADATA_TIMED_OUT",
      partition: 4,
      message: "topic t: partition 4 is not one of its 4 after 1000 ms",
    });
    assert.equal(await close(), 0);
  });

  test("case 076: a leader is kept while an answer says less than is known, and left when it says more", async () => {
    const stage = await settled(await clusterStage({ nodes: 2 }));
    const { cluster, broker, clock, run, close } = stage;
    const steps: (readonly [leader: number, epoch: number, error: number, expected: number | undefined])[] = [
      [1, 5, 0, 1],
      [-1, -1, 5, undefined],
      [2, 4, 0, undefined],
      [1, 5, 0, 1],
      [2, 4, 0, 1],
      [2, 6, 0, 2],
    ];
    for (const [leaderId, leaderEpoch, errorCode, expected] of steps) {
      broker.clearScript();
      broker.script(metadataSays((answer) => ({
        ...answer,
        topics: answer.topics.map((topic) => ({
          ...topic,
          partitions: topic.partitions.map((partition) => ({ ...partition, leaderId, leaderEpoch, errorCode })),
        })),
      })));
      cluster.requestUpdate();
      await clock.advance(2000);
      assert.equal(cluster.leader("t", 0)?.node.id, expected, `${leaderId} in epoch ${leaderEpoch}`);
    }
    // A topic that is gone has no leader, and who waits for it does so until its time is up.
    broker.clearScript();
    broker.script({ api: "Metadata", topic: "t", error: "UNKNOWN_TOPIC_OR_PARTITION", times: Infinity });
    cluster.requestUpdate();
    await clock.advance(2000);
    assert.equal(cluster.leader("t", 0), undefined);
    await assert.rejects(run(cluster.waitForTopic("t", second)), { code: "UNKNOWN_TOPIC_OR_PARTITION", topic: "t" });
    const back = cluster.waitForTopic("t", { timeoutMs: 10_000 });
    await clock.advance(3000);
    broker.clearScript();
    assert.equal((await run(back)).partitions.length, 1);
    assert.equal(cluster.leader("t", 0)?.node.id, 1);
    assert.equal(await close(), 0);
  });

  test("a topic that was made anew is another one, and its first epoch counts", async () => {
    const stage = await settled(await clusterStage({ nodes: 2 }));
    const { cluster, broker, clock, close } = stage;
    broker.moveLeader("t", 0, 2);
    broker.moveLeader("t", 0, 1);
    cluster.requestUpdate();
    await clock.advance(2000);
    const { id } = cluster.metadata.topics.get("t")!;
    const { epoch } = cluster.leader("t", 0)!;
    await broker.deleteTopic("t");
    await broker.createTopic("t", 1);
    cluster.requestUpdate();
    await clock.advance(2000);
    assert.notEqual(cluster.metadata.topics.get("t")!.id, id);
    assert.ok(cluster.leader("t", 0)!.epoch < epoch);
    assert.equal(await close(), 0);
  });

  test("a leader told in an answer is taken at once if it is newer, also one on a node that was not known", async () => {
    const stage = await settled(await clusterStage({ nodes: 3 }));
    const { cluster, broker, clock, addresses, run, close } = stage;
    const epoch = cluster.leader("t", 0)!.epoch;
    const [host, port] = addresses[2]!;
    const { version } = cluster.metadata;
    assert.equal(cluster.takeLeader("t", 0, 2, epoch), false, "no newer epoch");
    assert.equal(cluster.takeLeader("t", 0, 9, epoch + 1), false, "no such node");
    assert.equal(cluster.takeLeader("t", 7, 2, epoch + 1), false, "no such partition");
    assert.equal(cluster.takeLeader("x", 0, 2, epoch + 1), false, "no such topic");
    assert.equal(cluster.takeLeader("t", 0, -1, epoch + 1), false, "none");
    assert.equal(cluster.metadata.version, version);
    broker.clearScript();
    broker.script(metadataSays((answer) => ({ ...answer, brokers: answer.brokers.slice(0, 2) })));
    cluster.requestUpdate();
    await clock.advance(2000);
    assert.equal(cluster.nodes.has(3), false);
    assert.equal(cluster.takeLeader("t", 0, 3, epoch + 1, { host, port }), true);
    assert.deepEqual(cluster.leader("t", 0)?.node.address, { host, port });
    await run(cluster.leader("t", 0)!.node.connect("main"));
    assert.equal(await close(), 0);
  });
});

describe("Cluster: nodes", () => {
  test("one that left the metadata is not asked any more, what is under way there ends well, and it may come back", async () => {
    const stage = await settled(await clusterStage({ nodes: 2 }));
    const { cluster, broker, clock, seen, run, close } = stage;
    const node = cluster.nodes.get(2)!;
    const connection = node.connection("main")!;
    broker.script(metadataSays((answer) => ({ ...answer, brokers: answer.brokers.slice(0, 1) })));
    broker.script({ api: "ApiVersions", node: 2, delayMs: 900 });
    const underWay = connection.request(apiVersionsApi, { clientSoftwareName: "a", clientSoftwareVersion: "1" });
    cluster.requestUpdate();
    await clock.advance(500);
    assert.deepEqual([...cluster.nodes.keys()], [1]);
    assert.equal((await run(underWay)).errorCode, 0);
    const before = seen.length;
    for (let i = 0; i < 5; i++) {
      cluster.requestUpdate();
      await clock.advance(2000);
    }
    assert.deepEqual(new Set(seen.slice(before).map((request) => request.node)), new Set([1]));
    broker.clearScript();
    cluster.requestUpdate();
    await clock.advance(2000);
    assert.equal(cluster.nodes.get(2), node);
    assert.equal(node.connection("main"), connection);
    assert.equal(await close(), 0);
  });

  test("one that listens elsewhere is found there, and what is under way on its connection is not lost", async () => {
    const stage = await settled(await clusterStage());
    const { cluster, broker, clock, names, addresses, attempts, run, close } = stage;
    const connection = cluster.nodes.get(1)!.connection("main")!;
    names.set("moved", addresses[0]!);
    broker.script(
      metadataSays((answer) => ({ ...answer, brokers: answer.brokers.map((b) => ({ ...b, host: "moved", port: 1 })) })),
      { api: "ApiVersions", delayMs: 900 },
    );
    const underWay = connection.request(apiVersionsApi, { clientSoftwareName: "a", clientSoftwareVersion: "1" });
    await clock.advance(10);
    cluster.requestUpdate();
    await clock.advance(950);
    assert.equal((await run(underWay)).errorCode, 0);
    await clock.advance(1000);
    assert.deepEqual(cluster.nodes.get(1)!.address, { host: "moved", port: 1 });
    assert.equal(connection.ended, undefined);
    stage.network.cutAll(...addresses[0]!);
    await clock.flush();
    await run(cluster.nodes.get(1)!.connect("main"));
    assert.equal(attempts.at(-1)!.to, "moved:1");
    assert.equal(await close(), 0);
  });

  test("scenario 41: a throttled node holds nobody up who can ask another one", async () => {
    const stage = await settled(await clusterStage({ nodes: 2 }));
    const { cluster, broker, clock, run, times, close } = stage;
    broker.script({ api: "Metadata", throttleMs: 5000 });
    cluster.requestUpdate();
    await clock.advance(500);
    const throttled = [...cluster.nodes.values()].filter((node) =>
      node.connection("main")!.throttledUntil > clock.now()
    );
    assert.equal(throttled.length, 1);
    const start = clock.now();
    for (let i = 0; i < 3; i++) {
      const before = times("Metadata").length;
      await run(cluster.request(metadataApi, { topics: [] }, second));
      assert.equal(times("Metadata").length, before + 1);
    }
    assert.equal(clock.now(), start);
    // The node itself is left alone until its time is over.
    await run(throttled[0]!.connection("main")!.request(metadataApi, { topics: [] }));
    assert.ok(clock.now() >= start + 4500);
    assert.equal(await close(), 0);
  });

  test("a call ends with its time, however long the nodes are silent, and with its signal", async () => {
    const { cluster, clock, run, reach, close } = await clusterStage();
    reach("silent");
    await assert.rejects(run(cluster.request(metadataApi, { topics: [] }, { timeoutMs: 3000 })), {
      name: "TimeoutError",
      message: /no connection within 3000 ms/,
    });
    assert.equal(clock.now(), 3000);
    const controller = new AbortController();
    const call = cluster.request(metadataApi, { topics: [] }, { timeoutMs: 3000, signal: controller.signal });
    call.catch(() => {});
    await clock.advance(500);
    const timers = clock.pendingTimers;
    controller.abort();
    await assert.rejects(call, { name: "AbortedError" });
    await clock.flush();
    assert.equal(clock.pendingTimers, timers - 1, "the time of the call is not waited for any more");
    assert.equal(await close(), 0);
  });

  test("closed, it leaves no timer and no connection behind, also while it backs off", async () => {
    const { cluster, broker, clock, network, addresses, run, close } = await clusterStage();
    await run(cluster.waitForTopic("t", second));
    broker.script({ api: "InitProducerId", error: "COORDINATOR_LOAD_IN_PROGRESS", times: Infinity });
    const body = { transactionalId: null, transactionTimeoutMs: 1000, producerId: -1, producerEpoch: -1 };
    const asked = cluster.request(initProducerIdApi, body, {
      timeoutMs: 60_000,
      check: ({ errorCode }) => {
        if (errorCode !== 0) throw Object.assign(new Error("busy"), { retriable: true });
      },
    }).then(() => "answered", () => "ended");
    broker.moveLeader("t", 0, -1);
    cluster.requestUpdate();
    cluster.requestUpdate();
    await clock.advance(10);
    cluster.close();
    assert.equal(await run(asked), "ended");
    await clock.flush();
    assert.equal(clock.pendingTimers, 0);
    assert.equal(network.connections(...addresses[0]!).length, 0);
    await assert.rejects(run(cluster.waitForTopic("other", second)), { name: "ClosedError" });
    assert.equal(await close(), 0);
  });
});

describe("case 077: no broker can be reached", () => {
  /** The attempts to each address, none of them sooner after the one before than its back-off. */
  function assertNoLoop(attempts: readonly { to: string; at: number }[], forMs: number) {
    const byAddress = new Map<string, number[]>();
    for (const { to, at } of attempts) byAddress.set(to, [...byAddress.get(to) ?? [], at]);
    for (const [to, times] of byAddress) {
      const waits = gaps(times);
      // The back-off doubles from 50 ms to 1 s.
      waits.forEach((wait, i) => assert.ok(wait >= Math.min(1000, 50 * 2 ** i), `${to}: ${waits}`));
      assert.ok(times.length <= forMs / 1000 + 5, `${to}: ${times.length}`);
      assert.ok(times.length >= forMs / 1000 / 2.5, `${to}: ${times.length}, it must not give up`);
    }
    return byAddress.size;
  }

  for (const how of ["refuse", "silent"] as const) {
    test(`bootstrap servers that ${how === "refuse" ? "refuse" : "are silent"}`, async () => {
      const stage = await clusterStage({ nodes: 3 }, {
        bootstrapServers: "one:1,two:2,three:3",
        socketConnectionSetupTimeoutMs: 500,
        socketConnectionSetupTimeoutMaxMs: 500,
      });
      const { cluster, names, addresses, attempts, clock, reach, run, close } = stage;
      ["one", "two", "three"].forEach((name, i) => names.set(name, addresses[i]!));
      reach(how);
      const waiting = cluster.waitForTopic("t", { timeoutMs: 100_000 });
      const call = cluster.request(metadataApi, { topics: [] }, { timeoutMs: 100_000 });
      await clock.advance(60_000);
      assert.equal(assertNoLoop(attempts, 60_000), 3);
      const before = clock.now();
      reach("open");
      await run(Promise.all([waiting, call]));
      assert.ok(clock.now() - before <= 2000, `${clock.now() - before}`);
      assert.equal(await close(), 0);
    });
  }

  test("nodes that are known, and the bootstrap server", async () => {
    const stage = await settled(await clusterStage({ nodes: 3 }));
    const { cluster, attempts, clock, reach, run, close } = stage;
    attempts.length = 0;
    reach("refuse");
    // Everyone who needs a leader asks for an update each time something has failed.
    let asked = 0;
    cluster.onUpdate = () => {
      if (asked++ < 10_000) cluster.requestUpdate();
    };
    cluster.requestUpdate();
    await clock.advance(60_000);
    assert.ok(asked <= 90, `${asked} updates failed within a minute`);
    assert.equal(assertNoLoop(attempts, 60_000), 4);
    reach("open");
    cluster.onUpdate = () => {};
    const before = clock.now();
    await run(cluster.request(metadataApi, { topics: [] }, { timeoutMs: 10_000 }));
    assert.ok(clock.now() - before <= 2000);
    assert.equal(await close(), 0);
  });
});

/**
 * A client that knows node 1 of a cluster which then is of no use, while the name it began with leads to another cluster,
 * where `t` has three partitions.
 */
async function moved(client: Parameters<typeof clusterStage>[1] = {}) {
  const stage = await settled(await clusterStage({}, client));
  const { network, clock, names } = stage;
  const fresh: EmbeddedBroker = await startBroker(network, clock, { topics: { t: 3 }, random: seededRandom(6) });
  names.set("start", addressesOf(fresh)[0]!);
  const asked = watch(fresh, clock);
  return {
    ...stage,
    asked,
    askedAt: () => asked.find(({ api }) => api === "Metadata")?.at,
    async close() {
      const timers = await stage.close();
      await fresh.close();
      return timers;
    },
  };
}

describe("scenario 42: beginning anew at the bootstrap servers", () => {
  test("when no node can be connected to; the name is looked up anew", async () => {
    const { cluster, clock, reach, run, asked, close } = await moved();
    reach("refuse");
    const start = clock.now();
    assert.equal((await run(cluster.waitForTopic("t", { timeoutMs: 10_000 }, 2))).partitions.length, 3);
    assert.ok(clock.now() - start <= 1000, `${clock.now() - start}`);
    assert.ok(asked.some(({ api }) => api === "Metadata"));
    // All that was known is replaced: the epochs of the old cluster do not count in the new one.
    assert.ok(cluster.leader("t", 0) !== undefined);
    assert.equal(await close(), 0);
  });

  test('with the strategy "none" not, once nodes are known', async () => {
    const { cluster, clock, reach, run, asked, close } = await moved({ metadataRecoveryStrategy: "none" });
    reach("refuse");
    await assert.rejects(run(cluster.waitForTopic("t", { timeoutMs: 400_000 }, 2)), { name: "TimeoutError" });
    assert.deepEqual(asked, []);
    reach("open");
    const start = clock.now();
    await run(cluster.request(metadataApi, { topics: [] }, { timeoutMs: 10_000 }));
    assert.ok(clock.now() - start <= 2000);
    assert.equal(await close(), 0);
  });

  for (const metadataRecoveryStrategy of ["rebootstrap", "none"] as const) {
    test(`nodes that take connections and answer nothing are left after the trigger time (${metadataRecoveryStrategy})`, async () => {
      const { cluster, broker, clock, seen, run, asked, askedAt, close } = await moved({
        metadataRecoveryStrategy,
        metadataRecoveryRebootstrapTriggerMs: 20_000,
      });
      broker.script({ api: "Metadata", silence: true, times: Infinity });
      const old = cluster.nodes.get(1)!;
      const start = clock.now();
      const waiting = cluster.waitForTopic("t", { timeoutMs: 60_000 }, 2);
      waiting.catch(() => {});
      await clock.advance(19_000);
      assert.deepEqual(asked, [], "too early");
      const tries = seen.filter(({ api, at }) => api === "Metadata" && at >= start).length;
      assert.ok(tries > 5 && tries < 20, `${tries}`);
      await clock.advance(3000);
      if (metadataRecoveryStrategy === "none") {
        assert.deepEqual(asked, []);
        await assert.rejects(run(waiting), { name: "TimeoutError" });
      } else {
        assert.equal((await run(waiting)).partitions.length, 3);
        const at = askedAt();
        assert.ok(at !== undefined && at - start <= 21_000, `${at}`);
        assert.equal(old.connection("main"), undefined, "every connection is closed");
      }
      assert.equal(await close(), 0);
    });
  }

  test("the trigger time ends a request, too, that would wait longer for its answer", async () => {
    const { cluster, broker, clock, run, asked, close } = await moved({
      requestTimeoutMs: 60_000,
      metadataRecoveryRebootstrapTriggerMs: 5000,
    });
    broker.script({ api: "Metadata", silence: true, times: Infinity });
    const start = clock.now();
    await run(cluster.waitForTopic("t", { timeoutMs: 60_000 }, 2));
    assert.ok(clock.now() - start >= 5000 && clock.now() - start <= 6000, `${clock.now() - start}`);
    assert.ok(asked.length > 0);
    assert.equal(await close(), 0);
  });

  test("the trigger time begins anew with each success, and does not run while nobody asks", async () => {
    const { cluster, broker, clock, run, asked, close } = await moved({ metadataRecoveryRebootstrapTriggerMs: 10_000 });
    for (let i = 0; i < 3; i++) {
      broker.script({ api: "Metadata", silence: true, times: Infinity });
      cluster.requestUpdate();
      await clock.advance(8000);
      broker.clearScript();
      await clock.advance(4000);
    }
    assert.deepEqual(asked, []);
    broker.script(metadataSays((answer) => ({ ...answer, brokers: [] })));
    await assert.rejects(run(cluster.waitForTopic("t", { timeoutMs: 500 }, 7)), { message: /no brokers yet/ });
    await clock.advance(60_000);
    broker.clearScript();
    cluster.requestUpdate();
    await clock.advance(4000);
    assert.deepEqual(asked, []);
    assert.equal(await close(), 0);
  });

  test("error 129 leaves the nodes at once, and no waiter sees it", async () => {
    const { cluster, broker, clock, run, asked, close } = await moved();
    broker.script(metadataSays((answer) => ({ ...answer, errorCode: 129 })));
    const old = cluster.nodes.get(1)!;
    const start = clock.now();
    assert.equal((await run(cluster.waitForTopic("t", { timeoutMs: 5000 }, 2))).partitions.length, 3);
    assert.ok(clock.now() - start < 1000, `${clock.now() - start}`);
    assert.ok(asked.length > 0);
    assert.equal(old.connection("main"), undefined);
    assert.equal(await close(), 0);
  });

  test("error 129 from the bootstrap servers themselves is no loop", async () => {
    const { cluster, broker, run, times, attempts, close } = await clusterStage();
    broker.script(metadataSays((answer) => ({ ...answer, errorCode: 129 })));
    await assert.rejects(run(cluster.waitForTopic("t", { timeoutMs: 10_000 })), { code: "REBOOTSTRAP_REQUIRED" });
    assert.deepEqual(gaps(times("Metadata")).slice(0, 4), [100, 200, 400, 800]);
    assert.ok(times("Metadata").length <= 15);
    // Each time the name is looked up anew.
    assert.ok(attempts.length >= times("Metadata").length);
    assert.equal(await close(), 0);
  });
});
