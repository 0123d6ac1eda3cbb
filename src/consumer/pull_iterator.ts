/**
 * The async iterator of a consumer. What is at hand is handed out at once, in a promise that is already resolved; only when
 * nothing is at hand does it wait, and then calls are answered in their order.
 *
 * @module
 */

import type { BatchSource } from "./batch_source.ts";

/** Hands out what `take` takes from a source. */
export class PullIterator<T> implements AsyncIterableIterator<T> {
  readonly #source: BatchSource;
  readonly #take: () => T | undefined;
  #waiting: Promise<unknown> | undefined;

  /** An iterator that calls `take` for the next item at hand, and `source` for more when it answers undefined. */
  constructor(source: BatchSource, take: () => T | undefined) {
    this.#source = source;
    this.#take = take;
  }

  /** The next item. */
  next(): Promise<IteratorResult<T, undefined>> {
    // Hot: once a record. An async function here would cost three more turns of the microtask queue.
    if (this.#waiting === undefined) {
      try {
        const value = this.#take();
        if (value !== undefined) return Promise.resolve({ done: false, value });
      } catch (cause) {
        return Promise.reject(this.#source.fail(cause));
      }
    }
    return this.#later();
  }

  /** Closes the consumer; called when a `for await` is left early. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#source.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Itself. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return this;
  }

  #later(): Promise<IteratorResult<T, undefined>> {
    const step = (this.#waiting ?? Promise.resolve()).then(() => this.#advance());
    const done = () => {
      if (this.#waiting === settled) this.#waiting = undefined;
    };
    const settled: Promise<void> = step.then(done, done);
    this.#waiting = settled;
    return step;
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      let value: T | undefined;
      try {
        value = this.#take();
      } catch (cause) {
        throw this.#source.fail(cause);
      }
      if (value !== undefined) return { done: false, value };
      if (!(await this.#source.more())) return { done: true, value: undefined };
    }
  }
}
