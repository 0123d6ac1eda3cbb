import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseCrc32c, crc32c } from "../../src/hash/crc32c.ts";
import { randomBytes, seeded } from "../helpers/seeded.ts";

const ascii = (text: string) => new TextEncoder().encode(text);

// RFC 3720 B.4 and the check value of the algorithm.
const VECTORS: readonly [name: string, bytes: Uint8Array, crc: number][] = [
  ["nothing", new Uint8Array(0), 0],
  ["123456789", ascii("123456789"), 0xe3069283],
  ["32 zeros", new Uint8Array(32), 0x8a9136aa],
  ["32 ones", new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ["32 rising", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ["32 falling", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
];

/** Bit by bit, as the definition has it. */
function slow(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) {
    c ^= byte;
    for (let bit = 0; bit < 8; bit++) c = (c >>> 1) ^ ((c & 1) * 0x82f63b78);
  }
  return ~c >>> 0;
}

/** Runs `body` in a world where WebAssembly is as `change` leaves it. */
async function withWebAssembly(change: (own: typeof WebAssembly) => unknown, body: () => Promise<void>): Promise<void> {
  const own = globalThis.WebAssembly;
  const replace = (value: unknown) =>
    Object.defineProperty(globalThis, "WebAssembly", { value, configurable: true, writable: true, enumerable: false });
  replace(change(own));
  try {
    await body();
  } finally {
    replace(own);
  }
}

describe("CRC-32C", () => {
  for (const [name, bytes, crc] of VECTORS) {
    test(`of ${name}`, async () => {
      assert.equal(crc32c(bytes), crc);
      assert.equal((await chooseCrc32c())(bytes), crc);
    });
  }

  test("of any length and alignment is that of the definition, by tables and by the kernel", async () => {
    const loaded = await chooseCrc32c();
    assert.notEqual(loaded, crc32c);
    const random = seeded(1);
    for (let i = 0; i < 300; i++) {
      const bytes = randomBytes(random, Math.floor(random() ** 2 * 5000)).subarray(Math.floor(random() * 9));
      const expected = slow(bytes);
      assert.equal(crc32c(bytes), expected, `${bytes.length} bytes`);
      assert.equal(loaded(bytes), expected, `${bytes.length} bytes`);
    }
  });

  test("by the kernel, around its steps and the size of its memory", async () => {
    const loaded = await chooseCrc32c();
    const bytes = randomBytes(seeded(2), 200_000);
    for (const size of [255, 256, 257, 383, 384, 65_535, 65_536, 65_537, 65_664, 130_943, 130_944, 131_072, 200_000]) {
      const part = bytes.subarray(0, size);
      assert.equal(loaded(part), slow(part), `${size} bytes`);
    }
    // Every bit counts: folding must not lose one.
    const sums = new Set<number>();
    const step = bytes.slice(0, 300);
    for (let bit = 0; bit < step.length * 8; bit++) {
      step[bit >> 3]! ^= 1 << (bit & 7);
      sums.add(loaded(step));
      step[bit >> 3]! ^= 1 << (bit & 7);
    }
    assert.equal(sums.size, 300 * 8);
  });

  test("two that were loaded do not disturb each other", async () => {
    const [a, b] = [await chooseCrc32c(), await chooseCrc32c()];
    const bytes = randomBytes(seeded(3), 5000);
    const sum = slow(bytes);
    for (let i = 0; i < 3; i++) assert.deepEqual([a(bytes), b(bytes)], [sum, sum]);
  });

  test("without SIMD is that of hash-wasm", async () => {
    const bytes = randomBytes(seeded(4), 50_000);
    const refused: number[] = [];
    const noSimd = (own: typeof WebAssembly) => ({
      compile: own.compile,
      instantiate: own.instantiate,
      validate: own.validate,
      Memory: own.Memory,
      Instance: own.Instance,
      Module: function (source: Uint8Array) {
        refused.push(source.length);
        throw new own.CompileError("SIMD unsupported");
      },
    });
    await withWebAssembly(noSimd, async () => {
      const loaded = await chooseCrc32c();
      assert.equal(refused.length, 2); // relaxed SIMD, and SIMD
      assert.notEqual(loaded, crc32c);
      for (const size of [0, 9, 1023, 1024, 50_000]) {
        const part = bytes.subarray(0, size);
        assert.equal(loaded(part), slow(part), `${size} bytes`);
      }
    });
  });

  test("without relaxed SIMD is that of the kernel with strict SIMD", async () => {
    const bytes = randomBytes(seeded(5), 50_000);
    let first = true;
    const strict = (own: typeof WebAssembly) => ({
      Instance: own.Instance,
      Module: function (source: Uint8Array<ArrayBuffer>) {
        if (!first) return new own.Module(source);
        first = false;
        throw new own.CompileError("relaxed SIMD unsupported");
      },
    });
    await withWebAssembly(strict, async () => assert.equal((await chooseCrc32c())(bytes), slow(bytes)));
    assert.equal(first, false);
  });

  test("without WebAssembly is that of the tables", async () => {
    await withWebAssembly(() => undefined, async () => assert.equal(await chooseCrc32c(), crc32c));
  });
});
