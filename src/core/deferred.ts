/**
 * A promise with its handles outside (`Promise.withResolvers`, which Node.js 20 lacks).
 *
 * @module
 */

/** A promise that is settled from elsewhere. */
export interface Deferred<T> {
  /** What waiters await. */
  readonly promise: Promise<T>;
  /** Fulfils the promise. */
  readonly resolve: (value: T) => void;
  /** Rejects the promise. */
  readonly reject: (error: unknown) => void;
}

/** Makes a promise to be settled later. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
