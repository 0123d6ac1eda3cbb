/**
 * Writes the fields of Kafka's protocol as a list of parts: small fields go into small chunks, big buffers are passed
 * through by reference, so that a record batch is never copied between the accumulator and the socket.
 *
 * @module
 */

import { ConfigError, ProtocolError } from "../core/kafka_error.ts";
import { utf8Length, utf8Write } from "./utf8.ts";
import { unsignedVarintLength, varlongLength, writeUnsignedVarint, writeVarlong } from "./varint.ts";

/** Below this a copy is cheaper than one more part for the socket (2–4 µs a part in Deno and Bun). */
const COPY_BELOW = 1024;

/** Writes one message. */
export class Writer {
  readonly #parts: Uint8Array[] = [];
  #chunk: Uint8Array;
  #view: DataView;
  #start = 0;
  #position = 0;
  #flushed = 0;

  /** Starts with a chunk of `chunkSize` bytes; later ones are larger. */
  constructor(chunkSize = 256) {
    this.#chunk = new Uint8Array(chunkSize);
    this.#view = new DataView(this.#chunk.buffer);
  }

  /** Bytes written so far. */
  get size(): number {
    return this.#flushed + this.#position - this.#start;
  }

  /** Ends the message; answers its parts in order. Nothing may be written after. */
  finish(): Uint8Array[] {
    this.#endPart();
    return this.#parts;
  }

