import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { ClientApi, Input } from "../../src/protocol/api.ts";
import { apiVersionsApi } from "../../src/protocol/api_versions.ts";
import { createTopicsApi } from "../../src/protocol/create_topics.ts";
import { deleteTopicsApi } from "../../src/protocol/delete_topics.ts";
import { describeClusterApi } from "../../src/protocol/describe_cluster.ts";
import { describeConfigsApi } from "../../src/protocol/describe_configs.ts";
import { fetchApi } from "../../src/protocol/fetch.ts";
import { initProducerIdApi } from "../../src/protocol/init_producer_id.ts";
import { listOffsetsApi } from "../../src/protocol/list_offsets.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import { produceApi } from "../../src/protocol/produce.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { batchOf, valuesOf } from "../log/batch_of.ts";
import { fetch, produce, valuesIn, withBroker } from "./broker_stage.ts";

// Kafka's numbers, from its documentation.
const OFFSET_OUT_OF_RANGE = 1;
const CORRUPT_MESSAGE = 2;
const UNKNOWN_TOPIC_OR_PARTITION = 3;
const MESSAGE_TOO_LARGE = 10;
const INVALID_TOPIC = 17;
const INVALID_REQUIRED_ACKS = 21;
const UNSUPPORTED_VERSION = 35;
const TOPIC_ALREADY_EXISTS = 36;
const INVALID_REPLICATION_FACTOR = 38;
const INVALID_CONFIG = 40;
const OUT_OF_ORDER_SEQUENCE = 45;
const INVALID_PRODUCER_EPOCH = 47;
const INVALID_RECORD = 87;

/** The batch with a producer's id, epoch and sequence in its header, by the positions of Kafka's format. */
function sequenced(values: readonly string[], producerId: number, epoch: number, sequence: number): Uint8Array {
  const bytes = batchOf(values);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(43, BigInt(producerId));
  view.setInt16(51, epoch);
  view.setInt32(53, sequence);
  return reseal(bytes);
}

function reseal(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer).setUint32(17, crc32c(bytes.subarray(21)));
  return bytes;
}

describe("embedded broker: versions and bad requests", () => {
  test("ApiVersions beyond what it has is answered with error 35 in the form of version 0, and the list", async () => {
    await withBroker({}, async ({ client }) => {
      const id = await client.post(apiVersionsApi, {}, 4);
      const known = apiVersionsApi.decodeResponse(await client.answer(id), 4);
      assert.equal(known.errorCode, 0);
      assert.deepEqual(known.apiKeys.map(({ apiKey }) => apiKey), [0, 1, 2, 3, 18, 19, 20, 22, 32, 60]);
      const future = { ...apiVersionsApi, encodeRequest: () => {}, maxVersion: 99, decodeResponse: () => undefined };
      const reader = await client.answer(await client.post(future as ClientApi<unknown, unknown>, {}, 99));
      const answer = apiVersionsApi.decodeResponse(reader, 0);
      assert.equal(answer.errorCode, UNSUPPORTED_VERSION);
      assert.equal(answer.apiKeys.length, 10);
      assert.equal(reader.remaining, 0);
    });
  });

  test("every version that it announces is answered in that version", async () => {
    await withBroker({ topics: { t: 2 } }, async ({ client }) => {
      const { topics: [{ topicId } = { topicId: "" }] } = await client.call(metadataApi, { topics: [{ name: "t" }] });
      const announced = new Map(
        (await client.call(apiVersionsApi, {})).apiKeys.map((api) => [api.apiKey, api.maxVersion]),
      );
      let answered = 0;
      const each = async <Req, Res>(api: ClientApi<Req, Res>, body: (version: number) => Input<Req>) => {
        const maxVersion = announced.get(api.key);
        assert.ok(maxVersion !== undefined && maxVersion <= api.maxVersion, api.name);
        for (let version = api.minVersion; version <= maxVersion; version++, answered++) {
          await client.call(api, body(version), version);
        }
      };
      const byName = (version: number, name: string) => version >= 13 ? { topicId } : { [name]: "t" };
      await each(apiVersionsApi, () => ({}));
      await each(metadataApi, () => ({ topics: [{ name: "t" }] }));
      await each(produceApi, (version) => ({
        acks: 1,
        topicData: [{ ...byName(version, "name"), partitionData: [{ index: 0, records: batchOf(["a"]) }] }],
      }));
      await each(fetchApi, (version) => ({
        topics: [{ ...byName(version, "topic"), partitions: [{ partition: 0, partitionMaxBytes: 999 }] }],
        maxBytes: 999,
      }));
      await each(listOffsetsApi, () => ({
        topics: [{ name: "t", partitions: [{ partitionIndex: 1, timestamp: -1 }] }],
      }));
      await each(createTopicsApi, (version) => ({
        topics: [{ name: `made-${version}`, numPartitions: 1, replicationFactor: 1 }],
      }));
      await each(
        deleteTopicsApi,
        (version) => version >= 6 ? { topics: [{ name: "none" }] } : { topicNames: ["none"] },
      );
      await each(initProducerIdApi, () => ({ transactionalId: null }));
      await each(describeConfigsApi, () => ({ resources: [{ resourceType: 2, resourceName: "t" }] }));
      await each(describeClusterApi, () => ({}));
      assert.ok(answered > 60, String(answered));
    });
  });

  const garbled: [string, Uint8Array][] = [
    ["an API that is none", Uint8Array.of(0, 0, 0, 10, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0, 0)],
    ["a version that it does not have", Uint8Array.of(0, 0, 0, 10, 0, 1, 0, 99, 0, 0, 0, 1, 0, 0)],
    ["a body cut short", Uint8Array.of(0, 0, 0, 10, 0, 3, 0, 5, 0, 0, 0, 1, 0, 0)],
    ["a count beyond the frame", Uint8Array.of(0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0x7f, 255, 255, 255)],
    ["a length beyond the limit", Uint8Array.of(0x7f, 255, 255, 255, 0, 0, 0, 0)],
    ["a negative length", Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0)],
    ["HTTP", new TextEncoder().encode("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")],
  ];
  for (const [what, bytes] of garbled) {
    test(`${what} ends its own connection and no other`, async () => {
      await withBroker({ topics: { t: 1 } }, async ({ client, connect }) => {
        const other = await connect();
        await client.transport.write([bytes]);
        await client.closed();
        assert.equal((await other.call(metadataApi, { topics: null })).topics[0]!.name, "t");
      });
    });
  }
});

