/**
 * Reads the fields of Kafka's protocol out of one buffer. Every read is checked against the end, and every count against
 * the bytes that are left, before anything is allocated: a hostile length costs an error, never memory.
 *
 * Byte fields come back as views of the buffer, not as copies.
 *
 * @module
 */

import { ProtocolError } from "../core/kafka_error.ts";
import { utf8Read } from "./utf8.ts";

/** Reads from the front of a buffer. */
export class Reader {
  /** The buffer read from. */
  readonly bytes: Uint8Array;
  /** Where the next read begins. */
  position: number;
  /** First position past the end. */
  readonly end: number;
  readonly #view: DataView;
  readonly #what: string;

  /** Reads `bytes[start, end)`; `what` names the message in errors. */
  constructor(bytes: Uint8Array, what = "message", start = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.#what = what;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Bytes left. */
  get remaining(): number {
    return this.end - this.position;
  }

  /** The error for a field that cannot be right. */
  error(reason: string, position: number = this.position): ProtocolError {
    return new ProtocolError(`${this.#what}: ${reason} at byte ${position} of ${this.end}`, {
      code: "MALFORMED_MESSAGE",
      position,
    });
  }

  /** Moves over `size` bytes and answers where they began. */
  take(size: number): number {
    const start = this.position;
    if (size < 0 || size > this.end - start) {
      throw this.error(`${size} bytes wanted, ${this.end - start} left`, start);
    }
    this.position = start + size;
    return start;
  }

  /** Signed 8-bit integer. */
  int8(): number {
    return this.#view.getInt8(this.take(1));
  }

  /** One byte, true unless 0. */
  boolean(): boolean {
    return this.#view.getInt8(this.take(1)) !== 0;
  }

  /** Signed 16-bit integer. */
  int16(): number {
    return this.#view.getInt16(this.take(2));
  }

  /** Unsigned 16-bit integer. */
  uint16(): number {
    return this.#view.getUint16(this.take(2));
  }

  /** Signed 32-bit integer. */
  int32(): number {
    return this.#view.getInt32(this.take(4));
  }

  /** Unsigned 32-bit integer. */
  uint32(): number {
    return this.#view.getUint32(this.take(4));
  }

  /** Signed 64-bit integer as a number; beyond ±(2^53−1) it is an error, never a rounded value. */
  int64(): number {
    const at = this.take(8);
    const value = this.#view.getInt32(at) * 4294967296 + this.#view.getUint32(at + 4);
    if (!Number.isSafeInteger(value)) {
      throw this.error(`int64 ${this.#view.getBigInt64(at)} does not fit a JavaScript number`, at);
    }
    return value;
  }

  /** Signed 64-bit integer that need not fit a number, such as a hash. */
  bigint64(): bigint {
    return this.#view.getBigInt64(this.take(8));
  }

  /** 64-bit floating point number. */
  float64(): number {
    return this.#view.getFloat64(this.take(8));
  }

  /** Unsigned variable-length 32-bit integer. */
  unsignedVarint(): number {
    const { bytes, end } = this;
    const start = this.position;
    let at = start;
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (at >= end) throw this.error("varint cut short", start);
      const byte = bytes[at++]!;
      // The fifth byte has room for four bits.
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.position = at;
        return value >>> 0;
      }
    }
    throw this.error("varint longer than 32 bits", start);
  }

  /** Signed variable-length 32-bit integer (zigzag). */
  varint(): number {
    const z = this.unsignedVarint();
    return (z >>> 1) ^ -(z & 1);
  }

  /** Signed variable-length 64-bit integer (zigzag) as a checked number. */
  varlong(): number {
    const { bytes, end } = this;
    const start = this.position;
    let at = start;
    // Low 28 bits apart: z = low + high · 2^28; the sign is bit 0.
    let low = 0;
    let high = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      if (at >= end) throw this.error("varlong cut short", start);
      const byte = bytes[at++]!;
      if (i < 4) low |= (byte & 0x7f) << (7 * i);
      else {
        high += (byte & 0x7f) * scale;
        scale *= 128;
      }
      if (byte < 0x80) {
        this.position = at;
        const half = high * 0x8000000 + (low >>> 1);
        const value = (low & 1) === 0 ? half : -half - 1;
        if (!Number.isSafeInteger(value)) throw this.error("varlong does not fit a JavaScript number", start);
        return value;
      }
    }
    throw this.error("varlong longer than 64 bits", start);
  }

  /** UUID in Kafka's text form: 22 characters of base64url. */
  uuid(): string {
    const { bytes } = this;
    const at = this.take(16);
    let text = "";
    for (let i = at; i < at + 15; i += 3) {
      const group = (bytes[i]! << 16) | (bytes[i + 1]! << 8) | bytes[i + 2]!;
      text += BASE64URL[group >> 18]! + BASE64URL[(group >> 12) & 63]! + BASE64URL[(group >> 6) & 63]! +
        BASE64URL[group & 63]!;
    }
    const last = bytes[at + 15]!;
    return text + BASE64URL[last >> 2]! + BASE64URL[(last & 3) << 4]!;
  }

  /** UTF-8 text of `size` bytes. */
  text(size: number): string {
    const at = this.take(size);
    return utf8Read(this.bytes, at, at + size);
  }

  /** View of `size` bytes. */
  view(size: number): Uint8Array {
    const at = this.take(size);
    return this.bytes.subarray(at, at + size);
  }

  /** String that cannot be null: with a varint length when `flexible`, else with a 16-bit one. */
  textField(flexible: boolean): string {
    return this.textOrNull(flexible) ?? this.unexpectedNull();
  }

  /** String that may be null. */
  textOrNull(flexible: boolean): string | null {
    const size = flexible ? this.unsignedVarint() - 1 : this.int16();
    return size < 0 ? this.#nullAt(size) : this.text(size);
  }

  /** Bytes that cannot be null, as a view: with a varint length when `flexible`, else with a 32-bit one. */
  blob(flexible: boolean): Uint8Array {
    return this.blobOrNull(flexible) ?? this.unexpectedNull();
  }

  /** Bytes that may be null, as a view. */
  blobOrNull(flexible: boolean): Uint8Array | null {
    const size = flexible ? this.unsignedVarint() - 1 : this.int32();
    return size < 0 ? this.#nullAt(size) : this.view(size);
  }

  /** Count of a list; −1 stands for null. An element takes at least one byte, so more elements than bytes are an error. */
  count(flexible: boolean): number {
    const count = flexible ? this.unsignedVarint() - 1 : this.int32();
    if (count > this.end - this.position) {
      throw this.error(`list of ${count} elements in ${this.end - this.position} bytes`);
    }
    if (count < 0) this.#nullAt(count);
    return count;
  }

  /** Null is written as a length of −1, and any other negative length is a mistake. */
  #nullAt(length: number): null {
    if (length !== -1) throw this.error(`length ${length}`);
    return null;
  }

  /** Moves over a section of tagged fields. */
  skipTags(): void {
    for (let n = this.unsignedVarint(); n > 0; n--) {
      this.unsignedVarint();
      this.take(this.unsignedVarint());
    }
  }

  /** Reads the size of a tagged field, behind its number; answers where the field ends. */
  startTag(): number {
    const size = this.unsignedVarint();
    if (size > this.end - this.position) throw this.error(`${size} bytes wanted, ${this.remaining} left`);
    return this.position + size;
  }

  /** Throws unless the tagged field was read up to its `end`. */
  endTag(end: number): void {
    if (this.position !== end) throw this.error(`tagged field ends at byte ${end}`);
  }

  /** Throws for a null that the protocol does not allow. */
  unexpectedNull(): never {
    throw this.error("null where the protocol has none");
  }
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
