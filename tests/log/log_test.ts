import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { Log, type LogOptions } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import { batchOf, fileBytes, valuesOf } from "./batch_of.ts";
import { contentOf, put } from "./storage_contract.ts";

const LOG = "00000000000000000000.log";
const INDEX = "00000000000000000000.index";
const TIME_INDEX = "00000000000000000000.timeindex";

function write(storage: MemoryStorage, options: Partial<LogOptions> = {}): Promise<Log> {
  return Log.open(storage, { mode: "write", topic: "orders", partition: 3, ...options });
}

describe("log: appending", () => {
  test("a new log has Kafka's files, and its first offset is 0", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { topicId: "PBLcTl5GQ_WTmungEAoQ8w" });
    assert.deepEqual([log.logStartOffset, log.logEndOffset, log.highWatermark, log.size], [0, 0, 0, 0]);
    assert.deepEqual(await storage.list(), [INDEX, LOG, TIME_INDEX, "partition.metadata"]);
    assert.equal(await contentOf(storage, "partition.metadata"), "version: 0\ntopic_id: PBLcTl5GQ_WTmungEAoQ8w");
    assert.deepEqual(await log.append(batchOf(["a", "b"])), { baseOffset: 0, lastOffset: 1 });
    assert.equal(await contentOf(storage, "leader-epoch-checkpoint"), "0\n1\n0 0\n");
    await log.close();
    await log.close();
  });

  test("batches get the next offsets and the leader epoch, and stay valid", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    assert.deepEqual(await log.append(batchOf(["a", "b"]), 4), { baseOffset: 0, lastOffset: 1 });
    assert.deepEqual(await log.append(batchOf(["c"]), 4), { baseOffset: 2, lastOffset: 2 });
    assert.deepEqual(await log.append(batchOf(["d"]), 5), { baseOffset: 3, lastOffset: 3 });
    const batches = [...new RecordBatches(await fileBytes(storage, LOG))];
    assert.deepEqual(batches.map((b) => [b.baseOffset, b.lastOffset, b.partitionLeaderEpoch]), [
      [0, 1, 4],
      [2, 2, 4],
      [3, 3, 5],
    ]);
    assert.equal(await contentOf(storage, "leader-epoch-checkpoint"), "0\n2\n4 0\n5 3\n");
    assert.deepEqual(await valuesOf(log), ["a", "b", "c", "d"]);
    await log.close();
    const again = await write(storage);
    assert.equal(again.recoveredBytes, 0, "the checksums are still right");
    await again.close();
  });

  test("appends at once are stored one after the other, in the order of the calls", async () => {
    const log = await write(new MemoryStorage());
    const answers = await Promise.all(["a", "b", "c", "d"].map((value) => log.append(batchOf([value, value]))));
    assert.deepEqual(answers.map((answer) => answer.baseOffset), [0, 2, 4, 6]);
    assert.deepEqual(await valuesOf(log), ["a", "a", "b", "b", "c", "c", "d", "d"]);
    await log.close();
  });

  test("several batches in one append are indexed each where it is due", async () => {
    const log = await write(new MemoryStorage(), { indexIntervalBytes: 100 });
    const parts = ["a", "b", "c", "d"].map((value, i) => batchOf([value], 1_700_000_000_000 + 10 * i));
    const size = parts[0]!.length;
    const bytes = new Uint8Array(4 * size);
    parts.forEach((part, i) => bytes.set(part, i * size));
    assert.deepEqual(await log.append(bytes), { baseOffset: 0, lastOffset: 3 });
    // 69 bytes each: after two of them more than 100 bytes are behind the last entry.
    assert.equal(size, 69);
    const [offsetIndex, timeIndex] = [await log.segments[0]!.offsetIndex(), await log.segments[0]!.timeIndex()];
    assert.deepEqual([offsetIndex.entries, offsetIndex.entry(0)], [1, { offset: 2, position: 138 }]);
    assert.deepEqual([timeIndex.entries, timeIndex.entry(0)], [1, { timestamp: 1_700_000_000_020, offset: 2 }]);
    await log.close();
  });

  test("what is no batch is refused with a typed error, and nothing is stored", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    const before = await fileBytes(storage, LOG);
    const cut = batchOf(["b"]).subarray(0, 65);
    const tooShort = batchOf(["b"]);
    new DataView(tooShort.buffer).setInt32(8, 3);
    const oldFormat = batchOf(["b"]);
    oldFormat[16] = 1;
    for (const bytes of [cut, tooShort, oldFormat, new Uint8Array(200)]) {
      await assert.rejects(log.append(bytes), { name: "CorruptRecordError", topic: "orders", partition: 3 });
    }
    await assert.rejects(log.append(new Uint8Array(0)), { name: "ProtocolError", code: "EMPTY_APPEND" });
    assert.deepEqual(await fileBytes(storage, LOG), before);
    assert.equal(log.logEndOffset, 1);
    await log.close();
  });

  test("a closed log, and one that is inspected, take nothing", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    await log.close();
    await assert.rejects(log.append(batchOf(["b"])), { name: "ClosedError", topic: "orders" });
    await assert.rejects(log.read(0), { name: "ClosedError" });
    const inspected = await Log.open(storage, { mode: "inspect" });
    await assert.rejects(inspected.append(batchOf(["b"])), { name: "StorageError", code: "EROFS" });
    await inspected.close();
  });

  test("a folder of another topic is refused", async () => {
    const storage = new MemoryStorage();
    await (await write(storage, { topicId: "PBLcTl5GQ_WTmungEAoQ8w" })).close();
    const again = await write(storage);
    assert.equal(again.topicId, "PBLcTl5GQ_WTmungEAoQ8w");
    await again.close();
    await assert.rejects(write(storage, { topicId: "_UBznqbLTymq4eHiv_m7Ow" }), { code: "INCONSISTENT_TOPIC_ID" });
  });
});

