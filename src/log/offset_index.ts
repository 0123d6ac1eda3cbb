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
import { damage } from "./anomaly.ts";
import { IndexFile, type IndexForm, type IndexOptions, type LoadedIndex, loadIndex } from "./index_file.ts";
import type { Trace } from "./read_step.ts";
import type { Storage } from "./storage.ts";

const ENTRY_SIZE = 8;
const FORM: IndexForm = {
  entrySize: ENTRY_SIZE,
  // A genuine entry never points at position 0: the first append to a segment is not indexed.
  isUnused: (view, at) => view.getInt32(at + 4) === 0,
};

/** One entry, with its offset made absolute. */
export interface OffsetPosition {
  /** Last offset of a batch. */
  readonly offset: number;
  /** Where that batch, or one before it, begins. */
  readonly position: number;
}

/** The `.index` of the segment at `baseOffset`. */
export class OffsetIndex extends IndexFile {
  private constructor(baseOffset: number, loaded: LoadedIndex) {
    super(baseOffset, ENTRY_SIZE, loaded);
    if (loaded.options.report !== undefined) this.isSound = this.#check(loaded.options);
  }

  /** Reads the index file `name`. */
  static async open(storage: Storage, name: string, baseOffset: number, options: IndexOptions): Promise<OffsetIndex> {
    return new OffsetIndex(baseOffset, await loadIndex(storage, name, FORM, options));
  }

  /** Whether no entry fits any more, so that the segment must be rolled. */
  get isFull(): boolean {
    return this.entries >= this.maxEntries;
  }

  /** Offset of the last entry; the base offset when there is none. */
  get lastOffset(): number {
    return this.entries === 0 ? this.baseOffset : this.offsetAt(this.entries - 1);
  }

  /**
   * The `n`th entry, from 0; it begins at byte 8 · n.
   *
   * @throws StorageError with code `"UNSAFE_INTEGER"` for an offset beyond 2^53−1.
   */
  entry(n: number): OffsetPosition {
    return { offset: this.safeOffset(n), position: this.view.getInt32(n * ENTRY_SIZE + 4) };
  }

  /** The greatest entry whose offset is at most `offset`, or the start of the segment. */
  floor(offset: number, trace?: Trace): OffsetPosition {
    const n = this.floorEntry(
      offset,
      trace &&
        ((entry, isAtMost) => trace({ step: "index-probe", file: this.name, entry, ...this.#at(entry), isAtMost })),
    );
    const found = n < 0 ? { offset: this.baseOffset, position: 0 } : this.entry(n);
    trace?.({
      step: "index-floor",
      file: this.name,
      wanted: offset,
      entries: this.entries,
      entry: n,
      ...found,
      next: n + 1 < this.entries ? this.#at(n + 1) : undefined,
    });
    return found;
  }

  /** The first entry at `position` or behind it: above its offset nothing lies before there. Undefined when there is none. */
  ceilingPosition(position: number): OffsetPosition | undefined {
    if (!this.isSound) return undefined;
    let low = 0;
    let high = this.entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.view.getInt32(middle * ENTRY_SIZE + 4) < position) low = middle + 1;
      else high = middle;
    }
    return low < this.entries ? this.#at(low) : undefined;
  }

  /**
   * Adds an entry; it is on the disk after {@linkcode write}.
   *
   * @throws StorageError with code `"INVALID_INDEX_OFFSET"` when the offset is not above the last one.
   */
  add(offset: number, position: number): void {
    const { entries, name } = this;
    if (entries > 0 && offset <= this.lastOffset) {
      throw new StorageError(
        `${name}: entry ${entries} for offset ${offset} would not be above the last one, ${this.lastOffset}`,
        { code: "INVALID_INDEX_OFFSET", file: name, offset },
      );
    }
    const at = this.addEntry();
    this.view.setInt32(at, offset - this.baseOffset);
    this.view.setInt32(at + 4, position);
  }

  /** The offset in entry `n`: what the entries are sorted by. */
  protected override keyAt(n: number): number {
    return this.offsetAt(n);
  }

  /** The offset in entry `n`; rounded beyond 2^53. */
  protected override offsetAt(n: number): number {
    return this.baseOffset + this.view.getInt32(n * ENTRY_SIZE);
  }

  /** Entry `n`, whose offset is rounded beyond 2^53. */
  #at(n: number): OffsetPosition {
    return { offset: this.offsetAt(n), position: this.view.getInt32(n * ENTRY_SIZE + 4) };
  }

  /** Whether offsets and positions ascend from the base offset on; reports the first place where they do not. */
  #check({ report, logSize = Infinity }: IndexOptions): boolean {
    let [lastRelative, lastPosition] = [-1, 0];
    for (let n = 0; n < this.entries; n++) {
      const relative = this.view.getInt32(n * ENTRY_SIZE);
      const { offset, position } = this.#at(n);
      const place = { position: n * ENTRY_SIZE, offset };
      if (relative <= lastRelative || position <= lastPosition) {
        report?.(damage(
          "index-entry",
          this.name,
          `entry ${n} (offset ${offset}, position ${position}) is not above the one before it ` +
            `(${
              this.baseOffset + lastRelative
            }, ${lastPosition}), so the index is not used and the segment is scanned ` +
            `instead. A broker trusts it unless it recovers the segment`,
          place,
        ));
        return false;
      }
      if (position >= logSize) {
        report?.(damage(
          "index-entry",
          this.name,
          `entry ${n} (offset ${offset}) points at byte ${position}, and the segment has ${logSize}`,
          place,
        ));
        return true;
      }
      [lastRelative, lastPosition] = [relative, position];
    }
    return true;
  }
}
