/**
 * The producer's options, with the names and defaults of Kafka 4.x, and the rules between them.
 *
 * @module
 */

import { millisecondsOption } from "../client/client_options.ts";
import type { ClientOptions } from "../client/client_options.ts";
import {
  COMPRESSION_LEVELS,
  COMPRESSION_TYPES,
  type CompressionType,
  isCompressionLevel,
} from "../compression/codec.ts";
import { ConfigError } from "../core/kafka_error.ts";
import {
  booleanOption,
  choiceOption,
  integerOption,
  type OptionRow,
  type OptionTable,
  type Resolved,
  resolveOptions,
  seamOption,
} from "../core/option_table.ts";
import type { Interceptor } from "./interceptor.ts";
import type { Partitioner, PartitionFunction } from "./partitioner.ts";
import type { Payload } from "./record_metadata.ts";
import type { Serializer } from "./serializer.ts";

/** Which replicas must have a record before it counts as sent: none, the leader, or all that are in sync. */
export type Acks = 0 | 1 | "all";

/** Settings of a producer whose records have keys of type `K` and values of type `V`. */
export interface ProducerOptions<K = Payload, V = Payload> {
  /** Default `"all"`; `0` and `1` turn idempotence off. Java: `acks`. */
  readonly acks?: Acks;
  /** Whether retries can neither double nor reorder records. Default true. Java: `enable.idempotence`. */
  readonly enableIdempotence?: boolean;
  /** Attempts after the first for one batch; leave it and bound time by `deliveryTimeoutMs`. Default 2147483647. Java: `retries`. */
  readonly retries?: number;
  /** Unanswered requests per connection, 1 to 5 with idempotence. Default 5. Java: `max.in.flight.requests.per.connection`. */
  readonly maxInFlightRequestsPerConnection?: number;
  /** Most milliseconds from a batch's first record to its outcome. Default 120000. Java: `delivery.timeout.ms`. */
  readonly deliveryTimeoutMs?: number;
  /** Milliseconds that a batch which is not full waits for more records. Default 5. Java: `linger.ms`. */
  readonly lingerMs?: number;
  /** Bytes of one batch; 0 sends every record alone. Default 16384. Java: `batch.size`. */
  readonly batchSize?: number;
  /** Bytes of all records not yet acknowledged; past it `send` waits. Default 33554432. Java: `buffer.memory`. */
  readonly bufferMemory?: number;
  /** Most milliseconds that `send` waits for metadata and memory together. Default 60000. Java: `max.block.ms`. */
  readonly maxBlockMs?: number;
  /** Bytes of one request, and of one record before compression. Default 1048576. Java: `max.request.size`. */
  readonly maxRequestSize?: number;
  /** Codec of the batches. Default `"none"`. Java: `compression.type`. */
  readonly compressionType?: CompressionType;
  /** Level of gzip, 1 to 9, or −1 for zlib's own, which is 6. Default −1. Java: `compression.gzip.level`. */
  readonly compressionGzipLevel?: number;
  /** Level of LZ4, 1 to 17; as in Java the default is the fast compressor. Default 9. Java: `compression.lz4.level`. */
  readonly compressionLz4Level?: number;
  /** Level of zstd, −131072 to 22. Default 3. Java: `compression.zstd.level`. */
  readonly compressionZstdLevel?: number;
  /** Makes bytes of keys; bytes and text need none. Java: `key.serializer`. */
  readonly keySerializer?: Serializer<K> | undefined;
  /** Makes bytes of values; bytes and text need none. Java: `value.serializer`. */
  readonly valueSerializer?: Serializer<V> | undefined;
  /** Decides partitions instead of the key's hash and the sticky choice. Java: `partitioner.class`. */
  readonly partitioner?: PartitionFunction<NoInfer<K>, NoInfer<V>> | Partitioner<NoInfer<K>, NoInfer<V>> | undefined;
  /** Treats every record as if it had no key when a partition is chosen. Default false. Java: `partitioner.ignore.keys`. */
  readonly partitionerIgnoreKeys?: boolean;
  /** Gives partitions that are behind fewer of the records without a key. Default true. Java: `partitioner.adaptive.partitioning.enable`. */
  readonly partitionerAdaptivePartitioningEnable?: boolean;
  /** Milliseconds after which a node that takes nothing gets no records without a key; 0 for never. Default 0. Java: `partitioner.availability.timeout.ms`. */
  readonly partitionerAvailabilityTimeoutMs?: number;
  /** See every record and its outcome, in this order. Java: `interceptor.classes`. */
  readonly interceptors?: readonly Interceptor<NoInfer<K>, NoInfer<V>>[] | undefined;
  /** Whether sending to a topic that does not exist creates it, where the broker allows that. Default true, as Java's producer always does. */
  readonly allowAutoCreateTopics?: boolean;
}

/** The options that are plain values, checked and with defaults. */
export type ProducerSettings = Omit<
  Resolved<ProducerOptions>,
  "keySerializer" | "valueSerializer" | "partitioner" | "interceptors"
>;

const INT32_MAX = 2 ** 31 - 1;

const interceptorsOption: OptionRow<readonly Interceptor[]> = {
  key: "interceptors",
  expected: "an array of { onSend, onAcknowledgement, close }",
  accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null),
};