describe("log: flushing", () => {
  async function turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await Promise.resolve();
  }

  /** The storage with a slow disk: a sync takes `count` turns. */
  function slow(storage: Storage, count: number): Storage {
    return {
      list: () => storage.list(),
      rename: (from, to) => storage.rename(from, to),
      remove: (name) => storage.remove(name),
      open: async (name, options) => {
        const file = await storage.open(name, options);
        return {
          get size() {
            return file.size;
          },
          readAt: (into, position) => file.readAt(into, position),
          append: (parts) => file.append(parts),
          truncate: (size) => file.truncate(size),
          sync: () => turns(count).then(() => file.sync()),
          close: () => file.close(),
        };
      },
    };
  }

  test("a flush that lasts while batches are appended writes no index entry twice", async () => {
    for (let syncTurns = 0; syncTurns < 30; syncTurns++) {
      const storage = new MemoryStorage();
      const log = await Log.open(slow(storage, syncTurns), { mode: "write", indexIntervalBytes: 0 });
      for (let i = 0; i < 5; i++) {
        const flushed = log.flush();
        await turns(2);
        await Promise.all([log.append(batchOf(["a"], 1000 + i)), flushed]);
      }
      await log.flush();
      assert.equal(log.recoveryPoint, 5);
      // The first batch of a segment is not indexed.
      assert.equal((await fileBytes(storage, INDEX)).length, 4 * 8, `${syncTurns} turns`);
      assert.equal((await fileBytes(storage, TIME_INDEX)).length, 4 * 12, `${syncTurns} turns`);
      await log.close();
    }
  });
});

