import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CorruptRecordError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import type { Batch } from "../../src/records/batch.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import { concatenated, rawBatch, rawMessage } from "../helpers/raw_batch.ts";

function batchOf(baseOffset: number, ...values: string[]): Uint8Array {
  const builder = new RecordBatchBuilder(new Uint8Array(1000));
  for (const value of values) builder.append(1700000000000, null, value);
  return builder.seal({ crc32c, baseOffset }).slice();
}

const offsets = (batches: Iterable<Batch>) =>
  [...batches].map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset]);

describe("RecordBatches", () => {
  const first = batchOf(10, "a", "b");
  const second = batchOf(12, "c");
  const third = batchOf(40, "d", "e", "f");
  const all = concatenated(first, second, third);

  test("walks the batches in order and tells their places", () => {
    const batches = new RecordBatches(all, { topic: "t", partition: 1, position: 1000 });
    assert.deepEqual(offsets(batches), [[10, 11], [12, 12], [40, 42]]);
    assert.equal(batches.validBytes, all.length);
    assert.deepEqual([...batches].map(({ position }) => position), [
      1000,
      1000 + first.length,
      1000 + first.length + second.length,
    ]);
    assert.deepEqual([...batches].map(({ bytes }) => bytes.length), [first.length, second.length, third.length]);
  });

  test("may be walked in part, and again from the front", () => {
    const batches = new RecordBatches(all);
    for (const _ of batches) break;
    assert.equal(batches.validBytes, first.length);
    assert.equal([...batches].length, 3);
  });

  test("stops silently before a cut batch, wherever it is cut", () => {
    const whole = first.length + second.length;
    for (let length = whole; length < all.length; length++) {
      const batches = new RecordBatches(all.subarray(0, length));
      assert.deepEqual(offsets(batches), [[10, 11], [12, 12]], `${length} bytes`);
      assert.equal(batches.validBytes, whole);
    }
    const nothing = new RecordBatches(new Uint8Array(0));
    assert.deepEqual([...nothing], []);
    assert.equal(nothing.validBytes, 0);
  });

  test("hands out what is whole before it says what is damaged, and where", () => {
    const cases: [length: number, code: string][] = [[13, "CORRUPT_RECORD"], [0, "CORRUPT_RECORD"], [
      -1,
      "CORRUPT_RECORD",
    ]];
    for (const [length, code] of cases) {
      const damaged = all.slice();
      new DataView(damaged.buffer).setInt32(first.length + 8, length);
      const batches = new RecordBatches(damaged, { topic: "orders", partition: 3, file: "0.log", position: 500 });
      const seen: number[] = [];
      assert.throws(() => {
        for (const batch of batches) seen.push(batch.baseOffset);
      }, (error) => {
        assert.ok(error instanceof CorruptRecordError);
        assert.deepEqual([error.code, error.topic, error.partition, error.file], [code, "orders", 3, "0.log"]);
        assert.deepEqual([error.offset, error.position], [12, 500 + first.length]);
        return true;
      });
      assert.deepEqual(seen, [10]);
      assert.equal(batches.validBytes, first.length);
    }
  });

  test("refuses a length that only the older formats could have, and magics beyond 2 or below 0", () => {
    const short = rawBatch({});
    new DataView(short.buffer).setInt32(8, 48);
    assert.throws(() => [...new RecordBatches(concatenated(first, short))], CorruptRecordError);
    for (const magic of [3, 127, -1]) {
      assert.throws(
        () => [...new RecordBatches(rawBatch({ magic }))],
        (error) => error instanceof CorruptRecordError && error.code === "UNSUPPORTED_MAGIC",
      );
    }
  });

  test("walks logs that were written in several formats", () => {
    const old = rawMessage({ magic: 0, offset: 8n, value: Uint8Array.of(1) });
    const newer = rawMessage({ magic: 1, offset: 9n, value: Uint8Array.of(2) });
    const batches = new RecordBatches(concatenated(old, newer, first));
    assert.deepEqual([...batches].map(({ magic, lastOffset }) => [magic, lastOffset]), [[0, 8], [1, 9], [2, 11]]);
    for (const batch of batches) batch.verifyCrc(crc32c);
  });

  test("zeros are an impossible length", () => {
    assert.throws(() => [...new RecordBatches(concatenated(first, new Uint8Array(100)))], CorruptRecordError);
    // Up to 17 of them cannot be told from a cut batch.
    assert.equal([...new RecordBatches(concatenated(first, new Uint8Array(17)))].length, 1);
  });
});
