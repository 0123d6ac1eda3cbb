/**
 * Whether a batch is the next one of its producer, as a leader decides it: that is how a batch that is sent again is told
 * from one that was lost on the way.
 *
 * @module
 */

import type { ProducerBatch, ProducerState } from "../log/producer_states.ts";
import type { RecordBatch } from "../records/record_batch.ts";

const SEQUENCE_MODULUS = 2 ** 31;

/** What to do with a batch: append it, answer what was answered before, or refuse it. */
export type SequenceVerdict =
  | { readonly kind: "append" }
  | { readonly kind: "duplicate"; readonly batch: ProducerBatch }
  | { readonly kind: "refuse"; readonly error: string; readonly message: string };

const APPEND: SequenceVerdict = { kind: "append" };

/** Judges a batch of an idempotent producer by what is known of that producer before it. */
export function judgeSequence(known: ProducerState | undefined, batch: RecordBatch): SequenceVerdict {
  const { producerId, producerEpoch, baseSequence } = batch;
  if (baseSequence < 0 || producerEpoch < 0) {
    return refuse("INVALID_RECORD", `producer ${producerId} sent epoch ${producerEpoch}, sequence ${baseSequence}`);
  }
  // A producer that is not known may go on where it was: its batches may have been lost with their log (KIP-360).
  if (known === undefined) return APPEND;
  if (producerEpoch < known.epoch) {
    return refuse(
      "INVALID_PRODUCER_EPOCH",
      `producer ${producerId} has epoch ${producerEpoch}, epoch ${known.epoch} was seen`,
    );
  }
  if (producerEpoch > known.epoch) {
    if (baseSequence === 0) return APPEND;
    return refuse(
      "OUT_OF_ORDER_SEQUENCE_NUMBER",
      `producer ${producerId} starts epoch ${producerEpoch} at sequence ${baseSequence}, not 0`,
    );
  }
  const again = known.batches.find(({ firstSequence, lastSequence }) =>
    firstSequence === baseSequence && lastSequence === batch.lastSequence
  );
  if (again !== undefined) return { kind: "duplicate", batch: again };
  const expected = (known.lastSequence + 1) % SEQUENCE_MODULUS;
  if (baseSequence === expected) return APPEND;
  return refuse(
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    `producer ${producerId} epoch ${producerEpoch} sent sequence ${baseSequence} where ${expected} was due`,
  );
}

function refuse(error: string, message: string): SequenceVerdict {
  return { kind: "refuse", error, message };
}
