import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Serializer } from "../../src/producer/serializer.ts";
import {
  bytesSerializer,
  doubleSerializer,
  floatSerializer,
  intSerializer,
  jsonSerializer,
  longSerializer,
  shortSerializer,
  stringSerializer,
} from "../../src/producer/serializers.ts";
import { DOUBLES, FLOATS, INTEGERS, LONGS, SHORTS, STRINGS } from "./java_vectors.ts";

function hexOf<T>(serializer: Serializer<T>, data: T): string {
  const bytes = serializer(data, { topic: "t", part: "value", headers: [] });
  assert.ok(bytes instanceof Uint8Array || typeof bytes === "string");
  const raw = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  return [...raw].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

describe("built-in serializers", () => {
  test("numbers are the bytes of Java's serializers", () => {
    for (const [value, hex] of SHORTS) assert.equal(hexOf(shortSerializer, Number(value)), hex, value);
    for (const [value, hex] of INTEGERS) assert.equal(hexOf(intSerializer, Number(value)), hex, value);
    for (const [value, hex] of LONGS) {
      assert.equal(hexOf(longSerializer, BigInt(value)), hex, value);
      if (Number.isSafeInteger(Number(value))) assert.equal(hexOf(longSerializer, Number(value)), hex, value);
    }
    for (const [value, hex] of FLOATS) assert.equal(hexOf(floatSerializer, Number(value)), hex, value);
    for (const [value, hex] of DOUBLES) assert.equal(hexOf(doubleSerializer, Number(value)), hex, value);
  });

  test("text is UTF-8, bytes are what they are, JSON is its text", () => {
    for (const [value, hex] of STRINGS) assert.equal(hexOf(stringSerializer, value), hex, value);
    assert.equal(hexOf(bytesSerializer, new Uint8Array([0, 255])), "00ff");
    assert.equal(hexOf(jsonSerializer(), { a: [1, null] }), "7b2261223a5b312c6e756c6c5d7d");
    assert.equal(hexOf(jsonSerializer((_, value) => typeof value === "bigint" ? `${value}` : value), 5n), "223522");
  });

  test("what does not fit is an error that says what would", () => {
    const wrong: [Serializer<never>, unknown, RegExp][] = [
      [shortSerializer, 32768, /within 16 bits, not 32768/],
      [intSerializer, 2 ** 31, /within 32 bits, not 2147483648/],
      [intSerializer, 1.5, /not 1.5/],
      [intSerializer, "1", /not a value of type string/],
      [longSerializer, 2 ** 53, /within 64 bits/],
      [longSerializer, 2n ** 63n, /within 64 bits, not 9223372036854775808/],
      [longSerializer, "1", /type string/],
      [doubleSerializer, "1", /a number/],
      [stringSerializer, 5, /a string, not 5/],
      [bytesSerializer, [1], /a Uint8Array/],
      [jsonSerializer(), undefined, /JSON can hold/],
      [jsonSerializer(), () => {}, /JSON can hold/],
    ];
    for (const [serializer, data, message] of wrong) {
      assert.throws(() => serializer(data as never, { topic: "t", part: "key", headers: [] }), {
        code: "SERIALIZATION_FAILED",
        message,
      });
    }
  });
});
