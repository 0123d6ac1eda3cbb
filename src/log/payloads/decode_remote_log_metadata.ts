/**
 * `__remote_log_metadata`: which segments lie in tiered storage.
 *
 * @module
 */

import { remoteLogSegmentMetadataRecordSchema } from "../../protocol/records/remote_log_segment_metadata_record.ts";
import { remoteLogSegmentMetadataSnapshotRecordSchema } from "../../protocol/records/remote_log_segment_metadata_snapshot_record.ts";
import { remoteLogSegmentMetadataUpdateRecordSchema } from "../../protocol/records/remote_log_segment_metadata_update_record.ts";
import { remotePartitionDeleteMetadataRecordSchema } from "../../protocol/records/remote_partition_delete_metadata_record.ts";
import type { Record } from "../../records/record.ts";
import { type FramedPayload, readFramedPayload } from "./framed_payload.ts";
import { messageReader } from "./message_reader.ts";

const MESSAGES = [
  messageReader(remoteLogSegmentMetadataRecordSchema),
  messageReader(remoteLogSegmentMetadataUpdateRecordSchema),
  messageReader(remotePartitionDeleteMetadataRecordSchema),
  messageReader(remoteLogSegmentMetadataSnapshotRecordSchema),
];

/**
 * Decodes a record of `__remote_log_metadata`: an event in the life of a remote segment.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function decodeRemoteLogMetadata(record: Record): FramedPayload {
  return readFramedPayload(record, MESSAGES);
}
