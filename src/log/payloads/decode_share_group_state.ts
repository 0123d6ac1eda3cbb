/**
 * `__share_group_state`: how far share groups have come.
 *
 * @module
 */

import { shareSnapshotKeySchema } from "../../protocol/records/share_snapshot_key.ts";
import { shareSnapshotValueSchema } from "../../protocol/records/share_snapshot_value.ts";
import { shareUpdateKeySchema } from "../../protocol/records/share_update_key.ts";
import { shareUpdateValueSchema } from "../../protocol/records/share_update_value.ts";
import type { Record } from "../../records/record.ts";
import { keyedMessage, type KeyedPayload, readKeyedPayload } from "./keyed_payload.ts";

const MESSAGES = [
  keyedMessage(shareSnapshotKeySchema, shareSnapshotValueSchema),
  keyedMessage(shareUpdateKeySchema, shareUpdateValueSchema),
];

/**
 * Decodes a record of `__share_group_state`: a snapshot of a share partition or an update of one.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function decodeShareGroupState(record: Record): KeyedPayload {
  return readKeyedPayload(record, MESSAGES);
}
