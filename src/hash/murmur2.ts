/**
 * The 32-bit murmur2 hash as Kafka's Java client computes it (seed 0x9747b28c); it decides the partition of a keyed record.
 *
 * @module
 */

const M = 0x5bd1e995;

/** Hash of the first `length` bytes of `key` as a signed 32-bit integer, equal to Java's `Utils.murmur2`. */
export function murmur2(key: Uint8Array, length: number = key.length): number {
  const whole = length & ~3;
  let h = 0x9747b28c ^ length;
  for (let i = 0; i < whole; i += 4) {
    let k = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24);
    k = Math.imul(k, M);
    k ^= k >>> 24;
    h = Math.imul(h, M) ^ Math.imul(k, M);
  }
  const rest = length - whole;
  if (rest > 0) {
    if (rest > 2) h ^= key[whole + 2]! << 16;
    if (rest > 1) h ^= key[whole + 1]! << 8;
    h = Math.imul(h ^ key[whole]!, M);
  }
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}
