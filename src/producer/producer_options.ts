/**
 * The producer's options, with the names and defaults of Kafka 4.x, and the rules between them.
 *
 * @module
 */

import { millisecondsOption } from "../client/client_options.ts";
import type { ClientOptions } from "../client/client_options.ts";
import { COMPRESSION_TYPES, type CompressionType } from "../compression/codec.ts";
import { ConfigError } from "../core/kafka_error.ts";
import {
  booleanOption,
  choiceOption,
  integerOption,
  type OptionRow,
  type OptionTable,
  type Resolved,
  resolveOptions,
} from "../core/option_table.ts";

/** Which replicas must have a record before it counts as sent: none, the leader, or all that are in sync. */
export type Acks = 0 | 1 | "all";

/** Settings of a producer. */
export interface ProducerOptions {
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
  /** Bytes of one batch. Default 16384. Java: `batch.size`. */
  readonly batchSize?: number;
  /** Bytes of all records not yet acknowledged; past it `send` waits. Default 33554432. Java: `buffer.memory`. */
  readonly bufferMemory?: number;
  /** Most milliseconds that `send` waits for metadata and memory together. Default 60000. Java: `max.block.ms`. */
  readonly maxBlockMs?: number;
  /** Bytes of one request, and of one record before compression. Default 1048576. Java: `max.request.size`. */
  readonly maxRequestSize?: number;
  /** Codec of the batches. Default `"none"`. Java: `compression.type`. */
  readonly compressionType?: CompressionType;
  /** Level on the codec's own scale; its default when absent. Java: `compression.gzip.level` and its like. */
  readonly compressionLevel?: number | undefined;
  /** Treats every record as if it had no key when a partition is chosen. Default false. Java: `partitioner.ignore.keys`. */
  readonly partitionerIgnoreKeys?: boolean;
}

const INT32_MAX = 2 ** 31 - 1;

const compressionLevelOption: OptionRow<number> = {
  key: "compression.level",
  expected: "an integer on the codec's own scale",
  accepts: (value) => Number.isSafeInteger(value),
  parse: (text) => /^-?\d+$/.test(text) ? Number(text) : undefined,
};

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
  compressionLevel: compressionLevelOption,
  partitionerIgnoreKeys: booleanOption("partitioner.ignore.keys", false),
};

/**
 * Checks `given`, fills in the defaults and applies the rules between options. What the caller set explicitly is never
 * changed behind their back: where it contradicts itself, that is an error; a mere default gives way.
 *
 * @throws ConfigError
 */
export function resolveProducerOptions(
  given: ProducerOptions,
  client: Resolved<ClientOptions>,
): Resolved<ProducerOptions> {
  const options = resolveOptions("producer", producerOptionTable, given);
  const explicit = given.enableIdempotence === true;
  let idempotent = options.enableIdempotence;
  if (idempotent && options.retries === 0) {
    if (explicit) throw new ConfigError("producer: enableIdempotence needs retries > 0");
    idempotent = false;
  }
  if (idempotent && options.acks !== "all") {
    if (explicit) throw new ConfigError(`producer: enableIdempotence needs acks "all", not ${options.acks}`);
    idempotent = false;
  }
  if (idempotent && options.maxInFlightRequestsPerConnection > 5) {
    throw new ConfigError(
      `producer: maxInFlightRequestsPerConnection must be at most 5 with idempotence, not ` +
        `${options.maxInFlightRequestsPerConnection}: the broker remembers the last 5 batches of a producer`,
    );
  }
  let { deliveryTimeoutMs } = options;
  const least = Math.min(options.lingerMs + client.requestTimeoutMs, INT32_MAX);
  if (deliveryTimeoutMs < least) {
    if (given.deliveryTimeoutMs !== undefined) {
      throw new ConfigError(
        `producer: deliveryTimeoutMs ${deliveryTimeoutMs} must be at least lingerMs + requestTimeoutMs = ${least}`,
      );
    }
    client.logger.warn(`producer: deliveryTimeoutMs raised to lingerMs + requestTimeoutMs = ${least}`);
    deliveryTimeoutMs = least;
  }
  // Java's compression.type none ignores a level; so do we.
  return { ...options, enableIdempotence: idempotent, deliveryTimeoutMs, batchSize: Math.max(1, options.batchSize) };
}
