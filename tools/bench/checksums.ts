// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * GB/s of CRC-32C by tables, by hash-wasm and by our kernel, and of CRC-32 and xxHash32; the best of several rounds. Also what
 * a call costs at the sizes around which we choose, and how long the first one takes.
 *
 * Run: `node tools/bench/checksums.ts` (or `deno run -A`, `bun`).
 */

import { createCRC32 } from "hash-wasm";
import { crc32 } from "../../src/hash/crc32.ts";
import { crc32c, loadCrc32c } from "../../src/hash/crc32c.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";

const ROUNDS = 9;
const BYTES_PER_ROUND = 16e6;

const started = performance.now();
const loaded = await loadCrc32c();
loaded(new Uint8Array(1024));
const ready = performance.now() - started;
const hasher = await createCRC32(0x82f63b78);

const sums: readonly [name: string, sum: (bytes: Uint8Array) => unknown][] = [
  ["crc32c, tables", crc32c],
  ["crc32c, hash-wasm", (bytes) => hasher.init().update(bytes).digest("binary")],
  ["crc32c, loaded", loaded],
  ["crc32", (bytes) => crc32(bytes)],
  ["xxhash32", (bytes) => xxhash32(bytes)],
];

console.log(`loadCrc32c and its first call: ${ready.toFixed(1)} ms`);
for (const size of [64, 256, 1024, 16 * 1024, 1024 * 1024]) {
  const bytes = Uint8Array.from({ length: size }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 24);
  const best = sums.map(() => 0);
  for (let round = 0; round < ROUNDS; round++) {
    // In turn, so that a neighbour's load meets all of them.
    sums.forEach(([, sum], i) => {
      const count = Math.ceil(BYTES_PER_ROUND / Math.max(size, 512));
      const start = performance.now();
      for (let n = 0; n < count; n++) sum(bytes);
      best[i] = Math.max(best[i]!, count * size / (performance.now() - start) / 1e6);
    });
  }
  console.log(
    `${String(size).padStart(8)} B  ${sums.map(([name], i) => `${name} ${best[i]!.toFixed(2)}`).join("   ")}`,
  );
}
