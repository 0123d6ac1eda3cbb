import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32c } from "../../src/hash/crc32c.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { putFile } from "../helpers/memory_copy.ts";
import { FakeWorld, type Ran } from "./fake_io.ts";
import { expectedOf, jsonLines, worldWith } from "./golden_world.ts";

const PLAIN = "/data/plain.v2-create_time-0";

async function read(set: string, ...words: string[]): Promise<Ran> {
  return await (await worldWith(set)).run(["log", "read", ...words]);
}

async function offsets(set: string, ...words: string[]): Promise<number[]> {
  const ran = await read(set, ...words, "-o", "json");
  assert.deepEqual([ran.code, ran.err], [0, ""]);
  return jsonLines(ran).map(({ offset }) => offset);
}

/** The offsets in ranges `[first, last]`. */
function inRanges(ranges: readonly (readonly [number, number])[]): number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, n) => first + n));
}

describe("log read: what a consumer would be given", () => {
  for (const set of ["01-plain", "04-lz4", "07-transactions", "08a-compacted", "14-mixed"]) {
    test(`${set}: as Kafka's Java consumer, of each isolation level`, async () => {
      const { consumer, partition } = expectedOf(set);
      assert.deepEqual(await offsets(set, `/data/${partition}`), inRanges(consumer.read_uncommitted.offsets));
      assert.deepEqual(
        await offsets(set, `/data/${partition}`, "--committed"),
        inRanges(consumer.read_committed.offsets),
      );
    });
  }

  test("JSON has text where bytes are UTF-8, base64 where not, and where the record is from", async () => {
    const [text, bytes] = jsonLines(await read("01-plain", PLAIN, "--from", "3", "--until", "5", "-o", "json"));
    assert.deepEqual(text, {
      topic: "plain.v2-create_time",
      partition: 0,
      offset: 3,
      timestamp: 1_700_000_002_083,
      timestampType: "CreateTime",
      key: "k-39",
      value: "👩‍👩‍👧 שלום café привет привет tab\t \\ naïve zażółć 東京 \\ : ",
      headers: [["trace", null, "EZZ8XGZyVJeFzQnBNeHThg=="]],
    });
    assert.equal(bytes.valueBase64, "wQCmEU9yJj202jxRKfy861UtsmW/aNE=");
    assert.ok(!("value" in bytes));
  });

  test("text is a value a line, hex its digits, raw the values alone", async () => {
    const range = ["--key", "k-19", "--grep", "paid", "--limit", "2"];
    const values = jsonLines(await read("01-plain", PLAIN, ...range, "-o", "json")).map(({ value }) => value);
    assert.equal((await read("01-plain", PLAIN, ...range)).out, values.map((value) => `${value}\n`).join(""));
    assert.equal((await read("01-plain", PLAIN, ...range, "-o", "raw")).out, values.join(""));
    const hex = [...new TextEncoder().encode(values[0])].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    assert.equal((await read("01-plain", PLAIN, ...range, "-o", "hex")).out.split("\n")[0], hex);
  });

  test("--decode offsets shows the commits of consumer groups", async () => {
    const { out } = await read(
      "11a-consumer-offsets",
      `/data/${expectedOf("11a-consumer-offsets").partition}`,
      "--decode",
      "offsets",
      "-n",
      "1",
    );
    assert.deepEqual(JSON.parse(out), {
      key: { type: 1, data: { group: "manual-a", topic: "append-time", partition: 0 } },
      value: {
        version: 4,
        data: {
          offset: 0,
          leaderEpoch: -1,
          metadata: "",
          commitTimestamp: 1_796_005_417_129,
          topicId: "GVYfOdDvT3aEt3NlebFgHA",
        },
      },
    });
  });
});

