import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { type Anomaly, Log, type LogOptions } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { concatenated, rawMessage } from "../helpers/raw_batch.ts";
import { unwritable } from "../helpers/unwritable.ts";
import { replaceFile, valuesOf } from "./batch_of.ts";
import { goldenSet, goldenStorage } from "./golden_set.ts";
import { dataBatch, offsetEntries, putSegment, timeEntries } from "./raw_log.ts";

const LOG = "00000000000000000000.log";
const INDEX = "00000000000000000000.index";
const TIME_INDEX = "00000000000000000000.timeindex";
const codecs = { ...plainCodecs, ...nativeCodecs() };

/** `kind file position offset`, as far as they are there. */
function told(log: Log, ...kinds: string[]): string[] {
  return log.anomalies.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
    .map(({ kind, file, position, offset }) => [kind, file, position, offset].filter((x) => x !== undefined).join(" "));
}

/** First offset of each batch from `from` on, and the values of its records. */
async function contentOf(storage: Storage, options: LogOptions = {}): Promise<string[]> {
  const log = await Log.open(storage, options);
  try {
    return await valuesOf(log);
  } finally {
    await log.close();
  }
}

/** Looks at everything there is. */
async function readAll(log: Log): Promise<void> {
  for await (const _ of log.records({ codecs })) { /* every record */ }
  for await (const _ of log.records({ codecs, committed: true })) { /* and again */ }
  for (const timestamp of [0, 1_700_000_500_000, -1, -2, -3]) await log.offsetForTimestamp(timestamp, codecs);
  for (const segment of log.segments) {
    await segment.offsetIndex();
    await segment.timeIndex();
    await segment.transactionIndex();
  }
  await log.lastStableOffset();
}

