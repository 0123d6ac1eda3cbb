/**
 * The producers of an open log: loaded when they are first asked for, and kept up to date from then on.
 *
 * @module
 */

import { CorruptRecordError } from "../core/kafka_error.ts";
import type { Batch } from "../records/batch.ts";
import { type LoadedProducers, loadProducerStates, type ProducerSource, replayBatch } from "./load_producer_states.ts";
import type { LogSegment } from "./log_segment.ts";
import type { ProducerStates } from "./producer_states.ts";
import type { CollectedTransactions } from "./transaction_index.ts";

/** The producers of one log. */
export class LogProducers {
  /** Base offsets of segments without any index file. */
  readonly #bareSegments: ReadonlySet<number>;
  #loading: Promise<LoadedProducers> | undefined;
  #states: ProducerStates | undefined;

  /** `bareSegments` have no transaction index: which transactions were aborted in them is told by their batches. */
  constructor(bareSegments: ReadonlySet<number>) {
    this.#bareSegments = bareSegments;
  }

  /** The producers at the end of the log, once {@linkcode load} has resolved. */
  get states(): ProducerStates | undefined {
    return this.#states;
  }

  /**
   * Loads the producers, once.
   *
   * @param source Asked when it is `ready`, which waits for appends under way.
   */
  load(source: () => Omit<ProducerSource, "fromStart">, ready: Promise<unknown>): Promise<ProducerStates> {
    if (this.#loading === undefined) {
      this.#loading = ready.then(() => loadProducerStates({ ...source(), fromStart: this.#bareSegments.size > 0 }));
      this.#loading.then(({ states }) => this.#states = states, () => this.#loading = undefined); // to be tried again
    }
    return this.#loading.then(({ states }) => states);
  }

  /** Takes note of batches that were appended, and that all is replicated up to `highWatermark`. */
  appended(batches: readonly Batch[], highWatermark: number): void {
    const states = this.#states;
    if (states === undefined) return;
    for (const batch of batches) {
      try {
        replayBatch(states, batch);
      } catch (error) {
        // It is stored. As when the log is loaded, a marker that cannot be read ends nothing.
        if (!(error instanceof CorruptRecordError)) throw error;
      }
    }
    states.raiseHighWatermark(highWatermark);
  }

  /** The aborted transactions that ended in `segment` and overlap `[fetchOffset, upperBound)`. */
  async collectAborted(segment: LogSegment, fetchOffset: number, upperBound: number): Promise<CollectedTransactions> {
    if (!this.#bareSegments.has(segment.baseOffset)) {
      return (await segment.transactionIndex()).collect(fetchOffset, upperBound);
    }
    const completed = (await this.#loading)?.completed ?? [];
    // Those of all segments at once.
    const transactions = completed.filter(({ isAborted, firstOffset, lastOffset }) =>
      isAborted && lastOffset >= fetchOffset && firstOffset < upperBound
    ).map(({ producerId, firstOffset, lastOffset, lastStableOffset }) => {
      return { version: 0, producerId, firstOffset, lastOffset, lastStableOffset };
    });
    return { transactions, isComplete: true };
  }
}
