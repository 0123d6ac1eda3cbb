import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import type { Codec } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError, CorruptRecordError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { controlRecordOf } from "../../src/records/control_record.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { concatenated, rawBatch, rawRecord, varint } from "../helpers/raw_batch.ts";
import { seeded } from "../helpers/seeded.ts";

const ascii = (text: string) => new TextEncoder().encode(text);
const text = (bytes: Uint8Array | null) => bytes === null ? null : new TextDecoder().decode(bytes);
const unhex = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));

// See record_batch_builder_test.ts.
const TRANSACTIONAL = unhex(
  "00000000000000000000004cffffffff02a446a3150010000000010000018bcfe568000000018bcfe568050000000000001092" +
    "00077fffffff000000021e000000046b3104763102046831027814000a0201000204683201",
);

function isCorrupt(code = "CORRUPT_RECORD"): (error: unknown) => boolean {
  return (error) => error instanceof CorruptRecordError && error.code === code;
}

/** All that can be asked of a batch. */
function readAll(batch: RecordBatch, options = { codecs: plainCodecs }): number {
  let size = 0;
  for (const record of batch.records(options)) {
    size += record.offset + record.sequence + record.keyLength + record.valueLength;
    assert.equal(record.key?.length ?? -1, record.keyLength);
    assert.equal(record.value?.length ?? -1, record.valueLength);
    for (const [key, value] of record.headers) size += key.length + (value?.length ?? 0);
    try {
      size += record.timestamp;
    } catch (error) {
      if (!isCorrupt("UNSAFE_INTEGER")(error)) throw error;
    }
  }
  return size;
}

