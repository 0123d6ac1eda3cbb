/**
 * The kernel that inflates LZ4 blocks; this file is its source. Format: lz4/doc/lz4_Block_format.md.
 *
 * @module
 */

import type { Code } from "./assemble_wasm.ts";
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
  equal,
  forever,
  isAbove,
  isAtLeast,
  isBelow,
  repeatWhile,
  set,
  shiftRight,
  shortAt,
  subtract,
  when,
} from "./wasm_operation.ts";

const MIN_MATCH = 4;

/**
 * Makes a kernel.
 *
 * @throws a `WebAssembly.CompileError` where SIMD is missing, an error of the runtime where WebAssembly is refused.
 */
export function lz4Kernel(): BlockKernel {
  return blockKernel(forever(
    failWhen(isAtLeast(at, end)),
    set(tag, byteAt(at)),
    advance(at, 1),
    readLength(shiftRight(tag, constant(4))),
    failWhen(isAbove(length, subtract(end, at))),
    failWhen(isAbove(length, subtract(limit, to))),
    copyLiterals(),
    when(isAtLeast(at, end), answer(to)), // the last sequence has no match
    failWhen(isBelow(subtract(end, at), constant(2))),
    set(distance, shortAt(at)),
    advance(at, 2),
    readLength(and(tag, constant(15))),
    advance(length, MIN_MATCH),
    copyMatch(),
  ));
}

/** A length of 15 goes on in bytes, the last of which is not 255. */
function readLength(ofTag: Code): Code {
  return [
    set(length, ofTag),
    when(
      equal(length, constant(15)),
      repeatWhile(
        equal(scratch, constant(255)),
        failWhen(isAtLeast(at, end)),
        set(scratch, byteAt(at)),
        set(length, add(length, scratch)),
        advance(at, 1),
      ),
    ),
  ];
}
