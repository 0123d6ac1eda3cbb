/**
 * The records bound for one partition in one batch: their bytes, encoded as they came, and one promise each. A batch is
 * the unit of sending, retrying and sequencing; it is settled once.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import type { RecordBatchBuilder } from "../records/record_batch_builder.ts";
import { RecordMetadata } from "./record_metadata.ts";

/** Fulfils the promise of one record. */
export type Resolve = (metadata: RecordMetadata) => void;
/** Rejects the promise of one record. */
export type Reject = (error: KafkaError) => void;

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
  readonly ordinal: number;

  /** Requests that carried it and failed. */
  attempts = 0;
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

  // One entry a record, in order of appending; arrays of their own cost less than an object a record.
  #resolves: Resolve[] = [];
  #rejects: Reject[] = [];
  #timestamps: number[] = [];
  #keySizes: number[] = [];
  #valueSizes: number[] = [];

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

  /** Notes the promise of the record just appended to the builder. */
  added(resolve: Resolve, reject: Reject, timestamp: number, keySize: number, valueSize: number): void {
    this.#resolves.push(resolve);
    this.#rejects.push(reject);
    this.#timestamps.push(timestamp);
    this.#keySizes.push(keySize);
    this.#valueSizes.push(valueSize);
  }

  /** Fulfils every promise in order; `baseOffset` −1 means not known, `logAppendTime` −1 that records keep their own. */
  succeed(baseOffset: number, logAppendTime: number): void {
    if (this.settled) return;
    this.settled = true;
    const { topic, partition } = this;
    const resolves = this.#resolves;
    for (let i = 0; i < resolves.length; i++) {
      resolves[i]!(
        new RecordMetadata(
          topic,
          partition,
          baseOffset < 0 ? -1 : baseOffset + i,
          logAppendTime < 0 ? this.#timestamps[i]! : logAppendTime,
          this.#keySizes[i]!,
          this.#valueSizes[i]!,
        ),
      );
    }
    this.#forget();
  }

  /** Rejects every promise in order; `errorOf` may say something else of the record `index`. */
  fail(error: KafkaError, errorOf?: (index: number) => KafkaError): void {
    if (this.settled) return;
    this.settled = true;
    const rejects = this.#rejects;
    for (let i = 0; i < rejects.length; i++) rejects[i]!(errorOf === undefined ? error : errorOf(i));
    this.#forget();
  }

  #forget(): void {
    this.#resolves = [];
    this.#rejects = [];
    this.#timestamps = [];
    this.#keySizes = [];
    this.#valueSizes = [];
  }
}
