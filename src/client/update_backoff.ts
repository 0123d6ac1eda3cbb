/**
 * When metadata may be asked for again: later after each failure, and later after each answer that brought nothing new, so
 * that waiting for an election does not become a stream of requests (KIP-580).
 *
 * @module
 */

import type { Random } from "../core/random.ts";
import { backoffMs, type BackoffOptions } from "../core/retry.ts";

/** Counts what became of updates. */
export class UpdateBackoff {
  readonly #options: BackoffOptions;
  readonly #random: Random;
  #last = -Infinity;
  #failures = 0;
  #repeats = 0;

  /** Nothing was asked for yet. */
  constructor(options: BackoffOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /** An update failed at `now`. */
  failed(now: number): void {
    this.#last = now;
    this.#failures++;
  }

  /** An answer came at `now`, with news or without. */
  answered(now: number, isNews: boolean): void {
    this.#last = now;
    this.#failures = 0;
    this.#repeats = isNews ? 0 : this.#repeats + 1;
  }

  /** The next update is not one that repeats the last: the old data ran out. */
  forgetRepeats(): void {
    this.#repeats = 0;
  }

  /** The next update asks for something that was never asked for, and may go at once. */
  hurry(): void {
    this.#last = -Infinity;
    this.#repeats = 0;
  }

  /** Milliseconds to wait at `now`; the chance in it is drawn anew with each call. */
  waitMs(now: number): number {
    const sinceLast = now - this.#last;
    if (sinceLast > 2 * this.#options.maxMs) return 0;
    const wait = (count: number) => backoffMs(this.#options, Math.max(count, 1), this.#random);
    return Math.max(wait(this.#failures), this.#repeats === 0 ? 0 : wait(this.#repeats)) - sinceLast;
  }
}
