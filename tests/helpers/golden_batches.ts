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

/** What Kafka's own classes say of a batch: the fields of the batch itself and where its records are in their list. */
export interface ExpectedBatch {
  readonly file: string;
  readonly position: number;
  readonly codec: string;
  readonly firstRecord: number;
  readonly recordCount: number;
}

/** Of a directory's `expected.json`, what is compared here. */
interface Expected {
  readonly partition: string;
  readonly segments: readonly { readonly file: string; readonly validBytes: number }[];
  readonly batches: readonly ExpectedBatch[];
  readonly records: readonly (readonly unknown[])[];
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
    recordCount: records.length,
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

function recordForm(record: Record, isControl: boolean): unknown[] {
  const form: unknown[] = [
    record.offset,
    record.timestamp,
    bytesForm(record.key),
    bytesForm(record.value),
    record.headers.map(([key, value]) => [Buffer.from(key).toString("base64"), bytesForm(value)]),
    record.sequence,
  ];
  if (isControl) {
    const { type, coordinatorEpoch } = controlRecordOf(record);
    form.push(coordinatorEpoch < 0 ? { type } : { type, coordinatorEpoch });
  }
  return form;
}

/** Of a control record's payload, what this floor decodes. */
function expectedForm(record: readonly unknown[]): unknown[] {
  const [control] = record.slice(6) as { type: string; coordinatorEpoch?: number }[];
  if (control === undefined) return [...record];
  const { coordinatorEpoch, type } = control;
  return [...record.slice(0, 6), coordinatorEpoch === undefined ? { type } : { type, coordinatorEpoch }];
}

/** Compares a batch and its records with what Kafka says of them, field by field; answers the records. */
export function compareBatch(
  batch: Batch,
  expected: ExpectedBatch,
  expectedRecords: readonly (readonly unknown[])[],
  codecs: Codecs,
  where: string,
): Record[] {
  const records = batch.records({ codecs });
  const { file: _file, firstRecord: _first, ...fields } = expected;
  assert.deepEqual(batchForm(batch, records), fields, where);
  records.forEach((record, i) => {
    assert.deepEqual(recordForm(record, batch.isControl), expectedForm(expectedRecords[i]!), `${where}, record ${i}`);
    // Format 0 within format 1 has no timestamps, whatever its wrapper has.
    if (record.timestampType !== "NoTimestampType") assert.equal(record.timestampType, batch.timestampType, where);
  });
  return records;
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
      const wanted = expected.batches[next++]!;
      const wantedRecords = expected.records.slice(wanted.firstRecord, wanted.firstRecord + wanted.recordCount);
      assert.equal(wanted.file, file);
      for (const record of compareBatch(batch, wanted, wantedRecords, codecs, `${file} at ${batch.position}`)) {
        assert.deepEqual([record.topic, record.partition], [topic, number]);
        count++;
      }
    }
    assert.equal(batches.validBytes, validBytes, file);
  }
  assert.equal(next, expected.batches.length);
  return count;
}
