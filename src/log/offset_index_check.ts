/**
 * Checks the offset index of one segment against its batches, as these are walked.
 *
 * An entry (key, position) is right when a look-up by it misses nothing: a batch begins at the position, all before it end
 * below the key, and the key is an offset of the segment. Brokers up to 0.11 wrote the first offset of an append as key,
 * later ones the last, which is that of a later batch when a follower appended several at once: all of that is right.
 *
 * @module
 */

import { type Anomaly, damage, note } from "./anomaly.ts";
import { EntryReader } from "./entry_reader.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { StoredFile } from "./storage.ts";

const ENTRY_SIZE = 8;

const MEANING =
  "A broker does not notice when it opens the log after a clean stop, and may then read from the wrong place or take the " +
  "wrong end; after an unclean one it builds the index anew. Without the file it is built anew.";

/** The check of one `.index`. */
export class OffsetIndexCheck {
  readonly #name: string;
  readonly #entries: EntryReader;
  readonly #baseOffset: number;
  readonly #isActive: boolean;
  #next: { readonly n: number; readonly key: number; readonly position: number } | undefined;
  #previousKey: number;
  #previousPosition = 0;
  /** A key above the batch it leads to, so that a later batch of the same append must end there. */
  #due: { readonly n: number; readonly key: number } | undefined;
  #lastOffset: number;
  #zeroTail = 0;
  #wrong = 0;
  #first: Anomaly | undefined;

  private constructor(name: string, file: StoredFile, baseOffset: number, isActive: boolean) {
    this.#name = name;
    this.#entries = new EntryReader(file, ENTRY_SIZE);
    this.#baseOffset = baseOffset;
    this.#previousKey = baseOffset - 1;
    this.#lastOffset = baseOffset - 1;
    this.#isActive = isActive;
  }

  /** Begins with the first entry of `file`, which it will close; `isActive` for the last segment. */
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
        this.#fault(n, `leads to byte ${this.#next.position}, where no batch begins`, key);
      } else if (key <= this.#lastOffset) {
        this.#fault(n, `leads to byte ${position}, and offset ${key} lies before it`, key);
      } else if (key > lastOffset) {
        this.#due = { n, key };
      }
      await this.#advance(n + 1);
    }
    if (this.#due !== undefined && lastOffset >= this.#due.key) {
      if (lastOffset > this.#due.key) {
        this.#fault(this.#due.n, `has offset ${this.#due.key}, and no batch ends there`, this.#due.key);
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
    try {
      while (this.#next !== undefined) {
        const { n, key, position } = this.#next;
        this.#fault(n, `leads to byte ${position}, where no batch begins`, key);
        await this.#advance(n + 1);
      }
      if (this.#due !== undefined) {
        this.#fault(this.#due.n, `has offset ${this.#due.key}, which is beyond the segment`, this.#due.key);
      }
    } finally {
      await this.#entries.close();
    }
    return this.#found();
  }

  /** Releases the file. */
  close(): Promise<void> {
    return this.#entries.close();
  }

  #found(): Anomaly[] {
    const found: Anomaly[] = [];
    const { trailingBytes } = this.#entries;
    if (trailingBytes > 0) {
      found.push(damage(
        "index-size",
        this.#name,
        `${trailingBytes} bytes follow the last whole entry of ${ENTRY_SIZE} bytes: a broker builds the index anew.`,
        { position: this.#entries.entries * ENTRY_SIZE },
      ));
    }
    if (this.#first !== undefined) {
      const more = this.#wrong === 1 ? "" : `, and ${this.#wrong - 1} more entries are wrong`;
      found.push({ ...this.#first, message: `${this.#first.message}${more}. ${MEANING}` });
    }
    if (this.#zeroTail > 0) {
      const position = (this.#entries.entries - this.#zeroTail) * ENTRY_SIZE;
      found.push(
        this.#isActive
          ? note(
            "index-zero-tail",
            this.#name,
            `${this.#zeroTail} unused entries of zeros: a broker was running, or was killed, when the file was copied.`,
            { position },
          )
          : damage(
            "index-zero-tail",
            this.#name,
            `${this.#zeroTail} entries of zeros in a segment that is complete, where a broker leaves none. ${MEANING}`,
            { position },
          ),
      );
    }
    return found;
  }

  #fault(n: number, what: string, offset: number): void {
    if (this.#wrong++ > 0) return;
    this.#first = damage("index-entry", this.#name, `entry ${n} ${what}`, { position: n * ENTRY_SIZE, offset });
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
      if (relative < 0) this.#fault(n, `has offset ${key}, below the segment's, ${this.#baseOffset}`, key);
      else if (key <= this.#previousKey) this.#fault(n, `has offset ${key}, not above ${this.#previousKey}`, key);
      else if (position <= this.#previousPosition) {
        this.#fault(n, `leads to byte ${position}, not behind ${this.#previousPosition}`, key);
      } else {
        this.#previousKey = key;
        this.#previousPosition = position;
        this.#next = { n, key, position };
        return;
      }
    }
  }
}