describe("inspecting a log", () => {
  const sets: [name: string, anomalies: string[]][] = [
    ["01-plain", []],
    ["07-transactions", []],
    ["09b-delete-records-later", []],
    ["10a-killed", ["index-zero-tail"]],
    ["10a-killed-preallocated", ["index-zero-tail", "zero-tail"]],
    ["10b-live", ["index-zero-tail"]],
    ["10c-recovered", []],
    ["12-cluster-metadata", []],
    ["13c-across-2to53", ["unsafe-integer"]],
    ["13d-overflow", ["missing-index", "offset-overflow"]],
    ["14-mixed", []],
  ];
  for (const [name, kinds] of sets) {
    test(`${name}: nothing is written, and only what is odd is told`, async () => {
      const log = await Log.open(unwritable(await goldenStorage(goldenSet(name))));
      try {
        await readAll(log).catch((error) => {
          if (!kinds.includes("unsafe-integer")) throw error;
          assert.equal(error.code, "UNSAFE_INTEGER");
        });
        const odd = log.anomalies.filter(({ kind }) => kind !== "deleted-file" && kind !== "stray-snapshot");
        assert.deepEqual([...new Set(odd.map(({ kind }) => kind))].sort(), kinds);
      } finally {
        await log.close();
      }
    });
  }

  test("10a-killed-preallocated ends where Kafka's view of it ends", async () => {
    const set = goldenSet("10a-killed-preallocated");
    const log = await Log.open(await goldenStorage(set));
    const last = set.expected.segments.at(-1);
    assert.equal(log.logEndOffset, set.expected.opened.logEndOffset);
    assert.deepEqual([log.segments.at(-1)!.size, log.trailingBytes], [last.validBytes, last.trailingBytes]);
    assert.deepEqual(told(log, "zero-tail"), [`zero-tail ${last.file} ${last.validBytes} ${log.logEndOffset}`]);
    await log.close();
  });

  test("13c-across-2to53: everything below 2^53 is read, and then comes the typed error", async () => {
    const set = goldenSet("13c-across-2to53");
    const log = await Log.open(await goldenStorage(set));
    // deno-lint-ignore no-explicit-any -- of expected.json
    const batches = set.expected.batches.filter((batch: any) => typeof batch.lastOffset === "number");
    const next = set.expected.batches[batches.length];
    const seen: number[] = [];
    await assert.rejects(
      async () => {
        for await (const batch of log.batches()) seen.push(batch.baseOffset);
      },
      { name: "CorruptRecordError", code: "UNSAFE_INTEGER", file: next.file, position: next.position },
    );
    // deno-lint-ignore no-explicit-any -- of expected.json
    assert.deepEqual(seen, batches.map((batch: any) => batch.baseOffset));
    await assert.rejects(log.read(log.logEndOffset), { code: "UNSAFE_INTEGER" });
    await log.close();
  });

  test("segments named beyond 2^53 are told, and a read that comes to them is a typed error", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0 })]);
    await replaceFile(storage, "09007199254740993000.log", new Uint8Array(0));
    const log = await Log.open(storage);
    assert.deepEqual(told(log, "unsafe-integer"), ["unsafe-integer 09007199254740993000.log"]);
    assert.equal((await log.read(0)).firstOffset, 0);
    await assert.rejects(valuesOf(log), { code: "UNSAFE_INTEGER", file: "09007199254740993000.log" });
    assert.equal((await log.offsetForTimestamp(0))!.offset, 0);
    await assert.rejects(log.offsetForTimestamp(2e12), { code: "UNSAFE_INTEGER" });
    await assert.rejects(log.offsetForTimestamp(-3), { code: "UNSAFE_INTEGER" });
    await log.close();
    await storage.remove(LOG);
    await assert.rejects(Log.open(storage), { name: "StorageError", code: "UNSAFE_INTEGER" });
  });

  test("case 010: a batch cut at any byte is the end, and its place is told", async () => {
    const whole = dataBatch({ offset: 0 });
    const torn = dataBatch({ offset: 1, values: ["torn"] });
    for (let size = 0; size < torn.length; size++) {
      const storage = new MemoryStorage();
      await replaceFile(storage, LOG, concatenated(whole, torn.subarray(0, size)));
      await replaceFile(storage, INDEX, new Uint8Array(0));
      const log = await Log.open(storage);
      assert.deepEqual([log.logEndOffset, log.trailingBytes], [1, size]);
      // Its first 7 bytes are zero, as the tail of a file made at full length.
      const kind = size <= 7 ? "zero-tail" : "torn-batch";
      assert.deepEqual(told(log), size === 0 ? [] : [`${kind} ${LOG} ${whole.length} 1`]);
      assert.deepEqual(await valuesOf(log), ["x"]);
      await log.close();
    }
  });

  test("case 010: what cannot be a batch is the end as well, and recovery is said to lose what follows", async () => {
    const damaged = dataBatch({ offset: 1 });
    new DataView(damaged.buffer).setInt32(8, 5);
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0 }), damaged, dataBatch({ offset: 2 })]);
    const log = await Log.open(storage);
    assert.deepEqual(told(log, "corrupt-batch"), [`corrupt-batch ${LOG} 69 1`]);
    assert.equal(log.anomalies.find(({ kind }) => kind === "corrupt-batch")!.losesData, true);
    assert.deepEqual([log.logEndOffset, await valuesOf(log)], [1, ["x"]]);
    await log.close();
  });

  test("case 034: offsets further than 2^31 from the base are read, and told", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 2 ** 31 - 2, values: ["a", "b"] }),
      dataBatch({ offset: 2 ** 31, values: ["c", "d"] }),
    ]);
    const log = await Log.open(storage);
    assert.deepEqual(told(log, "offset-overflow"), [`offset-overflow ${LOG} 154 ${2 ** 31 + 2}`]);
    assert.deepEqual([log.logEndOffset, await valuesOf(log)], [2 ** 31 + 2, [..."abcd"]]);
    assert.equal((await log.read(2 ** 31 + 1)).position, 77);
    await log.close();
    await putSegment(storage, 0, [dataBatch({ offset: 2 ** 31 - 2, values: ["a", "b"] })]);
    const fits = await Log.open(storage);
    assert.deepEqual(told(fits, "offset-overflow"), []);
    await fits.close();
  });

  test("a last batch with an offset that is too low is told, and hides nothing that is before it", async () => {
    for (const [offset, kind] of [[5, "offset-not-increasing"], [3, "offset-below-base"]] as const) {
      const storage = new MemoryStorage();
      await putSegment(storage, 0, [dataBatch({ offset: 0, values: ["a", "b"] })]);
      await putSegment(storage, 4, [
        dataBatch({ offset: 4, values: ["c", "d"] }),
        dataBatch({ offset, values: ["low"] }),
      ]);
      const log = await Log.open(storage);
      assert.deepEqual(told(log, kind), [`${kind} 00000000000000000004.log 77 ${offset}`]);
      assert.deepEqual([log.logEndOffset, await valuesOf(log)], [6, [..."abcd"]]);
      await log.close();
    }
  });

  test("leader epochs and a topic id that cannot be read are told, and the records are read without them", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0 })]);
    await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n9\n0 0\n"));
    await replaceFile(storage, "partition.metadata", Uint8Array.of(255));
    const log = await Log.open(storage);
    assert.deepEqual(told(log, "leader-epochs-unreadable", "partition-metadata-unreadable"), [
      "leader-epochs-unreadable leader-epoch-checkpoint",
      "partition-metadata-unreadable partition.metadata",
    ]);
    assert.equal(log.topicId, undefined);
    assert.deepEqual(await valuesOf(log), ["x"]);
    await log.close();
    await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n2\n0 0\n1 7\n"));
    const beyond = await Log.open(storage);
    assert.deepEqual(told(beyond, "leader-epochs-content"), ["leader-epochs-content leader-epoch-checkpoint 7"]);
    assert.deepEqual(beyond.leaderEpochs, [{ epoch: 0, startOffset: 0 }]);
    await beyond.close();
  });
});

