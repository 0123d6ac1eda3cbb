import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPartitionFile, type KafkaFileName, parseKafkaFileName } from "../../src/log/kafka_file_name.ts";

const digits = "00000000000000000042";

describe("names of files", () => {
  const known: readonly (readonly [string, KafkaFileName])[] = [
    [`${digits}.log`, { type: "log", digits }],
    [`${digits}.index`, { type: "index", digits }],
    [`${digits}.timeindex`, { type: "timeindex", digits }],
    [`${digits}.txnindex`, { type: "txnindex", digits }],
    [`${digits}.snapshot`, { type: "snapshot", digits }],
    [`${digits}.log.deleted`, { type: "log", digits, state: "deleted" }],
    [`${digits}.index.swap`, { type: "index", digits, state: "swap" }],
    [`${digits}.timeindex.cleaned`, { type: "timeindex", digits, state: "cleaned" }],
    [`${digits}-0000000007.checkpoint`, { type: "checkpoint", digits }],
    ["bootstrap.checkpoint", { type: "checkpoint" }],
    ["leader-epoch-checkpoint", { type: "leader-epoch-checkpoint" }],
    ["partition.metadata", { type: "partition.metadata" }],
    ["replication-offset-checkpoint", { type: "offset-checkpoint" }],
    ["cleaner-offset-checkpoint", { type: "offset-checkpoint" }],
    ["meta.properties", { type: "meta.properties" }],
    ["quorum-state", { type: "quorum-state" }],
    [".kafka_cleanshutdown", { type: "clean-shutdown" }],
  ];
  for (const [name, expected] of known) {
    test(name, () => {
      assert.deepEqual(parseKafkaFileName(name), expected);
      const ofPartition = expected.digits !== undefined || /leader-epoch|partition\.metadata/.test(name);
      assert.equal(isPartitionFile(name), ofPartition);
    });
  }

  for (
    const name of [
      "0.log",
      `${digits}.log.gz`,
      `${digits}.LOG`,
      `${digits}0.log`,
      `x${digits}.log`,
      `${digits}.log.deleted.deleted`,
      `${digits}.txt`,
      "replication-offset-checkpoint.tmp",
      "constructor",
      "",
    ]
  ) {
    test(`${JSON.stringify(name)} is none of Kafka's`, () => {
      assert.equal(parseKafkaFileName(name), undefined);
      assert.equal(isPartitionFile(name), false);
    });
  }
});
