/**
 * What one partition has to send: batches that wait, in order, and batches that were sent and are not resolved. Only the
 * last waiting batch takes records. With idempotence it also holds the partition's place in the sequence of records that
 * the broker checks.
 *
 * @module
 */

import { Queue } from "../core/queue.ts";
import type { ProducerBatch } from "./producer_batch.ts";

const SEQUENCES = 2 ** 31;

/** `count` records further in the sequence, which goes from 2^31−1 on to 0. */
export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) % SEQUENCES;
}

/** The batches of one partition. */
export class PartitionQueue {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Not sent, or to be sent again; in order. */
  readonly waiting: Queue<ProducerBatch> = new Queue<ProducerBatch>();
  /** The batch that takes records: the last that waits, unless it is full. */
  open: ProducerBatch | undefined;
  /** Sent at least once under a sequence and not resolved, in order; retries stand in {@linkcode waiting} as well. */
  inFlight: ProducerBatch[] = [];
  /** Batches whose request is not answered. */
  onWire = 0;
  /** Producer id in use here; −1 before the first batch. */
  producerId = -1;
  /** Producer epoch in use here. */
  producerEpoch = -1;
  /** Sequence of the next new record. */
  nextSequence = 0;
  /** Last sequence that was acknowledged; −1 for none. */
  lastAckedSequence = -1;
  /** Last offset that was acknowledged; −1 for none known. */
  lastAckedOffset = -1;
  /** First sequence behind a batch of unknown fate; −1 when there is none. No new batch is sequenced meanwhile. */
  unresolvedSequence = -1;
  /** Whether the partition must start a new epoch before it goes on. */
  wantsEpoch = false;
  #nextOrdinal = 0;

  /** Starts empty. */
  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  /** The place of the next new batch. */
  takeOrdinal(): number {
    return this.#nextOrdinal++;
  }

  /** Puts a batch back among those that wait, where its place is: retries overtake nothing and are overtaken by nothing. */
  putBack(batch: ProducerBatch): void {
    const before: ProducerBatch[] = [];
    for (
      let head = this.waiting.peek();
      head !== undefined && head.ordinal < batch.ordinal;
      head = this.waiting.peek()
    ) {
      before.push(this.waiting.shift()!);
    }
    this.waiting.unshift(batch);
    for (const earlier of before.reverse()) this.waiting.unshift(earlier);
  }

  /**
   * Puts `parts` where `whole` stood, first in line, with its places in the sequence and in time. They are sent one after
   * the other: what the broker made of the whole says nothing about them.
   */
  replace(whole: ProducerBatch, parts: readonly ProducerBatch[]): void {
    this.remove(whole);
    const later = parts.length - 1;
    for (const batch of new Set([...this.waiting, ...this.inFlight])) {
      if (batch.ordinal > whole.ordinal) batch.ordinal += later;
    }
    this.#nextOrdinal += later;
    let sequence = whole.baseSequence;
    parts.forEach((part, i) => {
      part.ordinal = whole.ordinal + i;
      if (sequence < 0) return;
      part.producerId = whole.producerId;
      part.producerEpoch = whole.producerEpoch;
      part.baseSequence = sequence;
      part.renumbered = whole.renumbered;
      sequence = sequenceAfter(sequence, part.recordCount);
    });
    const at = this.inFlight.indexOf(whole);
    if (at >= 0) this.inFlight.splice(at, 1, ...parts);
    for (const part of parts) this.putBack(part);
  }

  /** Takes a batch out of those that wait. */
  remove(batch: ProducerBatch): void {
    const rest = [...this.waiting].filter((other) => other !== batch);
    this.waiting.clear();
    for (const other of rest) this.waiting.push(other);
  }

  /** Gives a batch its place in the sequence, under the producer id and epoch in use here. */
  assignSequence(batch: ProducerBatch): void {
    batch.producerId = this.producerId;
    batch.producerEpoch = this.producerEpoch;
    batch.baseSequence = this.nextSequence;
    this.nextSequence = sequenceAfter(this.nextSequence, batch.recordCount);
    this.inFlight.push(batch);
  }

  /** Starts the sequence anew under another producer id or epoch; what was sent and is not resolved is renumbered. */
  restart(producerId: number, producerEpoch: number): void {
    const renumber = this.inFlight;
    this.producerId = producerId;
    this.producerEpoch = producerEpoch;
    this.nextSequence = 0;
    this.lastAckedSequence = -1;
    this.unresolvedSequence = -1;
    this.wantsEpoch = false;
    this.inFlight = [];
    for (const batch of renumber) {
      batch.renumbered = true;
      this.assignSequence(batch);
    }
  }

  /** Takes note of an acknowledged batch. */
  acknowledged(batch: ProducerBatch, baseOffset: number): void {
    const last = sequenceAfter(batch.baseSequence, batch.recordCount - 1);
    // A later batch acknowledged first must not be taken back; within five batches no wrap can be as far as half the range.
    if (this.lastAckedSequence < 0 || sequenceAfter(last, SEQUENCES - this.lastAckedSequence) < SEQUENCES / 2) {
      this.lastAckedSequence = last;
    }
    if (baseOffset >= 0) this.lastAckedOffset = Math.max(this.lastAckedOffset, baseOffset + batch.recordCount - 1);
    this.resolved(batch);
  }

  /** Takes a batch out of those in flight. */
  resolved(batch: ProducerBatch): void {
    const index = this.inFlight.indexOf(batch);
    if (index >= 0) this.inFlight.splice(index, 1);
  }
}
