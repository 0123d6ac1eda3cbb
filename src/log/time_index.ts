/**
 * The time index of one segment: a list of (timestamp, relative offset) pairs, 12 bytes each, both ascending.
 *
 * An entry (T, O) says that T is the greatest timestamp seen so far, first reached in the batch that ends at O: any record
 * newer than T lies after O.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { IndexFile, type IndexOptions } from "./index_file.ts";
import type { Storage } from "./storage.ts";

const ENTRY_SIZE = 12;

/** One entry, with its offset made absolute. */
export interface TimestampOffset {
  /** The greatest timestamp up to {@linkcode offset}; −1 for none. */
  readonly timestamp: number;
  /** Last offset of the batch that first reached it. */
  readonly offset: number;
}

/** The `.timeindex` of the segment at `baseOffset`. */
export class TimeIndex {
  /** Base offset of the segment. */
  readonly baseOffset: number;
  readonly #file: IndexFile;

  private constructor(baseOffset: number, file: IndexFile) {
    this.baseOffset = baseOffset;
    this.#file = file;
  }

  /** Reads the index file `name`. */
  static async open(storage: Storage, name: string, baseOffset: number, options: IndexOptions): Promise<TimeIndex> {
    const isUnused = (view: DataView, at: number) =>
      view.getInt32(at) === 0 && view.getInt32(at + 4) === 0 && view.getInt32(at + 8) === 0;
    return new TimeIndex(baseOffset, await IndexFile.load(storage, name, ENTRY_SIZE, options, isUnused));
  }

  /** Number of entries. */
  get entries(): number {
    return this.#file.entries;
  }

  /** Whether the segment must be rolled; one slot is kept for the entry that is forced then. */
  get isFull(): boolean {
    return this.#file.entries >= this.#file.maxEntries - 1;
  }

  /** The last entry; timestamp −1 at the base offset when there is none. */
  get last(): TimestampOffset {
    return this.entries === 0 ? { timestamp: -1, offset: this.baseOffset } : this.entry(this.entries - 1);
  }

  /** The `n`th entry, from 0. */
  entry(n: number): TimestampOffset {
    return {
      timestamp: timestampAt(this.#file.view, n * ENTRY_SIZE),
      offset: this.baseOffset + this.#file.view.getInt32(n * ENTRY_SIZE + 8),
    };
  }

  /** The greatest entry whose timestamp is at most `timestamp`; timestamp −1 at the base offset when there is none. */
  floor(timestamp: number): TimestampOffset {
    const { view } = this.#file;
    let low = 0;
    let high = this.#file.entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (timestampAt(view, middle * ENTRY_SIZE) <= timestamp) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? { timestamp: -1, offset: this.baseOffset } : this.entry(low - 1);
  }

  /** Adds an entry unless its timestamp is no news; it is on the disk after {@linkcode write}. */
  maybeAdd({ timestamp, offset }: TimestampOffset): void {
    const last = this.last;
    if (timestamp <= last.timestamp) return;
    const { entries, name } = this.#file;
    if (entries > 0 && offset < last.offset) {
      throw new StorageError(
        `${name}: entry ${entries} for offset ${offset} would be below the last one, ${last.offset}`,
        { code: "INVALID_INDEX_OFFSET", file: name, offset },
      );
    }
    const at = this.#file.add();
    const { view } = this.#file;
    view.setInt32(at, Math.floor(timestamp / 4294967296));
    view.setInt32(at + 4, timestamp | 0);
    view.setInt32(at + 8, offset - this.baseOffset);
  }

  /** Drops every entry with an offset of at least `offset`. */
  truncateTo(offset: number): Promise<void> {
    let keep = this.#file.entries;
    while (keep > 0 && this.entry(keep - 1).offset >= offset) keep--;
    return this.#file.truncate(keep);
  }

  /** Drops all but the first `entries`. */
  truncateEntries(entries: number): Promise<void> {
    return this.#file.truncate(entries);
  }

  /** Appends the added entries to the file. */
  write(): Promise<void> {
    return this.#file.write();
  }

  /** Resolves once the entries that were written are on the disk. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Releases the file; look-ups still work. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

/** A timestamp beyond 2^53 is rounded, which keeps its order. */
function timestampAt(view: DataView, at: number): number {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}
