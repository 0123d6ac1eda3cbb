// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * What codecs do: MB/s of uncompressed bytes, and the ratio, on JSON lines of 1 KB, 16 KB and 1 MB; the best of several rounds.
 *
 * Run: `node tools/bench/codecs.ts` (or `deno run -A`, `bun`).
 */

import { implementations } from "../../tests/compression/implementations.ts";

const ROUNDS = 9;
const MS_PER_ROUND = 60;

function jsonLines(size: number): Uint8Array {
  let text = "";
  for (let i = 0, x = 1; text.length < size; i++) {
    x = (x * 48271) % 2147483647;
    text += JSON.stringify({
      id: i,
      user: `user-${x % 5000}`,
      event: ["view", "click", "order", "return"][x % 4],
      amount: (x % 100000) / 100,
      at: new Date(1.7e12 + i * 137).toISOString(),
    }) + "\n";
  }
  return new TextEncoder().encode(text).subarray(0, size);
}

function speed(size: number, run: () => unknown): number {
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    let count = 0;
    let elapsed = 0;
    for (; elapsed < MS_PER_ROUND; elapsed = performance.now() - start, count++) run();
    best = Math.max(best, count * size / elapsed / 1000);
  }
  return best;
}

for (const { codec, kind, name } of await implementations()) {
  for (const size of [1024, 16 * 1024, 1024 * 1024]) {
    const content = jsonLines(size);
    const packed = codec.compress(content);
    const write = speed(size, () => codec.compress(content));
    const read = speed(size, () => codec.decompress(packed, size));
    console.log(
      `${name.padEnd(6)} ${kind.padEnd(6)} ${String(size / 1024).padStart(4)} KB: compress ${write.toFixed(0)} MB/s, ` +
        `inflate ${read.toFixed(0)} MB/s, ratio ${(size / packed.length).toFixed(2)}`,
    );
  }
}
