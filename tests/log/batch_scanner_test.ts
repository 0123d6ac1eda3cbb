import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { concatenate } from "../../src/bytes/concatenate.ts";
import { COMPRESSION_TYPES, type CompressionType } from "../../src/compression/codec.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { type BatchHeader, BatchScanner } from "../../src/log/batch_scanner.ts";
import { FileRecords } from "../../src/log/file_records.ts";
import { findIntactBatch, isIntact } from "../../src/log/intact_batch.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { StoredFile } from "../../src/log/storage.ts";
import { firstTimestampOf, type TimedBatch } from "../helpers/first_timestamp.ts";
import { batchOf } from "./batch_of.ts";

interface ExpectedBatch extends TimedBatch {
  readonly file: string;
  readonly position: number;
  readonly size: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly maxTimestamp: number;
  readonly codec: CompressionType;
  readonly partitionLeaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly lastSequence?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  readonly valid: boolean;
}

async function scanned(scanner: BatchScanner): Promise<BatchHeader[]> {
  const headers: BatchHeader[] = [];
  for (let header = await scanner.next(); header !== undefined; header = await scanner.next()) headers.push(header);
  return headers;
}

async function fileOf(bytes: Uint8Array): Promise<StoredFile> {
  const file = await new MemoryStorage().open("x.log", { create: true });
  await file.append([bytes]);
  return file;
}

/** A batch as it lies in a log from `offset` on. */
function batchAt(offset: number, value: string): Uint8Array {
  const bytes = batchOf([value]);
  new DataView(bytes.buffer).setInt32(4, offset);
  return bytes;
}

describe("batch scanner", () => {
  // 06 has a broker's times over those of a producer, 08a delete horizons; 14-builder every magic with every codec and
  // timestamp type; 15-odd-v2 the odd but legal.
  for (const set of ["06-log-append-time", "08a-compacted", "14-builder", "15-odd-v2"]) {
    test(`${set}: the headers and checksums are what Kafka reads`, async () => {
      const directory = fileURLToPath(new URL(`../golden/${set}/`, import.meta.url));
      const expected = JSON.parse(new TextDecoder().decode(gunzipSync(readFileSync(`${directory}expected.json.gz`))));
      const storage = nodeStorage(directory + expected.partition, { readOnly: true });
      const batches: ExpectedBatch[] = expected.batches;
      for (const name of new Set(batches.map((batch) => batch.file))) {
        const file = await storage.open(name);
        const ours = await scanned(new BatchScanner(file, 0, file.size));
        const theirs = batches.filter((batch) => batch.file === name);
        assert.deepEqual(
          ours,
          theirs.map((batch) => ({
            position: batch.position,
            size: batch.size,
            magic: batch.magic,
            // What comes before the last offset of the older formats is told by decoding only.
            baseOffset: batch.magic === 2 ? batch.baseOffset : batch.lastOffset,
            lastOffset: batch.lastOffset,
            firstTimestamp: firstTimestampOf(batch, expected.records),
            maxTimestamp: batch.maxTimestamp,
            partitionLeaderEpoch: batch.partitionLeaderEpoch ?? -1,
            codec: COMPRESSION_TYPES.indexOf(batch.codec),
            producerId: batch.producerId ?? -1,
            producerEpoch: batch.producerEpoch ?? -1,
            baseSequence: batch.baseSequence ?? -1,
            lastSequence: batch.lastSequence ?? -1,
            isTransactional: batch.transactional ?? false,
            isControl: batch.control ?? false,
          })),
        );
        for (const [i, header] of ours.entries()) {
          const bytes = await new FileRecords(file, header.position, header.size).bytes();
          assert.equal(isIntact(bytes, crc32c), theirs[i]!.valid);
          bytes[bytes.length - 1]! ^= 1;
          assert.equal(isIntact(bytes, crc32c), false);
        }
        await file.close();
      }
    });
  }

  test("steps over batches of any size, from any start", async () => {
    const sizes = [1, 5000, 3_000_000, 1, 4032, 4033, 70_000, 300_000, 2];
    const parts = sizes.map((size, offset) => batchAt(offset, "x".repeat(size)));
    const file = await fileOf(concatenate(parts));
    const all = await scanned(new BatchScanner(file, 0, file.size));
    assert.deepEqual(all.map((header) => [header.baseOffset, header.size]), parts.map((part, i) => [i, part.length]));
    for (const [i, { position }] of all.entries()) {
      assert.deepEqual(await scanned(new BatchScanner(file, position, file.size)), all.slice(i));
    }
  });

  test("ends before a torn batch, before zeros, and where fewer bytes are left than tell a batch", async () => {
    const whole = batchAt(0, "a");
    for (const tail of [batchAt(1, "b").subarray(0, 68), new Uint8Array(100), batchAt(1, "b").subarray(0, 17)]) {
      const file = await fileOf(concatenate([whole, tail]));
      const scanner = new BatchScanner(file, 0, file.size);
      assert.equal((await scanned(scanner)).length, 1);
      assert.equal(scanner.position, whole.length);
    }
  });

  test("what cannot be a batch is a typed error that says where", async () => {
    const change = (at: number, ...bytes: number[]) => {
      const batch = batchAt(1, "b");
      batch.set(bytes, at);
      return batch;
    };
    const bad: [Uint8Array, string][] = [
      [change(8, 0, 0, 0, 13), "CORRUPT_RECORD"],
      [change(8, 0xff), "CORRUPT_RECORD"],
      [change(8, 0, 0, 0, 48), "CORRUPT_RECORD"],
      [change(16, 3), "UNSUPPORTED_MAGIC"],
      [change(16, 0xff), "UNSUPPORTED_MAGIC"],
      [change(0, 0x7f, 0xff), "UNSAFE_INTEGER"],
      [change(0, 0xff, 0xff, 0xff, 0xff), "CORRUPT_RECORD"],
      [change(23, 0xff), "CORRUPT_RECORD"],
    ];
    for (const [batch, code] of bad) {
      const file = await fileOf(concatenate([batchAt(0, "a"), batch]));
      const scanner = new BatchScanner(file, 0, file.size, { topic: "orders", partition: 3, file: "x.log" });
      await scanner.next();
      await assert.rejects(scanner.next(), {
        name: "CorruptRecordError",
        code,
        file: "x.log",
        position: 69,
        partition: 3,
      });
    }
  });
});

