/**
 * What is known of a cluster at one moment, and how an answer to Metadata changes it. Brokers learn of an election one by
 * one, so an answer may be older than what is known: epochs of leaders tell.
 *
 * @module
 */

import { type KafkaError, ProtocolError } from "../core/kafka_error.ts";
import { ZERO_UUID } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { errorOf } from "../protocol/error_table.ts";
import type { MetadataResponse, MetadataResponsePartition, MetadataResponseTopic } from "../protocol/metadata.ts";

/** One partition as the cluster's metadata has it. */
export interface PartitionMetadata {
  /** Its number. */
  readonly partition: number;
  /** Node id of the leader; −1 while there is none. */
  readonly leader: number;
  /** The leader's epoch; −1 where the broker tells none. */
  readonly leaderEpoch: number;
  /** Node ids of the replicas. */
  readonly replicas: readonly number[];
  /** Node ids of the replicas in sync. */
  readonly isr: readonly number[];
}

/** One topic as the cluster's metadata has it. */
export interface TopicMetadata {
  /** Its name. */
  readonly name: string;
  /** Its id as 22 characters of base64url; all `A` where the broker tells none. */
  readonly id: string;
  /** Whether Kafka keeps it for itself. */
  readonly isInternal: boolean;
  /** Its partitions; the index is the number. */
  readonly partitions: readonly PartitionMetadata[];
}

/** What was known at one moment. */
export interface Metadata {
  /** Grows with every change. */
  readonly version: number;
  /** The cluster's id, once known. */
  readonly clusterId: string | null;
  /** Topics known by name. */
  readonly topics: ReadonlyMap<string, TopicMetadata>;
}

/** What an answer brought. */
export interface MetadataUpdate {
  /** What is known now. */
  readonly metadata: Metadata;
  /** Each topic of the answer with what is wrong with it; undefined for nothing. */
  readonly problems: ReadonlyMap<string, KafkaError | undefined>;
  /** Whether it told something new. One that did not is a reason to wait longer before asking again. */
  readonly isNews: boolean;
}

/** The version from which on leader epochs in Metadata can be relied upon. */
const RELIABLE_EPOCHS_FROM = 9;

/**
 * What is known after `answer`, which has come in `version`. A topic of `before` that is not in it stays if `keeps` says so.
 *
 * @throws ProtocolError for an answer that cannot be right.
 */
export function updateClusterMetadata(
  before: Metadata,
  answer: MetadataResponse,
  version: number,
  keeps: (topic: string) => boolean,
): MetadataUpdate {
  const topics = new Map<string, TopicMetadata>();
  for (const [name, topic] of before.topics) if (keeps(name)) topics.set(name, topic);
  // Epochs of another cluster mean nothing, even where its brokers tell no topic ids.
  const isSameCluster = before.clusterId === null || answer.clusterId === null ||
    before.clusterId === answer.clusterId;
  const problems = new Map<string, KafkaError | undefined>();
  let isNews = false;
  for (const topic of answer.topics) {
    const { name } = topic;
    if (name === null) continue;
    problems.set(name, problemOf(name, topic));
    if (topic.errorCode !== 0) {
      topics.delete(name);
      continue;
    }
    const known = isSameCluster ? before.topics.get(name) : undefined;
    const partitions = updatePartitions(name, topic, version, known);
    isNews ||= partitions.isNews;
    topics.set(name, { name, id: topic.topicId, isInternal: topic.isInternal, partitions: partitions.list });
  }
  return { metadata: { version: before.version + 1, clusterId: answer.clusterId, topics }, problems, isNews };
}

function updatePartitions(
  name: string,
  { partitions, topicId }: MetadataResponseTopic,
  version: number,
  topic: TopicMetadata | undefined,
): { list: PartitionMetadata[]; isNews: boolean } {
  // Another id is another topic, whose epochs begin anew. An answer without ids leaves it open.
  const hasId = topicId !== ZERO_UUID;
  const known = topic !== undefined && (!hasId || topic.id === topicId) ? topic.partitions : [];
  const list = new Array<PartitionMetadata>(partitions.length);
  let isNews = false;
  for (const partition of partitions) {
    const { partitionIndex: index } = partition;
    if (index < 0 || index >= list.length || list[index] !== undefined) {
      throw new ProtocolError(`topic ${name}: the Metadata answer lists ${list.length} partitions, one as ${index}`, {
        retriable: true,
        topic: name,
        partition: index,
      });
    }
    const epoch = version >= RELIABLE_EPOCHS_FROM ? partition.leaderEpoch : -1;
    const old = known[index];
    if (old === undefined || epoch < 0 || epoch > old.leaderEpoch) isNews = true;
    if (old === undefined) list[index] = partitionOf(partition, epoch);
    else if (epoch >= 0) list[index] = epoch < old.leaderEpoch ? old : partitionOf(partition, epoch);
    // Who tells neither leader nor epoch takes nothing back: the next leader is still newer than the last one.
    else list[index] = partitionOf(partition, hasId && partition.leaderId < 0 ? old.leaderEpoch : -1);
  }
  return { list, isNews };
}

function partitionOf(
  { partitionIndex: partition, leaderId: leader, replicaNodes: replicas, isrNodes: isr }: MetadataResponsePartition,
  leaderEpoch: number,
): PartitionMetadata {
  return { partition, leader, leaderEpoch, replicas, isr };
}

/** Why a topic, or the first such partition of it, cannot be used now. */
function problemOf(topic: string, { errorCode, partitions }: MetadataResponseTopic): KafkaError | undefined {
  if (errorCode !== 0) return brokerError(errorCode, `topic ${topic}`, { topic, outcome: "not-written" });
  const broken = partitions.find((p) => p.errorCode !== 0 && errorOf(p.errorCode).refreshMetadata);
  if (broken === undefined) return undefined;
  const { partitionIndex: partition } = broken;
  return brokerError(broken.errorCode, `${topic}-${partition}`, { topic, partition, outcome: "not-written" });
}
