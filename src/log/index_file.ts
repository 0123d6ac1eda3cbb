/**
 * The entries of one index file, of one size each, in memory as they lie on the disk.
 *
 * A live or crashed broker leaves a tail of zeros, since it makes its index files at full length and keeps the used
 * length in memory: {@linkcode IndexFile.load} finds the end of the real entries itself.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** How an index is opened. */
export interface IndexOptions {
  /** Whether entries will be added: the file is made when it is not there, and cut to its entries. */
  readonly writable: boolean;
  /** Most bytes of the file (`segment.index.bytes`); the index is full beyond. */
  readonly maxBytes: number;
  /** Most entries that can be genuine, from the size of the log; what follows is not read. */
  readonly plausibleEntries: number;
}

/** Fixed-size entries, added at the end and cut from the end. */
export class IndexFile {
  /** Name of the file. */
  readonly name: string;
  /** Entries the file may hold. */
  readonly maxEntries: number;
  readonly #entrySize: number;
  #file: StoredFile | undefined;
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #entries: number;
  /** Entries of those that are in the file. */
  #written: number;

  private constructor(name: string, entrySize: number, bytes: Uint8Array<ArrayBuffer>, options: IndexOptions) {
    this.name = name;
    this.maxEntries = Math.floor(options.maxBytes / entrySize);
    this.#entrySize = entrySize;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#entries = Math.floor(bytes.length / entrySize);
    this.#written = this.#entries;
  }

  /** Reads the file `name`; one that is not there has no entries. `isUnused` tells a slot of the zero tail. */
  static async load(
    storage: Storage,
    name: string,
    entrySize: number,
    options: IndexOptions,
    isUnused: (view: DataView, at: number) => boolean,
  ): Promise<IndexFile> {
    const file = await openIfPresent(storage, name, options.writable);
    if (file === undefined) return new IndexFile(name, entrySize, new Uint8Array(0), options);
    let index: IndexFile;
    try {
      const slots = Math.min(Math.floor(file.size / entrySize), options.plausibleEntries);
      const bytes = new Uint8Array(slots * entrySize);
      const count = await file.readAt(bytes, 0);
      const whole = count - count % entrySize;
      index = new IndexFile(name, entrySize, count === bytes.length ? bytes : bytes.slice(0, whole), options);
      index.#entries = index.#written = index.#usedSlots(isUnused);
      if (options.writable) await file.truncate(index.#entries * entrySize);
    } catch (error) {
      await file.close();
      throw error;
    }
    if (options.writable) index.#file = file;
    else await file.close();
    return index;
  }

  /** Entries in use. */
  get entries(): number {
    return this.#entries;
  }

  /** The entries' bytes. Valid until the next entry is added. */
  get view(): DataView {
    return this.#view;
  }

  /** Makes room for one entry more and answers where to write it into {@linkcode view}. It is on the disk after {@linkcode write}. */
  add(): number {
    const at = this.#entries * this.#entrySize;
    if (at + this.#entrySize > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, 16 * this.#entrySize));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    this.#entries++;
    return at;
  }

  /** Appends the entries that were added to the file. One call at a time. */
  async write(): Promise<void> {
    if (this.#written === this.#entries) return;
    const file = this.#writable();
    const until = this.#entries;
    await file.append([this.#bytes.subarray(this.#written * this.#entrySize, until * this.#entrySize)]);
    this.#written = until;
  }

  /** Drops all but the first `entries`. */
  async truncate(entries: number): Promise<void> {
    this.#entries = Math.min(this.#entries, entries);
    this.#written = Math.min(this.#written, this.#entries);
    // A failed append may have left part of an entry, so the file is cut even when nothing is dropped here.
    await this.#writable().truncate(this.#written * this.#entrySize);
  }

  /** Resolves once the entries that were written are on the disk. It writes none, so it may run beside {@linkcode write}. */
  async sync(): Promise<void> {
    await this.#file?.sync();
  }

  /** Releases the file; the entries stay readable. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  #writable(): StoredFile {
    if (this.#file !== undefined) return this.#file;
    throw new StorageError(`write ${this.name}: the index was opened for reading`, { code: "EBADF", file: this.name });
  }

  /** Slots before the first unused one. From there to the end all are unused, so a binary search finds it. */
  #usedSlots(isUnused: (view: DataView, at: number) => boolean): number {
    // Slot 0 of a time index may be all zeros and real (timestamp 0 at the base offset), so the search begins behind it.
    let low = Math.min(1, this.#entries);
    let high = this.#entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isUnused(this.#view, middle * this.#entrySize)) high = middle;
      else low = middle + 1;
    }
    return low === 1 && isUnused(this.#view, 0) ? 0 : low;
  }
}

async function openIfPresent(storage: Storage, name: string, create: boolean): Promise<StoredFile | undefined> {
  try {
    return await storage.open(name, { create });
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return undefined;
    throw error;
  }
}
