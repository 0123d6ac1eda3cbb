/**
 * One segment of a log: the `.log` file with its batches and the sparse indexes beside it. It stores and finds; what goes
 * where is for the {@linkcode Log} above to decide.
 *
 * An index only says where to begin scanning, and it is not trusted: where it leads to no batch, the segment is scanned
 * from its start. Indexes are read when they are first needed, except by a segment that takes batches.
 *
 * @module
 */

import { CorruptRecordError, StorageError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Batch, DecodeOptions } from "../records/batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type BatchHeader, BatchScanner } from "./batch_scanner.ts";
import { FileRecords } from "./file_records.ts";
import type { LeaderEpoch } from "./leader_epochs.ts";
import type { OffsetIndex } from "./offset_index.ts";
import { MAX_TRACED_BATCHES, type Trace } from "./read_step.ts";
import { intactEnd } from "./intact_end.ts";
import { segmentFileName } from "./segment_file_name.ts";
import { SegmentIndexes, type SegmentIndexOptions } from "./segment_indexes.ts";
import type { StoredFile } from "./storage.ts";
import type { TimeIndex, TimestampOffset } from "./time_index.ts";
import type { TransactionIndex } from "./transaction_index.ts";

/** What a segment needs. */
export interface LogSegmentOptions extends SegmentIndexOptions {
  /** Whether batches will be appended: missing files are made, and indexes are cut to their entries. */
  readonly writable: boolean;
  /** Bytes of batches between two index entries. */
  readonly indexIntervalBytes: number;
  /** Most bytes of a batch that is read whole; a length beyond counts as damage. */
  readonly maxBatchBytes: number;
  /** Topic and partition for messages. */
  readonly context: RecordContext;
}

/** What a read of a segment found. */
export interface SegmentRead {
  /** The bytes: whole batches, but the last may be cut. */
  readonly records: FileRecords;
  /** The first batch in them. */
  readonly firstBatch: BatchHeader;
  /** Whether the bytes asked for do not reach over the first batch. */
  readonly firstEntryIncomplete: boolean;
}

/** Where the batches of a segment end. */
export interface SegmentEnd {
  /** The offset behind all whole batches, which is behind the last one unless that is misplaced. */
  readonly nextOffset: number;
  /** The first batch with offsets below those before it, or below the segment's. */
  readonly misplaced: BatchHeader | undefined;
  /** Why it ends there, when what follows cannot be a batch. */
  readonly error: CorruptRecordError | undefined;
  /** Leader epochs that began in the batches that were looked at, each higher than the one before. */
  readonly epochs: readonly LeaderEpoch[];
}

/** What is known of a batch to append. */
export type AppendedBatch = Pick<BatchHeader, "size" | "lastOffset" | "maxTimestamp">;

/** An offset found by timestamp. */
export interface TimestampedOffset {
  /** Offset of the record, or of the log's start or end. */
  readonly offset: number;
  /** Timestamp of the record; −1 for the log's start or end. */
  readonly timestamp: number;
  /** Leader epoch of its batch; −1 where it is not known. */
  readonly leaderEpoch: number;
}

/** Index entries hold offsets relative to the segment's in 32 bits. */
const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;

/** One segment. */
export class LogSegment {
  /** The name of its `.log`. */
  readonly file: string;
  readonly #options: LogSegmentOptions;
  readonly #context: RecordContext;
  readonly #log: StoredFile;
  readonly #indexes: SegmentIndexes;
  #size: number;
  #bytesSinceEntry = 0;
  /** The greatest timestamp so far and the batch that first reached it; what a time index entry is made of. */
  #max: TimestampOffset | undefined;
  #firstTimestamp: number | undefined;
  /** Why the files can no longer be trusted to end where they should. */
  #broken: unknown;

  private constructor(options: LogSegmentOptions, log: StoredFile, indexes: SegmentIndexes) {
    this.file = segmentFileName(options.baseOffset, "log");
    this.#options = options;
    this.#context = { ...options.context, file: this.file };
    this.#log = log;
    this.#indexes = indexes;
    this.#size = log.size;
    this.#max = indexes.growing?.times.last;
  }

  /** Opens the segment's files; missing indexes count as empty. */
  static async open(options: LogSegmentOptions): Promise<LogSegment> {
    const log = await options.storage.open(segmentFileName(options.baseOffset, "log"), { create: options.writable });
    const indexes = new SegmentIndexes(options, log);
    try {
      if (options.writable) await indexes.openToGrow();
    } catch (error) {
      await log.close();
      throw error;
    }
    return new LogSegment(options, log, indexes);
  }

  /** Lower bound of the offsets in it. */
  get baseOffset(): number {
    return this.#options.baseOffset;
  }

  /** Bytes of batches. */
  get size(): number {
    return this.#size;
  }

