/**
 * One record as it is read: what a consumer hands out and what a log file is iterated by.
 *
 * A record is a lazy view. `key`, `value` and the header values are views of the buffer they were read from, made when
 * asked for: they cost nothing unless used, and whoever keeps one keeps the whole buffer alive. Copy (`slice`) what is to
 * be kept for long, and do not write into them.
 *
 * @module
 */

import { utf8Read } from "../bytes/utf8.ts";
import { CorruptRecordError } from "../core/kafka_error.ts";

/** A header: its key and its value, which may be null. Keys may repeat; the order is kept. */
export type Header = readonly [key: string, value: Uint8Array | null];

/** What a record's timestamp means; message format 0 has none. */
export type TimestampType = "CreateTime" | "LogAppendTime" | "NoTimestampType";

/** What all records of one batch share. */
export interface RecordOrigin {
  /** Buffer that the records view: the batch itself, or what its compressed part inflated to. */
  readonly bytes: Uint8Array;
  /** Topic; empty when not known. */
  readonly topic: string;
  /** Partition; −1 when not known. */
  readonly partition: number;
  /** Offset the records' deltas count from. */
  readonly baseOffset: number;
  /** Timestamp the records' deltas count from; NaN when it is beyond ±(2^53−1). */
  readonly baseTimestamp: number;
  /** Meaning of the timestamps. */
  readonly timestampType: TimestampType;
  /** Producer sequence of offset delta 0; −1 for none. */
  readonly baseSequence: number;
  /** Whether the format has headers (format 2). */
  readonly hasHeaders: boolean;
}

const NO_HEADERS: readonly Header[] = Object.freeze([]);

/** A record that was read. */
export class Record {
  // Small integers only: an offset or a time of day as a field would cost a heap number each (16 bytes, 10 ns) in V8.
  readonly #origin: RecordOrigin;
  readonly #offsetDelta: number;
  readonly #timestampDelta: number;
  readonly #keyStart: number;
  readonly #keyLength: number;
  readonly #valueStart: number;
  readonly #valueLength: number;

  /** Makes the view; lengths of −1 mean null. The positions must have been checked. */
  constructor(
    origin: RecordOrigin,
    offsetDelta: number,
    timestampDelta: number,
    keyStart: number,
    keyLength: number,
    valueStart: number,
    valueLength: number,
  ) {
    this.#origin = origin;
    this.#offsetDelta = offsetDelta;
    this.#timestampDelta = timestampDelta;
    this.#keyStart = keyStart;
    this.#keyLength = keyLength;
    this.#valueStart = valueStart;
    this.#valueLength = valueLength;
  }

  /** Topic it was read from; empty when the source did not say. */
  get topic(): string {
    return this.#origin.topic;
  }

  /** Partition it was read from; −1 when the source did not say. */
  get partition(): number {
    return this.#origin.partition;
  }

  /** Offset in the partition. */
  get offset(): number {
    return this.#origin.baseOffset + this.#offsetDelta;
  }

  /**
   * Milliseconds since 1970: when it was made or appended, see {@linkcode timestampType}; −1 for none.
   *
   * @throws CorruptRecordError with code `"UNSAFE_INTEGER"` for one beyond ±(2^53−1), which a number cannot hold.
   */
  get timestamp(): number {
    const timestamp = this.#origin.baseTimestamp + this.#timestampDelta;
    if (!Number.isSafeInteger(timestamp)) throw this.#unsafeTimestamp();
    return timestamp;
  }

  /** Whether the producer set the timestamp (`"CreateTime"`) or the broker (`"LogAppendTime"`). */
  get timestampType(): TimestampType {
    return this.#origin.timestampType;
  }

  /** Sequence number its producer gave it; −1 for none. */
  get sequence(): number {
    const { baseSequence } = this.#origin;
    return baseSequence < 0 ? -1 : (baseSequence + this.#offsetDelta) % 0x80000000;
  }

  /** Key; null when it has none. */
  get key(): Uint8Array | null {
    const start = this.#keyStart;
    return this.#keyLength < 0 ? null : this.#origin.bytes.subarray(start, start + this.#keyLength);
  }

  /** Bytes of the key; −1 when it has none. */
  get keyLength(): number {
    return this.#keyLength;
  }

  /** Value; null is a tombstone. */
  get value(): Uint8Array | null {
    const start = this.#valueStart;
    return this.#valueLength < 0 ? null : this.#origin.bytes.subarray(start, start + this.#valueLength);
  }

  /** Bytes of the value; −1 when it is null. */
  get valueLength(): number {
    return this.#valueLength;
  }

  /** Buffer that key, value and headers lie in: for those to whom a view of each is too much (40 ns). */
  get buffer(): Uint8Array {
    return this.#origin.bytes;
  }

  /** Where the key begins in {@linkcode buffer}; it takes {@linkcode keyLength} bytes. */
  get keyStart(): number {
    return this.#keyStart;
  }

  /** Where the value begins in {@linkcode buffer}; it takes {@linkcode valueLength} bytes. */
  get valueStart(): number {
    return this.#valueStart;
  }

  /** Headers in their order; decoded anew at each access. */
  get headers(): readonly Header[] {
    const { bytes, hasHeaders } = this.#origin;
    const at = this.#valueStart + (this.#valueLength < 0 ? 0 : this.#valueLength);
    if (!hasHeaders || bytes[at] === 0) return NO_HEADERS;
    const cursor = new HeaderCursor(bytes, at);
    const headers: Header[] = [];
    for (let n = cursor.varint(); n > 0; n--) {
      const keyLength = cursor.varint();
      const key = utf8Read(bytes, cursor.position, cursor.position += keyLength);
      const length = cursor.varint();
      headers.push([key, length < 0 ? null : bytes.subarray(cursor.position, cursor.position += length)]);
    }
    return headers;
  }

  static {
    // Getters do not show when an object is printed; Node.js, Deno and Bun all ask for this one.
    Object.defineProperty(Record.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Record) {
        const { headers, key, offset, partition, topic, value } = this;
        const timestamp = this.#origin.baseTimestamp + this.#timestampDelta;
        return { topic, partition, offset, timestamp, key, value, headers };
      },
    });
  }

  #unsafeTimestamp(): CorruptRecordError {
    const { offset, partition, topic } = this;
    const place = topic === "" ? `offset ${offset}` : `${topic}-${partition}, offset ${offset}`;
    return new CorruptRecordError(
      `${place}: the timestamp is beyond ±(2^53−1), which a JavaScript number cannot hold`,
      {
        code: "UNSAFE_INTEGER",
        offset,
        ...(topic === "" ? {} : { topic, partition }),
      },
    );
  }
}

/** Walks header bytes that were checked when the batch was decoded. */
class HeaderCursor {
  readonly bytes: Uint8Array;
  position: number;

  constructor(bytes: Uint8Array, position: number) {
    this.bytes = bytes;
    this.position = position;
  }

  varint(): number {
    let z = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.position++]!;
      z |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return (z >>> 1) ^ -(z & 1);
  }
}
