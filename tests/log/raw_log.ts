import type { Storage } from "../../src/log/storage.ts";
import { concatenated, rawBatch, rawRecord } from "../helpers/raw_batch.ts";
import { replaceFile } from "./batch_of.ts";

/** A batch as it lies in a log, or as it is appended to one. */
export interface LogBatch {
  readonly offset?: number;
  /** A record each. */
  readonly values?: readonly string[];
  /** Of the first record; each further one is 1 ms later. */
  readonly timestamp?: number;
  readonly leaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly sequence?: number;
  readonly transactional?: boolean;
}

const TIMESTAMP = 1_700_000_000_000;

/** A batch of records. */
export function dataBatch(batch: LogBatch = {}): Uint8Array {
  const { offset = 0, values = ["x"], timestamp = TIMESTAMP, leaderEpoch = 0 } = batch;
  return rawBatch({
    baseOffset: BigInt(offset),
    partitionLeaderEpoch: leaderEpoch,
    attributes: batch.transactional ? 0x10 : 0,
    baseTimestamp: BigInt(timestamp),
    maxTimestamp: BigInt(timestamp + values.length - 1),
    producerId: BigInt(batch.producerId ?? -1),
    producerEpoch: batch.producerEpoch ?? (batch.producerId === undefined ? -1 : 0),
    baseSequence: batch.sequence ?? (batch.producerId === undefined ? -1 : 0),
    recordCount: values.length,
    records: concatenated(...values.map((value, i) => rawRecord({ offsetDelta: i, timestampDelta: i, value }))),
  });
}

/** The batch that ends a transaction. */
export function markerBatch(
  type: "ABORT" | "COMMIT",
  producerId: number,
  { offset = 0, producerEpoch = 0, coordinatorEpoch = 0, timestamp = TIMESTAMP }: {
    readonly offset?: number;
    readonly producerEpoch?: number;
    readonly coordinatorEpoch?: number;
    readonly timestamp?: number;
  } = {},
): Uint8Array {
  // int16 version, int16 type; int16 version, int32 coordinator epoch. The length is a varint: 16 is 8 in zigzag.
  const key = [0, 0, 0, type === "COMMIT" ? 1 : 0];
  const value = [0, 0, 0, 0, coordinatorEpoch >> 8, coordinatorEpoch & 255];
  return rawBatch({
    baseOffset: BigInt(offset),
    partitionLeaderEpoch: 0,
    attributes: 0x30,
    baseTimestamp: BigInt(timestamp),
    maxTimestamp: BigInt(timestamp),
    producerId: BigInt(producerId),
    producerEpoch,
    recordCount: 1,
    records: Uint8Array.from([32, 0, 0, 0, 2 * key.length, ...key, 2 * value.length, ...value, 0]),
  });
}

/** Puts a `.log` of `batches` into the folder, with no index beside it. */
export async function putSegment(storage: Storage, baseOffset: number, batches: readonly Uint8Array[]): Promise<void> {
  await replaceFile(storage, `${String(baseOffset).padStart(20, "0")}.log`, concatenated(...batches));
}

/** Puts a transaction index of `[producerId, firstOffset, lastOffset, lastStableOffset]` into the folder. */
export async function putTransactionIndex(
  storage: Storage,
  baseOffset: number,
  entries: readonly (readonly [number, number, number, number])[],
): Promise<void> {
  await replaceFile(storage, `${String(baseOffset).padStart(20, "0")}.txnindex`, transactionEntries(entries));
}

/** The bytes of such entries. */
export function transactionEntries(entries: readonly (readonly [number, number, number, number])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(34 * entries.length));
  entries.forEach((fields, n) => fields.forEach((field, i) => view.setBigInt64(34 * n + 2 + 8 * i, BigInt(field))));
  return new Uint8Array(view.buffer);
}

/** The bytes of `[relative offset, position]` entries. */
export function offsetEntries(entries: readonly (readonly [number, number])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * entries.length));
  entries.forEach(([offset, position], n) => {
    view.setInt32(8 * n, offset);
    view.setInt32(8 * n + 4, position);
  });
  return new Uint8Array(view.buffer);
}

/** The bytes of `[timestamp, relative offset]` entries. */
export function timeEntries(entries: readonly (readonly [number, number])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(12 * entries.length));
  entries.forEach(([timestamp, offset], n) => {
    view.setBigInt64(12 * n, BigInt(timestamp));
    view.setInt32(12 * n + 8, offset);
  });
  return new Uint8Array(view.buffer);
}
