import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import type { Anomaly } from "../../src/log/anomaly.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage, StoredFile } from "../../src/log/storage.ts";
import { verifyLog, type VerifyOptions, type VerifySummary } from "../../src/log/verify_log.ts";
import { verifyLogDirectory } from "../../src/log/verify_log_directory.ts";
import { memoryCopy, putFile } from "../helpers/memory_copy.ts";
import { concatenated, rawBatch, rawRecord } from "../helpers/raw_batch.ts";
import { copyFiles, fileBytes, replaceFile } from "./batch_of.ts";
import { goldenCopy, goldenSet } from "./golden_set.ts";
import { scanBatches, type ScannedBatch } from "./plain_scanner.ts";
import { dataBatch, markerBatch, offsetEntries, putSegment, putTransactionIndex, timeEntries } from "./raw_log.ts";

const codecs = { ...plainCodecs, ...nativeCodecs() };
const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));
const SETS = readdirSync(GOLDEN).filter((name) => /^\d/.test(name) && !name.startsWith("16-"));

async function verify(
  storage: Storage,
  options: VerifyOptions = { codecs },
): Promise<{ readonly found: Anomaly[]; readonly summary: VerifySummary }> {
  const found: Anomaly[] = [];
  const verification = verifyLog(storage, options);
  for (;;) {
    const { done, value } = await verification.next();
    if (done) return { found, summary: value };
    found.push(value);
  }
}

/** What was found, in short. */
async function kinds(storage: Storage, options?: VerifyOptions): Promise<string[]> {
  return (await verify(storage, options)).found.map(({ file, kind, level }) => `${level} ${kind} ${file}`);
}

const LOG = "00000000000000000000.log";
const INDEX = "00000000000000000000.index";
const TIME_INDEX = "00000000000000000000.timeindex";
const TIMESTAMP = 1_700_000_000_000;

/** A folder with one segment of these batches and, where given, indexes. */
async function folder(
  batches: readonly Uint8Array[],
  index: readonly (readonly [number, number])[] = [],
  times: readonly (readonly [number, number])[] = [],
): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  await putSegment(storage, 0, batches);
  await replaceFile(storage, INDEX, offsetEntries(index));
  await replaceFile(storage, TIME_INDEX, timeEntries(times));
  await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n1\n0 0\n"));
  return storage;
}

/** Ten batches with one record each, 1 s apart: 0 … 9. */
function tenBatches(): Uint8Array[] {
  return Array.from({ length: 10 }, (_, i) => dataBatch({ offset: i, timestamp: TIMESTAMP + 1000 * i }));
}

const SIZE = dataBatch().length;
const LAST_TIME = [TIMESTAMP + 9000, 9] as const;

/** What a live or killed broker, or an odd but legal log, leaves. */
const NOTES: Readonly<Record<string, readonly string[]>> = {
  "08a-compacted": ["deleted-file"],
  "08b-compacted-expired": ["deleted-file"],
  "09b-delete-records-later": ["deleted-file"],
  "09c-retention": ["deleted-file"],
  "10a-killed": ["index-zero-tail", "index-zero-tail"],
  "10a-killed-preallocated": ["zero-tail", "index-zero-tail", "index-zero-tail"],
  "10b-live": ["index-zero-tail", "index-zero-tail"],
  "10b-live-preallocated": ["index-zero-tail", "index-zero-tail"],
  "13c-across-2to53": Array.from({ length: 10 }, () => "unsafe-integer"),
  "13d-overflow": [
    "offset-overflow",
    "offset-overflow",
    "offset-overflow",
    "missing-index",
    "missing-index",
    "leader-epochs-content",
  ],
  "14-v0-compacted-gzip": ["deleted-file"],
  "14-v0-compacted-none": ["deleted-file"],
  "14-v1-compacted-gzip": ["deleted-file"],
  "14-v1-compacted-none": ["deleted-file"],
  "15-odd-v2": ["leader-epochs-content"],
};

