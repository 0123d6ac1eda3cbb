/**
 * One batch as a dump shows it: every field as it lies in the file, exact, and without an error for what is odd.
 *
 * @module
 */

import {
  codecFor,
  type Codecs,
  COMPRESSION_TYPES,
  compressionTypeOf,
  DEFAULT_DECOMPRESSION_LIMIT,
} from "../../compression/codec.ts";
import { CorruptRecordError } from "../../core/kafka_error.ts";
import { type Crc32c, crc32c } from "../../hash/crc32c.ts";
import type { Batch } from "../../records/batch.ts";
import { decodeRecords } from "../../records/decode_records.ts";
import type { Record as KafkaRecord, TimestampType } from "../../records/record.ts";
import {
  RECORD_BATCH_ATTRIBUTES as A,
  RECORD_BATCH_FIELDS as F,
  RECORD_BATCH_OVERHEAD,
} from "../../records/record_batch.ts";
import { RecordBatches } from "../../records/record_batches.ts";
import { codecFailure, corruptRecord, type RecordContext } from "../../records/record_context.ts";
import { addInt64, type Int64, int64, int64At } from "./int64.ts";

/** Position of the timestamp of a format 1 message. */
const V1_TIMESTAMP = 18;
/** Position of a message's attributes. */
const LEGACY_ATTRIBUTES = 17;

/** The checksum of a record. */
export interface RecordChecksum {
  /** The CRC-32 it carries, unsigned. */
  readonly crc: number;
  /** Whether it is right. */
  readonly isValid: boolean;
}

/** The records of a batch, with exact offsets and timestamps. */
export class DecodedRecords {
  /** The records in order. Their own offsets and timestamps may lack the base. */
  readonly records: readonly KafkaRecord[];
  readonly #baseOffset: Int64;
  readonly #baseTimestamp: Int64;
  #checksums: readonly RecordChecksum[] | undefined;
  readonly #legacy: (() => RecordChecksum[]) | undefined;
  /** What the deltas of a v2 batch count from, and the bytes that hold them. */
  readonly #exact: { readonly payload: Uint8Array; readonly baseTimestamp: Int64 } | undefined;

  /** Adds the bases to what the records say. */
  constructor(
    records: readonly KafkaRecord[],
    baseOffset: Int64,
    baseTimestamp: Int64,
    exact?: { readonly payload: Uint8Array; readonly baseTimestamp: Int64 },
    legacy?: () => RecordChecksum[],
  ) {
    this.records = records;
    this.#baseOffset = baseOffset;
    this.#baseTimestamp = baseTimestamp;
    this.#exact = exact;
    this.#legacy = legacy;
  }

  /** The bytes that the records of a v2 batch were decoded from, inflated; undefined of the older formats. */
  get payload(): Uint8Array | undefined {
    return this.#exact?.payload;
  }

  /** The checksums of the single records, which only the older formats have. */
  get checksums(): readonly RecordChecksum[] {
    return this.#checksums ??= this.#legacy?.() ?? [];
  }

