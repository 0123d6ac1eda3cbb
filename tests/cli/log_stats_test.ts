import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { jsonLines, worldWith } from "./golden_world.ts";

describe("anykafka log stats", () => {
  test("a name and a text in each line, separated by a tab, when not on a terminal", async () => {
    const { code, err, out } = await (await worldWith("07-transactions")).run(["log", "stats", "/data"]);
    assert.deepEqual([code, err], [0, ""]);
    const lines = new Map(out.trimEnd().split("\n").map((line) => line.split("\t") as [string, string]));
    assert.equal(lines.get("partition"), "/data/txn-0");
    assert.equal(lines.get("segments"), "10, 30.5 KiB");
    assert.equal(lines.get("offsets"), "0 to 374");
    assert.equal(lines.get("batches"), "162, 2.1 records each, format 2");
    assert.equal(lines.get("markers"), "14 commits, 18 aborts");
    assert.match(lines.get("keys")!, /^about 76 different, /);
    assert.equal(lines.get("times"), "2023-11-14T23:10:30.087Z to 2023-11-14T23:13:43.852Z");
    assert.equal(lines.get("producers"), "5 with an id");
    assert.ok(!/[▁-█]/.test(out));
  });

  test("charts on a terminal", async () => {
    const { out } = await (await worldWith("04-lz4")).run(["log", "stats", "/data"], { terminal: true });
    assert.match(out, /^ {2}lz4 +\d+ batches, [\d.]+ KiB, [\d.]+ to 1 +█+$/m);
    assert.match(out, /^ {2}over time .*[▁▂▃▄▅▆▇█]{10}/m);
    assert.match(out, /^ {2}< 1\.0 KiB +\d+ batches +█/m);
  });

  test("-o json: one object a partition", async () => {
    const [stats, ...more] = jsonLines(
      await (await worldWith("14-mixed")).run(["log", "stats", "/data", "-o", "json"]),
    );
    assert.equal(more.length, 0);
    const { formats, name, partition, topic, type } = stats;
    assert.deepEqual([type, name, topic, partition], ["stats", "/data/mixed-0", "mixed", 0]);
    assert.ok(formats.every((count: number) => count > 0));
  });

  test("what was deleted from the front is told and counted nowhere, as log read does not show it", async () => {
    const world = await worldWith("09a-delete-records-first");
    const { out } = await world.run(["log", "stats", "/data"]);
    assert.match(out, /\noffsets\t6 to 230\n/);
    assert.match(out, /\nrecords\t225, 100 % of the offsets, /);
    assert.match(out, /\ndeleted\t6 records below offset 6, still in the files\n/);
    const [stats] = jsonLines(await world.run(["log", "stats", "/data", "-o", "json"]));
    assert.deepEqual([stats.startOffset, stats.records, stats.recordsBelowStart], [6, 225, 6]);
    const read = jsonLines(await world.run(["log", "read", "/data", "-o", "json"]));
    assert.equal(read.length, stats.records);
    assert.doesNotMatch((await (await worldWith("01-plain")).run(["log", "stats", "/data"])).out, /deleted/);
  });

  test("wrong usage, and a folder that is not there", async () => {
    const world = await worldWith("01-plain");
    assert.equal((await world.run(["log", "stats", "/data", "-o", "xml"])).code, 2);
    assert.equal((await world.run(["log", "stats", "/nowhere"])).code, 1);
    const index = await world.run(["log", "stats", "/data/plain.v2-create_time-0/00000000000000000196.index"]);
    assert.equal(index.code, 2);
  });
});
