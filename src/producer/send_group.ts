/**
 * Records that are sent together and answered with one promise: no promise is made for each of them.
 *
 * @module
 */

import { type ErrorDetails, KafkaError, ProduceError } from "../core/kafka_error.ts";
import type { Receiver } from "./producer_batch.ts";
import type { RecordMetadata } from "./record_metadata.ts";

/** Some of the records of a `sendAll` failed; what became of each is in {@linkcode results}. */
export class SendAllError extends ProduceError {
  /** Name of the class. */
  override readonly name: string = "SendAllError";
  /** One for each record, in their order: where it was stored, or why it was not. */
  readonly results: readonly (RecordMetadata | KafkaError)[];

  /** Makes an error about `results`. */
  constructor(message: string, results: readonly (RecordMetadata | KafkaError)[], details: ErrorDetails = {}) {
    super(message, details);
    this.results = results;
  }
}

/** The records of one `sendAll`. */
export class SendGroup implements Receiver {
  readonly #results: (RecordMetadata | KafkaError)[] = [];
  readonly #done: (results: RecordMetadata[]) => void;
  readonly #failed: (error: SendAllError) => void;
  // One for the caller that is still adding records.
  #open = 1;
  #failures = 0;

  /** Calls one of the two when everything is settled. */
  constructor(done: (results: RecordMetadata[]) => void, failed: (error: SendAllError) => void) {
    this.#done = done;
    this.#failed = failed;
  }

  /** Told of each record that was stored. */
  stored(metadata: RecordMetadata, index: number): void {
    this.#results[index] = metadata;
    this.#settled();
  }

  /** Told of each record that failed. */
  failed(error: KafkaError, index: number): void {
    this.#failures++;
    this.#results[index] = error;
    this.#settled();
  }

  /** The number of one more record. */
  add(): number {
    this.#open++;
    this.#results.push(undefined as never); // in order, so that the array has no holes
    return this.#results.length - 1;
  }

  /** Says that all records were added. */
  end(): void {
    this.#settled();
  }

  #settled(): void {
    if (--this.#open > 0) return;
    if (this.#failures === 0) this.#done(this.#results as RecordMetadata[]);
    else this.#failed(this.#error());
  }

  #error(): SendAllError {
    const results = this.#results;
    const errors = results.filter((result) => result instanceof KafkaError);
    const first = errors[0]!;
    const outcomes = new Set(errors.map(({ outcome }) => outcome));
    return new SendAllError(
      `${errors.length} of ${results.length} records failed; first: ${first.message}`,
      results,
      {
        code: first.code,
        retriable: errors.every(({ retriable }) => retriable),
        // Of several outcomes the one that says least.
        outcome: outcomes.size === 1 ? first.outcome : "unknown",
        cause: first,
      },
    );
  }
}