describe("case 037: indexes that are wrong", () => {
  /** 40 batches of two records, and what each offset is read as. */
  async function damagedLog(name: string, bytes: Uint8Array | undefined, magic: number): Promise<Storage> {
    const storage = new MemoryStorage();
    const batches = Array.from(
      { length: 40 },
      (_, n) =>
        magic === 2
          ? dataBatch({ offset: 5 + 2 * n, values: [`${10 + n}`, `${50 + n}`], timestamp: 1000 + 2 * n })
          : rawMessage({ offset: BigInt(6 + 2 * n), magic, timestamp: BigInt(1000 + 2 * n), value: Uint8Array.of(n) }),
    );
    await putSegment(storage, 5, batches);
    if (bytes !== undefined) await replaceFile(storage, name.replace("0.", "5."), bytes);
    return storage;
  }

  const size = dataBatch({ values: ["00", "01"] }).length;
  const offsetCases: [what: string, index: Uint8Array][] = [
    ["9 bytes", concatenated(offsetEntries([[5, 2 * size]]), [0])],
    ["the offset before the base", offsetEntries([[5, 2 * size], [-1, 3 * size]])],
    ["two bytes over the start", concatenated([0x20, 0x20], offsetEntries([[5, 2 * size], [9, 4 * size]]).subarray(2))],
    ["falling offsets", offsetEntries([[31, 15 * size], [11, 16 * size], [41, 20 * size]])],
    ["falling positions", offsetEntries([[11, 16 * size], [31, 15 * size]])],
    ["beyond the file", offsetEntries([[11, 5 * size], [21, 1_000_000]])],
    ["at the end of the file", offsetEntries([[11, 5 * size], [21, 40 * size]])],
    ["in the middle of a batch", offsetEntries([[11, 5 * size + 7]])],
    ["another batch's position", offsetEntries([[11, 20 * size]])],
    ["garbage", Uint8Array.from({ length: 80 }, (_, i) => (i * 151 + 77) & 255)],
  ];
  for (const [what, index] of offsetCases) {
    test(`.index with ${what}: every read is what a full scan gives`, async () => {
      const [whole, damaged] = [await damagedLog(INDEX, undefined, 2), await damagedLog(INDEX, index, 2)];
      const [log, other] = [await Log.open(whole), await Log.open(unwritable(damaged))];
      assert.equal(other.logEndOffset, 85);
      for (let offset = 5; offset < 85; offset++) {
        const [right, ours] = [await log.read(offset), await other.read(offset)];
        assert.deepEqual([ours.position, ours.firstOffset], [right.position, right.firstOffset], `offset ${offset}`);
      }
      if (what !== "in the middle of a batch" && what !== "another batch's position") {
        assert.ok(told(other, "index-entry", "index-size").length > 0, "it is told");
      }
      await Promise.all([log.close(), other.close()]);
    });
  }

  const timeCases: [what: string, index: Uint8Array, isTold: boolean][] = [
    ["13 bytes", concatenated(timeEntries([[1011, 11]]), [0]), true],
    ["a last timestamp before the first", concatenated(timeEntries([[1021, 21], [1011, 11]])), true],
    ["a zero tail", concatenated(timeEntries([[1011, 11]]), new Uint8Array(12)), true],
    ["falling offsets", timeEntries([[1011, 31], [1021, 21]]), true],
    ["an offset before the base", timeEntries([[1011, -3], [1021, 21]]), true],
    ["no entry", new Uint8Array(0), false],
  ];
  for (const [what, index, isTold] of timeCases) {
    test(`.timeindex with ${what}: every timestamp leads to where a full scan does`, async () => {
      const [whole, damaged] = [await damagedLog(TIME_INDEX, undefined, 2), await damagedLog(TIME_INDEX, index, 2)];
      const [log, other] = [await Log.open(whole), await Log.open(unwritable(damaged))];
      for (const timestamp of [-3, ...Array.from({ length: 90 }, (_, i) => 995 + i)]) {
        assert.deepEqual(
          await other.offsetForTimestamp(timestamp),
          await log.offsetForTimestamp(timestamp),
          `timestamp ${timestamp}`,
        );
      }
      assert.equal(told(other, "index-entry", "index-size", "index-zero-tail").length > 0, isTold);
      await Promise.all([log.close(), other.close()]);
    });
  }

  test("the old formats are read by an index whose keys are first offsets or last ones", async () => {
    for (const magic of [0, 1]) {
      const bytes = rawMessage({ offset: 6n, magic, timestamp: 1n, value: Uint8Array.of(1) }).length;
      const index = offsetEntries([[4, 2 * bytes], [11, 5 * bytes]]);
      const log = await Log.open(await damagedLog(INDEX, index, magic));
      for (let offset = 5; offset < 85; offset++) {
        assert.equal((await log.read(offset)).position, Math.floor((offset - 5) / 2) * bytes, `offset ${offset}`);
      }
      await log.close();
    }
  });
});

