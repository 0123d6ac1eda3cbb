/**
 * What one fetch answer holds of one partition, walked batch by batch: checksums are checked, control batches and those of
 * aborted transactions skipped, at the time when a batch is taken.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { CorruptRecordError, KafkaError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { type AbortedTransaction, AbortedTransactionFilter } from "../records/aborted_transaction_filter.ts";
import type { Batch } from "../records/batch.ts";
import { RecordBatches } from "../records/record_batches.ts";
import { ConsumerBatch } from "./consumer_batch.ts";
import type { PartitionState } from "./partition_state.ts";

/** How batches are checked and decoded. */
export interface Decoding {
  /** Inflates compressed ones. */
  readonly codecs: Codecs;
  /** The checksum. */
  readonly crc32c: Crc32c;
  /** Whether it is checked. */
  readonly checkCrcs: boolean;
}

/** What an answer holds of a partition. */
export interface FetchedData {
  /** The batches; the last may be cut. */
  readonly bytes: Uint8Array;
  /** First offset not replicated yet. */
  readonly highWatermark: number;
  /** Transactions to hide; null to show all. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
}

/** Fetched batches of one partition on their way to the caller. */
export class FetchedPartition {
  /** The partition. */
  readonly state: PartitionState;
  /** Bytes it holds. */
  readonly size: number;
  /** Offset after its last whole batch: where the next fetch begins. */
  readonly nextOffset: number;
  readonly #batches: readonly Batch[];
  readonly #decoding: Decoding;
  readonly #highWatermark: number;
  readonly #first: number;
  readonly #filter: AbortedTransactionFilter | undefined;
  readonly #failure: KafkaError | undefined;
  #index = 0;

  /** Walks the headers in `data`, which was fetched for `state`; damage is told when the walk comes to it. */
  constructor(state: PartitionState, data: FetchedData, decoding: Decoding) {
    this.state = state;
    this.size = data.bytes.length;
    this.#decoding = decoding;
    this.#highWatermark = data.highWatermark;
    this.#first = state.fetchOffset;
    if (data.abortedTransactions !== null) this.#filter = new AbortedTransactionFilter(data.abortedTransactions);
    const batches: Batch[] = [];
    let next = state.fetchOffset;
    try {
      for (const batch of new RecordBatches(data.bytes, { topic: state.topic, partition: state.partition })) {
        next = Math.max(next, batch.lastOffset + 1);
        batches.push(batch);
      }
      // An answer that brings nothing new would be asked for again and again.
      if (next === state.fetchOffset) this.#failure = this.#fruitless(batches.length);
    } catch (cause) {
      if (!(cause instanceof KafkaError)) throw cause;
      this.#failure = this.#damaged(cause, next);
    }
    this.#batches = batches;
    this.nextOffset = next;
  }

  /** Whether the walk will end with an error. */
  get isDamaged(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * The next batch with records for the caller; undefined when there is none left. The partition's position moves along.
   *
   * @throws CorruptRecordError naming topic, partition and offset.
   */
  next(): ConsumerBatch | undefined {
    const { state } = this;
    while (this.#index < this.#batches.length) {
      const batch = this.#batches[this.#index++]!;
      const { lastOffset } = batch;
      if (lastOffset < this.#first) continue;
      if (batch.baseOffset >= state.end) break;
      if (this.#decoding.checkCrcs) batch.verifyCrc(this.#decoding.crc32c);
      const hidden = this.#filter?.isAborted(batch) ?? false;
      state.position = Math.min(lastOffset + 1, state.end);
      if (hidden || batch.isControl) continue;
      return new ConsumerBatch(state, batch, this.#first, this.#highWatermark, this.#decoding.codecs);
    }
    this.#index = this.#batches.length;
    if (this.#failure !== undefined && !state.isComplete) throw this.#failure;
    state.position = Math.max(state.position, Math.min(this.nextOffset, state.end));
    return undefined;
  }

  #fruitless(batches: number): KafkaError {
    const { topic, partition, fetchOffset, text } = this.state;
    const held = batches === 0 ? "not one whole batch" : `${batches} batches, all of them before it`;
    return new CorruptRecordError(
      `${text}: ${this.size} bytes fetched at offset ${fetchOffset} hold ${held}; the answer was cut or the log is damaged`,
      { topic, partition, offset: fetchOffset },
    );
  }

  #damaged(cause: KafkaError, offset: number): KafkaError {
    const { topic, partition, text } = this.state;
    return new CorruptRecordError(`${text}, fetched at offset ${offset}: ${cause.message}`, {
      code: cause.code,
      topic,
      partition,
      offset,
      cause,
    });
  }
}