describe("RecordBatch: the header", () => {
  test("of the golden transactional batch", () => {
    const batch = new RecordBatch(TRANSACTIONAL);
    const { attributes, baseOffset, baseSequence, baseTimestamp, compression, crc, lastOffset, lastSequence, magic } =
      batch;
    assert.deepEqual(
      { attributes, baseOffset, baseSequence, baseTimestamp, compression, crc, lastOffset, lastSequence, magic },
      {
        attributes: 0x10,
        baseOffset: 0,
        baseSequence: 2147483647,
        baseTimestamp: 1700000000000,
        compression: "none",
        crc: 0xa446a315,
        lastOffset: 1,
        lastSequence: 0,
        magic: 2,
      },
    );
    assert.equal(batch.size, 88);
    assert.equal(batch.partitionLeaderEpoch, -1);
    assert.equal(batch.maxTimestamp, 1700000000005);
    assert.equal(batch.producerId, 4242);
    assert.equal(batch.producerEpoch, 7);
    assert.equal(batch.lastOffsetDelta, 1);
    assert.equal(batch.recordCount, 2);
    assert.equal(batch.timestampType, "CreateTime");
    assert.equal(batch.isTransactional, true);
    assert.equal(batch.isControl, false);
    assert.equal(batch.hasDeleteHorizon, false);
    assert.equal(batch.deleteHorizonMs, null);
    assert.equal(batch.position, 0);
    batch.verifyCrc(crc32c);
    assert.ok(batch.hasValidCrc(crc32c));
  });

  test("with every field at its greatest", () => {
    const batch = new RecordBatch(rawBatch({
      baseOffset: 2n ** 53n - 1n - 2147483647n,
      partitionLeaderEpoch: 2147483647,
      attributes: 0x7ff8 | 0,
      lastOffsetDelta: 2147483647,
      baseTimestamp: 2n ** 53n - 1n,
      maxTimestamp: -(2n ** 53n) + 1n,
      producerId: 2n ** 53n - 1n,
      producerEpoch: 32767,
      baseSequence: 2147483647,
    }));
    assert.equal(batch.lastOffset, Number.MAX_SAFE_INTEGER);
    assert.equal(batch.partitionLeaderEpoch, 2147483647);
    assert.equal(batch.deleteHorizonMs, Number.MAX_SAFE_INTEGER);
    assert.equal(batch.maxTimestamp, Number.MIN_SAFE_INTEGER);
    assert.equal(batch.producerId, Number.MAX_SAFE_INTEGER);
    assert.equal(batch.producerEpoch, 32767);
    assert.equal(batch.lastSequence, 2147483646);
    assert.equal(batch.timestampType, "LogAppendTime");
    assert.ok(batch.isTransactional && batch.isControl && batch.hasDeleteHorizon);
  });

  test("a number beyond 2^53 is an error, never a rounded value", () => {
    const beyond = {
      baseOffset: 2n ** 53n,
      baseTimestamp: 2n ** 62n,
      maxTimestamp: -(2n ** 60n),
      producerId: 2n ** 53n + 1n,
    };
    const batch = new RecordBatch(rawBatch({ ...beyond, records: rawRecord() }));
    for (const field of ["baseOffset", "lastOffset", "baseTimestamp", "maxTimestamp", "producerId"] as const) {
      assert.throws(() => batch[field], isCorrupt("UNSAFE_INTEGER"), field);
    }
    assert.throws(() => batch.records(), isCorrupt("UNSAFE_INTEGER"));
    const last = new RecordBatch(rawBatch({ baseOffset: 2n ** 53n - 1n, lastOffsetDelta: 1 }));
    assert.throws(() => last.lastOffset, isCorrupt("UNSAFE_INTEGER"));
  });

  test("a wrong checksum is an error that says where", () => {
    const bytes = concatenated(new Uint8Array(10), TRANSACTIONAL);
    bytes[10 + 80]! ^= 1;
    const context = { topic: "orders", partition: 3, file: "00000000000000000000.log", position: 4096 };
    const batch = new RecordBatch(bytes, context, 10);
    assert.equal(batch.position, 4106);
    assert.equal(batch.hasValidCrc(crc32c), false);
    assert.throws(() => batch.verifyCrc(crc32c), (error) => {
      assert.ok(error instanceof CorruptRecordError);
      assert.match(
        error.message,
        /^orders-3, offset 0, 00000000000000000000\.log at byte 4106: CRC-32C is [0-9a-f]{8}/,
      );
      const { code, file, offset, partition, position, topic } = error;
      assert.deepEqual({ code, file, offset, partition, position, topic }, {
        code: "CORRUPT_RECORD",
        file: "00000000000000000000.log",
        offset: 0,
        partition: 3,
        position: 4106,
        topic: "orders",
      });
      return true;
    });
  });

  test("bytes that are no batch are refused", () => {
    assert.throws(() => new RecordBatch(new Uint8Array(0)), isCorrupt());
    assert.throws(() => new RecordBatch(TRANSACTIONAL.subarray(0, 60)), isCorrupt());
    assert.throws(() => new RecordBatch(TRANSACTIONAL.subarray(0, 87)), isCorrupt());
    assert.throws(() => new RecordBatch(rawBatch({ magic: 3 })), isCorrupt("UNSUPPORTED_MAGIC"));
    assert.throws(() => new RecordBatch(rawBatch({ magic: 1 })), isCorrupt("UNSUPPORTED_MAGIC"));
    for (const length of [48, 0, -1, -2147483648, 2147483647]) {
      const bytes = rawBatch({});
      new DataView(bytes.buffer).setInt32(8, length);
      assert.throws(() => new RecordBatch(bytes), isCorrupt(), String(length));
    }
  });

  test("bytes behind the batch are not part of it", () => {
    const batch = new RecordBatch(concatenated(TRANSACTIONAL, [1, 2, 3]));
    assert.equal(batch.size, 88);
    assert.deepEqual(batch.bytes, TRANSACTIONAL);
    batch.verifyCrc(crc32c);
  });
});

