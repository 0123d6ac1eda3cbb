/**
 * Snappy: raw blocks, and the framing by xerial's snappy-java that Kafka's clients put around them. Blocks are inflated by a
 * kernel of WebAssembly; where that is refused, in plain TypeScript.
 *
 * Framing: 8 bytes magic, int32 version, int32 least compatible version, then chunks of int32 length and a raw block. Other
 * clients write one raw block without it; reading takes both. Block format: the public description in google/snappy.
 *
 * @module
 */

import { type BlockKernel, KERNEL_ROOM, kernelOnce } from "./block_kernel.ts";
import { type Codec, corruptCompression, decompressionLimit } from "./codec.ts";
import { snappyKernel } from "./snappy_kernel.ts";

const MAGIC = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00] as const;
const HEADER_SIZE = 16;
/** Bytes that go into one chunk; snappy-java's size, and small enough for 16-bit positions. */
const CHUNK_SIZE = 32 * 1024;
/** The densest element is a copy: 64 bytes out of 3. */
const MAX_EXPANSION = 22;
/** So that positions are 32-bit integers. */
const MAX_SIZE = 0x7fffffff;

/** Bytes behind a run that copying it may overwrite; within the buffer's last ones it goes byte by byte. */
const SLACK = 32;

const MIN_MATCH = 4;
/** A block ends in this many literals at least, so that look-ups need no check for the end. */
const TAIL = 15;
const HASH_BITS = 14;
const HASH_MULTIPLIER = 0x1e35a7bd;
// Scratch of `compressBlock`, which clears what it uses of it.
const positions = /* @__PURE__ */ new Uint16Array(1 << HASH_BITS);

/** The snappy codec; writes the framing, reads with and without it. It has no levels. */
export const snappy: Codec = /* @__PURE__ */ snappyCodec(/* @__PURE__ */ kernelOnce(snappyKernel));

/** The codec that inflates by the kernel that is answered, and in plain TypeScript where there is none. */
export function snappyCodec(kernel: () => BlockKernel | null): Codec {
  return { compress, decompress: (bytes, limit) => decompress(bytes, limit, kernel()) };
}

function compress(bytes: Uint8Array): Uint8Array {
  const chunks = Math.ceil(bytes.length / CHUNK_SIZE);
  const packed = new Uint8Array(HEADER_SIZE + bytes.length + Math.ceil(bytes.length / 60) + chunks * 16);
  packed.set(MAGIC);
  packed[11] = packed[15] = 1; // version and least compatible version
  let to = HEADER_SIZE;
  for (let from = 0; from < bytes.length; from += CHUNK_SIZE) {
    const end = compressBlock(bytes, from, Math.min(from + CHUNK_SIZE, bytes.length), packed, to + 4);
    const size = end - to - 4;
    packed[to] = size >>> 24;
    packed[to + 1] = size >>> 16;
    packed[to + 2] = size >>> 8;
    packed[to + 3] = size;
    to = end;
  }
  return packed.subarray(0, to);
}

/** A raw block within bytes. */
interface Block {
  /** Where its elements begin, behind its size. */
  readonly start: number;
  readonly end: number;
  /** Bytes that it says it inflates to. */
  readonly size: number;
}

function decompress(bytes: Uint8Array, limit: number, kernel: BlockKernel | null): Uint8Array {
  const chunks = isFramed(bytes, 0) ? chunksOf(bytes) : [{ start: 0, end: bytes.length }];
  // All sizes are added up and checked before any memory is taken.
  const blocks: Block[] = [];
  let total = 0;
  for (const chunk of chunks) {
    const block = blockOf(bytes, chunk.start, chunk.end);
    blocks.push(block);
    total += block.size;
    if (total > limit || total > MAX_SIZE) throw decompressionLimit("snappy", Math.min(limit, MAX_SIZE));
  }
  if (kernel !== null && total <= KERNEL_ROOM) {
    let to = 0;
    if (blocks.every(({ start, end, size }) => kernel.inflate(bytes, start, end, to, to + size, to) === (to += size))) {
      return kernel.memory.slice(0, total);
    }
  }
  const inflated = new Uint8Array(total);
  let to = 0;
  for (const block of blocks) {
    const { start, end, size } = block;
    if (kernel !== null && kernel.inflate(bytes, start, end, 0, size, 0) === size) {
      inflated.set(kernel.memory.subarray(0, size), to);
    } else decompressBlock(bytes, block, inflated, to); // which also tells what is damaged
    to += size;
  }
  return inflated;
}

