/**
 * Checksums by hash-wasm. A file of its own, so that it is loaded on demand and a bundler keeps of the package only this.
 *
 * @module
 */

import { createCRC32 } from "hash-wasm";

/** Resolves to the 32-bit CRC with `polynomial`, given in reflected form. */
export async function loadHashWasm(polynomial: number): Promise<(bytes: Uint8Array) => number> {
  const hasher = await createCRC32(polynomial);
  return (bytes) => {
    const digest = hasher.init().update(bytes).digest("binary");
    return ((digest[0]! << 24) | (digest[1]! << 16) | (digest[2]! << 8) | digest[3]!) >>> 0;
  };
}
