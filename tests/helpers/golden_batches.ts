import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Codecs } from "../../src/compression/codec.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import type { Batch } from "../../src/records/batch.ts";
import { controlRecordOf } from "../../src/records/control_record.ts";
import type { Record } from "../../src/records/record.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";

/** What Kafka's own classes say of a directory that Kafka wrote: the parts that batches and records are compared with. */
interface Expected {
  readonly partition: string;
  readonly segments: readonly { readonly file: string; readonly validBytes: number; readonly size: number }[];
  readonly batches: readonly ExpectedBatch[];
  readonly records: readonly (readonly unknown[])[];
}

interface ExpectedBatch {
  readonly file: string;
  readonly magic: number;
  readonly codec: string;
  readonly firstRecord: number;
  readonly recordCount: number;
}

/** Bytes as expected.json has them. */
function bytesForm(bytes: Uint8Array | null): unknown {
  if (bytes === null) return null;
  if (bytes.length <= 256) return Buffer.from(bytes).toString("base64");
  return { length: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

function batchForm(batch: Batch, records: readonly Record[]): { [field: string]: unknown } {
  const common = {
    position: batch.position,
    size: batch.size,
    // Of a compressed message of the old formats it is told by decoding only.
    baseOffset: batch.magic < 2 ? records[0]!.offset : batch.baseOffset,
    lastOffset: batch.lastOffset,
    magic: batch.magic,
    codec: batch.compression,
    timestampType: batch.timestampType,
    maxTimestamp: batch.maxTimestamp,
    crc: batch.crc,
    valid: batch.hasValidCrc(crc32c),
  };
  if (batch.magic < 2) return common;
  return {
    ...common,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    lastSequence: batch.lastSequence,
    transactional: batch.isTransactional,
    control: batch.isControl,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    deleteHorizonMs: batch.deleteHorizonMs,
    count: batch.recordCount,
  };
}

function recordForm(record: Record, batch: Batch): unknown[] {
  const form: unknown[] = [
    record.offset,
    record.timestamp,
    bytesForm(record.key),
    bytesForm(record.value),
    record.headers.map(([key, value]) => [Buffer.from(key).toString("base64"), bytesForm(value)]),
    record.sequence,
  ];
  if (batch.isControl) {
    const { type, coordinatorEpoch } = controlRecordOf(record);
    form.push(coordinatorEpoch < 0 ? { type } : { type, coordinatorEpoch });
  }
  return form;
}

/** Compares each batch and record of a golden set with what Kafka says of it; answers how many records there were. */
export function compareBatches(directory: string, codecs: Codecs): number {
  const packed = `${directory}/expected.json.gz`;
  const json = existsSync(packed) ? gunzipSync(readFileSync(packed)) : readFileSync(`${directory}/expected.json`);
  const expected: Expected = JSON.parse(new TextDecoder().decode(json));
  const { partition } = expected;
  const topic = partition.slice(0, partition.lastIndexOf("-"));
  const number = Number(partition.slice(topic.length + 1));
  let next = 0;
  let count = 0;
  for (const { file, validBytes } of expected.segments) {
    // A plain view: a Buffer would hand out Buffers.
    const bytes = new Uint8Array(readFileSync(`${directory}/${partition}/${file}`));
    const batches = new RecordBatches(bytes, { topic, partition: number, file });
    for (const batch of batches) {
      const { firstRecord, recordCount, ...fields } = expected.batches[next++]!;
      const where = `${partition}/${file} at ${batch.position}`;
      const records = batch.records({ codecs });
      assert.deepEqual({ file, ...batchForm(batch, records) }, fields, where);
      assert.equal(records.length, recordCount, where);
      records.forEach((record, i) => {
        const wanted = [...expected.records[firstRecord + i]!];
        if (batch.isControl && wanted.length > 6) {
          const { type, coordinatorEpoch } = wanted[6] as { type: string; coordinatorEpoch?: number };
          wanted[6] = coordinatorEpoch === undefined ? { type } : { type, coordinatorEpoch };
        }
        assert.deepEqual(recordForm(record, batch), wanted, `${where}, record ${i}`);
        assert.equal(record.topic, topic);
        assert.equal(record.partition, number);
        assert.equal(record.timestampType, batch.timestampType);
      });
      count += records.length;
    }
    assert.equal(batches.validBytes, validBytes, file);
  }
  assert.equal(next, expected.batches.length);
  return count;
}
