/**
 * The memory for records that are not acknowledged yet. Buffers of one common size are used again and again; all of them
 * together stay under a total, and whoever finds too little left waits in line, first come, first served.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import type { Clock } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { ClosedError } from "../core/kafka_error.ts";
import { Queue } from "../core/queue.ts";

interface Waiter {
  readonly size: number;
  readonly granted: Deferred<Uint8Array | undefined>;
  left: boolean;
}

/** A pool of buffers. */
export class BufferPool {
  readonly #total: number;
  readonly #bufferSize: number;
  readonly #clock: Clock;
  readonly #free: Uint8Array[] = [];
  readonly #waiters = new Queue<Waiter>();
  #available: number;
  #waiting = 0;
  #closed = false;

  /** `total` bytes in all; buffers of `bufferSize` bytes are kept for reuse. */
  constructor(total: number, bufferSize: number, clock: Clock) {
    this.#total = total;
    this.#bufferSize = bufferSize;
    this.#clock = clock;
    this.#available = total;
  }

  /** Bytes in all. */
  get total(): number {
    return this.#total;
  }

  /** Bytes not handed out. */
  get available(): number {
    return this.#available;
  }

  /** How many wait for memory. */
  get waiting(): number {
    return this.#waiting;
  }

  /** A buffer of at least `size` bytes if there is memory and nobody waits; else undefined. */
  tryTake(size: number): Uint8Array | undefined {
    return this.#waiting > 0 ? undefined : this.#take(size);
  }

  /**
   * Resolves to a buffer of at least `size` bytes when it is this caller's turn, or to undefined after `timeoutMs`.
   *
   * @throws ClosedError when the pool is closed meanwhile; AbortedError when `signal` fires.
   */
  async take(size: number, timeoutMs: number, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#closed) throw new ClosedError("the producer was closed while a record waited for memory");
    const now = this.tryTake(size);
    if (now !== undefined) return now;
    const waiter: Waiter = { size, granted: deferred<Uint8Array | undefined>(), left: false };
    this.#waiters.push(waiter);
    this.#waiting++;
    const leave = () => {
      if (waiter.left) return;
      this.#leave(waiter, undefined);
      // Whoever stood behind may need less.
      this.#serve();
    };
    const timer = this.#clock.setTimer(timeoutMs, leave);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const buffer = await waiter.granted.promise;
      if (buffer === undefined) throwIfAborted(signal);
      return buffer;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Gives a buffer back. */
  release(buffer: Uint8Array): void {
    this.#available += buffer.length;
    if (buffer.length === this.#bufferSize) this.#free.push(buffer);
    this.#serve();
  }

  /** Turns all who wait away. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) {
      if (waiter.left) continue;
      waiter.left = true;
      waiter.granted.reject(new ClosedError("the producer was closed while a record waited for memory"));
    }
    this.#waiters.clear();
    this.#waiting = 0;
  }

  #take(size: number): Uint8Array | undefined {
    const wanted = Math.max(size, this.#bufferSize);
    if (wanted > this.#available) return undefined;
    this.#available -= wanted;
    // Free buffers are part of what is available; when a large one is made, as many of them are let go.
    const reused = wanted === this.#bufferSize ? this.#free.pop() : undefined;
    while (this.#free.length * this.#bufferSize > this.#available) this.#free.pop();
    return reused ?? new Uint8Array(wanted);
  }

  #serve(): void {
    for (let waiter = this.#waiters.peek(); waiter !== undefined; waiter = this.#waiters.peek()) {
      if (!waiter.left) {
        const buffer = this.#take(waiter.size);
        if (buffer === undefined) return;
        this.#leave(waiter, buffer);
      }
      this.#waiters.shift();
    }
  }

  #leave(waiter: Waiter, buffer: Uint8Array | undefined): void {
    waiter.left = true;
    this.#waiting--;
    waiter.granted.resolve(buffer);
  }
}
