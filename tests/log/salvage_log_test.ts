import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { StorageError } from "../../src/core/kafka_error.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { readProducerSnapshot } from "../../src/log/producer_snapshot.ts";
import { LogSalvage, salvageLog, type SalvageReport } from "../../src/log/salvage_log.ts";
import type { Storage } from "../../src/log/storage.ts";
import { verifyLog } from "../../src/log/verify_log.ts";
import { concatenated, rawBatch, rawMessage, rawRecord } from "../helpers/raw_batch.ts";
import { randomBytes, seeded } from "../helpers/seeded.ts";
import { fileBytes, replaceFile } from "./batch_of.ts";
import { goldenCopy, goldenSet } from "./golden_set.ts";
import { scanBatches } from "./plain_scanner.ts";
import { dataBatch, markerBatch, putSegment } from "./raw_log.ts";

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));
const SETS = readdirSync(GOLDEN).filter((name) => /^\d/.test(name) && !name.startsWith("16-"));
const SIZE = dataBatch({ values: ["v0"] }).length;

/** Batches of one record each, offsets `from` … `until` − 1. */
function singles(from: number, until: number): Uint8Array[] {
  return Array.from({ length: until - from }, (_, i) => dataBatch({ offset: from + i, values: [`v${from + i}`] }));
}

async function rescue(source: Storage): Promise<{ readonly target: MemoryStorage; readonly report: SalvageReport }> {
  const target = new MemoryStorage();
  return { target, report: await salvageLog(source, target) };
}

/** A rescue of a folder with these segments. */
async function rescued(
  segments: readonly (readonly [number, readonly Uint8Array[]])[],
): Promise<{ readonly target: MemoryStorage; readonly report: SalvageReport; readonly offsets: number[] }> {
  const source = new MemoryStorage();
  for (const [base, batches] of segments) await putSegment(source, base, batches);
  source.readOnly = true;
  const { target, report } = await rescue(source);
  return { target, report, offsets: await offsetsOf(target) };
}

async function offsetsOf(storage: Storage): Promise<number[]> {
  const offsets: number[] = [];
  for (const name of (await storage.list()).filter((name) => name.endsWith(".log"))) {
    for (const { baseOffset, lastOffset } of scanBatches(await fileBytes(storage, name))) {
      for (let offset = baseOffset; offset <= lastOffset; offset++) offsets.push(offset);
    }
  }
  return offsets;
}

function range(from: number, until: number): number[] {
  return Array.from({ length: until - from }, (_, i) => from + i);
}

/** A batch with another offset, which no checksum covers. */
function moved(batch: Uint8Array, offset: number): Uint8Array {
  const copy = batch.slice();
  new DataView(copy.buffer).setBigInt64(0, BigInt(offset));
  return copy;
}

