import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BrokerError } from "../../src/core/kafka_error.ts";
import { brokerError } from "../../src/protocol/broker_error.ts";
import { errorOf, errorTable } from "../../src/protocol/error_table.ts";

describe("the error table", () => {
  test("has the names and traits of Kafka's protocol guide", () => {
    // https://kafka.apache.org/protocol#protocol_error_codes
    const known: [code: number, name: string, retriable: boolean, refreshMetadata: boolean][] = [
      [-1, "UNKNOWN_SERVER_ERROR", false, false],
      [0, "NONE", false, false],
      [1, "OFFSET_OUT_OF_RANGE", false, false],
      [3, "UNKNOWN_TOPIC_OR_PARTITION", true, true],
      [6, "NOT_LEADER_OR_FOLLOWER", true, true],
      [7, "REQUEST_TIMED_OUT", true, false],
      [10, "MESSAGE_TOO_LARGE", false, false],
      [19, "NOT_ENOUGH_REPLICAS", true, false],
      [29, "TOPIC_AUTHORIZATION_FAILED", false, false],
      [35, "UNSUPPORTED_VERSION", false, false],
      [45, "OUT_OF_ORDER_SEQUENCE_NUMBER", false, false],
      [47, "INVALID_PRODUCER_EPOCH", false, false],
      [56, "KAFKA_STORAGE_ERROR", true, true],
      [90, "PRODUCER_FENCED", false, false],
      [100, "UNKNOWN_TOPIC_ID", true, true],
      [120, "TRANSACTION_ABORTABLE", false, false],
    ];
    for (const [code, name, retriable, refreshMetadata] of known) {
      assert.deepEqual(errorOf(code), { code, name, retriable, refreshMetadata });
    }
    assert.deepEqual(errorTable().map(({ code }) => code), Array.from({ length: 135 }, (_, i) => i - 1));
    assert.equal(new Set(errorTable().map(({ name }) => name)).size, 135);
  });

  test("keeps the number of an error that it does not know", () => {
    for (const code of [999, -2, 32767]) {
      assert.deepEqual(errorOf(code), { code, name: "UNKNOWN_SERVER_ERROR", retriable: false, refreshMetadata: false });
    }
  });

  test("makes errors that say what failed and can be told apart by code", () => {
    const error = brokerError(6, "orders-3: Produce", { topic: "orders", partition: 3, outcome: "not-written" });
    assert.ok(error instanceof BrokerError);
    assert.equal(error.message, "orders-3: Produce: NOT_LEADER_OR_FOLLOWER (6)");
    assert.deepEqual(
      [error.code, error.errorCode, error.retriable, error.topic, error.partition, error.outcome],
      ["NOT_LEADER_OR_FOLLOWER", 6, true, "orders", 3, "not-written"],
    );
  });
});