  /** Offset of a record. */
  offsetOf(record: KafkaRecord): Int64 {
    return addInt64(this.#baseOffset, record.offset);
  }

  /** Timestamp of the `n`th record. */
  timestampOf(n: number): Int64 {
    try {
      return addInt64(this.#baseTimestamp, this.records[n]!.timestamp);
    } catch (error) {
      if (this.#exact === undefined || !(error instanceof CorruptRecordError)) throw error;
      return addInt64(this.#exact.baseTimestamp, timestampDelta(this.#exact.payload, n));
    }
  }
}

/** The fields of one batch. Those that its format does not have are −1, false or null. */
export class BatchView {
  /** The batch. */
  readonly batch: Batch;
  readonly #context: RecordContext;
  readonly #view: DataView;
  readonly #bytes: Uint8Array;

  /** Shows `batch`; `context` names its file in errors. */
  constructor(batch: Batch, context: RecordContext = {}) {
    this.batch = batch;
    this.#context = { ...context, position: batch.position };
    const bytes = batch.bytes;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Whether it is a record batch, and no message of the older formats. */
  get isV2(): boolean {
    return this.batch.magic === 2;
  }

  /** First offset of a record batch; of a message the one it carries, which is its last. */
  get baseOffset(): Int64 {
    return int64At(this.#view, F.baseOffset);
  }

  /** Last offset. */
  get lastOffset(): Int64 {
    return this.isV2 ? addInt64(this.baseOffset, this.lastOffsetDelta) : this.baseOffset;
  }

  /** Last offset less the first one. */
  get lastOffsetDelta(): number {
    return this.#view.getInt32(F.lastOffsetDelta);
  }

  /** Attribute bits. */
  get attributes(): number {
    return this.isV2 ? this.#view.getInt16(F.attributes) : this.#view.getUint8(LEGACY_ATTRIBUTES);
  }

  /** Name of the codec. */
  get codec(): string {
    const number = this.attributes & A.codec;
    return COMPRESSION_TYPES[number] ?? `unknown(${number})`;
  }

  /** Meaning of the timestamps. */
  get timestampType(): TimestampType {
    if (this.batch.magic === 0) return "NoTimestampType";
    return (this.attributes & A.logAppendTime) === 0 ? "CreateTime" : "LogAppendTime";
  }

  /** Greatest timestamp; −1 for none. */
  get maxTimestamp(): Int64 {
    if (this.batch.magic === 0) return -1;
    return int64At(this.#view, this.isV2 ? F.maxTimestamp : V1_TIMESTAMP);
  }

  /** Timestamp that the records' deltas count from. */
  get baseTimestamp(): Int64 {
    return int64At(this.#view, F.baseTimestamp);
  }

  /** Producer id. */
  get producerId(): Int64 {
    return int64At(this.#view, F.producerId);
  }

  /** Producer epoch. */
  get producerEpoch(): number {
    return this.#view.getInt16(F.producerEpoch);
  }

  /** Sequence of the first record. */
  get baseSequence(): number {
    return this.#view.getInt32(F.baseSequence);
  }

  /** Sequence of the last record; it goes on at 0 after 2^31−1. */
  get lastSequence(): number {
    const first = this.baseSequence;
    return first < 0 ? -1 : (first + this.lastOffsetDelta) % 0x80000000;
  }

  /** Epoch of the leader that took it. */
  get partitionLeaderEpoch(): number {
    return this.#view.getInt32(F.partitionLeaderEpoch);
  }

  /** Whether it belongs to a transaction. */
  get isTransactional(): boolean {
    return this.isV2 && (this.attributes & A.transactional) !== 0;
  }

  /** Whether it holds control records. */
  get isControl(): boolean {
    return this.isV2 && (this.attributes & A.control) !== 0;
  }

  /** When the cleaner may drop tombstones or markers; null when not set. */
  get deleteHorizonMs(): Int64 | null {
    return this.isV2 && (this.attributes & A.deleteHorizon) !== 0 ? this.baseTimestamp : null;
  }

  /** Records it declares. */
  get count(): number {
    return this.#view.getInt32(F.recordCount);
  }

  /** Whether its checksum is right. */
  isValid(crc32c: Crc32c): boolean {
    return this.batch.hasValidCrc(crc32c);
  }

  /**
   * Decodes its records.
   *
   * @throws CorruptRecordError, CompressionError
   */
  decode(codecs: Codecs): DecodedRecords {
    if (!this.isV2) {
      return new DecodedRecords(this.batch.records({ codecs }), 0, 0, undefined, () => this.#messageChecksums(codecs));
    }
    const { baseOffset, count, lastOffset } = this;
    if (count < 0) throw this.#corrupt(`${count} records declared`);
    if (count === 0) return new DecodedRecords([], 0, 0);
    const isLogAppendTime = (this.attributes & A.logAppendTime) !== 0;
    const baseTimestamp = isLogAppendTime ? this.maxTimestamp : this.baseTimestamp;
    const payload = this.#payload(codecs);
    // Where numbers do not reach, the records count from 0 and the base is added, exactly, by whoever asks.
    const isSafe = typeof lastOffset === "number" && typeof baseOffset === "number" &&
      typeof baseTimestamp === "number";
    const origin = {
      bytes: payload,
      topic: this.#context.topic ?? "",
      partition: this.#context.partition ?? -1,
      baseOffset: isSafe ? baseOffset : 0,
      baseTimestamp: isSafe ? baseTimestamp : 0,
      timestampType: this.timestampType,
      baseSequence: this.baseSequence,
      hasHeaders: true,
    };
    const records = decodeRecords(
      origin,
      0,
      payload.length,
      count,
      this.lastOffsetDelta,
      isLogAppendTime,
      (index, position, reason) => this.#corrupt(`record ${index} at byte ${position} of its records: ${reason}`),
    );
    const exact = { payload, baseTimestamp };
    return isSafe
      ? new DecodedRecords(records, 0, 0, exact)
      : new DecodedRecords(records, baseOffset, baseTimestamp, exact);
  }

  /** The bytes of its records, inflated. */
  #payload(codecs: Codecs): Uint8Array {
    const payload = this.#bytes.subarray(RECORD_BATCH_OVERHEAD);
    try {
      const type = compressionTypeOf(this.attributes);
      return type === "none" ? payload : codecFor(codecs, type).decompress(payload, DEFAULT_DECOMPRESSION_LIMIT);
    } catch (cause) {
      throw codecFailure(this.#context, 0, this.#knownOffset(), cause);
    }
  }

  /** The checksums of a message, or of those that it wraps; it was decoded before and so is well-formed. */
  #messageChecksums(codecs: Codecs): RecordChecksum[] {
    const type = compressionTypeOf(this.attributes);
    if (type === "none") return [checksumOf(this.batch)];
    const keyLengthAt = this.batch.magic === 0 ? V1_TIMESTAMP : V1_TIMESTAMP + 8;
    const valueAt = keyLengthAt + 8 + Math.max(0, this.#view.getInt32(keyLengthAt));
    const inner = codecFor(codecs, type).decompress(this.#bytes.subarray(valueAt), DEFAULT_DECOMPRESSION_LIMIT);
    return Array.from(new RecordBatches(inner), checksumOf);
  }

  #corrupt(reason: string): CorruptRecordError {
    return corruptRecord(this.#context, 0, this.#knownOffset(), reason);
  }

  #knownOffset(): number | undefined {
    const offset = this.baseOffset;
    return typeof offset === "number" ? offset : undefined;
  }
}

function checksumOf(message: Batch): RecordChecksum {
  return { crc: message.crc, isValid: message.hasValidCrc(crc32c) };
}

/** The timestamp delta of the `n`th record in `payload`, which was decoded before and so is well-formed. */
function timestampDelta(payload: Uint8Array, n: number): Int64 {
  let at = 0;
  const varint = (): bigint => {
    let z = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = payload[at++]!;
      z |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, (z >> 1n) ^ -(z & 1n));
    }
  };
  for (let i = 0; i < n; i++) {
    const length = Number(varint());
    at += length;
  }
  varint(); // length
  at++; // attributes
  return int64(varint());
}
