/**
 * A CRC-32C kernel of WebAssembly SIMD, assembled when it is asked for: this file is its source, there are no bytes to trust.
 *
 * WebAssembly has no carry-less multiplication. Instead the kernel keeps 128 bytes of state, seen as 32 lanes of four bytes
 * that stand 32 bytes apart, and folds them onto the next 128 bytes. Moving a lane by 128 bytes multiplies it by x^1024 modulo
 * the polynomial, which is the same 32×32 bit matrix for every lane: eight nibbles, each with a table of 16 entries for
 * each of the four bytes of the result, and `i8x16.swizzle` looks 16 lanes up at once. Four bytes next to each other would
 * need the vectors transposed; at a distance of 16 the bytes of a lane do not determine its CRC, at 32 they do.
 *
 * @module
 */

/** Folds bytes into 128 bytes of state that have the same CRC behind them. */
export interface Crc32cKernel {
  /** The kernel's memory, 64 KiB: the state, and from byte 128 on the data. */
  readonly memory: Uint8Array;
  /** Folds the data up to `end`, of which 128 bytes or a multiple must be there, into the state. */
  fold(end: number): void;
}

/** Bytes of state, and of one step. */
export const KERNEL_STEP = 128;
const LANE_STRIDE = 32;

/**
 * Makes a kernel for the polynomial of `table`, its look-up table for one byte.
 *
 * @throws a `WebAssembly.CompileError` where SIMD is missing, an error of the runtime where WebAssembly is refused.
 */
export function crc32cKernel(table: Int32Array): Crc32cKernel {
  const nibbles = nibbleTables(table);
  let module: WebAssembly.Module;
  try {
    // 1.5 times as fast in V8; with indices from 0 to 15 only, as here, its result is that of the strict one.
    module = new WebAssembly.Module(assemble(nibbles, RELAXED_SWIZZLE));
  } catch {
    module = new WebAssembly.Module(assemble(nibbles, SWIZZLE));
  }
  const { memory, fold } = new WebAssembly.Instance(module).exports;
  return {
    memory: new Uint8Array((memory as WebAssembly.Memory).buffer),
    fold: fold as (end: number) => void,
  };
}

/** For nibble `q` of a lane and byte `m` of the folded lane, entry `4 * q + m`. */
function nibbleTables(table: Int32Array): Uint8Array[] {
  const zeros = (crc: number, count: number) => {
    let c = crc;
    for (let i = 0; i < count; i++) c = table[c & 255]! ^ (c >>> 8);
    return c;
  };
  // What each of a lane's 32 bits does to the CRC at the lane's end, and 128 bytes further on.
  const here: number[] = [];
  const later: number[] = [];
  for (let bit = 0; bit < 32; bit++) {
    here.push(zeros(table[1 << (bit & 7)]!, LANE_STRIDE * (3 - (bit >> 3))));
    later.push(zeros(here[bit]!, KERNEL_STEP));
  }
  // Inverts `here`: which lane bits make up each bit of a CRC.
  const lanes = here.map((_, bit) => 1 << bit);
  for (let bit = 0; bit < 32; bit++) {
    const pivot = here.findIndex((column, i) => i >= bit && (column >>> bit & 1) === 1);
    for (const list of [here, lanes]) [list[pivot], list[bit]] = [list[bit]!, list[pivot]!];
    for (let i = 0; i < 32; i++) {
      if (i === bit || (here[i]! >>> bit & 1) === 0) continue;
      here[i]! ^= here[bit]!;
      lanes[i]! ^= lanes[bit]!;
    }
  }
  const laneOf = (crc: number) => lanes.reduce((sum, lane, bit) => (crc >>> bit & 1) === 1 ? sum ^ lane : sum, 0);
  const folded = later.map(laneOf);
  return Array.from({ length: 32 }, (_, i) => {
    const [nibble, byte] = [i >> 2, i & 3];
    return Uint8Array.from({ length: 16 }, (_, value) => {
      let lane = 0;
      for (let bit = 0; bit < 4; bit++) if ((value >> bit & 1) === 1) lane ^= folded[4 * nibble + bit]!;
      return lane >>> (8 * byte);
    });
  });
}