  /** Ends the message and answers it as one buffer; for small messages and tests. */
  toBytes(): Uint8Array {
    const parts = this.finish();
    if (parts.length === 1) return parts[0]!;
    const bytes = new Uint8Array(this.#flushed);
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  /** Overwrites the first four bytes of the message; for the frame length, which is known last. */
  setFirstInt32(value: number): void {
    const first = this.#parts[0] ?? this.#chunk;
    new DataView(first.buffer, first.byteOffset, 4).setInt32(0, value);
  }

  /** Signed 8-bit integer. */
  int8(value: number): void {
    if (value !== value << 24 >> 24) throw outOfRange(value, "an 8-bit");
    const at = this.#room(1);
    this.#view.setInt8(at, value);
  }

  /** One byte, 1 or 0. */
  boolean(value: boolean): void {
    const at = this.#room(1);
    this.#view.setInt8(at, value ? 1 : 0);
  }

  /** Signed 16-bit integer. */
  int16(value: number): void {
    if (value !== value << 16 >> 16) throw outOfRange(value, "a 16-bit");
    const at = this.#room(2);
    this.#view.setInt16(at, value);
  }

  /** Unsigned 16-bit integer. */
  uint16(value: number): void {
    if (value !== (value & 0xffff)) throw outOfRange(value, "an unsigned 16-bit");
    const at = this.#room(2);
    this.#view.setUint16(at, value);
  }

  /** Signed 32-bit integer. */
  int32(value: number): void {
    if (value !== (value | 0)) throw outOfRange(value, "a 32-bit");
    const at = this.#room(4);
    this.#view.setInt32(at, value);
  }

  /** Unsigned 32-bit integer. */
  uint32(value: number): void {
    if (value !== value >>> 0) throw outOfRange(value, "an unsigned 32-bit");
    const at = this.#room(4);
    this.#view.setUint32(at, value);
  }

  /** Signed 64-bit integer; must be a safe integer. */
  int64(value: number): void {
    if (!Number.isSafeInteger(value)) throw outOfRange(value, "a safe");
    const at = this.#room(8);
    this.#view.setInt32(at, Math.floor(value / 4294967296));
    this.#view.setInt32(at + 4, value | 0);
  }

  /** Signed 64-bit integer that need not fit a number, such as a hash. */
  bigint64(value: bigint): void {
    const at = this.#room(8);
    this.#view.setBigInt64(at, value);
  }

  /** 64-bit floating point number. */
  float64(value: number): void {
    const at = this.#room(8);
    this.#view.setFloat64(at, value);
  }

  /** Unsigned variable-length 32-bit integer. */
  unsignedVarint(value: number): void {
    const at = this.#room(unsignedVarintLength(value));
    writeUnsignedVarint(this.#chunk, at, value);
  }

  /** Signed variable-length 32-bit integer (zigzag). */
  varint(value: number): void {
    this.unsignedVarint((value << 1) ^ (value >> 31));
  }

  /** Signed variable-length 64-bit integer (zigzag); must be a safe integer. */
  varlong(value: number): void {
    const at = this.#room(varlongLength(value));
    writeVarlong(this.#chunk, at, value);
  }

  /** UUID given in Kafka's text form: 22 characters of base64url. */
  uuid(text: string): void {
    if (text.length !== 22) throw new ConfigError(`"${text}" is not a UUID of 22 base64url characters`);
    const at = this.#room(16);
    let group = 0;
    for (let i = 0, to = at; i < 22; i++) {
      const digit = base64UrlDigit(text.charCodeAt(i));
      if (digit < 0) throw new ConfigError(`"${text}" is not a UUID of 22 base64url characters`);
      group = (group << 6) | digit;
      // 4 digits make 3 bytes; the last two digits make one.
      if (i % 4 === 1) this.#chunk[to++] = i === 21 ? group >> 4 : (group >> 4) & 0xff;
      else if (i % 4 === 2) this.#chunk[to++] = (group >> 2) & 0xff;
      else if (i % 4 === 3) this.#chunk[to++] = group & 0xff;
    }
  }

  /** String or null: with a varint length when `flexible`, else with a 16-bit one. */
  text(text: string | null, flexible: boolean): void {
    if (text === null) {
      if (flexible) this.unsignedVarint(0);
      else this.int16(-1);
      return;
    }
    const length = utf8Length(text);
    if (flexible) this.unsignedVarint(length + 1);
    else if (length <= 0x7fff) this.int16(length);
    else throw new ConfigError(`string of ${length} bytes; the protocol's limit is 32767`);
    const at = this.#room(length);
    utf8Write(text, length, this.#chunk, at);
  }

  /** Bytes or null: with a varint length when `flexible`, else with a 32-bit one. A list of parts counts as one. */
  blob(bytes: Uint8Array | readonly Uint8Array[] | null, flexible: boolean): void {
    const length = bytes === null ? -1 : byteLength(bytes);
    if (flexible) this.unsignedVarint(length + 1);
    else this.int32(length);
    if (bytes !== null) this.raw(bytes);
  }

  /** Count of a list; −1 stands for null. */
  count(count: number, flexible: boolean): void {
    if (flexible) this.unsignedVarint(count + 1);
    else this.int32(count);
  }

  /** Bytes as they are, without a length; large ones by reference: they must not change until the message is sent. */
  raw(bytes: Uint8Array | readonly Uint8Array[]): void {
    if (!(bytes instanceof Uint8Array)) {
      for (const part of bytes) this.raw(part);
    } else if (bytes.length < COPY_BELOW) {
      const at = this.#room(bytes.length);
      this.#chunk.set(bytes, at);
    } else {
      this.#endPart();
      this.#parts.push(bytes);
      this.#flushed += bytes.length;
    }
  }

  /** One tagged field: its number, its size and its bytes. */
  tag(tag: number, content: Writer): void {
    this.unsignedVarint(tag);
    this.unsignedVarint(content.size);
    this.raw(content.finish());
  }

  /** Makes room for `size` bytes and answers where they begin in the current chunk. */
  #room(size: number): number {
    if (this.#position + size > this.#chunk.length) this.#grow(size);
    const at = this.#position;
    this.#position = at + size;
    return at;
  }

  #grow(size: number): void {
    this.#endPart();
    this.#chunk = new Uint8Array(Math.max(size, Math.min(this.#chunk.length * 2, 16384)));
    this.#view = new DataView(this.#chunk.buffer);
    this.#start = this.#position = 0;
  }

  /** Closes what was written into the current chunk as a part; the rest of the chunk stays in use. */
  #endPart(): void {
    if (this.#position === this.#start) return;
    this.#parts.push(this.#chunk.subarray(this.#start, this.#position));
    this.#flushed += this.#position - this.#start;
    this.#start = this.#position;
  }
}

/** DataView would cut it to size without a word. */
function outOfRange(value: number, kind: string): ConfigError {
  return new ConfigError(`${value} is not ${kind} integer`);
}

/** Bytes of all parts together. */
export function byteLength(parts: Uint8Array | readonly Uint8Array[]): number {
  if (parts instanceof Uint8Array) return parts.length;
  let total = 0;
  for (const part of parts) total += part.length;
  if (total > 0x7fffffff) throw new ProtocolError(`${total} bytes in one field; the protocol's limit is 2^31−1`);
  return total;
}

function base64UrlDigit(code: number): number {
  if (code >= 65 && code <= 90) return code - 65;
  if (code >= 97 && code <= 122) return code - 71;
  if (code >= 48 && code <= 57) return code + 4;
  return code === 45 ? 62 : code === 95 ? 63 : -1;
}
