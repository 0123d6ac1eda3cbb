/**
 * `__cluster_metadata`: the log of the KRaft controllers, and its `.checkpoint` snapshots.
 *
 * @module
 */

import { abortTransactionRecordSchema } from "../../protocol/records/abort_transaction_record.ts";
import { accessControlEntryRecordSchema } from "../../protocol/records/access_control_entry_record.ts";
import { beginTransactionRecordSchema } from "../../protocol/records/begin_transaction_record.ts";
import { brokerRegistrationChangeRecordSchema } from "../../protocol/records/broker_registration_change_record.ts";
import { clearElrRecordSchema } from "../../protocol/records/clear_elr_record.ts";
import { clientQuotaRecordSchema } from "../../protocol/records/client_quota_record.ts";
import { configRecordSchema } from "../../protocol/records/config_record.ts";
import { delegationTokenRecordSchema } from "../../protocol/records/delegation_token_record.ts";
import { endTransactionRecordSchema } from "../../protocol/records/end_transaction_record.ts";
import { featureLevelRecordSchema } from "../../protocol/records/feature_level_record.ts";
import { fenceBrokerRecordSchema } from "../../protocol/records/fence_broker_record.ts";
import { noOpRecordSchema } from "../../protocol/records/no_op_record.ts";
import { partitionChangeRecordSchema } from "../../protocol/records/partition_change_record.ts";
import { partitionRecordSchema } from "../../protocol/records/partition_record.ts";
import { producerIdsRecordSchema } from "../../protocol/records/producer_ids_record.ts";
import { registerBrokerRecordSchema } from "../../protocol/records/register_broker_record.ts";
import { registerControllerRecordSchema } from "../../protocol/records/register_controller_record.ts";
import { removeAccessControlEntryRecordSchema } from "../../protocol/records/remove_access_control_entry_record.ts";
import { removeDelegationTokenRecordSchema } from "../../protocol/records/remove_delegation_token_record.ts";
import { removeTopicRecordSchema } from "../../protocol/records/remove_topic_record.ts";
import { removeUserScramCredentialRecordSchema } from "../../protocol/records/remove_user_scram_credential_record.ts";
import { topicRecordSchema } from "../../protocol/records/topic_record.ts";
import { unfenceBrokerRecordSchema } from "../../protocol/records/unfence_broker_record.ts";
import { unregisterBrokerRecordSchema } from "../../protocol/records/unregister_broker_record.ts";
import { userScramCredentialRecordSchema } from "../../protocol/records/user_scram_credential_record.ts";
import { zkMigrationStateRecordSchema } from "../../protocol/records/zk_migration_state_record.ts";
import type { Record } from "../../records/record.ts";
import { type FramedPayload, readFramedPayload } from "./framed_payload.ts";
import { messageReader } from "./message_reader.ts";

const MESSAGES = [
  messageReader(registerBrokerRecordSchema),
  messageReader(unregisterBrokerRecordSchema),
  messageReader(topicRecordSchema),
  messageReader(partitionRecordSchema),
  messageReader(configRecordSchema),
  messageReader(partitionChangeRecordSchema),
  messageReader(fenceBrokerRecordSchema),
  messageReader(unfenceBrokerRecordSchema),
  messageReader(removeTopicRecordSchema),
  messageReader(delegationTokenRecordSchema),
  messageReader(userScramCredentialRecordSchema),
  messageReader(featureLevelRecordSchema),
  messageReader(clientQuotaRecordSchema),
  messageReader(producerIdsRecordSchema),
  messageReader(brokerRegistrationChangeRecordSchema),
  messageReader(accessControlEntryRecordSchema),
  messageReader(removeAccessControlEntryRecordSchema),
  messageReader(noOpRecordSchema),
  messageReader(zkMigrationStateRecordSchema),
  messageReader(removeUserScramCredentialRecordSchema),
  messageReader(beginTransactionRecordSchema),
  messageReader(endTransactionRecordSchema),
  messageReader(abortTransactionRecordSchema),
  messageReader(removeDelegationTokenRecordSchema),
  messageReader(registerControllerRecordSchema),
  messageReader(clearElrRecordSchema),
];

/**
 * Decodes a record of `__cluster_metadata` or of a `.checkpoint`: one change of the cluster.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function decodeClusterMetadata(record: Record): FramedPayload {
  return readFramedPayload(record, MESSAGES);
}
