/**
 * Integers as decimal digits, straight into bytes.
 *
 * @module
 */

import { Literal, writeLiteral } from "./literal.ts";

/** Most bytes that {@linkcode writeInteger} writes. */
export const MAX_INTEGER_LENGTH = 20;

/** Two digits for each number below 100, the first in the low byte. */
const DIGIT_PAIRS = /* @__PURE__ */ Uint16Array.from({ length: 100 }, (_, n) => {
  return (0x30 + Math.floor(n / 10)) | ((0x30 + n % 10) << 8);
});

/**
 * Writes integers of which most differ from the one before in their last four digits alone, such as offsets and timestamps
 * in a row. Hot: 10 ns each, against 25 by {@linkcode writeInteger} and 60 as a string (Node.js 24).
 */
export class IntegerWriter {
  #high = NaN;
  /** The digits of `#high`. */
  #digits: Literal = new Literal("");

  /** Writes `value` into `view` from `at` on; answers where it ends. */
  write(view: DataView, at: number, value: number): number {
    const high = Math.floor(value / 10_000);
    if (high !== this.#high) {
      // Short or odd ones are not worth it.
      if (!(value >= 10_000 && value < 1e15)) return writeInteger(view, at, value);
      this.#high = high;
      this.#digits = new Literal(String(high));
    }
    at = writeLiteral(view, at, this.#digits);
    const low = value - high * 10_000;
    const first = (low / 100) | 0;
    view.setInt32(at, DIGIT_PAIRS[first]! | (DIGIT_PAIRS[low - first * 100]! << 16), true);
    return at + 4;
  }
}

/** Writes an integer in decimal; answers where it ends. */
export function writeInteger(view: DataView, at: number, value: number | bigint): number {
  if (typeof value !== "number" || !(value >= 0 && value < 1e16)) return writeAscii(view, at, String(value));
  if (value < 1e8) return writeDigits(view, at, value, digitCount(value));
  const high = Math.floor(value / 1e8);
  at = writeDigits(view, at, high, digitCount(high));
  return writeDigits(view, at, value - high * 1e8, 8);
}

function writeAscii(view: DataView, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) view.setUint8(at + i, text.charCodeAt(i));
  return at + text.length;
}

/** Writes `count` digits of a `value` below 10^8. */
function writeDigits(view: DataView, at: number, value: number, count: number): number {
  const end = at + count;
  let left = value | 0;
  for (at = end; count > 1; count -= 2) {
    const next = (left / 100) | 0;
    view.setUint16(at -= 2, DIGIT_PAIRS[left - next * 100]!, true);
    left = next;
  }
  if (count === 1) view.setUint8(at - 1, 0x30 + left);
  return end;
}

function digitCount(value: number): number {
  if (value < 10_000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4;
  return value < 1_000_000 ? (value < 100_000 ? 5 : 6) : value < 10_000_000 ? 7 : 8;
}
