import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { Log } from "../../src/log/log.ts";
import { readOffsetCheckpoint } from "../../src/log/log_directory.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { goldenCopy, putFile } from "../helpers/memory_copy.ts";
import { PackingPlace } from "../log/sources/pack.ts";
import type { Ran } from "./fake_io.ts";
import { expectedOf, worldWith } from "./golden_world.ts";

const place = new PackingPlace();
after(() => place.remove());

const codecs = { ...plainCodecs, ...nativeCodecs() };

function golden(set: string): string {
  return fileURLToPath(new URL(`../golden/${set}/`, import.meta.url));
}

async function bytesOf(storage: Storage, name: string): Promise<Uint8Array> {
  const file = await storage.open(name);
  const bytes = new Uint8Array(file.size);
  await file.readAt(bytes, 0);
  await file.close();
  return bytes;
}

async function sameFiles(a: Storage, b: Storage): Promise<void> {
  assert.deepEqual(await a.list(), await b.list());
  for (const name of await a.list()) assert.deepEqual(await bytesOf(a, name), await bytesOf(b, name), name);
}

/** Offsets of all records in a log, and whether they are committed data. */
async function offsetsIn(
  storage: Storage,
  options: { logStartOffset?: number; committed?: boolean } = {},
): Promise<number[]> {
  const { committed = false, ...rest } = options;
  const log = await Log.open(storage, { mode: "inspect", ...rest });
  try {
    const offsets: number[] = [];
    for await (const record of log.records({ codecs, committed })) offsets.push(record.offset);
    return offsets;
  } finally {
    await log.close();
  }
}

async function checkpointsIn(tree: MemoryStorage): Promise<Record<string, number | undefined>> {
  const names = [
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
  ] as const;
  const found: Record<string, number | undefined> = {};
  for (const name of names) {
    const [entry] = await readOffsetCheckpoint(tree, name);
    if (entry !== undefined) found[`${name} ${entry.topic}-${entry.partition}`] = entry.offset;
  }
  return found;
}

function rows({ out }: Ran): string[][] {
  return out.replace(/\n$/, "").split("\n").map((line) => line.split("\t"));
}

describe("log copy: whole partitions", () => {
  for (const set of ["01-plain", "07-transactions", "08a-compacted", "10a-killed", "14-mixed", "15-odd-v2"]) {
    test(`${set}: every byte, and the checkpoints of the partition alone`, async () => {
      const world = await worldWith(set);
      const { partition, opened } = expectedOf(set);
      const ran = await world.run(["log", "copy", "/data", "--out", "/out"]);
      assert.equal(ran.code, 0, ran.err);
      const [source, out] = [world.folders.get("/data")!, world.folders.get("/out")!];
      await sameFiles(await source.folder(partition), await out.folder(partition));
      assert.deepEqual(await out.folders(), [partition]);
      const known = Object.fromEntries(
        Object.entries(await checkpointsIn(source)).filter(([name]) => name.endsWith(` ${partition}`)),
      );
      for (const [name, offset] of Object.entries(known)) assert.equal((await checkpointsIn(out))[name], offset, name);
      assert.deepEqual((await out.list()).filter((name) => !name.endsWith("checkpoint")), []);
      const [, row] = rows(ran);
      assert.deepEqual(row!.slice(0, 2), [partition, String(opened.logStartOffset)]);
    });
  }

  for (const command of ["tar -czf OUT .", "tar --format=ustar -cf OUT ."]) {
    test(`out of ${command.slice(0, 12)}…`, async () => {
      const world = await worldWith("07-transactions");
      const archives = new MemoryStorage();
      const packed = place.pack(golden("07-transactions"), "b", command);
      await putFile(archives, "backup", new Uint8Array(readFileSync(packed)));
      world.folders.set("/backups", archives);
      const ran = await world.run(["log", "copy", "/backups/backup", "--topic", "txn", "--out", "/out", "-o", "json"]);
      assert.equal(ran.code, 0, ran.err);
      const { bytes: _, ...told } = JSON.parse(ran.out);
      assert.deepEqual(told, {
        name: "/backups/backup:txn-0",
        topic: "txn",
        partition: 0,
        firstOffset: 0,
        lastOffset: 374,
        segments: 10,
      });
      await sameFiles(
        await world.folders.get("/data")!.folder("txn-0"),
        await world.folders.get("/out")!.folder("txn-0"),
      );
      assert.equal(world.temporaryFolders, 0);
    });
  }

  test("damage is copied as it is, told, and exit code 3", async () => {
    const world = await worldWith("07-transactions");
    const folder = await world.folders.get("/data")!.folder("txn-0");
    const bytes = await bytesOf(folder, "00000000000000000096.log");
    bytes[1000]! ^= 1;
    await folder.remove("00000000000000000096.log");
    await putFile(folder, "00000000000000000096.log", bytes);
    const ran = await world.run(["log", "copy", "/data/txn-0", "--out", "/out"]);
    assert.equal(ran.code, 3);
    assert.match(ran.err, /txn-0: copied as it is, and it is damaged: 00000000000000000096\.log at byte \d+: /);
    await sameFiles(folder, await world.folders.get("/out")!.folder("txn-0"));
    const part = await world.run(["log", "copy", "/data/txn-0", "--from", "50", "--out", "/out2"]);
    assert.equal(part.code, 1);
    assert.match(part.err, /log salvage rescues what is right/);
    assert.deepEqual(await world.folders.get("/out2")!.folders(), []);
  });

  test("a disk that fails or fills up leaves nothing half-done", async () => {
    const world = await worldWith("07-transactions");
    for (
      const [n, spoil] of [
        (out: MemoryStorage) => out.fail("append", { after: 5, tornAfter: 10 }),
        (out: MemoryStorage) => (out.capacity = 10_000),
        (out: MemoryStorage) => out.fail("sync", { after: 3 }),
      ].entries()
    ) {
      const out = new MemoryStorage();
      spoil(out);
      world.folders.set(`/full${n}`, out);
      const ran = await world.run(["log", "copy", "/data", "--out", `/full${n}`]);
      assert.equal(ran.code, 1);
      assert.match(ran.err, /\[(?:EIO|ENOSPC)\]/);
      assert.deepEqual(await out.folders(), []);
    }
  });
});

