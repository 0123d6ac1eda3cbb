import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { Log, type LogOptions } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { batchOf, copyFiles, fileBytes, replaceFile, valuesOf } from "./batch_of.ts";
import { contentOf, put } from "./storage_contract.ts";

const LOG = "00000000000000000000.log";
const INDEX = "00000000000000000000.index";
const TIME_INDEX = "00000000000000000000.timeindex";

function write(storage: MemoryStorage, options: Partial<LogOptions> = {}): Promise<Log> {
  return Log.open(storage, { mode: "write", topic: "orders", partition: 3, indexIntervalBytes: 100, ...options });
}

function inspect(storage: MemoryStorage): Promise<Log> {
  return Log.open(storage, { mode: "inspect", topic: "orders", partition: 3 });
}

/** A closed log with one record, a to f, in each of six batches of 69 bytes. */
async function sixBatches(options: Partial<LogOptions> = {}): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  const log = await write(storage, options);
  for (const [i, value] of [..."abcdef"].entries()) await log.append(batchOf([value], 1000 * (i + 1)));
  await log.close();
  return storage;
}

const BATCH = 69;

/** Makes `bytes` the content of the log file, and opens it both ways: what is left, and what was cut off. */
async function reopened(bytes: Uint8Array): Promise<{ read: string[]; written: string[]; cut: number; end: number }> {
  const storage = await sixBatches();
  await replaceFile(storage, LOG, bytes);
  const inspected = await inspect(storage);
  const read = await valuesOf(inspected);
  await inspected.close();
  assert.deepEqual(await fileBytes(storage, LOG), bytes, "inspecting changes nothing");
  const log = await write(storage);
  const written = await valuesOf(log);
  const [cut, end] = [log.recoveredBytes, log.logEndOffset];
  await log.append(batchOf(["next"]));
  assert.deepEqual(await valuesOf(log), [...written, "next"]);
  await log.close();
  return { read, written, cut, end };
}

describe("recovery: torn tails", () => {
  test("a log cut at any byte opens with its whole batches, and goes on behind them", async () => {
    const whole = await fileBytes(await sixBatches(), LOG);
    for (let size = 0; size <= whole.length; size++) {
      const kept = [..."abcdef"].slice(0, Math.floor(size / BATCH));
      const { read, written, cut, end } = await reopened(whole.slice(0, size));
      assert.deepEqual([read, written, cut, end], [kept, kept, size % BATCH, kept.length], `cut at byte ${size}`);
    }
  });

  test("zeros behind the batches, as of a preallocated file, are no data", async () => {
    const whole = await fileBytes(await sixBatches(), LOG);
    for (const zeros of [1, 17, 18, 61, 100_000]) {
      const bytes = new Uint8Array(whole.length + zeros);
      bytes.set(whole);
      const { read, written, cut } = await reopened(bytes);
      assert.deepEqual([read, written, cut], [[..."abcdef"], [..."abcdef"], zeros]);
    }
  });

  test("garbage behind the batches is no data", async () => {
    const whole = await fileBytes(await sixBatches(), LOG);
    let seed = 7;
    for (let round = 0; round < 50; round++) {
      const bytes = new Uint8Array(whole.length + 200);
      bytes.set(whole);
      for (let i = whole.length; i < bytes.length; i++) {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        bytes[i] = seed >>> 16;
      }
      const { written, cut } = await reopened(bytes);
      assert.deepEqual([written, cut], [[..."abcdef"], 200]);
    }
  });

  test("any byte changed in the last batch takes away that batch at most, and never a foreign error", async () => {
    const whole = await fileBytes(await sixBatches(), LOG);
    for (let at = 5 * BATCH; at < whole.length; at++) {
      for (const mask of [1, 0x80, 0xff]) {
        const storage = await sixBatches();
        const bytes = whole.slice();
        bytes[at]! ^= mask;
        await replaceFile(storage, LOG, bytes);
        try {
          const inspected = await inspect(storage);
          const values = await valuesOf(inspected);
          assert.deepEqual(values.slice(0, 5), [..."abcde"]);
          await inspected.close();
        } catch (error) {
          assert.ok(error instanceof KafkaError, `byte ${at}: ${error}`);
        }
        try {
          const log = await write(storage);
          assert.deepEqual((await valuesOf(log)).slice(0, 5), [..."abcde"]);
          assert.ok(log.recoveredBytes === BATCH || log.recoveredBytes === 0);
          await log.close();
        } catch (error) {
          // The offset lies outside the checksum: a right batch with a wrong offset must not be thrown away.
          assert.ok(error instanceof KafkaError && error.code === "DAMAGED_SEGMENT", `byte ${at}: ${error}`);
          assert.ok(at < 5 * BATCH + 8);
          assert.deepEqual(await fileBytes(storage, LOG), bytes);
        }
      }
    }
  });
});

