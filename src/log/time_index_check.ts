/**
 * Checks the time index of one segment against its batches, as these are walked.
 *
 * An entry (timestamp, offset) is right when the batch with that offset has that timestamp as its greatest, and none before
 * it a greater one: then whatever is newer lies behind it. Brokers wrote the offset of the record with that timestamp, or
 * the last one of its batch.
 *
 * @module
 */

import { type Anomaly, damage, note } from "./anomaly.ts";
import { EntryReader } from "./entry_reader.ts";
import { IndexFindings } from "./index_findings.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { StoredFile } from "./storage.ts";

const ENTRY_SIZE = 12;

const MEANING =
  "Look-ups by time, and retention, which takes the last entry for the newest record, can go wrong. A broker does not " +
  "notice when it opens the log after a clean stop; after an unclean one it builds the index anew.";

/** The check of one `.timeindex`. */
export class TimeIndexCheck {
  readonly #name: string;
  readonly #entries: EntryReader;
  readonly #findings: IndexFindings;
  readonly #baseOffset: number;
  readonly #isActive: boolean;
  #next: { readonly n: number; readonly timestamp: number; readonly offset: number } | undefined;
  #previous: { readonly timestamp: number; readonly offset: number };
  /** Greatest timestamp of the batches so far. */
  #max = -1;
  /** Whether damage hides batches, so that what the index knows more need not be wrong. */
  #isPartial = false;
  #zeroTail = 0;

  private constructor(name: string, file: StoredFile, baseOffset: number, isActive: boolean) {
    this.#name = name;
    this.#entries = new EntryReader(file, ENTRY_SIZE);
    this.#findings = new IndexFindings({
      name,
      entries: this.#entries,
      entrySize: ENTRY_SIZE,
      isActive,
      meaning: MEANING,
    });
    this.#baseOffset = baseOffset;
    this.#previous = { timestamp: -1, offset: baseOffset };
    this.#isActive = isActive;
  }

  /** Begins with the first entry of `file`; `isActive` for the last segment. */
  static async begin(name: string, file: StoredFile, baseOffset: number, isActive: boolean): Promise<TimeIndexCheck> {
    const check = new TimeIndexCheck(name, file, baseOffset, isActive);
    await check.#advance(0);
    return check;
  }

  /** Whether an entry has an offset up to `lastOffset`, so that {@linkcode batch} has something to look at. */
  reaches(lastOffset: number): boolean {
    return this.#next !== undefined && this.#next.offset <= lastOffset;
  }

  /** Takes note of a batch that no entry names. Cheap: for every batch that {@linkcode reaches} says no of. */
  pass(batch: WalkedBatch): void {
    if (batch.maxTimestamp > this.#max) this.#max = batch.maxTimestamp;
  }

  /** Looks at the entries with an offset up to that of `batch`, the next one. */
  async batch(batch: WalkedBatch): Promise<void> {
    while (this.#next !== undefined && this.#next.offset <= batch.lastOffset) {
      const { n, timestamp, offset } = this.#next;
      if (this.#isPartial) {
        // The batch it names may be among the damaged bytes.
      } else if (timestamp < this.#max) {
        this.#findings.fault(
          n,
          `says that ${timestamp} is the greatest timestamp up to offset ${offset}, it is ${this.#max}`,
          offset,
        );
      } else if (timestamp !== batch.maxTimestamp) {
        this.#findings.fault(
          n,
          `says that ${timestamp} is at offset ${offset}, where it is ${batch.maxTimestamp}`,
          offset,
        );
      }
      await this.#advance(n + 1);
    }
    this.pass(batch);
  }

  /** Takes note of damaged bytes. */
  skip(): void {
    this.#isPartial = true;
  }

  /** What was found, once the segment is walked. */
  async end(): Promise<Anomaly[]> {
    while (this.#next !== undefined) {
      const { n, offset } = this.#next;
      if (!this.#isPartial) this.#findings.fault(n, `has offset ${offset}, which is beyond the segment`, offset);
      await this.#advance(n + 1);
    }
    const found = [...this.#findings.entryFaults()];
    if (this.#zeroTail > 0) {
      const consequence = ": one that opens the log after a clean stop takes the newest record to be of 1970, and " +
        "retention by time deletes the segment.";
      found.push(this.#findings.zeroTail(this.#zeroTail, consequence, true));
    } else if (
      this.#findings.isClean && this.#entries.trailingBytes === 0 && this.#max > this.#previous.timestamp &&
      !this.#isPartial
    ) {
      // A crash loses the entry that a close or roll adds at the end.
      const make = this.#isActive ? note : damage;
      found.push(make(
        "index-entry",
        this.#name,
        `its last entry has timestamp ${this.#previous.timestamp}, and the segment has records up to ${this.#max}. ${MEANING}`,
      ));
    }
    return found;
  }

  /** Goes to the next entry from the `n`th on that is not wrong in itself. */
  async #advance(n: number): Promise<void> {
    this.#next = undefined;
    for (;; n++) {
      const view = await this.#entries.entry(n);
      if (view === undefined) return;
      const timestamp = view.getInt32(0) * 4294967296 + view.getUint32(4);
      const relative = view.getInt32(8);
      const offset = this.#baseOffset + relative;
      const previous = this.#previous;
      // Timestamp 0 at the base offset may be real where it is the first.
      if (
        timestamp === 0 && relative === 0 && (n > 0 || this.#entries.entries > 1) && await this.#entries.isZeroFrom(n)
      ) {
        this.#zeroTail = this.#entries.entries - n;
        return;
      }
      if (relative < 0) {
        this.#findings.fault(n, `has offset ${offset}, below the segment's, ${this.#baseOffset}`, offset);
      } else if (timestamp <= previous.timestamp) {
        this.#findings.fault(n, `has timestamp ${timestamp}, not above ${previous.timestamp}`, offset);
      } else if (offset < previous.offset) {
        this.#findings.fault(n, `has offset ${offset}, below ${previous.offset}`, offset);
      } else {
        this.#previous = { timestamp, offset };
        this.#next = { n, timestamp, offset };
        return;
      }
    }
  }
}
