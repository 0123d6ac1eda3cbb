/**
 * Decides the partition of records that do not ask for one.
 *
 * @module
 */

import type { PartitionMetadata, TopicMetadata } from "../client/cluster.ts";
import type { Payload } from "./record_metadata.ts";

/** The cluster as a partitioner sees it: one snapshot, which is never changed. */
export interface ClusterView {
  /** The cluster's id, once known. */
  readonly clusterId: string | null;
  /** Ids of the nodes known. */
  readonly nodes: readonly number[];
  /** The partitions of `topic`, the index being the number; empty when the topic is not known. */
  partitions(topic: string): readonly PartitionMetadata[];
  /** Those of them that have a leader. */
  availablePartitions(topic: string): readonly PartitionMetadata[];
}

/** A record to find a partition for. */
export interface PartitionRequest<K = Payload, V = Payload> {
  /** Where the record goes. */
  readonly topic: string;
  /** The key as given; null without one. */
  readonly key: K | null;
  /** The key's bytes; null without one. */
  readonly keyBytes: Uint8Array | null;
  /** The value as given; null for a tombstone. */
  readonly value: V | null;
  /** The value's bytes; null for a tombstone. */
  readonly valueBytes: Uint8Array | null;
  /** The cluster. */
  readonly cluster: ClusterView;
}

/** Answers the number of a partition that the topic has; anything else, or an error, fails that one send. */
export type PartitionFunction<K = Payload, V = Payload> = (request: PartitionRequest<K, V>) => number;

/** A partitioner with state of its own. */
export interface Partitioner<K = Payload, V = Payload> {
  /** Answers the number of a partition that the topic has; anything else, or an error, fails that one send. */
  readonly partition: PartitionFunction<K, V>;
  /**
   * Called when the record at hand would begin a new batch on `previous`; {@linkcode partition} is asked once more after.
   * Partitioners that fill batch after batch have it (Java until 3.x); others leave it out.
   */
  onNewBatch?(topic: string, cluster: ClusterView, previous: number): void;
  /** Called once when the producer is closed. */
  close?(): void | PromiseLike<void>;
}

/** A view of topics and nodes that were known together. */
export function clusterView(
  clusterId: string | null,
  nodes: readonly number[],
  topics: ReadonlyMap<string, TopicMetadata>,
): ClusterView {
  const partitions = (topic: string) => topics.get(topic)?.partitions ?? [];
  return {
    clusterId,
    nodes,
    partitions,
    availablePartitions: (topic) => partitions(topic).filter(({ leader }) => nodes.includes(leader)),
  };
}
