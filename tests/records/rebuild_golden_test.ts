import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import type { Batch } from "../../src/records/batch.ts";
import { encodeRecordBatch } from "../../src/records/encode_record_batch.ts";
import { MessageSet } from "../../src/records/message_set.ts";
import { MessageSetBuilder } from "../../src/records/message_set_builder.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import type { BatchCompression } from "../../src/records/record_batch_builder.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";

const codecs = { ...nativeCodecs(), ...plainCodecs };
const LIMIT = 64 * 1024 * 1024;

function compressionOf({ compression }: Batch): BatchCompression | undefined {
  return compression === "none" ? undefined : { type: compression, codec: codecs[compression]! };
}

/** What a batch holds behind its header, inflated. */
function contentOf(batch: Batch): Uint8Array {
  const at = batch.magic === 2 ? 61 : batch.magic === 1 ? 34 : 26;
  const content = batch.bytes.subarray(at);
  return batch.compression === "none" ? content : codecs[batch.compression]!.decompress(content, LIMIT);
}

function int64(bytes: Uint8Array, at = 0): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(at));
}

/** Header of an LZ4 frame: what Kafka's clients of each age look at, its checksum included. */
function frameHeaderOf(batch: Batch): Uint8Array | undefined {
  if (batch.compression !== "lz4") return undefined;
  const at = batch.magic === 2 ? 61 : batch.magic === 1 ? 34 : 26;
  return batch.bytes.slice(at, at + 7);
}

/** Writes a message set anew from what was read of it. */
function rebuildMessageSet(batch: MessageSet): Uint8Array {
  const isLogAppendTime = batch.timestampType === "LogAppendTime";
  const records = batch.records({ codecs });
  // Compaction may have taken the first message, so that the relative offsets do not begin at 0.
  const baseOffset = batch.compression === "none" || batch.magic === 0
    ? undefined
    : records[0]!.offset - int64(contentOf(batch));
  const builder = new MessageSetBuilder({
    magic: batch.magic,
    compression: compressionOf(batch),
    baseOffset,
    ...(isLogAppendTime ? { logAppendTime: batch.maxTimestamp } : {}),
  });
  for (const { offset, timestamp, key, value } of records) builder.append(offset, timestamp, key, value);
  return builder.build();
}

/** The batch without the broker's timestamp, which hides those of the records. */
function withCreateTime(batch: RecordBatch): RecordBatch {
  const bytes = batch.bytes.slice();
  bytes[22]! &= ~0x08;
  return new RecordBatch(bytes);
}

/** Writes a v2 batch anew from what was read of it. */
function rebuildRecordBatch(batch: RecordBatch): Uint8Array {
  return encodeRecordBatch(withCreateTime(batch).records({ codecs }), {
    crc32c,
    baseOffset: batch.baseOffset,
    lastOffset: batch.lastOffset,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    compression: compressionOf(batch),
    maxTimestamp: batch.maxTimestamp,
    deleteHorizonMs: batch.deleteHorizonMs,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    ...(batch.timestampType === "LogAppendTime" ? { logAppendTime: batch.maxTimestamp } : {}),
  });
}

/** Kafka's compressors make other bytes than ours; length and checksum differ then, and nothing else may. */
function headerOf(batch: Batch): Uint8Array {
  const header = batch.bytes.slice(0, batch.magic === 2 ? 61 : batch.magic === 1 ? 30 : 22);
  if (batch.compression !== "none") {
    header.fill(0, 8, 12);
    header.fill(0, batch.magic === 2 ? 17 : 12, batch.magic === 2 ? 21 : 16);
  }
  return header;
}

function compare(batch: Batch, where: string): void {
  const bytes = batch instanceof RecordBatch ? rebuildRecordBatch(batch) : rebuildMessageSet(batch as MessageSet);
  const rebuilt = batch.magic === 2 ? new RecordBatch(bytes) : new MessageSet(bytes);
  assert.deepEqual(headerOf(rebuilt), headerOf(batch), `header of ${where}`);
  assert.deepEqual(contentOf(rebuilt), contentOf(batch), `content of ${where}`);
  assert.deepEqual(frameHeaderOf(rebuilt), frameHeaderOf(batch), `LZ4 frame of ${where}`);
  if (batch.compression === "none") assert.deepEqual(bytes, batch.bytes, where);
  rebuilt.verifyCrc(crc32c);
}

describe("batches that Kafka wrote, written anew from what was read of them, are the same", () => {
  // All that MemoryRecordsBuilder makes, and what brokers and producers of each age made.
  const sets = [
    "01-plain",
    "06-log-append-time",
    "07-transactions",
    "08a-compacted",
    "08b-compacted-expired",
    "11a-consumer-offsets",
    "12-cluster-metadata",
    "14-builder",
    "14-broker-0.9.0.1-old-gzip",
    "14-broker-0.9.0.1-old-lz4",
    "14-broker-0.9.0.1-old-none",
    "14-broker-0.9.0.1-old-snappy",
    "14-broker-0.10.2.2-old-gzip",
    "14-broker-0.10.2.2-old-lz4",
    "14-broker-0.10.2.2-old-none",
    "14-broker-0.10.2.2-old-snappy",
    "14-mixed",
    "14-v0-compacted-gzip",
    "14-v0-compacted-none",
    "14-v0-lz4",
    "14-v1-append-time",
    "14-v1-compacted-gzip",
    "14-v1-compacted-none",
    "14-v1-lz4",
    "15-odd-v2",
  ];
  for (const set of sets) {
    test(`golden set ${set}`, () => {
      const folder = fileURLToPath(new URL(`../golden/${set}`, import.meta.url));
      const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
        /\.(log|checkpoint)$/.test(name)
      );
      let count = 0;
      for (const file of files) {
        for (const batch of new RecordBatches(new Uint8Array(readFileSync(`${folder}/${file}`)))) {
          if (batch.compression === "zstd" && codecs.zstd === undefined) continue; // Node.js 20
          compare(batch, `${file} at ${batch.position}`);
          count++;
        }
      }
      assert.ok(count > 0);
    });
  }
});
