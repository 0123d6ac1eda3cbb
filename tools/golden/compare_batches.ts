/**
 * Our view of batches and records in the form of `expected.json`.
 *
 * @module
 */

import { utf8Encode } from "../../src/bytes/utf8.ts";
import type { Codecs } from "../../src/compression/codec.ts";
import { CorruptRecordError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { controlRecordToJson, decodeControlRecord } from "../../src/log/payloads/decode_control_record.ts";
import type { Batch } from "../../src/records/batch.ts";
import type { Record } from "../../src/records/record.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import type { RecordContext } from "../../src/records/record_context.ts";
import { bytesForm } from "./bytes_form.ts";
import { decodedForm } from "./decoded_form.ts";
import { differences, exact, type Json, type Mismatches, UNSAFE, type View } from "./differences.ts";
import type { ExpectedBatch } from "./expected_set.ts";

/** A file of batches and how far they go. */
export interface WalkedFile {
  /** Its name. */
  readonly file: string;
  /** The partition it is of. */
  readonly context: RecordContext;
  /** Its batches. */
  readonly batches: readonly Batch[];
  /** Bytes of whole batches. */
  readonly validBytes: number;
  /** Bytes behind them. */
  readonly trailingBytes: number;
  /** Kafka's name for the error that ended the walk. */
  readonly error: string | undefined;
}

/** Walks the batches in `bytes`, all of a file. */
export function walkFile(bytes: Uint8Array, file: string, context: RecordContext): WalkedFile {
  const walk = new RecordBatches(bytes, { ...context, file });
  const batches: Batch[] = [];
  let error: string | undefined;
  try {
    for (const batch of walk) batches.push(batch);
  } catch (cause) {
    if (!(cause instanceof CorruptRecordError)) throw cause;
    error = "CorruptRecordException";
  }
  return { file, context, batches, validBytes: walk.validBytes, trailingBytes: bytes.length - walk.validBytes, error };
}

/** Compares the batches of files, one after the other, and the records in them. */
export async function* compareBatches(
  path: string,
  files: readonly WalkedFile[],
  expected: readonly ExpectedBatch[],
  expectedRecords: readonly Json[],
  codecs: Codecs,
): Mismatches {
  const ours = files.flatMap(({ batches, context, file }) => batches.map((batch) => ({ batch, context, file })));
  let next = 0;
  for (let i = 0; i < Math.max(ours.length, expected.length); i++) {
    const at = `${path}batches[${i}]`;
    const [our, theirs] = [ours[i], expected[i]];
    if (our === undefined) yield { path: at, expected: theirs as unknown as Json, actual: undefined };
    else if (theirs === undefined) {
      yield { path: at, expected: undefined, actual: `${our.file}: ${our.batch.position}` };
    } else {
      yield* differences(`${at}.file`, theirs.file, our.file);
      // Else a record could go uncompared.
      yield* differences(`${at}.firstRecord`, theirs.firstRecord, next);
      yield* compareBatch(at, `${path}records`, our.batch, theirs, expectedRecords, our.context, codecs);
      next = theirs.firstRecord + theirs.recordCount;
    }
  }
  yield* differences(`${path}records.length`, expectedRecords.length, next);
}

/** Compares the batch at `path` and its records, which are at `recordsPath`. */
async function* compareBatch(
  path: string,
  recordsPath: string,
  batch: Batch,
  { file: _file, firstRecord, ...rest }: ExpectedBatch,
  expectedRecords: readonly Json[],
  { topic, partition }: RecordContext,
  codecs: Codecs,
): Mismatches {
  const records = exact(() => batch.records({ codecs }));
  const fields = rest as { readonly recordCount: number; readonly [field: string]: Json };
  const theirs = expectedRecords.slice(firstRecord, firstRecord + fields.recordCount);
  if (records === UNSAFE) {
    // Without offsets there are no records; all else of the batch can be told.
    yield* differences(path, fields, { ...batchForm(batch, []), recordCount: fields.recordCount });
    for (const [i, record] of theirs.entries()) {
      yield* differences(`${recordsPath}[${firstRecord + i}]`, record, UNSAFE);
    }
    return;
  }
  yield* differences(path, fields, batchForm(batch, records));
  for (const [i, record] of records.entries()) {
    const at = `${recordsPath}[${firstRecord + i}]`;
    yield* differences(at, theirs[i], await recordForm(record, batch.isControl));
    yield* differences(`${at} (of its batch)`, {
      topic: topic!,
      partition: partition!,
      // Format 0 within format 1 has no timestamps, whatever its wrapper has.
      timestampType: record.timestampType === "NoTimestampType" ? record.timestampType : batch.timestampType,
    }, { topic: record.topic, partition: record.partition, timestampType: record.timestampType });
  }
}

function batchForm(batch: Batch, records: readonly Record[]): { readonly [field: string]: View } {
  const common: { readonly [field: string]: View } = {
    position: batch.position,
    size: batch.size,
    // Of a compressed message of the old formats it is told by decoding only.
    baseOffset: exact(() => batch.magic < 2 ? records[0]!.offset : batch.baseOffset),
    lastOffset: exact(() => batch.lastOffset),
    magic: batch.magic,
    codec: batch.compression,
    timestampType: batch.timestampType,
    maxTimestamp: exact(() => batch.maxTimestamp),
    crc: batch.crc,
    valid: batch.hasValidCrc(crc32c),
    recordCount: records.length,
  };
  if (batch.magic < 2) return common;
  return {
    ...common,
    producerId: exact(() => batch.producerId),
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    lastSequence: batch.lastSequence,
    transactional: batch.isTransactional,
    control: batch.isControl,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    deleteHorizonMs: exact(() => batch.deleteHorizonMs),
    count: batch.recordCount,
  };
}

async function recordForm(record: Record, isControl: boolean): Promise<View[]> {
  const form: View[] = [
    exact(() => record.offset),
    exact(() => record.timestamp),
    await bytesForm(record.key),
    await bytesForm(record.value),
    await Promise.all(
      record.headers.map(async ([key, value]) => [await bytesForm(utf8Encode(key)), await bytesForm(value)]),
    ),
    record.sequence,
  ];
  if (isControl) form.push(controlRecordToJson(decodeControlRecord(record)));
  return form;
}

/** The payloads of all records that no control batch holds; undefined when the topic is none of Kafka's own. */
export function decodedForms(files: readonly WalkedFile[], codecs: Codecs): View[] | undefined {
  const payloads: View[] = [];
  for (const { batches, context } of files) {
    for (const batch of batches) {
      if (batch.isControl) continue;
      for (const record of batch.records({ codecs })) {
        const payload = decodedForm(context.topic!, record);
        if (payload === undefined) return undefined;
        payloads.push(payload);
      }
    }
  }
  return payloads;
}
