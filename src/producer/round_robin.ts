/**
 * One partition after the other, whatever the key (Java's `RoundRobinPartitioner`).
 *
 * @module
 */

import type { Partitioner } from "./partitioner.ts";

/**
 * Makes a partitioner that takes the partitions of each topic in turn, those with a leader only where there are any.
 * Batches fill more slowly than by default: every record goes to another one.
 */
export function roundRobin(): Partitioner<unknown, unknown> {
  const counters = new Map<string, number>();
  return {
    partition({ topic, cluster }) {
      const count = counters.get(topic) ?? 0;
      counters.set(topic, (count + 1) | 0);
      const available = cluster.availablePartitions(topic);
      const candidates = available.length > 0 ? available : cluster.partitions(topic);
      // A counter that has wrapped is negative; Java masks the sign, too.
      return candidates[(count & 0x7fffffff) % candidates.length]!.partition;
    },
  };
}
