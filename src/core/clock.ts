/**
 * Time as a seam: everything that waits or stamps takes a {@linkcode Clock}, so that tests own time.
 *
 * @module
 */

import { abortError } from "./abort_error.ts";

/** A timer that has been set. */
export interface Timer {
  /** Stops it; harmless after it fired. */
  cancel(): void;
}

/** Where time comes from. */
export interface Clock {
  /** Milliseconds on a clock that never jumps; for durations. */
  now(): number;
  /** Milliseconds since 1970; for record timestamps. */
  wallTime(): number;
  /** Calls `run` once after `ms` milliseconds. */
  setTimer(ms: number, run: () => void): Timer;
  /** Calls `run` in a later turn of the event loop, so that all that is ready now joins in first. */
  nextTurn(run: () => void): void;
}

// A longer delay makes every runtime fire at once.
const MAX_DELAY_MS = 2 ** 31 - 1;

type SetImmediate = (run: () => void) => unknown;

/** The clock of the runtime. */
export const systemClock: Clock = {
  now: (): number => performance.now(),
  wallTime: (): number => Date.now(),
  setTimer(ms: number, run: () => void): Timer {
    const id = setTimeout(run, Math.min(Math.max(ms, 0), MAX_DELAY_MS));
    return { cancel: () => clearTimeout(id) };
  },
  nextTurn(run: () => void): void {
    // setImmediate costs 1–2 µs where it exists; setTimeout(0) costs 1–2 ms everywhere (browsers have only that here).
    const { setImmediate } = globalThis as unknown as { setImmediate?: SetImmediate };
    if (setImmediate === undefined) setTimeout(run, 0);
    else setImmediate(run);
  },
};

/** Resolves after `ms` milliseconds of `clock`; rejects when the signal fires first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const abort = () => {
      timer.cancel();
      reject(abortError(signal!));
    };
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
