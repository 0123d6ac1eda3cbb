import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { putFile } from "../helpers/memory_copy.ts";
import { twoPartitions } from "../helpers/two_partitions.ts";
import { jsonLines, worldWith } from "./golden_world.ts";

describe("anykafka log verify", () => {
  test("a sound log directory of Kafka's: exit 0, and what was checked", async () => {
    for (const set of ["01-plain", "07-transactions", "08a-compacted"]) {
      const { code, err, out } = await (await worldWith(set)).run(["log", "verify", "/data", "-o", "json"]);
      assert.deepEqual([code, err], [0, ""], set);
      const lines = jsonLines({ code, err, out });
      const summary = lines.at(-1);
      assert.deepEqual([summary.type, summary.damage], ["summary", 0]);
      assert.equal(lines.filter(({ level }) => level === "damage").length, 0);
    }
  });

  test("damage: exit 3, a row for each finding, and what was checked as a message", async () => {
    const world = await twoPartitions();
    const { code, err, out } = await world.run(["log", "verify", "/data"]);
    assert.equal(code, 3);
    const rows = out.trimEnd().split("\n").map((row) => row.split("\t"));
    assert.deepEqual(rows[0], ["partition", "level", "kind", "file", "position", "offset", "recovery", "message"]);
    const damage = rows.filter(([, level]) => level === "damage");
    assert.deepEqual(damage.map((row) => row.slice(0, 7)), [
      ["broken-0", "damage", "corrupt-batch", "00000000000000000000.log", "69", "1", "loses data"],
    ]);
    assert.match(
      err,
      /\/data\/broken-0: 1 segment, 2 intact batches, 207 B, offsets 0 to 2: 1 finding of damage, \d notes/,
    );
    assert.match(err, /\/data\/sound-0: 1 segment, 3 intact batches.*: no damage/);
    const one = await world.run(["log", "verify", "/data/sound-0"]);
    assert.equal(one.code, 0);
    const json = jsonLines(await world.run(["log", "verify", "/data", "--topic", "broken", "-o", "json"]));
    const { message: _, ...finding } = json.find(({ level }) => level === "damage");
    assert.deepEqual(finding, {
      type: "finding",
      name: "/data/broken-0",
      topic: "broken",
      partition: 0,
      kind: "corrupt-batch",
      level: "damage",
      file: "00000000000000000000.log",
      position: 69,
      offset: 1,
      losesData: true,
    });
  });

  test("on a terminal: paragraphs, and progress that leaves no trace", async () => {
    const { err, out } = await (await twoPartitions()).run(["log", "verify", "/data"], { terminal: true });
    assert.match(
      out,
      /^DAMAGE {2}broken-0\/0{20}\.log at byte 69, offset 1: corrupt-batch, recovery would lose data\n {8}bytes/m,
    );
    assert.match(out, /^note {4}broken-0\/0{20}\.index: missing-index$/m);
    assert.ok(err.endsWith("\r\x1b[2K"));
  });

  test("the log directory's own files, and checkpoints beyond a log's end (case 074)", async () => {
    const world = await twoPartitions();
    const tree = world.folders.get("/data")!;
    const text = (content: string) => new TextEncoder().encode(content);
    await putFile(tree, "log-start-offset-checkpoint", text("0\n1\nsound 0 9\n"));
    await putFile(tree, "recovery-point-offset-checkpoint", text("garbage\n"));
    const lines = jsonLines(await world.run(["log", "verify", "/data", "-o", "json"]));
    const kinds = lines.filter(({ level }) => level === "damage").map(({ file, kind }) => `${kind} ${file}`);
    assert.deepEqual(kinds, [
      "offset-checkpoint-unreadable recovery-point-offset-checkpoint",
      "corrupt-batch 00000000000000000000.log",
      "offset-checkpoint-content log-start-offset-checkpoint",
    ]);
  });

  test("a single .log; another single file is wrong usage", async () => {
    const world = await worldWith("01-plain");
    const folder = "/data/plain.v2-create_time-0";
    const { code, err } = await world.run(["log", "verify", `${folder}/00000000000000000196.log`]);
    assert.equal(code, 0);
    assert.match(err, /00000000000000000196\.log: 1 segment, 21 intact batches/);
    const index = await world.run(["log", "verify", `${folder}/00000000000000000196.index`]);
    assert.equal(index.code, 2);
    assert.match(index.err, /not such a file alone/);
  });

  test("a partition that cannot be read: exit 1, and the others are checked", async () => {
    const world = await twoPartitions();
    world.folders.get("/data")!.fail("read", { file: "00000000000000000000.log" });
    const { code, err } = await world.run(["log", "verify", "/data"]);
    assert.equal(code, 1);
    assert.match(err, /\/data\/broken-0 could not be read: .*\[EIO\]/);
    assert.match(err, /\/data\/sound-0: 1 segment, 3 intact batches/);
    assert.equal((await world.run(["log", "verify", "/nowhere"])).code, 1);
  });

  test("--quick decodes no records, -o xml is wrong usage, and an interrupt is exit 130", async () => {
    const world = await worldWith("05-zstd");
    world.codecs = {};
    const notes = async (...words: string[]) =>
      jsonLines(await world.run(["log", "verify", "/data", "-o", "json", ...words])).filter(({ level }) =>
        level === "note"
      );
    assert.deepEqual((await notes()).map(({ kind }) => kind), ["undecodable-batch"]);
    assert.deepEqual(await notes("--quick"), []);
    assert.equal((await world.run(["log", "verify", "/data", "-o", "xml"])).code, 2);
    assert.equal((await world.run(["log", "verify", "/data"], { signal: AbortSignal.abort() })).code, 130);
  });
});
