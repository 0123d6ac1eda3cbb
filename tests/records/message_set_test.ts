import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import type { Codec } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError, CorruptRecordError } from "../../src/core/kafka_error.ts";
import { crc32 } from "../../src/hash/crc32.ts";
import { MessageSet } from "../../src/records/message_set.ts";
import { concatenated, rawMessage } from "../helpers/raw_batch.ts";
import { seeded } from "../helpers/seeded.ts";

const ascii = (text: string) => new TextEncoder().encode(text);
const text = (bytes: Uint8Array | null) => bytes === null ? null : new TextDecoder().decode(bytes);
const codecs = { ...plainCodecs, ...nativeCodecs() };
const NUMBERS = { gzip: 1, snappy: 2, lz4: 3 } as const;

function isCorrupt(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof CorruptRecordError, String(error));
    assert.match(error.message, pattern);
    return true;
  };
}

/** A compressed message that wraps `inner`. */
function wrapped(
  { type = "gzip", ...fields }: {
    type?: keyof typeof NUMBERS;
    magic?: number;
    offset?: bigint;
    attributes?: number;
    timestamp?: bigint;
  },
  ...inner: Uint8Array[]
): Uint8Array {
  const value = codecs[type]!.compress(concatenated(...inner));
  return rawMessage({ ...fields, attributes: NUMBERS[type] | (fields.attributes ?? 0), value });
}

const rows = (bytes: Uint8Array) =>
  new MessageSet(bytes).records({ codecs }).map(({ offset, timestamp, timestampType, key, value }) => [
    offset,
    timestamp,
    timestampType,
    text(key),
    text(value),
  ]);

