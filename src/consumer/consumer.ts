/**
 * Reads topics or single partitions without a group: from any place to any place, or for ever. Order holds within a
 * partition.
 *
 * @module
 */

import type { ClientContext } from "../client/client_context.ts";
import type { Record } from "../records/record.ts";
import { BatchSource } from "./batch_source.ts";
import type { ConsumerBatch } from "./consumer_batch.ts";
import { type ConsumerOptions, resolveConsumerOptions } from "./consumer_options.ts";
import { PullIterator } from "./pull_iterator.ts";

/** How far one partition has been read. */
export interface ConsumerPosition {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Offset after the last batch handed out. */
  readonly position: number;
  /** First offset that was not replicated yet at the last answer; −1 before the first. */
  readonly highWatermark: number;
  /** Reading ends before this offset; null when it goes on for ever. */
  readonly end: number | null;
}

/**
 * A consumer. It is read once, either record by record or batch by batch; leaving the loop closes it.
 *
 * What goes wrong on the way is tried again: a leader that moved, a broker that is away. Only when a partition could not
 * be fetched for `defaultApiTimeoutMs` does reading end with a TimeoutError, whose cause is the last failure.
 *
 * @example
 * ```ts ignore
 * for await (const record of kafka.consumer({ topics: "orders", until: "end" })) console.log(record.offset);
 * ```
 */
export class Consumer implements AsyncIterable<Record> {
  readonly #source: BatchSource;

  /**
   * Makes a consumer; it connects when the first record is asked for.
   *
   * @throws ConfigError
   */
  constructor(context: ClientContext, options: ConsumerOptions) {
    this.#source = new BatchSource(context, resolveConsumerOptions(options));
  }

  /**
   * The records, one by one. They are views of the fetched bytes, which stay in memory as long as a record does.
   *
   * @throws (rejects) BrokerError, CorruptRecordError, TimeoutError, AbortedError naming topic, partition and offset where
   * there is one; reading is over then.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Record> {
    const source = this.#source;
    let records: readonly Record[] = [];
    let next = 0;
    return new PullIterator(source, () => {
      while (!source.isEnded) {
        if (next < records.length) return records[next++];
        const batch = source.take();
        if (batch === undefined) return undefined;
        records = batch.records();
        next = 0;
      }
      return undefined;
    });
  }

  /** The same by batches: one step for records that were stored together, which a plain `for` then walks. Least work a record. */
  batches(): AsyncIterableIterator<ConsumerBatch> {
    return new PullIterator(this.#source, () => this.#source.take());
  }

  /** How far each partition has been read; empty before the first record was asked for. */
  positions(): ConsumerPosition[] {
    return this.#source.partitions.map(({ topic, partition, position, highWatermark, end }) => ({
      topic,
      partition,
      position,
      highWatermark,
      end: end === Infinity ? null : end,
    }));
  }

  /** Ends reading; a loop that waits for records ends. Safe to repeat. */
  close(): Promise<void> {
    this.#source.end();
    return Promise.resolve();
  }

  /** Closes; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
