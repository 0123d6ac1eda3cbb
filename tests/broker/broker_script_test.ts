import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { describeClusterApi } from "../../src/protocol/describe_cluster.ts";
import { fetchApi } from "../../src/protocol/fetch.ts";
import { initProducerIdApi } from "../../src/protocol/init_producer_id.ts";
import { listOffsetsApi } from "../../src/protocol/list_offsets.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import { produceApi } from "../../src/protocol/produce.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { batchOf } from "../log/batch_of.ts";
import { fetch, produce, valuesIn, withBroker } from "./broker_stage.ts";
import { RawClient } from "./raw_client.ts";

// Kafka's numbers, from its documentation.
const UNKNOWN_TOPIC_OR_PARTITION = 3;
const LEADER_NOT_AVAILABLE = 5;
const NOT_LEADER_OR_FOLLOWER = 6;
const REQUEST_TIMED_OUT = 7;
const NOT_ENOUGH_REPLICAS = 19;
const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20;
const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;
const COORDINATOR_LOAD_IN_PROGRESS = 14;

describe("broker script", () => {
  test("an error before the append leaves the record out, one after it leaves it in; the rest goes well", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      broker.script(
        { api: "Produce", nth: 2, error: "NOT_ENOUGH_REPLICAS" },
        { api: "Produce", nth: 3, times: 2, when: "after", error: "NOT_ENOUGH_REPLICAS_AFTER_APPEND" },
      );
      const codes: number[] = [];
      for (const value of ["a", "b", "c", "d", "e"]) {
        codes.push((await produce(client, "t", batchOf([value]))).errorCode);
      }
      const after = NOT_ENOUGH_REPLICAS_AFTER_APPEND;
      assert.deepEqual(codes, [0, NOT_ENOUGH_REPLICAS, after, after, 0]);
      assert.deepEqual(valuesIn((await fetch(client, "t", 0)).records), ["a", "c", "d", "e"]);
    });
  });

  test("an error for one partition leaves the others of the request alone", async () => {
    await withBroker({ topics: { t: 3 } }, async ({ broker, client }) => {
      broker.script({ api: "Produce", topic: "t", partition: 1, error: "REQUEST_TIMED_OUT" });
      const send = async () => {
        const partitionData = [0, 1, 2].map((index) => ({ index, records: batchOf(["x"]) }));
        const request = { acks: -1, timeoutMs: 1000, topicData: [{ name: "t", partitionData }] };
        const { responses } = await client.call(produceApi, request, 9);
        return responses[0]!.partitionResponses.map(({ errorCode }) => errorCode);
      };
      assert.deepEqual(await send(), [0, REQUEST_TIMED_OUT, 0]);
      assert.deepEqual(await send(), [0, 0, 0]);
    });
  });

  for (const when of ["before", "after"] as const) {
    test(`a connection that ends ${when} the append`, async () => {
      await withBroker({ topics: { t: 1 } }, async ({ broker, client, connect }) => {
        broker.script({ api: "Produce", when, disconnect: true });
        await assert.rejects(produce(client, "t", batchOf(["a"])), /closed the connection/);
        const second = await connect();
        const stored = valuesIn((await fetch(second, "t", 0)).records);
        assert.deepEqual(stored, when === "before" ? [] : ["a"]);
      });
    });
  }

  test("every cut of an answer arrives as that many bytes", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, connect }) => {
      for (const cutAt of [0, 1, 3, 4, 5, 20]) {
        broker.script({ api: "Produce", cutAt });
        const client = await connect();
        await client.post(produceApi, { acks: -1, timeoutMs: 1000, topicData: [] }, 9);
        const got = new Uint8Array(100);
        let size = 0;
        for (let n = -1; n !== 0; size += n) n = await client.transport.read(got.subarray(size));
        // 4 of length, 4 of correlation id, 1 of header tags, 1 of topics, 4 of throttle time, 1 of tags: the whole is 15.
        assert.equal(size, Math.min(cutAt, 15));
      }
    });
  });

  test("a corrupted answer differs in the byte that was named", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      broker.script({ api: "Metadata", corrupt: { at: 7, xor: 0xff } });
      await assert.rejects(client.call(metadataApi, { topics: [] }), /answer to 254 where 1 was due/);
      broker.script({ api: "Metadata", corrupt: (frame) => frame.fill(0xff, 0, 4) });
      await assert.rejects(client.call(metadataApi, { topics: [] }), /-1|length|size/);
    });
  });

  test("a silent connection answers and stores nothing more, and stays open; others go on", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client, connect }) => {
      broker.script({ api: "Produce", when: "after", silence: true });
      const request = (value: string) => {
        const partitionData = [{ index: 0, records: batchOf([value]) }];
        return { acks: -1, timeoutMs: 1000, topicData: [{ name: "t", partitionData }] };
      };
      await client.post(produceApi, request("a"), 9);
      await client.post(produceApi, request("b"), 9);
      const other = await connect();
      assert.equal((await produce(other, "t", batchOf(["c"]))).errorCode, 0);
      assert.deepEqual(valuesIn((await fetch(other, "t", 0)).records), ["a", "c"]);
      await client.post(produceApi, request("d"), 9); // which would fail on a closed connection
    });
  });

  for (const when of ["before", "after"] as const) {
    test(`a delay ${when} the append, on the broker's clock`, async () => {
      const clock = new ManualClock();
      await withBroker({ topics: { t: 1 }, clock }, async ({ broker, client, connect }) => {
        broker.script({ api: "Produce", when, delayMs: 500 });
        let answered = false;
        const slow = produce(client, "t", batchOf(["a"])).then(() => answered = true);
        await clock.advance(499);
        const other = await connect();
        const stored = valuesIn((await fetch(other, "t", 0)).records);
        assert.deepEqual([stored, answered], [when === "before" ? [] : ["a"], false]);
        await clock.advance(1);
        assert.equal(await slow, true);
        assert.deepEqual(valuesIn((await fetch(other, "t", 0)).records), ["a"]);
      });
    });
  }

  test("the client is told to hold back", async () => {
    await withBroker({}, async ({ broker, client }) => {
      broker.script({ api: "Metadata", throttleMs: 1234 });
      assert.equal((await client.call(metadataApi, { topics: [] })).throttleTimeMs, 1234);
      assert.equal((await client.call(metadataApi, { topics: [] })).throttleTimeMs, 0);
    });
  });

  test("requests that answer with one error for all, or one for each topic", async () => {
    await withBroker({ topics: { t: 1, u: 1 } }, async ({ broker, client }) => {
      broker.script(
        { api: "InitProducerId", error: "COORDINATOR_LOAD_IN_PROGRESS" },
        { api: "Metadata", topic: "t", error: "LEADER_NOT_AVAILABLE" },
        { api: "Fetch", topic: "t", error: "NOT_LEADER_OR_FOLLOWER" },
        { api: "ListOffsets", topic: "t", error: "UNKNOWN_TOPIC_OR_PARTITION" },
      );
      const ask = { transactionalId: null, transactionTimeoutMs: 0 };
      const refused = await client.call(initProducerIdApi, ask, 4);
      assert.deepEqual([refused.errorCode, refused.producerId], [COORDINATOR_LOAD_IN_PROGRESS, -1]);
      assert.equal((await client.call(initProducerIdApi, ask, 4)).errorCode, 0);
      const { topics } = await client.call(metadataApi, { topics: [{ name: "t" }, { name: "u" }] });
      assert.deepEqual(topics.map(({ errorCode }) => errorCode), [LEADER_NOT_AVAILABLE, 0]);
      assert.equal((await fetch(client, "t", 0)).errorCode, NOT_LEADER_OR_FOLLOWER);
      const offsets = await client.call(listOffsetsApi, {
        topics: ["t", "u"].map((name) => ({ name, partitions: [{ partitionIndex: 0, timestamp: -1 }] })),
      });
      assert.deepEqual(
        offsets.topics.map(({ partitions }) => partitions[0]!.errorCode),
        [UNKNOWN_TOPIC_OR_PARTITION, 0],
      );
    });
  });

  test("a condition sees the request; what was scripted can be forgotten", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      const seen: unknown[] = [];
      broker.script({
        api: "Produce",
        times: Infinity,
        error: "NOT_ENOUGH_REPLICAS",
        if: ({ api, clientId, node, places, version }) => {
          seen.push({ api, clientId, node, places: [...places], version });
          return true;
        },
      });
      for (let i = 0; i < 3; i++) {
        assert.equal((await produce(client, "t", batchOf(["x"]))).errorCode, NOT_ENOUGH_REPLICAS);
      }
      const one = { api: "Produce", clientId: "raw", node: 1, places: [{ topic: "t", partition: 0 }], version: 9 };
      assert.deepEqual(seen, [one, one, one]);
      broker.clearScript();
      assert.equal((await produce(client, "t", batchOf(["x"]))).errorCode, 0);
    });
  });
});

