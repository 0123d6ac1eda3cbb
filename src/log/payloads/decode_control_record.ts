/**
 * Control records with all that they say: the transaction markers, and what KRaft's controllers write into their log and its
 * snapshots.
 *
 * @module
 */

import type { MessageSchema } from "../../protocol/api.ts";
import { type JsonObject, messageToJson } from "../../protocol/message_json.ts";
import { type KRaftVersionRecord, kRaftVersionRecordSchema } from "../../protocol/records/kraft_version_record.ts";
import { type LeaderChangeMessage, leaderChangeMessageSchema } from "../../protocol/records/leader_change_message.ts";
import {
  type SnapshotFooterRecord,
  snapshotFooterRecordSchema,
} from "../../protocol/records/snapshot_footer_record.ts";
import {
  type SnapshotHeaderRecord,
  snapshotHeaderRecordSchema,
} from "../../protocol/records/snapshot_header_record.ts";
import { type VotersRecord, votersRecordSchema } from "../../protocol/records/voters_record.ts";
import { controlRecordOf } from "../../records/control_record.ts";
import type { Record } from "../../records/record.ts";
import { readPart } from "./message_reader.ts";

/** The end of a transaction. */
export interface TransactionMarker {
  /** How it ended. */
  readonly type: "ABORT" | "COMMIT";
  /** Epoch of the transaction coordinator that ended it. */
  readonly coordinatorEpoch: number;
}

/** A control record of KRaft; its data is undefined where its version is not known. */
export type KRaftControlRecord =
  | { readonly type: "LEADER_CHANGE"; readonly version: number; readonly data: LeaderChangeMessage | undefined }
  | { readonly type: "SNAPSHOT_HEADER"; readonly version: number; readonly data: SnapshotHeaderRecord | undefined }
  | { readonly type: "SNAPSHOT_FOOTER"; readonly version: number; readonly data: SnapshotFooterRecord | undefined }
  | { readonly type: "KRAFT_VERSION"; readonly version: number; readonly data: KRaftVersionRecord | undefined }
  | { readonly type: "KRAFT_VOTERS"; readonly version: number; readonly data: VotersRecord | undefined };

/** A control record of a type that is not known; to be passed over. */
export interface UnknownControlRecord {
  /** Not known. */
  readonly type: "UNKNOWN";
  /** Number of the type. */
  readonly typeNumber: number;
}

/** A control record with all that it says. */
export type DecodedControlRecord = TransactionMarker | KRaftControlRecord | UnknownControlRecord;

const SCHEMAS = {
  LEADER_CHANGE: leaderChangeMessageSchema,
  SNAPSHOT_HEADER: snapshotHeaderRecordSchema,
  SNAPSHOT_FOOTER: snapshotFooterRecordSchema,
  KRAFT_VERSION: kRaftVersionRecordSchema,
  KRAFT_VOTERS: votersRecordSchema,
} as const;

/**
 * Decodes a record of a control batch.
 *
 * @throws CorruptRecordError when its key or value is damaged.
 */
export function decodeControlRecord(record: Record): DecodedControlRecord {
  const { coordinatorEpoch, type, typeNumber } = controlRecordOf(record);
  switch (type) {
    case "ABORT":
    case "COMMIT":
      return { type, coordinatorEpoch };
    case "LEADER_CHANGE":
      return { type, ...messageOf(record, SCHEMAS[type]) };
    case "SNAPSHOT_HEADER":
      return { type, ...messageOf(record, SCHEMAS[type]) };
    case "SNAPSHOT_FOOTER":
      return { type, ...messageOf(record, SCHEMAS[type]) };
    case "KRAFT_VERSION":
      return { type, ...messageOf(record, SCHEMAS[type]) };
    case "KRAFT_VOTERS":
      return { type, ...messageOf(record, SCHEMAS[type]) };
    case "UNKNOWN":
      return { type, typeNumber };
  }
}

/** A decoded control record as JSON: its type and, of a marker, the epoch; of KRaft's, the fields of the message. */
export function controlRecordToJson(control: DecodedControlRecord): JsonObject {
  if (!("data" in control)) return { ...control };
  const { data, type, version } = control;
  if (data === undefined) return { type, version };
  return { type, data: messageToJson(SCHEMAS[type] as MessageSchema<typeof data>, data, version) };
}

/** The message in a record's value; all of KRaft's begin with their version. */
function messageOf<T>(record: Record, schema: MessageSchema<T>): { version: number; data: T | undefined } {
  return readPart(record, "value", (reader) => {
    const version = reader.int16();
    if (version < 0) throw reader.error(`version ${version} of ${schema.name}`, 0);
    reader.position = 0;
    return { version, data: version > schema.maxVersion ? undefined : schema.decode(reader, version) };
  });
}