function isFramed(bytes: Uint8Array, at: number): boolean {
  return MAGIC.every((byte, i) => bytes[at + i] === byte);
}

function chunksOf(bytes: Uint8Array): { start: number; end: number }[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: { start: number; end: number }[] = [];
  let at = 0;
  while (at < bytes.length) {
    // snappy-java's streams may be put one behind the other; each begins with a header. Its versions say nothing: some
    // write them little-endian.
    if (isFramed(bytes, at)) {
      if (bytes.length - at < HEADER_SIZE) throw corruptCompression("snappy", "cut short in the header");
      at += HEADER_SIZE;
      continue;
    }
    if (bytes.length - at < 4) throw corruptCompression("snappy", "cut short in a chunk's length");
    const size = view.getInt32(at);
    at += 4;
    if (size <= 0 || size > bytes.length - at) {
      throw corruptCompression("snappy", `a chunk of ${size} bytes, ${bytes.length - at} left`);
    }
    chunks.push({ start: at, end: at + size });
    at += size;
  }
  return chunks;
}

/** The block `bytes[start, end)`; refused when so few bytes cannot inflate to what it says. */
function blockOf(bytes: Uint8Array, start: number, end: number): Block {
  let size = 0;
  let at = start;
  for (let shift = 0;; shift += 7) {
    if (at >= end) throw corruptCompression("snappy", "cut short in a block's length");
    const byte = bytes[at++]!;
    if (shift === 28 && byte > 0x0f) throw corruptCompression("snappy", "a block's length is beyond 32 bits");
    size += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (size > (end - at) * MAX_EXPANSION) {
    throw corruptCompression("snappy", `${end - at} bytes cannot inflate to ${size}`);
  }
  return { start: at, end, size };
}

/** Inflates a block of `from` to `into` at `position`, where there is room for its size. */
function decompressBlock(from: Uint8Array, block: Block, into: Uint8Array, position: number): void {
  // Hot: 400–900 MB/s. Every length is checked against both ends before bytes move; all numbers stay 32-bit integers, with
  // unsigned ones it takes twice as long in JavaScriptCore. Short runs are copied in steps of four bytes, up to three too many,
  // which DataView alone reads wherever they stand.
  const source = new DataView(from.buffer, from.byteOffset, from.byteLength);
  const target = new DataView(into.buffer, into.byteOffset, into.byteLength);
  const sourceEnd = from.length - SLACK;
  const targetEnd = into.length - SLACK;
  const blockStart = position | 0;
  const blockEnd = (position + block.size) | 0;
  const end = block.end | 0;
  let at = block.start | 0;
  let to = blockStart;
  while (at < end) {
    const tag = from[at++]!;
    let length = tag >>> 2;
    let distance: number;
    const kind = tag & 3;
    if (kind === 0) {
      if (length >= 60) {
        const extra = length - 59;
        if (at + extra > end) throw corruptCompression("snappy", "cut short in a literal's length");
        length = 0;
        for (let i = 0; i < extra; i++) length |= from[at + i]! << (8 * i);
        at += extra;
      }
      length++;
      // Not positive when it is beyond 31 bits.
      if (length <= 0 || length > end - at || length > blockEnd - to) {
        throw corruptCompression("snappy", `a literal of ${length} bytes`);
      }
      if (length > SLACK) into.set(from.subarray(at, at + length), to);
      else if (at <= sourceEnd && to <= targetEnd) {
        for (let i = 0; i < length; i += 4) target.setInt32(to + i, source.getInt32(at + i, true), true);
      } else {
        for (let i = 0; i < length; i++) into[to + i] = from[at + i]!;
      }
      to += length;
      at += length;
      continue;
    }
    if (kind === 1) {
      if (at >= end) throw corruptCompression("snappy", "cut short in a copy");
      distance = ((tag >>> 5) << 8) | from[at++]!;
      length = (length & 7) + 4;
    } else {
      const width = kind === 2 ? 2 : 4;
      if (at + width > end) throw corruptCompression("snappy", "cut short in a copy");
      distance = from[at]! | (from[at + 1]! << 8);
      if (kind === 3) distance |= (from[at + 2]! << 16) | (from[at + 3]! << 24);
      at += width;
      length++;
    }
    if (distance <= 0 || distance > to - blockStart || length > blockEnd - to) {
      throw corruptCompression("snappy", `a copy of ${length} bytes from ${distance} before byte ${to - blockStart}`);
    }
    const copied = to - distance;
    if (length <= SLACK && distance >= 4 && to <= targetEnd) {
      for (let i = 0; i < length; i += 4) target.setInt32(to + i, target.getInt32(copied + i, true), true);
    } else if (length > SLACK && distance >= length) {
      into.copyWithin(to, copied, copied + length);
    } else {
      for (let i = 0; i < length; i++) into[to + i] = into[copied + i]!;
    }
    to += length;
  }
  if (to !== blockEnd) {
    throw corruptCompression("snappy", `a block of ${to - blockStart} bytes that declares ${blockEnd - blockStart}`);
  }
}

/** Compresses `from[start, end)`, at most 64 KiB, to `into` at `position`; answers the end. */
function compressBlock(from: Uint8Array, start: number, end: number, into: Uint8Array, position: number): number {
  // Hot: 130–400 MB/s. A match is looked for by the hash of four bytes; the longer none is found, the wider the steps.
  let to = position;
  for (let size = end - start;; size >>>= 7) {
    if (size < 0x80) {
      into[to++] = size;
      break;
    }
    into[to++] = (size & 0x7f) | 0x80;
  }
  let literalStart = start;
  if (end - start > TAIL) {
    const bits = Math.min(HASH_BITS, Math.max(8, 32 - Math.clz32(end - start - 1)));
    const shift = 32 - bits;
    positions.fill(0, 0, 1 << bits);
    const lastLookup = end - TAIL;
    const words = new DataView(from.buffer, from.byteOffset, from.byteLength);
    let misses = 32;
    let at = start + 1;
    while (at <= lastLookup) {
      const four = words.getInt32(at, true);
      const slot = Math.imul(four, HASH_MULTIPLIER) >>> shift;
      const candidate = start + positions[slot]!;
      positions[slot] = at - start;
      if (words.getInt32(candidate, true) !== four) {
        at += misses++ >>> 5;
        continue;
      }
      misses = 32;
      if (at > literalStart) to = writeLiteral(from, literalStart, at, into, to);
      let matchEnd = at + MIN_MATCH;
      for (let other = candidate + MIN_MATCH; matchEnd < end && from[matchEnd] === from[other]; other++) matchEnd++;
      to = writeCopy(into, to, at - candidate, matchEnd - at);
      literalStart = at = matchEnd;
      if (at <= lastLookup) {
        positions[Math.imul(words.getInt32(at - 1, true), HASH_MULTIPLIER) >>> shift] = at - 1 - start;
      }
    }
  }
  return literalStart < end ? writeLiteral(from, literalStart, end, into, to) : to;
}

function writeLiteral(from: Uint8Array, start: number, end: number, into: Uint8Array, position: number): number {
  const length = end - start;
  let to = position;
  if (length <= 60) {
    into[to++] = (length - 1) << 2;
  } else if (length <= 256) {
    into[to++] = 60 << 2;
    into[to++] = length - 1;
  } else {
    into[to++] = 61 << 2;
    into[to++] = length - 1;
    into[to++] = (length - 1) >>> 8;
  }
  if (length > 32) {
    into.set(from.subarray(start, end), to);
    return to + length;
  }
  for (let at = start; at < end;) into[to++] = from[at++]!;
  return to;
}

function writeCopy(into: Uint8Array, position: number, distance: number, length: number): number {
  let to = position;
  let left = length;
  // A copy holds 64 bytes, and none of fewer than 4 may remain for the short form.
  while (left > 64) {
    const part = left >= 68 ? 64 : 60;
    into[to++] = ((part - 1) << 2) | 2;
    into[to++] = distance;
    into[to++] = distance >>> 8;
    left -= part;
  }
  if (left < 12 && distance < 2048) {
    into[to++] = ((distance >>> 8) << 5) | ((left - 4) << 2) | 1;
    into[to++] = distance;
  } else {
    into[to++] = ((left - 1) << 2) | 2;
    into[to++] = distance;
    into[to++] = distance >>> 8;
  }
  return to;
}
