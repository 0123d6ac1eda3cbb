import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ClientOptions, clientOptionTable } from "../../src/client/client_options.ts";
import { clientContext } from "../../src/client/client_context.ts";
import type { Logger } from "../../src/core/logger.ts";
import { type OptionRow, resolveOptions } from "../../src/core/option_table.ts";
import { Producer } from "../../src/producer/producer.ts";
import {
  levelInUse,
  type ProducerOptions,
  producerOptionTable,
  resolveProducerOptions,
} from "../../src/producer/producer_options.ts";
import { PRODUCER_CONFIG } from "./java_vectors.ts";

const rows: ReadonlyMap<string, OptionRow<unknown>> = new Map(
  [...Object.values(clientOptionTable), ...Object.values(producerOptionTable)].map((row) => [row.key, row]),
);

/** Resolves options of a client whose log lines are kept. */
function resolve(options: ProducerOptions, given: Partial<ClientOptions> = {}) {
  const log: string[] = [];
  const note = (level: string) => (message: string) => void log.push(`${level}: ${message}`);
  const logger: Logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const client = resolveOptions("Kafka", clientOptionTable, { bootstrapServers: "a:1", logger, ...given });
  return { ...resolveProducerOptions(options, client), log };
}

describe("the producer's options", () => {
  test("defaults and ranges are those of Java's ProducerConfig", () => {
    // Ours differ: class names, the client id, and a time-out of 0, which would fail every request.
    const ours = new Set([
      "bootstrap.servers",
      "client.id",
      "request.timeout.ms",
      "key.serializer",
      "value.serializer",
    ]);
    let compared = 0;
    for (const [key, fallback, validator] of PRODUCER_CONFIG) {
      const row = rows.get(key);
      if (row === undefined || ours.has(key)) continue;
      compared++;
      assert.equal(String(row.default), fallback, key);
      const range = /^\[(-?\d+),\.\.\.(?:,(-?\d+))?\]( or -1)?$/.exec(validator);
      if (range === null) continue;
      const [least, most] = [Number(range[1]), Number(range[2])];
      assert.ok(row.accepts(least), `${key} ${least}`);
      assert.equal(row.accepts(least - 1), range[3] !== undefined && least - 1 === -1, `${key} ${least - 1}`);
      if (range[2] !== undefined) assert.deepEqual([row.accepts(most), row.accepts(most + 1)], [true, false], key);
      if (range[3] !== undefined) assert.ok(row.accepts(-1), key);
    }
    assert.ok(compared >= 29, `${compared}`);
  });

  test("a level outside its codec's range is refused, and each codec gets its own", () => {
    for (const [name, bad] of [["Gzip", [0, 10, -2, 1.5]], ["Lz4", [0, 18]], ["Zstd", [23, -131073]]] as const) {
      for (const level of bad) {
        assert.throws(() => resolve({ [`compression${name}Level`]: level }), {
          code: "INVALID_CONFIG",
          message: new RegExp(
            `^producer: compression${name}Level \\(compression\\.${name.toLowerCase()}\\.level\\) must`,
          ),
        });
      }
    }
    const levels = { compressionGzipLevel: 2, compressionLz4Level: 12, compressionZstdLevel: -7 };
    for (
      const [compressionType, level] of [["none", undefined], ["gzip", 2], ["snappy", undefined], ["lz4", 12], [
        "zstd",
        -7,
      ]] as const
    ) {
      assert.equal(levelInUse(resolve({ compressionType, ...levels })), level, compressionType);
    }
    assert.equal(levelInUse(resolve({ compressionType: "zstd" })), 3);
  });

  test("a batchSize of 0 sends every record alone", () => {
    assert.equal(resolve({ batchSize: 0 }).batchSize, 1);
  });

  test("functions and objects are checked as far as that is possible", () => {
    for (
      const bad of [
        { keySerializer: "utf8" },
        { valueSerializer: {} },
        { partitioner: {} },
        { partitioner: { partition: 3 } },
        { interceptors: {} },
        { interceptors: ["x"] },
      ]
    ) {
      assert.throws(() => resolve(bad as never), { code: "INVALID_CONFIG" }, JSON.stringify(bad));
    }
    resolve({ keySerializer: (key) => key, partitioner: { partition: () => 0 }, interceptors: [{}] });
  });
});

describe("rules between options (scenario 27)", () => {
  test("retries 0 or acks below all turn idempotence off, but contradict it when it was asked for", () => {
    for (const weak of [{ retries: 0 }, { acks: 1 }, { acks: 0 }, { retries: 0, acks: 1 }] as const) {
      const off = resolve(weak);
      assert.equal(off.enableIdempotence, false, JSON.stringify(weak));
      assert.equal(off.log.length, 1, off.log.join());
      assert.match(off.log[0]!, /^info: producer: idempotence is off, since it needs /);
      assert.throws(() => resolve({ ...weak, enableIdempotence: true }), {
        code: "INVALID_CONFIG",
        message: /^producer: enableIdempotence needs /,
      }, JSON.stringify(weak));
      assert.equal(resolve({ ...weak, enableIdempotence: false }).enableIdempotence, false);
    }
    assert.equal(resolve({}).enableIdempotence, true);
    assert.equal(resolve({ retries: 1, acks: "all", maxInFlightRequestsPerConnection: 5 }).enableIdempotence, true);
  });

  test("more than five requests in flight contradict idempotence in any case, and are free without it", () => {
    for (const idempotence of [{}, { enableIdempotence: true }]) {
      assert.throws(() => resolve({ maxInFlightRequestsPerConnection: 6, ...idempotence }), {
        code: "INVALID_CONFIG",
        message: /at most 5 with idempotence, not 6/,
      });
    }
    resolve({ maxInFlightRequestsPerConnection: 6, enableIdempotence: false });
    resolve({ maxInFlightRequestsPerConnection: 6, acks: 1 });
  });

  test("deliveryTimeoutMs below lingerMs + requestTimeoutMs is an error when given, else it is raised", () => {
    assert.equal(resolve({}).deliveryTimeoutMs, 120_000);
    assert.throws(() => resolve({ deliveryTimeoutMs: 30_004 }), { message: /must be at least .* = 30005/ });
    assert.equal(resolve({ deliveryTimeoutMs: 30_005 }).deliveryTimeoutMs, 30_005);
    const raised = resolve({ lingerMs: 100_000 });
    assert.equal(raised.deliveryTimeoutMs, 130_000);
    assert.match(raised.log[0]!, /^warn: .*raised to .* = 130000/);
    // The sum goes no further than 32 bits.
    assert.equal(resolve({ lingerMs: 2 ** 31 - 1 }).deliveryTimeoutMs, 2 ** 31 - 1);
    assert.equal(
      resolve({ lingerMs: 2 ** 31 - 1, deliveryTimeoutMs: 2 ** 31 - 1 }).deliveryTimeoutMs,
      2 ** 31 - 1,
    );
  });

  test("a producer whose options are refused has opened nothing", () => {
    const connect = () => assert.fail("it connected");
    const context = clientContext({ bootstrapServers: "a:1" }, { connect, codecs: () => Promise.resolve({}) });
    assert.throws(() => new Producer(context, { acks: 1, enableIdempotence: true }), { code: "INVALID_CONFIG" });
  });
});
