import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { FileRecords } from "../../src/log/file_records.ts";
import { Log, type LogRead, type ReadStep } from "../../src/log/log.ts";
import { LogSegment } from "../../src/log/log_segment.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { concatenated, rawMessage } from "../helpers/raw_batch.ts";
import { batchOf, replaceFile, valuesOf } from "./batch_of.ts";
import { goldenCopy, goldenSet, goldenStorage } from "./golden_set.ts";
import { dataBatch, markerBatch, offsetEntries, putSegment, putTransactionIndex, timeEntries } from "./raw_log.ts";

const LOG = "00000000000000000000.log";
const OUT_OF_RANGE = { name: "KafkaError", code: "OFFSET_OUT_OF_RANGE" };

/** A segment in memory with batches of these `[offset, values]`. */
async function segmentOf(baseOffset: number, ...batches: [offset: number, count: number][]): Promise<LogSegment> {
  const storage = new MemoryStorage();
  const bytes = batches.map(([offset, count]) =>
    dataBatch({ offset, values: Array.from({ length: count }, (_, i) => `${offset + i}`) })
  );
  await putSegment(storage, baseOffset, bytes);
  const options = { indexIntervalBytes: 4096, segmentIndexBytes: 1e6, maxBatchBytes: 1e6, context: {} };
  return await LogSegment.open({ storage, baseOffset, writable: false, ...options });
}

/** First and last offset of the whole batches in the answer. */
async function spanOf({ records }: LogRead): Promise<[number, number] | undefined> {
  if (records === undefined) return undefined;
  const batches = [...await records.batches()];
  return batches.length === 0 ? undefined : [batches[0]!.baseOffset, batches.at(-1)!.lastOffset];
}

describe("reading a segment", () => {
  test("scenario 2: an empty segment and one that ends below answer nothing; before the first and in a gap, the next batch", async () => {
    const empty = await segmentOf(40);
    assert.equal(await empty.read(40, 300, 0, true), undefined);
    const segment = await segmentOf(40, [50, 2], [60, 2]);
    assert.equal(await segment.read(62, 200, segment.size, true), undefined);
    for (const [offset, first] of [[40, 50], [41, 50], [50, 50], [51, 50], [52, 60], [55, 60], [61, 60]] as const) {
      const read = await segment.read(offset, 1, segment.size, true);
      assert.equal(read?.firstBatch.baseOffset, first, `offset ${offset}`);
    }
    await Promise.all([empty.close(), segment.close()]);
  });

  test("scenario 3: without a known bound the place is told and no byte is read", async () => {
    const segment = await segmentOf(40, [50, 1], [51, 2]);
    for (const minOneBatch of [true, false]) {
      const read = (await segment.read(52, 300, undefined, minOneBatch))!;
      assert.deepEqual([read.records.size, read.records.position, read.firstBatch.baseOffset], [0, 70, 51]);
    }
    await segment.close();
  });

  test("scenario 19: 0 to 17 bytes of a next batch are none, and appends do not grow a slice", async () => {
    const whole = concatenated(dataBatch({ offset: 0 }), dataBatch({ offset: 1 }));
    for (let extra = 0; extra <= 17; extra++) {
      const storage = new MemoryStorage();
      await replaceFile(storage, LOG, concatenated(whole, dataBatch({ offset: 2 }).subarray(0, extra)));
      const file = await storage.open(LOG);
      const taken = new FileRecords(file, 0, file.size);
      assert.deepEqual([...await taken.batches()].map(({ lastOffset }) => lastOffset), [0, 1]);
      await file.append([dataBatch({ offset: 3 })]);
      assert.equal((await taken.bytes()).length, whole.length + extra);
      await file.close();
    }
  });

  test("scenario 15: what an upper bound is looked up for is the first entry at the position or behind it", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 100, [dataBatch({ offset: 100, values: ["x".repeat(500)] })]);
    await replaceFile(storage, "00000000000000000100.index", offsetEntries([[5, 100], [10, 200], [15, 300]]));
    const options = { indexIntervalBytes: 4096, segmentIndexBytes: 1e6, maxBatchBytes: 1e6, context: {} };
    const segment = await LogSegment.open({ storage, baseOffset: 100, writable: false, ...options });
    const cases = [[0, 105], [99, 105], [100, 105], [101, 110], [200, 110], [299, 115], [300, 115], [
      301,
      undefined,
    ]] as const;
    for (const [position, offset] of cases) {
      assert.equal(await segment.upperBoundOffset(position), offset, `${position}`);
    }
    await segment.close();
  });
});