describe("salvageLog: a log without damage", () => {
  for (const name of SETS) {
    test(`${name} is copied batch by batch`, async () => {
      const set = goldenSet(name);
      const source = await goldenCopy(set);
      source.readOnly = true;
      const { report, target } = await rescue(source);
      // Beyond 2^53 a number cannot hold the offset; Kafka splits a segment with offsets too far from its name, and so do we.
      if (name.startsWith("13c")) {
        assert.equal(report.lost.length, 9);
        return;
      }
      assert.deepEqual([report.lost, report.repaired, report.duplicates], [[], [], 0]);
      const logs = async (storage: Storage) => {
        const names = (await storage.list()).filter((file) => file.endsWith(".log"));
        return concatenated(...await Promise.all(names.map((file) => fileBytes(storage, file))));
      };
      const before = await logs(source);
      const preallocated = set.expected.segments.reduce(
        (sum: number, s: { validBytes: number }) => sum + s.validBytes,
        0,
      );
      assert.deepEqual(await logs(target), before.subarray(0, preallocated));
      const names = (storage: readonly string[]) => storage.filter((file) => file.endsWith(".log"));
      if (!name.startsWith("13d") && !name.startsWith("14-v1-compacted-gzip")) {
        assert.deepEqual(names(await target.list()), names(await source.list()));
      }
      for await (const { level, message } of verifyLog(target)) assert.equal(level, "note", message);
    });
  }

  for (const name of ["02-gzip", "06-log-append-time", "07-transactions", "13a-beyond-2to31", "14-builder"]) {
    test(`${name}: indexes, epochs and the topic's id are Kafka's, byte for byte`, async () => {
      const set = goldenSet(name);
      const source = await goldenCopy(set);
      const target = new MemoryStorage();
      const indexIntervalBytes = Number(set.expected.topicConfig?.["index.interval.bytes"] ?? 4096);
      await salvageLog(source, target, { indexIntervalBytes });
      for (const file of (await source.list()).filter((file) => !file.endsWith(".snapshot"))) {
        assert.deepEqual(await fileBytes(target, file), await fileBytes(source, file), file);
      }
    });
  }

  test("07-transactions: one producer snapshot, at the end, that says what Kafka's says", async () => {
    const source = await goldenCopy(goldenSet("07-transactions"));
    const { report, target } = await rescue(source);
    const snapshots = (await target.list()).filter((name) => name.endsWith(".snapshot"));
    assert.deepEqual(snapshots, ["00000000000000000375.snapshot"]);
    const entries = async (storage: Storage) =>
      [...(await readProducerSnapshot(storage, snapshots[0]!)).entries].sort((a, b) => a.producerId - b.producerId);
    assert.deepEqual(await entries(target), await entries(source));
    assert.deepEqual(report.openTransactions, [{ producerId: 1010, firstOffset: 363 }]);
  });

  test("a KRaft log keeps its snapshots and its quorum state", async () => {
    const source = await goldenCopy(goldenSet("12-cluster-metadata"));
    const { target } = await rescue(source);
    for (const file of ["00000000000000000150-0000000002.checkpoint"]) {
      assert.deepEqual(await fileBytes(target, file), await fileBytes(source, file));
    }
  });
});

