/**
 * Encodes records into one v2 batch as they come: each is written once, in place, into the memory given, and the header is
 * sealed last. No object per record stays behind.
 *
 * @module
 */

import { utf8Length, utf8Write } from "../bytes/utf8.ts";
import {
  unsignedVarintLength,
  varintLength,
  varlongLength,
  writeUnsignedVarint,
  writeVarint,
  writeVarlong,
} from "../bytes/varint.ts";
import { type Codec, COMPRESSION_TYPES, type CompressionType } from "../compression/codec.ts";
import { ConfigError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { LOG_OVERHEAD, RECORD_BATCH_ATTRIBUTES, RECORD_BATCH_FIELDS, RECORD_BATCH_OVERHEAD } from "./record_batch.ts";

/** A header to write: its key and its value; a string is written as UTF-8. */
export type HeaderInput = readonly [key: string, value: Uint8Array | string | null];

/** A codec for the records of a batch. */
export interface BatchCompression {
  /** Name of the codec. */
  readonly type: Exclude<CompressionType, "none">;
  /** The codec. */
  readonly codec: Codec;
  /** Its level; the codec's default when absent. */
  readonly level?: number | undefined;
}

/** How much a batch may take. */
export interface BatchLimits {
  /** Most bytes the batch should take when written; the buffer's length when absent. The first record always fits. */
  readonly limit?: number | undefined;
  /** Bytes after compression for each byte before, as expected; 1 when absent. */
  readonly compressionRatio?: number | undefined;
  /** Timestamp the records' deltas count from; that of the first record when absent. A delete horizon stands there. */
  readonly baseTimestamp?: number | undefined;
}

/** The header fields that are known only when a batch is sent. */
export interface SealOptions {
  /** Checksum to use. */
  readonly crc32c: Crc32c;
  /** Codec for the records; none when absent. */
  readonly compression?: BatchCompression | undefined;
  /** Producer id; −1 when absent. */
  readonly producerId?: number | undefined;
  /** Producer epoch; −1 when absent. */
  readonly producerEpoch?: number | undefined;
  /** Sequence of the first record; −1 when absent. */
  readonly baseSequence?: number | undefined;
  /** Whether the batch belongs to a transaction. */
  readonly isTransactional?: boolean | undefined;
  /** Offset of the first record; 0 when absent, for the broker to set. */
  readonly baseOffset?: number | undefined;
  /** Leader epoch; −1 when absent, for the broker to set. */
  readonly partitionLeaderEpoch?: number | undefined;
  /** Last offset less the first; that of the last record when absent. Compaction keeps it when the record goes. */
  readonly lastOffsetDelta?: number | undefined;
  /** Whether it holds control records. */
  readonly isControl?: boolean | undefined;
  /** Whether the base timestamp is a delete horizon. */
  readonly hasDeleteHorizon?: boolean | undefined;
  /** Greatest timestamp; the records' when absent. */
  readonly maxTimestamp?: number | undefined;
  /** Whether the broker set the timestamp, which then is the greatest one for every record. */
  readonly isLogAppendTime?: boolean | undefined;
}

/** What Java adds to its estimate of the compressed size, so that a batch seldom outgrows its limit. */
const COMPRESSION_SAFETY = 1.05;
/** Below this a loop copies faster than `set` (10 against 20 ns). */
const LOOP_BELOW = 16;
/** What a record takes beside key, value and headers at most: length 5, attributes 1, timestamp 10, offset 5. */
const MAX_RECORD_OVERHEAD = 21;

const NO_HEADERS: readonly HeaderInput[] = [];
const F = RECORD_BATCH_FIELDS;
const A = RECORD_BATCH_ATTRIBUTES;

/** Builds one batch. */
export class RecordBatchBuilder {
  readonly #limit: number;
  readonly #ratio: number;
  #bytes: Uint8Array;
  #position = RECORD_BATCH_OVERHEAD;
  #count = 0;
  #lastOffsetDelta = -1;
  #baseTimestamp: number;
  readonly #hasBaseTimestamp: boolean;
  #maxTimestamp = -1;
  #sealed: Uint8Array | undefined;
  #sealedView: DataView | undefined;
  #sealedCodec = 0;

  /**
   * Builds into `buffer`, which must stay untouched by others until the sealed batch is no longer in use. Should the
   * records not fit (a compressed batch holds more than it will take), the builder goes on in memory of its own.
   */
  constructor(buffer: Uint8Array, limits: BatchLimits = {}) {
    this.#bytes = buffer;
    this.#limit = limits.limit ?? buffer.length;
    this.#ratio = limits.compressionRatio ?? 1;
    this.#hasBaseTimestamp = limits.baseTimestamp !== undefined;
    this.#baseTimestamp = limits.baseTimestamp ?? -1;
  }

  /** Records so far. */
  get recordCount(): number {
    return this.#count;
  }

  /** Timestamp the deltas count from: the first record's, unless another was given; −1 while there is none. */
  get baseTimestamp(): number {
    return this.#baseTimestamp;
  }

  /** Greatest timestamp; −1 while there is none. */
  get maxTimestamp(): number {
    return this.#maxTimestamp;
  }

  /** Bytes of the batch without compression, header included. */
  get uncompressedSize(): number {
    return this.#position;
  }

  /** Whether a record of `size` bytes has room. */
  fits(size: number): boolean {
    return this.#sealed === undefined && this.#estimatedSize() + size <= this.#limit;
  }

  /** The records as they were appended, behind room for the header: a view of the builder's memory. */
  get uncompressed(): Uint8Array {
    return this.#bytes.subarray(0, this.#position);
  }

  /** Bytes the batch takes: what it took when last sealed; before that an estimate if it will be compressed. */
  get size(): number {
    return this.#sealed === undefined ? this.#estimatedSize() : this.#sealed.length;
  }

  /** Bytes after compression for each byte before, once sealed; 1 before. */
  get compressionRatio(): number {
    if (this.#sealed === undefined || this.#position === RECORD_BATCH_OVERHEAD) return 1;
    return (this.#sealed.length - RECORD_BATCH_OVERHEAD) / (this.#position - RECORD_BATCH_OVERHEAD);
  }

  /** Whether no further record will be taken: it reached its limit, or it was sealed. */
  get isFull(): boolean {
    return this.#sealed !== undefined || (this.#count > 0 && this.#limit <= this.#estimatedSize());
  }

  /**
   * Adds a record; answers false, and changes nothing, when it has no room. The first record always has.
   *
   * The bytes are copied before this returns. Whoever knows how many bytes key and value take (−1 for null) says so: a
   * string is then not measured again. `offsetDelta` is for those who write what was read, with its gaps.
   */
  append(
    timestamp: number,
    key: Uint8Array | string | null,
    value: Uint8Array | string | null,
    headers: readonly HeaderInput[] = NO_HEADERS,
    keySize: number = sizeOf(key),
    valueSize: number = sizeOf(value),
    offsetDelta: number = this.#lastOffsetDelta + 1,
  ): boolean {
    // Hot: 0.1 µs for 100 bytes (tools/bench/records.ts). Nothing is allocated, each number is zigzagged once, and one-byte
    // varints, which most are, take no loop.
    if (this.#sealed !== undefined) return false;
    if (!Number.isSafeInteger(timestamp) || timestamp < -1) {
      throw new ConfigError(`record timestamp ${timestamp} is not a number of milliseconds ≥ 0, nor −1 for none`);
    }
    const count = this.#count;
    if (count === 0 && !this.#hasBaseTimestamp) this.#baseTimestamp = timestamp;
    const timestampDelta = timestamp - this.#baseTimestamp;
    // Within ±2^30 ms, twelve days, a delta is written like any other varint.
    const isNear = timestampDelta >= -0x40000000 && timestampDelta < 0x40000000;
    const timestampZ = isNear ? zigzag(timestampDelta) : 0;
    const offsetZ = zigzag(offsetDelta);
    const keyZ = zigzag(keySize);
    const valueZ = zigzag(valueSize);
    const bodySize = 1 + (isNear ? unsignedVarintLength(timestampZ) : varlongLength(timestampDelta)) +
      unsignedVarintLength(offsetZ) +
      unsignedVarintLength(keyZ) + (keySize > 0 ? keySize : 0) +
      unsignedVarintLength(valueZ) + (valueSize > 0 ? valueSize : 0) +
      (headers.length === 0 ? 1 : headersSize(headers));
    const bodyZ = zigzag(bodySize);
    const size = unsignedVarintLength(bodyZ) + bodySize;
    if (count > 0 && this.#estimatedSize() + size > this.#limit) return false;
    let at = this.#position;
    if (at + size > this.#bytes.length) this.#grow(at + size);

    const bytes = this.#bytes;
    at = put(bytes, at, bodyZ);
    bytes[at++] = 0; // attributes, unused by Kafka
    at = isNear ? put(bytes, at, timestampZ) : writeVarlong(bytes, at, timestampDelta);
    at = put(bytes, at, offsetZ);
    at = put(bytes, at, keyZ);
    if (key !== null) at = copy(key, keySize, bytes, at);
    at = put(bytes, at, valueZ);
    if (value !== null) at = copy(value, valueSize, bytes, at);
    if (headers.length === 0) bytes[at++] = 0;
    else at = writeHeaders(headers, bytes, at);

    this.#position = at;
    this.#count = count + 1;
    this.#lastOffsetDelta = offsetDelta;
    if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp;
    return true;
  }

  /**
   * Writes the header and answers the batch, ready to be sent: a view of the builder's memory or, if compressed, a buffer
   * of its own. From here on no record is taken.
   *
   * May be repeated with another producer id, epoch or sequence: the header is rewritten *in place* and the checksum
   * renewed, the records are not compressed again. So it must not be called while an earlier answer is being sent.
   *
   * @throws CompressionError from the codec; ConfigError without a record, unless a last offset is given.
   */
  seal(options: SealOptions): Uint8Array {
    const { lastOffsetDelta = this.#lastOffsetDelta } = options;
    if (lastOffsetDelta < 0) throw new ConfigError("a batch without records cannot be sealed");
    const sealed = this.#sealed ?? this.#finish(options.compression);
    const view = this.#sealedView ??= new DataView(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const { baseOffset = 0, producerId = -1 } = options;
    setInt64(view, F.baseOffset, baseOffset);
    view.setInt32(F.length, sealed.length - LOG_OVERHEAD);
    view.setInt32(F.partitionLeaderEpoch, options.partitionLeaderEpoch ?? -1);
    view.setInt8(F.magic, 2);
    view.setInt16(F.attributes, this.#sealedCodec | attributesOf(options));
    view.setInt32(F.lastOffsetDelta, lastOffsetDelta);
    setInt64(view, F.baseTimestamp, this.#baseTimestamp);
    setInt64(view, F.maxTimestamp, options.maxTimestamp ?? this.#maxTimestamp);
    setInt64(view, F.producerId, producerId);
    view.setInt16(F.producerEpoch, options.producerEpoch ?? -1);
    view.setInt32(F.baseSequence, options.baseSequence ?? -1);
    view.setInt32(F.recordCount, this.#count);
    view.setUint32(F.crc, options.crc32c(sealed.subarray(F.attributes)));
    return sealed;
  }

  #finish(compression: BatchCompression | undefined): Uint8Array {
    const plain = this.#bytes.subarray(0, this.#position);
    if (compression === undefined) return this.#sealed = plain;
    const packed = compression.codec.compress(plain.subarray(RECORD_BATCH_OVERHEAD), compression.level);
    const sealed = new Uint8Array(RECORD_BATCH_OVERHEAD + packed.length);
    sealed.set(packed, RECORD_BATCH_OVERHEAD);
    this.#sealedCodec = COMPRESSION_TYPES.indexOf(compression.type);
    return this.#sealed = sealed;
  }

  /** What the batch would take if it were written now. */
  #estimatedSize(): number {
    if (this.#ratio === 1) return this.#position;
    const records = this.#position - RECORD_BATCH_OVERHEAD;
    return RECORD_BATCH_OVERHEAD + Math.floor(records * this.#ratio * COMPRESSION_SAFETY);
  }

  #grow(needed: number): void {
    const bytes = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    bytes.set(this.#bytes.subarray(0, this.#position));
    this.#bytes = bytes;
  }
}

function attributesOf(options: SealOptions): number {
  return (options.isLogAppendTime === true ? A.logAppendTime : 0) |
    (options.isTransactional === true ? A.transactional : 0) |
    (options.isControl === true ? A.control : 0) |
    (options.hasDeleteHorizon === true ? A.deleteHorizon : 0);
}

/** Bytes the record takes as number `offsetDelta` of a batch whose first record is `timestampDelta` milliseconds older. */
export function recordSize(
  offsetDelta: number,
  timestampDelta: number,
  key: Uint8Array | string | null,
  value: Uint8Array | string | null,
  headers: readonly HeaderInput[] = NO_HEADERS,
): number {
  const size = 1 + varlongLength(timestampDelta) + varintLength(offsetDelta) +
    fieldsSize(sizeOf(key), sizeOf(value), headers);
  return varintLength(size) + size;
}

/**
 * The most bytes a batch with this record alone can take: the size that `max.request.size` is compared with, and the memory
 * to have at hand before its place in a batch is known.
 */
export function recordSizeUpperBound(
  key: Uint8Array | string | null,
  value: Uint8Array | string | null,
  headers: readonly HeaderInput[] = NO_HEADERS,
): number {
  return recordBound(sizeOf(key), sizeOf(value), headers);
}

/** {@linkcode recordSizeUpperBound} for a key and a value whose sizes are known; −1 means null. */
export function recordBound(keySize: number, valueSize: number, headers: readonly HeaderInput[] = NO_HEADERS): number {
  return RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + fieldsSize(keySize, valueSize, headers);
}

function sizeOf(value: Uint8Array | string | null): number {
  return value === null ? -1 : typeof value === "string" ? utf8Length(value) : value.length;
}

/** Bytes of key, value and headers with their lengths; sizes of −1 mean null. */
function fieldsSize(keySize: number, valueSize: number, headers: readonly HeaderInput[]): number {
  return varintLength(keySize) + (keySize > 0 ? keySize : 0) +
    varintLength(valueSize) + (valueSize > 0 ? valueSize : 0) +
    (headers.length === 0 ? 1 : headersSize(headers));
}

/** Bytes of the header count and the headers. */
function headersSize(headers: readonly HeaderInput[]): number {
  let size = varintLength(headers.length);
  for (const [key, value] of headers) {
    const keySize = utf8Length(key);
    const valueSize = sizeOf(value);
    size += varintLength(keySize) + keySize + varintLength(valueSize) + Math.max(0, valueSize);
  }
  return size;
}

function writeHeaders(headers: readonly HeaderInput[], bytes: Uint8Array, position: number): number {
  let at = writeVarint(bytes, position, headers.length);
  for (const [key, value] of headers) {
    at = writeText(key, bytes, at);
    if (value === null) at = writeVarint(bytes, at, -1);
    else if (typeof value === "string") at = writeText(value, bytes, at);
    else at = copy(value, value.length, bytes, writeVarint(bytes, at, value.length));
  }
  return at;
}

function writeText(text: string, bytes: Uint8Array, position: number): number {
  const length = utf8Length(text);
  const at = writeVarint(bytes, position, length);
  utf8Write(text, length, bytes, at);
  return at + length;
}

function zigzag(value: number): number {
  return (value << 1) ^ (value >> 31);
}

/** Writes a varint; like `writeUnsignedVarint`, but inlined where it is one byte. */
function put(bytes: Uint8Array, at: number, value: number): number {
  if ((value & ~0x7f) !== 0) return writeUnsignedVarint(bytes, at, value);
  bytes[at] = value;
  return at + 1;
}

function copy(from: Uint8Array | string, length: number, into: Uint8Array, at: number): number {
  if (typeof from === "string") {
    utf8Write(from, length, into, at);
  } else if (length < LOOP_BELOW) {
    for (let i = 0; i < length; i++) into[at + i] = from[i]!;
  } else {
    into.set(from, at);
  }
  return at + length;
}

function setInt64(view: DataView, at: number, value: number): void {
  if (!Number.isSafeInteger(value)) throw new ConfigError(`${value} is not an integer within ±(2^53−1)`);
  view.setInt32(at, Math.floor(value / 4294967296));
  view.setInt32(at + 4, value | 0);
}
