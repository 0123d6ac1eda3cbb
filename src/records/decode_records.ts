/**
 * Turns the records part of a v2 batch, inflated if need be, into {@linkcode Record}s.
 *
 * Every length is checked here against the end of its record, so that a damaged one is an error at once and the lazy views
 * handed out never reach into a neighbour.
 *
 * @module
 */

import { Record, type RecordOrigin } from "./record.ts";

/** Least bytes a record takes: its length, attributes, two deltas, two lengths and the header count. */
const MIN_RECORD_SIZE = 7;

/** Says that the record `index`, which begins at `position`, is damaged, and how. */
export type RecordFault = (index: number, position: number, reason: string) => Error;

/**
 * Decodes exactly `count` records that fill `origin.bytes[start, end)`.
 *
 * @throws What `fault` makes, for a record that is not well-formed or offset deltas outside 0 … `lastOffsetDelta`.
 */
export function decodeRecords(
  origin: RecordOrigin,
  start: number,
  end: number,
  count: number,
  lastOffsetDelta: number,
  isLogAppendTime: boolean,
  fault: RecordFault,
): Record[] {
  if (count * MIN_RECORD_SIZE > end - start) throw fault(0, start, `${count} records declared in ${end - start} bytes`);
  // Hot: 0.05 µs a record (tools/bench/records.ts). Reads are not checked one by one: past the buffer they yield
  // undefined, which ends a varint, and the position is compared with the record's end before it is used.
  const cursor = new Cursor(origin.bytes, start);
  const records: Record[] = new Array(count);
  for (let i = 0; i < count; i++) {
    const recordStart = cursor.position;
    if (recordStart >= end) throw fault(i, recordStart, `${count} records declared, the bytes end after ${i}`);
    const length = cursor.varint();
    const bodyStart = cursor.position;
    const recordEnd = bodyStart + length;
    if (length < 0 || recordEnd > end) {
      throw fault(i, recordStart, `record length ${length}, ${Math.max(0, end - bodyStart)} bytes left`);
    }
    cursor.position = bodyStart + 1; // attributes, unused by Kafka
    const timestampDelta = cursor.varlong();
    const offsetDelta = cursor.varint();
    const keyLength = cursor.varint();
    const keyStart = cursor.position;
    if (keyLength > 0) cursor.position = keyStart + keyLength;
    // A key past the end must not be jumped over: the read behind it would be somebody else's byte, then checked too late.
    if (keyLength < -1 || cursor.position >= recordEnd) {
      throw fault(
        i,
        recordStart,
        `key length ${keyLength}, ${Math.max(0, recordEnd - keyStart)} bytes left in the record`,
      );
    }
    const valueLength = cursor.varint();
    const valueStart = cursor.position;
    if (valueLength > 0) cursor.position = valueStart + valueLength;
    if (valueLength < -1 || cursor.position >= recordEnd) {
      throw fault(
        i,
        recordStart,
        `value length ${valueLength}, ${Math.max(0, recordEnd - valueStart)} bytes left in the record`,
      );
    }
    const headerCount = cursor.varint();
    if (headerCount !== 0) {
      const reason = cursor.skipHeaders(headerCount, recordEnd);
      if (reason !== undefined) throw fault(i, recordStart, reason);
    }
    if (cursor.position !== recordEnd) {
      throw fault(i, recordStart, `record length ${length}, its fields take ${cursor.position - bodyStart} bytes`);
    }
    if (cursor.tooLong) throw fault(i, recordStart, "a varint is too long");
    if (offsetDelta < 0 || offsetDelta > lastOffsetDelta) {
      throw fault(i, recordStart, `offset delta ${offsetDelta}, the batch's last is ${lastOffsetDelta}`);
    }
    const isPlain = isLogAppendTime || Number.isSafeInteger(timestampDelta);
    records[i] = new Record(
      isPlain ? origin : withExactTimestamp(origin, bodyStart + 1),
      offsetDelta,
      isLogAppendTime || !isPlain ? 0 : timestampDelta,
      keyStart,
      keyLength,
      valueStart,
      valueLength,
    );
  }
  if (cursor.position !== end) {
    throw fault(count, cursor.position, `${end - cursor.position} bytes left after the ${count} records declared`);
  }
  return records;
}

/**
 * The origin for a record whose timestamp delta, which begins at `position`, is beyond a JavaScript number: the timestamp
 * itself may not be. Where it is, the record says so when asked for it.
 */
function withExactTimestamp(origin: RecordOrigin, position: number): RecordOrigin {
  let z = 0n;
  for (let shift = 0n;; shift += 7n) {
    const byte = origin.bytes[position++]!;
    z |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const delta = (z >> 1n) ^ -(z & 1n);
  const { baseTimestamp } = origin;
  return { ...origin, baseTimestamp: Number.isNaN(baseTimestamp) ? NaN : Number(BigInt(baseTimestamp) + delta) };
}

/** Reads varints; notes one that is too long instead of throwing, to stay small enough to be inlined. */
class Cursor {
  readonly bytes: Uint8Array;
  position: number;
  tooLong = false;

  constructor(bytes: Uint8Array, position: number) {
    this.bytes = bytes;
    this.position = position;
  }

  varint(): number {
    const first = this.bytes[this.position++]!;
    if (!(first >= 0x80)) return (first >>> 1) ^ -(first & 1);
    const second = this.bytes[this.position++]!;
    if (!(second >= 0x80)) {
      const z = (first & 0x7f) | (second << 7);
      return (z >>> 1) ^ -(z & 1);
    }
    return this.#longVarint((first & 0x7f) | ((second & 0x7f) << 7));
  }

  #longVarint(z: number): number {
    for (let shift = 14; shift < 35; shift += 7) {
      const byte = this.bytes[this.position++]!;
      z |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return (z >>> 1) ^ -(z & 1);
    }
    this.tooLong = true;
    return 0;
  }

  varlong(): number {
    const first = this.bytes[this.position]!;
    if (!(first >= 0x80)) {
      this.position++;
      return (first >>> 1) ^ -(first & 1);
    }
    return this.#longVarlong();
  }

  /** Beyond 2^53 the answer is rounded: the caller looks again at what is not a safe integer. */
  #longVarlong(): number {
    let low = 0;
    let high = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.position++]!;
      if (i < 4) low |= (byte & 0x7f) << (7 * i);
      else {
        high += (byte & 0x7f) * scale;
        scale *= 128;
      }
      if (!(byte >= 0x80)) {
        const half = high * 0x8000000 + (low >>> 1);
        return (low & 1) === 0 ? half : -half - 1;
      }
    }
    this.tooLong = true;
    return 0;
  }

  /** Moves over the headers; answers what is wrong with them, if anything is. */
  skipHeaders(count: number, end: number): string | undefined {
    // A header takes two bytes at least.
    if (count < 0 || count * 2 > end - this.position) {
      return `${count} headers declared, ${Math.max(0, end - this.position)} bytes left in the record`;
    }
    for (let i = 0; i < count; i++) {
      const keyLength = this.varint();
      if (keyLength < 0 || keyLength >= end - this.position) return `length ${keyLength} of the key of header ${i}`;
      this.position += keyLength;
      const valueLength = this.varint();
      if (valueLength < -1 || valueLength > end - this.position) {
        return `length ${valueLength} of the value of header ${i}`;
      }
      if (valueLength > 0) this.position += valueLength;
    }
    return undefined;
  }
}
