import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { Reader } from "../../src/bytes/reader.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError, ConfigError, CorruptRecordError, KafkaError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import type { Batch } from "../../src/records/batch.ts";
import { controlRecordOf } from "../../src/records/control_record.ts";
import { encodeRecordBatch, type RecordAtOffset } from "../../src/records/encode_record_batch.ts";
import { MessageSetBuilder } from "../../src/records/message_set_builder.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { RecordBatchBuilder, recordBound, recordSize } from "../../src/records/record_batch_builder.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import { fromHex } from "../helpers/hex.ts";
import { concatenated, rawBatch, rawMessage, rawRecord, varint } from "../helpers/raw_batch.ts";
import { seeded } from "../helpers/seeded.ts";
import { CASE_BATCHES, type CaseName as Name } from "../vectors/case_batches.ts";

const codecs = { ...nativeCodecs(), ...plainCodecs };
const TIME = 1_700_000_000_000;
const decoder = new TextDecoder();
const bytesOf = (name: Name) => fromHex(CASE_BATCHES[name]);
const text = (bytes: Uint8Array | null) => bytes === null ? null : decoder.decode(bytes);

/** Offset, milliseconds after the base time, key, value and headers of each record; every checksum is checked. */
function rowsOf(batch: Batch): unknown[][] {
  batch.verifyCrc(crc32c);
  return batch.records({ codecs }).map(({ headers, key, offset, timestamp, value }) => {
    const row = [offset, timestamp - TIME, text(key), text(value)];
    return headers.length === 0 ? row : [...row, ...headers.map(([name, value]) => [name, text(value)])];
  });
}

function batchesIn(bytes: Uint8Array): Batch[] {
  return [...new RecordBatches(bytes, { topic: "orders", partition: 3 })];
}

function batchOf(name: Name): Batch {
  const [batch, ...rest] = batchesIn(bytesOf(name));
  assert.equal(rest.length, 0, name);
  return batch!;
}

function refused(action: () => unknown, type: typeof KafkaError, reason: RegExp): KafkaError {
  let refusal: unknown;
  assert.throws(action, (error) => {
    refusal = error;
    return true;
  });
  assert.ok(refusal instanceof type, String(refusal));
  assert.match(refusal.message, reason);
  assert.equal(refusal.topic, "orders");
  return refusal;
}

const HELLO_WORLD = [[0, 0, null, "hello"], [1, 0, null, "world"]];

