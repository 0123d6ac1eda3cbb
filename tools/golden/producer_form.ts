import type { ProducerSnapshotEntry } from "../../src/log/producer_snapshot.ts";
import type { View } from "./differences.ts";

/** What is kept of a producer, in a snapshot or in memory. */
export interface Producer extends ProducerSnapshotEntry {
  /** Its last batches, where more than the very last one may be known. */
  readonly batches?: readonly ProducerBatch[];
}

/** A batch of a producer. */
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

/** A producer in the form of `expected.json`. */
export function producerForm(producer: Producer): View {
  const { producerId, epoch, timestamp, coordinatorEpoch, currentTxnFirstOffset } = producer;
  const { batches = lastBatch(producer) } = producer;
  return {
    producerId,
    producerEpoch: epoch,
    coordinatorEpoch,
    lastTimestamp: timestamp,
    currentTxnFirstOffset: currentTxnFirstOffset < 0 ? null : currentTxnFirstOffset,
    batches: batches.map(({ firstSequence, lastSequence, firstOffset, lastOffset, timestamp }) => {
      return { firstSequence, lastSequence, firstOffset, lastOffset, offsetDelta: lastOffset - firstOffset, timestamp };
    }),
  };
}

/** The one batch that a snapshot keeps, if it does: sequences go on at 0 after 2^31−1. */
function lastBatch({ lastOffset, lastSequence, offsetDelta, timestamp }: Producer): ProducerBatch[] {
  if (lastOffset < 0) return [];
  const firstSequence = lastSequence < 0 ? lastSequence : (lastSequence - offsetDelta + 0x80000000) % 0x80000000;
  return [{ firstSequence, lastSequence, firstOffset: lastOffset - offsetDelta, lastOffset, timestamp }];
}
