/**
 * `__consumer_offsets`: the commits and the state of groups, of every protocol.
 *
 * @module
 */

import { Reader } from "../../bytes/reader.ts";
import { KafkaError } from "../../core/kafka_error.ts";
import type { MessageSchema } from "../../protocol/api.ts";
import { type Json, type JsonObject, messageToJson } from "../../protocol/message_json.ts";
import { consumerGroupCurrentMemberAssignmentKeySchema } from "../../protocol/records/consumer_group_current_member_assignment_key.ts";
import { consumerGroupCurrentMemberAssignmentValueSchema } from "../../protocol/records/consumer_group_current_member_assignment_value.ts";
import { consumerGroupMemberMetadataKeySchema } from "../../protocol/records/consumer_group_member_metadata_key.ts";
import { consumerGroupMemberMetadataValueSchema } from "../../protocol/records/consumer_group_member_metadata_value.ts";
import { consumerGroupMetadataKeySchema } from "../../protocol/records/consumer_group_metadata_key.ts";
import { consumerGroupMetadataValueSchema } from "../../protocol/records/consumer_group_metadata_value.ts";
import { consumerGroupPartitionMetadataKeySchema } from "../../protocol/records/consumer_group_partition_metadata_key.ts";
import { consumerGroupPartitionMetadataValueSchema } from "../../protocol/records/consumer_group_partition_metadata_value.ts";
import { consumerGroupRegularExpressionKeySchema } from "../../protocol/records/consumer_group_regular_expression_key.ts";
import { consumerGroupRegularExpressionValueSchema } from "../../protocol/records/consumer_group_regular_expression_value.ts";
import { consumerGroupTargetAssignmentMemberKeySchema } from "../../protocol/records/consumer_group_target_assignment_member_key.ts";
import { consumerGroupTargetAssignmentMemberValueSchema } from "../../protocol/records/consumer_group_target_assignment_member_value.ts";
import { consumerGroupTargetAssignmentMetadataKeySchema } from "../../protocol/records/consumer_group_target_assignment_metadata_key.ts";
import { consumerGroupTargetAssignmentMetadataValueSchema } from "../../protocol/records/consumer_group_target_assignment_metadata_value.ts";
import { consumerProtocolAssignmentSchema } from "../../protocol/records/consumer_protocol_assignment.ts";
import { consumerProtocolSubscriptionSchema } from "../../protocol/records/consumer_protocol_subscription.ts";
import { groupMetadataKeySchema } from "../../protocol/records/group_metadata_key.ts";
import { groupMetadataValueSchema } from "../../protocol/records/group_metadata_value.ts";
import { legacyOffsetCommitKeySchema } from "../../protocol/records/legacy_offset_commit_key.ts";
import { legacyOffsetCommitValueSchema } from "../../protocol/records/legacy_offset_commit_value.ts";
import { offsetCommitKeySchema } from "../../protocol/records/offset_commit_key.ts";
import { offsetCommitValueSchema } from "../../protocol/records/offset_commit_value.ts";
import { shareGroupCurrentMemberAssignmentKeySchema } from "../../protocol/records/share_group_current_member_assignment_key.ts";
import { shareGroupCurrentMemberAssignmentValueSchema } from "../../protocol/records/share_group_current_member_assignment_value.ts";
import { shareGroupMemberMetadataKeySchema } from "../../protocol/records/share_group_member_metadata_key.ts";
import { shareGroupMemberMetadataValueSchema } from "../../protocol/records/share_group_member_metadata_value.ts";
import { shareGroupMetadataKeySchema } from "../../protocol/records/share_group_metadata_key.ts";
import { shareGroupMetadataValueSchema } from "../../protocol/records/share_group_metadata_value.ts";
import { shareGroupStatePartitionMetadataKeySchema } from "../../protocol/records/share_group_state_partition_metadata_key.ts";
import { shareGroupStatePartitionMetadataValueSchema } from "../../protocol/records/share_group_state_partition_metadata_value.ts";
import { shareGroupTargetAssignmentMemberKeySchema } from "../../protocol/records/share_group_target_assignment_member_key.ts";
import { shareGroupTargetAssignmentMemberValueSchema } from "../../protocol/records/share_group_target_assignment_member_value.ts";
import { shareGroupTargetAssignmentMetadataKeySchema } from "../../protocol/records/share_group_target_assignment_metadata_key.ts";
import { shareGroupTargetAssignmentMetadataValueSchema } from "../../protocol/records/share_group_target_assignment_metadata_value.ts";
import { streamsGroupCurrentMemberAssignmentKeySchema } from "../../protocol/records/streams_group_current_member_assignment_key.ts";
import { streamsGroupCurrentMemberAssignmentValueSchema } from "../../protocol/records/streams_group_current_member_assignment_value.ts";
import { streamsGroupMemberMetadataKeySchema } from "../../protocol/records/streams_group_member_metadata_key.ts";
import { streamsGroupMemberMetadataValueSchema } from "../../protocol/records/streams_group_member_metadata_value.ts";
import { streamsGroupMetadataKeySchema } from "../../protocol/records/streams_group_metadata_key.ts";
import { streamsGroupMetadataValueSchema } from "../../protocol/records/streams_group_metadata_value.ts";
import { streamsGroupTargetAssignmentMemberKeySchema } from "../../protocol/records/streams_group_target_assignment_member_key.ts";
import { streamsGroupTargetAssignmentMemberValueSchema } from "../../protocol/records/streams_group_target_assignment_member_value.ts";
import { streamsGroupTargetAssignmentMetadataKeySchema } from "../../protocol/records/streams_group_target_assignment_metadata_key.ts";
import { streamsGroupTargetAssignmentMetadataValueSchema } from "../../protocol/records/streams_group_target_assignment_metadata_value.ts";
import { streamsGroupTopologyKeySchema } from "../../protocol/records/streams_group_topology_key.ts";
import { streamsGroupTopologyValueSchema } from "../../protocol/records/streams_group_topology_value.ts";
import type { Record } from "../../records/record.ts";
import { keyedMessage, type KeyedPayload, readKeyedPayload } from "./keyed_payload.ts";
import type { MessageReader } from "./message_reader.ts";

