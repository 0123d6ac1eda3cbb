import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32c, loadCrc32c } from "../../src/hash/crc32c.ts";
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

describe("CRC-32C", () => {
  for (const [name, bytes, crc] of VECTORS) {
    test(`of ${name}`, async () => {
      assert.equal(crc32c(bytes), crc);
      assert.equal((await loadCrc32c())(bytes), crc);
    });
  }

  test("of any length and alignment is that of the definition, by tables and by WebAssembly", async () => {
    const loaded = await loadCrc32c();
    const random = seeded(1);
    for (let i = 0; i < 300; i++) {
      const bytes = randomBytes(random, Math.floor(random() ** 2 * 5000)).subarray(Math.floor(random() * 9));
      const expected = slow(bytes);
      assert.equal(crc32c(bytes), expected, `${bytes.length} bytes`);
      assert.equal(loaded(bytes), expected, `${bytes.length} bytes`);
    }
  });

  test("of more than one chunk of hash-wasm", async () => {
    const bytes = randomBytes(seeded(2), 200_000);
    assert.equal((await loadCrc32c())(bytes), crc32c(bytes));
  });
});
