import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Metadata, updateClusterMetadata } from "../../src/client/cluster_metadata.ts";
import { ZERO_UUID } from "../../src/protocol/api.ts";
import type { MetadataResponse, MetadataResponseTopic } from "../../src/protocol/metadata.ts";

const NOTHING: Metadata = { version: 0, clusterId: null, topics: new Map() };
const ID = "AAAAAAAAAAAAAAAAAAAABw";
const OTHER_ID = "AAAAAAAAAAAAAAAAAAAACA";

type Partition = readonly [leader: number, epoch: number, error?: number];

function topicOf(partitions: readonly Partition[], topicId = ID, name = "t"): MetadataResponseTopic {
  return {
    errorCode: 0,
    name,
    topicId,
    isInternal: false,
    topicAuthorizedOperations: 0,
    partitions: partitions.map(([leaderId, leaderEpoch, errorCode = 0], partitionIndex) => ({
      errorCode,
      partitionIndex,
      leaderId,
      leaderEpoch,
      replicaNodes: [1, 2],
      isrNodes: [1, 2],
      offlineReplicas: [],
    })),
  };
}

function failing(errorCode: number, name = "t"): MetadataResponseTopic {
  return { ...topicOf([], ZERO_UUID, name), errorCode };
}

function answerOf(topics: MetadataResponseTopic[], clusterId = "c"): MetadataResponse {
  return {
    throttleTimeMs: 0,
    brokers: [],
    clusterId,
    controllerId: 1,
    topics,
    clusterAuthorizedOperations: 0,
    errorCode: 0,
  };
}

/** Applies one answer after the other, all of them full; answers leader, epoch and whether it was news, after each. */
function run(steps: readonly (readonly [topic: MetadataResponseTopic, version?: number])[]) {
  let known = NOTHING;
  return steps.map(([topic, version = 12]) => {
    const update = updateClusterMetadata(known, answerOf([topic]), version, () => false);
    known = update.metadata;
    const partition = known.topics.get("t")?.partitions[0];
    return [partition?.leader, partition?.leaderEpoch, update.isNews];
  });
}

