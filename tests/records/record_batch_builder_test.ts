import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import type { Codec } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError, ConfigError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import {
  type BatchCompression,
  type HeaderInput,
  RecordBatchBuilder,
  recordSize,
  recordSizeUpperBound,
} from "../../src/records/record_batch_builder.ts";
import { randomBytes, seeded } from "../helpers/seeded.ts";

const ascii = (text: string) => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const gzip: BatchCompression = { type: "gzip", codec: plainCodecs.gzip! };

/** A codec that says how often it was used, and answers what it was told to. */
function countingCodec(packed?: Uint8Array): { codec: Codec; calls: (number | undefined)[] } {
  const calls: (number | undefined)[] = [];
  const codec: Codec = {
    compress: (bytes, level) => (calls.push(level), packed ?? bytes.slice()),
    decompress: (bytes) => bytes.slice(),
  };
  return { codec, calls };
}

// Two records, (k1, v1, header h1=x) and 5 ms later (null, empty, header h2=null). Their encoder was another one; the
// checksum was compared with java.util.zip.CRC32C and the framing with kafkajs.
const PLAIN =
  "00000000000000000000004cffffffff02e75c79f10000000000010000018bcfe568000000018bcfe56805ffffffffffffffffffff" +
  "ffffffff000000021e000000046b3104763102046831027814000a0201000204683201";
const TRANSACTIONAL =
  "00000000000000000000004cffffffff02a446a3150010000000010000018bcfe568000000018bcfe568050000000000001092" +
  "00077fffffff000000021e000000046b3104763102046831027814000a0201000204683201";

function twoRecords(buffer = new Uint8Array(16384)): RecordBatchBuilder {
  const builder = new RecordBatchBuilder(buffer);
  assert.ok(builder.append(1700000000000, ascii("k1"), "v1", [["h1", ascii("x")]]));
  assert.ok(builder.append(1700000000005, null, new Uint8Array(0), [["h2", null]]));
  return builder;
}

const transactional = { crc32c, producerId: 4242, producerEpoch: 7, baseSequence: 2147483647, isTransactional: true };

