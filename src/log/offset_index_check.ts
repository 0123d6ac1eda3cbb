/**
 * Checks the offset index of one segment against its batches, as these are walked.
 *
 * An entry (key, position) is right when a look-up by it misses nothing: a batch begins at the position, all before it end
 * below the key, and the key is an offset of the segment. Brokers up to 0.11 wrote the first offset of an append as key,
 * later ones the last, which is that of a later batch when a follower appended several at once: all of that is right.
 *
 * @module
 */

import type { Anomaly } from "./anomaly.ts";
import { EntryReader } from "./entry_reader.ts";
import { IndexFindings } from "./index_findings.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { StoredFile } from "./storage.ts";

const ENTRY_SIZE = 8;

const MEANING =
  "A broker does not notice when it opens the log after a clean stop, and may then read from the wrong place or take the " +
  "wrong end; after an unclean one it builds the index anew. Without the file it is built anew.";

/** The check of one `.index`. */
export class OffsetIndexCheck {
  readonly #entries: EntryReader;
  readonly #findings: IndexFindings;
  readonly #baseOffset: number;
  #next: { readonly n: number; readonly key: number; readonly position: number } | undefined;
  #previousKey: number;
  #previousPosition = 0;
  /** A key above the batch it leads to, so that a later batch of the same append must end there. */
  #due: { readonly n: number; readonly key: number } | undefined;
  #lastOffset: number;
  #zeroTail = 0;

  private constructor(name: string, file: StoredFile, baseOffset: number, isActive: boolean) {
    this.#entries = new EntryReader(file, ENTRY_SIZE);
    this.#findings = new IndexFindings({
      name,
      entries: this.#entries,
      entrySize: ENTRY_SIZE,
      isActive,
      meaning: MEANING,
    });
    this.#baseOffset = baseOffset;
    this.#previousKey = baseOffset - 1;
    this.#lastOffset = baseOffset - 1;
  }

  /** Begins with the first entry of `file`; `isActive` for the last segment. */
  static async begin(name: string, file: StoredFile, baseOffset: number, isActive: boolean): Promise<OffsetIndexCheck> {
    const check = new OffsetIndexCheck(name, file, baseOffset, isActive);
    await check.#advance(0);
    return check;
  }

  /** Whether an entry leads to `position` or before it, so that {@linkcode batch} has something to look at. */
  reaches(position: number): boolean {
    return this.#due !== undefined || (this.#next !== undefined && this.#next.position <= position);
  }

  /** Takes note of a batch that no entry leads to. Cheap: for every batch that {@linkcode reaches} says no of. */
  pass(batch: WalkedBatch): void {
    this.#lastOffset = batch.lastOffset;
  }

  /** Looks at the entries that lead to `batch`, the next one. */
  async batch(batch: WalkedBatch): Promise<void> {
    const { position, lastOffset } = batch;
    while (this.#next !== undefined && this.#next.position <= position) {
      const { n, key } = this.#next;
      if (this.#next.position < position) {
        this.#findings.fault(n, `leads to byte ${this.#next.position}, where no batch begins`, key);
      } else if (key <= this.#lastOffset) {
        this.#findings.fault(n, `leads to byte ${position}, and offset ${key} lies before it`, key);
      } else if (key > lastOffset) {
        this.#due = { n, key };
      }
      await this.#advance(n + 1);
    }
    if (this.#due !== undefined && lastOffset >= this.#due.key) {
      if (lastOffset > this.#due.key) {
        this.#findings.fault(this.#due.n, `has offset ${this.#due.key}, and no batch ends there`, this.#due.key);
      }
      this.#due = undefined;
    }
    this.#lastOffset = lastOffset;
  }

  /** Passes over the entries that lead into damaged bytes: they cannot be judged. */
  async skip(until: number): Promise<void> {
    this.#due = undefined;
    while (this.#next !== undefined && this.#next.position < until) await this.#advance(this.#next.n + 1);
  }

  /** What was found, once the segment is walked. */
  async end(): Promise<Anomaly[]> {
    while (this.#next !== undefined) {
      const { n, key, position } = this.#next;
      this.#findings.fault(n, `leads to byte ${position}, where no batch begins`, key);
      await this.#advance(n + 1);
    }
    if (this.#due !== undefined) {
      this.#findings.fault(this.#due.n, `has offset ${this.#due.key}, which is beyond the segment`, this.#due.key);
    }
    const found = [...this.#findings.entryFaults()];
    if (this.#zeroTail > 0) found.push(this.#findings.zeroTail(this.#zeroTail, `. ${MEANING}`, false));
    return found;
  }

  /** Goes to the next entry from the `n`th on that is not wrong in itself. */
  async #advance(n: number): Promise<void> {
    this.#next = undefined;
    for (;; n++) {
      const view = await this.#entries.entry(n);
      if (view === undefined) return;
      const relative = view.getInt32(0);
      const key = this.#baseOffset + relative;
      const position = view.getInt32(4);
      // A genuine entry never leads to the first batch.
      if (position === 0 && relative === 0 && await this.#entries.isZeroFrom(n)) {
        this.#zeroTail = this.#entries.entries - n;
        return;
      }
      if (relative < 0) this.#findings.fault(n, `has offset ${key}, below the segment's, ${this.#baseOffset}`, key);
      else if (key <= this.#previousKey) {
        this.#findings.fault(n, `has offset ${key}, not above ${this.#previousKey}`, key);
      } else if (position <= this.#previousPosition) {
        this.#findings.fault(n, `leads to byte ${position}, not behind ${this.#previousPosition}`, key);
      } else {
        this.#previousKey = key;
        this.#previousPosition = position;
        this.#next = { n, key, position };
        return;
      }
    }
  }
}
