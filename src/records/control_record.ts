/**
 * Control records: what brokers write into a log between the applications' records. They take offsets and are never handed
 * to applications.
 *
 * @module
 */

import { CorruptRecordError } from "../core/kafka_error.ts";
import type { Record } from "./record.ts";

/** Names of the control record types in the order of their numbers. */
export const CONTROL_RECORD_TYPES = [
  "ABORT",
  "COMMIT",
  "LEADER_CHANGE",
  "SNAPSHOT_HEADER",
  "SNAPSHOT_FOOTER",
  "KRAFT_VERSION",
  "KRAFT_VOTERS",
] as const;

/** What a control record says; a type that is not known is `"UNKNOWN"` and to be passed over. */
export type ControlRecordType = typeof CONTROL_RECORD_TYPES[number] | "UNKNOWN";

/** A control record. */
export interface ControlRecord {
  /** What it says. */
  readonly type: ControlRecordType;
  /** Number of the type. */
  readonly typeNumber: number;
  /** Version of its key. */
  readonly version: number;
  /** For ABORT and COMMIT: epoch of the transaction coordinator that ended the transaction; −1 for other types. */
  readonly coordinatorEpoch: number;
}

/**
 * Reads a record of a control batch.
 *
 * @throws CorruptRecordError when its key or, for a transaction's end, its value is too short.
 */
export function controlRecordOf(record: Record): ControlRecord {
  const { key } = record;
  // Key: int16 version, int16 type. Later versions may append to it.
  if (key === null || key.length < 4) throw damaged(record, `key of ${record.keyLength} bytes, 4 are needed`);
  const version = int16(key, 0);
  const typeNumber = int16(key, 2);
  if (version < 0) throw damaged(record, `key version ${version}`);
  const type = CONTROL_RECORD_TYPES[typeNumber] ?? "UNKNOWN";
  const endsTransaction = type === "ABORT" || type === "COMMIT";
  return { type, typeNumber, version, coordinatorEpoch: endsTransaction ? coordinatorEpochOf(record) : -1 };
}

/** Key and value of the record that ends a transaction, for a control batch of the producer's. */
export function transactionMarker(
  type: "ABORT" | "COMMIT",
  coordinatorEpoch: number,
): { key: Uint8Array; value: Uint8Array } {
  const value = new Uint8Array(6);
  new DataView(value.buffer).setInt32(2, coordinatorEpoch);
  return { key: Uint8Array.of(0, 0, 0, CONTROL_RECORD_TYPES.indexOf(type)), value };
}

function coordinatorEpochOf(record: Record): number {
  const { value } = record;
  // Value: int16 version, int32 coordinator epoch.
  if (value === null || value.length < 6) throw damaged(record, `value of ${record.valueLength} bytes, 6 are needed`);
  if (int16(value, 0) < 0) throw damaged(record, `value version ${int16(value, 0)}`);
  return (value[2]! << 24) | (value[3]! << 16) | (value[4]! << 8) | value[5]!;
}

function int16(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16)) >> 16;
}

function damaged(record: Record, reason: string): CorruptRecordError {
  const { offset, partition, topic } = record;
  const place = topic === "" ? `offset ${offset}` : `${topic}-${partition}, offset ${offset}`;
  return new CorruptRecordError(`${place}: control record with a ${reason}`, {
    offset,
    ...(topic === "" ? {} : { topic, partition }),
  });
}
