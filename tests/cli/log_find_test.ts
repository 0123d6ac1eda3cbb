import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ran } from "./fake_io.ts";
import { expectedOf, jsonLines, worldWith } from "./golden_world.ts";

const PLAIN = "/data/plain.v2-create_time-0";

async function find(set: string, ...words: string[]): Promise<Ran> {
  return await (await worldWith(set)).run(["log", "find", ...words]);
}

describe("log find", () => {
  for (const set of ["01-plain", "04-lz4", "07-transactions", "14-mixed"]) {
    test(`${set}: every tenth record is where Kafka's classes say`, async () => {
      const { batches, partition, records } = expectedOf(set);
      const world = await worldWith(set);
      for (const batch of batches) {
        for (let n = 0; n < batch.recordCount; n += 10) {
          const [offset, timestamp] = records[batch.firstRecord + n];
          const [found] = jsonLines(
            await world.run(["log", "find", `/data/${partition}`, String(offset), "-o", "json"]),
          );
          const { file, lastOffset, position, recordCount, recordIndex, size } = found;
          assert.deepEqual(
            {
              file,
              lastOffset,
              position,
              recordCount,
              recordIndex,
              size,
              offset: found.offset,
              timestamp: found.timestamp,
            },
            {
              file: batch.file,
              lastOffset: batch.lastOffset,
              position: batch.position,
              recordCount: batch.recordCount,
              recordIndex: n,
              size: batch.size,
              offset,
              timestamp,
            },
          );
        }
      }
    });
  }

  test("--explain tells the steps with their numbers", async () => {
    const { code, out } = await find("01-plain", PLAIN, "350", "--explain");
    assert.equal(code, 0);
    assert.deepEqual(out.split("\n"), [
      "Offset 350 is asked. The log holds 0 to 818 (high watermark 819); all of it is read, so offsets below 819 may be read.",
      "Of 4 segments, the last that begins at or below it is 00000000000000000196.log: the one after it begins at 446.",
      "  entry 6 is offset 346 at byte 8665: not above, look right",
      "  entry 9 is offset 395 at byte 11175: above, look left",
      "  entry 8 is offset 356 at byte 10516: above, look left",
      "  entry 7 is offset 352 at byte 9998: above, look left",
      "00000000000000000196.index (96 bytes) has 12 entries. The last at or below 350 is entry 6: offset 346 at byte 8665. " +
      "The next is offset 352 at byte 9998.",
      "Batch headers of 00000000000000000196.log are read from byte 8665 on.",
      "  byte 8665: 1333 bytes, offsets 325 to 346",
      "  byte 9998: 518 bytes, offsets 347 to 352: this one",
      "1 batch passed over.",
      "A fetch of 1048576 bytes gets bytes 9998 to 16302 of 00000000000000000196.log: 6305 bytes, up to the end of the segment.",
      "offset 350, 1700000152285 (2023-11-14T22:15:52.285Z): 00000000000000000196.log at byte 9998, record 4 of 6 in the " +
      "batch of offsets 347 to 352 (518 bytes)",
      "",
    ]);
  });

  test("by time: the record that Kafka answers, and the way by the time index", async () => {
    for (const set of ["01-plain", "07-transactions"]) {
      const { opened, partition } = expectedOf(set);
      const world = await worldWith(set);
      for (const [timestamp, offset] of opened.offsetByTimestamp) {
        if (timestamp < 100_000_000_000) continue;
        const ran = await world.run(["log", "find", `/data/${partition}`, `@${timestamp}`, "-o", "json"]);
        assert.equal(ran.code, offset === null ? 3 : 0);
        if (offset !== null) assert.equal(jsonLines(ran)[0].offset, offset, String(timestamp));
        else assert.match(ran.err, /no record is as new as/);
      }
    }
    const { out } = await find("01-plain", PLAIN, "@1700000104500", "--explain");
    assert.match(out, /^00000000000000000000\.log has timestamps up to 1700000085507 .*: too old, passed over\.$/m);
    assert.match(out, /^00000000000000000196\.timeindex \(156 bytes\) has 13 entries\. .* entry 0: 1700000104417 /m);
  });

  test("an offset that compaction took leads to the next one", async () => {
    const { partition, records } = expectedOf("08a-compacted");
    const gap = records.findIndex((row: number[], n: number) => n > 0 && row[0]! > records[n - 1][0] + 1);
    const [offset] = records[gap];
    const ran = await find("08a-compacted", `/data/${partition}`, String(offset - 1), "-o", "json");
    assert.equal(ran.code, 0);
    assert.equal(jsonLines(ran)[0].offset, offset);
    assert.match(ran.err, new RegExp(`no record has offset ${offset - 1}: .*the next is this`));
  });

  test("by key: every record with it", async () => {
    const keyed = expectedOf("01-plain").records.filter((row: unknown[]) => row[2] === "ay0xOQ==");
    const ran = await find("01-plain", PLAIN, "--key", "k-19", "-o", "json");
    assert.deepEqual(jsonLines(ran).map(({ offset }) => offset), keyed.map(([offset]: [number]) => offset));
    for (const { key } of jsonLines(ran)) assert.equal(key, "k-19");
    const one = await find("01-plain", PLAIN, "--key", "k-19", "-n", "1", "--explain");
    assert.equal(one.out.split("\n").length, 2);
    assert.equal((await find("01-plain", PLAIN, "--key", "nobody")).code, 3);
  });

  test("what is outside the log is told, and the exit code is 3", async () => {
    const ran = await find("01-plain", PLAIN, "5000");
    assert.equal(ran.code, 3);
    assert.match(ran.err, /offset 5000 is outside the log, which holds 0 to 819/);
    const deleted = await find("09a-delete-records-first", "/data", "0");
    assert.equal(deleted.code, 3);
  });

  test("neither or both of a place and a key is wrong usage", async () => {
    for (const words of [[PLAIN], [PLAIN, "3", "--key", "k"], [PLAIN, "three"]]) {
      assert.equal((await find("01-plain", ...words)).code, 2, words.join(" "));
    }
  });
});
