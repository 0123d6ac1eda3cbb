/**
 * Walks the batches of a log one read after the other.
 *
 * @module
 */

import { type KafkaError, StorageError } from "../core/kafka_error.ts";
import { AbortedTransactionFilter } from "../records/aborted_transaction_filter.ts";
import type { Batch } from "../records/batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type Anomaly, damage } from "./anomaly.ts";
import { placeText } from "./log_options.ts";
import type { LogRead, ReadOptions } from "./read_log.ts";
import { segmentFileName } from "./segment_file_name.ts";

/** What to walk. */
export interface WalkSource {
  /** Reads from an offset on. */
  read(offset: number, options: ReadOptions): Promise<LogRead>;
  /** First offset to walk from. */
  readonly from: number;
  /** First offset not wanted. */
  readonly until: number;
  /** Whether aborted transactions are left out. */
  readonly committed: boolean;
  /** What is to be told at the end, when more was wanted than can be read. */
  readonly endError: KafkaError | undefined;
  /** Most bytes of a batch that is read whole. */
  readonly maxBatchBytes: number;
  /** Topic and partition for messages. */
  readonly context: RecordContext;
  /** Takes what is odd. */
  readonly report: (anomaly: Anomaly) => void;
}

const WINDOW_BYTES = 1024 * 1024;

/** Walks whole batches in order, reading windows of about 1 MiB. What two segments hold both is read from the first one. */
export async function* walkBatches(source: WalkSource): AsyncGenerator<Batch, void, undefined> {
  const { until } = source;
  const isolation = source.committed ? "committed" : "log-end";
  let segment: number | undefined;
  for (let next = source.from; next < until;) {
    const read = await source.read(next, { isolation, maxBytes: WINDOW_BYTES });
    const { records, segmentBaseOffset } = read;
    if (records === undefined) return;
    if (segment !== undefined && segment < segmentBaseOffset && segmentBaseOffset < next) {
      source.report(overlap(segment, segmentBaseOffset, next));
    }
    segment = segmentBaseOffset;
    const filter = new AbortedTransactionFilter(read.abortedTransactions);
    const before = next;
    // Larger than the window is only a single batch, whose length may be damage.
    const batches = records.size > WINDOW_BYTES ? [await records.batch(source.maxBatchBytes)] : await records.batches();
    for (const batch of batches) {
      if (batch.lastOffset < next) continue;
      if (batch.baseOffset >= until) return;
      next = batch.lastOffset + 1;
      if (!filter.isAborted(batch)) yield batch;
    }
    if (next === before) throw stuck(next, segmentBaseOffset, records.position, source.context);
  }
  if (source.endError !== undefined) throw source.endError;
}

function overlap(before: number, baseOffset: number, next: number): Anomaly {
  return damage(
    "overlapping-segment",
    segmentFileName(baseOffset, "log"),
    `it begins at offset ${baseOffset}, and ${segmentFileName(before, "log")} ends at ${next}: ` +
      `what both hold is read from the first one only`,
    { offset: baseOffset },
  );
}

function stuck(offset: number, segmentBaseOffset: number, position: number, context: RecordContext): StorageError {
  const file = segmentFileName(segmentBaseOffset, "log");
  return new StorageError(
    `${placeText(context)}${file} at byte ${position}: no whole batch with offset ${offset} could be read`,
    { ...context, code: "SHORT_READ", file, position, offset },
  );
}
