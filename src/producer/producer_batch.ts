/**
 * The records bound for one partition in one batch: their bytes, encoded as they came, and one promise each. A batch is
 * the unit of sending, retrying and sequencing; it is settled once.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import type { RecordBatchBuilder } from "../records/record_batch_builder.ts";
import { RecordMetadata } from "./record_metadata.ts";

/** Told that a record was stored; `index` is its number in a group that was sent together, −1 for a record of its own. */
export type Resolve = (metadata: RecordMetadata, index: number) => void;
/** Told that a record failed. */
export type Reject = (error: KafkaError, index: number) => void;

/** A batch on its way. */
export class ProducerBatch {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** The encoder over {@linkcode buffer}. */
  readonly builder: RecordBatchBuilder;
  /** Memory from the pool. */
  readonly buffer: Uint8Array;
  /** When the first record came; the delivery time-out counts from here. */
  readonly createdAt: number;
  /** Its place among the batches of its partition. */
  ordinal: number;

  /** Requests that carried it and failed, and were followed by another. */
  attempts = 0;
  /** Requests that carried it. */
  requests = 0;
  /** Upper bound of its largest record, in bytes. */
  largestRecord = 0;
  /** Not to be sent before, on the clock's scale. */
  retryAt = 0;
  /** Producer id it is sequenced under; −1 before. */
  producerId = -1;
  /** Producer epoch it is sequenced under. */
  producerEpoch = -1;
  /** Sequence of its first record; −1 before it has one. */
  baseSequence = -1;
  /** Whether its sequence was changed after it had been sent. */
  renumbered = false;
  /** Whether a request that carries it waits for its answer; its memory must not change then. */
  onWire = false;
  /** Whether a broker may have stored it: a request was written and no answer said otherwise. */
  maybeStored = false;
  /** Whether its promises are settled. */
  settled = false;
  /** Whether its memory was given back. */
  released = false;
  /** The last failure, for the final error. */
  lastError: KafkaError | undefined;

  // Of each record, in order of appending: who is told of success and of failure; and its timestamp, the sizes of key and
  // value, and its number in its group. Two flat arrays cost less than an object a record.
  #owners: (Resolve | Reject)[] = [];
  #numbers: number[] = [];

  /** Starts a batch. */
  constructor(
    topic: string,
    partition: number,
    builder: RecordBatchBuilder,
    buffer: Uint8Array,
    createdAt: number,
    ordinal: number,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.builder = builder;
    this.buffer = buffer;
    this.createdAt = createdAt;
    this.ordinal = ordinal;
  }

  /** Records in it. */
  get recordCount(): number {
    return this.builder.recordCount;
  }

  /** `topic-partition`, for messages. */
  get text(): string {
    return `${this.topic}-${this.partition}`;
  }

  /** Notes who waits for the record just appended to the builder. */
  added(
    resolve: Resolve,
    reject: Reject,
    timestamp: number,
    keySize: number,
    valueSize: number,
    index: number,
  ): void {
    this.#owners.push(resolve, reject);
    this.#numbers.push(timestamp, keySize, valueSize, index);
  }

  /** Fulfils every promise in order; `baseOffset` −1 means not known, `logAppendTime` −1 that records keep their own. */
  succeed(baseOffset: number, logAppendTime: number): void {
    if (this.settled) return;
    this.settled = true;
    const { topic, partition } = this;
    const [owners, numbers] = this.#forget();
    for (let i = 0; 2 * i < owners.length; i++) {
      const at = 4 * i;
      const metadata = new RecordMetadata(
        topic,
        partition,
        baseOffset < 0 ? -1 : baseOffset + i,
        logAppendTime < 0 ? numbers[at]! : logAppendTime,
        numbers[at + 1]!,
        numbers[at + 2]!,
      );
      (owners[2 * i] as Resolve)(metadata, numbers[at + 3]!);
    }
  }

  /** Rejects every promise in order; `errorOf` may say something else of the record `index`. */
  fail(error: KafkaError, errorOf?: (index: number) => KafkaError): void {
    if (this.settled) return;
    this.settled = true;
    const [owners, numbers] = this.#forget();
    for (let i = 0; 2 * i < owners.length; i++) {
      (owners[2 * i + 1] as Reject)(errorOf === undefined ? error : errorOf(i), numbers[4 * i + 3]!);
    }
  }

  /** Hands those who wait for its records on to `parts`, which hold the same records in the same order, and is settled. */
  handOver(parts: readonly ProducerBatch[]): void {
    this.settled = true;
    const [owners, numbers] = this.#forget();
    let i = 0;
    for (const part of parts) {
      part.#owners = owners.slice(2 * i, 2 * (i + part.recordCount));
      part.#numbers = numbers.slice(4 * i, 4 * (i + part.recordCount));
      i += part.recordCount;
    }
  }

  /** Lets go of everybody who waits, and answers them. */
  #forget(): [owners: (Resolve | Reject)[], numbers: number[]] {
    const all: [(Resolve | Reject)[], number[]] = [this.#owners, this.#numbers];
    this.#owners = [];
    this.#numbers = [];
    return all;
  }
}