describe("verifyLog: what Kafka left is sound", () => {
  for (const name of SETS) {
    test(`${name}: no damage, and exactly the notes that are due`, async () => {
      const set = goldenSet(name);
      const storage = await goldenCopy(set);
      storage.readOnly = true;
      const { found, summary } = await verify(storage);
      assert.deepEqual(found.filter(({ level }) => level === "damage"), []);
      assert.deepEqual(found.map(({ kind }) => kind), NOTES[name] ?? []);
      const sizes = set.expected.segments.map(({ file }: { file: string }) =>
        set.expected.files.find((entry: { name: string }) => entry.name === file).size
      );
      assert.equal(summary.segments, sizes.length);
      if (!name.startsWith("13c")) assert.equal(summary.batches, set.expected.batches.length - skipped(set.expected));
    });
  }

  test("a log directory of Kafka's: nothing is unreadable", async () => {
    for (const name of SETS) {
      const found = await verifyLogDirectory(await memoryCopy(`${GOLDEN}${name}`));
      assert.deepEqual(found.filter(({ level }) => level === "damage"), [], name);
    }
  });
});

/** Batches of the set's KRaft snapshots, which are no segments. */
function skipped(expected: { readonly batches: readonly { readonly file: string }[] }): number {
  return expected.batches.filter(({ file }) => !file.endsWith(".log")).length;
}

describe("verifyLog: segments", () => {
  test("a flipped byte: the place, the offsets, and that recovery would lose what follows", async () => {
    const batches = tenBatches();
    batches[4]![SIZE - 1]! ^= 1;
    const { found } = await verify(await folder(batches, [], [LAST_TIME]));
    assert.equal(found.length, 1);
    const [{ file, kind, level, losesData, message, offset, position }] = found as [Anomaly];
    assert.deepEqual([file, kind, level, losesData, offset, position], [
      LOG,
      "corrupt-batch",
      "damage",
      true,
      4,
      4 * SIZE,
    ]);
    assert.match(
      message,
      /bytes \d+ to \d+: its checksum is wrong.* Offset 4 is lost\. A broker .*right batches/,
    );
  });

  test("a torn batch at the end: lost, but recovery cuts nothing else", async () => {
    const batches = tenBatches();
    batches[9] = batches[9]!.subarray(0, 40);
    const { found } = await verify(await folder(batches, [], [[TIMESTAMP + 8000, 8]]));
    assert.deepEqual(found.map(({ kind, level, losesData, offset }) => [kind, level, losesData, offset]), [
      ["torn-batch", "damage", false, 9],
    ]);
  });

  test("zeros at the end are a note; with the marker of a clean stop, or before another segment, they are damage", async () => {
    const storage = await folder([...tenBatches(), new Uint8Array(100)], [], [LAST_TIME]);
    assert.deepEqual(await kinds(storage), [`note zero-tail ${LOG}`]);
    assert.deepEqual(await kinds(storage, { cleanShutdown: true }), [`damage zero-tail ${LOG}`]);
    await putSegment(storage, 10, [dataBatch({ offset: 10 })]);
    const { found } = await verify(storage);
    assert.deepEqual([found[0]!.kind, found[0]!.level, found[0]!.losesData], ["zero-tail", "damage", true]);
  });

  test("case 071: segments that overlap, a segment whose first batch lies below its name, a file that is missing", async () => {
    const storage = new MemoryStorage();
    const ten = (first: number) => Array.from({ length: 10 }, (_, i) => dataBatch({ offset: first + i }));
    await putSegment(storage, 0, ten(0));
    await putSegment(storage, 5, ten(5));
    assert.deepEqual((await verify(storage)).found.filter(({ level }) => level === "damage").map(({ kind }) => kind), [
      "overlapping-segment",
    ]);
    await storage.remove("00000000000000000005.log");
    await putSegment(storage, 20, ten(10));
    const below = (await verify(storage)).found.filter(({ level }) => level === "damage");
    assert.deepEqual(below.map(({ kind, offset }) => [kind, offset]).slice(0, 2), [
      ["offset-below-base", 10],
      ["offset-below-base", 11],
    ]);
    await storage.remove("00000000000000000020.log");
    await putSegment(storage, 20, ten(20));
    const gap = (await verify(storage)).found.filter(({ level }) => level === "damage");
    assert.deepEqual(gap.map(({ kind, offset }) => [kind, offset]), [["offset-gap", 10]]);
    assert.match(gap[0]!.message, /offsets 10 to 19 are missing/);
  });

  test("records that do not decode under a right checksum", async () => {
    const [good] = tenBatches();
    const bad = dataBatch({ offset: 1, values: ["a", "b"] });
    // One record fewer than declared, with a checksum that agrees.
    const lying = rawBatch({
      baseOffset: 1n,
      partitionLeaderEpoch: 0,
      lastOffsetDelta: 1,
      recordCount: 2,
      records: rawRecord({ value: "a" }),
    });
    const storage = await folder([good!, lying, dataBatch({ offset: 3 })], [], [[TIMESTAMP, 0]]);
    assert.deepEqual(await kinds(storage), [`damage undecodable-batch ${LOG}`]);
    assert.deepEqual(await kinds(storage, {}), [], "without codecs only checksums are checked");
    assert.deepEqual(await kinds(await folder([good!, bad], [], [[TIMESTAMP + 1, 2]])), []);
  });

  test("an unknown codec is damage, a codec that is not here a note", async () => {
    const set = goldenSet("05-zstd");
    const found = (await verify(await goldenCopy(set), { codecs: {} })).found;
    assert.deepEqual(found.map(({ kind, level }) => [level, kind]), [["note", "undecodable-batch"]]);
    const odd = rawBatch({ attributes: 6, partitionLeaderEpoch: 0, records: rawRecord({ value: "a" }) });
    assert.deepEqual(await kinds(await folder([odd], [], [[TIMESTAMP, 0]])), [`damage undecodable-batch ${LOG}`]);
  });

  test("no segment at all, files that do not belong there, an index without its segment (case 070)", async () => {
    const storage = new MemoryStorage();
    await putFile(storage, "foo", new Uint8Array(1));
    await putFile(storage, "00000000000000000500.index", new Uint8Array(0));
    assert.deepEqual(await kinds(storage), [
      "note unknown-file foo",
      "damage orphan-index 00000000000000000500.index",
      "damage no-segments ",
    ]);
  });

  test("case 070: the one copy of a segment in a .cleaned is lost by a broker; beside a .log it is not", async () => {
    const storage = await folder(tenBatches(), [], [LAST_TIME]);
    await replaceFile(storage, `${LOG}.cleaned`, concatenated(...tenBatches()));
    const beside = (await verify(storage)).found;
    assert.deepEqual(beside.map(({ kind, losesData }) => [kind, losesData]), [["unfinished-replacement", false]]);
    await replaceFile(storage, "00000000000000000010.log.cleaned", dataBatch({ offset: 10 }));
    await replaceFile(storage, "00000000000000000011.log.swap", dataBatch({ offset: 11 }));
    const only = (await verify(storage)).found.filter(({ losesData }) => losesData);
    assert.deepEqual(only.map(({ file }) => file), [
      "00000000000000000010.log.cleaned",
      "00000000000000000011.log.swap",
    ]);
  });

  test("it can be interrupted, and tells how far it is", async () => {
    const storage = await goldenCopy(goldenSet("01-plain"));
    let bytes = 0;
    const { summary } = await verify(storage, { onProgress: (more) => bytes += more });
    assert.equal(bytes, summary.bytes);
    await assert.rejects(verify(storage, { signal: AbortSignal.abort() }), { code: "ABORTED" });
  });
});