describe("reading a log", () => {
  /** Ten batches of one record in segments of two. */
  async function tenRecords(): Promise<Log> {
    const log = await Log.open(new MemoryStorage(), { mode: "write", segmentBytes: 138, indexIntervalBytes: 0 });
    for (let n = 0; n < 10; n++) await log.append(batchOf([`${n}`], 1000 + n));
    assert.equal(log.segments.length, 5);
    return log;
  }

  test("scenario 22, case 073: at the end a read is empty, above it and below the start it is out of range", async () => {
    const log = await tenRecords();
    for (const isolation of ["log-end", "high-watermark", "committed"] as const) {
      const read = await log.read(10, { isolation });
      assert.deepEqual(
        [read.records, read.segmentBaseOffset, read.position, read.firstOffset],
        [undefined, 8, 138, -1],
        isolation,
      );
      await assert.rejects(log.read(11, { isolation }), { ...OUT_OF_RANGE, offset: 11 });
      await assert.rejects(log.read(-1, { isolation }), { ...OUT_OF_RANGE, offset: -1 });
      await assert.rejects(log.read(NaN, { isolation }), OUT_OF_RANGE);
    }
    await log.close();
  });

  test("scenario 22, case 071: across a hole and across segments without batches the next segment is read", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0, values: [..."0123456789"] })]);
    await putSegment(storage, 20, []);
    await putSegment(storage, 30, [dataBatch({ offset: 35, values: ["a", "b"] })]);
    const log = await Log.open(storage, { mode: "inspect" });
    for (const offset of [10, 15, 20, 25, 30, 34, 35, 36]) {
      const read = await log.read(offset, { isolation: "committed" });
      assert.deepEqual([read.segmentBaseOffset, read.firstOffset], [30, 35], `offset ${offset}`);
    }
    assert.deepEqual(await valuesOf(log, 9), ["9", "a", "b"]);
    assert.deepEqual(await log.locate(12), { messageOffset: 12, segmentBaseOffset: 30, relativePosition: 0 });
    await log.close();
  });

  test("scenario 23, case 050: how much is read, for every limit", async () => {
    const log = await Log.open(new MemoryStorage(), { mode: "write" });
    await log.append(batchOf(["x".repeat(500)]));
    await log.append(batchOf(["y"]));
    const size = log.size - 69;
    const cases: [maxBytes: number, minOneBatch: boolean, bytes: number | undefined, incomplete: boolean][] = [
      [0, false, undefined, false],
      [0, true, size, false],
      [1, false, 1, true],
      [1, true, size, false],
      [size - 1, false, size - 1, true],
      [size, false, size, false],
      [size + 1, true, size + 1, false],
      [1e6, true, log.size, false],
    ];
    for (const [maxBytes, minOneBatch, bytes, incomplete] of cases) {
      const read = await log.read(0, { maxBytes, minOneBatch });
      assert.deepEqual(
        [read.records?.size, read.firstEntryIncomplete],
        [bytes, incomplete],
        `${maxBytes} ${minOneBatch}`,
      );
    }
    await log.close();
  });

  test("scenario 24: at a high watermark nothing is read, and all below it still is after the log has rolled", async () => {
    const log = await tenRecords();
    const storage = new MemoryStorage();
    await log.close();
    for (let base = 0; base < 10; base += 2) {
      await putSegment(storage, base, [dataBatch({ offset: base }), dataBatch({ offset: base + 1 })]);
    }
    for (let highWatermark = 0; highWatermark <= 10; highWatermark++) {
      const held = await Log.open(storage, { mode: "inspect", highWatermark });
      assert.equal((await held.read(highWatermark)).records, undefined);
      for (let offset = 0; offset < highWatermark; offset++) {
        const span = (await spanOf(await held.read(offset)))!;
        assert.equal(span[0], offset);
        assert.ok(span[1] < highWatermark, `offset ${offset} below ${highWatermark}: read to ${span[1]}`);
      }
      await held.close();
    }
  });

  test("scenario 25: every read ends at its bound, from every offset", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 0, values: ["a", "b"] }),
      dataBatch({ offset: 2, producerId: 1, transactional: true }),
      markerBatch("COMMIT", 1, { offset: 3 }),
      dataBatch({ offset: 4 }),
    ]);
    await putSegment(storage, 5, [
      dataBatch({ offset: 5, producerId: 2, transactional: true }),
      dataBatch({ offset: 6 }),
      dataBatch({ offset: 7 }),
    ]);
    // The open transaction of producer 2 begins at 5; that of producer 1 ends at 3.
    for (const [highWatermark, stable] of [[8, 5], [7, 5], [5, 5], [4, 4], [3, 2], [2, 2], [0, 0]] as const) {
      const log = await Log.open(storage, { mode: "inspect", highWatermark });
      assert.equal(await log.lastStableOffset(), stable);
      const { logStartOffset, logEndOffset } = log;
      assert.ok(logStartOffset <= stable && stable <= log.highWatermark && log.highWatermark <= logEndOffset);
      const bounds = { "log-end": 8, "high-watermark": highWatermark, "committed": stable };
      for (const [isolation, bound] of Object.entries(bounds) as [keyof typeof bounds, number][]) {
        for (let offset = 0; offset <= 8; offset++) {
          const span = await spanOf(await log.read(offset, { isolation }));
          if (offset >= bound) assert.equal(span, undefined, `${isolation} ${bound}: ${offset}`);
          else {assert.ok(
              span !== undefined && span[0] <= offset && span[1] < bound,
              `${isolation} ${bound}: ${offset}`,
            );}
        }
      }
      await log.close();
    }
  });

  test("case 013: each offset of Kafka's logs leads to the floor of Kafka's index and to Kafka's batch", async () => {
    for (const name of ["01-plain", "04-lz4", "08a-compacted", "14-v1-none", "14-broker-0.9.0.1-old-none"]) {
      const set = goldenSet(name);
      const { batches, segments } = set.expected;
      const log = await Log.open(await goldenStorage(set), { mode: "inspect" });
      for (const [i, segment] of log.segments.entries()) {
        const index = await segment.offsetIndex();
        const { file, offsetIndex = [] } = segments[i];
        // deno-lint-ignore no-explicit-any -- of expected.json
        const inSegment = batches.filter((batch: any) => batch.file === file);
        const end = (inSegment.at(-1)?.lastOffset ?? segment.baseOffset) + 1;
        for (let offset = segment.baseOffset - 1; offset <= end; offset++) {
          // deno-lint-ignore no-explicit-any -- of expected.json
          const [key, position] = offsetIndex.findLast(([key]: any) => key <= offset) ?? [segment.baseOffset, 0];
          assert.deepEqual(index.floor(offset), { offset: key, position }, `${file}, offset ${offset}`);
          // deno-lint-ignore no-explicit-any -- of expected.json
          const batch = inSegment.find((batch: any) => batch.lastOffset >= offset);
          assert.equal((await segment.find(offset))?.position, batch?.position, `${file}, offset ${offset}`);
        }
      }
      await log.close();
    }
  });

  test("case 094: from the middle of a batch, records before it are not given", async () => {
    const storage = new MemoryStorage();
    const builder = new RecordBatchBuilder(new Uint8Array(200));
    for (let n = 0; n < 5; n++) builder.append(1000, null, `${n}`);
    await replaceFile(storage, LOG, builder.seal({ crc32c }).slice());
    const log = await Log.open(storage, { mode: "inspect" });
    assert.equal((await log.read(3)).firstOffset, 0, "a read begins at a batch");
    assert.deepEqual(await valuesOf(log, 3), ["3", "4"]);
    await log.close();
    const later = await Log.open(storage, { mode: "inspect", logStartOffset: 4 });
    assert.deepEqual(await valuesOf(later), ["4"], "what was deleted is not given either");
    await later.close();
  });

  test("a read shares the file: the bytes are those of the file, and none is read before they are asked for", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0, values: ["x".repeat(100_000)] })]);
    const sizes: number[] = [];
    const log = await Log.open({
      list: () => storage.list(),
      rename: (from, to) => storage.rename(from, to),
      remove: (name) => storage.remove(name),
      open: async (name) => {
        const file = await storage.open(name);
        const readAt = (into: Uint8Array, position: number) => {
          sizes.push(into.length);
          return file.readAt(into, position);
        };
        return {
          size: file.size,
          readAt,
          append: (parts) => file.append(parts),
          truncate: (size) => file.truncate(size),
          sync: () => file.sync(),
          close: () => file.close(),
        };
      },
    }, { mode: "inspect" });
    sizes.length = 0;
    const { records } = await log.read(0);
    assert.ok(records!.size > 100_000);
    assert.ok(sizes.every((size) => size <= 8192), `only headers: ${sizes}`);
    assert.equal((await records!.bytes()).length, records!.size);
    await log.close();
  });
});