describe("RecordBatch: the records", () => {
  test("of the golden transactional batch", () => {
    const [first, second, ...rest] = new RecordBatch(TRANSACTIONAL, { topic: "orders", partition: 3 }).records();
    assert.equal(rest.length, 0);
    assert.equal(first!.topic, "orders");
    assert.equal(first!.partition, 3);
    assert.deepEqual([first!.offset, first!.timestamp, first!.sequence], [0, 1700000000000, 2147483647]);
    assert.deepEqual([text(first!.key), text(first!.value)], ["k1", "v1"]);
    assert.deepEqual(first!.headers, [["h1", ascii("x")]]);
    assert.deepEqual([second!.offset, second!.timestamp, second!.sequence], [1, 1700000000005, 0]);
    assert.equal(second!.key, null);
    assert.deepEqual(second!.value, new Uint8Array(0));
    assert.deepEqual(second!.headers, [["h2", null]]);
  });

  test("are views of the buffer, and do not say where they are from unless told", () => {
    const [record] = new RecordBatch(TRANSACTIONAL).records();
    assert.equal(record!.value!.buffer, TRANSACTIONAL.buffer);
    assert.equal(record!.topic, "");
    assert.equal(record!.partition, -1);
  });

  test("show their content when printed", () => {
    const [record] = new RecordBatch(TRANSACTIONAL, { topic: "orders", partition: 3 }).records();
    const printed = inspect(record);
    for (const part of ["topic: 'orders'", "partition: 3", "offset: 0", "timestamp: 1700000000000", "h1"]) {
      assert.ok(printed.replaceAll('"', "'").includes(part), `${part} in ${printed}`);
    }
  });

  test("with LogAppendTime all have the batch's greatest timestamp", () => {
    const records = concatenated(rawRecord({ timestampDelta: -5 }), rawRecord({ timestampDelta: 900, offsetDelta: 1 }));
    const batch = new RecordBatch(
      rawBatch({ attributes: 0x08, maxTimestamp: 1750000000000n, recordCount: 2, records }),
    );
    for (const record of batch.records()) {
      assert.equal(record.timestamp, 1750000000000);
      assert.equal(record.timestampType, "LogAppendTime");
    }
  });

  test("with a delete horizon count their timestamps from it", () => {
    const horizon = 1800000000000n;
    const records = concatenated(
      rawRecord({ timestampDelta: 1700000000000n - horizon, key: "a" }),
      rawRecord({ timestampDelta: 1700000000007n - horizon, key: "b", offsetDelta: 4 }),
    );
    const batch = new RecordBatch(
      rawBatch({ attributes: 0x40, baseTimestamp: horizon, lastOffsetDelta: 9, recordCount: 2, records }),
    );
    assert.equal(batch.deleteHorizonMs, 1800000000000);
    assert.deepEqual(batch.records().map(({ timestamp }) => timestamp), [1700000000000, 1700000000007]);
  });

  test("after compaction: gaps, a missing last one, or none at all", () => {
    const records = concatenated(rawRecord({ offsetDelta: 3 }), rawRecord({ offsetDelta: 7 }));
    const gaps = new RecordBatch(
      rawBatch({
        baseOffset: 100n,
        lastOffsetDelta: 20,
        baseSequence: 2147483640,
        producerId: 5n,
        recordCount: 2,
        records,
      }),
    );
    assert.equal(gaps.lastOffset, 120);
    assert.equal(gaps.lastSequence, 12);
    assert.deepEqual(gaps.records().map(({ offset, sequence }) => [offset, sequence]), [[103, 2147483643], [
      107,
      2147483647,
    ]]);
    const empty = new RecordBatch(rawBatch({ baseOffset: 100n, lastOffsetDelta: 20, baseTimestamp: -1n }));
    assert.equal(empty.size, 61);
    assert.equal(empty.lastOffset, 120);
    assert.deepEqual(empty.records(), []);
  });

  test("null and empty differ in keys, values and headers", () => {
    const headers = [
      ...varint(4),
      ...varint(0),
      ...varint(-1),
      ...varint(0),
      ...varint(0),
      ...varint(1),
      97,
      ...varint(-1),
    ];
    const records = concatenated(
      rawRecord({ key: null, value: "" }),
      rawRecord({ key: "", value: null, offsetDelta: 1, headers: [...headers, ...varint(1), 97, ...varint(1), 98] }),
    );
    const [first, second] = new RecordBatch(rawBatch({ recordCount: 2, records })).records();
    assert.deepEqual([first!.key, first!.value, first!.headers], [null, new Uint8Array(0), []]);
    assert.deepEqual([second!.key, second!.value], [new Uint8Array(0), null]);
    assert.deepEqual(second!.headers, [["", null], ["", new Uint8Array(0)], ["a", null], ["a", ascii("b")]]);
  });

  test("timestamps reach from −2^53+1 to 2^53−1; beyond, only who asks for one gets the error", () => {
    const at = (baseTimestamp: bigint, timestampDelta: bigint) =>
      new RecordBatch(rawBatch({ baseTimestamp, records: rawRecord({ timestampDelta, value: "v" }) })).records()[0]!;
    const max = 2n ** 53n - 1n;
    assert.equal(at(0n, max).timestamp, Number.MAX_SAFE_INTEGER);
    assert.equal(at(0n, -max).timestamp, Number.MIN_SAFE_INTEGER);
    // Deltas that are themselves beyond a safe integer, and odd, so that rounding would show.
    assert.equal(at(-max, 2n * max - 1n).timestamp, Number.MAX_SAFE_INTEGER - 1);
    assert.equal(at(max, -2n * max + 1n).timestamp, Number.MIN_SAFE_INTEGER + 1);
    for (
      const [base, delta] of [[max, 1n], [0n, 2n ** 63n - 1n], [0n, -(2n ** 63n)], [2n ** 62n, 0n], [
        2n ** 62n,
        -(2n ** 62n),
      ]]
    ) {
      const record = at(base!, delta!);
      assert.equal(text(record.value), "v");
      assert.throws(() => record.timestamp, isCorrupt("UNSAFE_INTEGER"), `${base} ${delta}`);
    }
  });

  test("varints of five and ten bytes are read, longer ones refused", () => {
    const padded = (value: number, size: number) => {
      const bytes = varint(value);
      while (bytes.length < size) {
        bytes[bytes.length - 1]! |= 0x80;
        bytes.push(0);
      }
      return bytes;
    };
    const record = (time: number[], offset: number[]) => {
      const body = [0, ...time, ...offset, ...varint(-1), ...varint(-1), 0];
      return rawBatch({ records: Uint8Array.from([...varint(body.length), ...body]) });
    };
    const [read] = new RecordBatch(record(padded(-3, 10), padded(0, 5))).records();
    assert.equal(read!.timestamp, 1699999999997);
    assert.throws(() => new RecordBatch(record(padded(-3, 11), [0])).records(), isCorrupt());
    assert.throws(() => new RecordBatch(record([0], padded(0, 6))).records(), isCorrupt());
  });

  test("a codec that is missing is named, an unknown number refused, a damaged payload told with its place", () => {
    const context = { topic: "orders", partition: 3 };
    const decode = (attributes: number, codecs = {}) =>
      new RecordBatch(rawBatch({ baseOffset: 17n, attributes, records: rawRecord() }), context).records({ codecs });
    const failing: Codec = {
      compress: (bytes) => bytes,
      decompress() {
        throw new RangeError("out of luck");
      },
    };
    const fails = (attributes: number, codecs: object, code: string, message: RegExp) =>
      assert.throws(() => decode(attributes, codecs), (error) => {
        assert.ok(error instanceof CompressionError);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        assert.deepEqual([error.topic, error.partition, error.offset], ["orders", 3, 17]);
        return true;
      });
    fails(4, plainCodecs, "UNSUPPORTED_CODEC", /^orders-3, offset 17, byte 0: no zstd codec/);
    fails(5, plainCodecs, "UNSUPPORTED_CODEC", /codec number 5/);
    fails(1, plainCodecs, "CORRUPT_COMPRESSION", /^orders-3, offset 17, byte 0: gzip/);
    fails(2, { snappy: failing }, "CORRUPT_COMPRESSION", /out of luck/);
    // An empty batch need not be inflated at all.
    assert.deepEqual(new RecordBatch(rawBatch({ attributes: 4 })).records(), []);
  });

  test("a batch inflates to the limit at most", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(10_000), { limit: 100_000 });
    for (let i = 0; i < 100; i++) builder.append(0, null, new Uint8Array(900));
    const size = builder.uncompressedSize - 61;
    const batch = new RecordBatch(builder.seal({ crc32c, compression: { type: "lz4", codec: plainCodecs.lz4! } }));
    assert.equal(batch.records({ codecs: plainCodecs, limit: size }).length, 100);
    assert.throws(
      () => batch.records({ codecs: plainCodecs, limit: size - 1 }),
      (error) => error instanceof CompressionError && error.code === "DECOMPRESSION_LIMIT",
    );
  });

  const huge = 2147483647;
  const headers = (...bytes: number[]) => rawRecord({ value: "v", headers: bytes });
  const DAMAGES: readonly [what: string, batch: Parameters<typeof rawBatch>[0]][] = [
    ["a negative count", { recordCount: -1, records: rawRecord() }],
    ["a count that the bytes cannot hold", { recordCount: huge, lastOffsetDelta: huge, records: rawRecord() }],
    ["more records declared than there are", {
      recordCount: 2,
      records: concatenated(rawRecord({ value: "0123456789" })),
    }],
    ["bytes left after the declared count", { recordCount: 1, records: concatenated(rawRecord(), rawRecord()) }],
    ["one byte left", { recordCount: 1, records: concatenated(rawRecord(), [0]) }],
    ["a negative last offset delta", { lastOffsetDelta: -1, records: rawRecord() }],
    ["an offset past the batch's last", { lastOffsetDelta: 4, records: rawRecord({ offsetDelta: 5 }) }],
    ["an offset before the batch's first", { lastOffsetDelta: 4, records: rawRecord({ offsetDelta: -1 }) }],
    ["a record length too small", { records: rawRecord({ value: "value", length: 10 }) }],
    ["a record length too great", { records: concatenated(rawRecord({ value: "value", length: 12 }), [0]) }],
    ["a record length of zero", { records: rawRecord({ length: 0 }) }],
    ["a negative record length", { records: rawRecord({ length: -1 }) }],
    ["a record length past the batch", { records: rawRecord({ length: huge }) }],
    ["a key length past the record", { records: concatenated(varint(7), [0, 0, 0], varint(huge), [1, 0]) }],
    ["a key length of −2", { records: concatenated(varint(6), [0, 0, 0], varint(-2), varint(-1), [0]) }],
    ["a key up to the record's end", { records: concatenated(varint(6), [0, 0, 0], varint(2), [97, 97]) }],
    ["a value length past the record", { records: concatenated(varint(7), [0, 0, 0], varint(-1), varint(2), [97, 0]) }],
    ["a value length of −2", { records: concatenated(varint(6), [0, 0, 0], varint(-1), varint(-2), [0]) }],
    ["a header count of −1", { records: headers(...varint(-1)) }],
    ["a header count past the record", { records: headers(...varint(3), ...varint(0), ...varint(-1)) }],
    ["a great header count", { records: headers(...varint(huge)) }],
    ["a header key length of −1", { records: headers(...varint(1), ...varint(-1), ...varint(-1)) }],
    ["a header key past the record", { records: headers(...varint(1), ...varint(9), 97, 98) }],
    ["a header value length of −2", { records: headers(...varint(1), ...varint(1), 97, ...varint(-2)) }],
    ["a header value past the record", { records: headers(...varint(1), ...varint(1), 97, ...varint(2), 97) }],
  ];
  for (const [what, fields] of DAMAGES) {
    test(`${what} is an error that names the record`, () => {
      const bytes = rawBatch({ baseOffset: 55n, ...fields });
      // What follows must not be read as if it belonged to the batch.
      const batch = new RecordBatch(concatenated(bytes, new Uint8Array(40)), { topic: "t", partition: 0 });
      batch.verifyCrc(crc32c);
      assert.throws(() => batch.records(), (error) => {
        assert.ok(error instanceof CorruptRecordError, String(error));
        assert.match(error.message, /^t-0, offset 55, byte 0: /);
        return true;
      });
    });
  }

  test("every truncation of the records, and every bit flip anywhere, is our error or a readable batch", () => {
    const builder = new RecordBatchBuilder(new Uint8Array(1000));
    builder.append(1700000000000, ascii("key"), "value", [["h", "x"], ["hh", null]]);
    builder.append(1699999990000, null, "z".repeat(80));
    builder.append(1700000000001, "", null, [["", ""]]);
    for (const compression of [undefined, { type: "lz4", codec: plainCodecs.lz4! }] as const) {
      const sealed = builder.seal({ crc32c, compression }).slice();
      for (let length = 61; length < sealed.length; length++) {
        const bytes = sealed.slice(0, length);
        new DataView(bytes.buffer).setInt32(8, length - 12);
        const batch = new RecordBatch(bytes);
        assert.equal(batch.hasValidCrc(crc32c), false);
        assert.throws(
          () => readAll(batch),
          (error) => error instanceof CorruptRecordError || error instanceof CompressionError,
        );
      }
      let survived = 0;
      for (let bit = 0; bit < sealed.length * 8; bit++) {
        const bytes = sealed.slice();
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        try {
          const batch = new RecordBatch(bytes);
          // Offset and leader epoch lie outside the checksum.
          const byte = bit >> 3;
          assert.equal(batch.hasValidCrc(crc32c), byte < 8 || (byte >= 12 && byte < 16), `bit ${bit}`);
          readAll(batch);
          survived++;
        } catch (error) {
          if (!(error instanceof CorruptRecordError) && !(error instanceof CompressionError)) throw error;
        }
      }
      assert.ok(survived > 0);
    }
  });

  test("20,000 batches with several bytes changed are our error or readable", { timeout: 60_000 }, () => {
    const random = seeded(31);
    const builder = new RecordBatchBuilder(new Uint8Array(4000));
    for (let i = 0; i < 20; i++) {
      const headers: [string, string | null][] = i % 3 === 0 ? [["h" + i, null], ["k", "v".repeat(i)]] : [];
      builder.append(1700000000000 + i * 1000, i % 2 === 0 ? null : "key" + i, "v".repeat(i * 3), headers);
    }
    const sealed = builder.seal({ crc32c });
    let readable = 0;
    for (let i = 0; i < 20_000; i++) {
      const bytes = sealed.slice();
      for (let n = 1 + Math.floor(random() * 4); n > 0; n--) {
        const at = random() < 0.2 ? Math.floor(random() * 61) : 61 + Math.floor(random() * (bytes.length - 61));
        bytes[at] = random() < 0.3 ? 255 : Math.floor(random() * 256);
      }
      try {
        readAll(new RecordBatch(bytes));
        readable++;
      } catch (error) {
        if (!(error instanceof CorruptRecordError) && !(error instanceof CompressionError)) throw error;
      }
    }
    assert.ok(readable > 100 && readable < 19_900, `${readable}`);
  });
});

