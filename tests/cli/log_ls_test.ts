import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { firstTimestampOf } from "../helpers/first_timestamp.ts";
import { goldenCopy, memoryCopy, putFile } from "../helpers/memory_copy.ts";
import { PackingPlace } from "../log/sources/pack.ts";
import { RangeServer } from "../log/sources/range_server.ts";
import { FakeWorld, type Ran } from "./fake_io.ts";
import { expectedOf, jsonLines, worldWith } from "./golden_world.ts";

const place = new PackingPlace();
after(() => place.remove());

const TXN = "00000000000000000339.log";

function golden(set: string): string {
  return fileURLToPath(new URL(`../golden/${set}/`, import.meta.url));
}

/** A tab-separated answer as rows. */
function rows({ out }: Ran): string[][] {
  return out.replace(/\n$/, "").split("\n").map((line) => line.split("\t"));
}

describe("log ls: what Kafka wrote", () => {
  for (const set of ["01-plain", "07-transactions", "08a-compacted", "10c-recovered", "14-builder", "15-odd-v2"]) {
    test(`${set}: segments as Kafka's classes tell them`, async () => {
      const expected = expectedOf(set);
      const ran = await (await worldWith(set)).run(["log", "ls", "/data", "-o", "json"]);
      assert.deepEqual([ran.code, ran.err], [0, ""]);
      const listed = jsonLines(ran).filter(({ type, state }) => type === "segment" && state === undefined);
      assert.deepEqual(
        listed.map(({ baseOffset, file, size, trailingBytes, validBytes }) => ({
          baseOffset,
          file,
          size,
          trailingBytes,
          validBytes,
        })),
        expected.segments.map(({ baseOffset, file, size, trailingBytes, validBytes }: Record<string, unknown>) => (
          { baseOffset, file, size, trailingBytes, validBytes }
        )),
      );
      for (const segment of listed) {
        // deno-lint-ignore no-explicit-any -- as above
        const batches: any[] = expected.batches.filter(({ file }: { file: string }) => file === segment.file);
        const times = batches.map(({ maxTimestamp }) => Number(maxTimestamp)).filter((time) => time >= 0);
        const firstTimes = batches.map((batch) => firstTimestampOf(batch, expected.records)).filter((time) =>
          time >= 0
        );
        const epochs = batches.map(({ partitionLeaderEpoch }) => partitionLeaderEpoch).filter((epoch) => epoch >= 0);
        assert.equal(segment.batches, batches.length);
        assert.equal(segment.lastOffset, Math.max(-1, ...batches.map(({ lastOffset }) => lastOffset)));
        assert.equal(segment.minTimestamp, firstTimes.length === 0 ? -1 : Math.min(...firstTimes));
        assert.equal(segment.maxTimestamp, Math.max(-1, ...times));
        assert.equal(segment.minEpoch, epochs.length === 0 ? -1 : Math.min(...epochs));
        assert.equal(segment.maxEpoch, Math.max(-1, ...epochs));
        assert.deepEqual(new Set(segment.codecs), new Set(batches.map(({ codec }) => codec)));
        assert.deepEqual(segment.magics, [...new Set(batches.map(({ magic }) => magic))].sort());
      }
      for (const { file, indexes } of listed) {
        for (const type of ["index", "timeindex", "txnindex", "snapshot"]) {
          const name = file.replace(/log$/, type);
          const size = expected.files.find((known: { name: string }) => known.name === name)?.size;
          assert.equal(indexes[type], size, name);
        }
      }
    });
  }

  test("a row for each segment, separated by tabs", async () => {
    const ran = await (await worldWith("07-transactions")).run(["log", "ls", "/data/txn-0"]);
    const [header, ...segments] = rows(ran);
    assert.deepEqual(header!.slice(0, 4), ["partition", "file", "base offset", "last offset"]);
    assert.equal(segments.length, 10);
    assert.deepEqual(segments.at(-1), [
      "txn-0",
      TXN,
      "339",
      "374",
      "2023-11-14T23:12:58.259Z",
      "2026-11-30T02:23:36.302Z",
      "3130",
      "19",
      "none,zstd",
      "0",
      "index,timeindex,txnindex,snapshot",
      "",
    ]);
  });

  test("for a person a tree with totals, and the segments of a single partition", async () => {
    const world = await worldWith("07-transactions");
    const other = await memoryCopy(golden("01-plain"));
    for (const name of await (await other.folder("plain.v2-create_time-0")).list()) {
      for (const copy of ["plain-2", "plain-10"]) {
        const bytes = readFileSync(`${golden("01-plain")}plain.v2-create_time-0/${name}`);
        await putFile(await world.folders.get("/data")!.folder(copy), name, new Uint8Array(bytes));
      }
    }
    const tree = await world.run(["log", "ls", "/data"], { terminal: true });
    const labels = tree.out.split("\n").map((line) => line.slice(0, 14).trimEnd());
    assert.deepEqual(labels, ["", "/data", "├─ plain", "│  ├─ plain-2", "│  └─ plain-10", "└─ txn", "   └─ txn-0", ""]);
    assert.match(tree.out, /\/data .* 3 partitions, 18 segments\n/);
    assert.match(tree.out, /txn-0 +0 +374 +2023-11-14T23:10:31Z +2026-11-30T02:23:36Z +30\.5 KiB +162 +none,zstd/);
    assert.doesNotMatch(tree.out, /\.log/);
    assert.match((await world.run(["log", "ls", "/data", "-s"], { terminal: true })).out, /│ {5}└─ 0+\d*\.log /);
    const single = await world.run(["log", "ls", "/data/txn-0/"], { terminal: true });
    assert.match(single.out, /└─ 00000000000000000339\.log +339 +374 /);
    const json = jsonLines(await world.run(["log", "ls", "/data", "-o", "json"]));
    assert.deepEqual(json.at(-1), { ...json.at(-1), type: "directory", name: "/data", partitions: 3, segments: 18 });
  });

  test("--fast looks at names and sizes alone", async () => {
    const world = await worldWith("07-transactions");
    const folder = await world.folders.get("/data")!.folder("txn-0");
    world.folders.get("/data")!.fail("read", { file: TXN });
    const [, ...segments] = rows(await world.run(["log", "ls", "/data", "--fast"]));
    assert.deepEqual(segments.at(-1), [
      "txn-0",
      TXN,
      "339",
      "-",
      "-",
      "-",
      "3130",
      "-",
      "-",
      "-",
      "index,timeindex,txnindex,snapshot",
      "",
    ]);
    assert.equal(segments.length, (await folder.list()).filter((name) => name.endsWith(".log")).length);
  });

  test("what is odd stands in the note: trailing bytes, damage, files on their way out, old formats", async () => {
    const world = await worldWith("08a-compacted");
    const folder = await world.folders.get("/data")!.folder("compacted-keep-0");
    await putFile(folder, "00000000000000009000.log", new Uint8Array(100));
    await putFile(folder, "00000000000000009001.log", new Uint8Array(100).fill(0xff));
    await putFile(folder, "00000000000000009002.log", new Uint8Array(0));
    await putFile(folder, "99999999999999999999.log", new Uint8Array(0));
    const listed = rows(await world.run(["log", "ls", "/data/compacted-keep-0"]));
    const noteOf = (name: string) => listed.find((row) => row[1] === name)!.at(-1);
    assert.equal(noteOf("00000000000000009000.log"), "100 bytes behind the last batch");
    assert.match(noteOf("00000000000000009001.log")!, /^no batch at byte 0: \w+$/);
    assert.equal(noteOf("00000000000000009002.log"), "");
    assert.ok(listed.some((row) => row[1]!.endsWith(".log.deleted") && row.at(-1) === "deleted"));
    assert.equal(listed.at(-1)![2], "99999999999999999999");
    const old = rows(await (await worldWith("14-builder")).run(["log", "ls", "/data"]));
    assert.match(old[1]!.at(-1)!, /^format 0,1,2$/);
  });

  test("checkpoints of the log directory are told, and where the log starts", async () => {
    const json = jsonLines(
      await (await worldWith("09b-delete-records-later")).run(["log", "ls", "/data", "-o", "json"]),
    );
    const { firstOffset, checkpoints } = json.at(-1);
    assert.equal(firstOffset, expectedOf("09b-delete-records-later").opened.logStartOffset);
    assert.equal(checkpoints.logStartOffset, firstOffset);
  });
});

