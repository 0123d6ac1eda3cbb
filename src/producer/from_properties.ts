/**
 * Reads a producer's settings as Java programs write them: dotted keys, values as text.
 *
 * ```ts no-run
 * import { fromProperties, Kafka } from "@anykafka/kafka";
 *
 * const { client, producer, notes } = fromProperties({
 *   "bootstrap.servers": "localhost:9092",
 *   "linger.ms": "50",
 *   "compression.type": "zstd",
 * });
 * for (const { key, reason } of notes) console.warn(`${key}: ${reason}`);
 * const sender = new Kafka(client).producer(producer);
 * ```
 *
 * @module
 */

import { type ClientOptions, clientOptionTable } from "../client/client_options.ts";
import { ConfigError } from "../core/kafka_error.ts";
import { nearest } from "../core/nearest.ts";
import { optionsFromProperties } from "../core/option_table.ts";
import type { TlsOptions } from "../transport/transport.ts";
import { type ProducerOptions, producerOptionTable } from "./producer_options.ts";
import { roundRobin } from "./round_robin.ts";
import type { Serializer } from "./serializer.ts";
import { javaSerializers } from "./serializers.ts";

/** A key that was read and has no effect. */
export interface PropertyNote {
  /** The key. */
  readonly key: string;
  /** Why it has none. */
  readonly reason: string;
}

/** Settings that were read. */
export interface PropertySettings {
  /** For `new Kafka(…)`. */
  readonly client: ClientOptions;
  /** For `kafka.producer(…)`. */
  readonly producer: ProducerOptions<unknown, unknown>;
  /** Keys without effect: those of {@linkcode propertiesWithoutEffect}, and unknown ones, which Java ignores, too. */
  readonly notes: readonly PropertyNote[];
}

/** Keys of Java's producer that are accepted and have no effect here, with the reason. */
export const propertiesWithoutEffect: Readonly<Record<string, string>> = {
  "auto.include.jmx.reporter": "there is no JMX here; see producer.metrics()",
  "client.dns.lookup": "the runtime looks names up and tries every address",
  "config.providers": "values are taken as they are written",
  "enable.metrics.push": "figures are not pushed to the brokers",
  "metric.reporters": "give a Metrics object as the option metrics",
  "metrics.num.samples": "rates are over the last 30 to 60 seconds",
  "metrics.recording.level": "all figures are kept",
  "metrics.sample.window.ms": "rates are over the last 30 to 60 seconds",
  "receive.buffer.bytes": "runtimes leave the sizes of socket buffers to the system",
  "security.providers": "there is no JVM here",
  "send.buffer.bytes": "runtimes leave the sizes of socket buffers to the system",
  "ssl.keystore.type": "keys and certificates are PEM",
  "ssl.truststore.type": "keys and certificates are PEM",
  "transaction.timeout.ms": "it has none without transactional.id",
  "transaction.two.phase.commit.enable": "it has none without transactional.id",
};

/** Keys that must not be dropped silently, since a program relies on what they promise. */
const REFUSED: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^transactional\.id$/, "transactions are not supported yet"],
  [
    /^ssl\.(?:truststore|keystore)\.location$/,
    "give PEM text: ssl.truststore.certificates, ssl.keystore.certificate.chain, ssl.keystore.key",
  ],
  [/^ssl\.endpoint\.identification\.algorithm$/, "host names are always checked; only https is possible"],
  [/^partitioner\.class$/, "only RoundRobinPartitioner is known by name; give a function as the option partitioner"],
  [/^interceptor\.classes$/, "give objects as the option interceptors"],
  [
    /^(?:key|value)\.serializer$/,
    "known by name are Java's serializers of strings, byte arrays and numbers; give a function as the option",
  ],
];

const PACKAGE = "org.apache.kafka.common.serialization.";
const ROUND_ROBIN = /^(?:org\.apache\.kafka\.clients\.producer\.)?RoundRobinPartitioner$/;

/**
 * Reads settings with Java's keys; the names of our own options serve as well. Values that are no text, such as numbers,
 * are read as the text they print as.
 *
 * @throws ConfigError for a value that does not fit, and for keys whose promise cannot be kept here.
 */
export function fromProperties(
  properties: Readonly<Record<string, string | number | boolean>> | ReadonlyMap<string, string>,
): PropertySettings {
  const given = properties instanceof Map ? properties : Object.entries(properties);
  const left = new Map<string, string>();
  for (const [key, value] of given) left.set(key, String(value).trim());

  const seams = { ...tlsFrom(left), ...serializersFrom(left), ...partitionerFrom(left) };
  const { tls, ...producerSeams } = seams;
  const client = optionsFromProperties("client", clientOptionTable, left);
  const producer = optionsFromProperties("producer", producerOptionTable, left);
  const notes: PropertyNote[] = [];
  for (const [key, value] of left) {
    const refused = value === "" ? undefined : REFUSED.find(([pattern]) => pattern.test(key));
    if (refused !== undefined) throw new ConfigError(`properties: ${key}=${shown(key, value)}: ${refused[1]}`);
    notes.push({ key, reason: propertiesWithoutEffect[key] ?? unknownReason(key) });
  }
  return {
    client: tls === undefined ? client : { ...client, tls },
    producer: { ...producer as unknown as ProducerOptions<unknown, unknown>, ...producerSeams },
    notes,
  };
}

function take(left: Map<string, string>, key: string): string | undefined {
  const value = left.get(key);
  left.delete(key);
  return value === "" ? undefined : value;
}

function tlsFrom(left: Map<string, string>): { tls?: TlsOptions } {
  if (left.get("ssl.endpoint.identification.algorithm")?.toLowerCase() === "https") {
    left.delete("ssl.endpoint.identification.algorithm");
  }
  const ca = take(left, "ssl.truststore.certificates");
  const cert = take(left, "ssl.keystore.certificate.chain");
  const key = take(left, "ssl.keystore.key");
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  return Object.keys(tls).length === 0 ? {} : { tls };
}

function serializersFrom(
  left: Map<string, string>,
): Pick<ProducerOptions<unknown, unknown>, "keySerializer" | "valueSerializer"> {
  const found: Record<string, Serializer<unknown>> = {};
  for (const [key, option] of [["key.serializer", "keySerializer"], ["value.serializer", "valueSerializer"]] as const) {
    const name = left.get(key)?.replace(PACKAGE, "");
    if (name === undefined || !Object.hasOwn(javaSerializers, name)) continue;
    left.delete(key);
    // What it is given is checked by the serializer itself.
    found[option] = javaSerializers[name] as unknown as Serializer<unknown>;
  }
  return found;
}

function partitionerFrom(left: Map<string, string>): Pick<ProducerOptions<unknown, unknown>, "partitioner"> {
  if (!ROUND_ROBIN.test(left.get("partitioner.class") ?? "")) return {};
  left.delete("partitioner.class");
  return { partitioner: roundRobin() };
}

function unknownReason(key: string): string {
  const known = [clientOptionTable, producerOptionTable].flatMap((table) => Object.values(table).map((row) => row.key));
  const meant = nearest(key, known);
  return `unknown; it is ignored${meant === undefined ? "" : `. Did you mean ${meant}?`}`;
}

/** The value in a message, unless it may be a secret. */
function shown(key: string, value: string): string {
  return /jaas|password|key$/.test(key) ? "…" : value;
}
