import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { describe, test } from "node:test";
import { nativeCodecs } from "../adapters/codecs_native.ts";
import { plainCodecs } from "../src/compression/plain_codecs.ts";
import { Log } from "../src/log/log.ts";
import { MemoryStorage } from "../src/log/memory_storage.ts";
import type { Storage } from "../src/log/storage.ts";
import { compareGoldenSet } from "../tools/golden/compare_golden_set.ts";
import type { GoldenSet } from "../tools/golden/golden_set.ts";
import { mismatchText } from "../tools/golden/differences.ts";
import { topicPartitionOf } from "../tools/golden/expected_set.ts";
import { GOLDEN_FOLDER, goldenSetNames, readGoldenSet } from "../tools/golden/read_golden_set.ts";
import { unwritable } from "./helpers/unwritable.ts";

const codecs = { ...plainCodecs, ...nativeCodecs() };
const NAMES = goldenSetNames();

async function goldenSet(name: string): Promise<GoldenSet> {
  const set = await readGoldenSet(join(GOLDEN_FOLDER, name), codecs);
  assert.ok(set !== undefined, name);
  return set;
}

async function assertNoMismatch(set: GoldenSet): Promise<void> {
  const mismatches: string[] = [];
  for await (const mismatch of compareGoldenSet(set)) mismatches.push(mismatchText(mismatch));
  assert.equal(mismatches.length, 0, mismatches.slice(0, 30).join("\n"));
}

async function openLog({ expected, folder }: GoldenSet, storage: Storage = folder): Promise<Log> {
  const { logStartOffset } = expected.opened;
  return await Log.open(storage, { mode: "inspect", ...topicPartitionOf(expected), logStartOffset });
}

test("all 51 golden sets are there", () => {
  assert.equal(NAMES.length, 51);
});

describe("our view is what Kafka's own classes say of golden set", () => {
  for (const name of NAMES) {
    test(name, { timeout: 30_000 }, async (t) => {
      const set = await goldenSet(name);
      const hasZstd = set.expected.batches.some((batch) => (batch as unknown as { codec: string }).codec === "zstd");
      if (hasZstd && codecs.zstd === undefined) return t.skip("no zstd here");
      await assertNoMismatch(set);
    });
  }
});

describe("gzip in plain JavaScript reads golden set", () => {
  for (const name of NAMES.filter((name) => name.endsWith("-gzip"))) {
    test(name, async () => {
      await assertNoMismatch({ ...await goldenSet(name), codecs: plainCodecs });
    });
  }
});

/** Does all that can be done with a log that is inspected. */
async function readAll(log: Log): Promise<void> {
  await log.lastStableOffset();
  await log.producers();
  log.endOffsetForEpoch(0);
  for (const segment of log.segments) {
    await segment.offsetIndex();
    await segment.timeIndex();
    await segment.transactionIndex();
  }
  for (const isolation of ["log-end", "high-watermark", "committed"] as const) {
    await log.read(log.logStartOffset, { isolation });
    await log.offsetForTimestamp(1700000000000, codecs, { isolation });
  }
  for await (const _ of log.records({ codecs, committed: true })) { /* reads them */ }
  for await (const _ of log.records({ codecs })) { /* reads them */ }
}

test("inspecting any golden set changes nothing", { timeout: 30_000 }, async () => {
  for (const name of NAMES) {
    const set = await goldenSet(name);
    const log = await openLog(set, unwritable(set.folder));
    // There the log ends with this error, see tools/golden/expected_below.ts.
    if (name === "13c-across-2to53") await assert.rejects(readAll(log), { code: "UNSAFE_INTEGER" });
    else await readAll(log);
    await log.close();
  }
});

/** What of a set other than appending made, or another broker than ours is like. */
const NOT_BY_APPENDING: { readonly [name: string]: RegExp } = {
  // A broker before 4.0 notes the offset of the record with the greatest timestamp, not that of its batch's last one.
  "07b-transactions-2.8": /timeindex$/,
  // Deleting records moves the beginning of the first epoch.
  "09a-delete-records-first": /^leader-epoch/,
  "09b-delete-records-later": /^leader-epoch/,
  // A start begins an epoch, and none of its records is there.
  "10b-live": /^leader-epoch/,
  "10b-live-preallocated": /^leader-epoch/,
  "10c-recovered": /^leader-epoch/,
  "10c-recovered-preallocated": /^leader-epoch/,
};

/** Whether batches that are appended one after the other to an empty log get the offsets that these have. */
function isAppendable({ expected }: GoldenSet): boolean {
  let next = expected.segments[0]!.baseOffset;
  return expected.batches.every((batch) => {
    const { magic, baseOffset, lastOffset } = batch as unknown as { readonly [field: string]: number };
    const isNext = magic === 2 && baseOffset === next && Number.isSafeInteger(lastOffset! + 1);
    next = lastOffset! + 1;
    return isNext;
  });
}

/** Appends all batches of a set to a log of the same settings. */
async function appended({ expected, folder }: GoldenSet): Promise<Storage> {
  const storage = new MemoryStorage();
  const { topicConfig, segments } = expected;
  const open = () =>
    Log.open(storage, {
      mode: "write",
      segmentBytes: Number(topicConfig["internal.segment.bytes"] ?? topicConfig["segment.bytes"] ?? 2 ** 30),
      indexIntervalBytes: Number(topicConfig["index.interval.bytes"] ?? 4096),
      logStartOffset: segments[0]!.baseOffset,
    });
  let log = await open();
  const source = await Log.open(folder, { mode: "inspect" });
  for await (const batch of source.batches()) {
    const isRestart = batch.partitionLeaderEpoch !== (log.leaderEpochs.at(-1)?.epoch ?? batch.partitionLeaderEpoch);
    if (isRestart) {
      // The broker was restarted there, which starts the count of bytes between index entries anew.
      await log.close();
      log = await open();
    }
    await log.append(batch.bytes.slice(), batch.partitionLeaderEpoch);
  }
  await source.close();
  await log.close();
  return storage;
}

async function bytesOf(storage: Storage, name: string): Promise<Uint8Array> {
  const file = await storage.open(name);
  const bytes = new Uint8Array(file.size);
  await file.readAt(bytes, 0);
  await file.close();
  return bytes;
}

test("the batches of a set, appended to a log of the same settings, make Kafka's files byte for byte", {
  timeout: 30_000,
}, async () => {
  let count = 0;
  for (const name of NAMES) {
    const set = await goldenSet(name);
    if (!isAppendable(set)) continue;
    const storage = await appended(set);
    for (const file of await set.folder.list()) {
      if (!/\.(?:log|index|timeindex)$|^leader-epoch/.test(file) || NOT_BY_APPENDING[name]?.test(file)) continue;
      const [ours, theirs] = [await bytesOf(storage, file), await bytesOf(set.folder, file)];
      // What a live or killed broker makes at full length ends in zeros.
      const end = theirs.length > ours.length && theirs.subarray(ours.length).every((byte) => byte === 0)
        ? ours.length
        : theirs.length;
      assert.equal(
        Buffer.from(ours).toString("hex"),
        Buffer.from(theirs.subarray(0, end)).toString("hex"),
        `${name}/${file}`,
      );
      count++;
    }
  }
  // None may drop out unseen.
  assert.equal(count, 250);
});
