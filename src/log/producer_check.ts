/**
 * Replays the producers of a log as it is walked, and compares the snapshots that lie in its folder.
 *
 * A snapshot may know less than the log (producers that expired, and old ones after an unclean start) and more (producers
 * whose batches were deleted). What it says of a producer whose last batch the log still has must agree.
 *
 * @module
 */

import { KafkaError, StorageError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { RECORD_BATCH_ATTRIBUTES, RECORD_BATCH_FIELDS as F } from "../records/record_batch.ts";
import { controlRecordOf } from "../records/control_record.ts";
import { type Anomaly, damage } from "./anomaly.ts";
import {
  PRODUCER_SNAPSHOT_ENTRY_BYTES,
  PRODUCER_SNAPSHOT_HEADER_BYTES,
  type ProducerSnapshot,
  readProducerSnapshot,
} from "./producer_snapshot.ts";
import {
  type CompletedTransaction,
  ProducerStates,
  type ReplayedBatch,
  type ReplayedMarker,
} from "./producer_states.ts";
import { batchView, type WalkedBatch } from "./segment_walk.ts";
import type { Storage } from "./storage.ts";

/** Producers beyond which nothing is replayed, so that memory stays bounded: about 30 MB. */
const MAX_PRODUCERS = 100_000;

/** A snapshot's file. */
export interface SnapshotFile {
  /** Its name. */
  readonly name: string;
  /** The offset up to which it tells. */
  readonly offset: number;
}

/** An abort that was replayed. */
export interface ReplayedAbort {
  /** The producer whose transaction was aborted. */
  readonly producerId: number;
  /** The transaction; undefined when none of its records is in the log. */
  readonly completed: CompletedTransaction | undefined;
}

/** The check of the producers of one log. */
export class ProducerCheck {
  readonly #storage: Storage;
  readonly #crc32c: Crc32c;
  readonly #snapshots: SnapshotFile[];
  #states = new ProducerStates(0);
  readonly #seen = new Set<number>();
  #isPartial = false;
  readonly #found: Anomaly[] = [];

  /** Will compare `snapshots`, in order of their offsets, with what is replayed. */
  constructor(storage: Storage, snapshots: readonly SnapshotFile[], crc32c: Crc32c) {
    this.#storage = storage;
    this.#crc32c = crc32c;
    this.#snapshots = [...snapshots];
  }

  /** Transactions that are open now. */
  get ongoing(): readonly { readonly producerId: number; readonly firstOffset: number }[] {
    return this.#states.ongoing;
  }

  /** Whether a snapshot tells up to `offset` or before. */
  isDue(offset: number): boolean {
    const next = this.#snapshots[0];
    return next !== undefined && next.offset <= offset;
  }

  /** Compares the snapshots up to `offset`, before the batch there is replayed; `isDense` when nothing was compacted. */
  async compareUpTo(offset: number, isDense: boolean): Promise<void> {
    while (this.isDue(offset)) await this.#compare(this.#snapshots.shift()!, isDense);
  }

  /** Replays a batch; answers what the abort in it ended, if it is one. */
  replay(walked: WalkedBatch): ReplayedAbort | undefined {
    const batch = replayedBatch(walked);
    if (batch === undefined) return undefined;
    this.#seen.add(batch.producerId);
    if (this.#seen.size > MAX_PRODUCERS) {
      this.#seen.clear();
      this.#states = new ProducerStates(0);
      this.#isPartial = true;
    }
    if (!batch.isControl) {
      this.#states.replay(batch);
      return undefined;
    }
    const marker = markerOf(walked);
    const completed = this.#states.replayMarker(batch, marker);
    return marker?.type === "ABORT" ? { producerId: batch.producerId, completed } : undefined;
  }

  /** Takes note of damaged bytes: from here on the replay is not complete. */
  skip(): void {
    this.#isPartial = true;
  }

  /** Compares what is left; `endOffset` is the log's end. Answers all that was found. */
  async end(endOffset: number, isDense: boolean): Promise<Anomaly[]> {
    await this.compareUpTo(endOffset, isDense);
    for (const { name, offset } of this.#snapshots.splice(0)) {
      await this.#read(name);
      this.#found.push(damage(
        "stray-snapshot",
        name,
        `it tells of the producers up to offset ${offset}, and the log ends at ${endOffset}: the end of the log was lost. ` +
          `A broker deletes the file.`,
        { offset },
      ));
    }
    return this.#found;
  }

  async #compare({ name, offset }: SnapshotFile, isDense: boolean): Promise<void> {
    const snapshot = await this.#read(name);
    if (snapshot === undefined || this.#isPartial) return;
    let wrong = 0;
    let first: Anomaly | undefined;
    for (const [n, entry] of snapshot.entries.entries()) {
      const state = this.#states.get(entry.producerId);
      // Compaction keeps the last batch of a producer, which later on need not be the one of then.
      if (state === undefined || (!isDense && state.lastOffset <= entry.lastOffset)) continue;
      const differences = ([
        ["epoch", entry.epoch, state.epoch],
        ["last sequence", entry.lastSequence, state.lastSequence],
        ["last offset", entry.lastOffset, state.lastOffset],
        ["first offset of an open transaction", entry.currentTxnFirstOffset, state.currentTxnFirstOffset],
      ] as const).filter(([, says, is]) => says !== is);
      if (differences.length === 0 || wrong++ > 0) continue;
      const [what, says, is] = differences[0]!;
      first = damage(
        "snapshot-content",
        name,
        `it says of producer ${entry.producerId} that its ${what} is ${says}; by the log up to offset ${offset} it is ${is}`,
        { position: PRODUCER_SNAPSHOT_HEADER_BYTES + n * PRODUCER_SNAPSHOT_ENTRY_BYTES, offset },
      );
    }
    if (first === undefined) return;
    const more = wrong === 1 ? "" : `, and ${wrong - 1} more producers differ`;
    this.#found.push({
      ...first,
      message:
        `${first.message}${more}. A broker that begins with it takes duplicates for new records, refuses right ones, ` +
        `or tells readers of committed records a wrong end. Without the file it reads the log instead.`,
    });
  }

  async #read(name: string): Promise<ProducerSnapshot | undefined> {
    try {
      return await readProducerSnapshot(this.#storage, name, this.#crc32c);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.#found.push(damage("corrupt-snapshot", name, error.message));
      return undefined;
    }
  }
}

