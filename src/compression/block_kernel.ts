/**
 * What the kernels for LZ4's and Snappy's blocks share: WebAssembly SIMD, assembled when it is asked for, so that there are no
 * bytes to trust.
 *
 * They copy sixteen bytes a step, some more than wanted, where JavaScript has steps of four for short runs and a call for long
 * ones. They check every length on the way and do not tell what is wrong: that is for the plain code.
 *
 * @module
 */

import { assembleWasm, type Code, I32 } from "./assemble_wasm.ts";
import {
  add,
  answer,
  constant,
  copyByte,
  copyVector,
  isAbove,
  isAtLeast,
  isBelow,
  repeatWhile,
  set,
  subtract,
  when,
} from "./wasm_operation.ts";

/** Inflates blocks within its memory. */
export interface BlockKernel {
  /** {@linkcode KERNEL_ROOM} bytes to inflate to, and behind a gap as many for a block. */
  readonly memory: Uint8Array<ArrayBuffer>;
  /**
   * Inflates the block `bytes[start, end)` to `position`, to `limit` at most, with matches that reach back to `windowStart`.
   * Answers the end, or −1 for a block that is damaged or longer.
   */
  inflate(bytes: Uint8Array, start: number, end: number, position: number, limit: number, windowStart: number): number;
}

const PAGE = 64 * 1024;
/** The longest block that an LZ4 frame may have, and what its matches reach back to. Memory never touched costs nothing. */
export const KERNEL_ROOM: number = 4 * 1024 * 1024 + PAGE;
/** Where a block is put; the page before it, and the one behind, is for what is copied too much. */
const INPUT = KERNEL_ROOM + PAGE;

const VECTOR = 16;

// The locals of a kernel's function: what it takes, and its own.
/** Where the next byte of the block is. */
export const at = 0;
/** The block's end. */
export const end = 1;
/** Where the next byte goes. */
export const to = 2;
/** What `to` must not pass. */
export const limit = 3;
const windowStart = 4;
/** How many bytes are copied next. */
export const length = 5;
/** How far back a match is. */
export const distance = 6;
/** The byte that a sequence begins with. */
export const tag = 7;
/** For what is forgotten at once. */
export const scratch = 8;
const source = 9;
const target = 10;

/**
 * Makes a kernel of the instructions that inflate a block.
 *
 * @throws a `WebAssembly.CompileError` where SIMD is missing, an error of the runtime where WebAssembly is refused.
 */
export function blockKernel(body: Code): BlockKernel {
  const module = new WebAssembly.Module(assembleWasm({
    ...{ name: "inflate", parameters: 5, answers: true, locals: [[6, I32]], body },
    pages: 2 * (INPUT / PAGE),
  }));
  const exports = new WebAssembly.Instance(module).exports;
  const memory = new Uint8Array((exports["memory"] as WebAssembly.Memory).buffer as ArrayBuffer);
  const inflate = exports["inflate"] as (...numbers: number[]) => number;
  return {
    memory,
    inflate: (bytes, start, end, position, limit, windowStart) => {
      const length = end - start;
      if (length > KERNEL_ROOM || limit > KERNEL_ROOM || !(position <= limit)) return -1;
      memory.set(bytes.subarray(start, end), INPUT);
      return inflate(INPUT, INPUT + length, position, limit, windowStart);
    },
  };
}

/** Makes a kernel when it is first asked for, since it takes 5 ms; answers null where the engine lets nobody have one. */
export function kernelOnce(make: () => BlockKernel): () => BlockKernel | null {
  let kernel: BlockKernel | null | undefined;
  return () => {
    if (kernel !== undefined) return kernel;
    try {
      kernel = make();
    } catch {
      kernel = null; // no SIMD, or a content security policy forbids WebAssembly
    }
    return kernel;
  };
}

/** Adds a constant to a local. */
export const advance = (local: number, by: number): Code => set(local, add(local, constant(by)));
/** Gives the block up. */
export const failWhen = (condition: Code): Code => when(condition, answer(constant(-1)));

/** Copies from `source` to `target` up to `to`, once at least, and up to 15 bytes too many. */
const copy = (): Code =>
  repeatWhile(isBelow(target, to), copyVector(target, source), advance(source, VECTOR), advance(target, VECTOR));

/** Copies `length` bytes of the block, which are there and have room. */
export const copyLiterals = (): Code => [
  ...[set(source, at), set(target, to), set(at, add(at, length)), set(to, add(to, length))],
  copy(),
];

/** Copies `length` bytes from `distance` back, if both may be. */
export const copyMatch = (): Code => [
  failWhen(isAbove(length, subtract(limit, to))),
  // A distance of 0 is beyond everything, too.
  failWhen(isAtLeast(subtract(distance, constant(1)), subtract(to, windowStart))),
  ...[set(source, subtract(to, distance)), set(target, to), set(to, add(to, length))],
  when(
    isBelow(distance, constant(VECTOR)),
    // The match overlaps itself within a step: sixteen bytes one by one, and then from as many periods back as make a step.
    set(scratch, add(target, constant(VECTOR))),
    repeatWhile(isBelow(target, scratch), copyByte(target, source), advance(source, 1), advance(target, 1)),
    set(scratch, distance),
    repeatWhile(isBelow(scratch, constant(VECTOR)), set(scratch, add(scratch, distance))),
    set(source, subtract(target, scratch)),
  ),
  copy(),
];
