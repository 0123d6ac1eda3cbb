/**
 * The sparse offset index of one segment: a sorted list of (relative offset, file position) pairs, 8 bytes each.
 *
 * An entry says "a batch that ends at this offset begins at this position"; a look-up therefore answers with a place to
 * begin scanning, never with an exact hit. Brokers before 0.11 wrote the first offset instead of the last: scanning on
 * from the floor is right for both.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { IndexFile, type IndexOptions } from "./index_file.ts";
import type { Storage } from "./storage.ts";

const ENTRY_SIZE = 8;

/** One entry, with its offset made absolute. */
export interface OffsetPosition {
  /** Last offset of a batch. */
  readonly offset: number;
  /** Where that batch, or one before it, begins. */
  readonly position: number;
}

/** The `.index` of the segment at `baseOffset`. */
export class OffsetIndex {
  /** Base offset of the segment. */
  readonly baseOffset: number;
  readonly #file: IndexFile;

  private constructor(baseOffset: number, file: IndexFile) {
    this.baseOffset = baseOffset;
    this.#file = file;
  }

  /** Reads the index file `name`. */
  static async open(storage: Storage, name: string, baseOffset: number, options: IndexOptions): Promise<OffsetIndex> {
    // A genuine entry never points at position 0: the first append to a segment is not indexed.
    const isUnused = (view: DataView, at: number) => view.getInt32(at + 4) === 0;
    return new OffsetIndex(baseOffset, await IndexFile.load(storage, name, ENTRY_SIZE, options, isUnused));
  }

  /** Number of entries. */
  get entries(): number {
    return this.#file.entries;
  }

  /** Whether no entry fits any more, so that the segment must be rolled. */
  get isFull(): boolean {
    return this.#file.entries >= this.#file.maxEntries;
  }

  /** Offset of the last entry; the base offset when there is none. */
  get lastOffset(): number {
    return this.entries === 0 ? this.baseOffset : this.entry(this.entries - 1).offset;
  }

  /** The `n`th entry, from 0. */
  entry(n: number): OffsetPosition {
    const { view } = this.#file;
    return {
      offset: this.baseOffset + view.getInt32(n * ENTRY_SIZE),
      position: view.getInt32(n * ENTRY_SIZE + 4),
    };
  }

  /** The greatest entry whose offset is at most `offset`, or the start of the segment. */
  floor(offset: number): OffsetPosition {
    const relative = offset - this.baseOffset;
    const { view } = this.#file;
    let low = 0;
    let high = this.#file.entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (view.getInt32(middle * ENTRY_SIZE) <= relative) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? { offset: this.baseOffset, position: 0 } : this.entry(low - 1);
  }

  /**
   * Adds an entry; it is on the disk after {@linkcode write}.
   *
   * @throws StorageError with code `"INVALID_INDEX_OFFSET"` when the offset is not above the last one.
   */
  add(offset: number, position: number): void {
    const { entries, name } = this.#file;
    if (entries > 0 && offset <= this.lastOffset) {
      throw new StorageError(
        `${name}: entry ${entries} for offset ${offset} would not be above the last one, ${this.lastOffset}`,
        { code: "INVALID_INDEX_OFFSET", file: name, offset },
      );
    }
    const at = this.#file.add();
    this.#file.view.setInt32(at, offset - this.baseOffset);
    this.#file.view.setInt32(at + 4, position);
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