describe("verifyLog: indexes (case 037)", () => {
  const wrong: readonly [string, readonly (readonly [number, number])[], RegExp][] = [
    ["falling offsets", [[5, 5 * SIZE], [4, 6 * SIZE]], /entry 1 has offset 4, not above 5/],
    ["falling positions", [[5, 5 * SIZE], [6, 3 * SIZE]], /entry 1 leads to byte \d+, not behind/],
    ["a position past the file", [[5, 5 * SIZE], [6, 99 * SIZE]], /entry 1 leads to byte \d+, where no batch begins/],
    ["a position within a batch", [[5, 5 * SIZE + 7]], /where no batch begins/],
    ["an offset that lies before the batch", [[3, 5 * SIZE]], /offset 3 lies before it/],
    ["an offset beyond the segment", [[50, 5 * SIZE]], /which is beyond the segment/],
    ["an offset below the segment", [[-1, 5 * SIZE]], /has offset -1, below the segment's, 0/],
  ];
  for (const [what, entries, message] of wrong) {
    test(`offset index with ${what}`, async () => {
      const { found } = await verify(await folder(tenBatches(), entries, [LAST_TIME]));
      assert.deepEqual(found.map(({ file, kind, level }) => [file, kind, level]), [[INDEX, "index-entry", "damage"]]);
      assert.match(found[0]!.message, message);
    });
  }

  test("the last offset of an append, its first one, and that of several batches at once are all right", async () => {
    const two = (offset: number) => dataBatch({ offset, values: ["a", "b"], timestamp: TIMESTAMP + offset });
    const batches = [two(0), two(2), two(4), two(6)];
    const at = (n: number) => n * batches[0]!.length;
    for (const key of [2, 3, 5, 7]) {
      assert.deepEqual(await kinds(await folder(batches, [[key, at(1)]], [[TIMESTAMP + 7, 7]])), [], `offset ${key}`);
    }
    // No batch ends at 4 or 6.
    for (const key of [4, 6]) {
      const found = await kinds(await folder(batches, [[key, at(1)]], [[TIMESTAMP + 7, 7]]));
      assert.deepEqual(found, [`damage index-entry ${INDEX}`], `offset ${key}`);
    }
  });

  test("a file that is no whole number of entries, and zeros in the index of a complete segment", async () => {
    const storage = await folder(tenBatches(), [], [LAST_TIME]);
    await replaceFile(storage, INDEX, new Uint8Array(9).fill(1, 0, 8).fill(0, 0, 4));
    assert.deepEqual(await kinds(storage), [`damage index-size ${INDEX}`, `damage index-entry ${INDEX}`]);
    await replaceFile(storage, INDEX, new Uint8Array(16));
    await replaceFile(storage, TIME_INDEX, concatenated(timeEntries([LAST_TIME]), new Uint8Array(24)));
    assert.deepEqual(await kinds(storage), [`note index-zero-tail ${INDEX}`, `note index-zero-tail ${TIME_INDEX}`]);
    await putSegment(storage, 10, [dataBatch({ offset: 10, timestamp: -1 })]);
    await replaceFile(storage, "00000000000000000010.index", new Uint8Array(0));
    const { found } = await verify(storage);
    assert.deepEqual(found.map(({ kind, level, losesData }) => [kind, level, losesData]), [
      ["index-zero-tail", "damage", false],
      ["index-zero-tail", "damage", true],
    ]);
    assert.match(found[1]!.message, /1970/);
  });

  const wrongTimes: readonly [string, readonly (readonly [number, number])[], RegExp][] = [
    [
      "a falling timestamp",
      [[TIMESTAMP + 5000, 5], [TIMESTAMP + 4000, 6], LAST_TIME],
      /entry 1 has timestamp \d+, not above/,
    ],
    ["a falling offset", [[TIMESTAMP + 5000, 5], [TIMESTAMP + 6000, 4], LAST_TIME], /entry 1 has offset 4, below 5/],
    ["a timestamp of another batch", [[TIMESTAMP + 5000, 6], LAST_TIME], /says that \d+ is at offset 6, where it is/],
    [
      "a lower timestamp than came before",
      [[TIMESTAMP + 500, 5], LAST_TIME],
      /is the greatest timestamp up to offset 5/,
    ],
    ["an offset beyond the segment", [[TIMESTAMP + 5000, 5], [TIMESTAMP + 9000, 50]], /beyond the segment/],
  ];
  for (const [what, entries, message] of wrongTimes) {
    test(`time index with ${what}`, async () => {
      const { found } = await verify(await folder(tenBatches(), [], entries));
      assert.deepEqual(found.map(({ file, kind, level }) => [file, kind, level]), [[
        TIME_INDEX,
        "index-entry",
        "damage",
      ]]);
      assert.match(found[0]!.message, message);
    });
  }

  test("a time index that ends too early: a note in the last segment, damage before it", async () => {
    const storage = await folder(tenBatches(), [], [[TIMESTAMP + 5000, 5]]);
    assert.deepEqual(await kinds(storage), [`note index-entry ${TIME_INDEX}`]);
    await putSegment(storage, 10, []);
    assert.deepEqual(await kinds(storage), [`damage index-entry ${TIME_INDEX}`]);
  });

  test("index files that are not there: a note, since brokers build them anew", async () => {
    const storage = await folder(tenBatches());
    await storage.remove(INDEX);
    await storage.remove(TIME_INDEX);
    assert.deepEqual(await kinds(storage), [`note missing-index ${INDEX}`, `note missing-index ${TIME_INDEX}`]);
  });
});

describe("verifyLog: transactions and producers", () => {
  const transaction = (producerId: number, offset: number) =>
    dataBatch({ offset, producerId, sequence: offset, transactional: true });

  async function aborted(entries: readonly (readonly [number, number, number, number])[]): Promise<Anomaly[]> {
    const storage = await folder([transaction(7, 0), transaction(8, 1), markerBatch("ABORT", 7, { offset: 2 })], [], [
      [TIMESTAMP, 0],
    ]);
    await putTransactionIndex(storage, 0, entries);
    return (await verify(storage)).found;
  }

  test("an abort that is in the index, one that is not, and entries without an abort", async () => {
    assert.deepEqual(await aborted([[7, 0, 2, 1]]), []);
    const of = async (...entries: (readonly [number, number, number, number])[]) =>
      (await aborted(entries)).map(({ kind, level, offset }) => [level, kind, offset]);
    assert.deepEqual(await of(), [["damage", "transaction-index-missing-entry", 2]]);
    assert.deepEqual(await of([8, 0, 2, 1]), [["damage", "transaction-index-entry", 2]]);
    assert.deepEqual(await of([7, 1, 2, 1]), [["damage", "transaction-index-entry", 2]]);
    assert.deepEqual(await of([7, 0, 1, 1], [7, 0, 2, 1]), [["damage", "transaction-index-entry", 1]]);
    assert.deepEqual(await of([7, 0, 2, 1], [7, 0, 5, 1]), [["damage", "transaction-index-entry", 5]]);
    assert.deepEqual(await of([7, 0, 2, 1], [7, 0, 2, 1]), [["damage", "transaction-index-entry", 2]]);
  });

  test("snapshots: damaged, beyond the end, and one that contradicts the log", async () => {
    const set = goldenSet("07-transactions");
    const storage = await goldenCopy(set);
    const name = "00000000000000000254.snapshot";
    const bytes = await fileBytes(storage, name);
    await replaceFile(storage, name, bytes.subarray(0, 30));
    assert.deepEqual(await kinds(storage), [`damage corrupt-snapshot ${name}`]);
    // The state of another place in the log, with a right checksum.
    await replaceFile(storage, name, await fileBytes(storage, "00000000000000000180.snapshot"));
    const { found } = await verify(storage);
    assert.deepEqual(found.map(({ file, kind }) => [file, kind]), [[name, "snapshot-content"]]);
    await replaceFile(storage, name, bytes);
    await replaceFile(storage, "00000000000000000999.snapshot", bytes);
    assert.deepEqual(await kinds(storage), ["damage stray-snapshot 00000000000000000999.snapshot"]);
  });
});

describe("verifyLog: the small files", () => {
  test("leader epochs: unreadable, falling, contradicted by a batch, beyond the end, before the start", async () => {
    const storage = await folder(
      [0, 1, 2].map((offset) => dataBatch({ offset, leaderEpoch: offset === 2 ? 3 : 1 })),
      [],
      [[TIMESTAMP, 0]],
    );
    const text = async (content: string) => {
      await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode(content));
      return await kinds(storage);
    };
    assert.deepEqual(await text("0\n2\n1 0\n3 2\n"), []);
    assert.deepEqual(await text("0\r\n2\r\n1 0\r\n3 2\r\n"), []);
    assert.deepEqual(await text("1\n0\n"), ["damage leader-epochs-unreadable leader-epoch-checkpoint"]);
    assert.deepEqual(await text("0\n3\n1 0\n"), ["damage leader-epochs-unreadable leader-epoch-checkpoint"]);
    assert.deepEqual(await text("0\n1\n1 0\n"), [`damage leader-epochs-content ${LOG}`]);
    assert.deepEqual(await text("0\n1\n3 0\n"), [`note leader-epochs-content ${LOG}`]);
    assert.deepEqual((await text("0\n2\n3 0\n4 0\n"))[0], "damage leader-epochs-content leader-epoch-checkpoint");
    assert.deepEqual(await text("0\n3\n1 0\n3 2\n4 9\n"), ["note leader-epochs-content leader-epoch-checkpoint"]);
    assert.deepEqual(await text(""), ["note leader-epochs-content leader-epoch-checkpoint"]);
  });

  test("the first epoch begins before the first segment: segments before it may be lost", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 5, [dataBatch({ offset: 5 })]);
    await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n1\n0 0\n"));
    const found = (await kinds(storage)).filter((text) => !text.includes("index"));
    assert.deepEqual(found, ["note offset-gap leader-epoch-checkpoint"]);
  });

  test("a snapshot of a KRaft log: whole, torn, without its header", async () => {
    const storage = await goldenCopy(goldenSet("12-cluster-metadata"));
    const name = "00000000000000000150-0000000002.checkpoint";
    const bytes = await fileBytes(storage, name);
    await replaceFile(storage, name, bytes.subarray(0, bytes.length - 1));
    const messages = async () => (await verify(storage)).found.map(({ kind, message }) => `${kind}: ${message}`);
    const [torn, incomplete] = await messages();
    assert.match(torn!, /^corrupt-checkpoint: bytes \d+ to \d+: a batch of \d+ bytes begins/);
    assert.match(incomplete!, /^corrupt-checkpoint: it does not end with the footer/);
    const [{ size }] = scanBatches(bytes) as [ScannedBatch];
    await replaceFile(storage, name, bytes.subarray(size));
    assert.match((await messages())[0]!, /^corrupt-checkpoint: it does not begin with the header/);
  });

  test("a file that cannot be read leaves none open", async () => {
    for (const name of [LOG, INDEX, TIME_INDEX, "00000000000000000000.txnindex"]) {
      const tree = await folder(tenBatches(), [[4, 276]], [LAST_TIME]);
      await putTransactionIndex(tree, 0, [[1, 0, 1, 0]]);
      const open = new Set<StoredFile>();
      const openFile = tree.open.bind(tree);
      tree.open = async (...words) => {
        const file = await openFile(...words);
        const close = file.close.bind(file);
        open.add(file);
        file.close = () => {
          open.delete(file);
          return close();
        };
        return file;
      };
      assert.equal((await verify(tree)).summary.batches, 10);
      tree.fail("read", { file: name });
      await assert.rejects(verify(tree), { code: "EIO" });
      assert.equal(open.size, 0, name);
    }
  });

  test("partition.metadata", async () => {
    const storage = await folder(tenBatches(), [], [LAST_TIME]);
    await replaceFile(storage, "partition.metadata", new TextEncoder().encode("version: 7\n"));
    assert.deepEqual(await kinds(storage), ["damage partition-metadata-unreadable partition.metadata"]);
  });

  test("case 074: checkpoints that are beyond the log's end", async () => {
    const storage = await folder(tenBatches(), [], [LAST_TIME]);
    const at = (offset: number) => ({
      logStartOffset: offset,
      highWatermark: offset,
      recoveryPoint: offset,
      firstDirtyOffset: offset,
    });
    assert.deepEqual(await kinds(storage, { checkpoints: at(10) }), []);
    const { found } = await verify(storage, { checkpoints: at(11) });
    assert.deepEqual(found.map(({ file, kind, losesData }) => [file, kind, losesData]), [
      ["log-start-offset-checkpoint", "offset-checkpoint-content", true],
      ["recovery-point-offset-checkpoint", "offset-checkpoint-content", false],
      ["replication-offset-checkpoint", "offset-checkpoint-content", false],
      ["cleaner-offset-checkpoint", "offset-checkpoint-content", false],
    ]);
  });

  test("a log directory: unreadable checkpoints, and whether the broker stopped in order", async () => {
    const directory = new MemoryStorage();
    await copyFiles(await memoryCopy(`${GOLDEN}01-plain`), directory);
    const text = (name: string, content: string) => replaceFile(directory, name, new TextEncoder().encode(content));
    await text("recovery-point-offset-checkpoint", "0\n5\n");
    await text("meta.properties", "version=1\nnode.id=x\n");
    await directory.remove(".kafka_cleanshutdown");
    const found = await verifyLogDirectory(directory);
    assert.deepEqual(found.map(({ file, level }) => `${level} ${file}`), [
      "damage recovery-point-offset-checkpoint",
      "note meta.properties",
      "note .kafka_cleanshutdown",
    ]);
  });
});
