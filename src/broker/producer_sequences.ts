/**
 * What a partition remembers of each idempotent producer: its epoch and its last five batches. That is how a batch that is
 * sent again is told from one that was lost on the way.
 *
 * @module
 */

import type { RecordBatch } from "../records/record_batch.ts";

interface AppendedBatch {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly baseOffset: number;
  readonly timestamp: number;
}

interface ProducerEntry {
  epoch: number;
  readonly batches: AppendedBatch[];
}

/** Batches remembered for each producer: Kafka's number, and why a producer may have five in flight. */
const REMEMBERED = 5;
const SEQUENCE_MODULUS = 2 ** 31;

/** What to do with a batch: append it, answer what was answered before, or refuse it. */
export type SequenceVerdict =
  | { readonly kind: "append" }
  | { readonly kind: "duplicate"; readonly baseOffset: number; readonly timestamp: number }
  | { readonly kind: "refuse"; readonly error: string; readonly message: string };

const APPEND: SequenceVerdict = { kind: "append" };

/** The producers of one partition. */
export class ProducerSequences {
  readonly #producers = new Map<number, ProducerEntry>();

  /** Judges a batch before it is appended. */
  check(batch: RecordBatch): SequenceVerdict {
    const { producerId, producerEpoch, baseSequence } = batch;
    if (producerId < 0) return APPEND;
    if (baseSequence < 0 || producerEpoch < 0) {
      return refuse("INVALID_RECORD", `producer ${producerId} sent epoch ${producerEpoch}, sequence ${baseSequence}`);
    }
    const entry = this.#producers.get(producerId);
    // A producer that is not known may go on where it was: its batches may have been lost with their log (KIP-360).
    if (entry === undefined) return APPEND;
    if (producerEpoch < entry.epoch) {
      return refuse(
        "INVALID_PRODUCER_EPOCH",
        `producer ${producerId} has epoch ${producerEpoch}, epoch ${entry.epoch} was seen`,
      );
    }
    if (producerEpoch > entry.epoch) {
      if (baseSequence === 0) return APPEND;
      return refuse(
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        `producer ${producerId} starts epoch ${producerEpoch} at sequence ${baseSequence}, not 0`,
      );
    }
    for (const known of entry.batches) {
      if (known.firstSequence === baseSequence && known.lastSequence === batch.lastSequence) {
        return { kind: "duplicate", baseOffset: known.baseOffset, timestamp: known.timestamp };
      }
    }
    const expected = (entry.batches[entry.batches.length - 1]!.lastSequence + 1) % SEQUENCE_MODULUS;
    if (baseSequence === expected) return APPEND;
    return refuse(
      "OUT_OF_ORDER_SEQUENCE_NUMBER",
      `producer ${producerId} epoch ${producerEpoch} sent sequence ${baseSequence} where ${expected} was due`,
    );
  }

  /** Notes a batch that was appended at `baseOffset`; `timestamp` is the append time answered, −1 for none. */
  appended(batch: RecordBatch, baseOffset: number, timestamp: number): void {
    const { producerId, producerEpoch } = batch;
    if (producerId < 0) return;
    let entry = this.#producers.get(producerId);
    if (entry === undefined || entry.epoch !== producerEpoch) {
      entry = { epoch: producerEpoch, batches: [] };
      this.#producers.set(producerId, entry);
    }
    const { baseSequence: firstSequence, lastSequence } = batch;
    entry.batches.push({ firstSequence, lastSequence, baseOffset, timestamp });
    if (entry.batches.length > REMEMBERED) entry.batches.shift();
  }
}

function refuse(error: string, message: string): SequenceVerdict {
  return { kind: "refuse", error, message };
}
