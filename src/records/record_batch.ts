/**
 * A record batch of message format 2, the unit in which Kafka stores, sends and checks records.
 *
 * ```text
 *  0 baseOffset           8 length (of what follows)    12 partitionLeaderEpoch   16 magic   17 crc (of 21 … end)
 * 21 attributes          23 lastOffsetDelta             27 baseTimestamp          35 maxTimestamp
 * 43 producerId          51 producerEpoch               53 baseSequence           57 recordCount   61 records
 * ```
 *
 * Offset and leader epoch lie outside the checksum, so that a broker stamps both without hashing again.
 *
 * @module
 */

import {
  codecFor,
  type CompressionType,
  compressionTypeOf,
  DEFAULT_DECOMPRESSION_LIMIT,
} from "../compression/codec.ts";
import type { CorruptRecordError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Batch, DecodeOptions } from "./batch.ts";
import { decodeRecords } from "./decode_records.ts";
import type { Record, RecordOrigin, TimestampType } from "./record.ts";
import { codecFailure, corruptRecord, type RecordContext } from "./record_context.ts";

/** Bytes before what a batch's length field counts: offset and length. */
export const LOG_OVERHEAD = 12;
/** Bytes of a v2 batch before its records. */
export const RECORD_BATCH_OVERHEAD = 61;

/** Positions of a v2 batch's fields. */
export const RECORD_BATCH_FIELDS = {
  baseOffset: 0,
  length: 8,
  partitionLeaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
} as const;

/** Bits of a batch's attributes; the lowest three are the codec's number. */
export const RECORD_BATCH_ATTRIBUTES = {
  codec: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
  deleteHorizon: 0x40,
} as const;

const F = RECORD_BATCH_FIELDS;
const A = RECORD_BATCH_ATTRIBUTES;

/** A lazy view of one v2 batch. Its getters read the header at each call; nothing is decoded before `records()`. */
export class RecordBatch implements Batch {
  /** Bytes it takes. */
  readonly size: number;
  readonly #buffer: Uint8Array;
  readonly #view: DataView;
  readonly #start: number;
  readonly #context: RecordContext;

