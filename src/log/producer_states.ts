/**
 * What a log knows of its producers: who wrote last with which epoch and sequence, and which transactions are open. The
 * last stable offset follows from it, and so does which transactions were aborted.
 *
 * It is a replay: batches go in as a follower takes them, in order and without being questioned.
 *
 * @module
 */

import type { AbortedTransaction } from "../records/aborted_transaction_filter.ts";
import type { ProducerSnapshotEntry } from "./producer_snapshot.ts";

/** Batches that are remembered of one producer, to tell a batch sent again from a new one. */
const REMEMBERED_BATCHES = 5;

/** A batch of a producer that is remembered. */
export interface ProducerBatch {
  /** Sequence of its first record. */
  readonly firstSequence: number;
  /** Sequence of its last record. */
  readonly lastSequence: number;
  /** Offset of its first record. */
  readonly firstOffset: number;
  /** Offset of its last record. */
  readonly lastOffset: number;
  /** Greatest timestamp in it. */
  readonly timestamp: number;
}

/** One producer: the fields of a snapshot, and its last batches. */
export interface ProducerState extends ProducerSnapshotEntry {
  /** Its last batches in its epoch, oldest first, five at most; of a snapshot only the last one is known. */
  readonly batches: readonly ProducerBatch[];
}

/** What a batch tells that is replayed. Both a header that was scanned and a whole batch do. */
export interface ReplayedBatch {
  /** Offset of its first record. */
  readonly baseOffset: number;
  /** Offset of its last record. */
  readonly lastOffset: number;
  /** Greatest timestamp in it. */
  readonly maxTimestamp: number;
  /** Producer id; −1 for none. */
  readonly producerId: number;
  /** Producer epoch. */
  readonly producerEpoch: number;
  /** Sequence of its first record. */
  readonly baseSequence: number;
  /** Sequence of its last record. */
  readonly lastSequence: number;
  /** Whether it belongs to a transaction. */
  readonly isTransactional: boolean;
}

/** What is read of a marker to replay it. */
export interface ReplayedMarker {
  /** Kind of the control record; only `"ABORT"` and `"COMMIT"` end a transaction. */
  readonly type: string;
  /** Epoch of the transaction coordinator that wrote it. */
  readonly coordinatorEpoch: number;
  /** Timestamp of the record. */
  readonly timestamp: number;
}

/** A transaction that a marker has ended. */
export interface CompletedTransaction extends AbortedTransaction {
  /** Offset of the marker. */
  readonly lastOffset: number;
  /** Whether it was aborted. */
  readonly isAborted: boolean;
  /** First offset of the oldest transaction of another producer that was open then; else the offset after the marker. */
  readonly lastStableOffset: number;
}

interface MutableState {
  epoch: number;
  coordinatorEpoch: number;
  timestamp: number;
  currentTxnFirstOffset: number;
  batches: ProducerBatch[];
}

/** The producers of one log up to {@linkcode ProducerStates.endOffset}. */
export class ProducerStates {
  readonly #producers = new Map<number, MutableState>();
  /** First offsets of the open transactions, ascending, and their producers. */
  readonly #open = new Map<number, number>();
  /** Transactions whose marker is not replicated: readers of committed records stop before them as well. */
  #unreplicated: CompletedTransaction[] = [];
  #endOffset: number;
  #highWatermark: number;

  /**
   * Begins with what a snapshot says, or with nothing.
   *
   * @param endOffset The offset up to which the entries tell.
   * @param highWatermark First offset that is not replicated; Infinity when all counts as replicated.
   */
  constructor(endOffset: number, entries: Iterable<ProducerSnapshotEntry> = [], highWatermark: number = Infinity) {
    this.#endOffset = endOffset;
    this.#highWatermark = highWatermark;
    const open: [firstOffset: number, producerId: number][] = [];
    for (const entry of entries) {
      const { producerId, epoch, coordinatorEpoch, timestamp, currentTxnFirstOffset } = entry;
      const batches = entry.lastOffset < 0 ? [] : [batchOf(entry)];
      this.#producers.set(producerId, { epoch, coordinatorEpoch, timestamp, currentTxnFirstOffset, batches });
      if (currentTxnFirstOffset >= 0) open.push([currentTxnFirstOffset, producerId]);
    }
    for (const [firstOffset, producerId] of open.sort(([a], [b]) => a - b)) this.#open.set(firstOffset, producerId);
  }

  /** The offset up to which batches were replayed. */
  get endOffset(): number {
    return this.#endOffset;
  }

