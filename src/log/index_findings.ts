/**
 * What a check finds of an index file: the first entry that is wrong and how many more are, what hangs behind the last one,
 * and zeros at its end.
 *
 * @module
 */

import { type Anomaly, damage, note } from "./anomaly.ts";
import type { EntryReader } from "./entry_reader.ts";

/** What there is to know of the file. */
export interface IndexFindingsOptions {
  /** Name of the file. */
  readonly name: string;
  /** Its entries. */
  readonly entries: EntryReader;
  /** Bytes of an entry. */
  readonly entrySize: number;
  /** Whether it is the last segment's, where a broker that runs leaves zeros. */
  readonly isActive: boolean;
  /** What a wrong entry means. */
  readonly meaning: string;
}

/** The findings in one index file. */
export class IndexFindings {
  readonly #options: IndexFindingsOptions;
  #wrong = 0;
  #first: Anomaly | undefined;

  /** No findings yet. */
  constructor(options: IndexFindingsOptions) {
    this.#options = options;
  }

  /** Whether no entry is wrong. */
  get isClean(): boolean {
    return this.#wrong === 0;
  }

  /** Notes that entry `n` is wrong. Only the first is told in words: one fault makes many. */
  fault(n: number, what: string, offset: number): void {
    if (this.#wrong++ > 0) return;
    const { entrySize, name } = this.#options;
    this.#first = damage("index-entry", name, `entry ${n} ${what}`, { position: n * entrySize, offset });
  }

  /** What hangs behind the last entry, and the entries that are wrong. */
  *entryFaults(): Generator<Anomaly, void> {
    const { entries: { entries, trailingBytes }, entrySize, meaning, name } = this.#options;
    if (trailingBytes > 0) {
      yield damage(
        "index-size",
        name,
        `${trailingBytes} bytes follow the last whole entry of ${entrySize} bytes: a broker builds the index anew.`,
        { position: entries * entrySize },
      );
    }
    if (this.#first === undefined) return;
    const more = this.#wrong === 1 ? "" : `, and ${this.#wrong - 1} more entries are wrong`;
    yield { ...this.#first, message: `${this.#first.message}${more}. ${meaning}` };
  }

  /** The last `count` entries, which are zeros; `consequence` where a complete segment has them. */
  zeroTail(count: number, consequence: string, losesData: boolean): Anomaly {
    const { entries: { entries }, entrySize, isActive, name } = this.#options;
    const position = (entries - count) * entrySize;
    const kind = "index-zero-tail";
    if (isActive) {
      const why = "a broker was running, or was killed, when the file was copied";
      return note(kind, name, `${count} unused entries of zeros: ${why}.`, { position });
    }
    const what = `${count} entries of zeros in a segment that is complete, where a broker leaves none${consequence}`;
    return damage(kind, name, what, { position, losesData });
  }
}
