import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientOptionTable } from "../../src/client/client_options.ts";
import { nearest } from "../../src/core/nearest.ts";
import { optionsFromProperties, resolveOptions } from "../../src/core/option_table.ts";
import { producerOptionTable, resolveProducerOptions } from "../../src/producer/producer_options.ts";

const client = resolveOptions("Kafka", clientOptionTable, { bootstrapServers: "a:1" });

describe("options", () => {
  test("every name is its Java key in camelCase", () => {
    // tls stands for all of ssl.*; the seams have no Java key.
    for (const table of [clientOptionTable, producerOptionTable]) {
      for (const [name, row] of Object.entries(table)) {
        assert.equal(row.key.replace(/\.(.)/g, (_: string, letter: string) => letter.toUpperCase()), name);
      }
    }
  });

  test("defaults are those of Kafka 4.x", () => {
    const {
      acks,
      batchSize,
      bufferMemory,
      deliveryTimeoutMs,
      enableIdempotence,
      lingerMs,
      maxBlockMs,
      maxRequestSize,
    } = resolveProducerOptions({}, client);
    assert.deepEqual(
      { acks, batchSize, bufferMemory, deliveryTimeoutMs, enableIdempotence, lingerMs, maxBlockMs, maxRequestSize },
      {
        acks: "all",
        batchSize: 16384,
        bufferMemory: 33554432,
        deliveryTimeoutMs: 120000,
        enableIdempotence: true,
        lingerMs: 5,
        maxBlockMs: 60000,
        maxRequestSize: 1048576,
      },
    );
    assert.equal(client.requestTimeoutMs, 30000);
  });

  test("an unknown option is an error that names the nearest", () => {
    const given = { bootstrapServers: "a:1", clientID: "x" };
    assert.throws(() => resolveOptions("Kafka", clientOptionTable, given), {
      code: "UNKNOWN_OPTION",
      message: "Kafka: unknown option clientID; did you mean clientId?",
    });
    assert.throws(() => resolveOptions("Kafka", clientOptionTable, { ...given, toString: 1 } as never), {
      code: "UNKNOWN_OPTION",
    });
  });

  test("a value of the wrong type or out of range is an error that says what fits", () => {
    assert.throws(() => resolveProducerOptions({ lingerMs: "5" as never }, client), {
      code: "INVALID_CONFIG",
      message: 'producer: lingerMs (linger.ms) must be an integer from 0 to 2147483647, not "5"',
    });
    assert.throws(() => resolveProducerOptions({ lingerMs: -1 }, client), { code: "INVALID_CONFIG" });
    assert.throws(() => resolveProducerOptions({ acks: 2 as never }, client), { message: /one of 0, 1, "all", not 2/ });
    assert.throws(() => resolveProducerOptions({ compressionType: "brotli" as never }, client), { message: /"zstd"/ });
  });

  test("undefined counts as not given", () => {
    assert.equal(resolveProducerOptions({ lingerMs: undefined as never }, client).lingerMs, 5);
  });

  test("properties are read by their dotted keys, and what is left over stays", () => {
    const properties = new Map([["linger.ms", "7"], ["acks", "-1"], ["enable.idempotence", "FALSE"], ["other", "1"]]);
    assert.deepEqual(optionsFromProperties("producer", producerOptionTable, properties), {
      lingerMs: 7,
      acks: "all",
      enableIdempotence: false,
    });
    assert.deepEqual([...properties], [["other", "1"]]);
    assert.throws(() => optionsFromProperties("producer", producerOptionTable, new Map([["linger.ms", "5s"]])), {
      message: /linger\.ms .* not "5s"/,
    });
  });

  test("nearest answers nothing when nothing is near", () => {
    assert.equal(nearest("--bootstap", ["--bootstrap", "--topic"]), "--bootstrap");
    assert.equal(nearest("zzz", ["--bootstrap", "--topic"]), undefined);
  });
});

describe("rules between options (scenario 27)", () => {
  test("acks 0 or 1, or no retries, turn default idempotence off and contradict an explicit one", () => {
    assert.equal(resolveProducerOptions({ acks: 1 }, client).enableIdempotence, false);
    assert.equal(resolveProducerOptions({ acks: 0 }, client).enableIdempotence, false);
    assert.equal(resolveProducerOptions({ retries: 0 }, client).enableIdempotence, false);
    assert.throws(() => resolveProducerOptions({ acks: 1, enableIdempotence: true }, client), {
      message: /acks "all"/,
    });
    assert.throws(() => resolveProducerOptions({ retries: 0, enableIdempotence: true }, client), {
      message: /retries/,
    });
  });

  test("more than five in flight contradict idempotence, default or not", () => {
    const six = { maxInFlightRequestsPerConnection: 6 };
    assert.throws(() => resolveProducerOptions(six, client), { message: /at most 5/ });
    assert.equal(resolveProducerOptions({ ...six, enableIdempotence: false }, client).enableIdempotence, false);
  });

  test("a delivery time-out below linger + request time-out is an error if set, else raised", () => {
    assert.throws(() => resolveProducerOptions({ deliveryTimeoutMs: 30004 }, client), { message: /= 30005/ });
    assert.equal(resolveProducerOptions({ deliveryTimeoutMs: 30005 }, client).deliveryTimeoutMs, 30005);
    assert.equal(resolveProducerOptions({ lingerMs: 100_000 }, client).deliveryTimeoutMs, 130_000);
  });
});
