/**
 * Blocks of the LZ4 format, which are what stands in a frame. Format: lz4/doc/lz4_Block_format.md.
 *
 * @module
 */

import type { CompressionError } from "../core/kafka_error.ts";
import { corruptCompression } from "./codec.ts";

/** Most bytes that one block is made of here: positions in it take 16 bits, and a match reaches all of it. */
export const BLOCK_SIZE: number = 64 * 1024;
/** Bytes behind its end that {@linkcode decompressLz4Block} overwrites, and the longest run that it copies by itself. */
export const SLACK = 32;

const MIN_MATCH = 4;
/** The format wants the last five bytes of a block to be literals, and no match to begin in the last twelve. */
const LAST_LITERALS = 5;
const LAST_MATCH_START = 12;
const HASH_BITS = 13;
const HIGH_HASH_BITS = 15;
const HASH_MULTIPLIER = 0x9e3779b1 | 0;
/** More places to look at make no difference but for input that is made to take long. */
const MOST_ATTEMPTS = 4096;

// Scratch of the compressors, which clear what they use of it.
const positions = /* @__PURE__ */ new Uint16Array(1 << HIGH_HASH_BITS);
const earlier = /* @__PURE__ */ new Uint16Array(BLOCK_SIZE);

/** Bytes that the block `from[start, end)` inflates to. */
export function sizeOfLz4Block(from: Uint8Array, start: number, end: number): number {
  let at = start;
  let size = 0;
  while (at < end) {
    const token = from[at++]!;
    let literals = token >>> 4;
    if (literals === 15) {
      let byte: number;
      do {
        if (at >= end) throw cut();
        byte = from[at++]!;
        literals += byte;
      } while (byte === 255);
    }
    if (literals > end - at) throw cut();
    size += literals;
    at += literals;
    if (at >= end) return size; // the last sequence has no match
    if (at + 2 > end) throw cut();
    at += 2;
    let length = token & 15;
    if (length === 15) {
      let byte: number;
      do {
        if (at >= end) throw cut();
        byte = from[at++]!;
        length += byte;
      } while (byte === 255);
    }
    size += length + MIN_MATCH;
  }
  throw cut();
}

/**
 * Inflates the block `from[start, end)`, whose size was told by {@linkcode sizeOfLz4Block}, to `into` at `position`, where there
 * is room for it and for {@linkcode SLACK} bytes; matches reach back to `windowStart` at most. Answers the end.
 */
export function decompressLz4Block(
  from: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  position: number,
  windowStart: number,
): number {
  // Hot: 600–900 MB/s. All lengths were checked when they were added up. Short runs are copied in steps of four bytes, up to
  // three too many, which makes it 1.7 times as fast; DataView alone reads them wherever they stand.
  const source = new DataView(from.buffer, from.byteOffset, from.byteLength);
  const target = new DataView(into.buffer, into.byteOffset, into.byteLength);
  const sourceEnd = from.length - SLACK;
  let at = start;
  let to = position;
  for (;;) {
    const token = from[at++]!;
    let literals = token >>> 4;
    if (literals === 15) {
      let byte: number;
      do literals += byte = from[at++]!; while (byte === 255);
    }
    if (literals > SLACK) into.set(from.subarray(at, at + literals), to);
    else if (at <= sourceEnd) {
      for (let i = 0; i < literals; i += 4) target.setInt32(to + i, source.getInt32(at + i, true), true);
    } else {
      for (let i = 0; i < literals; i++) into[to + i] = from[at + i]!;
    }
    to += literals;
    at += literals;
    if (at >= end) return to; // the last sequence has no match
    const distance = from[at]! | (from[at + 1]! << 8);
    at += 2;
    let length = token & 15;
    if (length === 15) {
      let byte: number;
      do length += byte = from[at++]!; while (byte === 255);
    }
    length += MIN_MATCH;
    if (distance === 0 || distance > to - windowStart) {
      throw corruptCompression("lz4", `a match ${distance} bytes back, ${to - windowStart} are there`);
    }
    const match = to - distance;
    if (length <= SLACK && distance >= 4) {
      for (let i = 0; i < length; i += 4) target.setInt32(to + i, target.getInt32(match + i, true), true);
    } else if (length > SLACK && distance >= length) {
      into.copyWithin(to, match, match + length);
    } else if (length > SLACK && distance === 1) {
      into.fill(into[match]!, to, to + length);
    } else {
      for (let i = 0; i < length; i++) into[to + i] = into[match + i]!;
    }
    to += length;
  }
}

function cut(): CompressionError {
  return corruptCompression("lz4", "a block is cut short");
}