describe("embedded broker with several nodes", () => {
  test("nodes lead partitions in turn, and a move is told to who asks the old leader", async () => {
    const network = new MemoryNetwork();
    const broker = await EmbeddedBroker.start({ listen: network.listen, nodes: 3, topics: { t: 4 } });
    const ports = broker.bootstrapServers.split(",").map((address) => Number(address.split(":")[1]));
    const clients: RawClient[] = [];
    for (const port of ports) clients.push(new RawClient(await network.connect("127.0.0.1", port)));
    const [first, second, third] = clients as [RawClient, RawClient, RawClient];
    const leaders = async () => {
      const { brokers, topics } = await first.call(metadataApi, { topics: [{ name: "t" }] });
      assert.deepEqual(brokers.map(({ port }) => port), ports);
      return topics[0]!.partitions.map(({ leaderEpoch, leaderId }) => [leaderId, leaderEpoch]);
    };
    assert.deepEqual(await leaders(), [[1, 0], [2, 0], [3, 0], [1, 0]]);
    assert.equal((await produce(first, "t", batchOf(["a"]))).errorCode, 0);

    broker.moveLeader("t", 0, 3);
    assert.deepEqual(await leaders(), [[3, 1], [2, 0], [3, 0], [1, 0]]);
    const partitionData = [{ index: 0, records: batchOf(["b"]) }];
    const request = { acks: -1, timeoutMs: 1000, topicData: [{ name: "t", partitionData }] };
    const hinted = await second.call(produceApi, request, 12);
    const refused = hinted.responses[0]!.partitionResponses[0]!;
    assert.deepEqual([refused.errorCode, refused.currentLeader], [
      NOT_LEADER_OR_FOLLOWER,
      { leaderId: 3, leaderEpoch: 1 },
    ]);
    assert.deepEqual(hinted.nodeEndpoints.map(({ nodeId, port }) => [nodeId, port]), [[3, ports[2]]]);
    assert.equal((await produce(third, "t", batchOf(["b"]))).errorCode, 0);
    assert.equal((await fetch(first, "t", 0)).errorCode, NOT_LEADER_OR_FOLLOWER);
    assert.deepEqual(valuesIn((await fetch(third, "t", 0)).records), ["a", "b"]);

    const epochs: number[] = [];
    for (const currentLeaderEpoch of [0, 1, 2]) {
      const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000, currentLeaderEpoch }];
      const { responses } = await third.call(fetchApi, { maxBytes: 1000, topics: [{ topic: "t", partitions }] }, 12);
      epochs.push(responses[0]!.partitions[0]!.errorCode);
    }
    assert.deepEqual(epochs, [FENCED_LEADER_EPOCH, 0, UNKNOWN_LEADER_EPOCH]);
    for (const { transport } of clients) transport.close();
    await broker.close();
  });

  test("what a stopped node led goes to the others; the last one's goes to none, until it is back at its port", async () => {
    const network = new MemoryNetwork();
    const broker = await EmbeddedBroker.start({ listen: network.listen, nodes: 2, topics: { t: 2 } });
    const [, port] = broker.bootstrapServers.split(",").map((address) => Number(address.split(":")[1]));
    const client = new RawClient(await network.connect("127.0.0.1", broker.port));
    await broker.stopNode(1);
    await client.closed();
    assert.deepEqual([broker.leaderOf("t", 0), broker.leaderOf("t", 1)], [2, 2]);
    await assert.rejects(network.connect("127.0.0.1", broker.port), { code: "ECONNREFUSED" });
    await broker.stopNode(2);
    assert.deepEqual([broker.leaderOf("t", 0), broker.leaderOf("t", 1)], [-1, -1]);
    assert.equal(broker.bootstrapServers, "");
    await broker.startNode(2);
    const back = new RawClient(await network.connect("127.0.0.1", port!));
    const cluster = await back.call(describeClusterApi, {});
    assert.deepEqual(cluster.brokers.map(({ brokerId }) => brokerId), [2]);
    assert.deepEqual([broker.leaderOf("t", 0), broker.leaderOf("t", 1)], [2, 2]);
    broker.moveLeader("t", 1, -1);
    const { topics } = await back.call(metadataApi, { topics: [{ name: "t" }] });
    assert.deepEqual(topics[0]!.partitions.map(({ errorCode }) => errorCode), [0, LEADER_NOT_AVAILABLE]);
    assert.throws(() => broker.moveLeader("t", 0, 9), RangeError);
    back.transport.close();
    await broker.close();
  });

  test("a topic can grow and go, with its records kept", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      await produce(client, "t", batchOf(["a"]));
      await broker.createPartitions("t", 3);
      assert.equal((await produce(client, "t", batchOf(["b"]), { partition: 2 })).errorCode, 0);
      assert.deepEqual(valuesIn((await fetch(client, "t", 0)).records), ["a"]);
      await assert.rejects(broker.createPartitions("t", 3), { code: "INVALID_PARTITIONS" });
      await assert.rejects(broker.createPartitions("none", 3), { code: "UNKNOWN_TOPIC_OR_PARTITION" });
      await broker.deleteTopic("t");
      assert.deepEqual(broker.topics, []);
    });
  });
});
