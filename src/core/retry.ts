/**
 * Back-off between attempts, with Kafka's formula (KIP-580), and the plain retry loop of calls that may be repeated.
 *
 * @module
 */

import { throwIfAborted } from "./abort_error.ts";
import { type Clock, sleep } from "./clock.ts";
import { isRetriable, TimeoutError } from "./kafka_error.ts";
import type { Random } from "./random.ts";

/** How long to wait between attempts. */
export interface BackoffOptions {
  /** Wait after the first failure, in milliseconds. */
  readonly initialMs: number;
  /** Longest wait, in milliseconds; below `initialMs` it is the constant wait. */
  readonly maxMs: number;
}

/** Milliseconds to wait after `failures` failures in a row (1 = the first): doubles, ±20 %, never above the maximum. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  if (options.maxMs <= options.initialMs) return options.maxMs;
  // 2^30 is far past any maximum; the cap only keeps the power finite.
  const grown = options.initialMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  // The maximum is varied, too, as in Java: clients that all wait that long must not come back at once.
  return Math.min(options.maxMs, Math.min(options.maxMs, grown) * (0.8 + 0.4 * random()));
}

/** What {@linkcode retry} needs. */
export interface RetryOptions extends BackoffOptions {
  /** Total budget in milliseconds. */
  readonly timeoutMs: number;
  /** Measures the budget and the waits. */
  readonly clock: Clock;
  /** Jitter. */
  readonly random: Random;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
  /** Names the call in the error when the budget is spent, such as `"create topic orders"`. */
  readonly what: string;
}

/**
 * Runs `attempt` until it succeeds, fails with an error that is not retriable, or the budget is spent.
 *
 * @throws TimeoutError whose cause is the last failure.
 */
export async function retry<T>(options: RetryOptions, attempt: (remainingMs: number) => Promise<T>): Promise<T> {
  const { clock, timeoutMs, signal, what } = options;
  const start = clock.now();
  for (let failures = 1;; failures++) {
    throwIfAborted(signal);
    try {
      return await attempt(Math.max(1, timeoutMs - (clock.now() - start)));
    } catch (cause) {
      if (!isRetriable(cause)) throw cause;
      const wait = backoffMs(options, failures, options.random);
      if (clock.now() + wait - start >= timeoutMs) {
        const elapsed = Math.round(clock.now() - start);
        throw new TimeoutError(
          `${what}: gave up after ${elapsed} ms and ${failures} attempts; last: ${(cause as Error).message}`,
          { cause },
        );
      }
      await sleep(clock, wait, signal);
    }
  }
}
