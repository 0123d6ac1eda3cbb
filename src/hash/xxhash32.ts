/**
 * xxHash32, the checksum of the LZ4 frame format.
 *
 * @module
 */

const P1 = 0x9e3779b1 | 0;
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;
const P4 = 0x27d4eb2f;
const P5 = 0x165667b1;

/** xxHash32 of `bytes[start, end)` as an unsigned 32-bit integer. */
export function xxhash32(bytes: Uint8Array, start = 0, end: number = bytes.length, seed = 0): number {
  let at = start;
  let hash: number;
  if (end - start >= 16) {
    let a = (seed + P1 + P2) | 0;
    let b = (seed + P2) | 0;
    let c = seed | 0;
    let d = (seed - P1) | 0;
    for (const last = end - 16; at <= last; at += 16) {
      a = round(a, word(bytes, at));
      b = round(b, word(bytes, at + 4));
      c = round(c, word(bytes, at + 8));
      d = round(d, word(bytes, at + 12));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  } else {
    hash = (seed + P5) | 0;
  }
  hash = (hash + (end - start)) | 0;
  for (; at + 4 <= end; at += 4) hash = Math.imul(rotate((hash + Math.imul(word(bytes, at), P3)) | 0, 17), P4);
  for (; at < end; at++) hash = Math.imul(rotate((hash + Math.imul(bytes[at]!, P5)) | 0, 11), P1);
  hash = Math.imul(hash ^ (hash >>> 15), P2);
  hash = Math.imul(hash ^ (hash >>> 13), P3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, input: number): number {
  return Math.imul(rotate((lane + Math.imul(input, P2)) | 0, 13), P1);
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