  /** Every producer that is remembered, in the order in which they were first seen. */
  get active(): ProducerState[] {
    return [...this.#producers].map(([producerId, state]) => stateOf(producerId, state));
  }

  /** One producer; undefined when nothing is remembered of it. */
  get(producerId: number): ProducerState | undefined {
    const state = this.#producers.get(producerId);
    return state === undefined ? undefined : stateOf(producerId, state);
  }

  /** Transactions without a marker yet, the oldest first. */
  get ongoing(): AbortedTransaction[] {
    return [...this.#open].map(([firstOffset, producerId]) => ({ producerId, firstOffset }));
  }

  /** First offset of a transaction that is open, or whose marker is not replicated; undefined when there is none. */
  get firstUnstableOffset(): number | undefined {
    let first: number | undefined = this.#open.keys().next().value;
    for (const { firstOffset } of this.#unreplicated) {
      if (first === undefined || firstOffset < first) first = firstOffset;
    }
    return first;
  }

  /** Takes note that all below `offset` is replicated. */
  raiseHighWatermark(offset: number): void {
    this.#highWatermark = offset;
    this.#unreplicated = this.#unreplicated.filter((transaction) => transaction.lastOffset >= offset);
  }

  /**
   * Replays a batch of an application's records. Batches without a producer only move the end.
   *
   * A batch outside of a transaction while one is open is odd, since no broker takes it from its producer: the answer is
   * then false, and the transaction stays open.
   */
  replay(batch: ReplayedBatch): boolean {
    this.#endOffset = Math.max(this.#endOffset, batch.lastOffset + 1);
    const { producerId } = batch;
    if (producerId < 0) return true;
    const state = this.#stateOf(producerId, batch.producerEpoch);
    state.timestamp = batch.maxTimestamp;
    if (state.batches.length === REMEMBERED_BATCHES) state.batches.shift();
    state.batches.push({
      firstSequence: batch.baseSequence,
      lastSequence: batch.lastSequence,
      firstOffset: batch.baseOffset,
      lastOffset: batch.lastOffset,
      timestamp: batch.maxTimestamp,
    });
    if (!batch.isTransactional) return state.currentTxnFirstOffset < 0;
    if (state.currentTxnFirstOffset < 0) {
      state.currentTxnFirstOffset = batch.baseOffset;
      this.#open.set(batch.baseOffset, producerId);
    }
    return true;
  }

  /**
   * Replays a marker; `marker` is absent for a control batch that compaction has emptied, which has no effect. Answers the
   * transaction it ended: a producer that had none open is only fenced by it.
   */
  replayMarker(batch: ReplayedBatch, marker: ReplayedMarker | undefined): CompletedTransaction | undefined {
    this.#endOffset = Math.max(this.#endOffset, batch.lastOffset + 1);
    const { producerId } = batch;
    if (producerId < 0 || marker === undefined) return undefined;
    if (marker.type !== "ABORT" && marker.type !== "COMMIT") return undefined;
    const state = this.#stateOf(producerId, batch.producerEpoch);
    state.coordinatorEpoch = marker.coordinatorEpoch;
    state.timestamp = marker.timestamp;
    const firstOffset = state.currentTxnFirstOffset;
    if (firstOffset < 0) return undefined;
    state.currentTxnFirstOffset = -1;
    this.#open.delete(firstOffset);
    const lastOffset = batch.baseOffset;
    const completed: CompletedTransaction = {
      producerId,
      firstOffset,
      lastOffset,
      isAborted: marker.type === "ABORT",
      lastStableOffset: this.#open.keys().next().value ?? lastOffset + 1,
    };
    if (lastOffset >= this.#highWatermark) this.#unreplicated.push(completed);
    return completed;
  }

  /** The producer's state, in `epoch`: another one than before begins without batches. */
  #stateOf(producerId: number, epoch: number): MutableState {
    let state = this.#producers.get(producerId);
    if (state === undefined) {
      state = { epoch, coordinatorEpoch: -1, timestamp: -1, currentTxnFirstOffset: -1, batches: [] };
      this.#producers.set(producerId, state);
    } else if (state.epoch !== epoch) {
      state.epoch = epoch;
      state.batches = [];
    }
    return state;
  }
}

function stateOf(producerId: number, state: MutableState): ProducerState {
  const last = state.batches.at(-1);
  return {
    producerId,
    epoch: state.epoch,
    lastSequence: last?.lastSequence ?? -1,
    lastOffset: last?.lastOffset ?? -1,
    offsetDelta: last === undefined ? 0 : last.lastOffset - last.firstOffset,
    timestamp: state.timestamp,
    coordinatorEpoch: state.coordinatorEpoch,
    currentTxnFirstOffset: state.currentTxnFirstOffset,
    batches: [...state.batches],
  };
}

/** The last batch, as a snapshot tells it; sequences go on at 0 after 2^31−1. */
function batchOf({ lastSequence, lastOffset, offsetDelta, timestamp }: ProducerSnapshotEntry): ProducerBatch {
  const first = lastSequence - offsetDelta;
  return {
    firstSequence: first < 0 ? first + 0x80000000 : first,
    lastSequence,
    firstOffset: lastOffset - offsetDelta,
    lastOffset,
    timestamp,
  };
}
