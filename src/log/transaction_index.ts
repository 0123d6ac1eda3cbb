/**
 * The transaction index of one segment: the aborted transactions that ended in it, in order of their markers, 34 bytes
 * each. What a reader of committed records must leave out.
 *
 * ```text
 * 0 version (0)   2 producerId   10 firstOffset   18 lastOffset (of the marker)   26 lastStableOffset (as the marker came)
 * ```
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import type { AbortedTransaction } from "../records/aborted_transaction_filter.ts";
import { damage } from "./anomaly.ts";
import { IndexFile, type IndexForm, type IndexOptions, type LoadedIndex, loadIndex } from "./index_file.ts";
import { segmentFileName } from "./segment_file_name.ts";
import type { Storage } from "./storage.ts";

/** Bytes of an entry. */
export const TRANSACTION_INDEX_ENTRY_BYTES = 34;
/** More than the entries of 1 GiB of the smallest aborted transactions take. */
const MAX_BYTES = 8_000_000 * TRANSACTION_INDEX_ENTRY_BYTES;
const FORM: IndexForm = { entrySize: TRANSACTION_INDEX_ENTRY_BYTES, isUnused: () => false };

/** One entry. */
export interface TransactionIndexEntry extends AbortedTransaction {
  /** Version of the entry: 0. */
  readonly version: number;
  /** Offset of the marker that ended it. */
  readonly lastOffset: number;
  /** What the last stable offset became with that marker. */
  readonly lastStableOffset: number;
}

/** What a search for aborted transactions found in one segment. */
export interface CollectedTransactions {
  /** Those that overlap the range. */
  readonly transactions: readonly TransactionIndexEntry[];
  /** Whether no later segment can hold one more. */
  readonly isComplete: boolean;
}

/** The `.txnindex` of the segment at `baseOffset`. A segment in which no transaction was aborted has none. */
export class TransactionIndex extends IndexFile {
  private constructor(baseOffset: number, loaded: LoadedIndex) {
    super(baseOffset, TRANSACTION_INDEX_ENTRY_BYTES, loaded);
    const { report } = loaded.options;
    if (report === undefined) return;
    try {
      this.check();
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const { message, position } = error;
      report(
        damage("transaction-index-entry", this.name, `${message}. A broker refuses to open such a log`, { position }),
      );
    }
  }

  /** Reads the index file `name`; one that is not there has no entries. */
  static async open(
    storage: Storage,
    name: string,
    baseOffset: number,
    options: IndexOptions,
  ): Promise<TransactionIndex> {
    return new TransactionIndex(baseOffset, await loadIndex(storage, name, FORM, options));
  }

  /**
   * The `n`th entry, from 0; it begins at byte 34 · n.
   *
   * @throws StorageError with code `"UNSUPPORTED_VERSION"` for an entry of another version, `"UNSAFE_INTEGER"` for a
   * number beyond ±(2^53−1).
   */
  entry(n: number): TransactionIndexEntry {
    this.checkEntry(n);
    const at = n * TRANSACTION_INDEX_ENTRY_BYTES;
    const { view } = this;
    const version = view.getInt16(at);
    if (version !== 0) {
      throw this.#corrupt(
        n,
        `has version ${version}, only 0 is known`,
        "UNSUPPORTED_VERSION",
      );
    }
    const [producerId, firstOffset, lastOffset, lastStableOffset] = [2, 10, 18, 26].map((field) => {
      const value = view.getInt32(at + field) * 4294967296 + view.getUint32(at + field + 4);
      if (!Number.isSafeInteger(value)) {
        throw this.#corrupt(n, "holds a number beyond ±(2^53−1), which a JavaScript number cannot", "UNSAFE_INTEGER");
      }
      return value;
    }) as [number, number, number, number];
    return { version, producerId, firstOffset, lastOffset, lastStableOffset };
  }

  /**
   * The aborted transactions that overlap `[fetchOffset, upperBound)`. They are complete when one ended with a last stable
   * offset at or above the bound: none that ended later can have begun below it.
   *
   * @throws StorageError, see {@linkcode entry}.
   */
  collect(fetchOffset: number, upperBound: number): CollectedTransactions {
    const transactions: TransactionIndexEntry[] = [];
    for (let n = 0; n < this.entries; n++) {
      const entry = this.entry(n);
      if (entry.lastOffset >= fetchOffset && entry.firstOffset < upperBound) transactions.push(entry);
      if (entry.lastStableOffset >= upperBound) return { transactions, isComplete: true };
    }
    return { transactions, isComplete: false };
  }

  /**
   * Looks at every entry as Kafka does when it opens a log: a marker below the segment is damage.
   *
   * @throws StorageError, with code `"CORRUPT_INDEX"` for such a marker.
   */
  check(): void {
    for (let n = 0; n < this.entries; n++) {
      const { lastOffset } = this.entry(n);
      if (lastOffset < this.baseOffset) {
        throw this.#corrupt(
          n,
          `ends at offset ${lastOffset}, below the segment's, ${this.baseOffset}`,
          "CORRUPT_INDEX",
        );
      }
    }
  }

  /** The offset in entry `n`: what the entries are sorted by. */
  protected override keyAt(n: number): number {
    return this.offsetAt(n);
  }

  /** The offset in entry `n`. */
  protected override offsetAt(n: number): number {
    return this.entry(n).lastOffset;
  }

  #corrupt(n: number, what: string, code: string): StorageError {
    const position = n * TRANSACTION_INDEX_ENTRY_BYTES;
    return new StorageError(`${this.name} at byte ${position}: entry ${n} ${what}`, {
      code,
      file: this.name,
      position,
    });
  }
}

/** Reads the transaction index of the segment at `baseOffset`; one that is not there has no entries. */
export function readTransactionIndex(storage: Storage, baseOffset: number): Promise<TransactionIndex> {
  const name = segmentFileName(baseOffset, "txnindex");
  return TransactionIndex.open(storage, name, baseOffset, {
    writable: false,
    maxBytes: MAX_BYTES,
    plausibleEntries: MAX_BYTES / TRANSACTION_INDEX_ENTRY_BYTES,
  });
}