describe("batches of the cases", () => {
  /** Every batch that is right, with its records. */
  const readable: { readonly [name in Name]?: unknown[][] } = {
    R01: [[0, 0, null, "a"]],
    R02: [
      [0, 0, null, null],
      [1, 0, "", ""],
      [2, 0, "k", null],
      [3, 0, null, "v", ["", null]],
      [4, 0, null, "v", ["h", ""], ["h", null], ["h", "x"]],
    ],
    R03: [[100, 0, "a", "1"], [103, 5, "b", "2"]],
    R04: [],
    R07: [[0, 60_000, null, "a"], [1, 60_000, null, "b"]],
    R08: [[0, -1 - TIME, null, "a"]],
    R09: [[0, -TIME, null, "a"], [1, -5 - TIME, null, "b"], [2, 1787086231121 - TIME, null, "c"]],
    R11: [..."abcde"].map((value, i) => [i, 0, null, value]),
    R12: [[0, 0, "k", null]],
    H13: [[0, 0, null, "a"], [1, 0, null, "b"]],
    C01: HELLO_WORLD,
    C02: HELLO_WORLD,
    C05: HELLO_WORLD,
    C06: HELLO_WORLD,
    C07: HELLO_WORLD,
    C08: HELLO_WORLD,
    C12: HELLO_WORLD,
    C13: HELLO_WORLD,
    C16: HELLO_WORLD,
    C19: HELLO_WORLD,
    C21: HELLO_WORLD,
    C22: HELLO_WORLD,
    L01: [[5, -1 - TIME, null, "a"]],
    L02: [[5, 0, "k", null]],
    L03: [[5, -1 - TIME, null, ""]],
    L04: [[10, 0, null, "a"], [11, 1, null, "b"], [12, 2, null, "c"]],
    L05: [[10, 0, null, "x"], [11, 0, null, "x"], [12, 0, null, "x"], [20, 0, null, "x"]],
    L06: [[10, 60_000, null, "a"], [11, 60_000, null, "b"], [12, 60_000, null, "c"]],
    L07: [[10, -1 - TIME, null, "a"], [11, -1 - TIME, null, "b"], [12, -1 - TIME, null, "c"]],
  };
  for (const [name, rows] of Object.entries(readable)) {
    const skip = ["C21", "C22"].includes(name) && codecs.zstd === undefined; // Node.js 20
    test(`${name} is read`, { skip }, () => {
      assert.deepEqual(rowsOf(batchOf(name as Name)), rows);
    });
  }

  /** Every batch that is wrong although its checksum is right, with what is said of it. */
  const damaged: { readonly [name in Name]?: [typeof KafkaError, RegExp] } = {
    H02: [CorruptRecordError, /-1 records declared/],
    H03: [CorruptRecordError, /2147483647 records declared in 8 bytes/],
    H04: [CorruptRecordError, /1073741823 headers declared, 0 bytes left/],
    H05: [CorruptRecordError, /-27 headers declared/],
    H06: [CorruptRecordError, /1 headers declared, 1 bytes left/],
    H07: [CorruptRecordError, /value length -2/],
    H08: [CorruptRecordError, /record length -1/],
    H10: [CorruptRecordError, /record length 8, its fields take 7/],
    H11: [CorruptRecordError, /2 bytes left after the 1 records declared/],
    H12: [CorruptRecordError, /varint is too long/],
    H15: [CompressionError, /codec number 7/],
    H16: [CorruptRecordError, /last offset delta -2/],
    C04: [CompressionError, /gzip/],
    C09: [CompressionError, /snappy/],
    C10: [CompressionError, /snappy/],
    C11: [CompressionError, /snappy/],
    C17: [CompressionError, /lz4.*checksum/],
    C18: [CompressionError, /lz4.*cut short/],
    C20: [CompressionError, /lz4/],
    L08: [CorruptRecordError, /its offset is less than 2/],
  };
  for (const [name, [type, reason]] of Object.entries(damaged)) {
    test(`${name} is refused`, () => {
      const batch = batchOf(name as Name);
      batch.verifyCrc(crc32c);
      refused(() => batch.records({ codecs }), type, reason);
      // A decoder that failed once goes on to work.
      assert.deepEqual(rowsOf(batchOf("C06")), HELLO_WORLD);
    });
  }

  test("C03, gzip with bytes behind its end, is read or refused alike by every codec there is", () => {
    const outcomes = [plainCodecs.gzip, nativeCodecs().gzip].filter((codec) => codec !== undefined).map((gzip) => {
      try {
        return batchOf("C03").records({ codecs: { gzip } }).length;
      } catch (error) {
        return (error as KafkaError).name;
      }
    });
    assert.equal(new Set(outcomes).size, 1, `${outcomes}`);
    assert.ok([2, "CompressionError"].includes(outcomes[0]!), `${outcomes}`);
  });

  test("each batch of the list is in one of these tests", () => {
    // C00 is no batch, H14 and H19 are not told by decoding, control batches and R13 have tests of their own.
    const others = ["C00", "C03", "H14", "H17", "H18", "H19", "R05", "R06", "R13"];
    const seen = [...Object.keys(readable), ...Object.keys(damaged), ...others].sort();
    assert.deepEqual(seen, Object.keys(CASE_BATCHES).sort());
  });
});

