/**
 * One fetched batch as a consumer hands it out.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { Batch } from "../records/batch.ts";
import type { Record } from "../records/record.ts";
import type { PartitionState } from "./partition_state.ts";

/** Records that were stored together, of one partition. */
export class ConsumerBatch {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** First offset of the part of the batch that was asked for. */
  readonly baseOffset: number;
  /** Last offset of the part of the batch that was asked for; reading goes on after it. */
  readonly lastOffset: number;
  /** First offset of the partition that was not replicated yet when this was fetched. */
  readonly highWatermark: number;
  readonly #batch: Batch;
  readonly #codecs: Codecs;
  #records: readonly Record[] | undefined;

  /** The part of `batch` from offset `first` on, up to where reading its partition ends. */
  constructor(state: PartitionState, batch: Batch, first: number, highWatermark: number, codecs: Codecs) {
    this.topic = state.topic;
    this.partition = state.partition;
    this.baseOffset = Math.max(batch.baseOffset, first);
    this.lastOffset = Math.min(batch.lastOffset, state.end - 1);
    this.highWatermark = highWatermark;
    this.#batch = batch;
    this.#codecs = codecs;
  }

  /**
   * Its records, decoded at the first call: views of the fetched bytes, which stay in memory as long as a record does.
   *
   * @throws CorruptRecordError, CompressionError naming topic, partition and offset.
   */
  records(): readonly Record[] {
    return this.#records ??= this.#decode();
  }

  #decode(): Record[] {
    const batch = this.#batch;
    const records = batch.records({ codecs: this.#codecs });
    const { baseOffset, lastOffset } = this;
    // Brokers answer with whole batches: the first may begin before what was asked for, the last end after it.
    if (batch.baseOffset >= baseOffset && batch.lastOffset <= lastOffset) return records;
    return records.filter(({ offset }) => offset >= baseOffset && offset <= lastOffset);
  }
}