/** What a batch tells of its producer; undefined when it has none. */
export function replayedBatch(batch: WalkedBatch): (ReplayedBatch & { readonly isControl: boolean }) | undefined {
  if (batch.magic !== 2) return undefined;
  const { baseOffset, bytes, lastOffset, maxTimestamp } = batch;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const producerId = view.getInt32(F.producerId) * 4294967296 + view.getUint32(F.producerId + 4);
  if (producerId < 0 || !Number.isSafeInteger(producerId)) return undefined;
  const attributes = view.getInt16(F.attributes);
  const baseSequence = view.getInt32(F.baseSequence);
  return {
    baseOffset,
    lastOffset,
    maxTimestamp,
    producerId,
    producerEpoch: view.getInt16(F.producerEpoch),
    baseSequence,
    lastSequence: baseSequence < 0 ? -1 : (baseSequence + view.getInt32(F.lastOffsetDelta)) % 0x80000000,
    isTransactional: (attributes & RECORD_BATCH_ATTRIBUTES.transactional) !== 0,
    isControl: (attributes & RECORD_BATCH_ATTRIBUTES.control) !== 0,
  };
}

/** The marker in a control batch; undefined when compaction emptied it, or it is damaged. */
export function markerOf(batch: WalkedBatch): ReplayedMarker | undefined {
  try {
    const record = batchView(batch).records()[0];
    if (record === undefined) return undefined;
    const { type, coordinatorEpoch } = controlRecordOf(record);
    return { type, coordinatorEpoch, timestamp: record.timestamp };
  } catch (error) {
    if (error instanceof KafkaError) return undefined;
    throw error;
  }
}
