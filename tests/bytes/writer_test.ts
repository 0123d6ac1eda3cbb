import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { Writer } from "../../src/bytes/writer.ts";

function written(write: (w: Writer) => void): string {
  const writer = new Writer();
  write(writer);
  const { size } = writer;
  const bytes = writer.toBytes();
  assert.equal(size, bytes.length);
  return Buffer.from(bytes).toString("hex");
}

describe("Writer", () => {
  test("integers are big-endian", () => {
    assert.equal(written((w) => w.int8(-128)), "80");
    assert.equal(written((w) => w.int16(-2)), "fffe");
    assert.equal(written((w) => w.uint16(65534)), "fffe");
    assert.equal(written((w) => w.int32(-2147483648)), "80000000");
    assert.equal(written((w) => w.uint32(4294967295)), "ffffffff");
    assert.equal(written((w) => w.float64(Math.PI)), "400921fb54442d18");
    assert.equal(written((w) => w.boolean(true)) + written((w) => w.boolean(false)), "0100");
    assert.equal(written((w) => w.int64(Number.MAX_SAFE_INTEGER)), "001fffffffffffff");
    assert.equal(written((w) => w.int64(Number.MIN_SAFE_INTEGER)), "ffe0000000000001");
    assert.equal(written((w) => w.int64(-1)), "ffffffffffffffff");
    assert.equal(written((w) => w.int64(-4294967296)), "ffffffff00000000");
    assert.equal(written((w) => w.int64(1700000000000)), "0000018bcfe56800");
    assert.equal(written((w) => w.bigint64(-(2n ** 63n))), "8000000000000000");
  });

  test("a number that does not fit is refused, not cut to size", () => {
    const writer = new Writer();
    const calls: [() => void, string][] = [
      [() => writer.int8(128), "128 is not an 8-bit integer"],
      [() => writer.int16(-32769), "-32769 is not a 16-bit integer"],
      [() => writer.uint16(-1), "-1 is not an unsigned 16-bit integer"],
      [() => writer.int32(2147483648), "2147483648 is not a 32-bit integer"],
      [() => writer.int32(0.5), "0.5 is not a 32-bit integer"],
      [() => writer.int32(NaN), "NaN is not a 32-bit integer"],
      [() => writer.uint32(4294967296), "4294967296 is not an unsigned 32-bit integer"],
      [() => writer.int64(2 ** 53), "9007199254740992 is not a safe integer"],
      [() => writer.int64(Infinity), "Infinity is not a safe integer"],
    ];
    for (const [call, message] of calls) assert.throws(call, { name: "ConfigError", message });
    assert.equal(writer.size, 0);
  });

  test("signed varints are zigzag", () => {
    const values: [number, string][] = [
      [0, "00"],
      [-1, "01"],
      [1, "02"],
      [63, "7e"],
      [-64, "7f"],
      [64, "8001"],
      [8192, "808001"],
      [2147483647, "feffffff0f"],
      [-2147483648, "ffffffff0f"],
    ];
    for (const [value, hex] of values) {
      assert.equal(written((w) => w.varint(value)), hex);
      assert.equal(written((w) => w.varlong(value)), hex);
    }
    assert.equal(written((w) => w.varlong(1700000000000)), "80a0abfef962");
    assert.equal(written((w) => w.varlong(2147483648)), "8080808010");
    assert.equal(written((w) => w.varlong(-2147483649)), "8180808010");
    assert.equal(written((w) => w.varlong(Number.MAX_SAFE_INTEGER)), "feffffffffffff1f");
    assert.equal(written((w) => w.varlong(Number.MIN_SAFE_INTEGER)), "fdffffffffffff1f");
    assert.equal(written((w) => w.unsignedVarint(300)), "ac02");
    assert.equal(written((w) => w.unsignedVarint(4294967295)), "ffffffff0f");
  });

  test("a UUID is written from Kafka's text", () => {
    assert.equal(written((w) => w.uuid("ASNFZ4mrze8BI0VniavN7w")), "0123456789abcdef0123456789abcdef");
    assert.equal(written((w) => w.uuid("_____________________w")), "f".repeat(32));
    for (const text of ["", "ASNFZ4mrze8BI0VniavN7", "ASNFZ4mrze8BI0Vni+vN7w"]) {
      assert.throws(() => new Writer().uuid(text), { name: "ConfigError", message: /is not a UUID/ });
    }
  });

  test("strings and bytes have a fixed or a compact length, and null", () => {
    assert.equal(written((w) => w.text("日本", false)), "0006e697a5e69cac");
    assert.equal(written((w) => w.text("😀", true)), "05f09f9880");
    assert.equal(written((w) => w.text("", false)) + written((w) => w.text("", true)), "000001");
    assert.equal(written((w) => w.text(null, false)) + written((w) => w.text(null, true)), "ffff00");
    assert.equal(written((w) => w.blob(Uint8Array.of(1, 2), false)), "000000020102");
    assert.equal(written((w) => w.blob([Uint8Array.of(1), Uint8Array.of(2)], true)), "030102");
    assert.equal(written((w) => w.blob(null, false)) + written((w) => w.blob(null, true)), "ffffffff00");
    assert.equal(written((w) => w.count(-1, false)) + written((w) => w.count(-1, true)), "ffffffff00");
    assert.equal(written((w) => w.count(300, true)), "ad02");
  });

  test("a lone surrogate becomes the replacement character", () => {
    assert.equal(written((w) => w.text("a\ud800", false)), "000461efbfbd");
  });

  test("a string longer than its length can say is refused; a compact one is not", () => {
    const text = "é".repeat(16384);
    assert.throws(() => new Writer().text(text, false), {
      name: "ConfigError",
      message: "string of 32768 bytes; the protocol's limit is 32767",
    });
    assert.equal(written((w) => w.text(text, true)).slice(0, 10), "818002c3a9");
  });

  test("large bytes are passed on by reference, in their place", () => {
    const large = new Uint8Array(5000).fill(7);
    const writer = new Writer();
    writer.int32(0);
    writer.blob([large, Uint8Array.of(1), large], false);
    writer.int8(9);
    writer.setFirstInt32(writer.size - 4);
    const parts = writer.finish();
    assert.equal(parts.filter((part) => part === large).length, 2);
    const bytes = Buffer.concat(parts);
    assert.equal(bytes.length, 10010);
    assert.equal(bytes.subarray(0, 9).toString("hex"), "000027160000271107");
    assert.equal(bytes.subarray(5007, 5010).toString("hex"), "070107");
    assert.equal(bytes.at(-1), 9);
  });

  test("a message of many small fields grows past its first chunk without losing any", () => {
    const writer = new Writer(16);
    for (let i = 0; i < 20_000; i++) writer.int16(i);
    const bytes = Buffer.from(writer.toBytes());
    assert.equal(bytes.length, 40_000);
    for (let i = 0; i < 20_000; i++) assert.equal(bytes.readInt16BE(i * 2), i);
  });

  test("a tagged field is its number, its size and its content", () => {
    const content = new Writer(32);
    content.int64(1);
    assert.equal(written((w) => w.tag(200, content)), "c801080000000000000001");
  });
});