function levelOption(type: keyof typeof COMPRESSION_LEVELS): OptionRow<number> {
  const { least, most, default: fallback } = COMPRESSION_LEVELS[type];
  return {
    ...integerOption(`compression.${type}.level`, fallback),
    expected: `an integer from ${least} to ${most}${fallback < least ? `, or ${fallback}` : ""}`,
    accepts: (value) => isCompressionLevel(type, value as number),
  };
}

/** The rows of {@linkcode ProducerOptions}. */
export const producerOptionTable: OptionTable<ProducerOptions> = {
  acks: {
    ...choiceOption<Acks>("acks", "all", [0, 1, "all"]),
    parse: (text) => ({ "0": 0, "1": 1, "-1": "all", all: "all" } as Record<string, Acks>)[text.toLowerCase()],
  },
  enableIdempotence: booleanOption("enable.idempotence", true),
  retries: integerOption("retries", INT32_MAX, 0, INT32_MAX),
  maxInFlightRequestsPerConnection: integerOption("max.in.flight.requests.per.connection", 5, 1, INT32_MAX),
  deliveryTimeoutMs: millisecondsOption("delivery.timeout.ms", 120_000),
  lingerMs: millisecondsOption("linger.ms", 5),
  batchSize: integerOption("batch.size", 16_384, 0, INT32_MAX),
  bufferMemory: integerOption("buffer.memory", 32 * 1024 * 1024),
  maxBlockMs: millisecondsOption("max.block.ms", 60_000),
  maxRequestSize: integerOption("max.request.size", 1024 * 1024, 0, INT32_MAX),
  compressionType: choiceOption<CompressionType>("compression.type", "none", COMPRESSION_TYPES),
  compressionGzipLevel: levelOption("gzip"),
  compressionLz4Level: levelOption("lz4"),
  compressionZstdLevel: levelOption("zstd"),
  keySerializer: { ...seamOption("key.serializer", "a function"), accepts: isFunction },
  valueSerializer: { ...seamOption("value.serializer", "a function"), accepts: isFunction },
  partitioner: {
    ...seamOption("partitioner", "a function or an object { partition }"),
    accepts: (value) => isFunction(value) || isFunction((value as { partition?: unknown } | null)?.partition),
  },
  partitionerIgnoreKeys: booleanOption("partitioner.ignore.keys", false),
  partitionerAdaptivePartitioningEnable: booleanOption("partitioner.adaptive.partitioning.enable", true),
  partitionerAvailabilityTimeoutMs: millisecondsOption("partitioner.availability.timeout.ms", 0),
  interceptors: interceptorsOption,
  allowAutoCreateTopics: booleanOption("allow.auto.create.topics", true),
};

/**
 * Checks `given`, fills in the defaults and applies the rules between options. What the caller set explicitly is never
 * changed behind their back: where it contradicts itself, that is an error; a mere default gives way.
 *
 * @throws ConfigError
 */
export function resolveProducerOptions<K, V>(
  given: ProducerOptions<K, V>,
  client: Resolved<ClientOptions>,
): Resolved<ProducerOptions<K, V>> {
  const table = producerOptionTable as unknown as OptionTable<ProducerOptions<K, V>>;
  const options = resolveOptions("producer", table, given);
  const { acks, lingerMs, maxInFlightRequestsPerConnection: inFlight, retries } = options;
  const explicit = given.enableIdempotence === true;
  let idempotent = options.enableIdempotence;
  if (idempotent && (retries === 0 || acks !== "all")) {
    const contradiction = retries === 0 ? "retries > 0" : `acks "all", not ${acks}`;
    if (explicit) throw new ConfigError(`producer: enableIdempotence needs ${contradiction}`);
    client.logger.info(`producer: idempotence is off, since it needs ${contradiction}`);
    idempotent = false;
  }
  if (idempotent && inFlight > 5) {
    throw new ConfigError(
      `producer: maxInFlightRequestsPerConnection must be at most 5 with idempotence, not ${inFlight}: the broker ` +
        `remembers the last 5 batches of a producer`,
    );
  }
  let { deliveryTimeoutMs } = options;
  const least = Math.min(lingerMs + client.requestTimeoutMs, INT32_MAX);
  if (deliveryTimeoutMs < least) {
    if (given.deliveryTimeoutMs !== undefined) {
      throw new ConfigError(
        `producer: deliveryTimeoutMs ${deliveryTimeoutMs} must be at least lingerMs + requestTimeoutMs = ${least}`,
      );
    }
    client.logger.warn(`producer: deliveryTimeoutMs raised to lingerMs + requestTimeoutMs = ${least}`);
    deliveryTimeoutMs = least;
  }
  return { ...options, enableIdempotence: idempotent, deliveryTimeoutMs, batchSize: Math.max(1, options.batchSize) };
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

/** The level for the codec in use; undefined where it has none. */
export function levelInUse(options: ProducerSettings): number | undefined {
  return {
    none: undefined,
    gzip: options.compressionGzipLevel,
    snappy: undefined,
    lz4: options.compressionLz4Level,
    zstd: options.compressionZstdLevel,
  }[options.compressionType];
}
