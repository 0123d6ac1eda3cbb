/**
 * The way of one read: the floor segment, the floor of its offset index, batch headers up to the one wanted, and a slice
 * of the file from there, which ends where the reader may not look yet.
 *
 * @module
 */

import { KafkaError } from "../core/kafka_error.ts";
import type { AbortedTransaction } from "../records/aborted_transaction_filter.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { FileRecords } from "./file_records.ts";
import type { LogOffsetMetadata } from "./log_offset_metadata.ts";
import { placeText } from "./log_options.ts";
import type { LogSegment, SegmentRead } from "./log_segment.ts";
import type { Isolation, SliceEnd, Trace } from "./read_step.ts";

/** How much a read may answer. */
export interface ReadOptions {
  /** Most bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Whether the first batch is read even when it alone is larger. Default true. */
  readonly minOneBatch?: boolean;
  /**
   * Whether to read to the end of the log, only what is replicated, or only what is decided as well: then the answer lists
   * aborted transactions. Default the high watermark.
   */
  readonly isolation?: Isolation;
  /** Takes the steps of the look-up with their numbers. */
  readonly trace?: Trace;
}

/** What a read answers. */
export interface LogRead {
  /** The bytes, on a batch boundary at the front; undefined when there is nothing to read yet. */
  readonly records: FileRecords | undefined;
  /** Base offset of the segment that the offset is in. */
  readonly segmentBaseOffset: number;
  /** Where in that segment the bytes begin; without any, where they would. */
  readonly position: number;
  /** First offset of the first batch, which may lie before the one asked for; −1 without any. */
  readonly firstOffset: number;
  /** Whether not even the first batch is whole, which only happens without `minOneBatch`. */
  readonly firstEntryIncomplete: boolean;
  /** Aborted transactions that overlap the bytes, when committed records are read; it may list more than those. */
  readonly abortedTransactions: readonly AbortedTransaction[];
}

/** What a log holds at one moment. */
export interface LogView {
  /** The segments in order. */
  readonly segments: readonly LogSegment[];
  /** First visible offset. */
  readonly logStartOffset: number;
  /** First offset that is not replicated. */
  readonly highWatermark: number;
  /** The end of the log. */
  readonly end: LogOffsetMetadata;
  /** Why nothing behind the end can be read, though there is more. */
  readonly endError: KafkaError | undefined;
  /** Topic and partition for messages. */
  readonly context: RecordContext;
  /** The aborted transactions that ended in a segment and overlap the range. */
  collectAborted(
    segment: LogSegment,
    fetchOffset: number,
    upperBound: number,
  ): Promise<{ readonly transactions: readonly AbortedTransaction[]; readonly isComplete: boolean }>;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * Reads from `offset` on, below `bound`.
 *
 * @throws KafkaError with code `"OFFSET_OUT_OF_RANGE"` below the start or above the end; CorruptRecordError.
 */
export async function readLog(
  view: LogView,
  offset: number,
  bound: LogOffsetMetadata,
  options: ReadOptions,
): Promise<LogRead> {
  const { maxBytes = DEFAULT_MAX_BYTES, minOneBatch = true, isolation = "high-watermark", trace } = options;
  const { segments, logStartOffset, highWatermark, end } = view;
  trace?.({
    step: "offset",
    offset,
    isolation,
    bound: bound.messageOffset,
    logStartOffset,
    highWatermark,
    logEndOffset: end.messageOffset,
  });
  if (offset >= end.messageOffset && view.endError !== undefined) throw view.endError;
  if (!(offset >= logStartOffset && offset <= end.messageOffset)) throw outOfRange(view, offset);
  if (offset === bound.messageOffset) return emptyRead(bound, "at-bound", trace);
  if (offset > bound.messageOffset) return emptyRead(await locate(view, offset), "beyond-bound", trace);
  for (let i = floorSegment(segments, offset, trace); i < segments.length; i++) {
    const segment = segments[i]!;
    const endPosition = endPositionIn(segment, bound);
    const read = await segment.read(offset, maxBytes, endPosition, minOneBatch, trace);
    if (read === undefined) {
      // Everything at and above was compacted away here.
      if (trace !== undefined && i + 1 < segments.length) traceSegment(segments, i + 1, trace);
      continue;
    }
    const { records, firstBatch, firstEntryIncomplete } = read;
    traceSlice(segment, read, maxBytes, endPosition, bound, isolation, trace);
    const abortedTransactions = isolation === "committed" ? await abortedIn(view, i, offset, read, trace) : [];
    return {
      records: records.size === 0 ? undefined : records,
      segmentBaseOffset: segment.baseOffset,
      position: firstBatch.position,
      firstOffset: records.size === 0 ? -1 : firstBatch.baseOffset,
      firstEntryIncomplete,
      abortedTransactions,
    };
  }
  return emptyRead(end, "no-batch", trace);
}

/** Where `offset` lies: the segment and the position of its batch, or of the next one above it. */
export async function locate(view: LogView, offset: number): Promise<LogOffsetMetadata> {
  const { segments, end } = view;
  if (offset >= end.messageOffset) return end;
  for (let i = floorSegment(segments, offset); i < segments.length; i++) {
    const segment = segments[i]!;
    const batch = await segment.find(offset);
    if (batch === undefined) continue;
    return { messageOffset: offset, segmentBaseOffset: segment.baseOffset, relativePosition: batch.position };
  }
  return { ...end, messageOffset: offset };
}

/** The error for an offset that the log does not hold. */
export function outOfRange({ logStartOffset, end, context }: LogView, offset: number): KafkaError {
  return new KafkaError(
    `${placeText(context)}offset ${offset} is outside the log, which holds ${logStartOffset} to ${end.messageOffset}`,
    { code: "OFFSET_OUT_OF_RANGE", offset, topic: context.topic, partition: context.partition },
  );
}

/** The index of the segment with the greatest base offset ≤ `offset`. */
function floorSegment(segments: readonly LogSegment[], offset: number, trace?: Trace): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (segments[middle]!.baseOffset <= offset) low = middle + 1;
    else high = middle;
  }
  const floor = Math.max(0, low - 1);
  if (trace !== undefined) traceSegment(segments, floor, trace);
  return floor;
}

