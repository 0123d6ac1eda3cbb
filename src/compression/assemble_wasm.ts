/**
 * WebAssembly modules put together from instructions, so that a kernel's source is TypeScript and no bytes need to be trusted.
 *
 * `hash/crc32c_kernel.ts` has its own: a file that both import would be one more to load at start, of 0.2 kB.
 *
 * @module
 */

/** Bytes of instructions, nested as one likes. */
export type Code = readonly (number | Code)[];

/** The type of 32-bit integers. */
export const I32 = 0x7f;
/** Ends a block, a loop, a function. */
export const END = 0x0b;

/** What is in a module: a memory, and one function that takes some i32. */
export interface WasmModule {
  /** Name that the function is exported by, beside `memory`. */
  readonly name: string;
  /** How many i32 it takes: its first locals. */
  readonly parameters: number;
  /** Whether it answers an i32. */
  readonly answers: boolean;
  /** The other locals: pairs of a count and a type. */
  readonly locals: readonly (readonly [number, number])[];
  /** Its instructions, without the last `END`. */
  readonly body: Code;
  /** Size of the memory in pages of 64 KiB. */
  readonly pages: number;
}

/** Assembles a module. */
export function assembleWasm(module: WasmModule): Uint8Array<ArrayBuffer> {
  const { name, parameters, answers, locals, body, pages } = module;
  const named = (text: string): Code => sized([...new TextEncoder().encode(text)]);
  return Uint8Array.from(flat([
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, sized([1, 0x60, parameters, Array<number>(parameters).fill(I32), answers ? [1, I32] : 0])], // type 0
    [3, sized([1, 0])], // function 0 is of type 0
    [5, sized([1, 0, unsigned(pages)])],
    [7, sized([2, named("memory"), 2, 0, named(name), 0, 0])],
    [10, sized([1, sized([locals.length, locals, body, END])])],
  ]));
}

/** A number below 16,384 as LEB128. It is good for signed constants from 0 to 63 and from 128 to 8,191, too. */
export function unsigned(value: number): Code {
  return value < 128 ? [value] : [value & 127 | 128, value >> 7];
}

function sized(code: Code): Code {
  const bytes = flat(code);
  return [unsigned(bytes.length), bytes];
}

function flat(code: Code, into: number[] = []): number[] {
  for (const part of code) typeof part === "number" ? into.push(part) : flat(part, into);
  return into;
}
