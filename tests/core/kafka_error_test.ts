import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  AbortedError,
  BrokerError,
  ClosedError,
  CompressionError,
  ConfigError,
  ConnectionError,
  CorruptRecordError,
  isRetriable,
  KafkaError,
  ProduceError,
  ProtocolError,
  StorageError,
  TimeoutError,
  UnsupportedVersionError,
} from "../../src/core/kafka_error.ts";

describe("KafkaError", () => {
  test("carries its details beside the message", () => {
    const cause = new Error("below");
    const details = {
      code: "DELIVERY_TIMEOUT",
      retriable: true,
      outcome: "unknown",
      cause,
      topic: "orders",
      partition: 3,
      offset: 42,
      file: "orders-3/00000000000000000000.log",
      position: 61,
      host: "broker",
      port: 9092,
    } as const;
    const error = new KafkaError("orders-3: not acknowledged", details);
    assert.equal(error.message, "orders-3: not acknowledged");
    for (const [name, value] of Object.entries(details)) assert.equal(error[name as keyof KafkaError], value, name);
  });

  test("has no cause when none was given, and is not retriable unless said", () => {
    const error = new KafkaError("odd");
    assert.equal("cause" in error, false);
    assert.deepEqual([error.name, error.code, error.retriable, error.outcome], [
      "KafkaError",
      "KAFKA_ERROR",
      false,
      undefined,
    ]);
  });

  test("each kind is an Error and a KafkaError with its own name, code and chance of another try", () => {
    const kinds: readonly [KafkaError, name: string, code: string, retriable: boolean][] = [
      [
        new BrokerError("m", 3, { code: "UNKNOWN_TOPIC_OR_PARTITION" }),
        "BrokerError",
        "UNKNOWN_TOPIC_OR_PARTITION",
        false,
      ],
      [new ProduceError("m"), "ProduceError", "KAFKA_ERROR", false],
      [new ConnectionError("m"), "ConnectionError", "CONNECTION_FAILED", true],
      [new TimeoutError("m"), "TimeoutError", "TIMED_OUT", true],
      [new ClosedError("m"), "ClosedError", "CLOSED", false],
      [new AbortedError("m"), "AbortedError", "ABORTED", false],
      [new ConfigError("m"), "ConfigError", "INVALID_CONFIG", false],
      [new ProtocolError("m"), "ProtocolError", "PROTOCOL_ERROR", false],
      [new UnsupportedVersionError("m"), "UnsupportedVersionError", "UNSUPPORTED_VERSION", false],
      [new CorruptRecordError("m"), "CorruptRecordError", "CORRUPT_RECORD", false],
      [new CompressionError("m"), "CompressionError", "COMPRESSION_FAILED", false],
      [new StorageError("m"), "StorageError", "STORAGE_FAILED", false],
    ];
    for (const [error, name, code, retriable] of kinds) {
      assert.ok(error instanceof Error && error instanceof KafkaError);
      assert.deepEqual([error.name, error.code, error.retriable, error.message], [name, code, retriable, "m"]);
      assert.ok(String(error.stack).includes("kafka_error_test"), name);
      assert.equal(isRetriable(error), retriable);
    }
    assert.equal((kinds[0]![0] as BrokerError).errorCode, 3);
  });

  test("takes the code of the runtime's error where there is one, unless told otherwise", () => {
    const cause = Object.assign(new Error("no entry"), { code: "ENOENT" });
    for (const Kind of [ConnectionError, StorageError]) {
      assert.equal(new Kind("m", { cause }).code, "ENOENT");
      assert.equal(new Kind("m", { cause, code: "MINE" }).code, "MINE");
      // A DOMException has a number there.
      assert.notEqual(new Kind("m", { cause: { code: 20 } }).code, 20);
    }
  });

  test("knows no foreign error as retriable", () => {
    for (const error of [new Error("m"), { retriable: true }, undefined, null, "m"]) {
      assert.equal(isRetriable(error), false);
    }
  });
});
