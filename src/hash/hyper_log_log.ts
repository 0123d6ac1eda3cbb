import { xxhash32 } from "./xxhash32.ts";

/** Registers: 16 KiB, and a standard error of 0.8 %. */
const BITS = 14;
const REGISTERS = 2 ** BITS;
/** Two independent hashes together are one of 64 bits, so that billions of values do not run into each other. */
const SEEDS = [0x1b873593, 0x52dce729] as const;

/** Estimates how many different values there are (HyperLogLog), in memory that does not grow with them. */
export class HyperLogLog {
  readonly #registers = new Uint8Array(REGISTERS);

  /** Takes the value `bytes[start, end)`. */
  add(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    const register = xxhash32(bytes, start, end, SEEDS[0]) >>> (32 - BITS);
    // Zeros at the front of the other hash, and one more.
    const rank = Math.clz32(xxhash32(bytes, start, end, SEEDS[1])) + 1;
    if (rank > this.#registers[register]!) this.#registers[register] = rank;
  }

  /** How many different values were taken, about. */
  estimate(): number {
    let sum = 0;
    let empty = 0;
    for (const rank of this.#registers) {
      sum += 2 ** -rank;
      if (rank === 0) empty++;
    }
    const raw = ((0.7213 / (1 + 1.079 / REGISTERS)) * REGISTERS * REGISTERS) / sum;
    // With few values counting the empty registers is more exact.
    const isSmall = raw <= 2.5 * REGISTERS && empty > 0;
    return Math.round(isSmall ? REGISTERS * Math.log(REGISTERS / empty) : raw);
  }
}
