/**
 * Finds offsets by timestamps, as brokers do for ListOffsets.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { KafkaError } from "../core/kafka_error.ts";
import type { LogSegment, TimestampedOffset } from "./log_segment.ts";
import type { Trace } from "./read_step.ts";

/** Timestamps that ask for a place instead of a time, as in ListOffsets. */
export const LIST_OFFSETS_TIMESTAMPS = {
  /** The end of what may be read. */
  latest: -1,
  /** The first visible offset. */
  earliest: -2,
  /** The record with the greatest timestamp. */
  max: -3,
  /** The first visible offset on this disk. */
  earliestLocal: -4,
  /** The last offset in tiered storage. */
  latestTiered: -5,
  /** The first offset that is not in tiered storage yet. */
  earliestPendingUpload: -6,
} as const;

/** Where to look for a timestamp. */
export interface TimestampSearch {
  /** The segments in order. */
  readonly segments: readonly LogSegment[];
  /** First visible offset. */
  readonly logStartOffset: number;
  /** First offset that is not to be found. */
  readonly bound: number;
  /** Why nothing behind the end can be read, though there is more. */
  readonly endError: KafkaError | undefined;
  /** Whether there are segments more, of which nothing can be read. */
  readonly isCut: boolean;
  /** Codecs for compressed batches. */
  readonly codecs: Codecs;
  /** Takes the steps of the look-up. */
  readonly trace: Trace | undefined;
}

/**
 * The first record in order of offsets with a timestamp ≥ `timestamp`.
 *
 * A segment without any timestamp, of format 0 or emptied by compaction, ends the search as if it were the newest: brokers
 * take the time its file was written for it, which is later than any record's.
 */
export async function findTimestamp(
  timestamp: number,
  search: TimestampSearch,
): Promise<TimestampedOffset | undefined> {
  const { segments, logStartOffset, codecs, trace } = search;
  trace?.({ step: "timestamp", timestamp, logStartOffset });
  for (const segment of segments) {
    const largestTimestamp = await segment.largestTimestamp();
    const isChosen = largestTimestamp < 0 || largestTimestamp >= timestamp;
    traceTimestamp(segment, largestTimestamp, isChosen, trace);
    if (!isChosen) continue;
    // As in Kafka no further segment is looked at: this is the first one with anything as new.
    const found = await segment.findOffsetByTimestamp(timestamp, logStartOffset, { codecs }, trace);
    if (found === undefined && search.endError !== undefined && segment === segments.at(-1)) throw search.endError;
    return within(found, search);
  }
  if (search.isCut && search.endError !== undefined) throw search.endError;
  trace?.({ step: "none" });
  return undefined;
}

/** The first record with the greatest timestamp of the log. */
export async function findMaxTimestamp(search: TimestampSearch): Promise<TimestampedOffset | undefined> {
  if (search.endError !== undefined) throw search.endError; // it may lie behind the end
  const { segments, logStartOffset, codecs, trace } = search;
  trace?.({ step: "timestamp", timestamp: LIST_OFFSETS_TIMESTAMPS.max, logStartOffset });
  let newest: LogSegment | undefined;
  let max = -1;
  for (const segment of segments) {
    const timestamp = segment.size === 0 ? -1 : await segment.largestTimestamp();
    traceTimestamp(segment, timestamp, timestamp > max, trace);
    if (timestamp > max) [newest, max] = [segment, timestamp];
  }
  return within(await newest?.findOffsetOfMaxTimestamp({ codecs }, trace), search);
}

/** `found`, unless it may not be read yet. */
function within(
  found: TimestampedOffset | undefined,
  { bound, trace }: TimestampSearch,
): TimestampedOffset | undefined {
  if (found !== undefined && found.offset < bound) return found;
  trace?.({ step: "none" });
  return undefined;
}

function traceTimestamp(segment: LogSegment, largestTimestamp: number, isChosen: boolean, trace?: Trace): void {
  trace?.({
    step: "segment-timestamp",
    file: segment.file,
    baseOffset: segment.baseOffset,
    largestTimestamp,
    isChosen,
  });
}
