/**
 * The receiving half of a transport whose bytes are pushed by a runtime: keeps what came until it is read, in order, then
 * says how the stream ended.
 *
 * @module
 */

import type { ConnectionError } from "../core/kafka_error.ts";
import { Queue } from "../core/queue.ts";
import { overlapError } from "./stream_error.ts";

interface PendingRead {
  readonly into: Uint8Array;
  resolve(count: number): void;
  reject(error: unknown): void;
}

/** Bytes received and not yet read. */
export class Inbox {
  readonly #onTaken: () => void;
  readonly #chunks = new Queue<Uint8Array>();
  /** Bytes of the first chunk that were read. */
  #offset = 0;
  #size = 0;
  #reading: PendingRead | undefined;
  #ended = false;
  #error: ConnectionError | undefined;

  /** `onTaken` is called when bytes that had waited were read: the place to let more in. */
  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  /** Bytes that wait to be read. */
  get size(): number {
    return this.#size;
  }

  /** Takes bytes that came. They are kept as they are, so they must not change until {@linkcode Inbox.size} is 0. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#ended || this.#error !== undefined) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const reading = this.#reading;
    if (reading === undefined) return;
    this.#reading = undefined;
    reading.resolve(this.#take(reading.into));
  }

  /** The peer has ended the stream: after what came, reads resolve to 0. */
  end(): void {
    if (this.#error !== undefined) return;
    this.#ended = true;
    this.#reading?.resolve(0);
    this.#reading = undefined;
  }

  /** The stream broke: after what came, reads reject with `error`. Nothing changes when it had ended or broken before. */
  fail(error: ConnectionError): void {
    if (this.#ended || this.#error !== undefined) return;
    this.#error = error;
    this.#reading?.reject(error);
    this.#reading = undefined;
  }

  /** The owner is done: what came is dropped and every read rejects with `error`. */
  close(error: ConnectionError): void {
    this.#chunks.clear();
    this.#size = this.#offset = 0;
    this.#ended = false;
    this.#error = error;
    this.#reading?.reject(error);
    this.#reading = undefined;
  }

  /** See `Transport.read`. */
  read(into: Uint8Array): Promise<number> {
    if (this.#size > 0) {
      const count = this.#take(into);
      this.#onTaken();
      return Promise.resolve(count);
    }
    if (this.#ended) return Promise.resolve(0);
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#reading !== undefined) return Promise.reject(overlapError("read"));
    return new Promise((resolve, reject) => this.#reading = { into, resolve, reject });
  }

  #take(into: Uint8Array): number {
    const chunk = this.#chunks.peek()!;
    const from = this.#offset;
    const count = Math.min(into.length, chunk.length - from);
    into.set(count === chunk.length ? chunk : chunk.subarray(from, from + count));
    this.#size -= count;
    this.#offset += count;
    if (this.#offset === chunk.length) {
      this.#chunks.shift();
      this.#offset = 0;
    }
    return count;
  }
}
