import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { collectLogStats } from "../../src/log/log_stats.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { TimeHistogram } from "../../src/log/time_histogram.ts";
import { seeded } from "../helpers/seeded.ts";
import { goldenCopy, goldenSet } from "./golden_set.ts";
import { dataBatch, putSegment } from "./raw_log.ts";

const codecs = { ...plainCodecs, ...nativeCodecs() };

/** Bytes as expected.json has them. */
type Bytes = null | string | { readonly length: number; readonly sha256: string };

function lengthOf(bytes: Bytes): number {
  return bytes === null ? -1 : typeof bytes === "string" ? atob(bytes).length : bytes.length;
}

/** The same numbers from what Kafka's classes say of a set, of which offsets below `start` were deleted. */
function countedByKafka(name: string, start: number): Record<string, number> {
  const { expected } = goldenSet(name);
  // deno-lint-ignore no-explicit-any -- the file of another program
  const all: any[] = expected.batches.filter(({ file }: { file: string }) => file.endsWith(".log"));
  const batches = all.filter(({ lastOffset }) => lastOffset >= start);
  const data = batches.filter(({ control }) => control !== true);
  const stored = all.filter(({ control }) => control !== true).flatMap(({ firstRecord, recordCount }) =>
    expected.records.slice(firstRecord, firstRecord + recordCount)
  );
  const records = stored.filter(([offset]) => offset >= start);
  const keys = records.map(([, , key]) => key as Bytes);
  const values = records.map(([, , , value]) => lengthOf(value));
  const controls = batches.filter(({ control }) => control === true).map(({ firstRecord, recordCount }) =>
    recordCount === 0 ? undefined : expected.records[firstRecord][6].type
  );
  const times = records.map(([, timestamp]) => Number(timestamp)).filter((time) => time >= 0);
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + Math.max(0, b), 0);
  return {
    batches: batches.length,
    records: records.length,
    recordsBelowStart: stored.length - records.length,
    tombstones: values.filter((length) => length < 0).length,
    keyless: keys.filter((key) => key === null).length,
    headers: sum(records.map(([, , , , headers]) => headers.length)),
    keyBytes: sum(keys.map(lengthOf)),
    valueBytes: sum(values),
    largestValue: Math.max(0, ...values),
    distinctKeys: new Set(keys.filter((key) => key !== null).map((key) => JSON.stringify(key))).size,
    commits: controls.filter((type) => type === "COMMIT").length,
    aborts: controls.filter((type) => type === "ABORT").length,
    minTimestamp: times.length === 0 ? -1 : Math.min(...times),
    maxTimestamp: times.length === 0 ? -1 : Math.max(...times),
    producerCount: new Set(data.map(({ producerId }) => Number(producerId ?? -1)).filter((id) => id >= 0)).size,
  };
}