describe("log: on a disk", () => {
  test("the folder is made by writing, not by inspecting, and holds what was appended", async () => {
    const root = mkdtempSync(join(tmpdir(), "anykafka-log-"));
    try {
      const storage = nodeStorage(join(root, "orders-3"));
      await assert.rejects(Log.open(storage, { mode: "inspect" }), { name: "StorageError", code: "ENOENT" });
      assert.equal(existsSync(join(root, "orders-3")), false);
      const log = await Log.open(storage, { mode: "write", segmentBytes: 2 * 69, indexIntervalBytes: 0 });
      for (const value of [..."abcde"]) await log.append(batchOf([value]));
      await log.flush();
      await log.close();
      const inspected = await Log.open(nodeStorage(join(root, "orders-3"), { readOnly: true }), { mode: "inspect" });
      assert.deepEqual([await valuesOf(inspected), inspected.segments.length], [[..."abcde"], 3]);
      await inspected.close();
      const again = await Log.open(storage, { mode: "write" });
      assert.deepEqual([again.logEndOffset, again.recoveredBytes], [5, 0]);
      await again.close();
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("log: segments", () => {
  test("an append that fits exactly does not roll, one byte more does", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentBytes: 3 * 69 });
    for (const value of ["a", "b", "c"]) await log.append(batchOf([value]));
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0]);
    await log.append(batchOf(["d"]));
    assert.deepEqual(log.segments.map((segment) => [segment.baseOffset, segment.size]), [[0, 207], [3, 69]]);
    // Rolling forces the greatest timestamp into the time index; Kafka's own file would hold the same 12 bytes.
    assert.deepEqual([...await fileBytes(storage, TIME_INDEX)], [0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0, 0, 0, 0, 0]);
    assert.deepEqual(await valuesOf(log), ["a", "b", "c", "d"]);
    assert.deepEqual(await valuesOf(log, 2), ["c", "d"]);
    await log.close();
    const again = await write(storage, { segmentBytes: 3 * 69 });
    assert.deepEqual(await valuesOf(again), ["a", "b", "c", "d"]);
    assert.deepEqual(await again.append(batchOf(["e"])), { baseOffset: 4, lastOffset: 4 });
    await again.close();
  });

  test("more than a segment holds is RECORD_LIST_TOO_LARGE", async () => {
    const log = await write(new MemoryStorage(), { segmentBytes: 100 });
    await assert.rejects(log.append(batchOf(["a".repeat(100)])), {
      code: "RECORD_LIST_TOO_LARGE",
      outcome: "rejected",
      topic: "orders",
    });
    assert.deepEqual(await log.append(batchOf(["a"])), { baseOffset: 0, lastOffset: 0 });
    await log.close();
  });

  test("a full index rolls", async () => {
    // Room for three offset entries; for two of the time index, whose last slot is kept for the roll itself.
    const log = await write(new MemoryStorage(), { segmentIndexBytes: 24, indexIntervalBytes: 0 });
    for (let i = 0; i < 6; i++) await log.append(batchOf([`${i}`], 1_700_000_000_000 + i));
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0, 2, 4]);
    for (const segment of log.segments) assert.ok((await segment.timeIndex()).entries <= 2);
    assert.deepEqual(await valuesOf(log), ["0", "1", "2", "3", "4", "5"]);
    await log.close();
  });

  test("a batch too much newer than the first rolls, also after a restart", async () => {
    const storage = new MemoryStorage();
    let log = await write(storage, { segmentMs: 1000 });
    await log.append(batchOf(["a"], 5000));
    await log.append(batchOf(["b"], 6000));
    await log.append(batchOf(["old"], 10));
    await log.close();
    log = await write(storage, { segmentMs: 1000 });
    await log.append(batchOf(["c"], 6000));
    assert.equal(log.segments.length, 1);
    await log.append(batchOf(["d"], 6001));
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0, 4]);
    await log.close();
  });

  test("without timestamps the clock decides", async () => {
    let now = 1_800_000_000_000;
    const clock = { now: () => now, wallTime: () => now, setTimer: () => ({ cancel() {} }), nextTurn() {} };
    const log = await write(new MemoryStorage(), { segmentMs: 1000, clock });
    await log.append(batchOf(["a"], -1));
    now += 1000;
    await log.append(batchOf(["b"], -1));
    assert.equal(log.segments.length, 1);
    now += 1;
    await log.append(batchOf(["c"], -1));
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0, 2]);
    await log.close();
  });

  test("a segment takes no offset beyond its base + 2^31 − 1", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    const huge = batchOf(["b"]);
    // A batch of which all but one record was compacted away.
    const view = new DataView(huge.buffer);
    view.setInt32(23, 2 ** 31 - 2);
    await log.append(huge);
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0]);
    assert.equal(log.logEndOffset, 2 ** 31);
    await log.append(batchOf(["c"]));
    assert.deepEqual(log.segments.map((segment) => segment.baseOffset), [0, 2 ** 31]);
    assert.ok((await storage.list()).includes("00000000002147483648.log"));
    assert.deepEqual(await valuesOf(log, 2 ** 31), ["c"]);
    await log.close();
  });

  test("a log may begin anywhere", async () => {
    const log = await write(new MemoryStorage(), { logStartOffset: 5_000_000_000 });
    assert.deepEqual(await log.append(batchOf(["a"])), { baseOffset: 5_000_000_000, lastOffset: 5_000_000_000 });
    assert.equal(log.segments[0]!.file, "00000000005000000000.log");
    await log.close();
  });
});

