/**
 * A line in which things wait to be served, one after the other in the order they came. Each may leave it before its turn:
 * when its signal fires, or when the line is dissolved. It then keeps its place until the turn comes, and is passed over.
 *
 * @module
 */

import { abortError } from "../core/abort_error.ts";
import { Queue } from "../core/queue.ts";

/** How a line is served. */
export interface WaitingLineOptions<T> {
  /** Does what the item waits for, and calls {@linkcode Place.leave} at the moment it is done; what it throws fails the item. */
  readonly serve: (place: Place<T>) => Promise<void>;
  /** Told, once, why an item left without being served. */
  readonly failed: (item: T, cause: unknown) => void;
}

/** An item's place in the line. */
export interface Place<T> {
  /** What waits. */
  readonly item: T;
  /** Whether it was served or gave up. */
  readonly left: boolean;
  /** Leaves the line as served; its signal has no effect from here on. */
  leave(): void;
}

/** Serves items one after the other. */
export class WaitingLine<T> {
  readonly #options: WaitingLineOptions<T>;
  /** Items, and marks that want to know when all before them is gone. */
  readonly #queue = new Queue<Waiting<T> | (() => void)>();
  #isServing = false;

  /** Starts empty. */
  constructor(options: WaitingLineOptions<T>) {
    this.#options = options;
  }

  /** Items and marks in line, with the one that is being served. */
  get size(): number {
    return this.#queue.size;
  }

  /** Adds an item; it gives up when `signal` fires. */
  push(item: T, signal?: AbortSignal): void {
    const waiting = new Waiting(item, signal, () => this.#fail(waiting, abortError(signal!)));
    this.#push(waiting);
  }

  /** Resolves when all that is in line now has left it. */
  whenServed(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#push(resolve));
  }

  /** Fails everything in line. */
  dissolve(cause: unknown): void {
    for (const waiting of this.#queue) if (waiting instanceof Waiting) this.#fail(waiting, cause);
  }

  #push(waiting: Waiting<T> | (() => void)): void {
    this.#queue.push(waiting);
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (!(next instanceof Waiting)) next();
      else if (!next.left) {
        try {
          await this.#options.serve(next);
        } catch (cause) {
          this.#fail(next, cause);
        }
      }
      this.#queue.shift();
    }
    this.#isServing = false;
  }

  #fail(waiting: Waiting<T>, cause: unknown): void {
    if (waiting.left) return;
    waiting.leave();
    this.#options.failed(waiting.item, cause);
  }
}

class Waiting<T> implements Place<T> {
  readonly item: T;
  left = false;
  readonly #signal: AbortSignal | undefined;
  readonly #giveUp: () => void;

  constructor(item: T, signal: AbortSignal | undefined, giveUp: () => void) {
    this.item = item;
    this.#signal = signal;
    this.#giveUp = giveUp;
    signal?.addEventListener("abort", giveUp, { once: true });
  }

  leave(): void {
    this.left = true;
    this.#signal?.removeEventListener("abort", this.#giveUp);
  }
}