describe("case 070: what a crash leaves in a folder", () => {
  const BATCH = (offset: number, value: string) => dataBatch({ offset, values: [value] });

  /** Segments at 0, 10 and 20 of two records each. */
  async function threeSegments(): Promise<MemoryStorage> {
    const storage = new MemoryStorage();
    for (const base of [0, 10, 20]) {
      await putSegment(storage, base, [BATCH(base, `${base}`), BATCH(base + 1, `${base + 1}`)]);
      await replaceFile(storage, `${String(base).padStart(20, "0")}.index`, new Uint8Array(0));
    }
    return storage;
  }

  const name = (base: number, suffix: string) => `${String(base).padStart(20, "0")}.${suffix}`;

  test("files to be deleted, indexes without a .log, unknown files: told or left alone, and the records are there", async () => {
    const storage = await threeSegments();
    await replaceFile(storage, name(30, "log"), new Uint8Array(0));
    await replaceFile(storage, name(500, "index"), new Uint8Array(8));
    await replaceFile(storage, name(500, "txnindex"), new Uint8Array(34));
    await replaceFile(storage, name(5, "log.deleted"), BATCH(5, "deleted"));
    await replaceFile(storage, "foo", Uint8Array.of(1));
    const log = await Log.open(unwritable(storage));
    assert.deepEqual(told(log), [
      `deleted-file ${name(5, "log.deleted")}`,
      `orphan-index ${name(500, "index")}`,
      `orphan-index ${name(500, "txnindex")}`,
    ]);
    assert.deepEqual([log.logEndOffset, log.segments.length], [30, 4]);
    assert.deepEqual(await valuesOf(log), ["0", "1", "10", "11", "20", "21"]);
    await log.close();
  });

  test("a compaction that was not complete is undone", async () => {
    const storage = await threeSegments();
    await replaceFile(storage, name(0, "log.cleaned"), BATCH(1, "1"));
    await replaceFile(storage, name(0, "index.cleaned"), new Uint8Array(0));
    assert.deepEqual(await contentOf(unwritable(storage)), ["0", "1", "10", "11", "20", "21"]);
    // The new segments are renamed from the last to the first: one that is done goes as well.
    await replaceFile(storage, name(10, "log.swap"), BATCH(11, "new"));
    const log = await Log.open(unwritable(storage));
    assert.deepEqual(await valuesOf(log), ["0", "1", "10", "11", "20", "21"]);
    assert.deepEqual(told(log), [
      `unfinished-replacement ${name(0, "index.cleaned")}`,
      `unfinished-replacement ${name(0, "log.cleaned")}`,
      `unfinished-replacement ${name(10, "log.swap")}`,
    ]);
    await log.close();
  });

  test("a compaction that was complete is finished: the new segments hide the old ones, wherever the crash came", async () => {
    // Segments 0 and 10 became one; of the old files all, some or none are left.
    for (const left of [[0, 10], [10], []]) {
      const storage = await threeSegments();
      for (const base of [0, 10]) {
        if (left.includes(base)) continue;
        for (const suffix of ["log", "index"]) {
          await storage.rename(name(base, suffix), name(base, `${suffix}.deleted`));
        }
      }
      await replaceFile(storage, name(0, "log.swap"), concatenated(BATCH(1, "new 1"), BATCH(11, "new 11")));
      await replaceFile(storage, name(0, "index.swap"), new Uint8Array(0));
      const log = await Log.open(unwritable(storage));
      assert.deepEqual(await valuesOf(log), ["new 1", "new 11", "20", "21"]);
      assert.deepEqual(log.segments.map(({ baseOffset }) => baseOffset), [0, 20]);
      assert.ok(told(log, "unfinished-replacement").length >= 2);
      assert.deepEqual(told(log, "orphan-index", "missing-index"), []);
      await log.close();
    }
    // And after the first of two new ones got its name.
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [BATCH(1, "new 1")]);
    await replaceFile(storage, name(10, "log.swap"), BATCH(11, "new 11"));
    assert.deepEqual(await contentOf(unwritable(storage)), ["new 1", "new 11"]);
  });

  test("case 071: what two segments hold both is read once; a segment may begin above its base", async () => {
    const storage = new MemoryStorage();
    const values = (from: number, until: number) => Array.from({ length: until - from }, (_, i) => `${from + i}`);
    await putSegment(storage, 0, [
      dataBatch({ offset: 0, values: values(0, 4) }),
      dataBatch({ offset: 4, values: values(4, 10) }),
    ]);
    await putSegment(storage, 5, [
      dataBatch({ offset: 5, values: values(5, 8) }),
      dataBatch({ offset: 8, values: values(8, 15) }),
    ]);
    assert.deepEqual(await contentOf(storage), values(0, 15));
    const log = await Log.open(storage);
    await valuesOf(log);
    assert.deepEqual(told(log, "overlapping-segment"), ["overlapping-segment 00000000000000000005.log 5"]);
    await log.close();
  });

  test("case 074: a log start above the end is told, and nothing is left to read", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0, values: Array.from({ length: 80 }, () => "x") })]);
    const log = await Log.open(storage, { logStartOffset: 100 });
    assert.deepEqual([log.logStartOffset, log.highWatermark, log.logEndOffset], [100, 100, 100]);
    assert.deepEqual(told(log, "offset-checkpoint-content"), [
      "offset-checkpoint-content log-start-offset-checkpoint 100",
    ]);
    assert.equal((await log.read(100)).records, undefined);
    assert.equal(await log.lastStableOffset(), 100);
    await assert.rejects(log.read(79), { code: "OFFSET_OUT_OF_RANGE" });
    assert.deepEqual(await valuesOf(log), []);
    await log.close();
  });
});

