/**
 * The time index of one segment: a list of (timestamp, relative offset) pairs, 12 bytes each, both ascending.
 *
 * An entry (T, O) says that T is the greatest timestamp seen so far, first reached in the batch that ends at O: any record
 * newer than T lies after O.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { damage } from "./anomaly.ts";
import { IndexFile, type IndexForm, type IndexOptions, type LoadedIndex, loadIndex } from "./index_file.ts";
import type { Trace } from "./read_step.ts";
import type { Storage } from "./storage.ts";

const ENTRY_SIZE = 12;
const FORM: IndexForm = {
  entrySize: ENTRY_SIZE,
  isUnused: (view, at) => view.getInt32(at) === 0 && view.getInt32(at + 4) === 0 && view.getInt32(at + 8) === 0,
};

/** One entry, with its offset made absolute. */
export interface TimestampOffset {
  /** The greatest timestamp up to {@linkcode offset}; −1 for none. */
  readonly timestamp: number;
  /** Last offset of the batch that first reached it. */
  readonly offset: number;
}

/** The `.timeindex` of the segment at `baseOffset`. */
export class TimeIndex extends IndexFile {
  private constructor(baseOffset: number, loaded: LoadedIndex) {
    super(baseOffset, ENTRY_SIZE, loaded);
    if (loaded.options.report !== undefined) this.isSound = this.#check(loaded.options);
  }

  /** Reads the index file `name`. */
  static async open(storage: Storage, name: string, baseOffset: number, options: IndexOptions): Promise<TimeIndex> {
    return new TimeIndex(baseOffset, await loadIndex(storage, name, FORM, options));
  }

  /** Whether the segment must be rolled; one slot is kept for the entry that is forced then. */
  get isFull(): boolean {
    return this.entries >= this.maxEntries - 1;
  }

  /** The last entry; timestamp −1 at the base offset when there is none, or when the entries are not to be trusted. */
  get last(): TimestampOffset {
    return this.entries === 0 || !this.isSound ? this.#none() : this.#at(this.entries - 1);
  }

  /**
   * The `n`th entry, from 0; it begins at byte 12 · n.
   *
   * @throws StorageError with code `"UNSAFE_INTEGER"` for an offset beyond 2^53−1.
   */
  entry(n: number): TimestampOffset {
    return { timestamp: this.keyAt(n), offset: this.safeOffset(n) };
  }

  /** The greatest entry whose timestamp is at most `timestamp`; timestamp −1 at the base offset when there is none. */
  floor(timestamp: number, trace?: Trace): TimestampOffset {
    const n = this.floorEntry(
      timestamp,
      trace &&
        ((entry, isAtMost) =>
          trace({ step: "time-index-probe", file: this.name, entry, ...this.#at(entry), isAtMost })),
    );
    const found = n < 0 ? this.#none() : this.entry(n);
    trace?.({
      step: "time-index-floor",
      file: this.name,
      wanted: timestamp,
      entries: this.entries,
      entry: n,
      ...found,
      next: n + 1 < this.entries ? this.#at(n + 1) : undefined,
    });
    return found;
  }

  /** Adds an entry unless its timestamp is no news; it is on the disk after {@linkcode write}. */
  maybeAdd({ timestamp, offset }: TimestampOffset): void {
    const last = this.last;
    if (timestamp <= last.timestamp) return;
    const { entries, name } = this;
    if (entries > 0 && offset < last.offset) {
      throw new StorageError(
        `${name}: entry ${entries} for offset ${offset} would be below the last one, ${last.offset}`,
        { code: "INVALID_INDEX_OFFSET", file: name, offset },
      );
    }
    const at = this.addEntry();
    this.view.setInt32(at, Math.floor(timestamp / 4294967296));
    this.view.setInt32(at + 4, timestamp | 0);
    this.view.setInt32(at + 8, offset - this.baseOffset);
  }

  /** The timestamp of entry `n`. One beyond 2^53 is rounded, which keeps its order. */
  protected override keyAt(n: number): number {
    return this.view.getInt32(n * ENTRY_SIZE) * 4294967296 + this.view.getUint32(n * ENTRY_SIZE + 4);
  }

  /** The offset in entry `n`; rounded beyond 2^53. */
  protected override offsetAt(n: number): number {
    return this.baseOffset + this.view.getInt32(n * ENTRY_SIZE + 8);
  }

  /** Entry `n`, whose offset is rounded beyond 2^53, which keeps its order. */
  #at(n: number): TimestampOffset {
    return { timestamp: this.keyAt(n), offset: this.offsetAt(n) };
  }

  #none(): TimestampOffset {
    return { timestamp: -1, offset: this.baseOffset };
  }

  /** Whether timestamps and offsets ascend from the base offset on; reports the first place where they do not. */
  #check({ report }: IndexOptions): boolean {
    let last = { timestamp: -1, offset: this.baseOffset };
    for (let n = 0; n < this.entries; n++) {
      const entry = this.#at(n);
      if (entry.timestamp <= last.timestamp || entry.offset < last.offset) {
        report?.(damage(
          "index-entry",
          this.name,
          `entry ${n} (timestamp ${entry.timestamp}, offset ${entry.offset}) is not above the one before it ` +
            `(${last.timestamp}, ${last.offset}), so the index is not used and the segment is scanned instead. ` +
            `A broker trusts it unless it recovers the segment`,
          { position: n * ENTRY_SIZE, offset: entry.offset },
        ));
        return false;
      }
      last = entry;
    }
    return true;
  }
}