describe("collectLogStats", () => {
  const sets: readonly (readonly [name: string, logStartOffset?: number])[] = [
    ["01-plain"],
    ["02-gzip"],
    ["03-snappy"],
    ["04-lz4"],
    ["05-zstd"],
    ["06-log-append-time"],
    ["07-transactions"],
    ["07-transactions", 100],
    ["08a-compacted"],
    ["08a-compacted", 620],
    ["09a-delete-records-first", 6],
    ["09b-delete-records-later", 117],
    ["14-v0-gzip"],
    ["14-v1-lz4"],
    ["14-v1-lz4", 40],
    ["14-mixed"],
  ];
  for (const [name, logStartOffset] of sets) {
    const start = logStartOffset ?? 0;
    test(`${name}, from offset ${start} on: the numbers are those of Kafka's classes`, async () => {
      const storage = await goldenCopy(goldenSet(name));
      storage.readOnly = true;
      const stats = await collectLogStats(storage, { codecs, logStartOffset });
      const counted = countedByKafka(name, start);
      const { distinctKeys, ...exact } = counted;
      const ours = Object.fromEntries(Object.keys(exact).map((field) => [field, stats[field as keyof typeof stats]]));
      assert.deepEqual(ours, exact);
      // With so few keys the estimate is nearly exact.
      assert.ok(Math.abs(stats.distinctKeys - distinctKeys!) <= Math.max(1, 0.025 * distinctKeys!));
      assert.equal(stats.times.counts.reduce((a, b) => a + b, 0), timed(name, start));
      assert.equal(stats.batchSizes.reduce((a, b) => a + b, 0), stats.batches);
      assert.equal(stats.damagedBytes + stats.unreadBatches, 0);
      assert.deepEqual(
        new Map(stats.producers.map(({ producerId, records }) => [producerId, records])),
        producedByKafka(name, start),
      );
    });
  }

  test("codecs and what they save: the inflated size is that of the records without a codec", async () => {
    const batch = dataBatch({ offset: 0, values: ["a".repeat(1000)] });
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [batch]);
    const { codecs: [none] } = await collectLogStats(storage, { codecs });
    assert.deepEqual(none, { codec: "none", batches: 1, bytes: batch.length - 61, inflatedBytes: batch.length - 61 });
    const sets = ["02-gzip", "03-snappy", "04-lz4", "05-zstd"];
    const ratios = await Promise.all(sets.map(async (set) => {
      const stats = await collectLogStats(await goldenCopy(goldenSet(set)), { codecs });
      return stats.codecs.map(({ bytes, codec, inflatedBytes }) => [codec, inflatedBytes / bytes > 4]);
    }));
    assert.deepEqual(ratios, [[["gzip", true]], [["snappy", true]], [["lz4", true]], [["zstd", true]]]);
  });

  test("a missing codec and damage are counted, and what is around them, too", async () => {
    const without = await collectLogStats(await goldenCopy(goldenSet("05-zstd")), { codecs: {} });
    assert.deepEqual([without.unreadBatches, without.records, without.valueBytes], [42, 1563, 0]);
    const storage = new MemoryStorage();
    const batches = [0, 1, 2].map((offset) => dataBatch({ offset }));
    batches[1]![70]! ^= 1;
    batches[1]![65]! ^= 1;
    await putSegment(storage, 0, batches);
    const { damagedBytes, endOffset, records } = await collectLogStats(storage, { codecs });
    assert.deepEqual([damagedBytes, endOffset, records], [batches[1]!.length, 3, 2]);
  });

  test("nothing in it", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 7, []);
    const stats = await collectLogStats(storage, { codecs });
    assert.deepEqual([stats.segments, stats.startOffset, stats.endOffset, stats.batches], [1, 7, 7, 0]);
    assert.deepEqual(stats.times, { from: 0, stepMs: 0, counts: [] });
  });
});

/** Records by the ids of their producers. */
function producedByKafka(name: string, start: number): Map<number, number> {
  const { expected } = goldenSet(name);
  const counts = new Map<number, number>();
  for (const { control, firstRecord, lastOffset, producerId, recordCount } of expected.batches) {
    const id = Number(producerId ?? -1);
    if (control === true || id < 0 || lastOffset < start) continue;
    const records: [offset: number][] = expected.records.slice(firstRecord, firstRecord + recordCount);
    counts.set(id, (counts.get(id) ?? 0) + records.filter(([offset]) => offset >= start).length);
  }
  return counts;
}

function timed(name: string, start: number): number {
  const { expected } = goldenSet(name);
  // deno-lint-ignore no-explicit-any -- as above
  const data: any[] = expected.batches.filter(({ control }: { control?: boolean }) => control !== true);
  return data.flatMap(({ firstRecord, recordCount }) => expected.records.slice(firstRecord, firstRecord + recordCount))
    .filter(([offset, timestamp]) => offset >= start && Number(timestamp) >= 0).length;
}

describe("TimeHistogram", () => {
  test("every count is in the step of its time, in whatever order times come", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = seeded(seed);
      const histogram = new TimeHistogram();
      const times = Array.from(
        { length: 1000 },
        () => Math.floor(1.7e12 + (random() ** 4 - 0.5) * 10 ** (3 + 2 * seed)),
      );
      for (const time of times) histogram.add(time);
      const { counts, from, stepMs } = histogram.result();
      assert.ok(counts.length <= 64);
      const expected = counts.map((_, i) =>
        times.filter((time) => time >= from + i * stepMs && time < from + (i + 1) * stepMs).length
      );
      assert.deepEqual(counts, expected);
    }
  });

  test("from 0 to the greatest time that a number holds", () => {
    const histogram = new TimeHistogram();
    for (const time of [Number.MAX_SAFE_INTEGER, 0, 1000]) histogram.add(time);
    assert.equal(histogram.result().counts.reduce((a, b) => a + b, 0), 3);
  });
});