describe("log: reading", () => {
  /** Offsets 0–1, 2–3, 4–5, … in batches of 70 bytes, three a segment. */
  async function pairs(options: Partial<LogOptions> = {}): Promise<Log> {
    const log = await write(new MemoryStorage(), { segmentBytes: 3 * 77, indexIntervalBytes: 70, ...options });
    for (let i = 0; i < 5; i++) await log.append(batchOf([`${2 * i}`, `${2 * i + 1}`]));
    return log;
  }

  test("begins at the batch with the offset, and takes whole bytes of one segment", async () => {
    const log = await pairs();
    assert.deepEqual(log.segments.map((segment) => [segment.baseOffset, segment.size]), [[0, 231], [6, 154]]);
    const read = await log.read(3);
    assert.deepEqual(
      [read.segmentBaseOffset, read.position, read.firstOffset, read.records!.size, read.firstEntryIncomplete],
      [0, 77, 2, 154, false],
    );
    assert.deepEqual([...await read.records!.batches()].map((batch) => batch.baseOffset), [2, 4]);
    assert.equal((await log.read(6)).segmentBaseOffset, 6);
    await log.close();
  });

  test("one whole batch comes even when it is too large, unless that is not wanted", async () => {
    const log = await pairs();
    assert.equal((await log.read(2, { maxBytes: 1 })).records!.size, 77);
    assert.equal((await log.read(2, { maxBytes: 0 })).records!.size, 77);
    const cut = await log.read(2, { maxBytes: 10, minOneBatch: false });
    assert.deepEqual([cut.records!.size, cut.firstEntryIncomplete], [10, true]);
    assert.equal((await log.read(2, { maxBytes: 0, minOneBatch: false })).records, undefined);
    const more = await log.read(2, { maxBytes: 100, minOneBatch: false });
    assert.deepEqual([more.records!.size, more.firstEntryIncomplete], [100, false]);
    await log.close();
  });

  test("the end is an empty read, beyond it and before the start is OFFSET_OUT_OF_RANGE", async () => {
    const log = await pairs({ logStartOffset: 0 });
    const atEnd = await log.read(10);
    assert.deepEqual([atEnd.records, atEnd.segmentBaseOffset, atEnd.position], [undefined, 6, 154]);
    for (const offset of [11, -1, NaN]) {
      await assert.rejects(log.read(offset), { code: "OFFSET_OUT_OF_RANGE", topic: "orders", partition: 3 });
    }
    await log.close();
  });

  test("nothing from the high watermark on is read, unless the log end is asked for", async () => {
    const storage = new MemoryStorage();
    const made = await write(storage, { segmentBytes: 3 * 77 });
    for (let i = 0; i < 5; i++) await made.append(batchOf([`${2 * i}`, `${2 * i + 1}`]));
    await made.close();
    const log = await Log.open(storage, { mode: "inspect", highWatermark: 4 });
    assert.equal((await log.read(0)).records!.size, 154);
    assert.deepEqual([(await log.read(4)).records, (await log.read(4)).position], [undefined, 154]);
    assert.deepEqual([(await log.read(7)).records, (await log.read(7)).segmentBaseOffset], [undefined, 6]);
    assert.equal((await log.read(4, { isolation: "log-end" })).records!.size, 77);
    assert.equal((await log.offsetForTimestamp(-1))!.offset, 4);
    assert.equal(await log.offsetForTimestamp(1_700_000_000_002), undefined, "no record is as new");
    await log.close();
  });

  test("the bytes of a read stay what they are while appends go on", async () => {
    const log = await pairs({ segmentBytes: 1024 * 1024 });
    const read = await log.read(8);
    await log.append(batchOf(["later"]));
    const bytes = await read.records!.bytes();
    assert.deepEqual([...new RecordBatches(bytes)].map((batch) => batch.baseOffset), [8]);
    await log.close();
  });

  test("a hole left by compaction leads to the next batch above, in a later segment if need be", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentBytes: 3 * 69 });
    for (let i = 0; i < 7; i++) await log.append(batchOf([`${i}`]));
    await log.close();
    // Takes offsets 1 and 2 away, as the cleaner does, and with them all indexes.
    const first = await storage.open(LOG);
    await first.truncate(69);
    await first.close();
    const holed = await Log.open(storage, { mode: "inspect" });
    assert.deepEqual((await holed.read(1)).firstOffset, 3);
    assert.deepEqual((await holed.read(2)).segmentBaseOffset, 3);
    assert.deepEqual(await valuesOf(holed), ["0", "3", "4", "5", "6"]);
    await holed.close();
  });

  test("ranges give exactly their records", async () => {
    const log = await pairs();
    const values: string[] = [];
    for await (const record of log.records({ from: 3, until: 8 })) values.push(new TextDecoder().decode(record.value!));
    assert.deepEqual(values, ["3", "4", "5", "6", "7"]);
    await log.close();
  });

  test("a walk that is left early leaves nothing open", async () => {
    const log = await pairs();
    for await (const batch of log.batches()) {
      assert.equal(batch.baseOffset, 0);
      break;
    }
    await log.close();
  });

  test("a range over more than one window reads all of it", async () => {
    const log = await write(new MemoryStorage());
    const value = "x".repeat(300_000);
    for (let i = 0; i < 9; i++) await log.append(batchOf([value]));
    await log.append(batchOf(["y".repeat(1_500_000)]));
    const sizes = (await valuesOf(log)).map((value) => value.length);
    assert.deepEqual(sizes, [...Array.from({ length: 9 }, () => 300_000), 1_500_000]);
    await log.close();
  });
});