describe("RecordBatchBuilder", () => {
  test("writes the bytes of the golden batches", () => {
    assert.equal(hex(twoRecords().seal({ crc32c })), PLAIN);
    assert.equal(hex(twoRecords().seal(transactional)), TRANSACTIONAL);
  });

  test("writes them wherever the buffer lies, over what was in it before", () => {
    const memory = new Uint8Array(500).fill(0xee);
    const sealed = twoRecords(memory.subarray(100, 300)).seal({ crc32c });
    assert.equal(hex(sealed), PLAIN);
    assert.equal(sealed.buffer, memory.buffer);
    assert.ok(memory.subarray(0, 100).every((byte) => byte === 0xee));
    assert.ok(memory.subarray(300).every((byte) => byte === 0xee));
  });

  test("is sealed again in place with another identity", () => {
    const builder = twoRecords();
    const first = builder.seal({ crc32c });
    const second = builder.seal(transactional);
    assert.equal(hex(second), TRANSACTIONAL);
    assert.equal(second.buffer, first.buffer);
    assert.equal(hex(builder.seal({ crc32c })), PLAIN);
  });

  test("a key or value given as text is the same as its UTF-8 bytes, whatever its length", () => {
    for (
      const text of ["", "v", "ascii of more than twenty-four characters", "ä".repeat(40), "日本語😀\ud800x".repeat(30)]
    ) {
      const asText = new RecordBatchBuilder(new Uint8Array(4096));
      const asBytes = new RecordBatchBuilder(new Uint8Array(4096));
      asText.append(1, text, text, [[text, text]]);
      asBytes.append(1, ascii(text), ascii(text), [[text, ascii(text)]]);
      assert.deepEqual(asText.seal({ crc32c }), asBytes.seal({ crc32c }), text);
    }
  });

  test("copies what it is given before append returns", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(500));
    const [key, value, header] = [ascii("k1"), ascii("v1"), ascii("x")];
    builder.append(1700000000000, key, value, [["h1", header]]);
    for (const bytes of [key, value, header]) bytes.fill(0);
    builder.append(1700000000005, null, "", [["h2", null]]);
    assert.equal(hex(builder.seal({ crc32c })), PLAIN);
  });

  test("sets base offset and leader epoch, which a leader would, outside the checksum", () => {
    const sealed = twoRecords().seal({ crc32c, baseOffset: 2 ** 40 + 5, partitionLeaderEpoch: 9 });
    const batch = new RecordBatch(sealed);
    assert.equal(batch.baseOffset, 2 ** 40 + 5);
    assert.equal(batch.partitionLeaderEpoch, 9);
    assert.equal(hex(sealed.subarray(16)), PLAIN.slice(32));
  });

  test("keeps the greatest timestamp, and the first one as the base", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(500));
    assert.equal(builder.maxTimestamp, -1);
    for (const timestamp of [1700000009000, 1700000000000, 1700000010000, 3]) builder.append(timestamp, null, null);
    assert.equal(builder.baseTimestamp, 1700000009000);
    assert.equal(builder.maxTimestamp, 1700000010000);
    const batch = new RecordBatch(builder.seal({ crc32c }));
    assert.equal(batch.baseTimestamp, 1700000009000);
    assert.equal(batch.maxTimestamp, 1700000010000);
    assert.deepEqual(batch.records().map(({ timestamp }) => timestamp), [
      1700000009000,
      1700000000000,
      1700000010000,
      3,
    ]);
  });

  test("refuses a timestamp that is none", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(500));
    for (const timestamp of [-2, 1.5, NaN, Infinity, 2 ** 53]) {
      assert.throws(() => builder.append(timestamp, null, null), ConfigError, String(timestamp));
    }
    assert.equal(builder.recordCount, 0);
    assert.throws(() => builder.seal({ crc32c }), ConfigError);
  });

  test("has room for as many records as the limit holds, and for the first whatever its size", () => {
    const limit = 61 + 3 * 17;
    const builder = new RecordBatchBuilder(new Uint8Array(limit));
    // 10 bytes of value and 7 around them.
    for (let i = 0; i < 3; i++) assert.ok(builder.append(0, null, "0123456789"), `record ${i}`);
    assert.ok(builder.isFull);
    assert.equal(builder.size, limit);
    assert.equal(builder.append(0, null, null), false);
    assert.equal(builder.recordCount, 3);
    assert.equal(new RecordBatch(builder.seal({ crc32c })).records().length, 3);

    const large = new RecordBatchBuilder(new Uint8Array(100));
    assert.ok(large.append(0, null, new Uint8Array(5000).fill(7)));
    assert.ok(large.isFull);
    assert.equal(large.append(0, null, ""), false);
    const [record] = new RecordBatch(large.seal({ crc32c })).records();
    assert.deepEqual(record!.value, new Uint8Array(5000).fill(7));
  });

  test("a record that does not fit leaves the batch as it was", () => {
    const builder = twoRecords(new Uint8Array(100));
    assert.equal(builder.append(1700000000006, null, "x".repeat(30)), false);
    assert.equal(hex(builder.seal({ crc32c })), PLAIN);
  });

  test("takes no record once sealed", () => {
    const builder = twoRecords();
    assert.equal(builder.isFull, false);
    builder.seal({ crc32c });
    assert.ok(builder.isFull);
    assert.equal(builder.append(1700000000006, null, null), false);
    assert.equal(hex(builder.seal({ crc32c })), PLAIN);
  });

  test("holds more than its limit uncompressed when it expects to shrink, by Java's estimate", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(1000), { compressionRatio: 0.25 });
    let appended = 0;
    while (builder.append(0, null, new Uint8Array(100))) {
      appended++;
      assert.equal(builder.size, 61 + Math.floor((builder.uncompressedSize - 61) * 0.25 * 1.05));
    }
    // A record takes 109 bytes at most: Java's rule is estimate + uncompressed size ≤ limit.
    assert.ok(builder.size + 109 > 1000 && builder.size <= 1000, `${builder.size}`);
    assert.ok(appended > 25);
    const sealed = builder.seal({ crc32c, compression: gzip });
    assert.equal(new RecordBatch(sealed).records({ codecs: plainCodecs }).length, appended);
  });

  test("compresses once, however often it is sealed, and tells what it came to", () => {
    const { codec, calls } = countingCodec(Uint8Array.of(9, 8, 7, 6, 5));
    const builder = twoRecords();
    const compression: BatchCompression = { type: "lz4", codec, level: 4 };
    const first = builder.seal({ crc32c, compression });
    assert.equal(builder.size, 66);
    assert.equal(first.length, 66);
    assert.equal(builder.compressionRatio, 5 / 27);
    const second = builder.seal({ ...transactional, compression });
    assert.equal(second.buffer, first.buffer);
    assert.deepEqual(calls, [4]);
    const batch = new RecordBatch(second);
    assert.equal(batch.attributes, 0x13);
    assert.equal(batch.compression, "lz4");
    assert.equal(batch.producerId, 4242);
    batch.verifyCrc(crc32c);
    assert.deepEqual([...second.subarray(61)], [9, 8, 7, 6, 5]);
  });

  test("a codec's error comes through, and sealing may be tried again", () => {
    const builder = twoRecords();
    const failing: Codec = {
      compress() {
        throw new CompressionError("no memory");
      },
      decompress: (bytes) => bytes,
    };
    assert.throws(() => builder.seal({ crc32c, compression: { type: "zstd", codec: failing } }), CompressionError);
    assert.equal(hex(builder.seal({ crc32c })), PLAIN);
  });

  test("refuses a producer id that is no safe integer", () => {
    assert.throws(() => twoRecords().seal({ crc32c, producerId: 2 ** 53 }), ConfigError);
  });

  test("the record's size is told exactly, and its bound is never less", () => {
    const random = seeded(21);
    const builder = new RecordBatchBuilder(new Uint8Array(16 * 1024 * 1024));
    for (let i = 0; i < 9000; i++) {
      const timestamp = [1e12, 1e12 + i, 0, 2 ** 52][Math.floor(random() * 4)]!;
      const key = random() < 0.5 ? null : randomBytes(random, Math.floor(random() * 70));
      const value = random() < 0.3
        ? null
        : random() < 0.5
        ? "é".repeat(random() * 300)
        : new Uint8Array(random() * 9000 ** random());
      const headers: HeaderInput[] = random() < 0.8
        ? []
        : Array.from({ length: random() * 200 }, () => ["hä", random() < 0.5 ? null : "v"]);
      const before = builder.uncompressedSize;
      const size = recordSize(i, i === 0 ? 0 : timestamp - builder.baseTimestamp, key, value, headers);
      assert.ok(builder.append(timestamp, key, value, headers));
      assert.equal(builder.uncompressedSize - before, size, `record ${i}`);
      assert.ok(recordSizeUpperBound(key, value, headers) >= 61 + size, `record ${i}`);
    }
    assert.equal(new RecordBatch(builder.seal({ crc32c })).records().length, 9000);
  });

  test("writes as an encoder on BigInt does, which follows the format's description line by line", () => {
    const random = seeded(22);
    for (let round = 0; round < 30; round++) {
      const builder = new RecordBatchBuilder(new Uint8Array(100_000));
      const records: ReferenceRecord[] = [];
      for (let i = 0; i < 1 + random() * 150; i++) {
        const record: ReferenceRecord = {
          timestamp: Math.max(-1, 1700000000000 + Math.round((random() - 0.5) * 10 ** Math.floor(random() * 13))),
          key: random() < 0.3 ? null : randomBytes(random, Math.floor(random() * 100)),
          value: random() < 0.2 ? null : randomBytes(random, Math.floor(random() * 200)),
          headers: Array.from({ length: random() < 0.7 ? 0 : random() * 80 }, () => [
            "k".repeat(random() * 70),
            random() < 0.3 ? null : randomBytes(random, Math.floor(random() * 20)),
          ]),
        };
        records.push(record);
        assert.ok(builder.append(record.timestamp, record.key, record.value, record.headers));
      }
      const sealed = builder.seal({
        crc32c,
        producerId: 2 ** 40 + round,
        producerEpoch: round,
        baseSequence: 1000 * round,
      });
      assert.equal(hex(sealed.subarray(21)), hex(referenceBatch(records, 2 ** 40 + round, round, 1000 * round)));
    }
  });

  test("every codec's batches are read back", () => {
    const codecs = { ...plainCodecs, ...nativeCodecs() };
    for (const type of ["gzip", "snappy", "lz4", "zstd"] as const) {
      const codec = codecs[type];
      if (codec === undefined) continue;
      const batch = new RecordBatch(twoRecords().seal({ crc32c, compression: { type, codec } }));
      assert.equal(batch.compression, type);
      batch.verifyCrc(crc32c);
      const [first, second] = batch.records({ codecs });
      assert.deepEqual([first!.key, first!.value, first!.headers], [ascii("k1"), ascii("v1"), [["h1", ascii("x")]]]);
      assert.deepEqual([second!.key, second!.value, second!.headers], [null, new Uint8Array(0), [["h2", null]]]);
    }
  });
});

