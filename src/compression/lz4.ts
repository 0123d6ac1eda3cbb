/**
 * LZ4 frames in plain TypeScript.
 *
 * Written as Kafka's Java client does, the only form that all of Kafka reads: independent blocks of 64 KiB, no checksums but
 * the header's. Read is what the frame format has: linked blocks, any block size, stored blocks, checksums, a content size,
 * several frames, skippable frames. Format: lz4/doc/lz4_Frame_format.md and lz4_Block_format.md.
 *
 * @module
 */

import { xxhash32 } from "../hash/xxhash32.ts";
import { type Codec, corruptCompression, decompressionLimit } from "./codec.ts";

const MAGIC = 0x184d2204;
const SKIPPABLE_MAGIC = 0x184d2a50;
/** Magic, version 1 with independent blocks, blocks of up to 64 KiB, and the checksum of these two bytes. */
const HEADER = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82] as const;
const BLOCK_SIZE = 64 * 1024;
/** Set in a block's length: its bytes are stored as they are. */
const STORED = 0x80000000;
/** How far back a match may reach. */
const WINDOW = 64 * 1024;
/** A length byte stands for 255 bytes at most. */
const MAX_EXPANSION = 255;

const MIN_MATCH = 4;
/** The format wants the last five bytes of a block to be literals, and no match to begin in the last twelve. */
const LAST_LITERALS = 5;
const LAST_MATCH_START = 12;
const HASH_BITS = 13;
const HASH_MULTIPLIER = 0x9e3779b1 | 0;
// Scratch of `compressBlock`, which clears it.
const positions = /* @__PURE__ */ new Uint16Array(1 << HASH_BITS);

/** The LZ4 codec. It has no levels. */
export const lz4: Codec = { compress, decompress };

function compress(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil(bytes.length / BLOCK_SIZE);
  const packed = new Uint8Array(HEADER.length + bytes.length + blocks * 4 + 4);
  const view = new DataView(packed.buffer);
  packed.set(HEADER);
  let to: number = HEADER.length;
  for (let from = 0; from < bytes.length; from += BLOCK_SIZE) {
    const until = Math.min(from + BLOCK_SIZE, bytes.length);
    let end = compressBlock(bytes, from, until, packed, to + 4);
    if (end < 0) {
      packed.set(bytes.subarray(from, until), to + 4);
      end = to + 4 + (until - from);
      view.setUint32(to, STORED + (until - from), true);
    } else {
      view.setUint32(to, end - to - 4, true);
    }
    to = end;
  }
  return packed.subarray(0, to + 4); // a length of 0 ends the frame
}

function decompress(bytes: Uint8Array, limit: number): Uint8Array {
  return new FrameReader(bytes, limit).read();
}

