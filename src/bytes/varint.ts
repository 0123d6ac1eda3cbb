/**
 * Variable-length integers: 7 bits a byte, least significant first, the top bit saying that more follow. Records use the
 * zigzag form (sign in the lowest bit); the flexible protocol uses the plain one for lengths and tags.
 *
 * 64-bit values are checked numbers: they are split at bit 28, since JavaScript's bit operators see 32 bits only.
 *
 * @module
 */

/** Bytes the unsigned `value` (0 … 2^32−1) takes. */
export function unsignedVarintLength(value: number): number {
  // ⌈bits / 7⌉ without a branch, and small enough to be inlined wherever records are measured.
  return (352 - Math.clz32(value | 1) * 9) >> 6;
}

/** Bytes the signed 32-bit `value` takes in zigzag form. */
export function varintLength(value: number): number {
  return unsignedVarintLength((value << 1) ^ (value >> 31));
}

/** Bytes the safe integer `value` takes in zigzag form. */
export function varlongLength(value: number): number {
  if (value >= -0x40000000 && value < 0x40000000) return varintLength(value);
  let rest = Math.floor(zigzagHigh(value));
  let length = 4;
  for (; rest >= 1; rest = Math.floor(rest / 128)) length++;
  return length;
}

// A zigzagged safe integer has up to 54 bits, one too many for a double; so it is handled as
// (z mod 2^28, z div 2^28), both exact: z = 2v for v ≥ 0 and −2v − 1 = 2(−v − 1) + 1 for v < 0.
function zigzagHigh(value: number): number {
  const magnitude = value < 0 ? -value - 1 : value;
  return Math.floor(magnitude / 0x8000000);
}
function zigzagLow(value: number): number {
  const negative = value < 0;
  const magnitude = negative ? -value - 1 : value;
  return (magnitude % 0x8000000) * 2 + (negative ? 1 : 0);
}

/** Writes the unsigned `value` (0 … 2^32−1) at `position`; answers the position behind it. */
export function writeUnsignedVarint(into: Uint8Array, position: number, value: number): number {
  let v = value;
  while ((v & ~0x7f) !== 0) {
    into[position++] = (v & 0x7f) | 0x80;
    v >>>= 7;
  }
  into[position++] = v;
  return position;
}

/** Writes the signed 32-bit `value` in zigzag form; answers the position behind it. */
export function writeVarint(into: Uint8Array, position: number, value: number): number {
  return writeUnsignedVarint(into, position, (value << 1) ^ (value >> 31));
}

/** Writes the safe integer `value` in zigzag form; answers the position behind it. */
export function writeVarlong(into: Uint8Array, position: number, value: number): number {
  if (value >= -0x40000000 && value < 0x40000000) return writeVarint(into, position, value);
  let low = zigzagLow(value);
  let high = zigzagHigh(value);
  for (let i = 0; i < 4; i++) {
    const last = i === 3 && high === 0;
    into[position++] = last ? low : (low & 0x7f) | 0x80;
    low >>>= 7;
  }
  while (high > 0) {
    const rest = Math.floor(high / 128);
    into[position++] = (high % 128) | (rest > 0 ? 0x80 : 0);
    high = rest;
  }
  return position;
}
