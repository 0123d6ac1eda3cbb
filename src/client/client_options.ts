/**
 * The options that every client has: where the cluster is, how connections are made and kept, and the seams.
 *
 * @module
 */

import { utf8Length } from "../bytes/utf8.ts";
import type { Codecs } from "../compression/codec.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { type Metrics, noMetrics } from "../core/metrics.ts";
import {
  choiceOption,
  integerOption,
  listOption,
  type OptionRow,
  type OptionTable,
  seamOption,
  stringOption,
} from "../core/option_table.ts";
import type { Random } from "../core/random.ts";
import type { Connect, TlsOptions } from "../transport/transport.ts";

/** Settings of a `Kafka` and of all clients made from it. Names are Java's keys in camelCase, defaults those of Kafka 4.x. */
export interface ClientOptions {
  /** Brokers to ask first, `host:port`; a few of the cluster are enough. Java: `bootstrap.servers`. */
  readonly bootstrapServers: string | readonly string[];
  /** Name in the brokers' logs, quotas and metrics, 32767 bytes at most. Default `"anykafka"`. Java: `client.id`. */
  readonly clientId?: string;
  /** `"PLAINTEXT"` (default) or `"SSL"`. Java: `security.protocol`. SASL is not supported yet and is refused. */
  readonly securityProtocol?: "PLAINTEXT" | "SSL";
  /** Certificates and names for TLS; giving it turns on `"SSL"`. Java: `ssl.*`, here as PEM text. */
  readonly tls?: TlsOptions | undefined;
  /** Most milliseconds to wait for one answer; then the connection is closed. Default 30000. Java: `request.timeout.ms`. */
  readonly requestTimeoutMs?: number;
  /** Most milliseconds for a call that may need several requests. Default 60000. Java: `default.api.timeout.ms`. */
  readonly defaultApiTimeoutMs?: number;
  /** Wait in milliseconds before a request is tried again; doubles per failure. Default 100. Java: `retry.backoff.ms`. */
  readonly retryBackoffMs?: number;
  /** Longest such wait. Default 1000. Java: `retry.backoff.max.ms`. */
  readonly retryBackoffMaxMs?: number;
  /** Wait in milliseconds before a broker is connected to again; doubles per failure. Default 50. Java: `reconnect.backoff.ms`. */
  readonly reconnectBackoffMs?: number;
  /**
   * Longest such wait. Default 1000, or `reconnectBackoffMs` where only that is given, which then is the wait each time.
   * Java: `reconnect.backoff.max.ms`.
   */
  readonly reconnectBackoffMaxMs?: number;
  /** Most milliseconds to set up a connection; doubles per failure. Default 10000. Java: `socket.connection.setup.timeout.ms`. */
  readonly socketConnectionSetupTimeoutMs?: number;
  /** Longest such time. Default 30000. Java: `socket.connection.setup.timeout.max.ms`. */
  readonly socketConnectionSetupTimeoutMaxMs?: number;
  /** Milliseconds after which an unused connection is closed. Default 540000. Java: `connections.max.idle.ms`. */
  readonly connectionsMaxIdleMs?: number;
  /** Milliseconds after which the cluster's metadata is asked for again. Default 300000. Java: `metadata.max.age.ms`. */
  readonly metadataMaxAgeMs?: number;
  /** Milliseconds after which an unused topic is forgotten. Default 300000. Java: `metadata.max.idle.ms`. */
  readonly metadataMaxIdleMs?: number;
  /**
   * Where a client begins anew when no node it knows can be reached: at the bootstrap servers (`"rebootstrap"`, the default)
   * or nowhere (`"none"`). Java: `metadata.recovery.strategy`.
   */
  readonly metadataRecoveryStrategy?: "rebootstrap" | "none";
  /**
   * Milliseconds without metadata, though it is wanted, after which every connection is closed and the bootstrap servers are
   * asked. Default 300000. Java: `metadata.recovery.rebootstrap.trigger.ms`.
   */
  readonly metadataRecoveryRebootstrapTriggerMs?: number;
  /** Largest answer in bytes that is taken from a broker. Default 104857600. librdkafka: `receive.message.max.bytes`. */
  readonly receiveMessageMaxBytes?: number;
  /** Opens sockets; the runtime's own adapter when absent. */
  readonly connect?: Connect | undefined;
  /** Codecs; the runtime's native ones when absent. */
  readonly codecs?: Codecs | undefined;
  /** Time. */
  readonly clock?: Clock;
  /** Chance. */
  readonly random?: Random;
  /** Takes messages about the client's work; silent when absent. */
  readonly logger?: Logger;
  /** Takes figures about the client's work. */
  readonly metrics?: Metrics;
}

