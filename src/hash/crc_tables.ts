/**
 * Look-up tables for reflected 32-bit CRCs, eight bytes a step (slicing-by-8).
 *
 * @module
 */

/** Eight tables of 256 entries; table k answers the effect of a byte that k more bytes follow. */
export type CrcTables = readonly [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

/** Makes the tables for `polynomial`, given in reflected form. */
export function crcTables(polynomial: number): CrcTables {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256));
  for (let i = 0; i < 256; i++) {
    let c = i;
    for (let bit = 0; bit < 8; bit++) c = (c >>> 1) ^ ((c & 1) * polynomial);
    tables[0]![i] = c;
  }
  for (let k = 1; k < 8; k++) {
    for (let i = 0; i < 256; i++) {
      const c = tables[k - 1]![i]!;
      tables[k]![i] = tables[0]![c & 255]! ^ (c >>> 8);
    }
  }
  return tables as unknown as CrcTables;
}
