import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { Reader } from "../../src/bytes/reader.ts";
import { ProtocolError } from "../../src/core/kafka_error.ts";

const read = (hex: string): Reader => new Reader(new Uint8Array(Buffer.from(hex, "hex")), "answer");

/** Values and their bytes from Protocol Buffers' description of varints, which Kafka follows, and from Kafka's records. */
const ZIGZAG: readonly [value: number, hex: string][] = [
  [0, "00"],
  [-1, "01"],
  [1, "02"],
  [63, "7e"],
  [-64, "7f"],
  [64, "8001"],
  [-65, "8101"],
  [8191, "fe7f"],
  [8192, "808001"],
  [2147483647, "feffffff0f"],
  [-2147483648, "ffffffff0f"],
];

describe("Reader", () => {
  test("integers are big-endian and keep their sign", () => {
    assert.equal(read("80").int8(), -128);
    assert.equal(read("fffe").int16(), -2);
    assert.equal(read("fffe").uint16(), 65534);
    assert.equal(read("80000000").int32(), -2147483648);
    assert.equal(read("80000000").uint32(), 2147483648);
    assert.equal(read("400921fb54442d18").float64(), Math.PI);
    assert.equal(read("00").boolean(), false);
    assert.equal(read("01").boolean(), true);
    assert.equal(read("ff").boolean(), true);
  });

  test("an int64 is exact up to 2^53−1 either way, and an error beyond, never a rounded value", () => {
    assert.equal(read("001fffffffffffff").int64(), Number.MAX_SAFE_INTEGER);
    assert.equal(read("ffe0000000000001").int64(), Number.MIN_SAFE_INTEGER);
    assert.equal(read("ffffffffffffffff").int64(), -1);
    assert.equal(read("ffffffff00000000").int64(), -4294967296);
    assert.equal(read("0000018bcfe56800").int64(), 1700000000000);
    for (
      const [hex, value] of [["0020000000000000", "9007199254740992"], ["7fffffffffffffff", "9223372036854775807"]]
    ) {
      assert.throws(() => read(hex!).int64(), {
        name: "ProtocolError",
        code: "MALFORMED_MESSAGE",
        message: `answer: int64 ${value} does not fit a JavaScript number at byte 0 of 8`,
      });
    }
    assert.equal(read("7fffffffffffffff").bigint64(), 9223372036854775807n);
    assert.equal(read("8000000000000000").bigint64(), -9223372036854775808n);
  });

  test("signed varints are zigzag", () => {
    for (const [value, hex] of ZIGZAG) {
      assert.equal(read(hex).varint(), value, hex);
      const reader = read(hex);
      assert.equal(reader.varlong(), value, hex);
      assert.equal(reader.remaining, 0);
    }
    assert.equal(read("80a0abfef962").varlong(), 1700000000000);
    // z = 2^54 − 2 and 2^54 − 3: seven times seven bits and five more.
    assert.equal(read("feffffffffffff1f").varlong(), Number.MAX_SAFE_INTEGER);
    assert.equal(read("fdffffffffffff1f").varlong(), Number.MIN_SAFE_INTEGER);
  });

  test("unsigned varints go up to 2^32−1", () => {
    assert.equal(read("7f").unsignedVarint(), 127);
    assert.equal(read("8001").unsignedVarint(), 128);
    assert.equal(read("ac02").unsignedVarint(), 300);
    assert.equal(read("ffffffff0f").unsignedVarint(), 4294967295);
  });

  test("a varint that is too long, too large or cut short is an error", () => {
    assert.throws(() => read("ffffffff1f").unsignedVarint(), /varint longer than 32 bits at byte 0 of 5/);
    assert.throws(() => read("808080808000").unsignedVarint(), /varint longer than 32 bits/);
    assert.throws(() => read("ffff").unsignedVarint(), /varint cut short at byte 0 of 2/);
    assert.throws(() => read("ffffffffffffffffff01").varlong(), /varlong does not fit/);
    assert.throws(() => read("80808080808080808080").varlong(), /varlong longer than 64 bits/);
    assert.throws(() => read("80").varlong(), /varlong cut short/);
  });

  test("a UUID reads as Kafka prints it", () => {
    assert.equal(read("00000000000000000000000000000000").uuid(), "AAAAAAAAAAAAAAAAAAAAAA");
    assert.equal(read("0123456789abcdef0123456789abcdef").uuid(), "ASNFZ4mrze8BI0VniavN7w");
    assert.equal(read("ffffffffffffffffffffffffffffffff").uuid(), "_____________________w");
  });

  test("strings and bytes have a fixed or a compact length, and null where the protocol has it", () => {
    assert.equal(read("0003616263").textOrNull(false), "abc");
    assert.equal(read("04616263").textOrNull(true), "abc");
    assert.equal(read("0000").textField(false), "");
    assert.equal(read("01").textField(true), "");
    assert.equal(read("ffff").textOrNull(false), null);
    assert.equal(read("00").textOrNull(true), null);
    assert.equal(read("0006e697a5e69cac").textField(false), "日本");
    assert.equal(read("05f09f9880").textField(true), "😀");
    assert.deepEqual(read("000000020102").blobOrNull(false), Uint8Array.of(1, 2));
    assert.deepEqual(read("030102").blob(true), Uint8Array.of(1, 2));
    assert.equal(read("ffffffff").blobOrNull(false), null);
    assert.equal(read("00").blobOrNull(true), null);
    for (
      const call of [() => read("ffff").textField(false), () => read("00").textField(true), () => read("00").blob(true)]
    ) {
      assert.throws(call, /answer: null where the protocol has none/);
    }
  });

  test("long text and text with a byte order mark keep every character", () => {
    const text = `\ufeff${"é".repeat(100)}`;
    const bytes = new TextEncoder().encode(text);
    assert.equal(new Reader(Uint8Array.of(0, bytes.length, ...bytes)).textField(false), text);
  });

  test("bytes are a view, not a copy", () => {
    const bytes = Uint8Array.of(3, 7, 8);
    const view = new Reader(bytes).blob(true);
    bytes[1] = 9;
    assert.deepEqual(view, Uint8Array.of(9, 8));
  });

  test("a count is checked against what is left before anything is allocated", () => {
    assert.equal(read("00000002ffff").count(false), 2);
    assert.equal(read("03ffff").count(true), 2);
    assert.equal(read("ffffffff").count(false), -1);
    assert.equal(read("00").count(true), -1);
    assert.throws(() => read("7fffffff0102").count(false), {
      message: "answer: list of 2147483647 elements in 2 bytes at byte 4 of 6",
    });
    assert.throws(() => read("ffffffff0f00").count(true), /list of 4294967294 elements in 1 bytes/);
  });

  test("a length beyond the end is an error, also where the buffer goes on", () => {
    assert.throws(() => read("7fff61").textField(false), /answer: 32767 bytes wanted, 1 left at byte 2 of 3/);
    assert.throws(() => read("ffffffff0f61").blob(true), /4294967294 bytes wanted, 1 left/);
    assert.throws(() => read("000000").int32(), /4 bytes wanted, 3 left at byte 0 of 3/);
    const buffer = new Uint8Array(100);
    const reader = new Reader(buffer, "record", 10, 12);
    assert.equal(reader.int16(), 0);
    for (
      const call of [() => reader.int8(), () => reader.int64(), () => reader.uuid(), () => reader.unsignedVarint()]
    ) {
      assert.throws(call, ProtocolError);
    }
    assert.equal(reader.position, 12);
  });

  test("tagged fields are passed over, and one that is longer than the message is an error", () => {
    const reader = read("02000105c8010361626399");
    reader.skipTags();
    assert.equal(reader.int8(), 0x99 - 256);
    assert.throws(() => read("010005").skipTags(), /5 bytes wanted, 0 left/);
    assert.throws(() => read("ffffffff0f").skipTags(), /varint cut short/);
    assert.throws(() => read("0500").startTag(), /5 bytes wanted, 1 left/);
    const inner = read("020005");
    const end = inner.startTag();
    inner.int8();
    assert.throws(() => inner.endTag(end), /tagged field ends at byte 3 at byte 2 of 3/);
  });
});
