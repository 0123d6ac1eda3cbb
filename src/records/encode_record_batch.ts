import { ConfigError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { type BatchCompression, type HeaderInput, RecordBatchBuilder } from "./record_batch_builder.ts";

/** Memory to begin with; more is taken as records need it. */
const INITIAL_SIZE = 4096;

/** A record to write at an offset of its own; a {@linkcode Record} that was read is one. */
export interface RecordAtOffset {
  /** Its offset. */
  readonly offset: number;
  /** Its timestamp in milliseconds; −1 for none. */
  readonly timestamp: number;
  /** Key; null for none. */
  readonly key: Uint8Array | string | null;
  /** Value; null for none. */
  readonly value: Uint8Array | string | null;
  /** Headers. */
  readonly headers?: readonly HeaderInput[] | undefined;
}

/** The header of a batch that is written with offsets of its own. What is absent follows from the records. */
export interface RecordBatchHeader {
  /** Checksum to use. */
  readonly crc32c: Crc32c;
  /** First offset; that of the first record when absent. */
  readonly baseOffset?: number | undefined;
  /** Last offset; that of the last record when absent. */
  readonly lastOffset?: number | undefined;
  /** Leader epoch; −1 when absent. */
  readonly partitionLeaderEpoch?: number | undefined;
  /** Codec for the records; none when absent. */
  readonly compression?: BatchCompression | undefined;
  /** Timestamp that the broker sets on all records; their own stay within, unseen. */
  readonly logAppendTime?: number | undefined;
  /** Greatest timestamp; that of the records when absent, −1 without any. */
  readonly maxTimestamp?: number | undefined;
  /** When tombstones or markers in it may be dropped; null for not set. */
  readonly deleteHorizonMs?: number | null | undefined;
  /** Producer id; −1 when absent. */
  readonly producerId?: number | undefined;
  /** Producer epoch; −1 when absent. */
  readonly producerEpoch?: number | undefined;
  /** Sequence of the first offset; −1 when absent. */
  readonly baseSequence?: number | undefined;
  /** Whether it belongs to a transaction. */
  readonly isTransactional?: boolean | undefined;
  /** Whether the records are control records. */
  readonly isControl?: boolean | undefined;
}

/**
 * A v2 batch of records at given offsets, with gaps where there are some: what a log's cleaner and its coordinators write.
 * Without records it is the 61 bytes that compaction leaves for the sake of a producer's sequence; both offsets must then be
 * given.
 *
 * @throws ConfigError for offsets that do not ascend or that one batch cannot hold; CompressionError from the codec.
 */
export function encodeRecordBatch(records: readonly RecordAtOffset[], header: RecordBatchHeader): Uint8Array {
  const { deleteHorizonMs = null, logAppendTime } = header;
  const baseOffset = header.baseOffset ?? records[0]?.offset;
  const lastOffset = header.lastOffset ?? records.at(-1)?.offset;
  if (baseOffset === undefined || lastOffset === undefined) {
    throw new ConfigError("a batch without records needs baseOffset and lastOffset");
  }
  checkOffsets(records, baseOffset, lastOffset);
  const builder = new RecordBatchBuilder(new Uint8Array(INITIAL_SIZE), {
    limit: Infinity,
    baseTimestamp: deleteHorizonMs ?? undefined,
  });
  for (const { headers, key, offset, timestamp, value } of records) {
    builder.append(timestamp, key, value, headers, undefined, undefined, offset - baseOffset);
  }
  return builder.seal({
    ...header,
    // A compressor may make something of nothing, but Kafka never compresses an empty batch.
    compression: records.length === 0 ? undefined : header.compression,
    baseOffset,
    lastOffsetDelta: lastOffset - baseOffset,
    maxTimestamp: header.maxTimestamp ?? logAppendTime,
    isLogAppendTime: logAppendTime !== undefined,
    hasDeleteHorizon: deleteHorizonMs !== null,
  });
}

function checkOffsets(records: readonly RecordAtOffset[], baseOffset: number, lastOffset: number): void {
  const isRange = Number.isSafeInteger(baseOffset) && Number.isSafeInteger(lastOffset);
  if (!isRange || baseOffset < 0 || lastOffset < baseOffset || lastOffset - baseOffset > 0x7fffffff) {
    throw new ConfigError(`one batch cannot hold the offsets ${baseOffset} to ${lastOffset}`);
  }
  let least = baseOffset;
  for (const { offset } of records) {
    if (!(Number.isSafeInteger(offset) && offset >= least && offset <= lastOffset)) {
      throw new ConfigError(
        `offset ${offset} in a batch of ${baseOffset} to ${lastOffset}, where ${least} is the next`,
      );
    }
    least = offset + 1;
  }
}