describe("the indexes of an open log", () => {
  /** Five segments, each with an offset index of one entry; `opened` is told of every file that is opened. */
  async function fiveSegments(opened: string[]): Promise<Storage> {
    const storage = new MemoryStorage();
    for (let base = 0; base < 20; base += 4) {
      const batches = Array.from({ length: 4 }, (_, n) => dataBatch({ offset: base + n, timestamp: 1000 + base + n }));
      await putSegment(storage, base, batches);
      const name = String(base).padStart(20, "0");
      await replaceFile(storage, `${name}.index`, offsetEntries([[2, 2 * 69]]));
      await replaceFile(storage, `${name}.timeindex`, timeEntries([[1002 + base, 2], [1003 + base, 3]]));
    }
    return {
      list: () => storage.list(),
      rename: (from, to) => storage.rename(from, to),
      remove: (name) => storage.remove(name),
      open: (name) => {
        opened.push(name);
        return storage.open(name);
      },
    };
  }

  test("only those of the last segment are read to open it, the others once they are needed", async () => {
    const opened: string[] = [];
    const log = await Log.open(await fiveSegments(opened));
    const indexes = () => opened.filter((name) => name.endsWith("index"));
    assert.deepEqual(indexes(), ["00000000000000000016.timeindex", "00000000000000000016.index"]);
    for (let round = 0; round < 3; round++) {
      for (let offset = 0; offset < 20; offset++) assert.equal((await log.read(offset)).firstOffset, offset);
    }
    assert.equal(indexes().length, 2 + 4);
    assert.equal((await log.offsetForTimestamp(1007))!.offset, 7);
    assert.equal(indexes().length, 2 + 4 + 2, "the time indexes of the first two segments");
    await log.close();
  });

  test("beyond a number of bytes those that were not used for longest are read again", async () => {
    const opened: string[] = [];
    const log = await Log.open(await fiveSegments(opened), { indexCacheBytes: 2 * 8 });
    const count = async (...offsets: number[]) => {
      const before = opened.length;
      for (const offset of offsets) assert.equal((await log.read(offset)).firstOffset, offset);
      return opened.length - before;
    };
    assert.equal(await count(0, 4), 2);
    assert.equal(await count(0, 5, 1, 6), 0);
    assert.equal(await count(8), 1, "which drops that of the first segment");
    assert.equal(await count(4, 9), 0);
    assert.equal(await count(0), 1);
    await log.close();
  });
});