describe("log copy: ranges", () => {
  const ranges: readonly (readonly [string, readonly string[], number, number])[] = [
    ["07-transactions", ["--from", "50", "--until", "255"], 50, 255],
    ["07-transactions", ["--from", "-20"], 355, 375],
    ["07-transactions", ["--until", "7"], 0, 7],
    ["07b-transactions-2.8", ["--from", "60", "--until", "120"], 60, 120],
    ["01-plain", ["--from", "123", "--until", "456"], 123, 456],
    ["05-zstd", ["--from", "10", "--until", "700"], 10, 700],
    ["08a-compacted", ["--from", "100", "--until", "600"], 100, 600],
    ["14-mixed", ["--from", "20", "--until", "130"], 20, 130],
    ["14-v1-gzip", ["--from", "30"], 30, Infinity],
    ["14-v0-lz4", ["--from", "30"], 30, Infinity],
    ["13a-beyond-2to31", ["--from", "3000000000"], 3_000_000_000, Infinity],
  ];
  for (const [set, words, from, until] of ranges) {
    test(`${set} ${words.join(" ")}: the records that Kafka's classes tell there, and whole batches around`, async () => {
      const world = await worldWith(set);
      const { batches, partition, records } = expectedOf(set);
      const ran = await world.run(["log", "copy", "/data", ...words, "--out", "/out"]);
      assert.equal(ran.code, 0, ran.err);
      const tree = world.folders.get("/out")!;
      const out = await tree.folder(partition);
      const checkpoints = await checkpointsIn(tree);
      const logStartOffset = checkpoints[`log-start-offset-checkpoint ${partition}`] ?? 0;
      const wanted = records.filter((record: unknown[]) => record.length < 7).map((record: unknown[]) =>
        Number(record[0])
      );
      // The end cannot be hidden: the last batch is there to its end.
      // deno-lint-ignore no-explicit-any -- as above
      const ends = batches.filter((batch: any) => Number(batch.baseOffset) < until).map((batch: any) =>
        Number(batch.lastOffset)
      );
      const end = Math.max(...ends) + 1;
      assert.deepEqual(
        await offsetsIn(out, { logStartOffset }),
        wanted.filter((offset: number) => offset >= from && offset < end),
      );
      assert.equal(checkpoints[`replication-offset-checkpoint ${partition}`], end);
      assert.equal((await world.run(["log", "copy", "/out", "--out", "/again"])).code, 0, "what was made is right");

      // Whole segments keep their indexes, byte for byte, where their batches were all copied.
      const source = await world.folders.get("/data")!.folder(partition);
      for (const name of (await out.list()).filter((name) => name.endsWith(".log"))) {
        if (!(await source.list()).includes(name)) continue;
        const [theirs, ours] = [await bytesOf(source, name), await bytesOf(out, name)];
        assert.deepEqual(theirs.subarray(0, ours.length), ours, name);
      }
    });
  }

  test("aborted transactions stay aborted, and one whose end is cut off is told", async () => {
    const world = await worldWith("07-transactions");
    const ran = await world.run(["log", "copy", "/data", "--from", "100", "--until", "255", "--out", "/out"]);
    assert.match(ran.err, /transactions have no end in the copy \(the first of producer \d+ at offset \d+\)/);
    const source = await world.folders.get("/data")!.folder("txn-0");
    const out = await world.folders.get("/out")!.folder("txn-0");
    const committed = await offsetsIn(out, { logStartOffset: 100, committed: true });
    const before = await offsetsIn(source, { committed: true });
    assert.ok(committed.length > 20);
    // Up to the first transaction that has no end here, both tell the same.
    const open = Number(/at offset (\d+)\)/.exec(ran.err)![1]);
    assert.deepEqual(committed, before.filter((offset) => offset >= 100 && offset < open));
  });

  test("--time is turned into offsets as Kafka does", async () => {
    const world = await worldWith("01-plain");
    const { opened } = expectedOf("01-plain");
    const [timestamp, offset] = opened.offsetByTimestamp.find(([at, found]: [number, number | null]) =>
      at > 0 && found !== null && found > 100
    );
    const ran = await world.run(["log", "copy", "/data", "--time", `${timestamp}..`, "--out", "/out"]);
    assert.equal(ran.code, 0, ran.err);
    assert.equal(rows(ran)[1]![1], String(offset));
    const until = await world.run(["log", "copy", "/data", "--time", `..${timestamp}`, "--out", "/until"]);
    assert.ok(Number(rows(until)[1]![2]) >= offset - 1);
    const nothing = await world.run(["log", "copy", "/data", "--time", "2100-01-01..", "--out", "/none"]);
    assert.equal(nothing.code, 1);
    assert.match(nothing.err, /no batch in the range.*\[NOTHING_TO_COPY\]/);
  });

  test("a segment alone becomes a partition with indexes", async () => {
    const world = await worldWith("07-transactions");
    const alone = new MemoryStorage();
    const name = "00000000000000000096.log";
    const bytes = new Uint8Array(readFileSync(`${golden("07-transactions")}txn-0/${name}`));
    await putFile(alone, name, bytes);
    world.folders.set("/alone", alone);
    assert.match((await world.run(["log", "copy", `/alone/${name}`, "--out", "/out"])).err, /--as TOPIC-N/);
    const ran = await world.run(["log", "copy", `/alone/${name}`, "--as", "rescued-3", "--out", "/out"]);
    assert.equal(ran.code, 0, ran.err);
    const out = await world.folders.get("/out")!.folder("rescued-3");
    assert.deepEqual(await bytesOf(out, name), bytes);
    const files = [".index", ".log", ".timeindex"].map((suffix) => name.replace(".log", suffix));
    assert.deepEqual((await out.list()).slice(0, 3), files);
  });
});

