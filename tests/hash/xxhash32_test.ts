import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createXXHash32 } from "hash-wasm";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { randomBytes, seeded } from "../helpers/seeded.ts";

describe("xxHash32", () => {
  test("of nothing, and of the bytes that Kafka's LZ4 frames begin with", () => {
    assert.equal(xxhash32(new Uint8Array(0)), 0x02cc5d05);
    assert.equal((xxhash32(Uint8Array.of(0x60, 0x40)) >>> 8) & 0xff, 0x82);
  });

  test("of any length, range and seed is that of hash-wasm", async () => {
    const random = seeded(1);
    for (const seed of [0, 1, 0x9e3779b1]) {
      const other = await createXXHash32(seed);
      for (let i = 0; i < 100; i++) {
        const bytes = randomBytes(random, Math.floor(random() * 200));
        const start = Math.floor(random() * bytes.length);
        const end = start + Math.floor(random() * (bytes.length - start));
        const expected = parseInt(other.init().update(bytes.subarray(start, end)).digest("hex"), 16);
        assert.equal(xxhash32(bytes, start, end, seed), expected, `${end - start} bytes, seed ${seed}`);
      }
    }
  });
});
