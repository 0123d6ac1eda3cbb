import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Anomaly } from "../../src/log/anomaly.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { readTransactionIndex, TransactionIndex } from "../../src/log/transaction_index.ts";
import { fromHex } from "../helpers/hex.ts";
import { fileBytes, replaceFile } from "./batch_of.ts";
import { goldenSet, goldenStorage } from "./golden_set.ts";
import { putTransactionIndex, transactionEntries } from "./raw_log.ts";

const NAME = "00000000000000000000.txnindex";

/** The index of these bytes, and what was odd about them. */
async function indexOf(bytes: Uint8Array): Promise<{ index: TransactionIndex; anomalies: Anomaly[] }> {
  const storage = new MemoryStorage();
  await replaceFile(storage, NAME, bytes);
  const anomalies: Anomaly[] = [];
  const report = (anomaly: Anomaly) => anomalies.push(anomaly);
  const options = { writable: false, maxBytes: 1e6, plausibleEntries: 1000, report };
  return { index: await TransactionIndex.open(storage, NAME, 0, options), anomalies };
}

describe("transaction index", () => {
  test("an entry is what the format says: version, producer, first, last and last stable offset", async () => {
    const bytes = fromHex("000000000000000000050000000000000066000000000000006a0000000000000064");
    const { index } = await indexOf(bytes);
    assert.deepEqual([index.entries, index.entry(0)], [1, {
      version: 0,
      producerId: 5,
      firstOffset: 102,
      lastOffset: 106,
      lastStableOffset: 100,
    }]);
    assert.deepEqual(transactionEntries([[5, 102, 106, 100]]), bytes, "what the tests below make is of the same form");
  });

  test("scenario 18: a search answers what overlaps the range, and whether it is complete", async () => {
    // Transactions, ranges and answers of Kafka's TransactionIndexTest.
    const entries = [[0, 0, 10, 11], [1, 5, 15, 13], [2, 18, 35, 25], [3, 32, 50, 40]] as const;
    const { index } = await indexOf(transactionEntries(entries));
    const cases: [from: number, upperBound: number, found: number[], isComplete: boolean][] = [
      [0, 100, [0, 1, 2, 3], false],
      [0, 32, [0, 1, 2], true],
      [0, 35, [0, 1, 2, 3], true],
      [10, 35, [0, 1, 2, 3], true],
      [11, 35, [1, 2, 3], true],
      [20, 41, [2, 3], false],
    ];
    for (const [from, upperBound, found, isComplete] of cases) {
      const collected = index.collect(from, upperBound);
      assert.deepEqual(
        [collected.transactions.map(({ producerId }) => producerId), collected.isComplete],
        [found, isComplete],
        `${from} to ${upperBound}`,
      );
    }
  });

  test("scenario 18: every .txnindex of 07-transactions holds what Kafka reads from it", async () => {
    for (const name of ["07-transactions", "07b-transactions-2.8"]) {
      const set = goldenSet(name);
      const storage = await goldenStorage(set);
      let entries = 0;
      for (const { baseOffset, transactionIndex = [] } of set.expected.segments) {
        const index = await readTransactionIndex(storage, baseOffset);
        assert.deepEqual(Array.from({ length: index.entries }, (_, n) => index.entry(n)), transactionIndex);
        index.check();
        entries += index.entries;
      }
      assert.ok(entries > 0);
    }
  });

  test("without a file there are no entries; a partial one at the end is none, and is told", async () => {
    assert.equal((await readTransactionIndex(new MemoryStorage(), 0)).entries, 0);
    for (let extra = 1; extra < 34; extra++) {
      const bytes = new Uint8Array(34 + extra);
      bytes.set(transactionEntries([[1, 2, 3, 4]]));
      const { index, anomalies } = await indexOf(bytes);
      assert.equal(index.entries, 1);
      assert.deepEqual(
        anomalies.map(({ kind, file, position }) => ({ kind, file, position })),
        [{ kind: "index-size", file: NAME, position: 34 }],
      );
    }
  });

  test("another version, numbers beyond 2^53 and entries that are not there are typed errors with their place", async () => {
    const bytes = transactionEntries([[1, 0, 3, 4], [2, 5, 6, 7]]);
    bytes[34] = 1;
    const { index, anomalies } = await indexOf(bytes);
    assert.deepEqual(anomalies.map(({ kind, position }) => [kind, position]), [["transaction-index-entry", 34]]);
    assert.equal(index.entry(0).producerId, 1);
    const unsupported = { name: "StorageError", code: "UNSUPPORTED_VERSION", file: NAME, position: 34 };
    assert.throws(() => index.entry(1), unsupported);
    assert.throws(() => index.collect(0, 100), unsupported);
    assert.equal(index.collect(0, 3).isComplete, true, "the entry before it already ended the search");
    assert.throws(() => index.entry(2), { name: "StorageError", code: "NO_SUCH_ENTRY" });
    const { index: large } = await indexOf(
      Uint8Array.from(transactionEntries([[1, 2, 3, 4]]), (b, i) => i < 2 ? b : 127),
    );
    assert.throws(() => large.entry(0), { name: "StorageError", code: "UNSAFE_INTEGER", position: 0 });
  });

  test("the check refuses a transaction that ended before the segment begins", async () => {
    const storage = new MemoryStorage();
    await putTransactionIndex(storage, 100, [[1, 90, 100, 101], [1, 95, 99, 101]]);
    const index = await readTransactionIndex(storage, 100);
    assert.throws(() => index.check(), { name: "StorageError", code: "CORRUPT_INDEX", position: 34 });
    assert.equal((await fileBytes(storage, index.name)).length, 68);
  });

  test("a huge file beside a small log is not read into memory", async () => {
    const storage = new MemoryStorage();
    await replaceFile(storage, NAME, new Uint8Array(3_400_000));
    const options = { writable: false, maxBytes: 1e9, plausibleEntries: 3 };
    const index = await TransactionIndex.open(storage, NAME, 0, options);
    assert.deepEqual([index.entries, index.byteLength], [3, 102]);
  });
});
