import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { utf8Encode, utf8Length, utf8Read, utf8Write } from "../../src/bytes/utf8.ts";

const PIECES = ["", "a", "é", "日", "😀", "\u0000", "\ufeff", "\ud800", "\udc00", "\udc00\ud800", "plain ascii"];

/** Texts around each border of the functions' short and long ways. */
function* texts(): Generator<string> {
  for (const piece of PIECES) {
    for (const count of [1, 2, 23, 24, 25, 47, 48, 49, 3000, 9000]) {
      yield piece.repeat(count);
      yield "x".repeat(count) + piece;
      yield piece + "x".repeat(count);
    }
  }
  // Two units of one character on both sides of the scratch buffer's end.
  for (let n = 8185; n < 8195; n++) yield "x".repeat(n) + "😀😀".repeat(3000);
}

describe("UTF-8", () => {
  test("is measured, written and read as TextEncoder and TextDecoder do", () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    for (const text of texts()) {
      const expected = new TextEncoder().encode(text);
      const what = `${text.length} units: ${JSON.stringify(text.slice(0, 20))}`;
      assert.equal(utf8Length(text), expected.length, what);
      assert.deepEqual(utf8Encode(text), expected, what);
      const buffer = new Uint8Array(expected.length + 20).fill(0xee);
      utf8Write(text, expected.length, buffer, 10);
      assert.deepEqual(buffer.subarray(10, 10 + expected.length), expected, what);
      assert.ok(buffer.subarray(10 + expected.length).every((byte) => byte === 0xee), what);
      assert.equal(utf8Read(buffer, 10, 10 + expected.length), decoder.decode(expected), what);
    }
  });

  test("malformed bytes are read as U+FFFD", () => {
    assert.equal(utf8Read(Uint8Array.of(97, 0xff, 98), 0, 3), "a\ufffdb");
    assert.equal(utf8Read(Uint8Array.of(0xe6, 0x97), 0, 2), "\ufffd");
  });
});