describe("embedded broker: topics", () => {
  test("a topic that is asked for is made when both sides allow it", async () => {
    await withBroker({ defaultPartitions: 3 }, async ({ client }) => {
      const ask = { topics: [{ name: "auto" }], allowAutoTopicCreation: false };
      assert.equal((await client.call(metadataApi, ask)).topics[0]!.errorCode, UNKNOWN_TOPIC_OR_PARTITION);
      const made = (await client.call(metadataApi, { topics: [{ name: "auto" }] })).topics[0]!;
      assert.equal(made.errorCode, 0);
      assert.deepEqual(made.partitions.map(({ partitionIndex }) => partitionIndex), [0, 1, 2]);
      const byId = await client.call(metadataApi, { topics: [{ name: null, topicId: made.topicId }] });
      assert.equal(byId.topics[0]!.name, "auto");
      assert.equal((await client.call(metadataApi, { topics: [{ name: "a/b" }] })).topics[0]!.errorCode, INVALID_TOPIC);
    });
    await withBroker({ autoCreateTopics: false }, async ({ client }) => {
      const { topics } = await client.call(metadataApi, { topics: [{ name: "auto" }] });
      assert.equal(topics[0]!.errorCode, UNKNOWN_TOPIC_OR_PARTITION);
    });
  });

  test("create refuses what cannot be, each topic on its own; delete removes the files", async () => {
    const storage = new MemoryStorage();
    await withBroker({ storage }, async ({ client }) => {
      const topic = (name: string, more = {}) => ({ name, numPartitions: 2, replicationFactor: 1, ...more });
      const { topics } = await client.call(createTopicsApi, {
        topics: [
          topic("a"),
          topic("a"),
          topic("b", { replicationFactor: 3 }),
          topic("..", {}),
          topic("c", { configs: [{ name: "no.such", value: "1" }] }),
          topic("d", { configs: [{ name: "max.message.bytes", value: "200" }] }),
        ],
      });
      assert.deepEqual(
        topics.map(({ errorCode }) => errorCode),
        [0, TOPIC_ALREADY_EXISTS, INVALID_REPLICATION_FACTOR, INVALID_TOPIC, INVALID_CONFIG, 0],
      );
      assert.deepEqual(await storage.folders(), ["a-0", "a-1", "d-0", "d-1"]);
      const dry = await client.call(createTopicsApi, { topics: [topic("e")], validateOnly: true });
      assert.equal(dry.topics[0]!.errorCode, 0);
      const tooLarge = await produce(client, "d", batchOf(["x".repeat(200)]));
      assert.equal(tooLarge.errorCode, MESSAGE_TOO_LARGE);
      const { responses } = await client.call(deleteTopicsApi, { topics: [{ name: "a" }, { name: "zz" }] });
      assert.deepEqual(responses.map(({ errorCode }) => errorCode), [0, UNKNOWN_TOPIC_OR_PARTITION]);
      assert.deepEqual(await storage.folders(), ["d-0", "d-1"]);
    });
  });
});

