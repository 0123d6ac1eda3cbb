/**
 * Writes the message formats 0 and 1, byte for byte as Kafka did: for old logs to be rebuilt, and for brokers and clients
 * from before 0.11. Their layout: `message_set.ts`.
 *
 * @module
 */

import { utf8Length, utf8Write } from "../bytes/utf8.ts";
import { COMPRESSION_TYPES } from "../compression/codec.ts";
import { ConfigError } from "../core/kafka_error.ts";
import { crc32 } from "../hash/crc32.ts";
import { xxhash32 } from "../hash/xxhash32.ts";
import type { BatchCompression } from "./record_batch_builder.ts";

/** How a message set is written. */
export interface MessageSetOptions {
  /** Message format. */
  readonly magic: 0 | 1;
  /** Codec that wraps the messages in one; each stands alone when absent. */
  readonly compression?: BatchCompression | undefined;
  /** Format 1: timestamp that the broker sets on all messages, instead of theirs. */
  readonly logAppendTime?: number | undefined;
  /** Offset that the relative ones in a wrapper of format 1 count from; that of the first message when absent. */
  readonly baseOffset?: number | undefined;
}

const LOG_OVERHEAD = 12;
const CRC = 12;
const MAGIC = 16;
/** Bytes before the key's length, by format. */
const HEADER_SIZES = [18, 26] as const;
const LOG_APPEND_TIME = 0x08;
const INITIAL_SIZE = 1024;

/** Builds one message set: messages one after the other or, compressed, within one. */
export class MessageSetBuilder {
  readonly #options: MessageSetOptions;
  #bytes: Uint8Array = new Uint8Array(INITIAL_SIZE);
  #view: DataView = new DataView(this.#bytes.buffer);
  #position = 0;
  #baseOffset = -1;
  #lastOffset = -1;
  #maxTimestamp = -1;

  /** @throws ConfigError for a codec or timestamp that the format does not have. */
  constructor(options: MessageSetOptions) {
    this.#options = options;
    const { compression, logAppendTime, magic } = options;
    if (compression?.type === "zstd") throw new ConfigError(`message format ${magic} has no zstd`);
    if (magic === 0 && logAppendTime !== undefined) throw new ConfigError("message format 0 has no timestamps");
  }

  /**
   * Adds a message at `offset`, which must be greater than the one before; gaps are kept. Format 0 drops the timestamp.
   *
   * @throws ConfigError for an offset or timestamp that cannot be.
   */
  append(offset: number, timestamp: number, key: Uint8Array | string | null, value: Uint8Array | string | null): void {
    if (!Number.isSafeInteger(offset) || offset <= this.#lastOffset) {
      throw new ConfigError(`offset ${offset} behind ${this.#lastOffset}: offsets are integers that ascend`);
    }
    const { compression, logAppendTime, magic } = this.#options;
    const time = logAppendTime ?? timestamp;
    if (magic === 1 && (!Number.isSafeInteger(time) || time < -1)) {
      throw new ConfigError(`record timestamp ${time} is not a number of milliseconds ≥ 0, nor −1 for none`);
    }
    const { baseOffset = offset } = this.#options;
    if (this.#baseOffset < 0) {
      if (baseOffset > offset) throw new ConfigError(`offset ${offset} is below the set's base offset ${baseOffset}`);
      this.#baseOffset = baseOffset;
    }
    // Format 0 keeps absolute offsets in a wrapper, which is why a broker had to compress again to assign them.
    const isRelative = magic === 1 && compression !== undefined;
    this.#write(isRelative ? offset - this.#baseOffset : offset, 0, time, key, value);
    this.#lastOffset = offset;
    this.#maxTimestamp = Math.max(this.#maxTimestamp, time);
  }

  /**
   * The message set so far, as a copy.
   *
   * @throws ConfigError without a message; CompressionError from the codec.
   */
  build(): Uint8Array {
    if (this.#lastOffset < 0) throw new ConfigError("a message set without messages cannot be written");
    const { compression, magic } = this.#options;
    const plain = this.#bytes.slice(0, this.#position);
    if (compression === undefined) return plain;
    const packed = compression.codec.compress(plain, compression.level);
    const wrapper = new MessageSetBuilder({ ...this.#options, compression: undefined });
    wrapper.#write(
      this.#lastOffset,
      COMPRESSION_TYPES.indexOf(compression.type),
      this.#maxTimestamp,
      null,
      magic === 0 && compression.type === "lz4" ? withHistoricChecksum(packed) : packed,
    );
    return wrapper.#bytes.slice(0, wrapper.#position);
  }

  #write(
    offset: number,
    codec: number,
    timestamp: number,
    key: Uint8Array | string | null,
    value: Uint8Array | string | null,
  ): void {
    const { logAppendTime, magic } = this.#options;
    const start = this.#position;
    const keySize = sizeOf(key);
    const valueSize = sizeOf(value);
    const size = HEADER_SIZES[magic] + 8 + Math.max(0, keySize) + Math.max(0, valueSize);
    this.#reserve(start + size);
    const view = this.#view;
    setInt64(view, start, offset);
    view.setInt32(start + 8, size - LOG_OVERHEAD);
    view.setInt8(start + MAGIC, magic);
    view.setInt8(start + 17, codec | (logAppendTime === undefined ? 0 : LOG_APPEND_TIME));
    if (magic === 1) setInt64(view, start + 18, timestamp);
    this.#position = start + HEADER_SIZES[magic];
    this.#field(key, keySize);
    this.#field(value, valueSize);
    view.setUint32(start + CRC, crc32(this.#bytes.subarray(start + MAGIC, this.#position)));
  }

  #field(field: Uint8Array | string | null, size: number): void {
    this.#view.setInt32(this.#position, size);
    this.#position += 4;
    if (field === null) return;
    if (typeof field === "string") utf8Write(field, size, this.#bytes, this.#position);
    else this.#bytes.set(field, this.#position);
    this.#position += size;
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    bytes.set(this.#bytes.subarray(0, this.#position));
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/**
 * The LZ4 frame as Kafka wrote it before 0.10: its header's checksum took the frame's magic in, against the format. Clients
 * of that time refuse any other.
 */
function withHistoricChecksum(frame: Uint8Array): Uint8Array {
  const hasContentSize = (frame[4]! & 0x08) !== 0;
  const end = hasContentSize ? 14 : 6;
  const bytes = frame.slice();
  bytes[end] = xxhash32(frame, 0, end) >>> 8;
  return bytes;
}

function sizeOf(field: Uint8Array | string | null): number {
  return field === null ? -1 : typeof field === "string" ? utf8Length(field) : field.length;
}

function setInt64(view: DataView, at: number, value: number): void {
  view.setInt32(at, Math.floor(value / 4294967296));
  view.setInt32(at + 4, value | 0);
}
