/**
 * The three indexes of one segment: read when they are first needed, and kept as long as there is room; those of a segment
 * that takes batches are open and grow.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import type { Anomaly } from "./anomaly.ts";
import { IndexCache } from "./index_cache.ts";
import type { IndexOptions } from "./index_file.ts";
import { OffsetIndex } from "./offset_index.ts";
import { segmentFileName } from "./segment_file_name.ts";
import type { Storage, StoredFile } from "./storage.ts";
import { TimeIndex } from "./time_index.ts";
import { TransactionIndex } from "./transaction_index.ts";

/** What the indexes of a segment need. */
export interface SegmentIndexOptions {
  /** The partition's folder. */
  readonly storage: Storage;
  /** Lower bound of the offsets in the segment; the number in its file names. */
  readonly baseOffset: number;
  /** Most bytes of one index file. Kafka: `segment.index.bytes`. */
  readonly segmentIndexBytes: number;
  /** Keeps the indexes that were read; shared by the segments of a log. */
  readonly indexCache?: IndexCache;
  /** Takes what is odd about an index as it is read. */
  readonly report?: (anomaly: Anomaly) => void;
}

/** The indexes of a segment that takes batches. */
export interface GrowingIndexes {
  /** The offset index. */
  readonly offsets: OffsetIndex;
  /** The time index. */
  readonly times: TimeIndex;
}

/** Least bytes of a batch in any format: no segment has more index entries than batches. */
const MIN_BATCH_SIZE = 26;
/** The least that a transaction marker takes, which every entry of a transaction index stands for. */
const MIN_MARKER_SIZE = 78;
/** Bytes of indexes that a segment keeps which shares them with no other. */
const OWN_CACHE_BYTES = 32 * 1024 * 1024;

/** The indexes of one segment. */
export class SegmentIndexes {
  readonly #options: SegmentIndexOptions;
  readonly #log: StoredFile;
  readonly #cache: IndexCache;
  /** Names of the files: made once, since each look-up asks for them. */
  readonly #offsets: string;
  readonly #times: string;
  readonly #transactions: string;
  #growing: GrowingIndexes | undefined;

  /** The indexes of the segment whose batches are in `log`. */
  constructor(options: SegmentIndexOptions, log: StoredFile) {
    this.#options = options;
    this.#log = log;
    this.#cache = options.indexCache ?? new IndexCache(OWN_CACHE_BYTES);
    this.#offsets = segmentFileName(options.baseOffset, "index");
    this.#times = segmentFileName(options.baseOffset, "timeindex");
    this.#transactions = segmentFileName(options.baseOffset, "txnindex");
  }

  /** Opens the offset and the time index so that they can grow. */
  async openToGrow(): Promise<GrowingIndexes> {
    const { storage, baseOffset } = this.#options;
    const options = this.#indexOptions(MIN_BATCH_SIZE, true);
    const offsets = await OffsetIndex.open(storage, this.#offsets, baseOffset, options);
    try {
      const times = await TimeIndex.open(storage, this.#times, baseOffset, options);
      return this.#growing = { offsets, times };
    } catch (error) {
      await offsets.close();
      throw error;
    }
  }

  /** Those of a segment that takes batches; undefined for one that does not, or no more. */
  get growing(): GrowingIndexes | undefined {
    return this.#growing;
  }

  /** Those of a segment that takes batches. */
  toGrow(): GrowingIndexes {
    if (this.#growing !== undefined) return this.#growing;
    const file = this.#offsets;
    throw new StorageError(`write ${file}: the segment was opened for reading`, { code: "EBADF", file });
  }

  /** The offset index. */
  async offsets(): Promise<OffsetIndex> {
    if (this.#growing !== undefined) return this.#growing.offsets;
    const cached = this.#cache.get(this.#offsets);
    if (cached instanceof OffsetIndex) return cached;
    const { storage, baseOffset } = this.#options;
    const options = this.#indexOptions(MIN_BATCH_SIZE, false);
    const index = await OffsetIndex.open(storage, this.#offsets, baseOffset, options);
    this.#cache.set(index);
    return index;
  }

  /** The time index. */
  async times(): Promise<TimeIndex> {
    if (this.#growing !== undefined) return this.#growing.times;
    const cached = this.#cache.get(this.#times);
    if (cached instanceof TimeIndex) return cached;
    const { storage, baseOffset } = this.#options;
    const index = await TimeIndex.open(storage, this.#times, baseOffset, this.#indexOptions(MIN_BATCH_SIZE, false));
    this.#cache.set(index);
    return index;
  }

  /** The transaction index. */
  async transactions(): Promise<TransactionIndex> {
    const cached = this.#cache.get(this.#transactions);
    if (cached instanceof TransactionIndex) return cached;
    const { storage, baseOffset } = this.#options;
    const options = this.#indexOptions(MIN_MARKER_SIZE, false);
    const index = await TransactionIndex.open(storage, this.#transactions, baseOffset, options);
    this.#cache.set(index);
    return index;
  }

  /** Appends the entries that were added to the files. */
  async write(): Promise<void> {
    const { offsets, times } = this.toGrow();
    await offsets.write();
    await times.write();
  }

  /** Resolves once the entries that were written are on the disk. */
  async sync(): Promise<void> {
    await this.#growing?.offsets.sync();
    await this.#growing?.times.sync();
  }

  /** Ends the growing and releases the files; look-ups still work. */
  async close(): Promise<void> {
    const growing = this.#growing;
    if (growing === undefined) return;
    this.#growing = undefined;
    this.#cache.set(growing.offsets);
    this.#cache.set(growing.times);
    await growing.offsets.close();
    await growing.times.close();
  }

  #indexOptions(leastBytesOfEntry: number, writable: boolean): IndexOptions {
    const { segmentIndexBytes: maxBytes, report } = this.#options;
    const logSize = this.#log.size;
    const plausibleEntries = Math.ceil(logSize / leastBytesOfEntry) + 1;
    return { writable, maxBytes, plausibleEntries, logSize, ...(report === undefined ? {} : { report }) };
  }
}