/** Compresses `from[start, end)`, at most 64 KiB, to `into` at `position`; answers the end, or −1 if it would not shrink. */
export function compressLz4Block(
  from: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  position: number,
): number {
  // Hot: 190–290 MB/s. A match is looked for by the hash of four bytes; the longer none is found, the wider the steps.
  const limit = position + (end - start) - 1;
  let to = position;
  let literalStart = start;
  const lastMatchStart = end - LAST_MATCH_START;
  const lastMatchEnd = end - LAST_LITERALS;
  const words = new DataView(from.buffer, from.byteOffset, from.byteLength);
  if (start < lastMatchStart) positions.fill(0, 0, 1 << HASH_BITS);
  let misses = 64;
  let at = start + 1;
  while (at <= lastMatchStart) {
    const four = words.getInt32(at, true);
    const slot = Math.imul(four, HASH_MULTIPLIER) >>> (32 - HASH_BITS);
    let candidate = start + positions[slot]!;
    positions[slot] = at - start;
    if (words.getInt32(candidate, true) !== four) {
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
    to = writeSequence(from, literalStart, matchStart, distance, matchEnd - matchStart, into, to, limit);
    if (to < 0) return -1;
    literalStart = at = matchEnd;
    if (at <= lastMatchStart) {
      positions[Math.imul(words.getInt32(at - 2, true), HASH_MULTIPLIER) >>> (32 - HASH_BITS)] = at - 2 - start;
    }
  }
  return writeLastLiterals(from, literalStart, end, into, to, limit);
}

/**
 * As {@linkcode compressLz4Block}, but smaller and slower: of every position it looks at up to `2 ** (level - 1)` earlier ones that
 * may match, takes the longest match, and one that begins a byte later if that is longer still.
 */
export function compressLz4BlockHigh(
  from: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  position: number,
  level: number,
): number {
  const attempts = Math.min(2 ** (level - 1), MOST_ATTEMPTS);
  const limit = position + (end - start) - 1;
  const lastMatchStart = end - LAST_MATCH_START;
  const lastMatchEnd = end - LAST_LITERALS;
  const words = new DataView(from.buffer, from.byteOffset, from.byteLength);
  if (start < lastMatchStart) positions.fill(0);
  let next = start;
  let found = 0;
  /** Length of the longest match that begins at `at`, which `found` becomes; 0 when there is none. */
  const longestMatch = (at: number): number => {
    for (; next < at; next++) {
      const slot = Math.imul(words.getInt32(next, true), HASH_MULTIPLIER) >>> (32 - HIGH_HASH_BITS);
      earlier[next - start] = positions[slot]!;
      positions[slot] = next - start;
    }
    const four = words.getInt32(at, true);
    let candidate = positions[Math.imul(four, HASH_MULTIPLIER) >>> (32 - HIGH_HASH_BITS)]!;
    let longest = 0;
    for (let i = 0; i < attempts; i++, candidate = earlier[candidate]!) {
      const distance = at - start - candidate;
      if (distance <= 0) break;
      if (words.getInt32(at - distance, true) === four && from[at + longest] === from[at + longest - distance]) {
        let matchEnd = at + MIN_MATCH;
        while (matchEnd < lastMatchEnd && from[matchEnd] === from[matchEnd - distance]) matchEnd++;
        if (matchEnd - at > longest) {
          longest = matchEnd - at;
          found = distance;
          if (matchEnd === lastMatchEnd) break;
        }
      }
      if (candidate === 0) break;
    }
    return longest;
  };

  let to = position;
  let literalStart = start;
  for (let at = start + 1; at <= lastMatchStart;) {
    let length = longestMatch(at);
    if (length === 0) {
      at++;
      continue;
    }
    let distance = found;
    while (at < lastMatchStart) {
      const longer = longestMatch(at + 1);
      if (longer <= length) break;
      [at, length, distance] = [at + 1, longer, found];
    }
    to = writeSequence(from, literalStart, at, distance, length, into, to, limit);
    if (to < 0) return -1;
    literalStart = at += length;
  }
  return writeLastLiterals(from, literalStart, end, into, to, limit);
}

/** Writes literals and a match behind them; answers the end, or −1 when the block's end would not fit behind. */
function writeSequence(
  from: Uint8Array,
  literalStart: number,
  matchStart: number,
  distance: number,
  length: number,
  into: Uint8Array,
  position: number,
  limit: number,
): number {
  const literals = matchStart - literalStart;
  const extra = length - MIN_MATCH;
  if (position + literals + 5 + Math.floor(literals / 255) + Math.floor(extra / 255) > limit) return -1;
  let to = position;
  into[to++] = (Math.min(literals, 15) << 4) | Math.min(extra, 15);
  if (literals >= 15) to = writeLength(into, to, literals - 15);
  to = copyLiterals(from, literalStart, matchStart, into, to);
  into[to++] = distance;
  into[to++] = distance >>> 8;
  return extra >= 15 ? writeLength(into, to, extra - 15) : to;
}

function writeLastLiterals(
  from: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  position: number,
  limit: number,
): number {
  const literals = end - start;
  let to = position;
  if (to + literals + 2 + Math.floor(literals / 255) > limit) return -1;
  into[to++] = Math.min(literals, 15) << 4;
  if (literals >= 15) to = writeLength(into, to, literals - 15);
  return copyLiterals(from, start, end, into, to);
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