interface ReferenceRecord {
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly (readonly [string, Uint8Array | null])[];
}

/** A batch from its attributes on, as docs of the format say it. */
function referenceBatch(
  records: readonly ReferenceRecord[],
  producerId: number,
  epoch: number,
  sequence: number,
): Uint8Array {
  const out: number[] = [];
  const fixed = (value: bigint, size: number) => {
    for (let i = size - 1; i >= 0; i--) out.push(Number((BigInt.asUintN(64, value) >> BigInt(8 * i)) & 255n));
  };
  const varint = (value: number) => {
    let z = value < 0 ? BigInt(-value) * 2n - 1n : BigInt(value) * 2n;
    for (; z > 127n; z >>= 7n) out.push(Number(z & 127n) | 128);
    out.push(Number(z));
  };
  const bytes = (value: Uint8Array | null) => {
    varint(value === null ? -1 : value.length);
    if (value !== null) out.push(...value);
  };
  fixed(0n, 2); // attributes
  fixed(BigInt(records.length - 1), 4); // last offset delta
  const base = records[0]!.timestamp;
  fixed(BigInt(base), 8);
  fixed(BigInt(Math.max(...records.map(({ timestamp }) => timestamp))), 8);
  fixed(BigInt(producerId), 8);
  fixed(BigInt(epoch), 2);
  fixed(BigInt(sequence), 4);
  fixed(BigInt(records.length), 4);
  records.forEach(({ timestamp, key, value, headers }, i) => {
    const start = out.length;
    out.push(0); // attributes
    varint(timestamp - base);
    varint(i);
    bytes(key);
    bytes(value);
    varint(headers.length);
    for (const [key, value] of headers) {
      bytes(ascii(key));
      bytes(value);
    }
    const body = out.splice(start);
    varint(body.length);
    for (const byte of body) out.push(byte);
  });
  return Uint8Array.from(out);
}