/** Where bytes that may be read end in `segment`; undefined when none may. */
function endPositionIn(segment: LogSegment, bound: LogOffsetMetadata): number | undefined {
  if (segment.baseOffset < bound.segmentBaseOffset) return segment.size;
  return segment.baseOffset === bound.segmentBaseOffset ? bound.relativePosition : undefined;
}

/** The answer when there is nothing to read, with the place where it would be. */
function emptyRead(place: LogOffsetMetadata, reason: "at-bound" | "beyond-bound" | "no-batch", trace?: Trace): LogRead {
  trace?.({ step: "empty", reason });
  return {
    records: undefined,
    segmentBaseOffset: place.segmentBaseOffset,
    position: place.relativePosition,
    firstOffset: -1,
    firstEntryIncomplete: false,
    abortedTransactions: [],
  };
}

/**
 * The aborted transactions of what was read in segment `i`. They are listed where they ended, so later segments are looked
 * at too, up to the first entry that rules out further ones.
 */
async function abortedIn(
  { segments, end, collectAborted }: LogView,
  i: number,
  offset: number,
  { records, firstBatch }: SegmentRead,
  trace: Trace | undefined,
): Promise<AbortedTransaction[]> {
  const upperBound = await segments[i]!.upperBoundOffset(firstBatch.position + records.size) ??
    segments[i + 1]?.baseOffset ?? end.messageOffset;
  const aborted: AbortedTransaction[] = [];
  const files: string[] = [];
  for (const segment of segments.slice(i)) {
    const { transactions, isComplete } = await collectAborted(segment, offset, upperBound);
    files.push(segment.file);
    for (const { producerId, firstOffset } of transactions) aborted.push({ producerId, firstOffset });
    if (isComplete) break;
  }
  trace?.({ step: "aborted-transactions", upperBound, files, count: aborted.length });
  return aborted;
}

function traceSegment(segments: readonly LogSegment[], i: number, trace: Trace): void {
  const { file, baseOffset } = segments[i]!;
  trace({ step: "segment", file, baseOffset, next: segments[i + 1]?.baseOffset, segments: segments.length });
}

function traceSlice(
  segment: LogSegment,
  { records, firstBatch }: SegmentRead,
  maxBytes: number,
  endPosition: number | undefined,
  bound: LogOffsetMetadata,
  isolation: Isolation,
  trace: Trace | undefined,
): void {
  if (trace === undefined) return;
  if (records.size === 0) return trace({ step: "empty", reason: "no-bytes" });
  const end = firstBatch.position + records.size;
  let endedBy: SliceEnd = records.size > maxBytes ? "first-batch" : "max-bytes";
  if (end === endPosition) endedBy = segment.baseOffset === bound.segmentBaseOffset ? isolation : "segment-end";
  trace({ step: "slice", file: segment.file, begin: firstBatch.position, end, maxBytes, endedBy });
}