describe("recovery: damage before right batches", () => {
  for (const [what, at] of [["the checksum", 17], ["a value", 66], ["the length", 10], ["the magic", 16]] as const) {
    test(`${what} of an earlier batch is wrong: nothing is cut, the log is not opened to write`, async () => {
      const storage = await sixBatches();
      const bytes = await fileBytes(storage, LOG);
      bytes[2 * BATCH + at]! ^= 0x40;
      await replaceFile(storage, LOG, bytes);
      const files = await storage.list();
      await assert.rejects(write(storage), {
        name: "CorruptRecordError",
        code: "DAMAGED_SEGMENT",
        topic: "orders",
        partition: 3,
        file: LOG,
        position: 2 * BATCH,
        offset: 2,
      });
      assert.deepEqual(await fileBytes(storage, LOG), bytes);
      assert.deepEqual(await storage.list(), files);
      assert.equal((await fileBytes(storage, INDEX)).length, 16, "the indexes are as they were");
    });
  }

  test("batches with offsets that go back are not thrown away", async () => {
    const storage = await sixBatches();
    const bytes = await fileBytes(storage, LOG);
    const doubled = new Uint8Array(bytes.length + BATCH);
    doubled.set(bytes);
    doubled.set(bytes.subarray(5 * BATCH), bytes.length);
    await replaceFile(storage, LOG, doubled);
    await assert.rejects(write(storage), { code: "DAMAGED_SEGMENT", position: 6 * BATCH });
    assert.deepEqual(await fileBytes(storage, LOG), doubled);
  });

  test("a length that claims most of a file costs no memory", async () => {
    const storage = await sixBatches();
    const bytes = new Uint8Array(40 * 1024 * 1024);
    bytes.set((await fileBytes(storage, LOG)).subarray(0, 2 * BATCH));
    const view = new DataView(bytes.buffer);
    view.setInt32(2 * BATCH + 4, 2);
    view.setInt32(2 * BATCH + 8, 39 * 1024 * 1024);
    view.setInt8(2 * BATCH + 16, 2);
    await replaceFile(storage, LOG, bytes);
    const log = await write(storage, { maxBatchBytes: 1024 * 1024 });
    assert.deepEqual([await valuesOf(log), log.recoveredBytes], [["a", "b"], bytes.length - 2 * BATCH]);
    await log.close();
    await replaceFile(storage, LOG, bytes);
    const inspected = await Log.open(storage, { mode: "inspect", maxBatchBytes: 1024 * 1024 });
    await assert.rejects(valuesOf(inspected, 2), { name: "CorruptRecordError", code: "BATCH_TOO_LARGE" });
    await inspected.close();
  });
});

