import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as zlib from "node:zlib";
import { crc32 } from "../../src/hash/crc32.ts";
import { randomBytes, seeded } from "../helpers/seeded.ts";

describe("CRC-32", () => {
  test("has the check value of the algorithm", () => {
    assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
    assert.equal(crc32(new Uint8Array(0)), 0);
  });

  test("is that of zlib, which writes it into each gzip member", () => {
    const random = seeded(1);
    for (let i = 0; i < 200; i++) {
      const bytes = randomBytes(random, Math.floor(random() * 300));
      const packed = zlib.gzipSync(bytes);
      assert.equal(crc32(bytes), packed.readUInt32LE(packed.length - 8));
    }
  });

  test("goes on from the checksum of what came before", () => {
    const bytes = randomBytes(seeded(2), 1000);
    for (const cut of [0, 1, 7, 8, 500, 1000]) {
      assert.equal(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut))), crc32(bytes));
    }
  });
});