describe("log read: which records", () => {
  test("--from and --until take offsets, the last N and times", async () => {
    assert.deepEqual(await offsets("01-plain", PLAIN, "--from", "-2"), [817, 818]);
    assert.deepEqual(await offsets("01-plain", PLAIN, "--from", "end"), []);
    assert.deepEqual(await offsets("01-plain", PLAIN, "--until", "2"), [0, 1]);
    assert.deepEqual(await offsets("01-plain", PLAIN, "--from", "@1700000104500", "-n", "2"), [236, 237]);
    assert.deepEqual(await offsets("01-plain", PLAIN, "--from", "230", "--until", "@1700000104500"), [
      230,
      231,
      232,
      233,
      234,
      235,
    ]);
  });

  test("--key, --grep and --time are conditions that all must hold, --limit counts what is printed", async () => {
    const keyed = await offsets("01-plain", PLAIN, "--key", "k-19");
    assert.deepEqual(
      keyed,
      expectedOf("01-plain").records.filter((row: unknown[]) => row[2] === "ay0xOQ==").map((row: unknown[]) => row[0]),
    );
    const both = await offsets("01-plain", PLAIN, "--key", "k-19", "--grep", "שלום");
    assert.ok(both.length > 0 && both.length < keyed.length);
    assert.deepEqual(await offsets("01-plain", PLAIN, "--key", "k-19", "--limit", "3"), keyed.slice(0, 3));
  });

  test("before the log start, where records were deleted, there is nothing", async () => {
    const set = "09a-delete-records-first";
    const { opened, partition } = expectedOf(set);
    assert.ok(opened.logStartOffset > 0);
    assert.equal((await offsets(set, "/data"))[0], opened.logStartOffset);
    assert.equal((await offsets(set, `/data/${partition}`, "--from", "0"))[0], opened.logStartOffset);
  });

  test("a single segment, and what is none", async () => {
    const found = await offsets("01-plain", `${PLAIN}/00000000000000000446.log`);
    assert.deepEqual([found[0], found.at(-1)], [446, 669]);
    const ran = await read("01-plain", `${PLAIN}/00000000000000000446.index`);
    assert.equal(ran.code, 1);
    assert.match(ran.err, /records are read from a partition's folder or a \.log/);
  });

  test("a batch with a wrong checksum ends it: nobody is given changed bytes", async () => {
    const world = await worldWith("01-plain");
    const folder = await world.folders.get("/data")!.folder("plain.v2-create_time-0");
    const name = "00000000000000000000.log";
    const file = await folder.open(name);
    const bytes = new Uint8Array(file.size);
    await file.readAt(bytes, 0);
    bytes[2021 + 100]! ^= 1;
    await folder.remove(name);
    await putFile(folder, name, bytes);
    const ran = await world.run(["log", "read", PLAIN, "-o", "json"]);
    assert.equal(ran.code, 1);
    assert.match(ran.err, /offset 27, 00000000000000000000\.log at byte 2021: CRC-32C is /);
    assert.equal(jsonLines(ran).at(-1).offset, 26);
  });
});

describe("log read --follow", () => {
  test("goes on with what is appended, over new segments, until it is interrupted", async () => {
    const world = new FakeWorld();
    const clock = new ManualClock({ quietTurns: 20 });
    world.clock = clock;
    const tree = new MemoryStorage();
    world.folders.set("/data", tree);
    const log = await Log.open(await tree.folder("t-0"), { mode: "write", segmentBytes: 200 });
    const append = async (value: string) => {
      const builder = new RecordBatchBuilder(new Uint8Array(200));
      builder.append(1_700_000_000_000, null, value);
      await log.append(builder.seal({ crc32c }).slice());
    };
    for (const value of ["a", "b"]) await append(value);
    const controller = new AbortController();
    const ran = world.run(["log", "read", "/data/t-0", "--from", "-1", "--follow"], { signal: controller.signal });
    await clock.advance(1000);
    for (const value of ["c", "d", "e"]) await append(value);
    await clock.advance(1000);
    await append("f");
    await clock.advance(1000);
    controller.abort();
    const { code, out } = await ran;
    assert.equal(out, "b\nc\nd\ne\nf\n");
    assert.equal(code, 130);
    assert.ok(log.segments.length > 1);
    assert.equal(clock.pendingTimers, 0);
    await log.close();
  });

  test("ends at --limit and at --until", async () => {
    const world = await worldWith("01-plain");
    const clock = new ManualClock({ quietTurns: 20 });
    world.clock = clock;
    for (const words of [["--limit", "2"], ["--until", "2"]]) {
      const { code, out } = await clock.runUntil(world.run(["log", "read", PLAIN, "--follow", "-o", "json", ...words]));
      assert.deepEqual([code, out.split("\n").length], [0, 3]);
    }
  });
});