describe("case 004: the checksum", () => {
  test("is told over the right bytes: the damaged batch is refused with its place, the next one readable", () => {
    const [first, second, ...rest] = batchesIn(bytesOf("R13"));
    assert.equal(rest.length, 0);
    const error = refused(() => first!.verifyCrc(crc32c), CorruptRecordError, /^orders-3, offset 0, byte 0: CRC-32C/);
    assert.deepEqual([error.topic, error.partition, error.offset], ["orders", 3, 0]);
    assert.equal(second!.position, 69);
    assert.deepEqual(rowsOf(second!), [[1, 0, null, "b"]]);
  });

  test("every flipped bit of R02 behind byte 16 is found; no other harms more than its own field", () => {
    const original = bytesOf("R02");
    for (let bit = 0; bit < original.length * 8; bit++) {
      const byte = bit >> 3;
      const bytes = original.slice();
      bytes[byte]! ^= 1 << (bit & 7);
      let batches: Batch[];
      try {
        batches = batchesIn(bytes);
        for (const batch of batches) batch.verifyCrc(crc32c);
      } catch (error) {
        assert.ok(error instanceof CorruptRecordError);
        assert.ok(byte >= 16 || (byte >= 8 && byte < 12), `bit ${bit} is outside the checksum`);
        continue;
      }
      assert.ok(byte < 16, `bit ${bit}`);
      // A length that is too great is a batch cut short; offset and leader epoch are the broker's to set.
      assert.equal(batches.length, byte >= 8 && byte < 12 ? 0 : 1, `bit ${bit}`);
    }
  });

  test("of the formats 0 and 1 begins with the magic", () => {
    for (const name of ["L01", "L02", "L03"] as const) {
      for (let bit = 12 * 8; bit < bytesOf(name).length * 8; bit++) {
        const bytes = bytesOf(name);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        assert.throws(() => batchesIn(bytes).forEach((batch) => batch.verifyCrc(crc32c)), CorruptRecordError);
      }
    }
  });
});

describe("case 005: one changed byte", () => {
  test("H19 is refused by its checksum and, with that renewed, by the negative length, at once", () => {
    refused(() => batchOf("H19").verifyCrc(crc32c), CorruptRecordError, /CRC-32C is 1a575859, the batch says daf6a4a3/);
    const bytes = bytesOf("H19");
    new DataView(bytes.buffer).setUint32(17, 0x1a575859);
    const [batch] = batchesIn(bytes);
    batch!.verifyCrc(crc32c);
    refused(() => batch!.records(), CorruptRecordError, /offset 100.*record 0.*value length -51/);
  });

  test(
    "20,000 batches and message sets of the list with bytes changed are our error or readable",
    { timeout: 60_000 },
    () => {
      const random = seeded(12345);
      const names = (Object.keys(CASE_BATCHES) as Name[]).filter((name) => name !== "C00");
      let readable = 0;
      for (let i = 0; i < 20_000; i++) {
        const bytes = bytesOf(names[i % names.length]!);
        for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
          bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
        }
        try {
          for (const batch of batchesIn(bytes)) {
            for (const record of batch.records({ codecs, limit: 1 << 20 })) {
              readable += (record.key?.length ?? 0) + (record.value?.length ?? 0) + record.headers.length;
            }
          }
        } catch (error) {
          if (!(error instanceof KafkaError)) throw error;
        }
      }
      assert.ok(readable > 0);
    },
  );
});

test("case 007: with LogAppendTime each record has the batch's greatest timestamp, in format 1 the wrapper's", () => {
  for (const name of ["R07", "L06"] as const) {
    const batch = batchOf(name);
    assert.deepEqual([batch.timestampType, batch.maxTimestamp], ["LogAppendTime", TIME + 60_000]);
    for (const record of batch.records({ codecs })) assert.equal(record.timestamp, TIME + 60_000);
  }
});

test("case 016: an empty batch has no records and a last offset, alone and between others", () => {
  const batch = batchOf("R04");
  assert.deepEqual([batch.size, batch.recordCount, batch.baseOffset, batch.lastOffset], [61, 0, 200, 204]);
  assert.deepEqual([batch.producerId, batch.baseSequence, batch.lastSequence], [7, 30, 34]);
  const batches = batchesIn(concatenated(bytesOf("R03"), bytesOf("R04"), bytesOf("R05")));
  assert.deepEqual(batches.map((batch) => [batch.lastOffset + 1, rowsOf(batch).length]), [[110, 2], [205, 0], [
    206,
    1,
  ]]);
});