describe("log: by timestamp", () => {
  test("the first record as new in order of offsets, also where timestamps go back", async () => {
    const log = await write(new MemoryStorage(), { segmentBytes: 2 * 69, indexIntervalBytes: 0 });
    for (const [i, timestamp] of [100, 300, 200, 250, 400, 50].entries()) {
      await log.append(batchOf([`${i}`], timestamp), i < 4 ? 0 : 1);
    }
    assert.equal(log.segments.length, 3);
    const find = async (timestamp: number) => {
      const found = await log.offsetForTimestamp(timestamp);
      return found === undefined ? undefined : [found.offset, found.timestamp, found.leaderEpoch];
    };
    assert.deepEqual(await find(0), [0, 100, 0]);
    assert.deepEqual(await find(101), [1, 300, 0]);
    assert.deepEqual(await find(300), [1, 300, 0]);
    assert.deepEqual(await find(301), [4, 400, 1]);
    assert.equal(await find(401), undefined);
    assert.deepEqual(await find(-1), [6, -1, 1]);
    assert.deepEqual(await find(-2), [0, -1, 0]);
    assert.deepEqual(await find(-3), [4, 400, 1]);
    await log.close();
  });

  test("an empty log has a start and an end and nothing else", async () => {
    const log = await write(new MemoryStorage());
    assert.deepEqual(await log.offsetForTimestamp(-1), { offset: 0, timestamp: -1, leaderEpoch: -1 });
    assert.deepEqual(await log.offsetForTimestamp(-2), { offset: 0, timestamp: -1, leaderEpoch: -1 });
    assert.equal(await log.offsetForTimestamp(-3), undefined);
    assert.equal(await log.offsetForTimestamp(0), undefined);
    await log.close();
  });
});