describe("embedded broker: records", () => {
  test("offsets go up batch by batch; what is fetched are the bytes that were sent, stamped with offset and epoch", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client }) => {
      const sent = batchOf(["a", "b"]);
      assert.equal((await produce(client, "t", sent)).baseOffset, 0);
      const second = await produce(client, "t", batchOf(["c"]));
      assert.equal(second.baseOffset, 2);
      assert.equal(second.logAppendTimeMs, -1);
      const { highWatermark, lastStableOffset, records } = await fetch(client, "t", 0);
      assert.deepEqual([highWatermark, lastStableOffset], [3, 3]);
      assert.deepEqual(valuesIn(records), ["a", "b", "c"]);
      const first = new RecordBatch(records!);
      assert.equal(first.partitionLeaderEpoch, 0);
      // Behind offset, length and epoch nothing may change.
      assert.deepEqual(first.bytes.slice(16), sent.slice(16));
      // From the middle of a batch the whole batch comes, as with Kafka.
      assert.deepEqual(valuesIn((await fetch(client, "t", 1)).records), ["a", "b", "c"]);
      assert.equal((await fetch(client, "t", 4)).errorCode, OFFSET_OUT_OF_RANGE);
      assert.equal((await fetch(client, "none", 0)).errorCode, UNKNOWN_TOPIC_OR_PARTITION);
    });
  });

  test("a fetch answers one batch at least, and no more than its limit after it", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client }) => {
      for (const value of ["a", "b", "c"]) await produce(client, "t", batchOf([value]));
      assert.deepEqual(valuesIn((await fetch(client, "t", 0, { maxBytes: 1 })).records), ["a"]);
      const size = batchOf(["a"]).length;
      const { records } = await fetch(client, "t", 0, { maxBytes: 2 * size });
      assert.deepEqual(valuesIn(records), ["a", "b"]);
      assert.equal(records!.length, 2 * size);
    });
  });

  test("a long poll ends with the append of another client", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client, connect }) => {
      const poll = fetch(client, "t", 0, { maxWaitMs: 600_000 });
      const other = await connect();
      await produce(other, "t", batchOf(["late"]));
      assert.deepEqual(valuesIn((await poll).records), ["late"]);
    });
  });

  test("a long poll waits for minBytes, and its end without records is an empty answer", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client, connect }) => {
      const poll = fetch(client, "t", 0, { maxWaitMs: 600_000, minBytes: 2 * batchOf(["a"]).length });
      const other = await connect();
      await produce(other, "t", batchOf(["a"]));
      await produce(other, "t", batchOf(["b"]));
      assert.deepEqual(valuesIn((await poll).records), ["a", "b"]);
      const empty = await fetch(client, "t", 2, { maxWaitMs: 5 });
      assert.deepEqual([empty.errorCode, empty.records?.length ?? 0], [0, 0]);
    });
  });

  test("closing the broker ends a long poll; the process is not held", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      const poll = fetch(client, "t", 0, { maxWaitMs: 600_000 }).catch((error: Error) => error);
      await client.transport.write([]);
      await broker.close();
      await poll;
    });
  });

  test("what is damaged or not allowed gets Kafka's error and is not stored", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ broker, client }) => {
      const flipped = batchOf(["a"]);
      flipped[flipped.length - 3]! ^= 1;
      const cut = batchOf(["a"]).subarray(0, 65);
      const two = new Uint8Array([...batchOf(["a"]), ...batchOf(["b"])]);
      const count = batchOf(["a"]);
      new DataView(count.buffer).setInt32(57, 9);
      const control = batchOf(["a"]);
      control[22]! |= 0x20;
      const cases: [Uint8Array, number][] = [
        [flipped, CORRUPT_MESSAGE],
        [cut, INVALID_RECORD],
        [two, INVALID_RECORD],
        [reseal(count), INVALID_RECORD],
        [reseal(control), INVALID_RECORD],
        [new Uint8Array(0), INVALID_RECORD],
      ];
      for (const [records, error] of cases) {
        const answer = await produce(client, "t", records);
        assert.equal(answer.errorCode, error, answer.errorMessage ?? "");
        assert.match(answer.errorMessage!, /t-0/);
      }
      assert.equal((await produce(client, "t", batchOf(["a"]), { acks: 2 })).errorCode, INVALID_REQUIRED_ACKS);
      const wrongPartition = await produce(client, "t", batchOf(["a"]), { partition: 7 });
      assert.equal(wrongPartition.errorCode, UNKNOWN_TOPIC_OR_PARTITION);
      await broker.createTopic("small", 1, { "max.message.bytes": "100" });
      assert.equal((await produce(client, "small", batchOf(["x".repeat(99)]))).errorCode, MESSAGE_TOO_LARGE);
      assert.equal((await fetch(client, "t", 0)).highWatermark, 0);
    });
  });

  test("acks 0 is not answered; what is refused ends the connection", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client, connect }) => {
      const body = (records: Uint8Array) => ({
        acks: 0,
        topicData: [{ name: "t", partitionData: [{ index: 0, records }] }],
      });
      await client.post(produceApi, body(batchOf(["quiet"])), 9);
      // The next answer is that to the next request.
      assert.deepEqual(valuesIn((await fetch(client, "t", 0)).records), ["quiet"]);
      await client.post(produceApi, body(new Uint8Array(5)), 9);
      await client.closed();
      assert.equal((await fetch(await connect(), "t", 0)).highWatermark, 1);
    });
  });

  test("LogAppendTime puts the broker's time on a batch, whose checksum stays right", async () => {
    await withBroker({}, async ({ broker, client }) => {
      await broker.createTopic("t", 1, { "message.timestamp.type": "LogAppendTime" });
      const { logAppendTimeMs } = await produce(client, "t", batchOf(["a"], 1000));
      assert.ok(logAppendTimeMs > 1_700_000_000_000);
      const batch = new RecordBatch((await fetch(client, "t", 0)).records!);
      assert.ok(batch.hasValidCrc(crc32c));
      assert.deepEqual(batch.records().map(({ timestamp }) => timestamp), [logAppendTimeMs]);
    });
  });

  test("ListOffsets finds the ends, a timestamp and the greatest timestamp", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client }) => {
      await produce(client, "t", batchOf(["a", "b"], 1000));
      await produce(client, "t", batchOf(["c"], 5000));
      await produce(client, "t", batchOf(["d"], 3000));
      const find = async (timestamp: number) => {
        const partitions = [{ partitionIndex: 0, timestamp }];
        const answer = await client.call(listOffsetsApi, { topics: [{ name: "t", partitions }] });
        const { errorCode, offset, timestamp: found } = answer.topics[0]!.partitions[0]!;
        return [errorCode, offset, found];
      };
      assert.deepEqual(await find(-1), [0, 4, -1]);
      assert.deepEqual(await find(-2), [0, 0, -1]);
      assert.deepEqual(await find(-3), [0, 2, 5000]);
      assert.deepEqual(await find(1001), [0, 1, 1001]);
      assert.deepEqual(await find(1002), [0, 2, 5000]);
      assert.deepEqual(await find(9000), [0, -1, -1]);
    });
  });
});

