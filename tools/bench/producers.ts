/**
 * The producers that are measured, each behind the same two functions. The peers are npm packages that the project does not
 * depend on: they are installed beside it, and only when one is asked for.
 *
 * @module
 */

import { Kafka } from "../../mod.ts";
import type { Workload } from "./workloads.ts";

/** One client under load. */
export interface BenchProducer {
  /** Sends one record; settles when it was acknowledged. */
  send(key: string | null, value: Uint8Array): Promise<unknown>;
  /** Sends many; settles when all were. */
  sendAll(keys: readonly (string | null)[], value: Uint8Array): Promise<unknown>;
  /** Ends it. */
  close(): Promise<unknown>;
}

/** What a client is told. */
export interface BenchSetup {
  /** `host:port`. */
  readonly bootstrap: string;
  /** Topic to write to. */
  readonly topic: string;
  /** The load. */
  readonly workload: Workload;
  /** Further options for ours. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Loads a package from where the peers are installed. */
  readonly load: (name: string) => unknown;
}

/** The npm package of each peer. */
export const PEER_PACKAGES: Readonly<Record<string, string>> = {
  "kafkajs": "kafkajs",
  "platformatic": "@platformatic/kafka",
  "kafka-ts": "kafka-ts",
  "rdkafka": "node-rdkafka",
};

// deno-lint-ignore no-explicit-any -- packages that are not there when this is checked
type Package = any;

/** Starts the client called `name`: all with acks=all and idempotent where they can. */
export async function startProducer(name: string, setup: BenchSetup): Promise<BenchProducer> {
  const { bootstrap, load, options, topic, workload } = setup;
  switch (name) {
    case "anykafka": {
      const kafka = new Kafka({ bootstrapServers: bootstrap });
      const settings = { compressionType: workload.compression, ...workload.options, ...options };
      const producer = kafka.producer(settings);
      return {
        send: (key, value) => producer.send(key === null ? { topic, value } : { topic, key, value }),
        sendAll: (keys, value) =>
          producer.sendAll(keys.map((key) => key === null ? { topic, value } : { topic, key, value })),
        close: () => producer.close(),
      };
    }
    case "kafkajs": {
      const { Kafka: Peer, CompressionTypes, logLevel } = load("kafkajs") as Package;
      const kafka = new Peer({ brokers: [bootstrap], logLevel: logLevel.NOTHING });
      const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 5 });
      await producer.connect();
      const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
      const compression = codecs[workload.compression as "none"];
      if (compression === undefined) throw new Error(`kafkajs has no ${workload.compression}`);
      const call = (messages: unknown[]) => producer.send({ topic, acks: -1, compression, messages });
      return {
        send: (key, value) => call([{ key, value }]),
        sendAll: (keys, value) => call(keys.map((key) => ({ key, value }))),
        close: () => producer.disconnect(),
      };
    }
    case "platformatic": {
      const { Producer } = load("@platformatic/kafka") as Package;
      const producer = new Producer({
        clientId: "bench",
        bootstrapBrokers: [bootstrap],
        idempotent: true,
        compression: workload.compression,
      });
      const call = (messages: unknown[]) => producer.send({ messages, acks: -1 });
      const message = (key: string | null, value: Uint8Array) =>
        key === null ? { topic, value } : { topic, key: new TextEncoder().encode(key), value };
      return {
        send: (key, value) => call([message(key, value)]),
        sendAll: (keys, value) => call(keys.map((key) => message(key, value))),
        close: () => producer.close(),
      };
    }
    case "kafka-ts": {
      if (workload.compression !== "none") throw new Error(`kafka-ts has no ${workload.compression}`);
      const { createKafkaClient } = load("kafka-ts") as Package;
      const [host, port] = bootstrap.split(":");
      const kafka = createKafkaClient({ clientId: "bench", bootstrapServers: [{ host, port: Number(port) }] });
      const producer = kafka.createProducer({ allowTopicAutoCreation: false });
      const message = (key: string | null, value: Uint8Array) => ({ topic, key, value });
      return {
        send: (key, value) => producer.send([message(key, value)]),
        sendAll: (keys, value) => producer.send(keys.map((key) => message(key, value))),
        close: () => producer.close(),
      };
    }
    case "rdkafka":
      return await startRdkafka(load("node-rdkafka") as Package, setup);
    default:
      throw new Error(`there is no client ${name}: anykafka, ${Object.keys(PEER_PACKAGES).join(", ")}, java`);
  }
}

/** The binding to librdkafka, by its callback interface, which is its cheapest: a promise is settled by its opaque. */
async function startRdkafka(peer: Package, { bootstrap, topic, workload }: BenchSetup): Promise<BenchProducer> {
  const producer = new peer.Producer({
    "bootstrap.servers": bootstrap,
    "enable.idempotence": true,
    "compression.type": workload.compression,
    "dr_cb": true,
    "linger.ms": workload.how === "awaited" ? 0 : 5,
    "queue.buffering.max.messages": 1_000_000,
  });
  await new Promise<void>((resolve, reject) => {
    producer.once("ready", () => resolve());
    producer.once("event.error", reject);
    producer.connect();
  });
  producer.setPollInterval(1);
  producer.on("delivery-report", (error: unknown, { opaque }: Package) => {
    if (error) opaque.reject(error);
    else opaque.resolve();
  });
  const send = (key: string | null, value: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      producer.produce(topic, null, value, key, undefined, { resolve, reject });
    });
  return {
    send,
    sendAll: (keys, value) => Promise.all(keys.map((key) => send(key, value))),
    close: () => new Promise<void>((resolve) => producer.disconnect(() => resolve())),
  };
}
