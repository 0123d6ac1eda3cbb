/**
 * Makes smaller batches out of one that a broker refused as too large. Loaded when that happens for the first time.
 *
 * @module
 */

import { CorruptRecordError } from "../core/kafka_error.ts";
import { decodeRecords } from "../records/decode_records.ts";
import { RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import { RecordBatchBuilder } from "../records/record_batch_builder.ts";

/**
 * Encodes the records of `whole`, in order, into batches of at most `batchSize` bytes before compression. They are at
 * least two, however small the broker's limit is, so that splitting comes to an end; a larger record is one of its own.
 */
export function splitBatch(whole: RecordBatchBuilder, batchSize: number): RecordBatchBuilder[] {
  const bytes = whole.uncompressed;
  const count = whole.recordCount;
  const limit = Math.min(batchSize, Math.floor(bytes.length / 2));
  const origin = {
    bytes,
    topic: "",
    partition: -1,
    baseOffset: 0,
    baseTimestamp: whole.baseTimestamp,
    timestampType: "CreateTime",
    baseSequence: -1,
    hasHeaders: true,
  } as const;
  const records = decodeRecords(origin, RECORD_BATCH_OVERHEAD, bytes.length, count, count - 1, false, damaged);
  const parts: RecordBatchBuilder[] = [];
  let part: RecordBatchBuilder | undefined;
  for (const { timestamp, key, value, headers } of records) {
    if (part?.append(timestamp, key, value, headers)) continue;
    part = new RecordBatchBuilder(new Uint8Array(Math.max(limit, RECORD_BATCH_OVERHEAD)), { limit });
    part.append(timestamp, key, value, headers);
    parts.push(part);
  }
  return parts;
}

function damaged(index: number, position: number, reason: string): CorruptRecordError {
  return new CorruptRecordError(`a batch to be split: record ${index}: ${reason}`, { position });
}