describe("embedded broker: idempotent producers", () => {
  test("a batch sent again is answered with its old offset; a gap and an old epoch are refused", async () => {
    await withBroker({ topics: { t: 1 } }, async ({ client }) => {
      const { producerEpoch, producerId } = await client.call(initProducerIdApi, { transactionalId: null });
      assert.ok(producerId >= 0 && producerEpoch === 0);
      const other = await client.call(initProducerIdApi, { transactionalId: null });
      assert.notEqual(other.producerId, producerId);
      const send = async (sequence: number, epoch = 0) => {
        const answer = await produce(client, "t", sequenced(["x", "y"], producerId, epoch, sequence));
        return answer.errorCode === 0 ? answer.baseOffset : `error ${answer.errorCode}`;
      };
      for (let i = 0; i < 7; i++) assert.equal(await send(2 * i), 2 * i);
      assert.equal(await send(12), 12);
      assert.equal(await send(4), 4, "the fifth batch from the end is remembered");
      assert.equal(await send(2), `error ${OUT_OF_ORDER_SEQUENCE}`, "the sixth is not");
      assert.equal(await send(16), `error ${OUT_OF_ORDER_SEQUENCE}`);
      assert.equal(await send(5, 1), `error ${OUT_OF_ORDER_SEQUENCE}`, "a new epoch begins at 0");
      assert.equal(await send(0, 1), 14);
      assert.equal(await send(14, 0), `error ${INVALID_PRODUCER_EPOCH}`);
      assert.equal((await fetch(client, "t", 0)).highWatermark, 16);
    });
  });

  for (const end of ["close", "kill"] as const) {
    test(`what producers sent is known after ${end} and a start over the same files`, async () => {
      const storage = new MemoryStorage();
      await withBroker({ topics: { t: 1 }, storage }, async ({ broker, client }) => {
        for (const [n, value] of ["a", "b", "c", "d", "e", "f"].entries()) {
          await produce(client, "t", sequenced([value], 77, 3, n));
        }
        await broker[end]();
      });
      await withBroker({ storage }, async ({ client }) => {
        // The last five are remembered, older ones are out of order: Kafka's rule.
        assert.deepEqual((await produce(client, "t", sequenced(["b"], 77, 3, 1))).baseOffset, 1);
        assert.equal((await produce(client, "t", sequenced(["a"], 77, 3, 0))).errorCode, OUT_OF_ORDER_SEQUENCE);
        assert.equal((await produce(client, "t", sequenced(["g"], 77, 2, 6))).errorCode, INVALID_PRODUCER_EPOCH);
        assert.equal((await produce(client, "t", sequenced(["g"], 77, 3, 6))).baseOffset, 6);
        assert.deepEqual(valuesIn((await fetch(client, "t", 0)).records), ["a", "b", "c", "d", "e", "f", "g"]);
      });
    });
  }
});

