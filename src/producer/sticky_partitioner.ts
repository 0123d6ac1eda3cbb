/**
 * Where records without a key go: all to one partition until about a batch's worth of bytes is there, then to another,
 * chosen by chance (KIP-480, KIP-794). So batches fill up, and over time every partition gets the same number of bytes.
 *
 * @module
 */

import type { TopicMetadata } from "../client/cluster.ts";
import { type Random, randomInt } from "../core/random.ts";

/** The sticky choice of one topic. */
export class StickyPartitioner {
  readonly #batchSize: number;
  readonly #random: Random;
  #partition = -1;
  #produced = 0;

  /** Moves on after `batchSize` bytes. */
  constructor(batchSize: number, random: Random) {
    this.#batchSize = batchSize;
    this.#random = random;
  }

  /** The partition for the next record. */
  current(topic: TopicMetadata): number {
    if (this.#partition < 0 || this.#partition >= topic.partitions.length) this.#move(topic);
    return this.#partition;
  }

  /**
   * Counts `bytes` appended to the current partition. It moves on after a batch's worth when the open batch `isFull`, so
   * that no small rest is left behind, and after twice that in any case.
   */
  appended(topic: TopicMetadata, bytes: number, isFull: boolean): void {
    this.#produced += bytes;
    if (this.#produced >= 2 * this.#batchSize || (this.#produced >= this.#batchSize && isFull)) this.#move(topic);
  }

  #move({ partitions }: TopicMetadata): void {
    // A partition without a leader could not be sent to now; with none led, any is as good.
    const led = partitions.filter((partition) => partition.leader >= 0);
    const candidates = led.length > 0 ? led : partitions;
    this.#partition = candidates[randomInt(this.#random, candidates.length)]!.partition;
    this.#produced = 0;
  }
}
