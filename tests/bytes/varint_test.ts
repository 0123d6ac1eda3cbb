import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  unsignedVarintLength,
  varintLength,
  varlongLength,
  writeUnsignedVarint,
  writeVarint,
  writeVarlong,
} from "../../src/bytes/varint.ts";

function written(write: (into: Uint8Array, position: number) => number): string {
  const bytes = new Uint8Array(20).fill(0xee);
  const end = write(bytes, 3);
  assert.ok(bytes.subarray(end).every((byte) => byte === 0xee), "wrote past its end");
  return [...bytes.subarray(3, end)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The unsigned form by BigInt, for any size. */
function reference(value: bigint): string {
  let text = "";
  for (; value > 127n; value >>= 7n) text += ((value & 127n) | 128n).toString(16);
  return text + value.toString(16).padStart(2, "0");
}

/** Zigzag by arithmetic. */
const zigzag = (value: bigint) => value < 0n ? -value * 2n - 1n : value * 2n;

// The values of Kafka's ByteUtilsTest and of the format's description.
const VECTORS: readonly [value: number, hex: string][] = [
  [0, "00"],
  [-1, "01"],
  [1, "02"],
  [63, "7e"],
  [-64, "7f"],
  [64, "8001"],
  [-65, "8101"],
  [8191, "fe7f"],
  [-8192, "ff7f"],
  [8192, "808001"],
  [2147483647, "feffffff0f"],
  [-2147483648, "ffffffff0f"],
];

describe("varints", () => {
  test("signed ones of 32 bits", () => {
    for (const [value, hex] of VECTORS) {
      assert.equal(written((into, at) => writeVarint(into, at, value)), hex, String(value));
      assert.equal(varintLength(value), hex.length / 2, String(value));
      assert.equal(written((into, at) => writeVarlong(into, at, value)), hex, String(value));
      assert.equal(varlongLength(value), hex.length / 2, String(value));
    }
  });

  test("signed ones of 64 bits", () => {
    assert.equal(written((into, at) => writeVarlong(into, at, 1700000000000)), "80a0abfef962");
    for (let bits = 0; bits <= 53; bits++) {
      for (const near of [-1, 0, 1]) {
        for (const sign of [1, -1]) {
          const value = sign * (2 ** bits + near);
          if (!Number.isSafeInteger(value)) continue;
          const expected = reference(zigzag(BigInt(value)));
          assert.equal(written((into, at) => writeVarlong(into, at, value)), expected, String(value));
          assert.equal(varlongLength(value), expected.length / 2, String(value));
        }
      }
    }
    // The delta of timestamps −1 and 2^53−1.
    assert.equal(written((into, at) => writeVarlong(into, at, 2 ** 53)), reference(2n ** 54n));
    assert.equal(varlongLength(2 ** 53), 8);
  });

  test("unsigned ones", () => {
    for (let bits = 0; bits <= 32; bits++) {
      for (const near of [-1, 0, 1]) {
        const value = 2 ** bits + near;
        if (value > 2 ** 32 - 1) continue;
        const expected = reference(BigInt(value));
        assert.equal(written((into, at) => writeUnsignedVarint(into, at, value)), expected, String(value));
        assert.equal(unsignedVarintLength(value), expected.length / 2, String(value));
      }
    }
  });
});