describe("control records", () => {
  const control = (key: number[] | null, value: number[] | null) => {
    const field = (bytes: number[] | null) => bytes === null ? varint(-1) : [...varint(bytes.length), ...bytes];
    const body = [0, 0, 0, ...field(key), ...field(value), 0];
    const records = Uint8Array.from([...varint(body.length), ...body]);
    const batch = new RecordBatch(rawBatch({ attributes: 0x30, producerId: 7n, producerEpoch: 1, records }), {
      topic: "t",
      partition: 0,
    });
    assert.ok(batch.isControl);
    return batch.records()[0]!;
  };

  test("a transaction's end tells its kind and the coordinator's epoch", () => {
    const value = [0, 0, 0, 0, 1, 2];
    assert.deepEqual(controlRecordOf(control([0, 0, 0, 0], value)), {
      type: "ABORT",
      typeNumber: 0,
      version: 0,
      coordinatorEpoch: 258,
    });
    assert.equal(controlRecordOf(control([0, 0, 0, 1], value)).type, "COMMIT");
    // Later versions may append to key and value.
    assert.equal(controlRecordOf(control([0, 5, 0, 1, 9], [0, 1, 0, 0, 0, 3, 8, 8])).coordinatorEpoch, 3);
  });

  test("other types are named, unknown ones passed over", () => {
    const names = [2, 3, 4, 5, 6, 7, 300, -1].map((type) =>
      controlRecordOf(control([0, 0, (type >> 8) & 255, type & 255], null))
    );
    assert.deepEqual(names.map(({ type }) => type), [
      "LEADER_CHANGE",
      "SNAPSHOT_HEADER",
      "SNAPSHOT_FOOTER",
      "KRAFT_VERSION",
      "KRAFT_VOTERS",
      "UNKNOWN",
      "UNKNOWN",
      "UNKNOWN",
    ]);
    assert.deepEqual(names.map(({ typeNumber }) => typeNumber), [2, 3, 4, 5, 6, 7, 300, -1]);
  });

  test("one that is too short, or of a negative version, is damaged", () => {
    const damaged: [number[] | null, number[] | null][] = [
      [null, [0, 0, 0, 0, 0, 0]],
      [[0, 0, 0], [0, 0, 0, 0, 0, 0]],
      [[0xff, 0xff, 0, 0], [0, 0, 0, 0, 0, 0]],
      [[0, 0, 0, 0], null],
      [[0, 0, 0, 1], [0, 0, 0, 0, 0]],
      [[0, 0, 0, 1], [0xff, 0xff, 0, 0, 0, 0]],
    ];
    for (const [key, value] of damaged) {
      assert.throws(() => controlRecordOf(control(key, value)), (error) => {
        assert.ok(error instanceof CorruptRecordError);
        assert.match(error.message, /^t-0, offset 0: control record/);
        return true;
      });
    }
  });
});
