/**
 * Chance as a seam, so that tests can replay it.
 *
 * @module
 */

/** Answers a number in [0, 1), like `Math.random`. */
export type Random = () => number;

/** A whole number in [0, `limit`). */
export function randomInt(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

/** A repeatable {@linkcode Random} from a 32-bit `seed`: the same seed gives the same numbers in every runtime. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    // A Weyl step and two multiply-xorshift rounds: every bit of the seed reaches every bit of the answer.
    state = (state + 0x9e3779b9) | 0;
    let x = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 4294967296;
  };
}
