import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { OffsetIndex } from "../../src/log/offset_index.ts";
import { TimeIndex } from "../../src/log/time_index.ts";
import type { Anomaly } from "../../src/log/anomaly.ts";
import { concatenated } from "../helpers/raw_batch.ts";
import { seeded } from "../helpers/seeded.ts";
import { fileBytes, replaceFile } from "./batch_of.ts";
import { timeEntries } from "./raw_log.ts";

const OPTIONS = { writable: true, maxBytes: 1024 * 1024, plausibleEntries: 1_000_000 };
const BASE = 5_000_000_000;

function offsetIndex(storage: MemoryStorage, options: Partial<typeof OPTIONS> = {}): Promise<OffsetIndex> {
  return OffsetIndex.open(storage, "i", BASE, { ...OPTIONS, ...options });
}

function timeIndex(storage: MemoryStorage, options: Partial<typeof OPTIONS> = {}): Promise<TimeIndex> {
  return TimeIndex.open(storage, "t", BASE, { ...OPTIONS, ...options });
}

describe("offset index", () => {
  test("entries are 8 bytes, big-endian: relative offset and position", async () => {
    const storage = new MemoryStorage();
    const index = await offsetIndex(storage);
    index.add(BASE + 258, 4097);
    index.add(BASE + 2 ** 31 - 1, 2 ** 31 - 1);
    await index.write();
    assert.deepEqual([...await fileBytes(storage, "i")], [
      ...[0, 0, 1, 2, 0, 0, 16, 1],
      ...[127, 255, 255, 255, 127, 255, 255, 255],
    ]);
    await index.close();
    const again = await offsetIndex(storage);
    assert.deepEqual([again.entries, again.lastOffset], [2, BASE + 2 ** 31 - 1]);
    assert.deepEqual(again.entry(0), { offset: BASE + 258, position: 4097 });
    await again.close();
  });

  test("the floor is the greatest entry at or below, or the start", async () => {
    const index = await offsetIndex(new MemoryStorage());
    assert.deepEqual(index.floor(BASE + 9), { offset: BASE, position: 0 });
    for (let n = 1; n <= 100; n++) index.add(BASE + 10 * n, 1000 * n);
    assert.deepEqual(index.floor(BASE + 9), { offset: BASE, position: 0 });
    assert.deepEqual(index.floor(BASE - 1), { offset: BASE, position: 0 });
    for (let offset = 10; offset < 1100; offset++) {
      const n = Math.min(100, Math.floor(offset / 10));
      assert.deepEqual(index.floor(BASE + offset), { offset: BASE + 10 * n, position: 1000 * n });
    }
    assert.deepEqual(index.floor(BASE * 2), { offset: BASE + 1000, position: 100_000 });
    await index.close();
  });

  test("scenario 14, case 073: look-ups are the floor of a sorted list, for any number of entries", async () => {
    const random = seeded(14);
    for (const count of [0, 1, 2, 3, 4, 5, 100, 1500]) {
      const index = await offsetIndex(new MemoryStorage());
      const entries: { offset: number; position: number }[] = [];
      let [offset, position] = [BASE, 0];
      for (let n = 0; n < count; n++) {
        offset += 1 + Math.floor(random() * 50);
        position += 1 + Math.floor(random() * 5000);
        entries.push({ offset, position });
        index.add(offset, position);
      }
      const targets = [
        BASE - 1,
        BASE,
        ...entries.flatMap(({ offset }) => [offset - 1, offset, offset + 1]),
        offset + 1000,
      ];
      for (const target of targets) {
        const floor = entries.findLast((entry) => entry.offset <= target) ?? { offset: BASE, position: 0 };
        assert.deepEqual(index.floor(target), floor, `${count} entries, ${target}`);
        const probed: number[] = [];
        index.floor(target, (step) => step.step === "index-probe" && probed.push(step.entry));
        assert.ok(probed.length <= Math.ceil(Math.log2(count + 1)), `${probed.length} probes of ${count}`);
      }
      for (const n of [-1, count, count + 1]) {
        assert.throws(() => index.entry(n), { name: "StorageError", code: "NO_SUCH_ENTRY" });
      }
      await index.close();
    }
  });

  test("scenario 14: an offset that is not above the last one is refused", async () => {
    const index = await offsetIndex(new MemoryStorage());
    index.add(BASE + 10, 100);
    for (const offset of [BASE + 10, BASE + 9]) {
      assert.throws(() => index.add(offset, 200), { name: "StorageError", code: "INVALID_INDEX_OFFSET", file: "i" });
    }
    await index.close();
  });

  test("truncating to an offset drops that entry and all above, also from the file", async () => {
    const storage = new MemoryStorage();
    const index = await offsetIndex(storage);
    for (let n = 1; n <= 5; n++) index.add(BASE + 10 * n, 100 * n);
    await index.write();
    await index.truncateTo(BASE + 40);
    assert.deepEqual([index.entries, (await fileBytes(storage, "i")).length], [3, 24]);
    await index.truncateTo(BASE + 35);
    assert.equal(index.entries, 3);
    index.add(BASE + 36, 350);
    await index.write();
    await index.sync();
    assert.deepEqual([...(await fileBytes(storage, "i")).subarray(24)], [0, 0, 0, 36, 0, 0, 1, 94]);
    await index.truncateTo(0);
    assert.equal((await fileBytes(storage, "i")).length, 0);
    await index.close();
  });

  test("scenario 14: it is full when no entry fits any more", async () => {
    const index = await offsetIndex(new MemoryStorage(), { maxBytes: 20 });
    index.add(BASE + 1, 100);
    assert.equal(index.isFull, false);
    index.add(BASE + 2, 200);
    assert.equal(index.isFull, true);
    await index.close();
  });

  test("a zero tail of any length is found, and a torn entry is none", async () => {
    for (let zeros = 0; zeros <= 70; zeros++) {
      const bytes = new Uint8Array(24 + zeros);
      const view = new DataView(bytes.buffer);
      for (let n = 0; n < 3; n++) {
        view.setInt32(8 * n, n + 1);
        view.setInt32(8 * n + 4, 100 * (n + 1));
      }
      const storage = new MemoryStorage();
      await replaceFile(storage, "i", bytes);
      const read = await offsetIndex(storage, { writable: false });
      assert.deepEqual([read.entries, read.lastOffset], [3, BASE + 3]);
      assert.equal((await fileBytes(storage, "i")).length, 24 + zeros, "reading changes nothing");
      const written = await offsetIndex(storage);
      assert.equal((await fileBytes(storage, "i")).length, 24);
      await written.close();
    }
  });

  test("a huge file beside a small log is not read into memory", async () => {
    const storage = new MemoryStorage();
    const bytes = new Uint8Array(8_000_000).fill(1);
    await replaceFile(storage, "i", bytes);
    const index = await offsetIndex(storage, { writable: false, plausibleEntries: 4 });
    assert.deepEqual([index.entries, index.floor(Number.MAX_SAFE_INTEGER).position], [4, 0x01010101]);
    await index.close();
  });

  test("one that was opened to read takes nothing and makes no file", async () => {
    const storage = new MemoryStorage();
    const index = await offsetIndex(storage, { writable: false });
    index.add(BASE + 1, 1);
    await assert.rejects(index.write(), { name: "StorageError" });
    assert.deepEqual(await storage.list(), []);
  });
});