describe("case 017: a batch cut short at the end", () => {
  test("is not there, wherever it is cut", () => {
    for (let k = 0; k < 101; k++) {
      const batches = batchesIn(concatenated(bytesOf("R01"), bytesOf("R11").subarray(0, k)));
      assert.deepEqual(batches.map(rowsOf), [[[0, 0, null, "a"]]], `${k} bytes`);
    }
  });

  test("filled up with zeros is damage, once the whole batch before it was handed out", () => {
    for (let k = 1; k <= 100; k++) {
      const batches = new RecordBatches(concatenated(bytesOf("R01"), new Uint8Array(k)));
      const found: Batch[] = [];
      const walk = () => {
        for (const batch of batches) found.push(batch);
      };
      // As Kafka: what is less than a header cannot be told from a cut.
      if (k < 18) walk();
      else assert.throws(walk, CorruptRecordError, `${k} zeros`);
      assert.deepEqual(found.map(rowsOf), [[[0, 0, null, "a"]]]);
      assert.equal(batches.validBytes, 69);
    }
  });
});

describe("case 025: null and empty", () => {
  test("R02 is written again byte for byte, the order and the doubles of its headers kept", () => {
    const records = batchOf("R02").records();
    assert.deepEqual(encodeRecordBatch(records, { crc32c, partitionLeaderEpoch: 0 }), bytesOf("R02"));
    const builder = new RecordBatchBuilder(new Uint8Array(1000));
    for (const { headers, key, timestamp, value } of records) builder.append(timestamp, key, value, headers);
    assert.deepEqual(builder.seal({ crc32c, partitionLeaderEpoch: 0 }), bytesOf("R02"));
  });

  test("formats 0 and 1 keep them apart, too", () => {
    for (const [name, magic, timestamp] of [["L01", 0, -1], ["L02", 1, TIME], ["L03", 1, -1]] as const) {
      const [record] = batchOf(name).records();
      const builder = new MessageSetBuilder({ magic });
      builder.append(5, timestamp, record!.key, record!.value);
      assert.deepEqual(builder.build(), bytesOf(name), name);
    }
  });
});

test("case 029: each of several batches is read from its own bytes", () => {
  const all = concatenated(...(["C01", "R01", "C12", "R04", "C02"] as const).map(bytesOf));
  assert.deepEqual(batchesIn(all).map((batch) => rowsOf(batch).length), [2, 1, 2, 0, 2]);
});

describe("case 038: control batches", () => {
  const controls = (name: Name) => {
    const batch = batchOf(name);
    batch.verifyCrc(crc32c);
    assert.ok(batch.isControl);
    return batch.records().map(controlRecordOf);
  };

  test("are told apart, and take an offset", () => {
    for (const [name, type, offset] of [["R05", "COMMIT", 205], ["R06", "ABORT", 206]] as const) {
      assert.deepEqual(controls(name), [{
        type,
        typeNumber: type === "COMMIT" ? 1 : 0,
        version: 0,
        coordinatorEpoch: 3,
      }]);
      assert.deepEqual([batchOf(name).lastOffset, batchOf(name).isTransactional], [offset, true]);
    }
  });

  test("of an unknown type are passed over; two markers are two", () => {
    assert.deepEqual(controls("H18").map(({ type, typeNumber }) => [type, typeNumber]), [["UNKNOWN", 99]]);
    assert.deepEqual(controls("H17").map(({ type }) => type), ["ABORT", "ABORT"]);
  });

  test("may be empty; a key of null is our error", () => {
    const empty = encodeRecordBatch([], { crc32c, baseOffset: 205, lastOffset: 205, isControl: true });
    assert.deepEqual([new RecordBatch(empty).records(), new RecordBatch(empty).lastOffset], [[], 205]);
    const nullKey = encodeRecordBatch([{ offset: 1, timestamp: 0, key: null, value: null }], {
      crc32c,
      isControl: true,
    });
    const [record] = new RecordBatch(nullKey, { topic: "orders" }).records();
    refused(() => controlRecordOf(record!), CorruptRecordError, /control record/);
  });
});