describe("committed records", () => {
  test("scenario 32: a transaction that was aborted two segments later is listed by a read from the start", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0, producerId: 7, transactional: true })]);
    await putSegment(storage, 1, [dataBatch({ offset: 1 })]);
    await putSegment(storage, 2, [markerBatch("ABORT", 7, { offset: 2 }), dataBatch({ offset: 3 })]);
    await putTransactionIndex(storage, 2, [[7, 0, 2, 3]]);
    for (const base of [0, 1, 2]) await replaceFile(storage, `0000000000000000000${base}.index`, new Uint8Array(0));
    const log = await Log.open(storage, { mode: "inspect" });
    const read = await log.read(0, { isolation: "committed" });
    assert.deepEqual([read.segmentBaseOffset, read.abortedTransactions], [0, [{ producerId: 7, firstOffset: 0 }]]);
    assert.deepEqual((await log.read(0)).abortedTransactions, [], "only readers of committed records are told");
    assert.deepEqual((await log.read(3, { isolation: "committed" })).abortedTransactions, []);
    const offsets: number[] = [];
    for await (const { offset } of log.records({ committed: true })) offsets.push(offset);
    assert.deepEqual(offsets, [1, 3]);
    await log.close();
  });

  test("case 014: lists that are empty, repeated and unordered, and markers of transactions without data", async () => {
    const batches = [
      dataBatch({ offset: 10, values: ["a", "b"], producerId: 7, transactional: true }),
      markerBatch("ABORT", 7, { offset: 12 }),
      dataBatch({ offset: 13, producerId: 7, sequence: 2, transactional: true }),
      markerBatch("COMMIT", 7, { offset: 14 }),
      markerBatch("ABORT", 7, { offset: 15 }),
    ];
    const lists: [entries: [number, number, number, number][], committed: number[]][] = [
      [[[7, 10, 12, 13]], [13]],
      [[], [10, 11, 13]],
      [[[7, 10, 12, 13], [7, 10, 12, 13]], [13]],
      [[[9, 13, 15, 10], [7, 10, 12, 10]], [13]],
    ];
    for (const [entries, committed] of lists) {
      const storage = new MemoryStorage();
      await putSegment(storage, 10, batches);
      await putTransactionIndex(storage, 10, entries);
      const log = await Log.open(storage, { mode: "inspect" });
      const offsetsOf = async (options: { committed?: boolean; from?: number }) => {
        const offsets: number[] = [];
        for await (const { offset } of log.records(options)) offsets.push(offset);
        return offsets;
      };
      assert.deepEqual(await offsetsOf({ committed: true }), committed, JSON.stringify(entries));
      assert.deepEqual(await offsetsOf({ committed: true, from: 12 }), [13]);
      assert.deepEqual(await offsetsOf({}), [10, 11, 13]);
      assert.equal(await log.lastStableOffset(), 16);
      await log.close();
    }
  });

  test("case 083: aborted records are hidden in every codec, and a log of nothing else ends without an error", async () => {
    const codecs = { ...plainCodecs, ...nativeCodecs() };
    for (const type of ["none", "gzip", "snappy", "lz4", "zstd"] as const) {
      const builder = new RecordBatchBuilder(new Uint8Array(200));
      for (let n = 0; n < 3; n++) builder.append(1000, null, `${n}`);
      const batch = builder.seal({
        crc32c,
        producerId: 4,
        producerEpoch: 0,
        baseSequence: 0,
        isTransactional: true,
        ...(type === "none" ? {} : { compression: { type, codec: codecs[type]! } }),
      }).slice();
      const storage = new MemoryStorage();
      await putSegment(storage, 0, [batch, markerBatch("ABORT", 4, { offset: 3 })]);
      const bare = await Log.open(storage, { mode: "inspect" });
      for await (const { offset } of bare.records({ committed: true, codecs })) assert.fail(`${offset}`);
      assert.equal(await bare.lastStableOffset(), 4);
      assert.equal((await bare.read(0, { isolation: "committed" })).records!.size, bare.size);
      await bare.close();
    }
  });

  test("07-transactions: what a Java consumer of committed records got, from all files and from the .log alone", async () => {
    const set = goldenSet("07-transactions");
    const storage = await goldenCopy(set);
    const { offsets: spans, position } = set.expected.consumer.read_committed;
    for (let round = 0; round < 2; round++) {
      const log = await Log.open(storage, { mode: "inspect" });
      const offsets: number[] = [];
      for await (const { offset } of log.records({ committed: true, codecs: nativeCodecs() })) offsets.push(offset);
      assert.deepEqual(
        offsets,
        // deno-lint-ignore no-explicit-any -- of expected.json
        spans.flatMap(([first, last]: any) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
      );
      assert.equal(await log.lastStableOffset(), position);
      await log.close();
      for (const name of await storage.list()) if (!name.endsWith(".log")) await storage.remove(name);
    }
  });
});

