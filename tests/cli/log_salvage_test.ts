import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { putFile } from "../helpers/memory_copy.ts";
import { twoPartitions } from "../helpers/two_partitions.ts";
import { fileBytes } from "../log/batch_of.ts";
import { scanBatches } from "../log/plain_scanner.ts";
import { dataBatch } from "../log/raw_log.ts";
import { jsonLines, worldWith } from "./golden_world.ts";

const LOG = "00000000000000000000.log";

describe("anykafka log salvage", () => {
  test("a partition into a folder of its own: plan, loss, exit 3", async () => {
    const world = await twoPartitions();
    const { code, err, out } = await world.run(["log", "salvage", "/data/broken-0", "--out", "/new"]);
    assert.deepEqual([code, err], [3, ""]);
    assert.deepEqual(out.split("\n"), [
      "/data/broken-0: 2 intact batches, 138 B, in 1 file",
      `  ${LOG}: 2 batches, 69 B without any`,
      `  damaged: ${LOG} bytes 69 to 137 (offset 1): its checksum is wrong: bytes of it were changed`,
      "/data/broken-0: wrote 2 batches, 138 B, in 1 segment, offsets 0 to 2",
      `  LOST: ${LOG} bytes 69 to 137 (offset 1): its checksum is wrong: bytes of it were changed`,
      "",
    ]);
    const found = scanBatches(await fileBytes(world.folders.get("/new")!, LOG));
    assert.deepEqual(found.map(({ baseOffset }) => baseOffset), [0, 2]);
    assert.equal((await world.run(["log", "verify", "/new"])).code, 0);
  });

  test("a sound one: exit 0, nothing is lost", async () => {
    const world = await twoPartitions();
    const { code, out } = await world.run(["log", "salvage", "/data/sound-0", "--out", "/new"]);
    assert.equal(code, 0);
    assert.match(out, / {2}nothing is lost\n$/);
  });

  test("a log directory into a folder for each partition, with the first visible offsets", async () => {
    const world = await twoPartitions();
    const checkpoint = new TextEncoder().encode("0\n1\nsound 0 1\n");
    await putFile(world.folders.get("/data")!, "log-start-offset-checkpoint", checkpoint);
    const ran = await world.run(["log", "salvage", "/data", "--out", "/new", "-o", "json"]);
    assert.equal(ran.code, 3);
    assert.deepEqual(jsonLines(ran).map(({ name, type }) => `${type} ${name}`), [
      "plan /data/broken-0",
      "lost /data/broken-0",
      "summary /data/broken-0",
      "plan /data/sound-0",
      "summary /data/sound-0",
    ]);
    const { firstOffset, from, kind, lastOffset, until } = jsonLines(ran).find(({ type }) => type === "lost");
    assert.deepEqual([kind, from, until, firstOffset, lastOffset], ["damaged", 69, 138, 1, 1]);
    const tree = world.folders.get("/new")!;
    assert.deepEqual(await tree.folders(), ["broken-0", "sound-0"]);
    assert.deepEqual(await fileBytes(tree, "log-start-offset-checkpoint"), checkpoint);
    assert.equal((await world.run(["log", "verify", "/new"])).code, 0);
  });

  test("a first visible offset of a single partition is told, since its place is the log directory", async () => {
    const world = await worldWith("09b-delete-records-later");
    const { code, err } = await world.run(["log", "salvage", "/data/delete-records-later-0", "--out", "/new"]);
    assert.equal(code, 0);
    assert.match(err, /the line "delete-records-later 0 117" in log-start-offset-checkpoint/);
  });

  test("--plan writes nothing", async () => {
    const world = await twoPartitions();
    const { code, out } = await world.run(["log", "salvage", "/data", "--plan"]);
    assert.equal(code, 3);
    assert.match(out, /damaged: .* \(offset 1\)/);
    assert.deepEqual([...world.folders.keys()], ["/data"]);
  });

  test("a folder that is not empty is refused before anything is read, and stays as it is", async () => {
    const world = await twoPartitions();
    const there = new MemoryStorage();
    await putFile(there, "precious", new Uint8Array(3));
    world.folders.set("/there", there);
    const { code, err, out } = await world.run(["log", "salvage", "/data/broken-0", "--out", "/there"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /--out \/there: nothing is overwritten, and there is precious.*\[NOT_EMPTY\]/);
    assert.deepEqual(await there.list(), ["precious"]);
    assert.equal((await world.run(["log", "salvage", "/data/broken-0", "--out", "/data"])).code, 1);
  });

  test("--include-deleted", async () => {
    const world = await twoPartitions();
    const folder = await world.folders.get("/data")!.folder("sound-0");
    await putFile(folder, "00000000000000000003.log.deleted", dataBatch({ offset: 3 }));
    await world.run(["log", "salvage", "/data/sound-0", "--out", "/a"]);
    await world.run(["log", "salvage", "/data/sound-0", "--out", "/b", "--include-deleted"]);
    const sizes = await Promise.all(["/a", "/b"].map(async (path) => (await world.folders.get(path)!.list()).length));
    assert.ok(sizes[0]! < sizes[1]!);
  });

  test("wrong usage: no --out, a file that holds no batches, two words", async () => {
    const world = await worldWith("01-plain");
    const folder = "/data/plain.v2-create_time-0";
    const run = async (...words: string[]) => (await world.run(["log", "salvage", ...words])).code;
    assert.equal(await run(folder), 2);
    assert.equal(await run(`${folder}/00000000000000000196.index`, "--out", "/new"), 2);
    assert.equal(await run(folder, folder, "--out", "/new"), 2);
    assert.equal(await run(`${folder}/00000000000000000196.log`, "--out", "/new"), 0);
  });
});