describe("recovery: indexes", () => {
  test("missing indexes are built again as they were", async () => {
    for (const missing of [[INDEX], [TIME_INDEX], [INDEX, TIME_INDEX]]) {
      const storage = await sixBatches();
      const [index, timeIndex] = [await fileBytes(storage, INDEX), await fileBytes(storage, TIME_INDEX)];
      for (const name of missing) await storage.remove(name);
      const inspected = await inspect(storage);
      assert.deepEqual(await valuesOf(inspected, 3), ["d", "e", "f"]);
      assert.equal((await inspected.offsetForTimestamp(4500))!.offset, 4);
      assert.equal((await inspected.offsetForTimestamp(-3))!.offset, 5);
      await inspected.close();
      assert.equal((await storage.list()).includes(missing[0]!), false);
      const log = await write(storage);
      await log.close();
      assert.deepEqual(await fileBytes(storage, INDEX), index);
      assert.deepEqual(await fileBytes(storage, TIME_INDEX), timeIndex);
    }
  });

  test("missing indexes of an earlier segment are built again; inspecting does without", async () => {
    const storage = await sixBatches({ segmentBytes: 3 * BATCH });
    const names = [INDEX, TIME_INDEX];
    const before = await Promise.all(names.map((name) => fileBytes(storage, name)));
    for (const name of names) await storage.remove(name);
    const inspected = await inspect(storage);
    assert.equal((await inspected.offsetForTimestamp(2500))!.offset, 2);
    assert.equal((await inspected.offsetForTimestamp(-3))!.offset, 5);
    await inspected.close();
    await (await write(storage)).close();
    assert.deepEqual(await Promise.all(names.map((name) => fileBytes(storage, name))), before);
  });

  test("zero-filled tails, as a killed broker leaves them, are not entries; opening to write cuts them off", async () => {
    const storage = await sixBatches();
    const sizes = new Map<string, number>();
    for (const name of [INDEX, TIME_INDEX]) {
      const bytes = await fileBytes(storage, name);
      sizes.set(name, bytes.length);
      const filled = new Uint8Array(name === INDEX ? 4096 : 4092);
      filled.set(bytes);
      await replaceFile(storage, name, filled);
    }
    const inspected = await inspect(storage);
    const [segment] = inspected.segments;
    const [offsetIndex, timeIndex] = [await segment!.offsetIndex(), await segment!.timeIndex()];
    assert.deepEqual([offsetIndex.entries, timeIndex.entries], [2, 3]);
    assert.deepEqual([inspected.logEndOffset, (await inspected.offsetForTimestamp(5500))!.offset], [6, 5]);
    await inspected.close();
    for (const cleanShutdown of [true, false]) {
      const log = await write(storage, { cleanShutdown });
      assert.deepEqual([log.logEndOffset, log.recoveredBytes], [6, 0]);
      await log.close();
      for (const [name, size] of sizes) assert.equal((await fileBytes(storage, name)).length, size);
    }
  });

  test("an index that leads nowhere is not trusted", async () => {
    const entry = (offset: number, position: number) => {
      const view = new DataView(new ArrayBuffer(8));
      view.setInt32(0, offset);
      view.setInt32(4, position);
      return new Uint8Array(view.buffer);
    };
    // Beyond the file, before it, inside a batch, at a later batch, with an offset beyond the log.
    const bogus = [[1, 100_000], [1, -5], [1, 100], [1, 4 * BATCH], [2 ** 31 - 1, 3 * BATCH + 5], [-7, 20]] as const;
    for (const [offset, position] of bogus) {
      const storage = await sixBatches();
      await replaceFile(storage, INDEX, entry(offset, position));
      const inspected = await inspect(storage);
      assert.deepEqual(
        [inspected.logEndOffset, await valuesOf(inspected)],
        [6, [..."abcdef"]],
        `${offset} ${position}`,
      );
      assert.deepEqual(await valuesOf(inspected, 2), [..."cdef"]);
      assert.equal((await inspected.offsetForTimestamp(2500))!.offset, 2);
      await inspected.close();
      const clean = await write(storage, { cleanShutdown: true });
      assert.equal(clean.logEndOffset, 6);
      await clean.close();
    }
  });

  test("indexes of random bytes give answers or typed errors", async () => {
    let seed = 99;
    for (let round = 0; round < 200; round++) {
      const storage = await sixBatches();
      for (const name of [INDEX, TIME_INDEX]) {
        const bytes = new Uint8Array(round % 50);
        for (let i = 0; i < bytes.length; i++) {
          seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
          bytes[i] = i % 4 < 2 && round % 2 === 0 ? 0 : seed >>> 16;
        }
        await replaceFile(storage, name, bytes);
      }
      try {
        const log = await inspect(storage);
        for (let offset = 0; offset < 6; offset++) await log.read(offset);
        for (const timestamp of [0, 1500, 9000, -3]) await log.offsetForTimestamp(timestamp);
        await log.close();
      } catch (error) {
        assert.ok(error instanceof KafkaError, `round ${round}: ${error}`);
      }
      const log = await write(storage);
      assert.deepEqual(await valuesOf(log), [..."abcdef"]);
      await log.close();
    }
  });
});

