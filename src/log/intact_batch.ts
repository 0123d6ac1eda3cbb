/**
 * Tells whole and right batches from damage by their checksums, and finds them behind damage.
 *
 * @module
 */

import { crc32 } from "../hash/crc32.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS as F, RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import type { StoredFile } from "./storage.ts";

/** Position of the checksum in the formats before v2; it covers all from the magic on. */
const LEGACY_CRC = 12;
/** Least bytes of a batch in any format, which is also enough to judge one by. */
const MIN_SIZE = 26;
const WINDOW_BYTES = 256 * 1024;

/** Whether `bytes`, one whole batch of any format, carries the checksum it should. */
export function isIntact(bytes: Uint8Array, crc32c: Crc32c): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (view.getInt8(F.magic)) {
    case 0:
    case 1:
      return crc32(bytes.subarray(F.magic)) === view.getUint32(LEGACY_CRC);
    case 2:
      return bytes.length >= RECORD_BATCH_OVERHEAD && crc32c(bytes.subarray(F.attributes)) === view.getUint32(F.crc);
    default:
      return false;
  }
}

/** Where to look, and what offsets a batch there may have. */
export interface SearchRange {
  /** First byte to look at. */
  readonly from: number;
  /** First byte not to look at. */
  readonly until: number;
  /** Least offset. */
  readonly minOffset: number;
  /** Greatest offset. */
  readonly maxOffset: number;
}

/** A batch that was found. */
export interface FoundBatch {
  /** The offset it begins with. */
  readonly offset: number;
  /** Where it begins. */
  readonly position: number;
}

/**
 * The first whole and right batch in `range`, at any byte.
 *
 * Work is bounded: what looks like a batch is hashed only as long as all that was hashed is less than twice the range. Past
 * that the place is answered unproved, since the caller only asks so as not to lose a batch.
 */
export async function findIntactBatch(
  file: StoredFile,
  range: SearchRange,
  maxBatchBytes: number,
  crc32c: Crc32c,
): Promise<FoundBatch | undefined> {
  const { until } = range;
  let budget = 2 * (until - range.from) + WINDOW_BYTES;
  for (let windowStart = range.from; until - windowStart >= MIN_SIZE;) {
    const window = new Uint8Array(Math.min(WINDOW_BYTES, until - windowStart));
    const count = await file.readAt(window, windowStart);
    if (count < MIN_SIZE) return undefined;
    const view = new DataView(window.buffer, 0, count);
    const last = count - MIN_SIZE;
    for (let at = 0; at <= last; at++) {
      const magic = window[at + F.magic]!;
      if (magic > 2) continue;
      const offset = view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
      if (offset < range.minOffset || offset > range.maxOffset) continue;
      const size = LOG_OVERHEAD + view.getInt32(at + F.length);
      const position = windowStart + at;
      if (size < (magic === 2 ? RECORD_BATCH_OVERHEAD : MIN_SIZE)) continue;
      if (size > until - position || size > maxBatchBytes) continue;
      budget -= size;
      if (budget < 0) return { offset, position };
      const bytes = new Uint8Array(size);
      await file.readAt(bytes, position);
      if (isIntact(bytes, crc32c)) return { offset, position };
    }
    windowStart += last + 1;
  }
  return undefined;
}