describe("log: failing storage", () => {
  test("an append torn at any byte of any file leaves the log as it was, and the next one goes in its place", async () => {
    const faults = [LOG, INDEX, TIME_INDEX].flatMap((file) =>
      (file === LOG ? [0, 1, 30, 68] : [0, 1, 7]).map((tornAfter) => ({ file, tornAfter }))
    );
    for (const fault of faults) {
      const storage = new MemoryStorage();
      const log = await write(storage, { indexIntervalBytes: 0 });
      await log.append(batchOf(["a"], 1000));
      await log.append(batchOf(["b"], 2000));
      storage.fail("append", fault);
      await assert.rejects(log.append(batchOf(["lost"], 3000)), { name: "StorageError", code: "EIO" });
      assert.equal(log.logEndOffset, 2);
      assert.deepEqual(await valuesOf(log), ["a", "b"]);
      assert.deepEqual(await log.append(batchOf(["c"], 4000)), { baseOffset: 2, lastOffset: 2 });
      await log.close();
      const files = await Promise.all(
        [LOG, INDEX, TIME_INDEX].map(async (name) => (await fileBytes(storage, name)).length),
      );
      // The first batch is never indexed; the last timestamp is in its entry already.
      assert.deepEqual(files, [3 * 69, 2 * 8, 2 * 12], JSON.stringify(fault));
      const again = await write(storage);
      assert.deepEqual([again.recoveredBytes, await valuesOf(again)], [0, ["a", "b", "c"]]);
      assert.equal((await again.offsetForTimestamp(-3))!.timestamp, 4000);
      await again.close();
    }
  });

  test("when what is torn cannot be cut off, nothing more is appended until the log is opened again", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    storage.fail("append", { tornAfter: 40, code: "ENOSPC" });
    storage.fail("truncate");
    await assert.rejects(log.append(batchOf(["b"])), { code: "ENOSPC" });
    await assert.rejects(log.append(batchOf(["c"])), { code: "LOG_BROKEN" });
    assert.deepEqual(await valuesOf(log), ["a"]);
    await log.close();
    const again = await write(storage);
    assert.deepEqual([again.recoveredBytes, await valuesOf(again)], [40, ["a"]]);
    await again.append(batchOf(["b"]));
    await again.close();
  });

  test("a full disk refuses, and takes again when there is room", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    storage.capacity = storage.used + 30;
    await assert.rejects(log.append(batchOf(["b"])), { code: "ENOSPC" });
    storage.capacity = Infinity;
    await log.append(batchOf(["c"]));
    assert.deepEqual(await valuesOf(log), ["a", "c"]);
    await log.close();
  });

  test("a roll that fails leaves the old segment in use", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentBytes: 2 * 69 });
    await log.append(batchOf(["a"]));
    await log.append(batchOf(["b"]));
    for (const operation of ["sync", "open"] as const) {
      storage.fail(operation);
      await assert.rejects(log.append(batchOf(["c"])), { name: "StorageError" });
      assert.deepEqual([log.logEndOffset, log.segments.length], [2, 1]);
    }
    await log.append(batchOf(["d"]));
    assert.deepEqual([await valuesOf(log), log.segments.length], [["a", "b", "d"], 2]);
    await log.close();
  });

  test("a roll that failed half way is done first, so that no empty file claims offsets that went elsewhere", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentMs: 1000 });
    await log.append(batchOf(["a"], 1000));
    storage.fail("open", { file: "00000000000000000001.timeindex" });
    await assert.rejects(log.append(batchOf(["much newer"], 9000)), { code: "EIO" });
    assert.ok((await storage.list()).includes("00000000000000000001.log"));
    await log.append(batchOf(["b"], 1001));
    await log.close();
    const again = await write(storage);
    assert.deepEqual([again.logEndOffset, await valuesOf(again)], [2, ["a", "b"]]);
    await again.close();
  });

  test("a log that fails to open closes what it opened", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentBytes: 69 });
    for (const value of ["a", "b", "c"]) await log.append(batchOf([value]));
    await log.close();
    // Three .log, two indexes of the last one, the epochs and the topic id.
    for (let after = 0; after < 7; after++) {
      storage.fail("open", { after });
      await assert.rejects(write(storage), { name: "StorageError", code: "EIO" });
    }
  });

  test("a failed read is told, and the next one works", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage);
    await log.append(batchOf(["a"]));
    storage.fail("read");
    await assert.rejects(log.read(0), { name: "StorageError", code: "EIO" });
    assert.equal((await log.read(0)).firstOffset, 0);
    await log.close();
  });

  test("names of an interrupted compaction and of offsets beyond 2^53 are typed errors", async () => {
    const storage = new MemoryStorage();
    await (await write(storage)).close();
    await put(storage, "00000000000000000000.log.swap", "");
    await assert.rejects(write(storage), { code: "UNFINISHED_COMPACTION" });
    await (await Log.open(storage, { mode: "inspect" })).close();
    await put(storage, "09007199254740993000.log", "");
    await storage.remove("00000000000000000000.log.swap");
    await assert.rejects(write(storage), { code: "UNSAFE_INTEGER" });
  });
});
