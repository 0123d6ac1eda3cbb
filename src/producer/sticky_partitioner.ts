/**
 * Where records without a key go: all to one partition until about a batch's worth of bytes is there, then to another,
 * chosen by chance (KIP-480, KIP-794). So batches fill up, and over time every partition gets the same number of bytes,
 * but for those that cannot be sent to as fast as they are filled, which get fewer.
 *
 * @module
 */

import type { PartitionMetadata } from "../client/cluster.ts";
import { type Random, randomInt } from "../core/random.ts";
import type { PartitionQueue } from "./partition_queue.ts";

/** What the choice depends on. */
export interface StickyOptions {
  /** Bytes after which it moves on. */
  readonly batchSize: number;
  /** Chance. */
  readonly random: Random;
  /** Whether partitions with longer queues get fewer records. */
  readonly adaptive: boolean;
  /** Whether a node has taken nothing for too long to be sent more; never when absent. */
  readonly isStalled?: ((node: number) => boolean) | undefined;
}

/** The sticky choice of one topic. */
export class StickyPartitioner {
  readonly #options: StickyOptions;
  readonly #queues: readonly (PartitionQueue | undefined)[];
  #partition = -1;
  #produced = 0;

  /** `queues` are the topic's, by partition; undefined for those that no record was ever appended to. */
  constructor(options: StickyOptions, queues: readonly (PartitionQueue | undefined)[]) {
    this.#options = options;
    this.#queues = queues;
  }

  /** The partition for the next record. */
  current(partitions: readonly PartitionMetadata[]): number {
    const partition = this.#partition;
    const isOver = this.#produced >= this.#options.batchSize && this.#queues[partition]?.open === undefined;
    if (isOver || partition < 0 || partition >= partitions.length) this.#move(partitions);
    return this.#partition;
  }

  /**
   * Counts `bytes` appended to the current partition. It moves on after a batch's worth when the open batch `isFull`, so
   * that no small rest is left behind, and after twice that in any case.
   */
  appended(partitions: readonly PartitionMetadata[], bytes: number, isFull: boolean): void {
    this.#produced += bytes;
    const { batchSize } = this.#options;
    if (this.#produced >= 2 * batchSize || (this.#produced >= batchSize && isFull)) this.#move(partitions);
  }

  #move(partitions: readonly PartitionMetadata[]): void {
    this.#produced = 0;
    this.#partition = this.#byLoad(partitions) ?? this.#byChance(partitions);
  }

  #byChance(partitions: readonly PartitionMetadata[]): number {
    // A partition without a leader could not be sent to now; with none led, any is as good.
    const led = partitions.filter((partition) => partition.leader >= 0);
    const candidates = led.length > 0 ? led : partitions;
    return candidates[randomInt(this.#options.random, candidates.length)]!.partition;
  }

  /**
   * A partition by the length of its queue: the longest has a weight of 1, each batch less is one more. Undefined where
   * queues do not tell the partitions apart, or one of them was never used.
   */
  #byLoad(partitions: readonly PartitionMetadata[]): number | undefined {
    const { adaptive, isStalled, random } = this.#options;
    if (!adaptive || partitions.length < 2) return undefined;
    const candidates: number[] = [];
    const lengths: number[] = [];
    for (const { leader, partition } of partitions) {
      const queue = this.#queues[partition];
      if (queue === undefined) return undefined;
      if (leader < 0 || isStalled?.(leader)) continue;
      candidates.push(partition);
      lengths.push(queue.waiting.size);
    }
    const longest = Math.max(...lengths);
    if (lengths.every((length) => length === longest)) {
      // All alike: any of these, and when all are excluded any at all.
      return candidates[randomInt(random, candidates.length)];
    }
    let draw = randomInt(random, lengths.reduce((sum, length) => sum + longest + 1 - length, 0));
    return candidates[lengths.findIndex((length) => (draw -= longest + 1 - length) < 0)];
  }
}
