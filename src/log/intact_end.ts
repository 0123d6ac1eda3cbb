/**
 * Finds where the whole and right batches of a segment end, for those who write behind them: every batch is hashed.
 *
 * @module
 */

import { CorruptRecordError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type BatchHeader, headerAt } from "./batch_scanner.ts";
import { FileWindow } from "./file_window.ts";
import { findIntactBatch, isIntact } from "./intact_batch.ts";
import type { StoredFile } from "./storage.ts";

/** Bytes that are read at a time. */
const WINDOW_BYTES = 1024 * 1024;

/** The segment that is looked at. */
export interface CheckedSegment {
  /** Its `.log`. */
  readonly file: StoredFile;
  /** Least offset that it may hold. */
  readonly baseOffset: number;
  /** Greatest offset that it may hold. */
  readonly maxOffset: number;
  /** Most bytes of a batch that is read whole; a length beyond counts as damage. */
  readonly maxBatchBytes: number;
  /** File, topic and partition for messages. */
  readonly context: RecordContext;
}

/**
 * The end of the whole and right batches.
 *
 * @throws CorruptRecordError with code `"DAMAGED_SEGMENT"` when a right batch lies behind the damage or where it should not:
 * cutting there would lose it.
 */
export async function intactEnd(segment: CheckedSegment, crc32c: Crc32c): Promise<number> {
  const { file, maxBatchBytes, maxOffset } = segment;
  const fileSize = file.size;
  let end = 0;
  let nextOffset = segment.baseOffset;
  // Reading each batch by itself takes four times as long at 1 KB.
  const window = new FileWindow(file, WINDOW_BYTES);
  while (end < fileSize) {
    const left = fileSize - end;
    const header = headerIn(await window.bytes(end, Math.min(left, RECORD_BATCH_OVERHEAD)), end, left, segment.context);
    if (header === undefined || header.size > maxBatchBytes) break;
    const bytes = await window.bytes(end, header.size);
    if (bytes.length < header.size || !isIntact(bytes, crc32c)) break;
    if (header.baseOffset < nextOffset || header.lastOffset > maxOffset) {
      const { baseOffset: offset, position } = header;
      throw refusal(segment, end, nextOffset, `is followed by a right batch with offset ${offset}`, position);
    }
    end += header.size;
    nextOffset = header.lastOffset + 1;
  }
  if (end === fileSize) return end;
  const range = { from: end, until: fileSize, minOffset: nextOffset, maxOffset };
  const after = await findIntactBatch(file, range, maxBatchBytes, crc32c);
  if (after === undefined) return end;
  const what = `is damaged, but a right batch with offset ${after.offset} follows`;
  throw refusal(segment, end, nextOffset, what, after.position);
}

/** The header that `bytes` begin with; undefined when there is no batch, be it the end or damage. */
function headerIn(bytes: Uint8Array, position: number, left: number, context: RecordContext): BatchHeader | undefined {
  if (bytes.length < Math.min(left, RECORD_BATCH_OVERHEAD)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return headerAt(view, 0, position, left, context);
  } catch (error) {
    if (error instanceof CorruptRecordError) return undefined;
    throw error;
  }
}

function refusal(
  { context }: CheckedSegment,
  end: number,
  nextOffset: number,
  what: string,
  position: number,
): CorruptRecordError {
  return new CorruptRecordError(
    `${context.file} at byte ${end}, where offset ${nextOffset} is due, ${what} at byte ${position}: ` +
      `cutting the file would lose it, so the log is not opened to write. Mode "inspect" reads what is before the damage.`,
    {
      code: "DAMAGED_SEGMENT",
      file: context.file,
      position: end,
      offset: nextOffset,
      topic: context.topic,
      partition: context.partition,
    },
  );
}