describe("log ls: words", () => {
  const answers: readonly (readonly [string[], number, RegExp])[] = [
    [["/data/txn-1"], 1, /no such file or folder \[ENOENT\]/],
    [["/data", "--topic", "tnx"], 1, /did you mean --topic txn\?/],
    [["/data", "--topic", "orders"], 1, /it has txn/],
    [["/data", "--partition", "7"], 1, /no partition in it/],
    [["/data", "--partition", "x"], 2, /--partition x: expected a number/],
    [["/data", "-o", "xml"], 2, /-o xml: expected text or json/],
    [["/empty"], 1, /neither segments.*nor partition folders.*\[NOT_A_LOG\]/],
    [["/outer"], 1, /did you mean \/outer\/inner\?/],
    [["/data/expected.json.gz"], 1, /neither segments/],
    [["/empty/notes.txt"], 1, /its name is none that Kafka gives, and it is no archive/],
    [["/empty/0000000000000000000.log"], 1, /did you mean 00000000000000000000\.log\?/],
    [[], 2, /expected DIR\|FILE\|ARCHIVE\|URL/],
    [["http://"], 2, /no URL of a web server/],
  ];
  for (const [words, code, message] of answers) {
    test(`log ls ${words.join(" ")}`, async () => {
      const world = await worldWith("07-transactions");
      const empty = new MemoryStorage();
      await putFile(empty, "notes.txt", new Uint8Array(10));
      if (words[0]?.startsWith("/empty/0")) {
        await putFile(empty, "0000000000000000000.log", new Uint8Array(10));
        await putFile(empty, "00000000000000000000.log", new Uint8Array(10));
      }
      world.folders.set("/empty", empty);
      const outer = new MemoryStorage();
      await putFile(await outer.folder("inner"), "00000000000000000000.log", new Uint8Array(10));
      world.folders.set("/outer", outer);
      const ran = await world.run(["log", "ls", ...words]);
      assert.equal(ran.code, code, ran.err);
      assert.match(ran.err, message);
      assert.equal(ran.out, "");
    });
  }

  test("a .log alone is one segment, with its indexes where they lie beside it", async () => {
    const world = await worldWith("07-transactions");
    const alone = new MemoryStorage();
    await putFile(alone, TXN, new Uint8Array(readFileSync(`${golden("07-transactions")}txn-0/${TXN}`)));
    world.folders.set("/alone", alone);
    const [, beside] = rows(await world.run(["log", "ls", `/data/txn-0/${TXN}`]));
    const [, bare] = rows(await world.run(["log", "ls", `/alone/${TXN}`]));
    assert.deepEqual(beside!.slice(1, 11), [...bare!.slice(1, 10), "index,timeindex,txnindex,snapshot"]);
    assert.equal(bare![10], "-");
    const dump = await world.run(["log", "dump", `/alone/${TXN}`, "-o", "json"]);
    const records = jsonLines(dump).filter(({ type }) => type === "record");
    assert.deepEqual(records.map(({ offset }) => offset).slice(0, 2), [339, 340]);
  });

  test("another file of Kafka's is told with its size", async () => {
    const [, row] = rows(
      await (await worldWith("07-transactions")).run(["log", "ls", "/data/txn-0/partition.metadata"]),
    );
    assert.deepEqual(row!.slice(1, 3), ["partition.metadata", "-"]);
  });

  test("folders on their way out are passed over in a log directory, and read when they are named", async () => {
    const world = await worldWith("07-transactions");
    const leaving = `old-3.${"0123456789abcdef".repeat(2)}-delete`;
    const bytes = new Uint8Array(readFileSync(`${golden("07-transactions")}txn-0/${TXN}`));
    await putFile(await world.folders.get("/data")!.folder(leaving), TXN, bytes);
    const all = await world.run(["log", "ls", "/data"]);
    assert.match(all.err, /1 folders on their way out are passed over, such as old-3\./);
    assert.doesNotMatch(all.out, /old-3/);
    const [, row] = rows(await world.run(["log", "ls", `/data/${leaving}`]));
    assert.equal(row![0], "old-3");
  });

  const archives: Readonly<Record<string, string>> = {
    "a tar of a log directory": "tar -cf OUT 07-transactions 01-plain",
    "a tar.gz": "tar -czf OUT 07-transactions 01-plain",
    "a tar with absolute names": 'tar -cPf OUT "$PWD"/07-transactions "$PWD"/01-plain',
  };
  for (const [what, command] of Object.entries(archives)) {
    test(`${what} lists the same as its folders`, async () => {
      const world = new FakeWorld();
      const storage = new MemoryStorage();
      await putFile(storage, "backup", new Uint8Array(readFileSync(place.pack(golden("."), "b.tar", command))));
      world.folders.set("/backups", storage);
      world.folders.set("/a", await goldenCopy("01-plain"));
      world.folders.set("/b", await goldenCopy("07-transactions"));
      const packed = await world.run(["log", "ls", "/backups/backup"]);
      assert.deepEqual([packed.code, packed.err], [0, ""]);
      assert.equal(packed.out, (await world.run(["log", "ls", "/a", "/b"])).out);
      const filtered = await world.run(["log", "ls", "/backups/backup", "--topic", "txn", "--partition", "0"]);
      assert.equal(filtered.out, (await world.run(["log", "ls", "/b"])).out);
      const json = jsonLines(await world.run(["log", "ls", "/backups/backup", "-o", "json"])).filter(({ type }) =>
        type === "partition"
      );
      assert.match(json[1].name, /^\/backups\/backup:.*07-transactions\/txn-0$/);
      assert.equal(json[1].checkpoints.highWatermark, 375);
      assert.equal(world.temporaryFolders, 0);
    });
  }

  test("a path in an archive behind a colon, as listings show it", async () => {
    const world = new FakeWorld();
    const storage = new MemoryStorage();
    const packed = place.pack(golden("."), "b.tar", "tar -czf OUT 07-transactions 07b-transactions-2.8 01-plain");
    await putFile(storage, "b.tgz", new Uint8Array(readFileSync(packed)));
    world.folders.set("/backups", storage);
    world.folders.set("/b", await goldenCopy("07-transactions"));
    const expected = (await world.run(["log", "ls", "/b"])).out;
    for (const path of ["07-transactions", "/07-transactions/", "07-transactions/txn-0"]) {
      const ran = await world.run(["log", "ls", `/backups/b.tgz:${path}`]);
      assert.deepEqual([ran.err, ran.out], ["", expected], path);
    }
    const names = jsonLines(await world.run(["log", "ls", "/backups/b.tgz", "-o", "json"]))
      .filter(({ type }) => type === "partition").map(({ name }) => name);
    assert.deepEqual(names, [
      "/backups/b.tgz:01-plain/plain.v2-create_time-0",
      "/backups/b.tgz:07-transactions/txn-0",
      "/backups/b.tgz:07b-transactions-2.8/txn-2.8-0",
    ]);
    const [, segment] = rows(await world.run(["log", "ls", `/backups/b.tgz:07-transactions/txn-0/${TXN}`]));
    assert.deepEqual([segment![1], segment![3]], [TXN, "374"]);
    const wrong = await world.run(["log", "ls", "/backups/b.tgz:07-transaction"]);
    assert.match(wrong.err, /did you mean \/backups\/b\.tgz:07-transactions\?/);
    assert.match((await world.run(["log", "ls", "/backups/c.tgz:x"])).err, /no such file or folder/);
  });

  test("a gzipped .log is that segment", async () => {
    const world = await worldWith("07-transactions");
    const storage = new MemoryStorage();
    const packed = place.pack(`${golden("07-transactions")}txn-0`, "x.gz", `gzip -c ${TXN} > OUT`);
    await putFile(storage, `${TXN}.gz`, new Uint8Array(readFileSync(packed)));
    world.folders.set("/backups", storage);
    const [, row] = rows(await world.run(["log", "ls", `/backups/${TXN}.gz`]));
    const [, expected] = rows(await world.run(["log", "ls", `/data/txn-0/${TXN}`]));
    assert.deepEqual(row!.slice(1, 10), expected!.slice(1, 10));
  });

  test("a log directory whose checkpoints cannot be read is listed without them", async () => {
    const world = await worldWith("07-transactions");
    world.folders.get("/data")!.fail("read", { file: "replication-offset-checkpoint" });
    const ran = await world.run(["log", "ls", "/data"]);
    assert.equal(ran.code, 0);
    assert.match(ran.err, /the checkpoints of the log directory are not used: .*EIO/);
    assert.equal(rows(ran).length, 11);
  });

  test("an archive packed inside a partition's folder is called like it", async () => {
    const world = new FakeWorld();
    const storage = new MemoryStorage();
    const path = place.pack(`${golden("07-transactions")}txn-0`, "b.tar", "tar -cf OUT .");
    await putFile(storage, "orders-5.tar.gz", new Uint8Array(readFileSync(path)));
    world.folders.set("/backups", storage);
    const [, row] = rows(await world.run(["log", "ls", "/backups/orders-5.tar.gz"]));
    assert.equal(row![0], "orders-5");
  });

  test("a cut archive is listed as far as it goes, and that is a failure", async () => {
    const world = new FakeWorld();
    const storage = new MemoryStorage();
    const tar = new Uint8Array(readFileSync(place.pack(golden("07-transactions"), "b.tar", "tar -cf OUT txn-0")));
    world.folders.set("/backups", storage);
    // In a file, in a header, between two files, and without only the end mark.
    for (const [n, size] of [30_000, 30_000 - 30_000 % 512 + 7, 30_208, tar.length - 10240].entries()) {
      await putFile(storage, `cut${n}.tar`, tar.subarray(0, size));
      const ran = await world.run(["log", "ls", `/backups/cut${n}.tar`]);
      assert.equal(ran.code, 1);
      assert.match(ran.err, /cut\d\.tar: at byte \d+ of the tar archive .*cut short.*; what lies before is read\n/);
      assert.ok(rows(ran).length > 3);
    }
  });

  test("an archive that inflates to too much says how to allow it", async () => {
    const world = new FakeWorld();
    const storage = new MemoryStorage();
    await putFile(
      storage,
      "b.tgz",
      new Uint8Array(readFileSync(place.pack(golden("07-transactions"), "b", "tar -czf OUT txn-0"))),
    );
    world.folders.set("/backups", storage);
    const env = { ANYKAFKA_MAX_INFLATED_BYTES: "1000" };
    const ran = await world.run(["log", "ls", "/backups/b.tgz"], { env });
    assert.match(ran.err, /ANYKAFKA_MAX_INFLATED_BYTES.*\[ARCHIVE_TOO_LARGE\]/);
    assert.equal(world.temporaryFolders, 0);
  });

  test("URLs: a log directory by its listing, a partition, a segment with its indexes, an archive", async (t) => {
    const server = await RangeServer.start({});
    t.after(() => server.stop());
    const world = await worldWith("07-transactions");
    world.fetch = (url, init) => fetch(url, init);
    const pages = new Map<string, string[]>([["/data/", ["txn-0/"]], ["/data/txn-0/", []]]);
    const tree = world.folders.get("/data")!;
    const serve = async (storage: Pick<MemoryStorage, "list" | "open">, path: string) => {
      for (const name of await storage.list()) {
        const file = await storage.open(name);
        const bytes = new Uint8Array(file.size);
        await file.readAt(bytes, 0);
        server.files.set(path + name, { bytes });
        pages.get(path)!.push(name);
      }
    };
    await serve(tree, "/data/");
    await serve(await tree.folder("txn-0"), "/data/txn-0/");
    server.files.set("/x.tar", {
      bytes: new Uint8Array(readFileSync(place.pack(golden("."), "b.tar", "tar -cf OUT 07-transactions"))),
    });
    server.intercept = (request, response) => {
      const links = pages.get(request.url!);
      if (links === undefined) return false;
      response.writeHead(200, { "content-type": "text/html" }).end(
        links.map((link) => `<a href="${link}">${link}</a>`).join(),
      );
      return true;
    };
    const expected = await world.run(["log", "ls", "/data"]);
    for (const path of ["/data/", "/data/txn-0", "/data/txn-0/", "/x.tar"]) {
      const ran = await world.run(["log", "ls", server.url + path]);
      assert.deepEqual([ran.code, ran.err, ran.out], [0, "", expected.out], path);
    }
    const json = jsonLines(await world.run(["log", "ls", `${server.url}/data/`, "-o", "json"]));
    assert.equal(json.at(-1).checkpoints.highWatermark, 375);
    const [, row] = rows(await world.run(["log", "ls", `${server.url}/data/txn-0/${TXN}`]));
    assert.equal(row![10], "index,timeindex,txnindex");
    const inside = await world.run(["log", "ls", `${server.url}/x.tar#07-transactions/txn-0`, "-o", "json"]);
    assert.equal(jsonLines(inside).at(-1).name, `${server.url}/x.tar#07-transactions/txn-0`);
    server.files.set("/page", { bytes: new TextEncoder().encode("<html>") });
    assert.match((await world.run(["log", "ls", `${server.url}/page#%zz`])).err, /the URL of a folder ends in a slash/);
    const secret = await world.run([
      "log",
      "ls",
      `${server.url.replace("//", "//me:secret@")}/absent.tar?token=secret`,
    ]);
    assert.equal(secret.code, 1);
    assert.doesNotMatch(secret.err, /secret/);
  });
});