describe("offsets by timestamp", () => {
  test("scenario 7: indexed, between, before the first and after the last", async () => {
    // Offsets 40 to 49 with timestamps 400 to 490; every second batch is indexed.
    const log = await Log.open(new MemoryStorage(), { mode: "write", logStartOffset: 40, indexIntervalBytes: 100 });
    for (let n = 40; n < 50; n++) await log.append(batchOf([`hello${n}`], 10 * n));
    const [segment] = log.segments;
    assert.ok((await segment!.timeIndex()).entries > 2);
    const cases = [[420, 42], [430, 43], [421, 43], [429, 43], [430, 43], [431, 44], [401, 41], [100, 40], [0, 40]];
    for (const [timestamp, offset] of cases) {
      assert.equal((await log.offsetForTimestamp(timestamp!))?.offset, offset, `timestamp ${timestamp}`);
    }
    assert.equal(await log.offsetForTimestamp(491), undefined);
    await log.close();
  });

  test("scenario 21: formats 1 and 2 have timestamps to find, format 0 has none", async () => {
    for (const magic of [0, 1, 2]) {
      const storage = new MemoryStorage();
      await putSegment(
        storage,
        0,
        [0, 1, 2].map((n) =>
          magic === 2
            ? dataBatch({ offset: n, timestamp: 10 * n })
            : rawMessage({ offset: BigInt(n), magic, timestamp: BigInt(10 * n), value: Uint8Array.of(n) })
        ),
      );
      const log = await Log.open(storage, { mode: "inspect" });
      for (const [timestamp, offset] of [[0, 0], [5, 1], [10, 1], [20, 2], [-3, 2], [21, undefined]] as const) {
        const found = await log.offsetForTimestamp(timestamp);
        assert.equal(found?.offset, magic === 0 ? undefined : offset, `format ${magic}, timestamp ${timestamp}`);
        if (found !== undefined) assert.equal(found.leaderEpoch, magic === 2 ? 0 : -1);
      }
      await log.close();
    }
  });

  test("the special timestamps, with each bound", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 0, values: ["a", "b", "c"], timestamp: 100 }),
      dataBatch({ offset: 3, timestamp: 900, producerId: 1, transactional: true }),
      dataBatch({ offset: 4, timestamp: 500 }),
    ]);
    await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n2\n4 0\n6 3\n"));
    const log = await Log.open(storage, { mode: "inspect", logStartOffset: 1, highWatermark: 4 });
    const none = { offset: -1, timestamp: -1, leaderEpoch: -1 };
    assert.deepEqual(await log.offsetForTimestamp(-2), { offset: 1, timestamp: -1, leaderEpoch: 4 });
    assert.deepEqual(await log.offsetForTimestamp(-4), { offset: 1, timestamp: -1, leaderEpoch: 4 });
    assert.deepEqual(await log.offsetForTimestamp(-5), none);
    assert.deepEqual(await log.offsetForTimestamp(-6), none);
    const bounds = { "log-end": 5, "high-watermark": 4, "committed": 3 } as const;
    for (const [isolation, bound] of Object.entries(bounds) as [keyof typeof bounds, number][]) {
      const find = (timestamp: number) => log.offsetForTimestamp(timestamp, {}, { isolation });
      assert.deepEqual(await find(-1), { offset: bound, timestamp: -1, leaderEpoch: 6 });
      const newest = { offset: 3, timestamp: 900, leaderEpoch: 0 };
      assert.deepEqual(await find(-3), bound > 3 ? newest : undefined, isolation);
      assert.deepEqual(await find(600), bound > 3 ? newest : undefined, isolation);
      assert.equal((await find(0))!.offset, 1, "nothing before the log's start");
    }
    await log.close();
  });

  test("a segment without timestamps ends a search, as for a broker", async () => {
    const set = goldenSet("14-v1-compacted-gzip");
    const log = await Log.open(await goldenStorage(set), { mode: "inspect" });
    assert.equal(log.segments[0]!.size, 0);
    for (const [asked, offset] of set.expected.opened.offsetByTimestamp) {
      assert.equal((await log.offsetForTimestamp(asked, nativeCodecs()))?.offset ?? null, offset, `${asked}`);
    }
    await log.close();
  });
});