describe("log copy: words", () => {
  const answers: readonly (readonly [string[], number, RegExp])[] = [
    [["/data"], 2, /--out DIR is needed/],
    [["/data", "--out", "/data"], 1, /nothing is overwritten, and there is .*\[NOT_EMPTY\]/],
    [["/data", "--out", "/data/txn-0/partition.metadata"], 1, /nothing is overwritten/],
    [["/data", "/data/txn-0", "--out", "/out"], 2, /txn-0 is there twice, as \/data\/txn-0 and as \/data\/txn-0/],
    [["/data", "/two", "--as", "x-1", "--out", "/out"], 2, /--as goes with one source/],
    [["/data", "--as", "x", "--out", "/out"], 2, /--as x: expected a topic and a partition/],
    [["/data", "--as", "../x-1", "--out", "/out"], 2, /--as \.\.\/x-1: expected/],
    [["/data/txn-0/partition.metadata", "--out", "/out"], 2, /not such a file alone/],
    [["/data", "--time", "yesterday", "--out", "/out"], 2, /--time yesterday: expected A\.\.B/],
    [["/data", "--from", "x", "--out", "/out"], 2, /--from x: expected/],
  ];
  for (const [words, code, message] of answers) {
    test(`log copy ${words.join(" ")}`, async () => {
      const world = await worldWith("07-transactions");
      world.folders.set("/two", await goldenCopy("01-plain"));
      const ran = await world.run(["log", "copy", ...words]);
      assert.equal(ran.code, code, ran.err);
      assert.match(ran.err, message);
      assert.deepEqual(await world.folders.get("/out")?.folders() ?? [], []);
    });
  }

  test("several sources go into one log directory", async () => {
    const world = await worldWith("07-transactions");
    world.folders.set("/two", await goldenCopy("01-plain"));
    const ran = await world.run(["log", "copy", "/data", "/two", "--out", "/out"]);
    assert.equal(ran.code, 0, ran.err);
    const out = world.folders.get("/out")!;
    assert.deepEqual(await out.folders(), ["plain.v2-create_time-0", "txn-0"]);
    const entries = await readOffsetCheckpoint(out, "replication-offset-checkpoint");
    assert.deepEqual(entries.map(({ topic, offset }) => [topic, offset]), [["txn", 375], [
      "plain.v2-create_time",
      819,
    ]]);
  });
});
