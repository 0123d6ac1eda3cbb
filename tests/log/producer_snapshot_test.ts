import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32c } from "../../src/hash/crc32c.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import {
  decodeProducerSnapshot,
  encodeProducerSnapshot,
  readProducerSnapshot,
} from "../../src/log/producer_snapshot.ts";
import { fromHex } from "../helpers/hex.ts";
import { fileBytes } from "./batch_of.ts";
import { goldenSet, goldenStorage } from "./golden_set.ts";

const NAME = "00000000000000000042.snapshot";
const CORRUPT = { name: "StorageError", code: "CORRUPT_SNAPSHOT", file: NAME };
/** Written by Kafka: one producer, and none. */
const ONE = fromHex(
  "0001b0f9caac0000000100000000000000010000000000060000000000000029000000020000018bcfe56800ffffffffffffffffffffffff",
);
const NONE = fromHex("000148674bc700000000");

describe("producer snapshot", () => {
  test("the fields are what Kafka wrote, both ways", () => {
    const entries = [{
      producerId: 1,
      epoch: 0,
      lastSequence: 6,
      lastOffset: 41,
      offsetDelta: 2,
      timestamp: 1_700_000_000_000,
      coordinatorEpoch: -1,
      currentTxnFirstOffset: -1,
    }];
    assert.deepEqual(decodeProducerSnapshot(ONE, NAME), {
      file: NAME,
      offset: 42,
      version: 1,
      crc: 0xb0f9caac,
      entries,
    });
    assert.deepEqual(encodeProducerSnapshot(entries), ONE);
    assert.deepEqual(decodeProducerSnapshot(NONE, NAME).entries, []);
    assert.deepEqual(encodeProducerSnapshot([]), NONE);
    assert.equal(decodeProducerSnapshot(NONE, "copy of a snapshot").offset, -1);
  });

  test("scenario 38: every snapshot of Kafka's reads as its own classes do, and is written byte for byte alike", async () => {
    let producers = 0;
    for (const name of ["01-plain", "07-transactions", "07b-transactions-2.8", "10a-killed", "11a-consumer-offsets"]) {
      const set = goldenSet(name);
      const storage = await goldenStorage(set);
      for (const theirs of set.expected.producerSnapshots) {
        const { offset, entries } = await readProducerSnapshot(storage, theirs.file);
        assert.equal(offset, theirs.offset);
        // deno-lint-ignore no-explicit-any -- of expected.json
        const theirEntries = theirs.producers.map((producer: any) => ({
          producerId: producer.producerId,
          epoch: producer.producerEpoch,
          lastSequence: producer.batches[0]?.lastSequence ?? -1,
          lastOffset: producer.batches[0]?.lastOffset ?? -1,
          offsetDelta: producer.batches[0]?.offsetDelta ?? 0,
          timestamp: producer.lastTimestamp,
          coordinatorEpoch: producer.coordinatorEpoch,
          currentTxnFirstOffset: producer.currentTxnFirstOffset ?? -1,
        }));
        const byId = (a: { producerId: number }, b: { producerId: number }) => a.producerId - b.producerId;
        assert.deepEqual(entries.toSorted(byId), theirEntries.sort(byId), theirs.file);
        assert.deepEqual(encodeProducerSnapshot(entries), await fileBytes(storage, theirs.file));
        producers += entries.length;
      }
    }
    assert.ok(producers > 40);
  });

  test("scenario 38: an empty, a cut and a changed snapshot are typed errors", () => {
    for (let size = 0; size < ONE.length; size++) {
      assert.throws(() => decodeProducerSnapshot(ONE.subarray(0, size), NAME), CORRUPT, `${size} bytes`);
    }
    for (let at = 0; at < ONE.length; at++) {
      const changed = ONE.slice();
      changed[at]! ^= 0x10;
      assert.throws(() => decodeProducerSnapshot(changed, NAME), CORRUPT, `byte ${at}`);
    }
  });

  test("a hostile count costs no memory, and numbers beyond 2^53 are no others", () => {
    const resealed = (bytes: Uint8Array) => {
      new DataView(bytes.buffer).setUint32(2, crc32c(bytes.subarray(6)));
      return bytes;
    };
    for (const count of [2, 0x7fffffff, -1]) {
      const hostile = ONE.slice();
      new DataView(hostile.buffer).setInt32(6, count);
      assert.throws(() => decodeProducerSnapshot(resealed(hostile), NAME), CORRUPT, `${count}`);
    }
    const large = ONE.slice();
    large[10] = 0x7f;
    assert.throws(() => decodeProducerSnapshot(resealed(large), NAME), CORRUPT);
  });

  test("a snapshot that is not there is the storage's error", async () => {
    await assert.rejects(readProducerSnapshot(new MemoryStorage(), NAME), { name: "StorageError", code: "ENOENT" });
  });
});