describe("leader epochs of a log", () => {
  test("the end of an epoch, for every kind of question", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 0, values: Array.from({ length: 30 }, () => "x"), leaderEpoch: 7 }),
    ]);
    await replaceFile(storage, "leader-epoch-checkpoint", new TextEncoder().encode("0\n3\n2 5\n4 10\n7 20\n"));
    const log = await Log.open(storage, { mode: "inspect" });
    const cases = [
      [-1, undefined],
      [0, { epoch: 0, endOffset: 5 }],
      [1, { epoch: 1, endOffset: 5 }],
      [2, { epoch: 2, endOffset: 10 }],
      [3, { epoch: 2, endOffset: 10 }],
      [4, { epoch: 4, endOffset: 20 }],
      [6, { epoch: 4, endOffset: 20 }],
      [7, { epoch: 7, endOffset: 30 }],
      [8, undefined],
    ] as const;
    for (const [epoch, end] of cases) assert.deepEqual(log.endOffsetForEpoch(epoch), end, `epoch ${epoch}`);
    await log.close();
    const cut = await Log.open(storage, { mode: "inspect", logStartOffset: 12 });
    assert.deepEqual(cut.leaderEpochs, [{ epoch: 4, startOffset: 12 }, { epoch: 7, startOffset: 20 }]);
    assert.deepEqual(cut.endOffsetForEpoch(2), { epoch: 2, endOffset: 12 });
    await cut.close();
  });

  test("epochs that a crash kept out of the file are found in the batches behind the index", async () => {
    const set = goldenSet("13d-overflow");
    const log = await Log.open(await goldenStorage(set), { mode: "inspect" });
    assert.deepEqual(
      log.leaderEpochs.map(({ epoch, startOffset }) => [epoch, startOffset]),
      set.expected.opened.leaderEpochs,
    );
    for (const [asked, epoch, endOffset] of set.expected.opened.endOffsetForEpoch) {
      assert.deepEqual(log.endOffsetForEpoch(asked) ?? { epoch: -1, endOffset: -1 }, { epoch, endOffset });
    }
    await log.close();
  });
});

