import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Admin } from "../../src/admin/admin.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import { AbortedError, BrokerError, ClosedError, ConfigError, TimeoutError } from "../../src/core/kafka_error.ts";
import { FakeCluster } from "../helpers/fake_cluster.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

function stage(
  nodes?: number[],
  client?: Partial<ClientOptions>,
): { clock: ManualClock; cluster: FakeCluster; admin: Admin } {
  const clock = new ManualClock();
  const cluster = new FakeCluster(clock, nodes);
  return { clock, cluster, admin: new Admin(cluster.context(client)) };
}

describe("Admin: topics", () => {
  test("topics are created, listed, described with their configuration, and deleted", async () => {
    const { clock, cluster, admin } = stage([1, 2]);
    await clock.runUntil(admin.createTopics([
      { topic: "b", partitions: 3, replicationFactor: 1, configs: { "retention.ms": 60_000 } },
      { topic: "a", assignments: [[2], [1]] },
    ]));
    const { id } = cluster.topics.get("b")!;
    assert.deepEqual(await clock.runUntil(admin.listTopics()), [
      { name: "a", id: cluster.topics.get("a")!.id, isInternal: false, partitionCount: 2 },
      { name: "b", id, isInternal: false, partitionCount: 3 },
    ]);
    const [b, a] = await clock.runUntil(admin.describeTopics(["b", "a"], { configs: true }));
    assert.equal(b!.id, id);
    assert.deepEqual(b!.partitions[1], {
      partition: 1,
      leader: 2,
      leaderEpoch: 0,
      replicas: [2],
      isr: [2],
      offlineReplicas: [],
    });
    const flags = { isReadOnly: false, isSensitive: false };
    assert.deepEqual(b!.configs, [
      { name: "cleanup.policy", value: "delete", isDefault: true, ...flags },
      { name: "retention.ms", value: "60000", isDefault: false, ...flags },
    ]);
    assert.deepEqual(a!.partitions.map(({ leader }) => leader), [2, 1]);
    await clock.runUntil(admin.deleteTopics(["b"]));
    assert.deepEqual([...cluster.topics.keys()], ["a"]);
    await admin.close();
    assert.equal(clock.pendingTimers, 0);
  });

  test("a topic that exists, or does not, is an error that names it and says what the broker said", async () => {
    const { clock, cluster, admin } = stage();
    cluster.addTopic("t");
    await assert.rejects(clock.runUntil(admin.createTopics([{ topic: "t" }])), (error) => {
      assert.ok(error instanceof BrokerError);
      assert.deepEqual([error.code, error.errorCode, error.topic], ["TOPIC_ALREADY_EXISTS", 36, "t"]);
      assert.match(error.message, /create topic t: .*Topic 't' already exists/);
      return true;
    });
    for (const call of [() => admin.deleteTopics(["no"]), () => admin.describeTopics(["t", "no"])]) {
      await assert.rejects(clock.runUntil<unknown>(call()), { code: "UNKNOWN_TOPIC_OR_PARTITION", topic: "no" });
    }
    await admin.close();
  });

  test("createTopics waits until every partition has a leader, unless told not to", async () => {
    const { clock, cluster, admin } = stage();
    let leaderless = 3;
    cluster.after = ({ api }, answer) => {
      if (api !== "Metadata") return answer;
      const topics = (answer as { topics: { partitions?: { leaderId: number }[] }[] }).topics;
      if (topics.length > 0 && leaderless-- > 0) topics[0]!.partitions![0]!.leaderId = -1;
      return answer;
    };
    await clock.runUntil(admin.createTopics([{ topic: "t" }]));
    assert.equal(leaderless, -1);
    const before = cluster.countOf("Metadata");
    await clock.runUntil(admin.createTopics([{ topic: "u" }], { waitUntilReady: false }));
    await clock.runUntil(admin.createTopics([{ topic: "v" }], { validateOnly: true }));
    assert.equal(cluster.countOf("Metadata"), before);
    assert.equal(cluster.topics.has("v"), false);
    await admin.close();
  });

  test("a broker that is not the controller sends us to the one that is", async () => {
    const { clock, cluster, admin } = stage([1, 2]);
    cluster.controller = 2;
    await clock.runUntil(admin.createTopics([{ topic: "t" }]));
    assert.ok(cluster.topics.has("t"));
    assert.equal(cluster.calls.filter(({ api }) => api === "CreateTopics").at(-1)!.node, 2);
    await admin.close();
    assert.equal(clock.pendingTimers, 0);
  });

  test("arguments that make no sense are refused before anything is sent", async () => {
    const { cluster, admin } = stage();
    const wrong = [
      () => admin.createTopics([{ topic: "" }]),
      () => admin.createTopics([{ topic: "t", partitions: 0 }]),
      () => admin.createTopics([{ topic: "t", partitions: 1, assignments: [[1]] }]),
      () => admin.createTopics([{ topic: "t" }], { timeoutMs: -1 }),
      () => admin.listOffsets("t", { timestamp: 0.5 }),
    ];
    for (const call of wrong) await assert.rejects(call, ConfigError);
    assert.equal(cluster.calls.length, 0);
    await admin.close();
  });
});

