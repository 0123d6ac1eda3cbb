/**
 * Looks at what a producer sent for one partition before it goes into the log, and says with Kafka's error what is wrong.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { CompressionError, CorruptRecordError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Record } from "../records/record.ts";
import { RecordBatch } from "../records/record_batch.ts";
import { refusal } from "./refusal.ts";

/** What to check against. */
export interface BatchRules {
  /** Topic, for messages. */
  readonly topic: string;
  /** Partition, for messages. */
  readonly partition: number;
  /** Largest batch in bytes (`max.message.bytes`). */
  readonly maxMessageBytes: number;
  /** Codecs to look into compressed batches with. */
  readonly codecs: Codecs;
  /** CRC-32C. */
  readonly crc32c: Crc32c;
  /** Version of the Produce request. */
  readonly version: number;
  /** Transactional id of the Produce request. */
  readonly transactionalId: string | null;
}

/** Where a batch, or a message of an older format, has its format's number. */
const MAGIC_AT = 16;
/** The length in the header counts from here. */
const LENGTH_END = 12;
/** zstd came with Produce 7. */
const ZSTD_FROM = 7;

/**
 * The one batch in `bytes`, checked: format, size, checksum, counts and, where there is a codec for it, each record.
 *
 * @throws BrokerError with Kafka's code: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_RECORD, …
 */
export function validateBatch(bytes: Uint8Array | null, rules: BatchRules): RecordBatch {
  const { topic, partition } = rules;
  const where = `${topic}-${partition}`;
  if (bytes === null || bytes.length === 0) throw refusal("INVALID_RECORD", `${where}: no record batch`);
  if (!startsWithBatch(bytes)) {
    throw refusal("INVALID_RECORD", `${where}: ${bytes.length} bytes that are no whole record batch of format 2`);
  }
  try {
    const batch = new RecordBatch(bytes, { topic, partition });
    if (batch.size !== bytes.length) {
      throw refusal("INVALID_RECORD", `${where}: a request may hold one record batch a partition, this one has more`);
    }
    if (batch.size > rules.maxMessageBytes) {
      throw refusal(
        "MESSAGE_TOO_LARGE",
        `${where}: a batch of ${batch.size} bytes, max.message.bytes is ${rules.maxMessageBytes}`,
      );
    }
    batch.verifyCrc(rules.crc32c);
    checkHeader(batch, where, rules);
    const { compression } = batch;
    if (compression === "none" || rules.codecs[compression] !== undefined) {
      checkRecords(batch.records({ codecs: rules.codecs }), batch.baseOffset, where);
    }
    return batch;
  } catch (error) {
    if (error instanceof CorruptRecordError) {
      throw refusal("CORRUPT_MESSAGE", error.message);
    }
    if (error instanceof CompressionError) {
      const code = error.code === "UNSUPPORTED_CODEC" ? "UNSUPPORTED_COMPRESSION_TYPE" : "CORRUPT_MESSAGE";
      throw refusal(code, error.message);
    }
    throw error;
  }
}

/** Whether there is a whole batch of format 2: else Kafka finds no batch at all, which is invalid and not corrupt. */
function startsWithBatch(bytes: Uint8Array): boolean {
  if (bytes.length <= MAGIC_AT || bytes[MAGIC_AT] !== 2) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return LENGTH_END + view.getInt32(LENGTH_END - 4) <= bytes.length;
}

function checkHeader(batch: RecordBatch, where: string, { transactionalId, version }: BatchRules): void {
  const { baseOffset, recordCount, lastOffsetDelta } = batch;
  if (batch.isTransactional && transactionalId === null) {
    throw refusal(
      "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
      `${where}: a transactional batch in a request without a transactional id`,
    );
  }
  if (batch.compression === "zstd" && version < ZSTD_FROM) {
    throw refusal("UNSUPPORTED_COMPRESSION_TYPE", `${where}: zstd in Produce version ${version}, before ${ZSTD_FROM}`);
  }
  if (baseOffset !== 0) {
    throw refusal("INVALID_RECORD", `${where}: a batch from a client starts at 0, not ${baseOffset}`);
  }
  if (recordCount <= 0 || lastOffsetDelta !== recordCount - 1) {
    throw refusal(
      "INVALID_RECORD",
      `${where}: ${recordCount} records declared with a last offset delta of ${lastOffsetDelta}`,
    );
  }
  if (batch.isControl) throw refusal("INVALID_RECORD", `${where}: only brokers write control batches`);
  if (batch.isTransactional) {
    throw refusal("INVALID_TXN_STATE", `${where}: the embedded broker has no transactions`);
  }
}

function checkRecords(records: readonly Record[], baseOffset: number, where: string): void {
  for (let i = 0; i < records.length; i++) {
    if (records[i]!.offset !== baseOffset + i) {
      throw refusal("INVALID_RECORD", `${where}: record ${i} has offset delta ${records[i]!.offset - baseOffset}`);
    }
  }
}