describe("time index", () => {
  test("entries are 12 bytes, big-endian: timestamp and relative offset", async () => {
    const storage = new MemoryStorage();
    const index = await timeIndex(storage);
    index.maybeAdd({ timestamp: 1_700_000_000_125, offset: BASE + 258 });
    index.maybeAdd({ timestamp: 2 ** 53 - 1, offset: BASE + 259 });
    await index.write();
    // 1700000000125 is 0x18bcfe5687d.
    assert.deepEqual([...await fileBytes(storage, "t")], [
      ...[0, 0, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x7d, 0, 0, 1, 2],
      ...[0, 0x1f, 255, 255, 255, 255, 255, 255, 0, 0, 1, 3],
    ]);
    await index.close();
    const again = await timeIndex(storage);
    assert.deepEqual(again.entry(0), { timestamp: 1_700_000_000_125, offset: BASE + 258 });
    assert.deepEqual(again.last, { timestamp: 2 ** 53 - 1, offset: BASE + 259 });
    await again.close();
  });

  test("scenario 17: a timestamp that is no news adds nothing, and a smaller offset is refused", async () => {
    const index = await timeIndex(new MemoryStorage());
    index.maybeAdd({ timestamp: -1, offset: BASE });
    assert.deepEqual([index.entries, index.last], [0, { timestamp: -1, offset: BASE }]);
    index.maybeAdd({ timestamp: 100, offset: BASE + 1 });
    index.maybeAdd({ timestamp: 100, offset: BASE + 2 });
    index.maybeAdd({ timestamp: 99, offset: BASE + 3 });
    assert.deepEqual([index.entries, index.last], [1, { timestamp: 100, offset: BASE + 1 }]);
    assert.throws(() => index.maybeAdd({ timestamp: 101, offset: BASE }), { code: "INVALID_INDEX_OFFSET" });
    await index.close();
  });

  test("scenario 17: the floor is the greatest timestamp at or below, or −1 at the start", async () => {
    const index = await timeIndex(new MemoryStorage());
    for (let n = 1; n <= 50; n++) index.maybeAdd({ timestamp: 5_000_000_000 * n, offset: BASE + n });
    assert.deepEqual(index.floor(4_999_999_999), { timestamp: -1, offset: BASE });
    for (let n = 1; n <= 50; n++) {
      const entry = { timestamp: 5_000_000_000 * n, offset: BASE + n };
      assert.deepEqual(index.floor(entry.timestamp), entry);
      assert.deepEqual(index.floor(entry.timestamp + 4_999_999_999), entry);
    }
    await index.close();
  });

  test("scenario 17: it is full one slot early, for the entry that is forced at the end", async () => {
    const index = await timeIndex(new MemoryStorage(), { maxBytes: 36 });
    index.maybeAdd({ timestamp: 1, offset: BASE + 1 });
    assert.equal(index.isFull, false);
    index.maybeAdd({ timestamp: 2, offset: BASE + 2 });
    assert.equal(index.isFull, true);
    await index.close();
  });

  test("truncating drops entries with the offset and above", async () => {
    const storage = new MemoryStorage();
    const index = await timeIndex(storage);
    for (let n = 1; n <= 5; n++) index.maybeAdd({ timestamp: 100 * n, offset: BASE + 10 * n });
    await index.write();
    await index.truncateTo(BASE + 30);
    assert.deepEqual([index.last, (await fileBytes(storage, "t")).length], [{ timestamp: 200, offset: BASE + 20 }, 24]);
    await index.close();
  });

  test("a zero tail is none, but the first entry may be all zeros", async () => {
    const cases: [number[], number][] = [[[], 0], [[0], 0], [[7], 1], [[7, 0], 1], [[0, 7], 2], [[0, 7, 0, 0], 2]];
    for (const [timestamps, entries] of cases) {
      const view = new DataView(new ArrayBuffer(12 * timestamps.length));
      timestamps.forEach((timestamp, n) => view.setInt32(12 * n + 4, timestamp));
      const storage = new MemoryStorage();
      await replaceFile(storage, "t", new Uint8Array(view.buffer));
      assert.equal((await timeIndex(storage, { writable: false })).entries, entries, `${timestamps}`);
    }
  });

  test("scenario 17: a wrong offset, a wrong timestamp and a wrong length are told", async () => {
    const cases: [what: string, bytes: Uint8Array, kinds: string[], isUsed: boolean][] = [
      ["right", timeEntries([[100, 1], [200, 2]]), [], true],
      ["a last offset below the base", timeEntries([[100, 1], [200, -1]]), ["index-entry"], false],
      ["a last timestamp below the first", timeEntries([[200, 1], [100, 2]]), ["index-entry"], false],
      ["a timestamp twice", timeEntries([[100, 1], [100, 2]]), ["index-entry"], false],
      ["25 bytes", concatenated(timeEntries([[100, 1], [200, 2]]), [0]), ["index-size"], true],
    ];
    for (const [what, bytes, kinds, isUsed] of cases) {
      const storage = new MemoryStorage();
      await replaceFile(storage, "t", bytes);
      const told: string[] = [];
      const options = { ...OPTIONS, writable: false, report: ({ kind }: Anomaly) => told.push(kind) };
      const index = await TimeIndex.open(storage, "t", BASE, options);
      assert.deepEqual(told, kinds, what);
      assert.deepEqual(index.floor(150).timestamp, isUsed ? 100 : -1, what);
      assert.equal(index.entries, 2, "what is there can be looked at");
    }
  });
});
