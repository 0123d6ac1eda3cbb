/**
 * Reads ahead for sources where each request costs more than its bytes: a small window where somebody looks at a place, and
 * windows that double where somebody goes on in order. All files that share a cache share its memory.
 *
 * @module
 */

import type { ByteSource } from "./read_only_storage.ts";

/** Fetches the bytes from `start` to `end`, all of them. */
export type FetchRange = (start: number, end: number) => Promise<Uint8Array>;

interface Window {
  readonly start: number;
  readonly end: number;
  readonly bytes: Promise<Uint8Array>;
  readonly owner: WindowedSource;
}

const MIN_WINDOW = 64 * 1024;

/** What some sources keep of what they fetched, the oldest of it dropped first. */
export class WindowCache {
  /** Most bytes of one window. */
  readonly maxWindow: number;
  readonly #maxBytes: number;
  #bytes = 0;
  /** Least recently used first. */
  readonly #windows = new Set<Window>();

  /** Keeps at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.maxWindow = Math.max(MIN_WINDOW, Math.floor(maxBytes / 4));
  }

  /** Keeps `window`. */
  add(window: Window): void {
    this.#windows.add(window);
    this.#bytes += window.end - window.start;
    for (const oldest of this.#windows) {
      if (this.#bytes <= this.#maxBytes || oldest === window) break;
      this.drop(oldest);
    }
  }

  /** Notes that `window` was used. */
  touch(window: Window): void {
    if (this.#windows.delete(window)) this.#windows.add(window);
  }

  /** Forgets `window`. */
  drop(window: Window): void {
    if (!this.#windows.delete(window)) return;
    this.#bytes -= window.end - window.start;
    window.owner.forget(window);
  }
}

/** A source of known size behind `fetch`. */
export class WindowedSource implements ByteSource {
  /** Length in bytes. */
  readonly size: number;
  readonly #fetch: FetchRange;
  readonly #cache: WindowCache;
  readonly #windows = new Set<Window>();

  /** Reads by `fetch`; `head` is what is already there of the beginning. */
  constructor(size: number, fetch: FetchRange, cache: WindowCache, head?: Uint8Array) {
    this.size = size;
    this.#fetch = fetch;
    this.#cache = cache;
    if (head !== undefined && head.length > 0) this.#keep(0, head.length, Promise.resolve(head));
  }

  /** Fills `into` from `position`. */
  async readAt(into: Uint8Array, position: number): Promise<number> {
    const end = Math.min(position + into.length, this.size);
    for (let at = position; at < end;) {
      const window = this.#windowAt(at, end);
      const bytes = await window.bytes;
      const from = at - window.start;
      const taken = bytes.subarray(from, from + end - at);
      into.set(taken, at - position);
      at += taken.length;
    }
    return Math.max(0, end - position);
  }

  /** Drops what is kept. */
  close(): Promise<void> {
    for (const window of [...this.#windows]) this.#cache.drop(window);
    return Promise.resolve();
  }

  /** For the cache: `window` is no longer kept. */
  forget(window: Window): void {
    this.#windows.delete(window);
  }

  #windowAt(position: number, wantedEnd: number): Window {
    let before: Window | undefined;
    for (const window of this.#windows) {
      if (window.start <= position && position < window.end) {
        this.#cache.touch(window);
        return window;
      }
      if (window.end === position) before = window;
    }
    const { maxWindow } = this.#cache;
    const ahead = before === undefined ? MIN_WINDOW : Math.min(maxWindow, 2 * (before.end - before.start));
    const size = Math.min(maxWindow, Math.max(ahead, wantedEnd - position));
    const end = Math.min(position + size, this.size);
    return this.#keep(position, end, this.#fetch(position, end));
  }

  #keep(start: number, end: number, bytes: Promise<Uint8Array>): Window {
    const window: Window = { start, end, bytes, owner: this };
    this.#windows.add(window);
    this.#cache.add(window);
    // The next one who reads tries again.
    bytes.catch(() => this.#cache.drop(window));
    return window;
  }
}
