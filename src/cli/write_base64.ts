/**
 * Base64 straight from bytes into bytes.
 *
 * @module
 */

/** `=` */
const PADDING = 0x3d;
/** Two base64 letters for each 12 bits, the first in the low byte. */
const BASE64_PAIRS = /* @__PURE__ */ base64Pairs();

/** Bytes of `length` bytes in base64. */
export function base64Length(length: number): number {
  return Math.ceil(length / 3) * 4;
}

/**
 * Writes `length` bytes of `from` in base64; answers where they end. Hot: 0.8 GB/s in Node.js and Deno, 1 GB/s in Bun, by
 * twelve bytes a step and a table of pairs of letters; a letter at a time does 0.4.
 */
export function writeBase64(view: DataView, at: number, from: DataView, start: number, length: number): number {
  const pairs = BASE64_PAIRS;
  const end = start + length;
  let i = start;
  for (const last = end - 12; i <= last; i += 12, at += 16) {
    const a = from.getInt32(i);
    const b = from.getInt32(i + 4);
    const c = from.getInt32(i + 8);
    view.setInt32(at, pairs[a >>> 20]! | (pairs[(a >>> 8) & 4095]! << 16), true);
    view.setInt32(at + 4, pairs[((a & 255) << 4) | (b >>> 28)]! | (pairs[(b >>> 16) & 4095]! << 16), true);
    view.setInt32(at + 8, pairs[(b >>> 4) & 4095]! | (pairs[((b & 15) << 8) | (c >>> 24)]! << 16), true);
    view.setInt32(at + 12, pairs[(c >>> 12) & 4095]! | (pairs[c & 4095]! << 16), true);
  }
  for (const last = end - 3; i <= last; i += 3, at += 4) {
    const n = (from.getUint8(i) << 16) | from.getUint16(i + 1);
    view.setInt32(at, pairs[n >> 12]! | (pairs[n & 4095]! << 16), true);
  }
  if (i === end) return at;
  const n = (from.getUint8(i) << 16) | (end - i > 1 ? from.getUint8(i + 1) << 8 : 0);
  view.setInt32(at, pairs[n >> 12]! | (pairs[n & 4095]! << 16), true);
  view.setUint8(at + 3, PADDING);
  if (end - i === 1) view.setUint8(at + 2, PADDING);
  return at + 4;
}

function base64Pairs(): Uint16Array {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return Uint16Array.from({ length: 4096 }, (_, n) => letters.charCodeAt(n >> 6) | (letters.charCodeAt(n & 63) << 8));
}