const MESSAGES = [
  keyedMessage(legacyOffsetCommitKeySchema, legacyOffsetCommitValueSchema),
  keyedMessage(offsetCommitKeySchema, offsetCommitValueSchema),
  keyedMessage(groupMetadataKeySchema, groupMetadataValueSchema),
  keyedMessage(consumerGroupMetadataKeySchema, consumerGroupMetadataValueSchema),
  keyedMessage(consumerGroupPartitionMetadataKeySchema, consumerGroupPartitionMetadataValueSchema),
  keyedMessage(consumerGroupMemberMetadataKeySchema, consumerGroupMemberMetadataValueSchema),
  keyedMessage(consumerGroupTargetAssignmentMetadataKeySchema, consumerGroupTargetAssignmentMetadataValueSchema),
  keyedMessage(consumerGroupTargetAssignmentMemberKeySchema, consumerGroupTargetAssignmentMemberValueSchema),
  keyedMessage(consumerGroupCurrentMemberAssignmentKeySchema, consumerGroupCurrentMemberAssignmentValueSchema),
  keyedMessage(shareGroupMemberMetadataKeySchema, shareGroupMemberMetadataValueSchema),
  keyedMessage(shareGroupMetadataKeySchema, shareGroupMetadataValueSchema),
  keyedMessage(shareGroupTargetAssignmentMetadataKeySchema, shareGroupTargetAssignmentMetadataValueSchema),
  keyedMessage(shareGroupTargetAssignmentMemberKeySchema, shareGroupTargetAssignmentMemberValueSchema),
  keyedMessage(shareGroupCurrentMemberAssignmentKeySchema, shareGroupCurrentMemberAssignmentValueSchema),
  keyedMessage(shareGroupStatePartitionMetadataKeySchema, shareGroupStatePartitionMetadataValueSchema),
  keyedMessage(consumerGroupRegularExpressionKeySchema, consumerGroupRegularExpressionValueSchema),
  keyedMessage(streamsGroupMetadataKeySchema, streamsGroupMetadataValueSchema),
  keyedMessage(streamsGroupMemberMetadataKeySchema, streamsGroupMemberMetadataValueSchema),
  keyedMessage(streamsGroupTargetAssignmentMetadataKeySchema, streamsGroupTargetAssignmentMetadataValueSchema),
  keyedMessage(streamsGroupTargetAssignmentMemberKeySchema, streamsGroupTargetAssignmentMemberValueSchema),
  keyedMessage(streamsGroupCurrentMemberAssignmentKeySchema, streamsGroupCurrentMemberAssignmentValueSchema),
  keyedMessage(streamsGroupTopologyKeySchema, streamsGroupTopologyValueSchema),
];

/** How to decode a record of `__consumer_offsets`. */
export interface DecodeOffsetsOptions {
  /**
   * What stands for the subscription and assignment of a classic consumer group's members, which Kafka stores as bytes
   * within the message: their fields, as in `kafka-dump-log`, or `"base64"`. `"fields"` when absent.
   */
  readonly members?: "fields" | "base64" | undefined;
}

/**
 * Decodes a record of `__consumer_offsets`: a commit, or a piece of a group's state.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function decodeOffsets(record: Record, { members = "fields" }: DecodeOffsetsOptions = {}): KeyedPayload {
  return readKeyedPayload(record, members === "fields" ? WITH_MEMBER_FIELDS : MESSAGES);
}

const groupMetadataWithMembers: MessageReader = {
  name: groupMetadataValueSchema.name,
  type: groupMetadataValueSchema.type,
  read(reader, version) {
    const message = groupMetadataValueSchema.decode(reader, version);
    const json = messageToJson(groupMetadataValueSchema, message, version);
    if (message.protocolType !== "consumer") return json;
    const members = json.members as readonly JsonObject[];
    return {
      ...json,
      members: message.members.map(({ assignment, subscription }, i) => ({
        ...members[i],
        subscription: embedded(consumerProtocolSubscriptionSchema, subscription) ?? members[i]!.subscription!,
        assignment: embedded(consumerProtocolAssignmentSchema, assignment) ?? members[i]!.assignment!,
      })),
    };
  },
};

const WITH_MEMBER_FIELDS = MESSAGES.map((message) =>
  message.value.name === groupMetadataWithMembers.name ? { ...message, value: groupMetadataWithMembers } : message
);

/**
 * The message within the message; undefined where it is empty, which an assignment may be, or is no such one: the group's
 * members alone decide what they send, and Kafka stores it unread.
 */
function embedded<T>(schema: MessageSchema<T>, bytes: Uint8Array): Json | undefined {
  try {
    const reader = new Reader(bytes, schema.name);
    // A newer one only appends fields.
    const version = Math.min(reader.int16(), schema.maxVersion);
    return messageToJson(schema, schema.decode(reader, version), version);
  } catch (error) {
    if (error instanceof KafkaError) return undefined;
    throw error;
  }
}
