/**
 * Message formats 0 and 1, which Kafka wrote before 0.11 and which old logs still hold.
 *
 * ```text
 * 0 offset   8 length (of what follows)   12 crc (CRC-32 of 16 … end)   16 magic   17 attributes
 * format 0: 18 key length, key, value length, value       format 1: 18 timestamp, 26 key length, key, …
 * ```
 *
 * A message is a batch of its own. A compressed one wraps others: its value is the compressed run of whole messages, and
 * its offset that of the last of them. In format 1 the inner offsets count from the first message.
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
import { crc32 } from "../hash/crc32.ts";
import type { Batch, DecodeOptions } from "./batch.ts";
import { Record, type RecordOrigin, type TimestampType } from "./record.ts";
import { codecFailure, corruptRecord, type RecordContext } from "./record_context.ts";

const LOG_OVERHEAD = 12;
const LENGTH = 8;
const CRC = 12;
const MAGIC = 16;
const ATTRIBUTES = 17;
const TIMESTAMP = 18;
/** Bytes after offset and length that a message without key and value takes, by format. */
const MIN_LENGTHS = [14, 22] as const;
/** Where the key's length is, by format. */
const KEYS = [18, 26] as const;
const LOG_APPEND_TIME = 0x08;

/** One message of format 0 or 1 with all that it wraps: the old formats' batch. A lazy view. */
export class MessageSet implements Batch {
  /** Bytes it takes. */
  readonly size: number;
  /** Message format: 0 or 1. */
  readonly magic: 0 | 1;
  readonly #message: Message;
  readonly #context: RecordContext;