// What is expected where nothing else is said is what Kafka's Metadata class (4.3.1) made of the same answers.
describe("updateClusterMetadata", () => {
  test("scenario 42, case 076: stays with the newest leader, waits while there is none, moves to a newer one", () => {
    assert.deepEqual(
      run([
        [topicOf([[1, 5]])],
        [topicOf([[-1, 5, 5]])],
        [topicOf([[2, 4]])],
        [topicOf([[2, 6]])],
        [failing(3)],
        [topicOf([[2, 6]])],
      ]),
      [[1, 5, true], [-1, 5, false], [-1, 5, false], [2, 6, true], [undefined, undefined, false], [2, 6, true]],
    );
  });

  test("case 076: an older epoch is ignored while the leader stands, too", () => {
    assert.deepEqual(run([[topicOf([[1, 5]])], [topicOf([[2, 4]])], [topicOf([[1, 5]])]]), [
      [1, 5, true],
      [1, 5, false],
      [1, 5, false],
    ]);
  });

  test("case 076: an answer without leader and epoch takes nothing back (Java forgets the epoch then)", () => {
    assert.deepEqual(run([[topicOf([[1, 5]])], [topicOf([[-1, -1, 5]])], [topicOf([[2, 4]])], [topicOf([[2, 6]])]]), [
      [1, 5, true],
      [-1, 5, true],
      [-1, 5, false],
      [2, 6, true],
    ]);
    // Without ids nothing tells a topic from one of the same name made later, so there it is forgotten.
    const [, , last] = run([
      [topicOf([[1, 5]], ZERO_UUID), 9],
      [topicOf([[-1, -1, 5]], ZERO_UUID), 9],
      [topicOf([[2, 0]], ZERO_UUID), 9],
    ]);
    assert.deepEqual(last, [2, 0, true]);
  });

  test("scenario 42: another id is another topic, whose epochs begin anew", () => {
    assert.deepEqual(run([[topicOf([[1, 5]])], [topicOf([[2, 0]], OTHER_ID)]]), [[1, 5, true], [2, 0, true]]);
    assert.deepEqual(run([[topicOf([[1, 5]])], [failing(3)], [topicOf([[1, 4]])]])[2], [1, 4, true]);
  });

  test("scenario 42: an answer without ids leaves it open whether the topic is the same", () => {
    assert.deepEqual(
      run([[topicOf([[1, 5]])], [topicOf([[2, 4]], ZERO_UUID), 9], [topicOf([[2, 4]])]]),
      [[1, 5, true], [1, 5, false], [2, 4, true]],
    );
  });

  test("epochs of versions before 9 are not relied upon", () => {
    assert.deepEqual(run([[topicOf([[1, 5]], ZERO_UUID), 8], [topicOf([[2, 4]], ZERO_UUID), 8]]), [
      [1, -1, true],
      [2, -1, true],
    ]);
  });

  test("epochs of another cluster mean nothing", () => {
    const first = updateClusterMetadata(NOTHING, answerOf([topicOf([[1, 5]], ZERO_UUID)]), 9, () => false).metadata;
    const second = updateClusterMetadata(first, answerOf([topicOf([[2, 0]], ZERO_UUID)], "d"), 9, () => false).metadata;
    assert.deepEqual(second.topics.get("t")!.partitions[0]!.leader, 2);
  });

  test("scenario 42: what is not in an answer stays if it is to, and every answer makes a new version", () => {
    const first = updateClusterMetadata(
      NOTHING,
      answerOf([topicOf([[1, 0]], ID, "a"), topicOf([[1, 0]], ID, "b")]),
      12,
      () => true,
    );
    const second = updateClusterMetadata(
      first.metadata,
      answerOf([topicOf([[1, 0]], ID, "c")]),
      12,
      (name) => name === "a",
    );
    assert.deepEqual([...second.metadata.topics.keys()], ["a", "c"]);
    assert.deepEqual([...first.metadata.topics.keys()], ["a", "b"], "what was known before is not touched");
    assert.deepEqual([first.metadata.version, second.metadata.version], [1, 2]);
  });

  test("scenario 44: more partitions are taken as they come", () => {
    const first = updateClusterMetadata(NOTHING, answerOf([topicOf([[1, 3]])]), 12, () => false).metadata;
    const { metadata, isNews } = updateClusterMetadata(first, answerOf([topicOf([[1, 3], [2, 0]])]), 12, () => false);
    assert.deepEqual(metadata.topics.get("t")!.partitions.map(({ leader }) => leader), [1, 2]);
    assert.ok(isNews);
  });

  test("tells what is wrong with a topic or with one of its partitions", () => {
    const { problems } = updateClusterMetadata(
      NOTHING,
      answerOf([
        failing(17, "bad"),
        failing(3, "none"),
        topicOf([[1, 0], [-1, 0, 5]], ID, "half"),
        topicOf([[1, 0, 9]], ID, "fine"),
      ]),
      12,
      () => false,
    );
    const told = [...problems].map(([name, error]) => [name, error?.code, error?.retriable, error?.partition]);
    assert.deepEqual(told, [
      ["bad", "INVALID_TOPIC_EXCEPTION", false, undefined],
      ["none", "UNKNOWN_TOPIC_OR_PARTITION", true, undefined],
      ["half", "LEADER_NOT_AVAILABLE", true, 1],
      ["fine", "REPLICA_NOT_AVAILABLE", true, 0],
    ]);
  });

  test("an answer whose partitions are not numbered from 0 on is refused, whatever the numbers", () => {
    for (const indexes of [[1], [0, 0], [-1], [0, 2147483647], [2, 0]]) {
      const topic = topicOf(indexes.map(() => [1, 0] as const));
      topic.partitions.forEach((partition, i) => partition.partitionIndex = indexes[i]!);
      assert.throws(() => updateClusterMetadata(NOTHING, answerOf([topic]), 12, () => false), {
        name: "ProtocolError",
        retriable: true,
        topic: "t",
      }, `${indexes}`);
    }
    const swapped = topicOf([[1, 0], [2, 0]]);
    swapped.partitions.forEach((partition, i) => partition.partitionIndex = 1 - i);
    const { metadata } = updateClusterMetadata(NOTHING, answerOf([swapped]), 12, () => false);
    assert.deepEqual(metadata.topics.get("t")!.partitions.map(({ partition, leader }) => [partition, leader]), [
      [0, 2],
      [1, 1],
    ]);
  });

  test("case 049: topics are found by their names alone, whatever they are called", () => {
    const names = ["__proto__", "constructor", "toString", "shift", "10", "9", "a.b", "a_b", "x".repeat(249)];
    assert.equal(NOTHING.topics.get("constructor"), undefined);
    const { metadata, problems } = updateClusterMetadata(
      NOTHING,
      answerOf(names.map((name, i) => topicOf([[i, 0]], ID, name))),
      12,
      () => false,
    );
    assert.deepEqual([...metadata.topics.keys()], names);
    assert.deepEqual([...problems.keys()], names);
    names.forEach((name, i) => assert.equal(metadata.topics.get(name)!.partitions[0]!.leader, i));
  });
});