  /**
   * Views the batch that begins at `start` of `buffer`.
   *
   * @param view A view of all of `buffer`, to share among its batches.
   * @throws CorruptRecordError when the bytes cannot hold the batch they announce, or are of another format.
   */
  constructor(
    buffer: Uint8Array,
    context: RecordContext = {},
    start = 0,
    view: DataView = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength),
  ) {
    this.#buffer = buffer;
    this.#view = view;
    this.#start = start;
    this.#context = context;
    const room = buffer.length - start;
    if (room < RECORD_BATCH_OVERHEAD) {
      throw corruptRecord(
        context,
        start,
        undefined,
        `a record batch takes ${RECORD_BATCH_OVERHEAD} bytes, ${room} left`,
      );
    }
    const size = LOG_OVERHEAD + view.getInt32(start + F.length);
    if (size < RECORD_BATCH_OVERHEAD || size > room) {
      throw corruptRecord(
        context,
        start,
        undefined,
        `batch length ${size - LOG_OVERHEAD} is impossible, ${room} bytes left`,
      );
    }
    const magic = view.getInt8(start + F.magic);
    if (magic !== 2) {
      throw corruptRecord(
        context,
        start,
        undefined,
        `magic ${magic} is not that of a record batch`,
        "UNSUPPORTED_MAGIC",
      );
    }
    this.size = size;
  }

  /** All its bytes, header included: a view. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#start + this.size);
  }

  /** Where it begins in the file or response it was read from. */
  get position(): number {
    return (this.#context.position ?? 0) + this.#start;
  }

  /** Offset of its first record, or a lower bound where that one was compacted away. */
  get baseOffset(): number {
    return this.#int64(F.baseOffset, "baseOffset");
  }

  /** {@linkcode baseOffset}: this format's header tells it. */
  exactBaseOffset(): number {
    return this.baseOffset;
  }

  /** Epoch of the leader that appended it; −1 before a broker took it. */
  get partitionLeaderEpoch(): number {
    return this.#view.getInt32(this.#start + F.partitionLeaderEpoch);
  }

  /** Message format: always 2. */
  get magic(): number {
    return 2;
  }

  /** CRC-32C it carries, unsigned. */
  get crc(): number {
    return this.#view.getUint32(this.#start + F.crc);
  }

  /** Its attribute bits, see {@linkcode RECORD_BATCH_ATTRIBUTES}. */
  get attributes(): number {
    return this.#view.getInt16(this.#start + F.attributes);
  }

  /**
   * Codec of its records.
   *
   * @throws CompressionError for a codec number that Kafka does not know.
   */
  get compression(): CompressionType {
    try {
      return compressionTypeOf(this.attributes);
    } catch (cause) {
      throw codecFailure(this.#context, this.#start, this.#knownOffset(), cause);
    }
  }

  /** Whether the producer set the timestamps (`"CreateTime"`) or the broker (`"LogAppendTime"`). */
  get timestampType(): TimestampType {
    return (this.attributes & A.logAppendTime) === 0 ? "CreateTime" : "LogAppendTime";
  }

  /** Whether it belongs to a transaction. */
  get isTransactional(): boolean {
    return (this.attributes & A.transactional) !== 0;
  }

  /** Whether it holds control records (a transaction marker, …), which are not for applications. */
  get isControl(): boolean {
    return (this.attributes & A.control) !== 0;
  }

  /** Whether {@linkcode baseTimestamp} is a delete horizon. */
  get hasDeleteHorizon(): boolean {
    return (this.attributes & A.deleteHorizon) !== 0;
  }

  /** When the cleaner may drop its tombstones or markers; null when not set. */
  get deleteHorizonMs(): number | null {
    return this.hasDeleteHorizon ? this.baseTimestamp : null;
  }

  /** Last offset less {@linkcode baseOffset}; compaction keeps it, so the record there may be gone. */
  get lastOffsetDelta(): number {
    return this.#view.getInt32(this.#start + F.lastOffsetDelta);
  }

  /** Offset of its last record, or an upper bound where that one was compacted away. */
  get lastOffset(): number {
    const delta = this.lastOffsetDelta;
    if (delta < 0) throw this.#corrupt(`last offset delta ${delta}`);
    const offset = this.baseOffset + delta;
    if (!Number.isSafeInteger(offset)) throw this.#unsafe("lastOffset");
    return offset;
  }

  /** Timestamp its records' deltas count from: the first record's, or the delete horizon. */
  get baseTimestamp(): number {
    return this.#int64(F.baseTimestamp, "baseTimestamp");
  }

  /** Greatest timestamp among its records; with LogAppendTime the timestamp of each. */
  get maxTimestamp(): number {
    return this.#int64(F.maxTimestamp, "maxTimestamp");
  }

  /** Producer id; −1 for none. */
  get producerId(): number {
    return this.#int64(F.producerId, "producerId");
  }

  /** Producer epoch; −1 for none. */
  get producerEpoch(): number {
    return this.#view.getInt16(this.#start + F.producerEpoch);
  }

  /** Sequence of its first record; −1 for none. */
  get baseSequence(): number {
    return this.#view.getInt32(this.#start + F.baseSequence);
  }

  /** Sequence of its last record, which goes on at 0 after 2^31−1; −1 for none. */
  get lastSequence(): number {
    const first = this.baseSequence;
    return first < 0 ? -1 : (first + this.lastOffsetDelta) % 0x80000000;
  }

  /** Records it declares. */
  get recordCount(): number {
    return this.#view.getInt32(this.#start + F.recordCount);
  }

  /** Whether its CRC-32C is right. */
  hasValidCrc(crc32c: Crc32c): boolean {
    return this.#computedCrc(crc32c) === this.crc;
  }

  /**
   * Checks its CRC-32C.
   *
   * @throws CorruptRecordError when it is wrong.
   */
  verifyCrc(crc32c: Crc32c): void {
    const computed = this.#computedCrc(crc32c);
    if (computed !== this.crc) {
      throw this.#corrupt(`CRC-32C is ${hex(computed)}, the batch says ${hex(this.crc)}: its bytes were changed`);
    }
  }

  /**
   * Decodes its records: an array of lazy views of the batch, or of what it inflated to.
   *
   * The checksum is not checked here; see {@linkcode verifyCrc}.
   *
   * @throws CorruptRecordError when a record is damaged, CompressionError when they cannot be inflated.
   */
  records(options: DecodeOptions = {}): Record[] {
    const count = this.recordCount;
    if (count < 0) throw this.#corrupt(`${count} records declared`);
    // Compaction leaves such batches for the sake of their sequence numbers.
    if (count === 0) return [];
    const baseOffset = this.baseOffset;
    const isLogAppendTime = (this.attributes & A.logAppendTime) !== 0;
    const lastOffsetDelta = this.lastOffset - baseOffset;
    const inflated = this.compression === "none" ? undefined : this.#inflate(options);
    const start = inflated === undefined ? this.#start + RECORD_BATCH_OVERHEAD : 0;
    const end = inflated === undefined ? this.#start + this.size : inflated.length;
    const origin: RecordOrigin = {
      bytes: inflated ?? this.#buffer,
      topic: this.#context.topic ?? "",
      partition: this.#context.partition ?? -1,
      baseOffset,
      baseTimestamp: this.#int64OrNaN(isLogAppendTime ? F.maxTimestamp : F.baseTimestamp),
      timestampType: isLogAppendTime ? "LogAppendTime" : "CreateTime",
      baseSequence: this.baseSequence,
      hasHeaders: true,
    };
    return decodeRecords(origin, start, end, count, lastOffsetDelta, isLogAppendTime, (index, position, reason) => {
      const where = inflated === undefined
        ? `byte ${position - this.#start} of the batch`
        : `byte ${position} of its inflated records`;
      return this.#corrupt(`record ${index} at ${where}: ${reason}`);
    });
  }

  #inflate({ codecs = {}, limit = DEFAULT_DECOMPRESSION_LIMIT }: DecodeOptions): Uint8Array {
    const payload = this.#buffer.subarray(this.#start + RECORD_BATCH_OVERHEAD, this.#start + this.size);
    const type = this.compression;
    try {
      return type === "none" ? payload : codecFor(codecs, type).decompress(payload, limit);
    } catch (cause) {
      throw codecFailure(this.#context, this.#start, this.baseOffset, cause);
    }
  }

  #computedCrc(crc32c: Crc32c): number {
    return crc32c(this.#buffer.subarray(this.#start + F.attributes, this.#start + this.size));
  }

  #int64(at: number, field: string): number {
    const value = this.#int64OrNaN(at);
    if (Number.isNaN(value)) throw this.#unsafe(field);
    return value;
  }

  #int64OrNaN(at: number): number {
    const view = this.#view;
    const position = this.#start + at;
    const value = view.getInt32(position) * 4294967296 + view.getUint32(position + 4);
    return Number.isSafeInteger(value) ? value : NaN;
  }

  #corrupt(reason: string): CorruptRecordError {
    return corruptRecord(this.#context, this.#start, this.#knownOffset(), reason);
  }

  #unsafe(field: string): CorruptRecordError {
    return corruptRecord(
      this.#context,
      this.#start,
      undefined,
      `${field} of the batch is beyond ±(2^53−1), which a JavaScript number cannot hold`,
      "UNSAFE_INTEGER",
    );
  }

  /** The base offset where it is a number we can name; error messages must not fail themselves. */
  #knownOffset(): number | undefined {
    const offset = this.#int64OrNaN(F.baseOffset);
    return Number.isNaN(offset) ? undefined : offset;
  }
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