  /** Bytes in the file behind the last whole batch. */
  get trailingBytes(): number {
    return this.#log.size - this.#size;
  }

  /** Whether an index has no room for one entry more, so that the next batch begins another segment. */
  get isIndexFull(): boolean {
    const { growing } = this.#indexes;
    return growing !== undefined && (growing.offsets.isFull || growing.times.isFull);
  }

  /** Whether `offset` can be told relative to the base offset. */
  takes(offset: number): boolean {
    return offset >= this.baseOffset && offset - this.baseOffset <= MAX_RELATIVE_OFFSET;
  }

  /** Its offset index, read when it is not in memory. */
  offsetIndex(): Promise<OffsetIndex> {
    return this.#indexes.offsets();
  }

  /** Its time index, read when it is not in memory. */
  timeIndex(): Promise<TimeIndex> {
    return this.#indexes.times();
  }

  /** Its transaction index, read when it is not in memory; without aborted transactions there is none, which is empty. */
  transactionIndex(): Promise<TransactionIndex> {
    return this.#indexes.transactions();
  }

  /** Greatest timestamp in it; −1 for none. Without a time index its headers are looked at, once. */
  async largestTimestamp(): Promise<number> {
    return (await this.#largest()).timestamp;
  }

  /** Greatest timestamp of the first batch, which time-based rolling counts from; −1 when there is none. */
  async firstTimestamp(): Promise<number> {
    if (this.#size === 0) return -1;
    return this.#firstTimestamp ??= (await this.scan().next())?.maxTimestamp ?? -1;
  }

  /**
   * Appends `batches`, whose bytes are `parts`, whole or not at all.
   *
   * An index entry comes before the batch that makes one due: it holds the batch's last offset and its position.
   *
   * @throws StorageError; what a failed append left behind is cut off again.
   */
  async append(parts: readonly Uint8Array[], batches: readonly AppendedBatch[]): Promise<void> {
    if (this.#broken !== undefined) throw this.#brokenError();
    const { offsets, times } = this.#indexes.toGrow();
    const [entries, timeEntries] = [offsets.entries, times.entries];
    const [size, bytesSinceEntry, max] = [this.#size, this.#bytesSinceEntry, this.#max];
    try {
      await this.#log.append(parts);
      let position = size;
      for (const batch of batches) {
        this.#note(batch, position);
        position += batch.size;
      }
      await this.#indexes.write();
      if (size === 0) this.#firstTimestamp = batches[0]?.maxTimestamp;
      // Last, so that a reader never sees what may still be cut off.
      this.#size = position;
    } catch (cause) {
      [this.#bytesSinceEntry, this.#max] = [bytesSinceEntry, max];
      try {
        await this.#log.truncate(size);
        await offsets.truncateEntries(entries);
        await times.truncateEntries(timeEntries);
      } catch {
        this.#broken = cause; // the first failure is the one to tell
      }
      throw cause;
    }
  }

  /**
   * Bytes from the batch with `offset` on, or the next above it: at most `maxBytes`, but at least one whole batch with
   * `minOneBatch`. Undefined when all batches end below.
   *
   * @param maxPosition Where bytes that may be read end; none may when it is undefined.
   */
  async read(
    offset: number,
    maxBytes: number,
    maxPosition: number | undefined,
    minOneBatch: boolean,
    trace?: Trace,
  ): Promise<SegmentRead | undefined> {
    const firstBatch = await this.find(offset, trace);
    if (firstBatch === undefined) return undefined;
    const limit = minOneBatch ? Math.max(maxBytes, firstBatch.size) : maxBytes;
    const size = maxPosition === undefined ? 0 : Math.max(0, Math.min(limit, maxPosition - firstBatch.position));
    return {
      records: new FileRecords(this.#log, firstBatch.position, size, this.#context),
      firstBatch,
      firstEntryIncomplete: size > 0 && limit < firstBatch.size,
    };
  }

  /** The first batch that ends at `offset` or above; undefined when all end below. */
  async find(offset: number, trace?: Trace): Promise<BatchHeader | undefined> {
    const batches = await this.#scanFrom(offset, trace);
    return await this.#first(batches, (batch) => batch.lastOffset >= offset, trace);
  }

  /**
   * An offset above which nothing lies before `position`, from its offset index; undefined when no entry is as far.
   */
  async upperBoundOffset(position: number): Promise<number | undefined> {
    return (await this.offsetIndex()).ceilingPosition(position)?.offset;
  }

  /** The headers of its batches from `position` on. */
  scan(position = 0, end: number = this.#size): BatchScanner {
    return new BatchScanner(this.#log, position, end, this.#context);
  }

  /**
   * The whole batch with `header`.
   *
   * @throws CorruptRecordError when it is larger than any batch may be.
   */
  batch({ position, size, baseOffset }: BatchHeader): Promise<Batch> {
    const records = new FileRecords(this.#log, position, size, this.#context);
    return records.batch(this.#options.maxBatchBytes, baseOffset);
  }

  /** The first record from `startingOffset` on that is not older than `timestamp`. */
  async findOffsetByTimestamp(
    timestamp: number,
    startingOffset: number,
    decode: DecodeOptions,
    trace?: Trace,
  ): Promise<TimestampedOffset | undefined> {
    // Whatever is as new lies behind the last entry that is older or as old.
    const { offset } = (await this.timeIndex()).floor(timestamp, trace);
    const batches = await this.#scanFrom(Math.max(offset, startingOffset), trace);
    const isNew = (batch: BatchHeader) => batch.maxTimestamp >= timestamp && batch.lastOffset >= startingOffset;
    for (;;) {
      const header = await this.#first(batches, isNew, trace);
      if (header === undefined) return undefined;
      for (const record of (await this.batch(header)).records(decode)) {
        if (record.timestamp < timestamp || record.offset < startingOffset) continue;
        trace?.({ step: "record", offset: record.offset, timestamp: record.timestamp });
        return { offset: record.offset, timestamp: record.timestamp, leaderEpoch: header.partitionLeaderEpoch };
      }
    }
  }

  /** The first record with the greatest timestamp of all. */
  async findOffsetOfMaxTimestamp(decode: DecodeOptions, trace?: Trace): Promise<TimestampedOffset | undefined> {
    const { timestamp, offset } = await this.#largest();
    const batches = await this.#scanFrom(offset, trace);
    for (;;) {
      const header = await this.#first(batches, (batch) => batch.maxTimestamp === timestamp, trace);
      if (header === undefined) return undefined;
      const record = (await this.batch(header)).records(decode).find((record) => record.timestamp === timestamp);
      if (record === undefined) continue;
      trace?.({ step: "record", offset: record.offset, timestamp });
      return { offset: record.offset, timestamp, leaderEpoch: header.partitionLeaderEpoch };
    }
  }

  /**
   * Where its batches end, found from the last index entries on; {@linkcode size} ends there.
   *
   * Damage that cannot be a batch is an end as well; {@linkcode trailingBytes} then tells what lies behind it.
   */
  async findEnd(): Promise<SegmentEnd> {
    this.#size = this.#log.size;
    const { last } = await this.timeIndex();
    this.#max = last;
    // A time index may end before the offset index does: what lies between must not be missed for the greatest timestamp.
    const batches = await this.#scanFrom(Math.min(last.offset, Number.MAX_SAFE_INTEGER));
    let nextOffset = this.baseOffset;
    let misplaced: BatchHeader | undefined;
    let error: CorruptRecordError | undefined;
    const epochs: LeaderEpoch[] = [];
    let epoch = batches.position === 0 ? -1 : Infinity; // where the first one began is not seen from the middle
    try {
      for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
        if (batch.baseOffset < nextOffset) misplaced ??= batch;
        nextOffset = Math.max(nextOffset, batch.lastOffset + 1);
        this.#raiseMax(batch);
        if (batch.partitionLeaderEpoch > epoch) {
          epochs.push({ epoch: batch.partitionLeaderEpoch, startOffset: batch.baseOffset });
        }
        epoch = epoch === Infinity ? batch.partitionLeaderEpoch : Math.max(epoch, batch.partitionLeaderEpoch);
      }
    } catch (thrown) {
      if (!(thrown instanceof CorruptRecordError)) throw thrown;
      error = thrown;
    }
    this.#size = batches.position;
    return { nextOffset, misplaced, error, epochs };
  }

  /** The first bytes behind the last whole batch, at most `maxBytes`. */
  async trailing(maxBytes: number): Promise<Uint8Array> {
    const size = Math.min(maxBytes, this.trailingBytes);
    return await new FileRecords(this.#log, this.#size, size, this.#context).bytes();
  }

  /**
   * Checks every batch, cuts the file behind the last one that is whole and right, and builds the indexes anew. Answers the
   * bytes cut off.
   *
   * @throws CorruptRecordError, before anything is changed, when a right batch lies behind the damage or where it should
   * not: cutting would lose it.
   */
  async recover(crc32c: Crc32c): Promise<number> {
    const fileSize = this.#log.size;
    const end = await intactEnd({
      file: this.#log,
      baseOffset: this.baseOffset,
      maxOffset: this.baseOffset + MAX_RELATIVE_OFFSET,
      maxBatchBytes: this.#options.maxBatchBytes,
      context: this.#context,
    }, crc32c);
    if (end < fileSize) await this.#log.truncate(end);
    this.#size = end;
    await this.rebuildIndexes();
    return fileSize - end;
  }

  /** Builds both indexes anew from the batch headers. */
  async rebuildIndexes(): Promise<void> {
    const { offsets, times } = this.#indexes.toGrow();
    await offsets.truncateEntries(0);
    await times.truncateEntries(0);
    this.#max = times.last;
    this.#bytesSinceEntry = 0;
    const batches = this.scan();
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      this.#note(batch, batch.position);
    }
    times.maybeAdd(this.#max);
    this.#bytesSinceEntry = 0; // as after any start of a broker
    await this.#indexes.write();
  }

  /** Ends writing: the greatest timestamp gets its entry, and everything is on the disk. */
  async seal(): Promise<void> {
    if (this.#broken === undefined) {
      this.#indexes.toGrow().times.maybeAdd(await this.#largest());
      await this.#indexes.write();
    }
    await this.flush();
  }

  /** Resolves once everything is on the disk. */
  async flush(): Promise<void> {
    await this.#log.sync();
    await this.#indexes.sync();
  }

  /** Releases the index files of a segment that takes no more batches; look-ups still work. */
  closeIndexes(): Promise<void> {
    return this.#indexes.close();
  }

  /** Releases the files. */
  async close(): Promise<void> {
    try {
      await this.closeIndexes();
    } finally {
      await this.#log.close();
    }
  }

  /** A scanner at the place that the offset index tells for `offset`, or at the start where it tells nonsense. */
  async #scanFrom(offset: number, trace?: Trace): Promise<BatchScanner> {
    const { offset: key, position } = (await this.offsetIndex()).floor(offset, trace);
    const batches = this.scan(position);
    const reason = position === 0 ? undefined : await this.#distrust(batches, key);
    if (reason !== undefined) trace?.({ step: "index-distrusted", file: this.file, position, reason });
    batches.position = reason === undefined ? position : 0;
    trace?.({ step: "scan", file: this.file, position: batches.position });
    return batches;
  }

  /** Why a scan for `key` cannot begin where `batches` do; undefined when it can. */
  async #distrust(batches: BatchScanner, key: number): Promise<string | undefined> {
    if (batches.position < 0 || batches.position >= this.#size) return "it is behind the last batch";
    try {
      const batch = await batches.next();
      if (batch === undefined) return "no whole batch begins there";
      // The entry's offset is the batch's first or last one. Of the older formats the first is not known here.
      return batch.magic < 2 || batch.baseOffset <= key ? undefined : `the batch there begins at ${batch.baseOffset}`;
    } catch (error) {
      if (!(error instanceof CorruptRecordError)) throw error;
      return error.message;
    }
  }

  /** The next batch that `isWanted`. */
  async #first(
    batches: BatchScanner,
    isWanted: (batch: BatchHeader) => boolean,
    trace: Trace | undefined,
  ): Promise<BatchHeader | undefined> {
    let passed = 0;
    for (;;) {
      const batch = await batches.next();
      const isFound = batch !== undefined && isWanted(batch);
      if (trace !== undefined) {
        const { file } = this;
        if (batch !== undefined && (isFound || passed < MAX_TRACED_BATCHES)) {
          const { position, size, magic, baseOffset, lastOffset, maxTimestamp } = batch;
          trace({ step: "batch", file, position, size, magic, baseOffset, lastOffset, maxTimestamp, isFound });
        }
        if (batch === undefined || isFound) trace({ step: "scanned", file, passed, isFound });
      }
      if (batch === undefined || isFound) return batch;
      passed++;
    }
  }

  /** The greatest timestamp and the batch that first reached it. */
  async #largest(): Promise<TimestampOffset> {
    if (this.#max === undefined) {
      const index = await this.timeIndex();
      this.#max = index.last;
      if (index.last.timestamp < 0) {
        const batches = this.scan();
        for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) this.#raiseMax(batch);
      }
    }
    return this.#max;
  }

  /** Takes note of a batch that lies at `position`, behind all others. */
  #note(batch: AppendedBatch, position: number): void {
    const { offsets, times } = this.#indexes.toGrow();
    const max = this.#raiseMax(batch);
    if (this.#bytesSinceEntry > this.#options.indexIntervalBytes) {
      offsets.add(batch.lastOffset, position);
      times.maybeAdd(max);
      this.#bytesSinceEntry = 0;
    }
    this.#bytesSinceEntry += batch.size;
  }

  #raiseMax({ lastOffset, maxTimestamp }: AppendedBatch): TimestampOffset {
    const max = this.#max ?? { timestamp: -1, offset: this.baseOffset };
    return this.#max = maxTimestamp > max.timestamp ? { timestamp: maxTimestamp, offset: lastOffset } : max;
  }

  #brokenError(): StorageError {
    return new StorageError(
      `${this.file}: an earlier append failed and could not be undone, so nothing more is appended; open the log again`,
      { code: "LOG_BROKEN", file: this.file, cause: this.#broken },
    );
  }
}
