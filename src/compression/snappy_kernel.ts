/**
 * The kernel that inflates Snappy blocks, from behind the length that they begin with; this file is its source. Format: the
 * public description in google/snappy.
 *
 * @module
 */

import {
  advance,
  at,
  type BlockKernel,
  blockKernel,
  copyLiterals,
  copyMatch,
  distance,
  end,
  failWhen,
  length,
  limit,
  scratch,
  tag,
  to,
} from "./block_kernel.ts";
import {
  add,
  and,
  answer,
  byteAt,
  constant,
  either,
  equal,
  forever,
  intAt,
  isAtLeast,
  isBelow,
  or,
  set,
  shiftLeft,
  shiftRight,
  shortAt,
  subtract,
  when,
} from "./wasm_operation.ts";

/** Literals of up to 60 bytes say so in the tag; behind the others, the length is in one to four bytes. */
const LONG_LITERAL = 60;

/**
 * Makes a kernel.
 *
 * @throws a `WebAssembly.CompileError` where SIMD is missing, an error of the runtime where WebAssembly is refused.
 */
export function snappyKernel(): BlockKernel {
  const literal = [
    when(
      isAtLeast(length, constant(LONG_LITERAL)),
      set(scratch, subtract(length, constant(LONG_LITERAL - 1))),
      failWhen(isBelow(subtract(end, at), scratch)),
      set(length, shiftRight(constant(-1), subtract(constant(32), shiftLeft(scratch, constant(3))))),
      set(length, and(length, intAt(at))),
      set(at, add(at, scratch)),
    ),
    // One byte more than it says; compared before it is added, which may go beyond 32 bits.
    failWhen(isAtLeast(length, subtract(end, at))),
    failWhen(isAtLeast(length, subtract(limit, to))),
    advance(length, 1),
    copyLiterals(),
  ];
  const nearCopy = [
    failWhen(isAtLeast(at, end)),
    set(distance, or(shiftLeft(shiftRight(tag, constant(5)), constant(8)), byteAt(at))),
    advance(at, 1),
    set(length, add(and(length, constant(7)), constant(4))),
  ];
  const farCopy = [
    either(
      equal(and(tag, constant(3)), constant(2)),
      [failWhen(isBelow(subtract(end, at), constant(2))), set(distance, shortAt(at)), advance(at, 2)],
      [failWhen(isBelow(subtract(end, at), constant(4))), set(distance, intAt(at)), advance(at, 4)],
    ),
    advance(length, 1),
  ];
  return blockKernel(forever(
    when(isAtLeast(at, end), answer(to)),
    set(tag, byteAt(at)),
    advance(at, 1),
    set(length, shiftRight(tag, constant(2))),
    either(
      equal(and(tag, constant(3)), constant(0)),
      literal,
      [either(equal(and(tag, constant(3)), constant(1)), nearCopy, farCopy), copyMatch()],
    ),
  ));
}
