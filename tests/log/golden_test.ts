import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";

/** Partition directories that Kafka wrote, and what Kafka's own classes say of them. */
const SETS = ["01-plain", "07-transactions", "10a-killed", "10c-recovered"];

// deno-lint-ignore no-explicit-any -- the file of another program, looked at field by field
type Expected = any;

interface GoldenSet {
  readonly directory: string;
  readonly partition: string;
  readonly expected: Expected;
}

function goldenSet(name: string): GoldenSet {
  const directory = fileURLToPath(new URL(`../golden/${name}/`, import.meta.url));
  const expected = JSON.parse(new TextDecoder().decode(gunzipSync(readFileSync(`${directory}expected.json.gz`))));
  return { directory, partition: expected.partition, expected };
}

async function openSet({ directory, partition, expected }: GoldenSet): Promise<Log> {
  const storage = await nodeStorage(directory).folder(partition);
  const [topic, number] = [
    partition.slice(0, partition.lastIndexOf("-")),
    Number(partition.slice(partition.lastIndexOf("-") + 1)),
  ];
  const logStartOffset = expected.opened.logStartOffset;
  return await Log.open(storage, { mode: "inspect", topic, partition: number, logStartOffset });
}

/** Bytes as expected.json has them. */
function bytesForm(bytes: Uint8Array | null): unknown {
  if (bytes === null) return null;
  if (bytes.length <= 256) return Buffer.from(bytes).toString("base64");
  return { length: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** A folder that refuses every change. */
function unwritable(storage: Storage): Storage {
  const refuse = () => Promise.reject(new Error("a log that is inspected was written to"));
  return {
    list: () => storage.list(),
    rename: refuse,
    remove: refuse,
    open: async (name, options) => {
      if (options?.create) return await refuse();
      const file = await storage.open(name);
      return {
        get size() {
          return file.size;
        },
        readAt: (into, position) => file.readAt(into, position),
        append: refuse,
        truncate: refuse,
        sync: refuse,
        close: () => file.close(),
      };
    },
  };
}

for (const name of SETS) {
  const set = goldenSet(name);
  const { expected } = set;

  describe(`golden set ${name}`, () => {
    test("segments, index entries and offsets are what Kafka finds", async () => {
      const log = await openSet(set);
      const { opened } = expected;
      assert.deepEqual(
        [log.logStartOffset, log.logEndOffset],
        [opened.logStartOffset, opened.logEndOffset],
      );
      assert.deepEqual(
        log.leaderEpochs.map((entry) => [entry.epoch, entry.startOffset]),
        opened.leaderEpochs,
      );
      assert.deepEqual(
        log.segments.map((segment) => segment.baseOffset),
        expected.segments.map((s: Expected) => s.baseOffset),
      );
      for (const [i, segment] of log.segments.entries()) {
        const theirs = expected.segments[i];
        assert.equal(segment.size, theirs.validBytes);
        const { offsetIndex, timeIndex } = segment;
        assert.deepEqual(
          Array.from(
            { length: offsetIndex.entries },
            (_, n) => [offsetIndex.entry(n).offset, offsetIndex.entry(n).position],
          ),
          theirs.offsetIndex ?? [],
        );
        assert.deepEqual(
          Array.from(
            { length: timeIndex.entries },
            (_, n) => [timeIndex.entry(n).timestamp, timeIndex.entry(n).offset],
          ),
          theirs.timeIndex ?? [],
        );
        for (const [target, offset, position] of theirs.offsetIndexLookups ?? []) {
          assert.deepEqual(offsetIndex.floor(target), { offset, position }, `offset ${target}`);
        }
        for (const [target, timestamp, offset] of theirs.timeIndexLookups ?? []) {
          assert.deepEqual(timeIndex.floor(target), { timestamp, offset }, `timestamp ${target}`);
        }
      }
      await log.close();
    });

    test("every batch and every record is what Kafka reads", async () => {
      const log = await openSet(set);
      let batches = 0;
      for await (const batch of log.batches()) {
        const theirs = expected.batches[batches++];
        batch.verifyCrc(crc32c);
        assert.deepEqual(
          {
            position: batch.position,
            size: batch.size,
            baseOffset: batch.baseOffset,
            lastOffset: batch.lastOffset,
            codec: batch.compression,
            timestampType: batch.timestampType,
            maxTimestamp: batch.maxTimestamp,
            crc: batch.crc,
            producerId: batch.producerId,
            producerEpoch: batch.producerEpoch,
            baseSequence: batch.baseSequence,
            lastSequence: batch.lastSequence,
            transactional: batch.isTransactional,
            control: batch.isControl,
            partitionLeaderEpoch: batch.partitionLeaderEpoch,
            count: batch.recordCount,
          },
          Object.fromEntries(
            Object.entries(theirs).filter(([field]) =>
              !["file", "magic", "valid", "deleteHorizonMs", "firstRecord", "recordCount"].includes(field)
            ).map(([field, value]) => [field, field === "timestampType" ? String(value) : value]),
          ),
        );
        const records = batch.records({ codecs: nativeCodecs() });
        assert.equal(records.length, theirs.recordCount);
        for (const [i, record] of records.entries()) {
          const [offset, timestamp, key, value, headers] = expected.records[theirs.firstRecord + i];
          assert.deepEqual([
            record.offset,
            record.timestamp,
            bytesForm(record.key),
            bytesForm(record.value),
            record.headers.map(([header, content]) => [Buffer.from(header).toString("base64"), bytesForm(content)]),
          ], [offset, timestamp, key, value, headers]);
        }
      }
      assert.equal(batches, expected.batches.length);
      await log.close();
    });

    test("every read answers the bytes that Kafka would", async () => {
      const log = await openSet(set);
      for (const read of expected.opened.reads) {
        // Without open transactions the last stable offset is the high watermark.
        const isStable = expected.opened.lastStableOffsetWithHighWatermarkAtEnd === log.logEndOffset;
        if (read.isolation === "TXN_COMMITTED" && !isStable) continue;
        const options = { maxBytes: read.maxLength, minOneBatch: read.minOneMessage, isolation: "log-end" as const };
        if (read.error !== undefined) {
          await assert.rejects(log.read(read.offset, options), { code: "OFFSET_OUT_OF_RANGE", offset: read.offset });
          continue;
        }
        const answer = await log.read(read.offset, options);
        const text = JSON.stringify(read);
        assert.deepEqual(
          {
            segment: answer.segmentBaseOffset,
            position: answer.position,
            bytes: answer.records?.size ?? 0,
            firstEntryIncomplete: answer.firstEntryIncomplete,
          },
          {
            segment: read.segment,
            position: read.position,
            bytes: read.bytes,
            firstEntryIncomplete: read.firstEntryIncomplete ?? false,
          },
          text,
        );
        if (read.bytes === 0) continue;
        if (read.firstBatch !== undefined) assert.equal(answer.firstOffset, read.firstBatch[0], text);
        assert.equal(answer.records!.position, read.position, text);
        const whole = new RecordBatches(await answer.records!.bytes());
        let batches = 0;
        try {
          for (const _ of whole) batches++;
        } catch (error) {
          assert.ok(error instanceof KafkaError);
        }
        assert.equal(batches, read.wholeBatches);
      }
      await log.close();
    });

    test("every timestamp leads to the offset that Kafka finds", async () => {
      const log = await openSet(set);
      for (const [asked, offset, timestamp, leaderEpoch] of expected.opened.offsetByTimestamp) {
        const found = await log.offsetForTimestamp(asked, nativeCodecs());
        if (offset === null) assert.equal(found, undefined, `timestamp ${asked}`);
        else assert.deepEqual(found, { offset, timestamp, leaderEpoch }, `timestamp ${asked}`);
      }
      await log.close();
    });

    test("inspecting changes nothing", async () => {
      const storage = unwritable(await nodeStorage(set.directory).folder(set.partition));
      const log = await Log.open(storage, { mode: "inspect" });
      for await (const _ of log.records({ codecs: nativeCodecs() })) { /* reads all */ }
      await log.offsetForTimestamp(1700000000000);
      await log.close();
    });
  });
}

test("the batches of 01-plain, appended to a log of the same settings, make Kafka's files byte for byte", async () => {
  const set = goldenSet("01-plain");
  const { topicConfig } = set.expected;
  const storage = new MemoryStorage();
  const open = () =>
    Log.open(storage, {
      mode: "write",
      segmentBytes: Number(topicConfig["internal.segment.bytes"]),
      indexIntervalBytes: Number(topicConfig["index.interval.bytes"]),
    });
  let log = await open();
  const source = await openSet(set);
  for await (const batch of source.batches()) {
    const restarted = batch.partitionLeaderEpoch !== (log.leaderEpochs.at(-1)?.epoch ?? batch.partitionLeaderEpoch);
    if (restarted) {
      // The broker was restarted there, which starts the count of bytes between index entries anew.
      await log.close();
      log = await open();
    }
    await log.append(batch.bytes.slice(), batch.partitionLeaderEpoch);
  }
  await source.close();
  await log.close();
  const folder = `${set.directory}${set.partition}/`;
  for (const name of readdirSync(folder).filter((file) => /\.(log|index|timeindex)$|^leader-epoch/.test(file))) {
    const file = await storage.open(name);
    const bytes = new Uint8Array(file.size);
    await file.readAt(bytes, 0);
    assert.equal(Buffer.from(bytes).toString("hex"), readFileSync(folder + name).toString("hex"), name);
  }
});