describe("Admin: offsets and brokers", () => {
  test("offsets are asked of each leader, by every way to name them", async () => {
    const { clock, cluster, admin } = stage([1, 2]);
    const { partitions } = cluster.addTopic("t", 2);
    cluster.produce(partitions[0]!, ["a", "b", "c"], { timestamp: 100 });
    partitions[1]!.logStart = 7;
    cluster.produce(partitions[1]!, ["d"], { timestamp: 500 });
    const offsets = async (...args: Parameters<Admin["listOffsets"]>) =>
      (await clock.runUntil(admin.listOffsets(...args))).map(({ partition, offset }) => [partition, offset]);
    assert.deepEqual(await offsets("t", "earliest"), [[0, 0], [1, 7]]);
    assert.deepEqual(await offsets("t", "latest"), [[0, 3], [1, 8]]);
    assert.deepEqual(await offsets("t", "latest", { partitions: [1] }), [[1, 8]]);
    assert.deepEqual(await offsets("t", { timestamp: 101 }), [[0, 1], [1, 7]]);
    assert.deepEqual(await offsets("t", { timestamp: 400 }), [[0, -1], [1, 7]]);
    assert.deepEqual(await offsets("t", "maxTimestamp"), [[0, 2], [1, 7]]);
    partitions[0]!.lastStableOffset = 1;
    assert.deepEqual(await offsets("t", "latest", { isolationLevel: "read_committed" }), [[0, 1], [1, 8]]);
    await admin.close();
  });

  test("a leader that moved is asked after metadata is fresh", async () => {
    const { clock, cluster, admin } = stage([1, 2]);
    const partition = cluster.addTopic("t").partitions[0]!;
    await clock.runUntil(admin.listOffsets("t", "latest"));
    partition.leader = 2;
    partition.epoch = 1;
    cluster.produce(partition, ["a"]);
    const [offset] = await clock.runUntil(admin.listOffsets("t", "latest"));
    assert.equal(offset!.offset, 1);
    await admin.close();
  });

  test("brokers are listed with the controller marked", async () => {
    const { clock, cluster, admin } = stage([3, 1]);
    cluster.controller = 3;
    assert.deepEqual(await clock.runUntil(admin.brokers()), [
      { id: 1, host: "127.0.0.1", port: 9092, rack: null, isController: false },
      { id: 3, host: "127.0.0.3", port: 9092, rack: null, isController: true },
    ]);
    await admin.close();
  });
});

describe("Admin: how calls end", () => {
  test("a broker that does not answer is a TimeoutError when the call's time is over", async () => {
    const { clock, cluster, admin } = stage([1], { requestTimeoutMs: 2000 });
    cluster.before = ({ api }) => api === "Metadata" ? "silent" : undefined;
    await assert.rejects(clock.runUntil(admin.listTopics({ timeoutMs: 5000 })), TimeoutError);
    assert.ok(clock.now() <= 7000, `${clock.now()} ms`);
    await admin.close();
    assert.equal(clock.pendingTimers, 0);
  });

  test("a lost connection is made again", async () => {
    const { clock, cluster, admin } = stage();
    cluster.addTopic("t");
    let times = 0;
    cluster.before = ({ api }) => api === "Metadata" && times++ < 2 ? "hang-up" : undefined;
    assert.equal((await clock.runUntil(admin.listTopics())).length, 1);
    assert.equal(times, 3);
    await admin.close();
  });

  test("close() and a signal end what is under way", async () => {
    const { clock, cluster, admin } = stage();
    cluster.before = ({ api }) => api === "Metadata" ? "silent" : undefined;
    const controller = new AbortController();
    const aborted = assert.rejects(admin.listOffsets("t", "latest", { signal: controller.signal }), AbortedError);
    await clock.advance(100);
    controller.abort();
    await clock.runUntil(aborted);
    const closed = assert.rejects(admin.listTopics(), ClosedError);
    await clock.advance(100);
    await admin.close();
    await clock.runUntil(closed);
    assert.equal(clock.pendingTimers, 0);
  });
});
