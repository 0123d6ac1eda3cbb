/**
 * What lies in Kafka's own topics, decoded: the offsets that groups committed, the transaction coordinator's log, the
 * cluster's metadata and more, in the JSON that Kafka's tools print.
 *
 * @module
 */

import type { JsonObject } from "../../protocol/message_json.ts";
import type { Record } from "../../records/record.ts";
import { decodeClusterMetadata } from "./decode_cluster_metadata.ts";
import { decodeOffsets } from "./decode_offsets.ts";
import { decodeRemoteLogMetadata } from "./decode_remote_log_metadata.ts";
import { decodeShareGroupState } from "./decode_share_group_state.ts";
import { decodeTransactions } from "./decode_transactions.ts";

export type { Json, JsonObject } from "../../protocol/message_json.ts";
export type { Record } from "../../records/record.ts";

/**
 * Decodes a record of one of Kafka's own topics.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export type PayloadDecoder = (record: Record) => JsonObject;

/** Name of a decoder, as `log dump --decode` has it. */
export type PayloadName =
  | "offsets"
  | "transactions"
  | "cluster-metadata"
  | "share-group-state"
  | "remote-log-metadata";

/** The decoders of Kafka's own topics. */
export const PAYLOAD_DECODERS: { readonly [name in PayloadName]: PayloadDecoder } = {
  "offsets": (record) => decodeOffsets(record),
  "transactions": decodeTransactions,
  "cluster-metadata": decodeClusterMetadata,
  "share-group-state": decodeShareGroupState,
  "remote-log-metadata": decodeRemoteLogMetadata,
};

/** The decoder for a topic of Kafka's own, by the topic's name. */
export const PAYLOAD_NAME_OF_TOPIC: { readonly [topic: string]: PayloadName } = {
  "__consumer_offsets": "offsets",
  "__transaction_state": "transactions",
  "__cluster_metadata": "cluster-metadata",
  "__share_group_state": "share-group-state",
  "__remote_log_metadata": "remote-log-metadata",
};
