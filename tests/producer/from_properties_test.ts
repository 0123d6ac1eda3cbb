import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientOptionTable } from "../../src/client/client_options.ts";
import { fromProperties, propertiesWithoutEffect } from "../../src/producer/from_properties.ts";
import { producerOptionTable } from "../../src/producer/producer_options.ts";
import { PRODUCER_CONFIG } from "./java_vectors.ts";

describe("fromProperties", () => {
  test("reads Java's keys and text, for the client and the producer", () => {
    const { client, producer, notes } = fromProperties({
      "bootstrap.servers": "a:1, b:2",
      "client.id": "shop",
      "linger.ms": " 50 ",
      "acks": "-1",
      "enable.idempotence": "TRUE",
      "compression.type": "ZSTD",
      "compression.zstd.level": "-5",
      "buffer.memory": 1_000_000,
      "partitioner.ignore.keys": true,
    });
    assert.deepEqual(client, { bootstrapServers: ["a:1", "b:2"], clientId: "shop" });
    assert.deepEqual(producer, {
      lingerMs: 50,
      acks: "all",
      enableIdempotence: true,
      compressionType: "zstd",
      compressionZstdLevel: -5,
      bufferMemory: 1_000_000,
      partitionerIgnoreKeys: true,
    });
    assert.deepEqual(notes, []);
  });

  test("our own names serve as well, and a Map", () => {
    assert.deepEqual(fromProperties({ lingerMs: "7" }).producer, { lingerMs: 7 });
    assert.deepEqual(fromProperties(new Map([["linger.ms", "7"]])).producer, { lingerMs: 7 });
  });

  test("text that is no value of its option is an error that names the key", () => {
    assert.throws(() => fromProperties({ "linger.ms": "5s" }), {
      code: "INVALID_CONFIG",
      message: 'producer: linger.ms (linger.ms) must be an integer from 0 to 2147483647, not "5s"',
    });
    assert.throws(() => fromProperties({ "acks": "two" }), { code: "INVALID_CONFIG" });
    assert.throws(() => fromProperties({ "compression.lz4.level": "18" }), { code: "INVALID_CONFIG" });
  });

  test("unknown keys and those without effect are noted, with what was meant", () => {
    const { notes } = fromProperties({ "linger.msec": "5", "send.buffer.bytes": "131072", "my.own.thing": "x" });
    assert.deepEqual(notes, [
      { key: "linger.msec", reason: "unknown; it is ignored. Did you mean linger.ms?" },
      { key: "send.buffer.bytes", reason: propertiesWithoutEffect["send.buffer.bytes"] },
      { key: "my.own.thing", reason: "unknown; it is ignored" },
    ]);
  });

  test("keys whose promise cannot be kept are refused, and their values may be secrets", () => {
    assert.throws(() => fromProperties({ "partitioner.class": "com.acme.Mine" }), {
      code: "INVALID_CONFIG",
      message: /^properties: partitioner\.class=com\.acme\.Mine: .*give a function/,
    });
    assert.throws(() => fromProperties({ "value.serializer": "com.acme.AvroSerializer" }), {
      message: /Java's serializers of strings/,
    });
    assert.throws(() => fromProperties({ "interceptor.classes": "com.acme.Trace" }), { message: /interceptors/ });
    assert.throws(() => fromProperties({ "ssl.keystore.location": "/x.jks" }), { message: /PEM/ });
    assert.throws(() => fromProperties({ "ssl.endpoint.identification.algorithm": "none" }), {
      message: /always checked/,
    });
    assert.throws(() => fromProperties({ "security.protocol": "SASL_SSL" }), { code: "INVALID_CONFIG" });
    // Nothing is refused for being empty: that is Java's way to say "none".
    assert.equal(fromProperties({ "partitioner.class": "", "interceptor.classes": "" }).notes.length, 2);
  });

  test("Java's serializers and its round-robin partitioner are found by their class names", () => {
    const { producer } = fromProperties({
      "key.serializer": "org.apache.kafka.common.serialization.IntegerSerializer",
      "value.serializer": "StringSerializer",
      "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
    });
    const context = { topic: "t", part: "key", headers: [] } as const;
    assert.deepEqual(producer.keySerializer!(258, { ...context, headers: [] }), new Uint8Array([0, 0, 1, 2]));
    assert.equal(producer.valueSerializer!("x", { ...context, headers: [] }), "x");
    assert.equal(typeof (producer.partitioner as { partition: unknown }).partition, "function");
  });

  test("PEM text of TLS goes to the option tls", () => {
    const { client } = fromProperties({
      "security.protocol": "ssl",
      "ssl.truststore.certificates": "CA",
      "ssl.keystore.certificate.chain": "CERT",
      "ssl.keystore.key": "KEY",
      "ssl.endpoint.identification.algorithm": "HTTPS",
    });
    assert.deepEqual(client, { securityProtocol: "SSL", tls: { ca: "CA", cert: "CERT", key: "KEY" } });
  });

  test("every key of Java's producer is an option, a key without effect, or refused", () => {
    const known = new Set([clientOptionTable, producerOptionTable].flatMap((t) => Object.values(t).map((r) => r.key)));
    const other = PRODUCER_CONFIG.map(([key]) => key).filter((key) =>
      !known.has(key) && !Object.hasOwn(propertiesWithoutEffect, key)
    );
    for (const key of other) {
      assert.throws(() => fromProperties({ [key]: "x" }), { code: "INVALID_CONFIG", message: new RegExp(key) }, key);
    }
    for (const key of Object.keys(propertiesWithoutEffect)) assert.ok(!known.has(key), key);
  });
});