  /**
   * Views the message that begins at `start` of `buffer`.
   *
   * @param view A view of all of `buffer`, to share among its batches.
   * @throws CorruptRecordError when the bytes cannot hold the message they announce, or are of another format.
   */
  constructor(
    buffer: Uint8Array,
    context: RecordContext = {},
    start = 0,
    view: DataView = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength),
  ) {
    this.#context = context;
    const fault: Fault = (reason, code) => corruptRecord(context, start, undefined, reason, code);
    this.#message = messageAt(buffer, view, start, buffer.length, fault);
    this.size = this.#message.end - start;
    this.magic = this.#message.magic;
  }

  /** All its bytes: a view. */
  get bytes(): Uint8Array {
    const { buffer, start, end } = this.#message;
    return buffer.subarray(start, end);
  }

  /** Where it begins in the file or response it was read from. */
  get position(): number {
    return (this.#context.position ?? 0) + this.#message.start;
  }

  /** CRC-32 it carries, unsigned. */
  get crc(): number {
    return this.#message.crc;
  }

  /** Its attribute bits. */
  get attributes(): number {
    return this.#message.attributes;
  }

  /**
   * Codec of what it wraps.
   *
   * @throws CompressionError for a codec number that Kafka does not know.
   */
  get compression(): CompressionType {
    try {
      return compressionTypeOf(this.#message.attributes);
    } catch (cause) {
      throw codecFailure(this.#context, this.#message.start, this.#knownOffset(), cause);
    }
  }

  /** Its offset; of a compressed one 0 as the lower bound, since only the last offset is told without decoding. */
  get baseOffset(): number {
    return this.compression === "none" ? this.lastOffset : 0;
  }

  /**
   * Its offset; of a compressed one that of the first message it wraps.
   *
   * @throws CorruptRecordError when it is damaged, CompressionError when it cannot be inflated.
   */
  exactBaseOffset(options: DecodeOptions = {}): number {
    return this.compression === "none" ? this.lastOffset : this.records(options)[0]!.offset;
  }

  /** Offset of its last record. */
  get lastOffset(): number {
    const { offset } = this.#message;
    if (!Number.isSafeInteger(offset)) {
      throw this.#fault("its offset is beyond ±(2^53−1), which a JavaScript number cannot hold", "UNSAFE_INTEGER");
    }
    return offset;
  }

  /** Meaning of the timestamps; format 0 has none. */
  get timestampType(): TimestampType {
    return timestampTypeOf(this.#message);
  }

  /** Greatest timestamp in it; −1 for none. */
  get maxTimestamp(): number {
    const { timestamp } = this.#message;
    if (!Number.isSafeInteger(timestamp)) {
      throw this.#fault("its timestamp is beyond ±(2^53−1), which a JavaScript number cannot hold", "UNSAFE_INTEGER");
    }
    return timestamp;
  }

  /** Not in these formats: −1. */
  get partitionLeaderEpoch(): number {
    return -1;
  }

  /** Not in these formats: −1. */
  get producerId(): number {
    return -1;
  }

  /** Not in these formats: −1. */
  get producerEpoch(): number {
    return -1;
  }

  /** Not in these formats: −1. */
  get baseSequence(): number {
    return -1;
  }

  /** Not in these formats: −1. */
  get lastSequence(): number {
    return -1;
  }

  /** Not in these formats: false. */
  get isTransactional(): boolean {
    return false;
  }

  /** Not in these formats: false. */
  get isControl(): boolean {
    return false;
  }

  /** Not in these formats: null. */
  get deleteHorizonMs(): null {
    return null;
  }

  /** 1, or null for a compressed one: it does not say. */
  get recordCount(): number | null {
    return this.compression === "none" ? 1 : null;
  }

  /** Whether its CRC-32 is right. */
  hasValidCrc(): boolean {
    return computedCrc(this.#message) === this.crc;
  }

  /**
   * Checks its CRC-32; those of the messages it wraps are checked as they are decoded.
   *
   * @throws CorruptRecordError when it is wrong.
   */
  verifyCrc(): void {
    checkCrc(this.#message, this.#fault);
  }

  /**
   * Decodes its records: itself, or what it wraps.
   *
   * @throws CorruptRecordError when one is damaged, CompressionError when they cannot be inflated.
   */
  records(options: DecodeOptions = {}): Record[] {
    const { compression, lastOffset } = this;
    const message = this.#message;
    if (compression === "none") {
      return [recordOf(message, this.#originOf(message, 0, message.timestamp), lastOffset, this.#fault)];
    }
    if (compression === "zstd") throw this.#fault(`message format ${this.magic} has no zstd`);
    const { valueStart, valueLength } = fieldsOf(message, this.#fault);
    if (valueLength < 0) throw this.#fault("a compressed message without a value");
    let inflated: Uint8Array;
    try {
      const { codecs = {}, limit = DEFAULT_DECOMPRESSION_LIMIT } = options;
      const value = message.buffer.subarray(valueStart, valueStart + valueLength);
      inflated = codecFor(codecs, compression).decompress(value, limit);
    } catch (cause) {
      throw codecFailure(this.#context, message.start, lastOffset, cause);
    }
    return this.#unwrap(inflated, lastOffset);
  }

  #unwrap(inflated: Uint8Array, lastOffset: number): Record[] {
    const view = new DataView(inflated.buffer, inflated.byteOffset, inflated.byteLength);
    const inner: Message[] = [];
    const faultAt = (at: number): Fault => (reason, code) =>
      this.#fault(`message ${inner.length} at byte ${at} of what it wraps: ${reason}`, code);
    for (let at = 0; at < inflated.length;) {
      const fault = faultAt(at);
      const message = messageAt(inflated, view, at, inflated.length, fault);
      if ((message.attributes & 7) !== 0) throw fault("a compressed message in a compressed one");
      checkCrc(message, fault);
      inner.push(message);
      at = message.end;
    }
    const last = inner.at(-1);
    if (last === undefined) throw this.#fault("a compressed message that wraps none");
    // The wrapper's format says whether the inner offsets are relative, whatever their own format: a cleaner of old put
    // format 0 into format 1. And some old clients left the wrapper's offset at 0.
    const isRelative = this.magic === 1 && lastOffset !== 0;
    if (isRelative && lastOffset < last.offset) {
      throw this.#fault(`its offset is less than ${last.offset}, the relative offset of the last message it wraps`);
    }
    const baseOffset = isRelative ? lastOffset - last.offset : 0;
    return inner.map((message) => {
      const fault = faultAt(message.start);
      if (!Number.isSafeInteger(baseOffset + message.offset)) {
        throw fault("its offset is beyond ±(2^53−1)", "UNSAFE_INTEGER");
      }
      const isLogAppendTime = message.magic === 1 && this.timestampType === "LogAppendTime";
      const timestamp = isLogAppendTime ? this.#message.timestamp : message.timestamp;
      return recordOf(message, this.#originOf(message, baseOffset, timestamp), message.offset, fault);
    });
  }

  #originOf(message: Message, baseOffset: number, timestamp: number): RecordOrigin {
    return {
      bytes: message.buffer,
      topic: this.#context.topic ?? "",
      partition: this.#context.partition ?? -1,
      baseOffset,
      baseTimestamp: timestamp,
      timestampType: message.magic === 0 ? "NoTimestampType" : this.timestampType,
      baseSequence: -1,
      hasHeaders: false,
    };
  }

  readonly #fault: Fault = (reason: string, code?: string): CorruptRecordError =>
    corruptRecord(this.#context, this.#message.start, this.#knownOffset(), reason, code);

  #knownOffset(): number | undefined {
    const { offset } = this.#message;
    return Number.isSafeInteger(offset) ? offset : undefined;
  }
}

/** Says what is wrong with a message. */
type Fault = (reason: string, code?: string) => CorruptRecordError;

/** The fixed fields of one message; its length and format have been checked. */
interface Message {
  readonly buffer: Uint8Array;
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
  readonly offset: number;
  readonly crc: number;
  readonly magic: 0 | 1;
  readonly attributes: number;
  /** −1 in format 0; rounded beyond 2^53. */
  readonly timestamp: number;
}

function messageAt(buffer: Uint8Array, view: DataView, start: number, end: number, fault: Fault): Message {
  const room = end - start;
  if (room < LOG_OVERHEAD + MIN_LENGTHS[0]) throw fault(`a message takes 26 bytes at least, ${room} left`);
  const length = view.getInt32(start + LENGTH);
  const magic = view.getInt8(start + MAGIC);
  if (magic !== 0 && magic !== 1) throw fault(`magic ${magic} is not that of a message`, "UNSUPPORTED_MAGIC");
  if (length < MIN_LENGTHS[magic] || length > room - LOG_OVERHEAD) {
    throw fault(`message length ${length} is impossible, ${room - LOG_OVERHEAD} bytes left`);
  }
  return {
    buffer,
    view,
    start,
    end: start + LOG_OVERHEAD + length,
    offset: int64(view, start),
    crc: view.getUint32(start + CRC),
    magic,
    attributes: view.getUint8(start + ATTRIBUTES),
    timestamp: magic === 0 ? -1 : int64(view, start + TIMESTAMP),
  };
}

function recordOf(message: Message, origin: RecordOrigin, offset: number, fault: Fault): Record {
  const { keyStart, keyLength, valueStart, valueLength } = fieldsOf(message, fault);
  return new Record(origin, offset, 0, keyStart, keyLength, valueStart, valueLength);
}

function fieldsOf(
  { view, start, end, magic }: Message,
  fault: Fault,
): { keyStart: number; keyLength: number; valueStart: number; valueLength: number } {
  const keyStart = start + KEYS[magic] + 4;
  const keyLength = view.getInt32(keyStart - 4);
  const keyEnd = keyStart + Math.max(0, keyLength);
  if (keyLength < -1 || keyEnd + 4 > end) {
    throw fault(`key length ${keyLength}, ${end - keyStart} bytes left in the message`);
  }
  const valueStart = keyEnd + 4;
  const valueLength = view.getInt32(keyEnd);
  if (valueLength < -1 || valueStart + Math.max(0, valueLength) !== end) {
    throw fault(`value length ${valueLength}, ${end - valueStart} bytes left in the message`);
  }
  return { keyStart, keyLength, valueStart, valueLength };
}

function timestampTypeOf({ attributes, magic }: Message): TimestampType {
  if (magic === 0) return "NoTimestampType";
  return (attributes & LOG_APPEND_TIME) === 0 ? "CreateTime" : "LogAppendTime";
}

function computedCrc({ buffer, start, end }: Message): number {
  return crc32(buffer.subarray(start + MAGIC, end));
}

function checkCrc(message: Message, fault: Fault): void {
  const computed = computedCrc(message);
  if (computed !== message.crc) {
    throw fault(`CRC-32 is ${hex(computed)}, the message says ${hex(message.crc)}: its bytes were changed`);
  }
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

function int64(view: DataView, at: number): number {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}