describe("salvageLog: damage", () => {
  test("a flipped byte costs one batch, and the report says which bytes and offsets", async () => {
    const batches = singles(0, 10);
    batches[4]![SIZE - 3]! ^= 1;
    const { offsets, report, target } = await rescued([[0, batches]]);
    assert.deepEqual(offsets, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    assert.deepEqual(report.lost.map(({ reason: _, ...lost }) => lost), [
      {
        kind: "damaged",
        file: "00000000000000000000.log",
        from: 4 * SIZE,
        until: 5 * SIZE,
        firstOffset: 4,
        lastOffset: 4,
      },
    ]);
    const log = await Log.open(target, { mode: "inspect" });
    const values: string[] = [];
    for await (const record of log.records()) values.push(new TextDecoder().decode(record.value!));
    assert.deepEqual(values, ["v0", "v1", "v2", "v3", "v5", "v6", "v7", "v8", "v9"]);
    await log.close();
  });

  test("random bytes between batches: nothing is lost, since no offset is missing", async () => {
    const noise = randomBytes(seeded(4), 1000);
    const { offsets, report } = await rescued([[0, [...singles(0, 5), noise, ...singles(5, 10)]]]);
    assert.deepEqual([offsets, report.lost], [range(0, 10), []]);
    assert.deepEqual(report.damaged.map(({ from, until }) => [from, until]), [[5 * SIZE, 5 * SIZE + 1000]]);
  });

  for (const length of [0, -1, 13, 14, 49, SIZE - 13, SIZE - 11, 2 * SIZE - 12, 5000, 2 ** 31 - 1]) {
    test(`a batch whose length says ${length} is put right, as its checksum proves`, async () => {
      const batches = singles(0, 10);
      new DataView(batches[4]!.buffer).setInt32(8, length);
      const { offsets, report } = await rescued([[0, batches]]);
      assert.deepEqual([offsets, report.lost], [range(0, 10), []]);
      assert.deepEqual(report.repaired.map(({ actual, field, offset, stored }) => [field, offset, stored, actual]), [
        ["length", 4, length, SIZE - 12],
      ]);
    });
  }

  test("a torn length in the last batch is put right, too", async () => {
    const batches = singles(0, 3);
    new DataView(batches[2]!.buffer).setInt32(8, 99);
    assert.deepEqual((await rescued([[0, batches]])).offsets, [0, 1, 2]);
  });

  for (const magic of [0, 1, 3, 127, 255]) {
    test(`a batch of format 2 that says ${magic} is put right`, async () => {
      const batches = singles(0, 10);
      batches[4]![16] = magic;
      const { offsets, report } = await rescued([[0, batches]]);
      assert.deepEqual([offsets, report.lost, report.repaired.length], [range(0, 10), [], 1]);
    });
  }

  test("a leader epoch between two equal ones, and one that the checkpoint does not know, are put right", async () => {
    const source = new MemoryStorage();
    const epochs = [1, 1, 9, 1, 2, 2, 7];
    await putSegment(source, 0, epochs.map((leaderEpoch, offset) => dataBatch({ offset, leaderEpoch })));
    await replaceFile(source, "leader-epoch-checkpoint", new TextEncoder().encode("0\n2\n1 0\n2 4\n"));
    const { report, target } = await rescue(source);
    assert.deepEqual(report.repaired.map(({ actual, field, offset, stored }) => [field, offset, stored, actual]), [
      ["leader epoch", 2, 9, 1],
      ["leader epoch", 6, 7, 2],
    ]);
    const text = new TextDecoder().decode(await fileBytes(target, "leader-epoch-checkpoint"));
    assert.equal(text, "0\n2\n1 0\n2 4\n");
  });

  test("epochs that a checkpoint of former times does not know are those of the batches", async () => {
    const source = new MemoryStorage();
    await putSegment(source, 0, [1, 1, 2, 2, 3].map((leaderEpoch, offset) => dataBatch({ offset, leaderEpoch })));
    await replaceFile(source, "leader-epoch-checkpoint", new TextEncoder().encode("0\n1\n1 0\n"));
    await putSegment(source, 5, [dataBatch({ offset: 5, leaderEpoch: 3 })]);
    const { report, target } = await rescue(source);
    assert.deepEqual(report.repaired, []);
    const text = new TextDecoder().decode(await fileBytes(target, "leader-epoch-checkpoint"));
    assert.equal(text, "0\n3\n1 0\n2 2\n3 4\n");
  });

  test("a batch within a value is not taken for one of the log", async () => {
    const inner = concatenated(...singles(6, 9));
    // Its value holds batches with offsets that would fit here.
    const outer = rawBatch({
      baseOffset: 4n,
      partitionLeaderEpoch: 0,
      records: rawRecord({ value: "x" }),
    });
    const carrier = rawBatch({
      baseOffset: 5n,
      partitionLeaderEpoch: 0,
      records: concatenated(outer.subarray(0, 7), inner, new Uint8Array(5)),
    });
    carrier[30]! ^= 1;
    const { offsets, report } = await rescued([[0, [...singles(0, 5), carrier, ...singles(9, 12)]]]);
    assert.deepEqual(offsets, [0, 1, 2, 3, 4, 9, 10, 11]);
    assert.deepEqual(report.lost.map(({ firstOffset, lastOffset }) => [firstOffset, lastOffset]), [[5, 8]]);
  });

  test("an offset that is too high or too low costs that batch alone, wherever it lies", async () => {
    for (const at of [0, 1, 5, 8]) {
      for (const offset of [1000, 2 ** 40]) {
        const batches = singles(0, 10);
        batches[at] = moved(batches[at]!, offset);
        const { offsets, report } = await rescued([[0, batches], [10, singles(10, 20)]]);
        assert.deepEqual(offsets, range(0, 20).filter((o) => o !== at), `batch ${at} at offset ${offset}`);
        assert.deepEqual(report.lost.map(({ kind }) => kind).filter((kind) => kind === "misplaced"), ["misplaced"]);
      }
    }
    const batches = singles(0, 10);
    batches[9] = moved(batches[9]!, 1000);
    assert.deepEqual((await rescued([[0, batches], [10, singles(10, 20)]])).offsets, [
      ...range(0, 9),
      ...range(10, 20),
    ]);
    const low = singles(10, 20);
    low[5] = moved(low[5]!, 3);
    const { offsets } = await rescued([[0, singles(0, 10)], [10, low]]);
    assert.deepEqual(offsets, range(0, 20).filter((offset) => offset !== 15));
  });

  test("offsets that cannot be: −1, and 2^63−1", async () => {
    for (const offset of [-1n, 2n ** 63n - 1n]) {
      const batches = singles(0, 10);
      new DataView(batches[4]!.buffer).setBigInt64(0, offset);
      const { offsets, report } = await rescued([[0, batches]]);
      assert.deepEqual(offsets, range(0, 10).filter((o) => o !== 4));
      assert.match(report.lost[0]!.reason, /its checksum is right, but its offsets are/);
    }
  });

  test("an offset too far from the file's name gets a segment of its own", async () => {
    const far = 2 ** 33;
    const { offsets, report } = await rescued([[0, [...singles(0, 3), ...singles(far, far + 2)]]]);
    assert.deepEqual(offsets, [0, 1, 2, far, far + 1]);
    assert.deepEqual(report.segments.map(({ baseOffset }) => baseOffset), [0, far]);
  });

  test("so does a compressed message of format 1, of which it is not told where it begins", async () => {
    const wrapper = (offset: number) =>
      rawMessage({ magic: 1, attributes: 1, offset: BigInt(offset), value: new Uint8Array(9) });
    const far = 2 ** 32 + 17;
    const { report, target } = await rescued([[0, [wrapper(3), wrapper(32), wrapper(far)]]]);
    assert.deepEqual(report.segments.map(({ batches }) => batches), [2, 1]);
    assert.ok(far - report.segments[1]!.baseOffset <= 2 ** 31 - 1);
    for await (const { level, message } of verifyLog(target)) assert.equal(level, "note", message);
  });

  test("files under each other's names are sorted by what is in them", async () => {
    const { offsets, report } = await rescued([[0, singles(20, 30)], [10, singles(10, 20)], [20, singles(0, 10)]]);
    assert.deepEqual([offsets, report.lost, report.duplicates], [range(0, 30), [], 0]);
    assert.deepEqual(report.segments.map(({ baseOffset }) => baseOffset), [0, 10, 20]);
  });

  test("case 071: what is there twice is written once; what contradicts it is reported", async () => {
    const { offsets, report } = await rescued([[0, singles(0, 10)], [5, singles(5, 15)]]);
    assert.deepEqual([offsets, report.lost, report.duplicates], [range(0, 15), [], 5]);
    const other = range(5, 8).map((offset) => dataBatch({ offset, values: ["other"] }));
    const conflict = await rescued([[0, singles(0, 10)], [5, other]]);
    assert.deepEqual(conflict.offsets, range(0, 10));
    assert.deepEqual(conflict.report.lost.map(({ file, firstOffset, kind }) => [kind, file, firstOffset]), [
      ["conflict", "00000000000000000005.log", undefined],
      ["conflict", "00000000000000000005.log", undefined],
      ["conflict", "00000000000000000005.log", undefined],
    ]);
  });

  test("a batch that reaches further than the one it gives way to: the rest of it is lost", async () => {
    const long = dataBatch({ offset: 8, values: ["a", "b", "c", "d"] });
    const { offsets, report } = await rescued([[0, singles(0, 10)], [8, [long]]]);
    assert.deepEqual(offsets, range(0, 10));
    assert.deepEqual(report.lost.map(({ firstOffset, kind, lastOffset }) => [kind, firstOffset, lastOffset]), [
      ["conflict", 10, 11],
    ]);
  });

  test("a segment whose file is missing: its offsets are reported", async () => {
    const { offsets, report } = await rescued([[0, singles(0, 10)], [20, singles(20, 30)]]);
    assert.deepEqual(offsets, [...range(0, 10), ...range(20, 30)]);
    assert.deepEqual(report.lost.map(({ firstOffset, kind, lastOffset }) => [kind, firstOffset, lastOffset]), [
      ["missing", 10, 19],
    ]);
  });

  test("case 070: .swap and .cleaned fill only what no file in use holds; .deleted only if asked", async () => {
    const source = new MemoryStorage();
    await putSegment(source, 0, singles(0, 5));
    await replaceFile(source, "00000000000000000000.log.swap", concatenated(...singles(0, 3)));
    await replaceFile(source, "00000000000000000005.log.cleaned", concatenated(...singles(5, 10)));
    await replaceFile(source, "00000000000000000010.log.deleted", concatenated(...singles(10, 12)));
    assert.deepEqual(await offsetsOf((await rescue(source)).target), range(0, 10));
    const target = new MemoryStorage();
    await salvageLog(source, target, { includeDeleted: true });
    assert.deepEqual(await offsetsOf(target), range(0, 12));
  });

  test("a marker that is lost leaves its transaction open, and the report says so", async () => {
    const transaction = dataBatch({ offset: 0, producerId: 7, transactional: true });
    const marker = markerBatch("COMMIT", 7, { offset: 1 });
    marker[40]! ^= 1;
    const { report } = await rescued([[0, [transaction, marker, ...singles(2, 4)]]]);
    assert.deepEqual(report.openTransactions, [{ producerId: 7, firstOffset: 0 }]);
  });

  test("nothing intact: an empty log at the last segment's offset", async () => {
    const { offsets, report, target } = await rescued([[0, [randomBytes(seeded(1), 500)]], [40, [new Uint8Array(10)]]]);
    assert.deepEqual([offsets, report.logEndOffset], [[], 40]);
    assert.deepEqual((await target.list()).filter((name) => name.endsWith(".log")), ["00000000000000000040.log"]);
  });

  test("bytes made to look like batches everywhere take no time", { timeout: 60_000 }, async () => {
    // At every byte a length that fits, a magic and an offset that could be: each claims most of the file.
    const hostile = new Uint8Array(600_000).fill(2);
    const view = new DataView(hostile.buffer);
    for (let at = 0; at + 8 <= hostile.length; at += 8) view.setInt32(at, at % 16 === 0 ? 0 : 400_000);
    const { offsets } = await rescued([[0, [...singles(0, 2), hostile, ...singles(2, 4)]]]);
    assert.deepEqual(offsets, [0, 1, 2, 3]);
  });
});

describe("salvageLog: where it writes and what it refuses", () => {
  test("a folder that is not empty is refused, and nothing is written into it", async () => {
    const source = new MemoryStorage();
    await putSegment(source, 0, singles(0, 2));
    const target = new MemoryStorage();
    await replaceFile(target, "something", new Uint8Array(1));
    await assert.rejects(salvageLog(source, target), { code: "NOT_EMPTY", file: "something" });
    assert.deepEqual(await target.list(), ["something"]);
  });

  test("a folder without segments, and offsets beyond 2^53−1 in a file's name", async () => {
    await assert.rejects(salvageLog(new MemoryStorage(), new MemoryStorage()), { code: "NO_SEGMENTS" });
    const source = new MemoryStorage();
    await replaceFile(source, "00009007199254740993.log", dataBatch());
    await assert.rejects(salvageLog(source, new MemoryStorage()), { code: "UNSAFE_INTEGER" });
  });

  test("a file that changes between the two readings is an error that says so", async () => {
    const source = new MemoryStorage();
    await putSegment(source, 0, singles(0, 3));
    const salvage = await LogSalvage.survey(source);
    assert.equal(salvage.plan.bytes, 3 * SIZE);
    const changed = singles(0, 3);
    changed[1]![SIZE - 1]! ^= 1;
    await putSegment(source, 0, changed);
    await assert.rejects(salvage.write(new MemoryStorage()), (error: unknown) => {
      assert.ok(error instanceof StorageError);
      assert.deepEqual([error.code, error.position], ["FILE_CHANGED", SIZE]);
      return true;
    });
  });

  test("a full disk is the storage's own error, and both folders' files are closed", async () => {
    const source = new MemoryStorage();
    await putSegment(source, 0, singles(0, 100));
    const target = new MemoryStorage();
    target.capacity = 3000;
    await assert.rejects(salvageLog(source, target), { code: "ENOSPC" });
  });

  test("it can be interrupted, and tells how far it is", async () => {
    const source = await goldenCopy(goldenSet("05-zstd"));
    let bytes = 0;
    await salvageLog(source, new MemoryStorage(), { onProgress: (more) => bytes += more });
    assert.ok(bytes > 100_000);
    await assert.rejects(salvageLog(source, new MemoryStorage(), { signal: AbortSignal.abort() }), { code: "ABORTED" });
  });
});