describe("case 041: timestamp deltas are 64 bits wide", () => {
  test("R09 is written again byte for byte", () => {
    const records = batchOf("R09").records();
    assert.deepEqual(records.map(({ timestamp }) => timestamp), [0, -5, 1787086231121]);
    const bytes = rawBatch({
      baseTimestamp: 0n,
      maxTimestamp: 1787086231121n,
      partitionLeaderEpoch: 0,
      recordCount: 3,
      records: concatenated(
        ...[0, -5, 1787086231121].map((timestampDelta, offsetDelta) =>
          rawRecord({ timestampDelta, offsetDelta, value: "abc"[offsetDelta]! })
        ),
      ),
    });
    assert.deepEqual(bytes, bytesOf("R09"));
    // The builder takes no timestamp before 1970, which no client sends.
    const later = records.map((record) => ({ ...rowAt(record), timestamp: record.timestamp + 5 }));
    const batch = new RecordBatch(encodeRecordBatch(later, { crc32c }));
    assert.deepEqual(batch.records().map(({ timestamp }) => timestamp - 5), [0, -5, 1787086231121]);
  });

  test("deltas at every edge come back, and beyond a safe integer only who asks gets the error", () => {
    for (const delta of [2n ** 31n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 32n + 1n, 2n ** 53n - 1n]) {
      for (const timestampDelta of [delta, -delta]) {
        const records = rawRecord({ timestampDelta, value: "v" });
        const [record] = new RecordBatch(rawBatch({ baseTimestamp: 0n, records })).records();
        assert.equal(record!.timestamp, Number(timestampDelta));
      }
    }
    for (const timestampDelta of [2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      const records = rawRecord({ timestampDelta, value: "v" });
      const [record] = new RecordBatch(rawBatch({ baseTimestamp: 0n, records }), { topic: "orders" }).records();
      assert.equal(text(record!.value), "v");
      assert.equal(refused(() => record!.timestamp, CorruptRecordError, /2\^53/).code, "UNSAFE_INTEGER");
    }
  });
});

describe("case 046: varints", () => {
  /** The table of the cases: numbers in zigzag form. */
  const table: [bigint, string][] = [
    [0n, "00"],
    [-1n, "01"],
    [1n, "02"],
    [63n, "7e"],
    [-64n, "7f"],
    [64n, "8001"],
    [-65n, "8101"],
    [8191n, "fe7f"],
    [8192n, "808001"],
    [2147483647n, "feffffff0f"],
    [-2147483648n, "ffffffff0f"],
    [1787086231121n, "a2d99eea8268"],
    [4294967296n, "8080808020"],
    [-4294967297n, "8180808020"],
  ];

  test("in the table are read in records, and their every prefix is cut short", () => {
    for (const [value, hex] of table) {
      assert.deepEqual(Uint8Array.from(varint(value)), fromHex(hex));
      const records = rawRecord({ timestampDelta: value, value: "v" });
      const [record] = new RecordBatch(rawBatch({ baseTimestamp: 0n, records })).records();
      assert.equal(record!.timestamp, Number(value));
      const bytes = fromHex(hex);
      assert.equal(new Reader(bytes).varlong(), Number(value));
      for (let end = 0; end < bytes.length; end++) {
        assert.throws(() => new Reader(bytes, "", 0, end).varlong(), KafkaError, `${hex} cut at ${end}`);
      }
    }
  });

  test("may be longer than they need, but not than their kind", () => {
    const withLength = (hex: string) => {
      const body = rawRecord({ value: "v" }).subarray(1);
      const records = concatenated(fromHex(hex), body);
      return new RecordBatch(rawBatch({ records }), { topic: "orders" });
    };
    // A record of 7 bytes, its length in one byte, two, and five.
    for (const hex of ["0e", "8e00", "8e80808000"]) assert.equal(withLength(hex).records().length, 1, hex);
    refused(() => withLength("8e8080808000").records(), CorruptRecordError, /varint is too long/);
    refused(() => withLength("ffffffff7f").records(), CorruptRecordError, /record length -2147483648/);
  });
});

test("case 058: the bound of a record's size is never less than its size, nor is a batch larger than the builder told", () => {
  const random = seeded(58);
  const someBytes = (most: number) => random() < 0.2 ? null : new Uint8Array(Math.floor(random() * most));
  for (let i = 0; i < 100_000; i++) {
    const headerCount = random() < 0.9 ? Math.floor(random() * 3) : Math.floor(random() * 20);
    const headers = Array.from({ length: headerCount }, () => ["é".repeat(random() * 4), someBytes(9)] as const);
    const [key, value] = [someBytes(200), someBytes(random() < 0.01 ? 20_000 : 200)];
    const size = recordSize(
      Math.floor(random() * 2 ** 31),
      Math.floor((random() - 0.5) * 2 ** 50),
      key,
      value,
      headers,
    );
    const bound = recordBound(key?.length ?? -1, value?.length ?? -1, headers);
    assert.ok(61 + size <= bound, `${size} in ${bound}`);
  }
  // 900 headers of one byte each, in a batch of 1000 bytes: it does not fit behind another record.
  const headers = Array.from({ length: 900 }, () => ["", new Uint8Array(0)] as const);
  const builder = new RecordBatchBuilder(new Uint8Array(1000));
  assert.ok(builder.append(TIME, null, "v"));
  assert.equal(builder.append(TIME, null, "v", headers), false);
  for (let k = 0; k <= 200; k++) {
    const exact = new RecordBatchBuilder(new Uint8Array(1000));
    exact.append(TIME, null, null);
    const fits = exact.append(TIME, null, new Uint8Array(1000 - k));
    const size = exact.seal({ crc32c }).length;
    assert.equal(size, exact.size);
    assert.ok(size <= 1000, `${size}`);
    const whole = 61 + recordSize(0, 0, null, null) + recordSize(1, 0, null, new Uint8Array(1000 - k));
    assert.equal(fits, whole <= 1000, `${k}`);
  }
});

describe("case 085: counts and deltas that cannot be", () => {
  test("are errors at once; a last offset behind the last record is none", () => {
    refused(() => batchOf("H02").records(), CorruptRecordError, /-1 records/);
    refused(() => batchOf("H03").records(), CorruptRecordError, /2147483647 records/);
    refused(() => batchOf("H16").lastOffset, CorruptRecordError, /last offset delta -2/);
    assert.equal(batchOf("H13").lastOffset, 5);
    assert.equal(batchOf("H13").records().length, 2);
  });

  test("a format beyond 2 is none that is known", () => {
    const error = refused(() => batchOf("H14"), CorruptRecordError, /magic 3/);
    assert.equal(error.code, "UNSUPPORTED_MAGIC");
  });
});

describe("case 086: wrappers of format 1 count from the last message", () => {
  test("a wrapper tells its first offset when it is asked for", () => {
    for (const [name, first, last] of [["L04", 10, 12], ["L05", 10, 20], ["L06", 10, 12], ["L07", 10, 12]] as const) {
      const batch = batchOf(name);
      assert.deepEqual([batch.baseOffset, batch.exactBaseOffset({ codecs }), batch.lastOffset], [0, first, last], name);
    }
    assert.equal(batchOf("L01").exactBaseOffset(), 5);
    assert.equal(batchOf("R03").exactBaseOffset(), 100);
    refused(() => batchOf("L08").exactBaseOffset({ codecs }), CorruptRecordError, /less than 2/);
    refused(() => batchOf("L04").exactBaseOffset(), CompressionError, /no gzip codec/);
  });

  test("of offset 0 they are the offsets themselves", () => {
    const value = codecs.gzip!.compress(concatenated(...[0n, 1n, 2n].map((offset) => rawMessage({ offset }))));
    const [batch] = batchesIn(rawMessage({ offset: 0n, attributes: 1, value }));
    assert.deepEqual(batch!.records({ codecs }).map(({ offset }) => offset), [0, 1, 2]);
  });
});

test("case 088: a delete horizon is told, and times still count from it; unknown attributes are passed over", () => {
  const batch = batchOf("R12");
  assert.equal(batch.deleteHorizonMs, TIME + 1000);
  const records = batch.records();
  assert.equal(records[0]!.timestamp, TIME);
  const header = { crc32c, partitionLeaderEpoch: 0, deleteHorizonMs: TIME + 1000 };
  assert.deepEqual(encodeRecordBatch(records, header), bytesOf("R12"));
  const odd = rawBatch({ attributes: 0x7f80, records: rawRecord({ value: "v" }) });
  assert.deepEqual(rowsOf(batchesIn(odd)[0]!), [[0, 0, null, "v"]]);
});

test("case 092: the codec is three bits wide, and an unknown one is never taken for none", () => {
  if (codecs.zstd !== undefined) assert.deepEqual(rowsOf(batchOf("C21")), HELLO_WORLD);
  for (const attributes of [5, 6, 7]) {
    const [batch] = batchesIn(rawBatch({ attributes, records: rawRecord({ value: "v" }) }));
    const error = refused(() => batch!.records({ codecs }), CompressionError, new RegExp(`codec number ${attributes}`));
    assert.equal(error.code, "UNSUPPORTED_CODEC");
    assert.equal(refused(() => batch!.compression, CompressionError, /codec number/).code, "UNSUPPORTED_CODEC");
  }
});

test("case 106: no bytes are no batches", () => {
  assert.deepEqual(batchesIn(new Uint8Array(0)), []);
});

describe("case 107: sizes of a record's fields", () => {
  test("at every step of the varints come back", { timeout: 60_000 }, () => {
    for (const size of [0, 1, 63, 64, 127, 128, 8191, 8192, 16_383, 16_384, 65_535, 65_536, 1_048_575, 2_097_152]) {
      const bytes = new Uint8Array(size).fill(7);
      const record: RecordAtOffset = { offset: 0, timestamp: TIME, key: bytes, value: bytes, headers: [["", bytes]] };
      const [read] = new RecordBatch(encodeRecordBatch([record], { crc32c })).records();
      assert.deepEqual([read!.keyLength, read!.valueLength, read!.headers[0]![1]!.length], [size, size, size]);
      assert.deepEqual([read!.key, read!.value, read!.headers], [bytes, bytes, [["", bytes]]]);
    }
  });

  test("a million headers come back", { timeout: 60_000 }, () => {
    const headers = Array.from({ length: 1_000_000 }, () => ["h", null] as const);
    const record = { offset: 0, timestamp: TIME, key: null, value: null, headers };
    const [read] = new RecordBatch(encodeRecordBatch([record], { crc32c })).records();
    assert.equal(read!.headers.length, 1_000_000);
    assert.deepEqual(read!.headers[999_999], ["h", null]);
  });

  test("offsets that one batch cannot hold are refused", () => {
    const at = (offset: number) => ({ offset, timestamp: TIME, key: null, value: null });
    assert.equal(new RecordBatch(encodeRecordBatch([at(0), at(2 ** 31 - 1)], { crc32c })).lastOffset, 2 ** 31 - 1);
    for (const records of [[at(0), at(2 ** 31)], [at(1), at(1)], [at(2), at(1)], [at(-1)], [at(0.5)], []]) {
      assert.throws(() => encodeRecordBatch(records, { crc32c }), ConfigError);
    }
  });
});

/** A record as plain fields. */
function rowAt({ headers, key, offset, timestamp, value }: RecordAtOffset): RecordAtOffset {
  return { headers, key, offset, timestamp, value };
}
