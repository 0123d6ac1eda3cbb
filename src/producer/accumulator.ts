/**
 * Where records gather into batches, by topic and partition. Records are encoded as they come, straight into memory from
 * the pool; nothing of a record is kept but its bytes and its promise.
 *
 * @module
 */

import type { TopicMetadata } from "../client/cluster.ts";
import type { Clock } from "../core/clock.ts";
import { RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import { type HeaderInput, RecordBatchBuilder } from "../records/record_batch_builder.ts";
import type { BufferPool } from "./buffer_pool.ts";
import { PartitionQueue } from "./partition_queue.ts";
import { ProducerBatch, type RecordFigures } from "./producer_batch.ts";
import type { Payload } from "./record_metadata.ts";
import { type StickyOptions, StickyPartitioner } from "./sticky_partitioner.ts";

/** A record ready to be appended. */
export interface PreparedRecord extends RecordFigures {
  /** Key. */
  readonly key: Payload | null;
  /** Value. */
  readonly value: Payload | null;
  /** Headers. */
  readonly headers: readonly HeaderInput[];
  /** Upper bound of its size as the only record of a batch, in bytes. */
  readonly bound: number;
}

/** What an accumulator needs. */
export interface AccumulatorOptions {
  /** Bytes at which a batch is full. */
  readonly batchSize: number;
  /** Bytes of records that go into one batch before compression; `batchSize` when there is none. */
  readonly bufferSize: number;
  /** Memory. */
  readonly pool: BufferPool;
  /** Time. */
  readonly clock: Clock;
  /** How partitions are chosen for records without a key. */
  readonly sticky: StickyOptions;
  /** Called when a batch is full (`true`) or was begun (`false`). */
  readonly onBatch: (full: boolean) => void;
}

/** The queues of one topic. */
export interface TopicQueues {
  /** Topic. */
  readonly topic: string;
  /** How well its batches compress, as far as it is known. */
  compressionRatio: number;
  /** By partition; undefined for those that no record was ever appended to. */
  readonly partitions: (PartitionQueue | undefined)[];
  /** Where records without a key go. */
  readonly sticky: StickyPartitioner;
}

const NO_BYTES = new Uint8Array();

/** The batches of all partitions. */
export class Accumulator {
  /** Queues with a batch that waits; those that were just sent from stand last. */
  readonly active: Set<PartitionQueue> = new Set<PartitionQueue>();
  /** Queues whose sequence is in doubt or must start anew. */
  readonly unsettled: Set<PartitionQueue> = new Set<PartitionQueue>();
  /** Batches whose promises are not settled, oldest first. */
  readonly incomplete: Set<ProducerBatch> = new Set<ProducerBatch>();
  readonly #options: AccumulatorOptions;
  readonly #topics = new Map<string, TopicQueues>();
  readonly #settledWaiters = new Map<ProducerBatch, (() => void)[]>();
  #hurried = 0;

  /** Starts empty. */
  constructor(options: AccumulatorOptions) {
    this.#options = options;
  }

  /** Whether batches go without waiting for more records: somebody flushes, or memory is short. */
  get isHurried(): boolean {
    return this.#hurried > 0 || this.#options.pool.waiting > 0;
  }

  /** Lets batches go at once until `end` is called. */
  hurry(): { end(): void } {
    this.#hurried++;
    return { end: () => void this.#hurried-- };
  }

  /** The queues of `topic`. */
  queuesOf(topic: string): TopicQueues {
    let queues = this.#topics.get(topic);
    if (queues === undefined) {
      const partitions: (PartitionQueue | undefined)[] = [];
      queues = {
        topic,
        compressionRatio: 1,
        partitions,
        sticky: new StickyPartitioner(this.#options.sticky, partitions),
      };
      this.#topics.set(topic, queues);
    }
    return queues;
  }

  /**
   * Appends a record to the open batch of its partition (−1: the topic's current sticky one) and answers that batch.
   * Undefined when a new batch is due and there is no memory for it: get {@linkcode memoryFor} it and call again with it.
   */
  append(
    queues: TopicQueues,
    { partitions }: TopicMetadata,
    partition: number,
    record: PreparedRecord,
    memory?: Uint8Array,
  ): ProducerBatch | undefined {
    const isSticky = partition < 0;
    const target = isSticky ? queues.sticky.current(partitions) : partition;
    const queue = queues.partitions[target] ??= new PartitionQueue(queues.topic, target);
    let batch = queue.open;
    let before = batch === undefined ? 0 : batch.builder.size;
    if (batch !== undefined && this.#add(batch, record)) {
      if (memory !== undefined) this.#options.pool.release(memory);
    } else {
      if (batch !== undefined) this.#close(queue);
      const buffer = memory ?? this.#options.pool.tryTake(this.memoryFor(record));
      if (buffer === undefined) return undefined;
      batch = this.#open(queues, queue, buffer);
      this.#add(batch, record);
      before = 0;
    }
    const { isFull, size } = batch.builder;
    if (isSticky) queues.sticky.appended(partitions, size - before, isFull);
    if (isFull) this.#close(queue);
    else if (before === 0) this.#options.onBatch(false);
    return batch;
  }

  /** Bytes of memory for a batch that begins with `record`. */
  memoryFor({ bound }: PreparedRecord): number {
    return Math.max(this.#options.bufferSize, bound);
  }

  /** Whether the open batch of a partition has room for a record that takes `bound` bytes at most. */
  hasRoom(topic: string, partition: number, bound: number): boolean {
    const open = this.#topics.get(topic)?.partitions[partition]?.open;
    return open !== undefined && open.builder.fits(bound - RECORD_BATCH_OVERHEAD);
  }

  /** The queue a batch belongs to. */
  queueOf(batch: ProducerBatch): PartitionQueue {
    return this.#topics.get(batch.topic)!.partitions[batch.partition]!;
  }

  /** Learns from a compressed batch how well its topic compresses: quick to expect worse, slow to expect better, as Java does. */
  observeRatio(topic: string, ratio: number): void {
    const queues = this.#topics.get(topic)!;
    const expected = queues.compressionRatio;
    queues.compressionRatio = ratio > expected ? Math.max(expected + 0.05, ratio) : Math.max(expected - 0.005, ratio);
  }

  /** Takes the first waiting batch out of `queue`, which then stands last in line. */
  take(queue: PartitionQueue): ProducerBatch {
    const batch = queue.waiting.shift()!;
    if (queue.open === batch) queue.open = undefined;
    this.active.delete(queue);
    if (queue.waiting.size > 0) this.active.add(queue);
    return batch;
  }

  /** Puts a batch back to be sent again. */
  putBack(batch: ProducerBatch): void {
    const queue = this.queueOf(batch);
    queue.putBack(batch);
    this.active.add(queue);
  }

  /**
   * Puts smaller batches of the same records in the place of one that is too large for the broker. Whoever waits for the
   * whole waits for them; their memory is not the pool's.
   */
  replace(whole: ProducerBatch, builders: readonly RecordBatchBuilder[]): void {
    const queue = this.queueOf(whole);
    const parts = builders.map((builder) => {
      const part = new ProducerBatch(whole.topic, whole.partition, builder, NO_BYTES, whole.createdAt, 0);
      part.released = true;
      part.largestRecord = whole.largestRecord;
      this.incomplete.add(part);
      return part;
    });
    queue.replace(whole, parts);
    whole.handOver(parts);
    // Java: the topic compresses at least this badly, or the next batch would be too large again.
    this.#topics.get(whole.topic)!.compressionRatio = Math.max(1, whole.builder.compressionRatio);
    const waiters = this.#settledWaiters.get(whole);
    if (waiters !== undefined) {
      this.#settledWaiters.delete(whole);
      let left = parts.length;
      const settled = () => {
        if (--left === 0) { for (const run of waiters) run(); }
      };
      for (const part of parts) this.#settledWaiters.set(part, [settled]);
    }
    this.incomplete.delete(whole);
    this.release(whole);
  }

  /** Takes a batch out of its queue wherever it stands. */
  remove(batch: ProducerBatch): void {
    const queue = this.queueOf(batch);
    if (queue.open === batch) queue.open = undefined;
    queue.remove(batch);
    if (queue.waiting.size === 0) this.active.delete(queue);
  }

  /** Takes note that a batch is settled. */
  settled(batch: ProducerBatch): void {
    this.incomplete.delete(batch);
    for (const run of this.#settledWaiters.get(batch) ?? []) run();
    this.#settledWaiters.delete(batch);
  }

  /** Gives a batch's memory back, once. */
  release(batch: ProducerBatch): void {
    if (batch.released) return;
    batch.released = true;
    this.#options.pool.release(batch.buffer);
  }

  /** Resolves when every batch that is incomplete now is settled. */
  async whenSettled(): Promise<void> {
    await Promise.all([...this.incomplete].map((batch) =>
      new Promise<void>((resolve) => {
        const waiters = this.#settledWaiters.get(batch);
        if (waiters === undefined) this.#settledWaiters.set(batch, [resolve]);
        else waiters.push(resolve);
      })
    ));
  }

  #add(batch: ProducerBatch, { timestamp, key, value, headers, keySize, valueSize, bound }: PreparedRecord): boolean {
    if (!batch.builder.append(timestamp, key, value, headers, keySize, valueSize)) return false;
    if (bound > batch.largestRecord) batch.largestRecord = bound;
    return true;
  }

  #open({ compressionRatio }: TopicQueues, queue: PartitionQueue, buffer: Uint8Array): ProducerBatch {
    const { batchSize, clock } = this.#options;
    // The first record always has room, so that one larger than a batch is a full batch by itself.
    const builder = new RecordBatchBuilder(buffer, { limit: batchSize, compressionRatio });
    const batch = new ProducerBatch(queue.topic, queue.partition, builder, buffer, clock.now(), queue.takeOrdinal());
    queue.open = batch;
    queue.waiting.push(batch);
    this.active.add(queue);
    this.incomplete.add(batch);
    return batch;
  }

  #close(queue: PartitionQueue): void {
    queue.open = undefined;
    this.#options.onBatch(true);
  }
}
