/**
 * What is in a segment, told by the headers of its batches: nothing is decoded, and no checksum is looked at.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import { CorruptRecordError } from "../core/kafka_error.ts";
import { COMPRESSION_TYPES } from "../compression/codec.ts";
import { BatchScanner } from "./batch_scanner.ts";
import type { StoredFile } from "./storage.ts";

/** The headers of a segment, counted. */
export interface SegmentSummary {
  /** Number of batches. */
  readonly batches: number;
  /** Offset of the last record; −1 for none. */
  readonly lastOffset: number;
  /** Least of the timestamps that batches begin with, as far as their headers tell them; −1 for none. */
  readonly minTimestamp: number;
  /** Greatest timestamp; −1 for none. */
  readonly maxTimestamp: number;
  /** Names of the codecs, `"none"` among them, in the order of their numbers. */
  readonly codecs: readonly string[];
  /** Message formats: 0, 1, 2. */
  readonly magics: readonly number[];
  /** Least leader epoch; −1 for none. */
  readonly minEpoch: number;
  /** Greatest leader epoch; −1 for none. */
  readonly maxEpoch: number;
  /** Bytes of whole batches. */
  readonly validBytes: number;
  /** Bytes behind them. */
  readonly trailingBytes: number;
  /** Why there is no batch behind them, unless the file just ends. */
  readonly error: CorruptRecordError | undefined;
}

/** Batches after which it is looked whether anybody still waits. */
const STEP = 4096;

/** Counts the headers in `file`. @param onProgress Told the number of bytes that were passed over, every so often. */
export async function summarizeSegment(
  file: StoredFile,
  signal?: AbortSignal,
  onProgress: (bytes: number) => void = () => {},
): Promise<SegmentSummary> {
  const scanner = new BatchScanner(file, 0, file.size);
  const [codecs, magics] = [new Set<number>(), new Set<number>()];
  let [batches, lastOffset, minTimestamp, maxTimestamp, minEpoch, maxEpoch] = [0, -1, -1, -1, -1, -1];
  let error: CorruptRecordError | undefined;
  let told = 0;
  try {
    for (let batch = await scanner.next(); batch !== undefined; batch = await scanner.next()) {
      batches++;
      lastOffset = Math.max(lastOffset, batch.lastOffset);
      codecs.add(batch.codec);
      magics.add(batch.magic);
      const { firstTimestamp: first, partitionLeaderEpoch: epoch } = batch;
      if (first >= 0) minTimestamp = minTimestamp < 0 ? first : Math.min(minTimestamp, first);
      maxTimestamp = Math.max(maxTimestamp, batch.maxTimestamp);
      if (epoch >= 0) minEpoch = minEpoch < 0 ? epoch : Math.min(minEpoch, epoch);
      maxEpoch = Math.max(maxEpoch, epoch);
      if (batches % STEP !== 0) continue;
      throwIfAborted(signal);
      onProgress(scanner.position - told);
      told = scanner.position;
    }
  } catch (cause) {
    if (!(cause instanceof CorruptRecordError)) throw cause;
    error = cause;
  }
  onProgress(file.size - told);
  return {
    batches,
    lastOffset,
    minTimestamp,
    maxTimestamp,
    codecs: sorted(codecs).map((codec) => COMPRESSION_TYPES[codec] ?? String(codec)),
    magics: sorted(magics),
    minEpoch,
    maxEpoch,
    validBytes: scanner.position,
    trailingBytes: file.size - scanner.position,
    error,
  };
}

function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
