/**
 * The consumer's options: what to read, from where and how far, and how to fetch it. Names and defaults are those of
 * Kafka 4.x where Java has the option.
 *
 * @module
 */

import { millisecondsOption } from "../client/client_options.ts";
import type { IsolationLevel } from "../client/list_offsets.ts";
import { ConfigError } from "../core/kafka_error.ts";
import {
  booleanOption,
  choiceOption,
  integerOption,
  listOption,
  type OptionRow,
  type OptionTable,
  type Resolved,
  resolveOptions,
  seamOption,
} from "../core/option_table.ts";

/**
 * Where reading begins in each partition: at its first record, at its end, at an offset (a number ≥ 0 says the same), that
 * many records before the end (a number < 0), or at the first record with this timestamp (ms since 1970) or a later one.
 */
export type StartOffset =
  | "earliest"
  | "latest"
  | number
  | { readonly offset: number }
  | { readonly timestamp: number };

/**
 * Where reading ends in each partition: at the end as it is when reading begins, before an offset, or before the first
 * record that has this timestamp or a later one when reading begins (at the end when there is none).
 */
export type EndOffset = "end" | { readonly offset: number } | { readonly timestamp: number };

/** One partition to read. */
export interface PartitionAssignment {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Where reading begins; the consumer's `from` when absent. */
  readonly from?: StartOffset | undefined;
  /** Where reading ends; the consumer's `until` when absent. */
  readonly until?: EndOffset | undefined;
}

/** Settings of a consumer. One of `topics` and `assignments` is needed. */
export interface ConsumerOptions {
  /** Topics to read, all their partitions; those added later are read from their start, unless `until` is set. */
  readonly topics?: string | readonly string[] | undefined;
  /** Single partitions to read. */
  readonly assignments?: readonly PartitionAssignment[] | undefined;
  /** Where reading begins. Default `"earliest"`. */
  readonly from?: StartOffset;
  /** Where reading ends; without it the consumer waits for new records for ever. */
  readonly until?: EndOffset | undefined;
  /** What to do when the wanted offset is not in the log (any more): go to its start, its end, or fail (`"none"`, the default). Java: `auto.offset.reset`. */
  readonly autoOffsetReset?: "earliest" | "latest" | "none";
  /** Bytes a broker collects before it answers. Default 1. Java: `fetch.min.bytes`. */
  readonly fetchMinBytes?: number;
  /** Bytes of one answer; a single larger batch still comes. Default 52428800. Java: `fetch.max.bytes`. */
  readonly fetchMaxBytes?: number;
  /** Bytes of one partition in an answer; a single larger batch still comes. Default 1048576. Java: `max.partition.fetch.bytes`. */
  readonly maxPartitionFetchBytes?: number;
  /** Most milliseconds a broker waits for `fetchMinBytes`. Default 500. Java: `fetch.max.wait.ms`. */
  readonly fetchMaxWaitMs?: number;
  /** `"read_committed"` hides records of aborted transactions and stops before open ones. Default `"read_uncommitted"`. Java: `isolation.level`. */
  readonly isolationLevel?: IsolationLevel;
  /** Whether checksums are checked. Default true. Java: `check.crcs`. */
  readonly checkCrcs?: boolean;
  /** Whether reading a topic that does not exist creates it, where the broker allows that. Default true. Java: `allow.auto.create.topics`. */
  readonly allowAutoCreateTopics?: boolean;
  /** Ends reading with an AbortedError. */
  readonly signal?: AbortSignal | undefined;
}

const INT32_MAX = 2 ** 31 - 1;

const startOption: OptionRow<StartOffset> = {
  key: "from",
  default: "earliest",
  expected: '"earliest", "latest", an offset, a negative count from the end, { offset } or { timestamp }',
  accepts: isStart,
  parse: (text) => text === "earliest" || text === "latest" ? text : /^-?\d+$/.test(text) ? Number(text) : undefined,
};

const endOption: OptionRow<EndOffset> = {
  key: "until",
  expected: '"end", { offset } or { timestamp }',
  accepts: isEnd,
  parse: (text) => text === "end" ? text : undefined,
};

const assignmentsOption: OptionRow<readonly PartitionAssignment[]> = {
  key: "assignments",
  expected: "a non-empty array of { topic, partition, from?, until? }",
  accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(isAssignment),
};

/** The rows of {@linkcode ConsumerOptions}. */
export const consumerOptionTable: OptionTable<ConsumerOptions> = {
  topics: listOption("topics", "a topic or a non-empty list of topics"),
  assignments: assignmentsOption,
  from: startOption,
  until: endOption,
  autoOffsetReset: choiceOption<"earliest" | "latest" | "none">("auto.offset.reset", "none", [
    "earliest",
    "latest",
    "none",
  ]),
  fetchMinBytes: integerOption("fetch.min.bytes", 1, 0, INT32_MAX),
  fetchMaxBytes: integerOption("fetch.max.bytes", 50 * 1024 * 1024, 0, INT32_MAX),
  maxPartitionFetchBytes: integerOption("max.partition.fetch.bytes", 1024 * 1024, 0, INT32_MAX),
  fetchMaxWaitMs: millisecondsOption("fetch.max.wait.ms", 500),
  isolationLevel: choiceOption<IsolationLevel>("isolation.level", "read_uncommitted", [
    "read_uncommitted",
    "read_committed",
  ]),
  checkCrcs: booleanOption("check.crcs", true),
  allowAutoCreateTopics: booleanOption("allow.auto.create.topics", true),
  signal: seamOption<AbortSignal>("signal", "an AbortSignal"),
};

/**
 * Checks `given` and fills in the defaults.
 *
 * @throws ConfigError
 */
export function resolveConsumerOptions(given: ConsumerOptions): Resolved<ConsumerOptions> {
  const options = resolveOptions("consumer", consumerOptionTable, given);
  if ((options.topics === undefined) === (options.assignments === undefined)) {
    throw new ConfigError(
      options.topics === undefined
        ? 'consumer: say what to read: topics: ["orders"], or assignments: [{ topic: "orders", partition: 0 }]'
        : "consumer: give topics or assignments, not both",
    );
  }
  const seen = new Set<string>();
  for (const { topic, partition } of options.assignments ?? []) {
    const name = `${topic}-${partition}`;
    if (seen.has(name)) throw new ConfigError(`consumer: ${name} is in assignments twice`, { topic, partition });
    seen.add(name);
  }
  return options;
}

function isStart(value: unknown): value is StartOffset {
  return value === "earliest" || value === "latest" || Number.isSafeInteger(value) || isPlace(value);
}

function isEnd(value: unknown): value is EndOffset {
  return value === "end" || isPlace(value);
}

function isPlace(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const entries = Object.entries(value);
  if (entries.length !== 1) return false;
  const [name, number] = entries[0]!;
  return (name === "offset" || name === "timestamp") && isCount(number);
}

function isAssignment(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { topic, partition, from, until, ...rest } = value as { [name: string]: unknown };
  return typeof topic === "string" && topic !== "" && isCount(partition) && (from === undefined || isStart(from)) &&
    (until === undefined || isEnd(until)) && Object.keys(rest).length === 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
