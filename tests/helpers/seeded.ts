/** Numbers in [0, 1) that are the same in each run (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** `length` bytes that do not compress. */
export function randomBytes(random: () => number, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
}

/** Text-like bytes that compress about as well as JSON. */
export function compressibleBytes(random: () => number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length;) {
    if (at > 16 && random() < 0.6) {
      const distance = 1 + Math.floor(random() * Math.min(at, random() < 0.8 ? 200 : 60000));
      for (let n = 4 + Math.floor(random() * random() * 80); n > 0 && at < length; n--, at++) {
        bytes[at] = bytes[at - distance]!;
      }
    } else {
      for (let n = 1 + Math.floor(random() * 12); n > 0 && at < length; n--) {
        bytes[at++] = 32 + Math.floor(random() * 90);
      }
    }
  }
  return bytes;
}
