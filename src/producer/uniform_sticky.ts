/**
 * All records of a topic to one partition, whatever the key, until a batch is full; then to another (Java's
 * `UniformStickyPartitioner`, which Kafka 4.0 dropped). The default does this for records without a key, and better: it
 * also sees which partitions fall behind. For that with keys ignored set `partitionerIgnoreKeys`.
 *
 * @module
 */

import { type Random, randomInt } from "../core/random.ts";
import type { ClusterView, Partitioner } from "./partitioner.ts";

/** Makes a partitioner that moves on with every batch; `random` is where chance comes from. */
export function uniformSticky(random: Random = Math.random): Partitioner<unknown, unknown> {
  const current = new Map<string, number>();
  const move = (topic: string, cluster: ClusterView): number => {
    const available = cluster.availablePartitions(topic);
    const candidates = (available.length > 0 ? available : cluster.partitions(topic)).map((p) => p.partition);
    const others = candidates.filter((partition) => partition !== current.get(topic));
    const from = others.length > 0 ? others : candidates;
    const next = from[randomInt(random, from.length)]!;
    current.set(topic, next);
    return next;
  };
  return {
    partition: ({ topic, cluster }) => current.get(topic) ?? move(topic, cluster),
    onNewBatch(topic, cluster, previous) {
      // Another record may have moved it meanwhile.
      if ((current.get(topic) ?? previous) === previous) move(topic, cluster);
    },
  };
}
