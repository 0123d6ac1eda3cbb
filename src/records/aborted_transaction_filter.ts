/**
 * Which batches a reader of committed records leaves out.
 *
 * @module
 */

import type { Batch } from "./batch.ts";
import { controlRecordOf } from "./control_record.ts";

/** A transaction that was aborted. */
export interface AbortedTransaction {
  /** Id of its producer. */
  readonly producerId: number;
  /** Its first offset, which may lie before what is read. */
  readonly firstOffset: number;
}

/** Tells the batches of aborted transactions, batch after batch in order of offsets. */
export class AbortedTransactionFilter {
  /** Those that begin further on, the last first. */
  readonly #ahead: AbortedTransaction[];
  /** Producers whose current transaction was aborted. */
  readonly #producers = new Set<number>();

  /** Filters by a list that may be in any order, and name a transaction more than once. */
  constructor(aborted: readonly AbortedTransaction[]) {
    this.#ahead = aborted.slice().sort((a, b) => b.firstOffset - a.firstOffset);
  }

  /** Whether `batch` belongs to an aborted transaction. Control batches do not; their records are not for applications. */
  isAborted(batch: Batch): boolean {
    const { producerId, lastOffset } = batch;
    if (producerId < 0) return false;
    for (let next = this.#ahead.at(-1); next !== undefined && next.firstOffset <= lastOffset;) {
      this.#producers.add(next.producerId);
      this.#ahead.pop();
      next = this.#ahead.at(-1);
    }
    if (!batch.isControl) return batch.isTransactional && this.#producers.has(producerId);
    if (this.#producers.has(producerId) && isAbortMarker(batch)) this.#producers.delete(producerId);
    return false;
  }
}

/** Compaction may have emptied a control batch, and then the data of its transaction is gone as well. */
function isAbortMarker(batch: Batch): boolean {
  const marker = batch.records().at(0);
  return marker !== undefined && controlRecordOf(marker).type === "ABORT";
}
