/**
 * Turns an `AbortSignal` that fired into this library's error.
 *
 * @module
 */

import { AbortedError, KafkaError } from "./kafka_error.ts";

/** The error to throw for `signal`: its reason when that is one of ours, else an AbortedError with the reason as cause. */
export function abortError(signal: AbortSignal): KafkaError {
  const reason: unknown = signal.reason;
  return reason instanceof KafkaError ? reason : new AbortedError("aborted by the caller's signal", { cause: reason });
}

/** Throws {@linkcode abortError} if `signal` has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

/** Settles as `promise` does, or rejects when `signal` fires first; the work behind `promise` goes on unobserved then. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortError(signal));
    if (signal.aborted) {
      promise.catch(() => {});
      return abort();
    }
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