describe("MessageSet", () => {
  test("a message of format 1 alone", () => {
    const bytes = rawMessage({ offset: 2n ** 40n, timestamp: 1500000000007n, key: ascii("k"), value: ascii("v") });
    const batch = new MessageSet(concatenated([9], bytes, [9]), { topic: "t", partition: 2, position: 100 }, 1);
    assert.deepEqual([batch.magic, batch.size, batch.position], [1, bytes.length, 101]);
    assert.deepEqual([batch.baseOffset, batch.lastOffset, batch.recordCount], [2 ** 40, 2 ** 40, 1]);
    assert.deepEqual([batch.compression, batch.timestampType, batch.maxTimestamp], [
      "none",
      "CreateTime",
      1500000000007,
    ]);
    assert.deepEqual([batch.producerId, batch.baseSequence, batch.partitionLeaderEpoch], [-1, -1, -1]);
    batch.verifyCrc();
    const [record, ...rest] = batch.records();
    assert.equal(rest.length, 0);
    assert.deepEqual([record!.topic, record!.partition, record!.offset, record!.timestamp], [
      "t",
      2,
      2 ** 40,
      1500000000007,
    ]);
    assert.deepEqual([text(record!.key), text(record!.value), record!.headers, record!.sequence], ["k", "v", [], -1]);
  });

  test("a message of format 0 has no timestamp; null and empty differ", () => {
    assert.deepEqual(rows(rawMessage({ magic: 0, offset: 7n })), [[7, -1, "NoTimestampType", null, null]]);
    assert.deepEqual(rows(rawMessage({ magic: 0, offset: 7n, key: ascii(""), value: ascii("") })), [
      [7, -1, "NoTimestampType", "", ""],
    ]);
  });

  test("a value that looks like a header count is no header", () => {
    // Behind the value of such a message stands the next one.
    const bytes = concatenated(rawMessage({ magic: 0, value: ascii("v") }), [2, 2, 97, 2, 98]);
    assert.deepEqual(new MessageSet(bytes).records()[0]!.headers, []);
  });

  for (const type of ["gzip", "snappy", "lz4"] as const) {
    test(`format 1 in ${type} counts the inner offsets back from the last one, over gaps`, () => {
      const inner = [0n, 1n, 5n].map((offset) =>
        rawMessage({ offset, timestamp: 1500000000000n + offset, value: ascii(`v${offset}`) })
      );
      const bytes = wrapped({ type, offset: 105n, timestamp: 1500000000005n }, ...inner);
      const batch = new MessageSet(bytes);
      assert.equal(batch.lastOffset, 105);
      // Not told without decoding: a lower bound.
      assert.equal(batch.baseOffset, 0);
      assert.equal(batch.recordCount, null);
      assert.deepEqual(rows(bytes), [
        [100, 1500000000000, "CreateTime", null, "v0"],
        [101, 1500000000001, "CreateTime", null, "v1"],
        [105, 1500000000005, "CreateTime", null, "v5"],
      ]);
    });

    test(`format 0 in ${type} has absolute inner offsets`, () => {
      const inner = [100n, 103n].map((offset) => rawMessage({ magic: 0, offset, key: ascii("k"), value: ascii("v") }));
      assert.deepEqual(rows(wrapped({ type, magic: 0, offset: 103n }, ...inner)), [
        [100, -1, "NoTimestampType", "k", "v"],
        [103, -1, "NoTimestampType", "k", "v"],
      ]);
    });
  }

  test("with LogAppendTime all have the wrapper's timestamp", () => {
    const inner = [0n, 1n].map((offset) => rawMessage({ offset, timestamp: 3n }));
    const bytes = wrapped({ offset: 11n, attributes: 8, timestamp: 1600000000000n }, ...inner);
    assert.deepEqual(rows(bytes), [
      [10, 1600000000000, "LogAppendTime", null, null],
      [11, 1600000000000, "LogAppendTime", null, null],
    ]);
  });

  test("a wrapper at offset 0 has its records at their relative offsets, as some librdkafka wrote them", () => {
    const inner = [0n, 1n, 2n].map((offset) => rawMessage({ offset }));
    assert.deepEqual(rows(wrapped({ offset: 0n }, ...inner)).map(([offset]) => offset), [0, 1, 2]);
  });

  test("format 0 within format 1, left by an old cleaner, has relative offsets and no timestamp (KAFKA-4298)", () => {
    const inner = [0n, 1n].map((offset) => rawMessage({ magic: 0, offset, value: ascii("v") }));
    assert.deepEqual(rows(wrapped({ offset: 21n, timestamp: 9n }, ...inner)), [
      [20, -1, "NoTimestampType", null, "v"],
      [21, -1, "NoTimestampType", null, "v"],
    ]);
  });

  test("damaged wrappers are errors that say where", () => {
    const inner = rawMessage({ offset: 0n, value: ascii("v") });
    const decode = (bytes: Uint8Array) => () =>
      new MessageSet(bytes, { topic: "orders", partition: 3, file: "0.log" }).records({ codecs });
    const nested = rawMessage({ attributes: 1, value: codecs.gzip!.compress(inner) });
    const wrongCrc = inner.slice();
    wrongCrc[wrongCrc.length - 1]! ^= 1;
    assert.throws(decode(wrapped({ offset: 9n })), isCorrupt(/^orders-3, offset 9, 0\.log at byte 0: .*wraps none/));
    assert.throws(decode(rawMessage({ offset: 9n, attributes: 1 })), isCorrupt(/without a value/));
    assert.throws(decode(wrapped({ offset: 9n }, nested)), isCorrupt(/message 0 at byte 0 of what it wraps/));
    assert.throws(decode(wrapped({ offset: 9n }, inner, wrongCrc)), isCorrupt(/message 1 at byte 35 .*CRC-32/));
    assert.throws(decode(wrapped({ offset: 9n }, inner, inner.subarray(0, 34))), isCorrupt(/message 1 at byte 35/));
    assert.throws(decode(wrapped({ offset: 9n }, inner, Uint8Array.of(0))), isCorrupt(/message 1 at byte 35/));
    assert.throws(decode(wrapped({ offset: 4n }, rawMessage({ offset: 5n }))), isCorrupt(/less than 5/));
    assert.throws(decode(rawMessage({ attributes: 4, value: inner })), isCorrupt(/no zstd/));
    assert.throws(decode(rawMessage({ attributes: 1, value: inner })), CompressionError);
    assert.throws(decode(rawMessage({ attributes: 7, value: inner })), CompressionError);
  });

  test("a codec that is missing or fails, and the limit, are told as of v2 batches", () => {
    const bytes = wrapped({ type: "lz4", offset: 9n }, rawMessage({ value: new Uint8Array(1000) }));
    const code = (options: Parameters<MessageSet["records"]>[0]) => {
      try {
        new MessageSet(bytes).records(options);
      } catch (error) {
        assert.ok(error instanceof CompressionError);
        assert.equal(error.offset, 9);
        return error.code;
      }
      return "none";
    };
    const failing: Codec = {
      compress: (bytes) => bytes,
      decompress() {
        throw new Error("no");
      },
    };
    assert.equal(code({ codecs }), "none");
    assert.equal(code({}), "UNSUPPORTED_CODEC");
    assert.equal(code({ codecs: { lz4: failing } }), "CORRUPT_COMPRESSION");
    assert.equal(code({ codecs, limit: 1000 }), "DECOMPRESSION_LIMIT");
  });

  test("lengths that cannot be are refused", () => {
    const message = rawMessage({ key: ascii("key"), value: ascii("value") });
    const with32 = (at: number, value: number) => {
      const bytes = message.slice();
      new DataView(bytes.buffer).setInt32(at, value);
      return bytes;
    };
    for (const length of [-1, 0, 21, message.length - 11, 2147483647]) {
      assert.throws(() => new MessageSet(with32(8, length)), CorruptRecordError, `length ${length}`);
    }
    for (const length of [-2, 4, 100, 2147483647]) {
      assert.throws(() => new MessageSet(with32(26, length)).records(), CorruptRecordError, `key length ${length}`);
    }
    for (const length of [-2, -1, 4, 6, 2147483647]) {
      assert.throws(() => new MessageSet(with32(33, length)).records(), CorruptRecordError, `value length ${length}`);
    }
  });

  test("numbers beyond 2^53 are errors", () => {
    const beyond = (error: unknown) => error instanceof CorruptRecordError && error.code === "UNSAFE_INTEGER";
    assert.throws(() => new MessageSet(rawMessage({ offset: 2n ** 53n })).lastOffset, beyond);
    assert.throws(() => new MessageSet(rawMessage({ offset: 2n ** 53n })).records(), beyond);
    const late = new MessageSet(rawMessage({ timestamp: 2n ** 60n, value: ascii("v") }));
    assert.throws(() => late.maxTimestamp, beyond);
    const [record] = late.records();
    assert.equal(text(record!.value), "v");
    assert.throws(() => record!.timestamp, beyond);
  });

  test("a flipped bit is found by the checksum", () => {
    const message = rawMessage({ key: ascii("key"), value: ascii("value") });
    for (let bit = 12 * 8; bit < message.length * 8; bit++) {
      const bytes = message.slice();
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      try {
        assert.throws(() => new MessageSet(bytes).verifyCrc(), CorruptRecordError, `bit ${bit}`);
        assert.equal(new MessageSet(bytes).hasValidCrc(), false);
      } catch (error) {
        // A flip in the magic may have made it another format.
        if (!(error instanceof CorruptRecordError)) throw error;
      }
    }
  });

  test("20,000 wrappers with several bytes changed within are our error or readable", { timeout: 60_000 }, () => {
    const random = seeded(41);
    const inner = Array.from(
      { length: 8 },
      (_, i) => rawMessage({ offset: BigInt(i), key: ascii(`k${i}`), value: ascii("value") }),
    );
    const plain = concatenated(...inner);
    // A codec that leaves the bytes as they are brings the damage to the messages.
    const identity: Codec = { compress: (bytes) => bytes, decompress: (bytes) => bytes };
    let readable = 0;
    for (let i = 0; i < 20_000; i++) {
      const value = plain.slice();
      for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
        value[Math.floor(random() * value.length)] = Math.floor(random() * 256);
      }
      // Else most damage would end at a checksum.
      const view = new DataView(value.buffer);
      for (let at = 0; at < value.length; at += inner[0]!.length) {
        view.setUint32(at + 12, crc32(value.subarray(at + 16, at + inner[0]!.length)));
      }
      try {
        for (
          const record of new MessageSet(rawMessage({ offset: 7n, attributes: 1, value })).records({
            codecs: { gzip: identity },
          })
        ) {
          assert.ok(Number.isSafeInteger(record.offset));
          readable += (record.key?.length ?? 0) + (record.value?.length ?? 0);
        }
      } catch (error) {
        if (!(error instanceof CorruptRecordError)) throw error;
      }
    }
    assert.ok(readable > 0);
  });
});