describe("opening a partition of a log directory", () => {
  test("its checkpoints are used: log start, high watermark, recovery point and the clean stop", async () => {
    const set = goldenSet("09b-delete-records-later");
    const directory = nodeStorage(set.directory, { readOnly: true });
    const log = await Log.openPartition(directory, set.partition);
    const { opened } = set.expected;
    assert.deepEqual(
      [log.logStartOffset, log.logEndOffset, log.highWatermark],
      [opened.logStartOffset, opened.logEndOffset, opened.logEndOffset],
    );
    assert.deepEqual(log.anomalies.filter(({ level }) => level === "damage"), []);
    await log.close();
    await assert.rejects(Log.openPartition(directory, "no-0"), { name: "StorageError", code: "ENOENT", file: "no-0" });
    await assert.rejects(Log.openPartition(directory, "other"), { name: "StorageError", code: "ENOENT" });
  });

  test("a checkpoint that cannot be read is told and passed over, as by a broker", async () => {
    const directory = new MemoryStorage();
    const folder = await directory.folder("t-0");
    await putSegment(folder, 0, [dataBatch({ offset: 0, values: ["a", "b", "c"] })]);
    const text = (text: string) => new TextEncoder().encode(text);
    await replaceFile(directory, "log-start-offset-checkpoint", text("0\n2\nt 0 1\n"));
    await replaceFile(directory, "replication-offset-checkpoint", text("0\n2\nother 0 9\nt 0 2\n"));
    await replaceFile(directory, "recovery-point-offset-checkpoint", text("0\n1\nt 0 7\n"));
    const log = await Log.openPartition(directory, "t-0");
    assert.deepEqual([log.logStartOffset, log.highWatermark, log.recoveryPoint], [0, 2, 3]);
    assert.deepEqual(told(log, "offset-checkpoint-unreadable", "offset-checkpoint-content"), [
      "offset-checkpoint-unreadable log-start-offset-checkpoint",
      "offset-checkpoint-content recovery-point-offset-checkpoint 7",
    ]);
    await log.close();
  });
});

describe("16-damaged", () => {
  test("every case that lies there as a folder opens to be read, or is a typed error", async () => {
    const root = goldenSet("01-plain").directory.replace(/01-plain.$/, "16-damaged/");
    const folders = await nodeStorage(root, { readOnly: true }).folders();
    assert.ok(folders.length >= 10);
    for (const folder of folders) {
      const directory = nodeStorage(root + folder, { readOnly: true });
      const storage = await directory.folder((await directory.folders())[0]!);
      let anomalies: readonly Anomaly[] = [];
      try {
        const log = await Log.open(storage);
        try {
          await readAll(log);
        } finally {
          anomalies = log.anomalies;
          await log.close();
        }
      } catch (error) {
        assert.ok(error instanceof KafkaError, `${folder}: ${error}`);
      }
      assert.ok(anomalies.every(({ message, file }) => message !== "" && file !== ""));
    }
  });
});