// Instructions, as WebAssembly's binary format has them.
const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const I32_CONST = 0x41;
const I32 = 0x7f;
const V128 = 0x7b;
const V128_LOAD = [0xfd, 0x00, 0x00];
const V128_STORE = [0xfd, 0x0b, 0x00];
const V128_CONST = [0xfd, 0x0c];
const V128_AND = [0xfd, 0x4e];
const V128_XOR = [0xfd, 0x51];
const I8X16_SHR_U = [0xfd, 0x6d];
const SWIZZLE = [0xfd, 0x0e];
const RELAXED_SWIZZLE = [0xfd, 0x80, 0x02];
const END = 0x0b;

type Code = readonly (number | Code)[];

/** The module: `memory` of one page, and `fold(end: i32)`. */
function assemble(nibbles: readonly Uint8Array[], swizzle: Code): Uint8Array<ArrayBuffer> {
  // Locals: 0 `end`, 1 the position; then vectors: the state, the nibbles of half of it, and the tables.
  const [end, position, state, nibble, table, vectors] = [0, 1, 2, 10, 18, 48] as const;
  const get = (local: number): Code => [LOCAL_GET, local];
  const set = (local: number): Code => [LOCAL_SET, local];
  const each = (count: number, code: (i: number) => Code): Code => Array.from({ length: count }, (_, i) => code(i));

  const foldHalf = (half: number): Code => [
    each(4, (k) => [
      ...[get(state + 2 * k + half), V128_CONST, each(16, () => [0x0f]), V128_AND, set(nibble + 2 * k)],
      ...[get(state + 2 * k + half), I32_CONST, 4, I8X16_SHR_U, set(nibble + 2 * k + 1)],
    ]),
    each(4, (byte) => [
      each(8, (q) => [get(table + 4 * q + byte), get(nibble + q), swizzle, q === 0 ? [] : V128_XOR]),
      ...[get(position), V128_LOAD, 16 * (2 * byte + half), V128_XOR, set(state + 2 * byte + half)],
    ]),
  ];
  const body: Code = [
    [2, 1, I32, vectors, V128],
    each(8, (i) => [I32_CONST, 0, V128_LOAD, 16 * i, set(state + i)]),
    each(32, (i) => [V128_CONST, [...nibbles[i]!], set(table + i)]),
    [I32_CONST, unsigned(KERNEL_STEP), set(position)],
    [0x02, 0x40, 0x03, 0x40], // block, loop
    [get(position), get(end), 0x4e, 0x0d, 1], // leave the block when position ≥ end
    foldHalf(0),
    foldHalf(1),
    [get(position), I32_CONST, unsigned(KERNEL_STEP), 0x6a, set(position), 0x0c, 0],
    [END, END],
    each(8, (i) => [I32_CONST, 0, get(state + i), V128_STORE, 16 * i]),
    END,
  ];
  const name = (text: string): Code => sized([...new TextEncoder().encode(text)]);
  return Uint8Array.from(flat([
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, sized([1, 0x60, 1, I32, 0])], // type 0: takes an i32, gives nothing
    [3, sized([1, 0])], // function 0 is of type 0
    [5, sized([1, 0, 1])], // a memory of one page
    [7, sized([2, name("memory"), 2, 0, name("fold"), 0, 0])],
    [10, sized([1, sized(body)])],
  ]));
}

function sized(code: Code): Code {
  const bytes = flat(code);
  return [unsigned(bytes.length), bytes];
}

function flat(code: Code, into: number[] = []): number[] {
  for (const part of code) typeof part === "number" ? into.push(part) : flat(part, into);
  return into;
}

/** LEB128, good for the signed constants here too: two bytes hold 128 without a sign. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [value & 127 | 128, value >> 7];
}
