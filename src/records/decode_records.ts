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
  // Hot: 0.06 µs a record of 200 bytes (tools/bench/segment.ts). The position is a local, and varints of up to two bytes,
  // which most are, are read in place: through a cursor it takes 1.6 times as long. Reads are not checked one by one: past
  // the buffer they yield undefined, which ends a varint, and the position is compared with the record's end before use.
  const { bytes } = origin;
  const long = new LongVarints(bytes);
  const refusal: RecordFault = (index, position, reason) =>
    fault(index, position, long.tooLong ? "a varint is too long" : reason);
  const records: Record[] = new Array(count);
  let at = start;
  for (let i = 0; i < count; i++) {
    const recordStart = at;
    if (recordStart >= end) throw refusal(i, recordStart, `${count} records declared, the bytes end after ${i}`);
    let lengthZ = bytes[at++]!;
    if (lengthZ >= 0x80) {
      const next = bytes[at++]!;
      if (next < 0x80) lengthZ = (lengthZ & 0x7f) | (next << 7);
      else {
        lengthZ = long.varint(at - 2);
        at = long.end;
      }
    }
    const length = (lengthZ >>> 1) ^ -(lengthZ & 1);
    const bodyStart = at;
    const recordEnd = bodyStart + length;
    if (length < 0 || recordEnd > end) {
      throw refusal(i, recordStart, `record length ${length}, ${Math.max(0, end - bodyStart)} bytes left`);
    }
    at = bodyStart + 1; // attributes, unused by Kafka
    let timestampDelta: number;
    const timeZ = bytes[at++]!;
    if (timeZ < 0x80) timestampDelta = (timeZ >>> 1) ^ -(timeZ & 1);
    else {
      const next = bytes[at++]!;
      if (next < 0x80) {
        const z = (timeZ & 0x7f) | (next << 7);
        timestampDelta = (z >>> 1) ^ -(z & 1);
      } else {
        timestampDelta = long.varlong(at - 2);
        at = long.end;
      }
    }
    let offsetZ = bytes[at++]!;
    if (offsetZ >= 0x80) {
      const next = bytes[at++]!;
      if (next < 0x80) offsetZ = (offsetZ & 0x7f) | (next << 7);
      else {
        offsetZ = long.varint(at - 2);
        at = long.end;
      }
    }
    const offsetDelta = (offsetZ >>> 1) ^ -(offsetZ & 1);
    let keyZ = bytes[at++]!;
    if (keyZ >= 0x80) {
      const next = bytes[at++]!;
      if (next < 0x80) keyZ = (keyZ & 0x7f) | (next << 7);
      else {
        keyZ = long.varint(at - 2);
        at = long.end;
      }
    }
    const keyLength = (keyZ >>> 1) ^ -(keyZ & 1);
    const keyStart = at;
    if (keyLength > 0) at = keyStart + keyLength;
    if (keyLength < -1 || at >= recordEnd) {
      throw refusal(i, recordStart, tooLarge("key", keyLength, recordEnd - keyStart));
    }
    let valueZ = bytes[at++]!;
    if (valueZ >= 0x80) {
      const next = bytes[at++]!;
      if (next < 0x80) valueZ = (valueZ & 0x7f) | (next << 7);
      else {
        valueZ = long.varint(at - 2);
        at = long.end;
      }
    }
    const valueLength = (valueZ >>> 1) ^ -(valueZ & 1);
    const valueStart = at;
    if (valueLength > 0) at = valueStart + valueLength;
    if (valueLength < -1 || at >= recordEnd) {
      throw refusal(i, recordStart, tooLarge("value", valueLength, recordEnd - valueStart));
    }
    if (bytes[at] === 0) at++;
    else {
      const reason = long.skipHeaders(at, recordEnd);
      if (reason !== undefined) throw refusal(i, recordStart, reason);
      at = long.end;
    }
    if (at !== recordEnd) {
      throw refusal(i, recordStart, `record length ${length}, its fields take ${at - bodyStart} bytes`);
    }
    if (long.tooLong) throw refusal(i, recordStart, "");
    if (offsetDelta < 0 || offsetDelta > lastOffsetDelta) {
      throw refusal(i, recordStart, `offset delta ${offsetDelta}, the batch's last is ${lastOffsetDelta}`);
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
  if (at !== end) throw refusal(count, at, `${end - at} bytes left after the ${count} records declared`);
  return records;
}

function tooLarge(field: string, length: number, left: number): string {
  return `${field} length ${length}, ${Math.max(0, left)} bytes left in the record`;
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

/** Reads what is longer than two bytes, and headers: the position behind is left in `end`. */
class LongVarints {
  end = 0;
  tooLong = false;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The varint at `start`, before zigzag. */
  varint(start: number): number {
    let at = start;
    let z = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[at++]!;
      z |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) {
        this.end = at;
        return z;
      }
    }
    this.end = at;
    this.tooLong = true;
    return 0;
  }

  /** The varlong at `start`. Beyond 2^53 the answer is rounded: the caller looks again at what is not a safe integer. */
  varlong(start: number): number {
    let at = start;
    let low = 0;
    let high = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[at++]!;
      if (i < 4) low |= (byte & 0x7f) << (7 * i);
      else {
        high += (byte & 0x7f) * scale;
        scale *= 128;
      }
      if (!(byte >= 0x80)) {
        this.end = at;
        const half = high * 0x8000000 + (low >>> 1);
        return (low & 1) === 0 ? half : -half - 1;
      }
    }
    this.end = at;
    this.tooLong = true;
    return 0;
  }

  /** Moves over the header count at `start` and the headers; answers what is wrong with them, if anything is. */
  skipHeaders(start: number, end: number): string | undefined {
    const count = this.#signed(start);
    // A header takes two bytes at least.
    if (count < 0 || count * 2 > end - this.end) {
      return `${count} headers declared, ${Math.max(0, end - this.end)} bytes left in the record`;
    }
    for (let i = 0; i < count; i++) {
      const keyLength = this.#signed(this.end);
      if (keyLength < 0 || keyLength >= end - this.end) return `length ${keyLength} of the key of header ${i}`;
      const valueLength = this.#signed(this.end + keyLength);
      if (valueLength < -1 || valueLength > end - this.end) {
        return `length ${valueLength} of the value of header ${i}`;
      }
      if (valueLength > 0) this.end += valueLength;
    }
    return undefined;
  }

  #signed(start: number): number {
    const z = this.varint(start);
    return (z >>> 1) ^ -(z & 1);
  }
}
