/**
 * How a log is opened.
 *
 * @module
 */

import { type Clock, systemClock } from "../core/clock.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { Anomaly } from "./anomaly.ts";

/** `"inspect"` only reads; `"write"` recovers the tail and takes appends. */
export type LogMode = "inspect" | "write";

/** How a log is opened. */
export interface LogOptions {
  /** `"inspect"`, the default, only reads; `"write"` recovers the tail and takes appends. */
  readonly mode?: LogMode;
  /** Topic, for messages and records. */
  readonly topic?: string;
  /** Partition, for messages and records. */
  readonly partition?: number;
  /** Topic id to keep in `partition.metadata`: 22 characters of base64url. */
  readonly topicId?: string;
  /** Bytes at which a new segment is begun. Default 1 GiB. Kafka: `segment.bytes`. */
  readonly segmentBytes?: number;
  /** Bytes of batches between two index entries. Default 4096. Kafka: `index.interval.bytes`. */
  readonly indexIntervalBytes?: number;
  /** Most bytes of one index file. Default 10 MiB. Kafka: `segment.index.bytes`. */
  readonly segmentIndexBytes?: number;
  /**
   * How long a segment takes batches, told by their timestamps, or by the clock where they have none. Default 7 days.
   * Kafka: `segment.ms`.
   */
  readonly segmentMs?: number;
  /** Most bytes of a batch that is read whole. Default 100 MiB, the most that a broker takes in one request. */
  readonly maxBatchBytes?: number;
  /** Most bytes of indexes that are kept in memory once they were read. Default 32 MiB. */
  readonly indexCacheBytes?: number;
  /** First visible offset, where it is not that of the first segment: a line of `log-start-offset-checkpoint`. */
  readonly logStartOffset?: number;
  /** First offset that is not replicated: a line of `replication-offset-checkpoint`. The end of the log when absent. */
  readonly highWatermark?: number;
  /** First offset not known to be on the disk: a line of `recovery-point-offset-checkpoint`. */
  readonly recoveryPoint?: number;
  /** Whether the log was closed in order, so that `"write"` need not check the last segment. Default false. */
  readonly cleanShutdown?: boolean;
  /** What was found to be odd around the folder; told with what is odd in it. */
  readonly anomalies?: readonly Anomaly[];
  /** Checksum to use; the fastest one here when absent. */
  readonly crc32c?: Crc32c;
  /** Where time comes from. */
  readonly clock?: Clock;
  /** Takes what is odd but no failure. */
  readonly logger?: Logger;
}

/** The options with their defaults; what the folder tells when they are absent is not among them. */
export type LogSettings = Required<
  Omit<
    LogOptions,
    "topic" | "partition" | "topicId" | "logStartOffset" | "highWatermark" | "recoveryPoint" | "anomalies"
  >
>;

const MIB = 1024 * 1024;
const SEGMENT_MS = 7 * 24 * 60 * 60 * 1000;

/** Fills in the defaults. */
export function logSettings(options: LogOptions, crc32c: Crc32c): LogSettings {
  return {
    mode: options.mode ?? "inspect",
    segmentBytes: options.segmentBytes ?? 1024 * MIB,
    segmentMs: options.segmentMs ?? SEGMENT_MS,
    indexIntervalBytes: options.indexIntervalBytes ?? 4096,
    segmentIndexBytes: options.segmentIndexBytes ?? 10 * MIB,
    maxBatchBytes: options.maxBatchBytes ?? 100 * MIB,
    indexCacheBytes: options.indexCacheBytes ?? 32 * MIB,
    cleanShutdown: options.cleanShutdown ?? false,
    crc32c,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
  };
}

/** The topic and partition of `options`, as messages and records name them. */
export function recordContextOf({ topic, partition }: LogOptions): RecordContext {
  return { ...(topic === undefined ? {} : { topic }), ...(partition === undefined ? {} : { partition }) };
}

/** `orders-3: `, before a message; empty when the topic is not known. */
export function placeText({ topic, partition }: RecordContext): string {
  return topic === undefined ? "" : partition === undefined ? `${topic}: ` : `${topic}-${partition}: `;
}
