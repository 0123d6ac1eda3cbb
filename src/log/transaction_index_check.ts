/**
 * Checks the transaction index of one segment against the markers in it, as these are walked.
 *
 * @module
 */

import { type Anomaly, damage } from "./anomaly.ts";
import { EntryReader } from "./entry_reader.ts";
import type { CompletedTransaction } from "./producer_states.ts";
import type { StoredFile } from "./storage.ts";
import { TRANSACTION_INDEX_ENTRY_BYTES } from "./transaction_index.ts";

const MEANING =
  "Readers of committed records are told by it which transactions were aborted. After an unclean stop a " +
  "broker builds it anew.";

interface Entry {
  readonly n: number;
  readonly producerId: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
}

/** The check of one `.txnindex`, which may not be there. */
export class TransactionIndexCheck {
  readonly #name: string;
  readonly #entries: EntryReader | undefined;
  readonly #baseOffset: number;
  #next: Entry | undefined;
  #previousLastOffset = -1;
  #isPartial = false;
  readonly #found: Anomaly[] = [];

  private constructor(name: string, file: StoredFile | undefined, baseOffset: number) {
    this.#name = name;
    this.#entries = file === undefined ? undefined : new EntryReader(file, TRANSACTION_INDEX_ENTRY_BYTES);
    this.#baseOffset = baseOffset;
  }

  /** Begins with the first entry of `file`. */
  static async begin(name: string, file: StoredFile | undefined, baseOffset: number): Promise<TransactionIndexCheck> {
    const check = new TransactionIndexCheck(name, file, baseOffset);
    await check.#advance(0);
    return check;
  }

  /**
   * Takes a marker of the segment in order: an abort of `producerId` at `offset`. `completed` is what it ended, as far as the
   * log shows; undefined when the transaction's records are not in it.
   */
  async abort(producerId: number, offset: number, completed: CompletedTransaction | undefined): Promise<void> {
    await this.#passUpTo(offset);
    const entry = this.#next;
    if (entry === undefined || entry.lastOffset !== offset) {
      if (completed === undefined || this.#isPartial) return;
      this.#add(
        "transaction-index-missing-entry",
        `the abort of producer ${producerId} at offset ${offset}, of a transaction from offset ${completed.firstOffset} on, ` +
          `is not in it: its records would be read as if committed`,
        { offset },
      );
      return;
    }
    if (entry.producerId !== producerId) {
      this.#wrong(entry, `is of producer ${entry.producerId}, the marker at offset ${offset} of ${producerId}`);
    } else if (completed !== undefined && entry.firstOffset > completed.firstOffset) {
      this.#wrong(
        entry,
        `says that the transaction began at offset ${entry.firstOffset}, it did at ${completed.firstOffset}`,
      );
    }
    await this.#advance(entry.n + 1);
  }

  /** Takes note of damaged bytes, which may hold markers. */
  skip(): void {
    this.#isPartial = true;
  }

  /** What was found, once the segment is walked. */
  async end(): Promise<Anomaly[]> {
    await this.#passUpTo(Infinity);
    const trailing = this.#entries?.trailingBytes ?? 0;
    if (trailing > 0) {
      const position = this.#entries!.entries * TRANSACTION_INDEX_ENTRY_BYTES;
      this.#add(
        "transaction-index-size",
        `${trailing} bytes follow the last whole entry of ${TRANSACTION_INDEX_ENTRY_BYTES} bytes; a broker ignores them`,
        { position },
      );
    }
    return this.#found;
  }

  /** Goes past entries of which no marker came. */
  async #passUpTo(offset: number): Promise<void> {
    while (this.#next !== undefined && this.#next.lastOffset < offset) {
      const entry = this.#next;
      if (!this.#isPartial) {
        this.#wrong(entry, `names a marker at offset ${entry.lastOffset}, and there is no abort in the segment`);
      }
      await this.#advance(entry.n + 1);
    }
  }

  async #advance(n: number): Promise<void> {
    this.#next = undefined;
    for (;; n++) {
      const view = await this.#entries?.entry(n);
      if (view === undefined) return;
      const version = view.getInt16(0);
      const int64 = (at: number) => view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
      const entry = { n, producerId: int64(2), firstOffset: int64(10), lastOffset: int64(18) };
      if (version !== 0) {
        this.#wrong(entry, `has version ${version}, only 0 is known; a broker refuses to open such a log`);
      } else if (entry.lastOffset < this.#baseOffset) {
        this.#wrong(entry, `names a marker at offset ${entry.lastOffset}, below the segment's, ${this.#baseOffset}`);
      } else if (entry.lastOffset <= this.#previousLastOffset) {
        this.#wrong(entry, `names a marker at offset ${entry.lastOffset}, not above ${this.#previousLastOffset}`);
      } else if (entry.firstOffset > entry.lastOffset || entry.firstOffset < 0) {
        this.#wrong(entry, `is of a transaction from offset ${entry.firstOffset} to ${entry.lastOffset}`);
      } else {
        this.#previousLastOffset = entry.lastOffset;
        this.#next = entry;
        return;
      }
    }
  }

  #wrong(entry: Entry, what: string): void {
    const { n, lastOffset } = entry;
    this.#add("transaction-index-entry", `entry ${n} ${what}`, {
      position: n * TRANSACTION_INDEX_ENTRY_BYTES,
      ...(Number.isSafeInteger(lastOffset) ? { offset: lastOffset } : {}),
    });
  }

  #add(kind: Anomaly["kind"], what: string, details: { position?: number; offset?: number }): void {
    if (this.#found.length < MAX_FOUND) this.#found.push(damage(kind, this.#name, `${what}. ${MEANING}`, details));
  }
}

/** More of one file say nothing new. */
const MAX_FOUND = 20;
