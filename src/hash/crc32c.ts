/**
 * CRC-32C (Castagnoli), the checksum of v2 record batches.
 *
 * {@linkcode crc32c} is plain TypeScript and always there; {@linkcode loadCrc32c} resolves to a faster one: our SIMD kernel, or
 * hash-wasm where WebAssembly has no SIMD. At 16 KiB they do 4.3 and 1.5 GB/s, the tables 0.8 to 1.3
 * (`node tools/bench/checksums.ts`).
 *
 * @module
 */

import { crc32cKernel, KERNEL_STEP } from "./crc32c_kernel.ts";
import { crcTables } from "./crc_tables.ts";

/** Checksum of `bytes` as an unsigned 32-bit integer. */
export type Crc32c = (bytes: Uint8Array) => number;

const POLYNOMIAL = 0x82f63b78;
/** Below, a call into WebAssembly costs more than it saves. */
const KERNEL_FROM = 256;
const HASH_WASM_FROM = 1024;

const [T0, T1, T2, T3, T4, T5, T6, T7] = /* @__PURE__ */ crcTables(POLYNOMIAL);

/** CRC-32C of `bytes`, in plain TypeScript. */
export function crc32c(bytes: Uint8Array): number {
  return ~advance(-1, bytes, 0, bytes.length) >>> 0;
}

/** Made once, since it takes 5 ms; it holds nothing between two calls. */
let loading: Promise<Crc32c> | undefined;

/** Resolves to the fastest CRC-32C here, {@linkcode crc32c} itself where WebAssembly is refused. */
export function loadCrc32c(): Promise<Crc32c> {
  return loading ??= chooseCrc32c();
}

/** Makes what {@linkcode loadCrc32c} answers, by what the engine has now. */
export async function chooseCrc32c(): Promise<Crc32c> {
  try {
    return withKernel();
  } catch {
    // No SIMD; or a content security policy forbids WebAssembly, and then hash-wasm fails, too.
  }
  try {
    return await withHashWasm();
  } catch {
    return crc32c;
  }
}

function withKernel(): Crc32c {
  const { memory, fold } = crc32cKernel(T0);
  return (bytes) => {
    const length = bytes.length;
    if (length < KERNEL_FROM) return crc32c(bytes);
    const whole = length - length % KERNEL_STEP;
    // The first step's bytes are the state, and those of later steps stand behind it.
    let at = Math.min(whole, memory.length);
    memory.set(bytes.subarray(0, at));
    for (let i = 0; i < 4; i++) memory[i]! ^= 0xff;
    fold(at);
    while (at < whole) {
      const end = Math.min(whole, at + memory.length - KERNEL_STEP);
      memory.set(bytes.subarray(at, end), KERNEL_STEP);
      fold(KERNEL_STEP + end - at);
      at = end;
    }
    return ~advance(advance(0, memory, 0, KERNEL_STEP), bytes, whole, length) >>> 0;
  };
}

async function withHashWasm(): Promise<Crc32c> {
  // On demand, since nearly every engine has SIMD.
  const { loadHashWasm } = await import("./hash_wasm.ts");
  const hashWasm = await loadHashWasm(POLYNOMIAL);
  return (bytes) => bytes.length < HASH_WASM_FROM ? crc32c(bytes) : hashWasm(bytes);
}

/** The register `crc` after `d[start, end)`. */
function advance(crc: number, d: Uint8Array, start: number, end: number): number {
  // Hot: 0.8–1.3 GB/s by eight table look-ups a step; the single-table loop does 0.36.
  const wide = end - 7;
  let c = crc;
  let i = start;
  for (; i < wide; i += 8) {
    c = T7[(c ^ d[i]!) & 255]! ^ T6[((c >>> 8) ^ d[i + 1]!) & 255]! ^ T5[((c >>> 16) ^ d[i + 2]!) & 255]! ^
      T4[((c >>> 24) ^ d[i + 3]!) & 255]! ^ T3[d[i + 4]!]! ^ T2[d[i + 5]!]! ^ T1[d[i + 6]!]! ^ T0[d[i + 7]!]!;
  }
  for (; i < end; i++) c = T0[(c ^ d[i]!) & 255]! ^ (c >>> 8);
  return c;
}
