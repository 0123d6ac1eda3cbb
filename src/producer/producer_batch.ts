/**
 * The records bound for one partition in one batch: their bytes, encoded as they came, and one promise each. A batch is
 * the unit of sending, retrying and sequencing; it is settled once.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import type { RecordBatchBuilder } from "../records/record_batch_builder.ts";
import { RecordMetadata } from "./record_metadata.ts";

/** Who is told what became of a record; `index` is the number the record was sent under, where there are several. */
export interface Receiver {
  /** The record was stored. */
  stored(metadata: RecordMetadata, index: number): void;
  /** It failed. */
  failed(error: KafkaError, index: number): void;
}

/** What is answered of a record beside its place. */
export interface RecordFigures {
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Bytes of the key; −1 without one. */
  readonly keySize: number;
  /** Bytes of the value; −1 for null. */
  readonly valueSize: number;
}

/** Records in a row that one receiver is told of. */
interface Told {
  readonly receiver: Receiver;
  /** Place of the first one in the batch. */
  readonly from: number;
  /** Of each its number, timestamp and the sizes of key and value: one flat array costs less than an object a record. */
  readonly numbers: number[];
}

/** Numbers of each record in {@linkcode Told}. */
const TOLD = 4;

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

  /** Fulfilled when the batch is settled, whatever came of it. */
  readonly #done: Deferred<void> = deferred<void>();
  #told: Told[] = [];
  #baseOffset = -1;
  #logAppendTime = -1;
  #error: KafkaError | undefined;
  #errorOf: ((index: number) => KafkaError) | undefined;
  /** The batches that its records went on in, when it was split. */
  #parts: readonly ProducerBatch[] = [];

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

  /** Resolves to where the record just appended was stored. */
  outcomeOfLast(figures: RecordFigures): Promise<RecordMetadata> {
    return this.#outcome(this.recordCount - 1, figures.timestamp, figures.keySize, figures.valueSize);
  }

  /** Notes who is told of the record just appended, and under which number. */
  tellOfLast(receiver: Receiver, index: number, figures: RecordFigures): void {
    this.#tell(this.recordCount - 1, receiver, index, figures);
  }

  /** Its records are stored; `baseOffset` −1 means not known where, `logAppendTime` −1 that they keep their own time. */
  succeed(baseOffset: number, logAppendTime: number): void {
    if (this.settled) return;
    this.#baseOffset = baseOffset;
    this.#logAppendTime = logAppendTime;
    this.#settle();
  }

  /** Its records failed; `errorOf` may say something else of the record `index`. */
  fail(error: KafkaError, errorOf?: (index: number) => KafkaError): void {
    if (this.settled) return;
    this.#error = error;
    this.#errorOf = errorOf;
    this.#settle();
  }

  /** Hands those who wait for its records on to `parts`, which hold the same records in the same order, and is settled. */
  handOver(parts: readonly ProducerBatch[]): void {
    this.#parts = parts;
    for (const { receiver, from, numbers } of this.#told) {
      for (let i = 0; i < numbers.length; i += TOLD) {
        const [part, at] = this.#partWith(from + i / TOLD);
        part.#told.push({ receiver, from: at, numbers: numbers.slice(i, i + TOLD) });
      }
    }
    this.#told = [];
    this.#settle();
  }

  #settle(): void {
    this.settled = true;
    const told = this.#told;
    this.#told = [];
    for (const { receiver, from, numbers } of told) {
      for (let i = 0, at = from; i < numbers.length; i += TOLD, at++) {
        const index = numbers[i]!;
        if (this.#error !== undefined) receiver.failed(this.#errorAt(at), index);
        else receiver.stored(this.#metadata(at, numbers[i + 1]!, numbers[i + 2]!, numbers[i + 3]!), index);
      }
    }
    this.#done.resolve();
  }

  #tell(at: number, receiver: Receiver, index: number, { timestamp, keySize, valueSize }: RecordFigures): void {
    let last = this.#told.at(-1);
    if (last?.receiver !== receiver || last.from + last.numbers.length / TOLD !== at) {
      last = { receiver, from: at, numbers: [] };
      this.#told.push(last);
    }
    last.numbers.push(index, timestamp, keySize, valueSize);
  }

  // Hot. One promise for the batch and one derived from it for a record cost less, in time and memory, than a promise with
  // functions of its own to settle it: nothing else of the record is kept.
  #outcome(at: number, timestamp: number, keySize: number, valueSize: number): Promise<RecordMetadata> {
    return this.#done.promise.then(() => {
      if (this.#error !== undefined) throw this.#errorAt(at);
      if (this.#parts.length === 0) return this.#metadata(at, timestamp, keySize, valueSize);
      return this.#outcomeInPart(at, { timestamp, keySize, valueSize });
    });
  }

  /** As a receiver, which parts of parts hand on: promises that follow one another would each come a little later. */
  #outcomeInPart(at: number, figures: RecordFigures): Promise<RecordMetadata> {
    const [part, atPart] = this.#partWith(at);
    if (part.settled) return part.#outcome(atPart, figures.timestamp, figures.keySize, figures.valueSize);
    const { promise, resolve, reject } = deferred<RecordMetadata>();
    part.#tell(atPart, { stored: resolve, failed: reject }, -1, figures);
    return promise;
  }

  #metadata(at: number, timestamp: number, keySize: number, valueSize: number): RecordMetadata {
    return new RecordMetadata(
      this.topic,
      this.partition,
      this.#baseOffset < 0 ? -1 : this.#baseOffset + at,
      this.#logAppendTime < 0 ? timestamp : this.#logAppendTime,
      keySize,
      valueSize,
    );
  }

  #errorAt(at: number): KafkaError {
    return this.#errorOf === undefined ? this.#error! : this.#errorOf(at);
  }

  /** The part that has the record which was the batch's number `at`, and its number there. */
  #partWith(at: number): [part: ProducerBatch, at: number] {
    for (const part of this.#parts) {
      if (at < part.recordCount) return [part, at];
      at -= part.recordCount;
    }
    throw new RangeError(`${this.text}: no part has the record ${at}`);
  }
}
