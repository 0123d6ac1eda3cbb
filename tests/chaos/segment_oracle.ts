/**
 * What really lies in a partition's segment files, read by code that shares nothing with the library: the fields that are
 * needed of uncompressed and gzip v2 batches, by the positions of Kafka's format, with a checksum of its own.
 */

import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";

/** One record as it lies in the file. */
export interface StoredRecord {
  readonly offset: number;
  readonly value: string;
}

/** The records of one `.log` file; throws at anything that is not a whole, right batch. */
export function recordsOf(file: Uint8Array): StoredRecord[] {
  const records: StoredRecord[] = [];
  const buffer = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  for (let at = 0; at < buffer.length;) {
    const baseOffset = Number(buffer.readBigInt64BE(at));
    const end = at + 12 + buffer.readInt32BE(at + 8);
    if (end > buffer.length || buffer[at + 16] !== 2) throw new Error(`no batch at byte ${at}`);
    if (buffer.readUInt32BE(at + 17) !== castagnoli(buffer.subarray(at + 21, end))) {
      throw new Error(`checksum at ${at}`);
    }
    const attributes = buffer.readInt16BE(at + 21);
    const count = buffer.readInt32BE(at + 57);
    const payload = buffer.subarray(at + 61, end);
    if ((attributes & 7) > 1) throw new Error(`codec ${attributes & 7} is not for this reader`);
    const reader = new Varints((attributes & 7) === 1 ? gunzipSync(payload) : payload);
    for (let i = 0; i < count; i++) records.push({ offset: baseOffset + reader.record(), value: reader.value });
    if (!reader.atEnd) throw new Error(`bytes left over in the batch at ${at}`);
    if (records.at(-1)!.offset !== baseOffset + buffer.readInt32BE(at + 23)) throw new Error(`last offset at ${at}`);
    at = end;
  }
  return records;
}

class Varints {
  value = "";
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** Steps over one record, keeps its value, answers its offset delta. */
  record(): number {
    const length = this.#next();
    const end = this.#at + length;
    this.#at++; // attributes
    this.#next(); // timestamp delta
    const delta = this.#next();
    const keySize = this.#next();
    this.#at += Math.max(0, keySize);
    const size = this.#next();
    this.value = this.#bytes.toString("utf8", this.#at, this.#at + size);
    this.#at = end;
    return delta;
  }

  #next(): number {
    let result = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = this.#bytes[this.#at++]!;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number((result >> 1n) ^ -(result & 1n));
    }
  }
}

const TABLE = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  return c >>> 0;
});

function castagnoli(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}