describe("recovery: clean stops and crashes", () => {
  test("after a clean stop the indexes stay as they are, and nothing is checked", async () => {
    const storage = await sixBatches();
    const bytes = await fileBytes(storage, LOG);
    bytes[66]! ^= 1; // a wrong checksum that only a check would find
    await replaceFile(storage, LOG, bytes);
    const index = await fileBytes(storage, INDEX);
    const log = await write(storage, { cleanShutdown: true });
    assert.deepEqual([log.logEndOffset, log.recoveryPoint, log.recoveredBytes], [6, 6, 0]);
    await log.append(batchOf(["g"], 7000));
    await log.close();
    assert.deepEqual((await fileBytes(storage, INDEX)).subarray(0, index.length), index);
    assert.equal(log.recoveryPoint, 7);
  });

  test("a torn tail is cut off even after what was said to be a clean stop", async () => {
    const storage = await sixBatches();
    await replaceFile(storage, LOG, (await fileBytes(storage, LOG)).subarray(0, 6 * BATCH - 1));
    const log = await write(storage, { cleanShutdown: true });
    assert.deepEqual([log.logEndOffset, log.recoveredBytes], [5, BATCH - 1]);
    await log.close();
  });

  test("a power failure leaves what was flushed, and any part of the rest", async () => {
    for (let unsynced = 0; unsynced <= 3 * BATCH; unsynced += 7) {
      const storage = new MemoryStorage();
      const log = await write(storage);
      await log.append(batchOf(["a"]));
      await log.append(batchOf(["b"]));
      await log.flush();
      assert.equal(log.recoveryPoint, 2);
      for (const value of ["c", "d", "e"]) await log.append(batchOf([value]));
      const after = await write(storage.crash(unsynced));
      const kept = Math.floor(unsynced / BATCH);
      assert.deepEqual(await valuesOf(after), [..."abcde"].slice(0, 2 + kept), `${unsynced} bytes more`);
      assert.deepEqual(await after.append(batchOf(["next"])), { baseOffset: 2 + kept, lastOffset: 2 + kept });
      await after.close();
      await log.close();
    }
  });

  test("a power failure at any time finds every earlier segment whole", async () => {
    const storage = new MemoryStorage();
    const log = await write(storage, { segmentBytes: 2 * BATCH });
    for (const [i, value] of [..."abcdefg"].entries()) {
      await log.append(batchOf([value]));
      const after = await write(storage.crash(), { segmentBytes: 2 * BATCH });
      assert.deepEqual(await valuesOf(after), [..."abcdefg"].slice(0, 2 * Math.floor(i / 2)));
      await after.close();
    }
    await log.close();
    assert.deepEqual(await valuesOf(await write(storage.crash())), [..."abcdefg"]);
  });

  test("epochs that begin behind the end are forgotten with what was cut off", async () => {
    const storage = await sixBatches();
    await put(storage, "leader-epoch-checkpoint", "0\n3\n0 0\n1 4\n2 6\n");
    await replaceFile(storage, LOG, (await fileBytes(storage, LOG)).subarray(0, 3 * BATCH + 5));
    const inspected = await inspect(storage);
    assert.deepEqual(inspected.leaderEpochs, [{ epoch: 0, startOffset: 0 }]);
    await inspected.close();
    assert.equal(await contentOf(storage, "leader-epoch-checkpoint"), "0\n3\n0 0\n1 4\n2 6\n");
    const log = await write(storage);
    assert.equal(await contentOf(storage, "leader-epoch-checkpoint"), "0\n1\n0 0\n");
    await log.append(batchOf(["x"]), 2);
    assert.equal(await contentOf(storage, "leader-epoch-checkpoint"), "0\n2\n0 0\n2 3\n");
    await log.close();
  });

  test("an unreadable epoch file or topic id stops writing, not inspecting", async () => {
    for (const name of ["leader-epoch-checkpoint", "partition.metadata"]) {
      const storage = await sixBatches();
      await replaceFile(storage, name, Uint8Array.of(0xff, 0xfe, 0x30));
      const warnings: string[] = [];
      const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
      const inspected = await Log.open(storage, { mode: "inspect", logger });
      assert.deepEqual([await valuesOf(inspected), warnings.length], [[..."abcdef"], 1]);
      await inspected.close();
      await assert.rejects(write(storage), { name: "StorageError", code: "MALFORMED_FILE", file: name });
    }
  });
});

describe("recovery of what Kafka left", () => {
  const golden = (set: string, partition: string) =>
    nodeStorage(fileURLToPath(new URL(`../golden/${set}/${partition}`, import.meta.url)), { readOnly: true });

  test("10a-killed opens to write as Kafka recovers it, with the same bytes as 10c-recovered", async () => {
    const storage = new MemoryStorage();
    await copyFiles(golden("10a-killed", "crash-0"), storage);
    const recovered = golden("10c-recovered", "crash-0");
    const log = await write(storage, { indexIntervalBytes: 300, segmentIndexBytes: 5000, segmentBytes: 24000 });
    await log.close();
    for (const name of (await recovered.list()).filter((name) => /\.(log|index|timeindex)$/.test(name))) {
      const theirs = await fileBytes(recovered, name);
      assert.deepEqual([name, await fileBytes(storage, name)], [name, theirs]);
    }
  });

  test("01-plain opens to write and is left as it was", async () => {
    const source = golden("01-plain", "plain.v2-create_time-0");
    for (const cleanShutdown of [true, false]) {
      const storage = new MemoryStorage();
      await copyFiles(source, storage);
      const log = await write(storage, { cleanShutdown, indexIntervalBytes: 500 });
      assert.deepEqual([log.logEndOffset, log.topicId], [819, "PBLcTl5GQ_WTmungEAoQ8w"]);
      await log.close();
      assert.deepEqual(await storage.list(), await source.list());
      for (const name of await source.list()) {
        assert.deepEqual([name, await fileBytes(storage, name)], [name, await fileBytes(source, name)]);
      }
    }
  });
});