describe("embedded broker: the log directory", () => {
  test("topics, ids and records are there after a restart, and can be read as files meanwhile", async () => {
    const storage = new MemoryStorage();
    let topicId = "";
    await withBroker({ storage, topics: { "with-dash": 2 } }, async ({ client }) => {
      await produce(client, "with-dash", batchOf(["a", "b"]));
      topicId = (await client.call(metadataApi, { topics: null })).topics[0]!.topicId;
    });
    assert.deepEqual(await storage.folders(), ["with-dash-0", "with-dash-1"]);
    const log = await Log.open(await storage.folder("with-dash-0"), { mode: "inspect" });
    assert.deepEqual(await valuesOf(log), ["a", "b"]);
    assert.equal(log.topicId, topicId);
    await log.close();
    await withBroker({ storage }, async ({ broker, client }) => {
      assert.deepEqual(broker.topics, ["with-dash"]);
      const topic = (await client.call(metadataApi, { topics: null })).topics[0]!;
      assert.deepEqual([topic.topicId, topic.partitions.length], [topicId, 2]);
      assert.equal((await produce(client, "with-dash", batchOf(["c"]))).baseOffset, 2);
      assert.deepEqual(valuesIn((await fetch(client, "with-dash", 0)).records), ["a", "b", "c"]);
    });
  });

  test("a disk that fails is answered with KAFKA_STORAGE_ERROR, and the broker goes on", async () => {
    const storage = new MemoryStorage();
    await withBroker({ storage, topics: { t: 1 } }, async ({ client }) => {
      storage.fail("append");
      assert.equal((await produce(client, "t", batchOf(["a"]))).errorCode, 56);
      assert.equal((await produce(client, "t", batchOf(["b"]))).errorCode, 0);
      assert.deepEqual(valuesIn((await fetch(client, "t", 0)).records), ["b"]);
    });
  });

  test("a broker on every interface tells clients a host that they can connect to", async () => {
    await withBroker({ host: "0.0.0.0" }, async ({ broker, client }) => {
      const { brokers } = await client.call(metadataApi, { topics: [] });
      assert.deepEqual([brokers[0]!.host, brokers[0]!.port], ["localhost", broker.port]);
      assert.equal(broker.bootstrapServers, `localhost:${broker.port}`);
    });
  });

  test("close is safe to repeat, and refuses connections after", async () => {
    const network = new MemoryNetwork();
    const broker = await EmbeddedBroker.start({ listen: network.listen });
    const { port } = broker;
    await Promise.all([broker.close(), broker.close()]);
    await assert.rejects(network.connect("127.0.0.1", port), { code: "ECONNREFUSED" });
  });
});