const INT16_MAX = 2 ** 15 - 1;
const INT32_MAX = 2 ** 31 - 1;

/** A client option that is a count of milliseconds. */
export function millisecondsOption(key: string, fallback: number, min = 0): OptionRow<number> {
  return integerOption(key, fallback, min, INT32_MAX);
}

/** The rows of {@linkcode ClientOptions}. */
export const clientOptionTable: OptionTable<ClientOptions> = {
  bootstrapServers: listOption("bootstrap.servers", 'one or more "host:port"'),
  clientId: {
    ...stringOption("client.id", "anykafka"),
    expected: `text of 1 to ${INT16_MAX} bytes`,
    accepts: (value) => typeof value === "string" && value !== "" && utf8Length(value) <= INT16_MAX,
  },
  securityProtocol: choiceOption<"PLAINTEXT" | "SSL">("security.protocol", "PLAINTEXT", ["PLAINTEXT", "SSL"]),
  tls: seamOption<TlsOptions>("tls", "an object { ca, cert, key, serverName, insecure }"),
  requestTimeoutMs: millisecondsOption("request.timeout.ms", 30_000, 1),
  defaultApiTimeoutMs: millisecondsOption("default.api.timeout.ms", 60_000),
  retryBackoffMs: millisecondsOption("retry.backoff.ms", 100),
  retryBackoffMaxMs: millisecondsOption("retry.backoff.max.ms", 1000),
  reconnectBackoffMs: millisecondsOption("reconnect.backoff.ms", 50),
  reconnectBackoffMaxMs: millisecondsOption("reconnect.backoff.max.ms", 1000),
  socketConnectionSetupTimeoutMs: millisecondsOption("socket.connection.setup.timeout.ms", 10_000, 1),
  socketConnectionSetupTimeoutMaxMs: millisecondsOption("socket.connection.setup.timeout.max.ms", 30_000, 1),
  connectionsMaxIdleMs: millisecondsOption("connections.max.idle.ms", 540_000, 1),
  metadataMaxAgeMs: millisecondsOption("metadata.max.age.ms", 300_000),
  metadataMaxIdleMs: millisecondsOption("metadata.max.idle.ms", 300_000, 5000),
  metadataRecoveryStrategy: choiceOption<"rebootstrap" | "none">("metadata.recovery.strategy", "rebootstrap", [
    "rebootstrap",
    "none",
  ]),
  metadataRecoveryRebootstrapTriggerMs: millisecondsOption("metadata.recovery.rebootstrap.trigger.ms", 300_000),
  receiveMessageMaxBytes: integerOption("receive.message.max.bytes", 100 * 1024 * 1024, 1024, INT32_MAX),
  connect: seamOption<Connect>("connect", "a function (host, port, options) => Promise<Transport>"),
  codecs: seamOption<Codecs>("codecs", "an object { gzip, snappy, lz4, zstd } of codecs"),
  clock: seamOption<Clock>("clock", "a clock", systemClock),
  random: seamOption<Random>("random", "a function that answers numbers in [0, 1)", Math.random),
  logger: seamOption<Logger>("logger", "an object { debug, info, warn, error }", silentLogger),
  metrics: seamOption<Metrics>("metrics", "an object { count, observe }", noMetrics),
};