describe("the trace of a look-up", () => {
  test("01-plain: each step of a read with its numbers, as Kafka's own index and batches have them", async () => {
    const set = goldenSet("01-plain");
    const { batches, segments } = set.expected;
    const log = await Log.open(await goldenStorage(set), { mode: "inspect" });
    const wanted = 350;
    const steps: ReadStep[] = [];
    const read = await log.read(wanted, { maxBytes: 1000, trace: (step) => steps.push(step) });
    // deno-lint-ignore no-explicit-any -- of expected.json
    const floor = segments.findLast((segment: any) => segment.baseOffset <= wanted);
    const file = floor.file;
    // deno-lint-ignore no-explicit-any -- of expected.json
    const entry = floor.offsetIndex.findLastIndex(([offset]: any) => offset <= wanted);
    const [keyOffset, position] = floor.offsetIndex[entry];
    // deno-lint-ignore no-explicit-any -- of expected.json
    const scanned = batches.filter((batch: any) => batch.file === file && batch.position >= position);
    // deno-lint-ignore no-explicit-any -- of expected.json
    const found = scanned.findIndex((batch: any) => batch.lastOffset >= wanted);
    assert.deepEqual(steps[0], {
      step: "offset",
      offset: wanted,
      isolation: "high-watermark",
      bound: 819,
      logStartOffset: 0,
      highWatermark: 819,
      logEndOffset: 819,
    });
    const next = segments[segments.indexOf(floor) + 1].baseOffset;
    assert.deepEqual(steps[1], {
      step: "segment",
      file,
      baseOffset: floor.baseOffset,
      next,
      segments: segments.length,
    });
    const probes = steps.filter((step) => step.step === "index-probe");
    assert.ok(probes.length > 0 && probes.length <= Math.ceil(Math.log2(floor.offsetIndex.length + 1)));
    for (const probe of probes) {
      assert.deepEqual([probe.offset, probe.position], floor.offsetIndex[probe.entry]);
      assert.equal(probe.isAtMost, probe.offset <= wanted);
    }
    const index = steps.find((step) => step.step === "index-floor")!;
    assert.deepEqual([index.entry, index.offset, index.position, index.entries], [
      entry,
      keyOffset,
      position,
      floor.offsetIndex.length,
    ]);
    assert.deepEqual(index.next && [index.next.offset, index.next.position], floor.offsetIndex[entry + 1]);
    assert.deepEqual(steps.find((step) => step.step === "scan"), { step: "scan", file, position });
    assert.deepEqual(
      steps.filter((step) => step.step === "batch").map((step) => [step.position, step.baseOffset, step.isFound]),
      // deno-lint-ignore no-explicit-any -- of expected.json
      scanned.slice(0, found + 1).map((batch: any, i: number) => [batch.position, batch.baseOffset, i === found]),
    );
    assert.deepEqual(steps.find((step) => step.step === "scanned"), {
      step: "scanned",
      file,
      passed: found,
      isFound: true,
    });
    const begin = scanned[found].position;
    const end = begin + Math.max(1000, scanned[found].size);
    assert.deepEqual(steps.at(-1), {
      step: "slice",
      file,
      begin,
      end,
      maxBytes: 1000,
      endedBy: scanned[found].size > 1000 ? "first-batch" : "max-bytes",
    });
    assert.deepEqual([read.position, read.records!.size], [begin, end - begin]);
    await log.close();
  });

  test("what ends a slice, and why one is empty", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0, values: ["x".repeat(100)] }), dataBatch({ offset: 1 })]);
    await putSegment(storage, 2, [
      dataBatch({ offset: 2 }),
      dataBatch({ offset: 3, producerId: 1, transactional: true }),
    ]);
    await putSegment(storage, 4, [dataBatch({ offset: 4 }), dataBatch({ offset: 5 })]);
    const log = await Log.open(storage, { mode: "inspect", highWatermark: 5 });
    const lastStep = async (offset: number, options: Parameters<Log["read"]>[1]) => {
      const steps: ReadStep[] = [];
      await log.read(offset, { ...options, trace: (step) => steps.push(step) });
      const last = steps.findLast(({ step }) => step === "slice" || step === "empty")!;
      return last.step === "slice" ? last.endedBy : last.step === "empty" ? last.reason : undefined;
    };
    assert.equal(await lastStep(0, {}), "segment-end");
    assert.equal(await lastStep(0, { maxBytes: 10 }), "first-batch");
    assert.equal(await lastStep(0, { maxBytes: 10, minOneBatch: false }), "max-bytes");
    assert.equal(await lastStep(0, { maxBytes: 0, minOneBatch: false }), "no-bytes");
    assert.equal(await lastStep(4, {}), "high-watermark");
    assert.equal(await lastStep(4, { isolation: "log-end" }), "log-end");
    assert.equal(await lastStep(2, { isolation: "committed" }), "committed");
    assert.equal(await lastStep(5, {}), "at-bound");
    assert.equal(await lastStep(4, { isolation: "committed" }), "beyond-bound");
    await log.close();
  });

  test("a search for a timestamp tells each segment, the entry and the record", async () => {
    const set = goldenSet("01-plain");
    const log = await Log.open(await goldenStorage(set), { mode: "inspect" });
    const [asked, offset, timestamp] = set.expected.opened.offsetByTimestamp.find(
      // deno-lint-ignore no-explicit-any -- of expected.json
      ([asked, offset]: any) => asked > 0 && offset > log.segments[1]!.baseOffset,
    );
    const steps: ReadStep[] = [];
    await log.offsetForTimestamp(asked, nativeCodecs(), { trace: (step) => steps.push(step) });
    const looked = steps.filter((step) => step.step === "segment-timestamp");
    assert.deepEqual(
      looked.map((step) => [step.baseOffset, step.largestTimestamp]),
      set.expected.opened.segments.slice(0, looked.length).map(
        // deno-lint-ignore no-explicit-any -- of expected.json
        ({ baseOffset, maxTimestampSoFar }: any) => [baseOffset, maxTimestampSoFar],
      ),
    );
    assert.deepEqual(looked.map((step) => step.isChosen), looked.map((_, i) => i === looked.length - 1));
    assert.ok(steps.some(({ step }) => step === "time-index-floor"));
    assert.deepEqual(steps.at(-1), { step: "record", offset, timestamp });
    await log.close();
  });
});