/** Inflates the frames of one buffer. */
class FrameReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #limit: number;
  #position = 0;
  #inflated: Uint8Array = new Uint8Array(0);
  #size = 0;

  constructor(bytes: Uint8Array, limit: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limit = limit;
  }

  read(): Uint8Array {
    let frames = 0;
    while (this.#position < this.#bytes.length) {
      const magic = this.#uint32();
      if (magic === MAGIC) {
        this.#frame();
        frames++;
      } else if ((magic & 0xfffffff0) === SKIPPABLE_MAGIC) this.#skip(this.#uint32());
      else throw corruptCompression("lz4", `no frame begins at byte ${this.#position - 4}`);
    }
    if (frames === 0) throw corruptCompression("lz4", "no frame in it");
    // Views of the records keep the buffer alive: do not let them hold on to much more than they need.
    return this.#size * 2 < this.#inflated.length
      ? this.#inflated.slice(0, this.#size)
      : this.#inflated.subarray(0, this.#size);
  }

  #frame(): void {
    const bytes = this.#bytes;
    const descriptor = this.#position;
    this.#skip(2);
    const flags = bytes[descriptor]!;
    const blockSizeCode = (bytes[descriptor + 1]! >>> 4) & 7;
    const hasDictionary = (flags & 0x01) !== 0;
    const hasContentChecksum = (flags & 0x04) !== 0;
    const hasContentSize = (flags & 0x08) !== 0;
    const hasBlockChecksums = (flags & 0x10) !== 0;
    const isLinked = (flags & 0x20) === 0;
    if (flags >>> 6 !== 1 || (flags & 0x02) !== 0 || (bytes[descriptor + 1]! & 0x8f) !== 0 || blockSizeCode < 4) {
      throw corruptCompression("lz4", "the frame's version or flags are unknown");
    }
    if (hasDictionary) throw corruptCompression("lz4", "a dictionary is needed");
    let contentSize = -1;
    if (hasContentSize) {
      const low = this.#uint32();
      contentSize = this.#uint32() * 4294967296 + low;
      if (contentSize > this.#limit - this.#size) throw decompressionLimit("lz4", this.#limit);
    }
    this.#checkHeader(descriptor);

    const start = this.#size;
    const blockSize = 1 << (8 + 2 * blockSizeCode);
    for (let length = this.#uint32(); length !== 0; length = this.#uint32()) {
      const isStored = length >= STORED;
      const size = isStored ? length - STORED : length;
      const from = this.#position;
      if (size > blockSize) {
        throw corruptCompression("lz4", `a block of ${size} bytes in a frame of at most ${blockSize}`);
      }
      this.#skip(size);
      if (hasBlockChecksums && this.#uint32() !== xxhash32(bytes, from, from + size)) {
        throw corruptCompression("lz4", "a block's checksum is wrong");
      }
      if (isStored) this.#store(from, size);
      else this.#inflate(from, size, blockSize, isLinked ? Math.max(start, this.#size - WINDOW) : this.#size);
    }
    if (contentSize >= 0 && this.#size - start !== contentSize) {
      throw corruptCompression("lz4", `${this.#size - start} bytes in a frame of ${contentSize}`);
    }
    if (hasContentChecksum && this.#uint32() !== xxhash32(this.#inflated, start, this.#size)) {
      throw corruptCompression("lz4", "the content's checksum is wrong");
    }
  }

  #checkHeader(descriptor: number): void {
    const end = this.#position;
    this.#skip(1);
    const wanted = this.#bytes[end]!;
    const bytes = this.#bytes;
    // Kafka before 0.10 took the magic into the checksum; such frames are still in old logs.
    const isRight = wanted === ((xxhash32(bytes, descriptor, end) >>> 8) & 0xff) ||
      wanted === ((xxhash32(bytes, descriptor - 4, end) >>> 8) & 0xff);
    if (!isRight) throw corruptCompression("lz4", "the header's checksum is wrong");
  }

  #store(from: number, size: number): void {
    if (size > this.#limit - this.#size) throw decompressionLimit("lz4", this.#limit);
    this.#reserve(size);
    this.#inflated.set(this.#bytes.subarray(from, from + size), this.#size);
    this.#size += size;
  }

  #inflate(from: number, size: number, blockSize: number, windowStart: number): void {
    const left = this.#limit - this.#size;
    const most = Math.min(blockSize, size * MAX_EXPANSION);
    this.#reserve(Math.min(most, left));
    const end = this.#size + Math.min(most, left);
    const reached = decompressBlock(this.#bytes, from, from + size, this.#inflated, this.#size, end, windowStart);
    if (reached < 0) {
      if (most > left) throw decompressionLimit("lz4", this.#limit);
      throw corruptCompression("lz4", `a block inflates to more than ${blockSize} bytes`);
    }
    this.#size = reached;
  }

  #reserve(size: number): void {
    const needed = this.#size + size;
    if (needed <= this.#inflated.length) return;
    const grown = new Uint8Array(Math.min(this.#limit, Math.max(needed, this.#inflated.length * 2)));
    grown.set(this.#inflated.subarray(0, this.#size));
    this.#inflated = grown;
  }

  #skip(size: number): void {
    if (size > this.#bytes.length - this.#position) throw corruptCompression("lz4", "cut short");
    this.#position += size;
  }

  #uint32(): number {
    const at = this.#position;
    this.#skip(4);
    return this.#view.getUint32(at, true);
  }
}

/**
 * Inflates the block `from[start, end)` to `into[position, limit)`; matches reach back to `windowStart` at most. Answers the
 * end, or −1 when there is no room for all of it.
 */
function decompressBlock(
  from: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  position: number,
  limit: number,
  windowStart: number,
): number {
  // Hot: 350–540 MB/s. Every length is checked against both ends before bytes move.
  let at = start;
  let to = position;
  while (at < end) {
    const token = from[at++]!;
    let literals = token >>> 4;
    if (literals === 15) {
      let byte: number;
      do {
        if (at >= end) throw corruptCompression("lz4", "a block is cut short");
        byte = from[at++]!;
        literals += byte;
      } while (byte === 255);
    }
    if (literals > 0) {
      if (literals > end - at) throw corruptCompression("lz4", "a block is cut short");
      if (literals > limit - to) return -1;
      if (literals > 32) {
        into.set(from.subarray(at, at + literals), to);
        to += literals;
        at += literals;
      } else {
        for (const stop = to + literals; to < stop;) into[to++] = from[at++]!;
      }
    }
    if (at >= end) return to; // the last sequence has no match
    if (at + 2 > end) throw corruptCompression("lz4", "a block is cut short");
    const distance = from[at]! | (from[at + 1]! << 8);
    at += 2;
    let length = token & 15;
    if (length === 15) {
      let byte: number;
      do {
        if (at >= end) throw corruptCompression("lz4", "a block is cut short");
        byte = from[at++]!;
        length += byte;
      } while (byte === 255);
    }
    length += MIN_MATCH;
    if (distance === 0 || distance > to - windowStart) {
      throw corruptCompression("lz4", `a match ${distance} bytes back, ${to - windowStart} are there`);
    }
    if (length > limit - to) return -1;
    let source = to - distance;
    if (length > 32 && distance >= length) {
      into.copyWithin(to, source, source + length);
      to += length;
    } else if (length > 32 && distance === 1) {
      into.fill(into[source]!, to, to + length);
      to += length;
    } else {
      for (const stop = to + length; to < stop;) into[to++] = into[source++]!;
    }
  }
  throw corruptCompression("lz4", "a block is cut short");
}

/** Compresses `from[start, end)`, at most 64 KiB, to `into` at `position`; answers the end, or −1 if it would not shrink. */
function compressBlock(from: Uint8Array, start: number, end: number, into: Uint8Array, position: number): number {
  // Hot: 190–290 MB/s. A match is looked for by the hash of four bytes; the longer none is found, the wider the steps.
  const limit = position + (end - start) - 1;
  let to = position;
  let literalStart = start;
  const lastMatchStart = end - LAST_MATCH_START;
  const lastMatchEnd = end - LAST_LITERALS;
  if (start < lastMatchStart) positions.fill(0);
  let misses = 64;
  let at = start + 1;
  while (at <= lastMatchStart) {
    const four = word(from, at);
    const slot = Math.imul(four, HASH_MULTIPLIER) >>> (32 - HASH_BITS);
    let candidate = start + positions[slot]!;
    positions[slot] = at - start;
    if (word(from, candidate) !== four) {
      at += misses++ >>> 6;
      continue;
    }
    misses = 64;
    let matchStart = at;
    while (matchStart > literalStart && candidate > start && from[matchStart - 1] === from[candidate - 1]) {
      matchStart--;
      candidate--;
    }
    let matchEnd = at + MIN_MATCH;
    const distance = matchStart - candidate;
    while (matchEnd < lastMatchEnd && from[matchEnd] === from[matchEnd - distance]) matchEnd++;
    const literals = matchStart - literalStart;
    const extra = matchEnd - matchStart - MIN_MATCH;
    // Token, distance and both lengths; and the block's end must fit behind.
    if (to + literals + 5 + Math.floor(literals / 255) + Math.floor(extra / 255) > limit) return -1;
    into[to++] = (Math.min(literals, 15) << 4) | Math.min(extra, 15);
    if (literals >= 15) to = writeLength(into, to, literals - 15);
    to = copyLiterals(from, literalStart, matchStart, into, to);
    into[to++] = distance;
    into[to++] = distance >>> 8;
    if (extra >= 15) to = writeLength(into, to, extra - 15);
    literalStart = at = matchEnd;
    if (at <= lastMatchStart) {
      positions[Math.imul(word(from, at - 2), HASH_MULTIPLIER) >>> (32 - HASH_BITS)] = at - 2 - start;
    }
  }
  const literals = end - literalStart;
  if (to + literals + 2 + Math.floor(literals / 255) > limit) return -1;
  into[to++] = Math.min(literals, 15) << 4;
  if (literals >= 15) to = writeLength(into, to, literals - 15);
  return copyLiterals(from, literalStart, end, into, to);
}

function writeLength(into: Uint8Array, position: number, length: number): number {
  let to = position;
  let left = length;
  for (; left >= 255; left -= 255) into[to++] = 255;
  into[to++] = left;
  return to;
}

function copyLiterals(from: Uint8Array, start: number, end: number, into: Uint8Array, position: number): number {
  if (end - start > 32) {
    into.set(from.subarray(start, end), position);
  } else {
    for (let at = start, to = position; at < end;) into[to++] = from[at++]!;
  }
  return position + (end - start);
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