describe("finding a batch behind damage", () => {
  const range = (file: StoredFile) => ({ from: 0, until: file.size, minOffset: 0, maxOffset: 2 ** 31 - 1 });

  test("it is found at any byte, across the windows of the search", async () => {
    for (const before of [0, 1, 1000, 262_144 - 30, 262_144 - 10, 262_144, 700_000]) {
      const file = await fileOf(
        concatenate([new Uint8Array(before).fill(0xee), batchAt(7, "a"), Uint8Array.of(1, 2, 3)]),
      );
      assert.deepEqual(await findIntactBatch(file, range(file), 1_000_000, crc32c), { offset: 7, position: before });
    }
  });

  test("one with a wrong checksum, a wrong offset or a wrong place is none", async () => {
    const wrong = batchAt(7, "a");
    wrong[68]! ^= 1;
    const damaged = await fileOf(wrong);
    assert.equal(await findIntactBatch(damaged, range(damaged), 1_000_000, crc32c), undefined);
    const file = await fileOf(batchAt(7, "a"));
    for (const other of [{ minOffset: 8 }, { maxOffset: 6 }, { from: 1 }, { until: 68 }]) {
      assert.equal(await findIntactBatch(file, { ...range(file), ...other }, 1_000_000, crc32c), undefined);
    }
    assert.equal(await findIntactBatch(file, range(file), 68, crc32c), undefined);
  });

  test("batches of the older formats are found as well", async () => {
    const directory = fileURLToPath(new URL("../golden/14-builder/builder-formats-0", import.meta.url));
    const file = await nodeStorage(directory, { readOnly: true }).open("00000000000000000000.log");
    const first = await new BatchScanner(file, 0, file.size).next();
    assert.equal(first!.magic, 0);
    const found = await findIntactBatch(file, { ...range(file), from: 1 }, 1_000_000, crc32c);
    const second = await new BatchScanner(file, first!.size, file.size).next();
    assert.deepEqual(found, { offset: 1, position: second!.position });
    await file.close();
  });

  test("a file made to look like batches everywhere costs bounded work", async () => {
    // At each 32nd byte a header that claims the rest of the file.
    const bytes = new Uint8Array(256 * 1024);
    const view = new DataView(bytes.buffer);
    for (let at = 0; at + 61 < bytes.length; at += 32) {
      view.setInt32(at + 8, bytes.length - at - 12);
      view.setInt8(at + 16, 2);
    }
    const file = await fileOf(bytes);
    let hashed = 0;
    const counting = (part: Uint8Array) => {
      hashed += part.length;
      return crc32c(part);
    };
    assert.notEqual(await findIntactBatch(file, range(file), 1_000_000, counting), undefined);
    assert.ok(hashed <= 3 * bytes.length, `${hashed} bytes hashed`);
  });
});
