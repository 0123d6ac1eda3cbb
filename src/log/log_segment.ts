/**
 * One segment of a log: the `.log` file with its batches and the two sparse indexes beside it. It stores and finds; what
 * goes where is for the {@linkcode Log} above to decide.
 *
 * An index only says where to begin scanning, and it is not trusted: where it leads to no batch, the segment is scanned
 * from its start.
 *
 * @module
 */

import { CorruptRecordError, StorageError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Batch, DecodeOptions } from "../records/batch.ts";
import { RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type BatchHeader, BatchScanner, headerAt } from "./batch_scanner.ts";
import { FileRecords } from "./file_records.ts";
import { FileWindow } from "./file_window.ts";
import { findIntactBatch, isIntact } from "./intact_batch.ts";
import { OffsetIndex } from "./offset_index.ts";
import type { Storage, StoredFile } from "./storage.ts";
import { TimeIndex, type TimestampOffset } from "./time_index.ts";

/** What a segment needs. */
export interface LogSegmentOptions {
  /** The partition's folder. */
  readonly storage: Storage;
  /** Lower bound of the offsets in it; the number in its file names. */
  readonly baseOffset: number;
  /** Whether batches will be appended: missing files are made, and indexes are cut to their entries. */
  readonly writable: boolean;
  /** Bytes of batches between two index entries. */
  readonly indexIntervalBytes: number;
  /** Most bytes of one index file. Kafka: `segment.index.bytes`. */
  readonly segmentIndexBytes: number;
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
}

/** What is known of a batch to append. */
export interface AppendedBatch {
  /** Bytes it takes. */
  readonly size: number;
  /** Offset of its last record. */
  readonly lastOffset: number;
  /** Greatest timestamp in it; −1 for none. */
  readonly maxTimestamp: number;
}

/** An offset found by timestamp. */
export interface TimestampedOffset {
  /** Offset of the record, or of the log's start or end. */
  readonly offset: number;
  /** Timestamp of the record; −1 for the log's start or end. */
  readonly timestamp: number;
  /** Leader epoch of its batch; −1 where it is not known. */
  readonly leaderEpoch: number;
}

/** The name of a segment's file: its base offset in 20 digits and a suffix. */
export function segmentFileName(baseOffset: number, suffix: "log" | "index" | "timeindex"): string {
  return `${String(baseOffset).padStart(20, "0")}.${suffix}`;
}

/** Least bytes of a batch in any format: no segment has more index entries than batches. */
const MIN_BATCH_SIZE = 26;
/** Bytes that recovery reads at a time. */
const WINDOW_BYTES = 1024 * 1024;
/** Index entries hold offsets relative to the segment's in 32 bits. */
const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;

/** One segment. */
export class LogSegment {
  readonly #options: LogSegmentOptions;
  readonly #context: RecordContext;
  readonly #log: StoredFile;
  readonly #offsetIndex: OffsetIndex;
  readonly #timeIndex: TimeIndex;
  #size: number;
  #bytesSinceEntry = 0;
  /** The greatest timestamp so far and the batch that first reached it; what a time index entry is made of. */
  #max: TimestampOffset;
  #firstTimestamp: number | undefined;
  /** Why the files can no longer be trusted to end where they should. */
  #broken: unknown;

  private constructor(options: LogSegmentOptions, log: StoredFile, offsetIndex: OffsetIndex, timeIndex: TimeIndex) {
    this.#options = options;
    this.#context = { ...options.context, file: segmentFileName(options.baseOffset, "log") };
    this.#log = log;
    this.#offsetIndex = offsetIndex;
    this.#timeIndex = timeIndex;
    this.#size = log.size;
    this.#max = timeIndex.last;
  }

  /** Opens the segment's files; missing indexes count as empty. */
  static async open(options: LogSegmentOptions): Promise<LogSegment> {
    const { storage, baseOffset, segmentIndexBytes: maxBytes, writable } = options;
    const log = await storage.open(segmentFileName(baseOffset, "log"), { create: writable });
    let offsetIndex: OffsetIndex | undefined;
    try {
      const indexOptions = { writable, maxBytes, plausibleEntries: Math.ceil(log.size / MIN_BATCH_SIZE) + 1 };
      offsetIndex = await OffsetIndex.open(storage, segmentFileName(baseOffset, "index"), baseOffset, indexOptions);
      const timeName = segmentFileName(baseOffset, "timeindex");
      const timeIndex = await TimeIndex.open(storage, timeName, baseOffset, indexOptions);
      return new LogSegment(options, log, offsetIndex, timeIndex);
    } catch (error) {
      await offsetIndex?.close();
      await log.close();
      throw error;
    }
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

  /** The name of its `.log`. */
  get file(): string {
    return segmentFileName(this.baseOffset, "log");
  }

  /** Its offset index. */
  get offsetIndex(): OffsetIndex {
    return this.#offsetIndex;
  }

  /** Its time index. */
  get timeIndex(): TimeIndex {
    return this.#timeIndex;
  }

  /** Whether an index has no room for one entry more, so that the next batch begins another segment. */
  get isIndexFull(): boolean {
    return this.#offsetIndex.isFull || this.#timeIndex.isFull;
  }

  /** Greatest timestamp in it, as far as its time index and appends tell; −1 when none is known. */
  get maxTimestamp(): number {
    return this.#max.timestamp;
  }

  /** Whether `offset` can be told relative to the base offset. */
  takes(offset: number): boolean {
    return offset >= this.baseOffset && offset - this.baseOffset <= MAX_RELATIVE_OFFSET;
  }

  /** Greatest timestamp in it. Without a time index its headers are looked at, once. */
  async largestTimestamp(): Promise<number> {
    if (this.#max.timestamp < 0 && this.#timeIndex.entries === 0) await this.#raiseMaxFrom(this.scan());
    return this.#max.timestamp;
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
    const { entries } = this.#offsetIndex;
    const { entries: timeEntries } = this.#timeIndex;
    const [size, bytesSinceEntry, max] = [this.#size, this.#bytesSinceEntry, this.#max];
    try {
      await this.#log.append(parts);
      let position = size;
      for (const batch of batches) {
        this.#note(batch, position);
        position += batch.size;
      }
      await this.#writeIndexes();
      if (size === 0) this.#firstTimestamp = batches[0]?.maxTimestamp;
      // Last, so that a reader never sees what may still be cut off.
      this.#size = position;
    } catch (cause) {
      [this.#bytesSinceEntry, this.#max] = [bytesSinceEntry, max];
      try {
        await this.#log.truncate(size);
        await this.#offsetIndex.truncateEntries(entries);
        await this.#timeIndex.truncateEntries(timeEntries);
      } catch {
        this.#broken = cause; // the first failure is the one to tell
      }
      throw cause;
    }
  }

  /** Bytes from the batch with `offset` on, or the next above it: at most `maxBytes`, but at least one whole batch with `minOneBatch`. */
  async read(
    offset: number,
    maxBytes: number,
    maxPosition: number,
    minOneBatch: boolean,
  ): Promise<SegmentRead | undefined> {
    const firstBatch = await this.find(offset);
    if (firstBatch === undefined) return undefined;
    const limit = minOneBatch ? Math.max(maxBytes, firstBatch.size) : maxBytes;
    const size = Math.max(0, Math.min(limit, maxPosition - firstBatch.position));
    return { records: new FileRecords(this.#log, firstBatch.position, size, this.#context), firstBatch };
  }

  /** The first batch that ends at `offset` or above; undefined when all end below. */
  async find(offset: number): Promise<BatchHeader | undefined> {
    const batches = await this.#scanFrom(offset);
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      if (batch.lastOffset >= offset) return batch;
    }
    return undefined;
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
  ): Promise<TimestampedOffset | undefined> {
    // Whatever is as new lies behind the last entry that is older or as old.
    const batches = await this.#scanFrom(Math.max(this.#timeIndex.floor(timestamp).offset, startingOffset));
    for (let header = await batches.next(); header !== undefined; header = await batches.next()) {
      if (header.maxTimestamp < timestamp || header.lastOffset < startingOffset) continue;
      for (const record of (await this.batch(header)).records(decode)) {
        if (record.timestamp < timestamp || record.offset < startingOffset) continue;
        return { offset: record.offset, timestamp: record.timestamp, leaderEpoch: header.partitionLeaderEpoch };
      }
    }
    return undefined;
  }

  /** The first record with the greatest timestamp of all. */
  async findOffsetOfMaxTimestamp(decode: DecodeOptions): Promise<TimestampedOffset | undefined> {
    const timestamp = await this.largestTimestamp();
    const batches = await this.#scanFrom(this.#max.offset);
    for (let header = await batches.next(); header !== undefined; header = await batches.next()) {
      if (header.maxTimestamp !== timestamp) continue;
      const record = (await this.batch(header)).records(decode).find((record) => record.timestamp === timestamp);
      if (record === undefined) continue;
      return { offset: record.offset, timestamp, leaderEpoch: header.partitionLeaderEpoch };
    }
    return undefined;
  }

  /**
   * The offset behind the last whole batch, found from the last index entries on; {@linkcode size} ends there.
   *
   * Damage that cannot be a batch is an end as well; {@linkcode trailingBytes} then tells what lies behind it.
   */
  async findEnd(): Promise<number> {
    this.#size = this.#log.size;
    // A time index may end before the offset index does: what lies between must not be missed for the greatest timestamp.
    const from = Math.min(this.#offsetIndex.lastOffset, this.#timeIndex.last.offset);
    const batches = await this.#scanFrom(from);
    let end = this.baseOffset;
    try {
      end = await this.#raiseMaxFrom(batches);
    } catch (error) {
      if (!(error instanceof CorruptRecordError)) throw error;
      end = await this.#endBefore(batches.position);
    }
    this.#size = batches.position;
    return end;
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
    const { end, nextOffset } = await this.#intactEnd(fileSize, crc32c);
    if (end < fileSize) {
      const range = {
        from: end,
        until: fileSize,
        minOffset: nextOffset,
        maxOffset: this.baseOffset + MAX_RELATIVE_OFFSET,
      };
      const after = await findIntactBatch(this.#log, range, this.#options.maxBatchBytes, crc32c);
      if (after !== undefined) {
        throw this.#refusal(
          end,
          nextOffset,
          `is damaged, but a right batch with offset ${after.offset} follows`,
          after,
        );
      }
      await this.#log.truncate(end);
    }
    this.#size = end;
    await this.rebuildIndexes();
    return fileSize - end;
  }

  /** Builds both indexes anew from the batch headers. */
  async rebuildIndexes(): Promise<void> {
    await this.#offsetIndex.truncateEntries(0);
    await this.#timeIndex.truncateEntries(0);
    this.#max = this.#timeIndex.last;
    this.#bytesSinceEntry = 0;
    const batches = this.scan();
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      this.#note(batch, batch.position);
    }
    this.#timeIndex.maybeAdd(this.#max);
    this.#bytesSinceEntry = 0; // as after any start of a broker
    await this.#writeIndexes();
  }

  /** Ends writing: the greatest timestamp gets its entry, and everything is on the disk. */
  async seal(): Promise<void> {
    if (this.#broken === undefined) {
      this.#timeIndex.maybeAdd(this.#max);
      await this.#writeIndexes();
    }
    await this.flush();
  }

  /** Resolves once everything is on the disk. */
  async flush(): Promise<void> {
    await this.#log.sync();
    await this.#offsetIndex.sync();
    await this.#timeIndex.sync();
  }

  /** Releases the index files of a segment that takes no more batches; look-ups still work. */
  async closeIndexes(): Promise<void> {
    await this.#offsetIndex.close();
    await this.#timeIndex.close();
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
  async #scanFrom(offset: number): Promise<BatchScanner> {
    const { offset: key, position } = this.#offsetIndex.floor(offset);
    if (position <= 0 || position >= this.#size) return this.scan();
    const batches = this.scan(position);
    try {
      const batch = await batches.next();
      // The entry's offset is the batch's first or last one. Of the older formats the first is not known here.
      if (batch !== undefined && (batch.magic < 2 || batch.baseOffset <= key)) {
        batches.position = position;
        return batches;
      }
    } catch (error) {
      if (!(error instanceof CorruptRecordError)) throw error;
    }
    return this.scan();
  }

  /** Takes note of a batch that lies at `position`, behind all others. */
  #note(batch: AppendedBatch, position: number): void {
    this.#raiseMax(batch);
    if (this.#bytesSinceEntry > this.#options.indexIntervalBytes) {
      this.#offsetIndex.add(batch.lastOffset, position);
      this.#timeIndex.maybeAdd(this.#max);
      this.#bytesSinceEntry = 0;
    }
    this.#bytesSinceEntry += batch.size;
  }

  #raiseMax({ lastOffset, maxTimestamp }: AppendedBatch): void {
    if (maxTimestamp > this.#max.timestamp) this.#max = { timestamp: maxTimestamp, offset: lastOffset };
  }

  /** Takes the timestamps of all that follows into account, and answers the offset behind it. */
  async #raiseMaxFrom(batches: BatchScanner): Promise<number> {
    let end = this.baseOffset;
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      end = batch.lastOffset + 1;
      this.#raiseMax(batch);
    }
    return end;
  }

  /** The offset behind the batch that ends at `position`. */
  async #endBefore(position: number): Promise<number> {
    const batches = this.scan(0, position);
    let end = this.baseOffset;
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      end = batch.lastOffset + 1;
    }
    return end;
  }

  /** Where the whole and right batches end, and the offset behind them. */
  async #intactEnd(fileSize: number, crc32c: Crc32c): Promise<{ end: number; nextOffset: number }> {
    let end = 0;
    let nextOffset = this.baseOffset;
    // Reading each batch by itself takes four times as long at 1 KB.
    const window = new FileWindow(this.#log, WINDOW_BYTES);
    while (end < fileSize) {
      const left = fileSize - end;
      const header = this.#headerIn(await window.bytes(end, Math.min(left, RECORD_BATCH_OVERHEAD)), end, left);
      if (header === undefined || header.size > this.#options.maxBatchBytes) break;
      const bytes = await window.bytes(end, header.size);
      if (bytes.length < header.size || !isIntact(bytes, crc32c)) break;
      if (header.baseOffset < nextOffset || !this.takes(header.lastOffset)) {
        const { baseOffset: offset, position } = header;
        throw this.#refusal(end, nextOffset, `is followed by a right batch with offset ${offset}`, {
          offset,
          position,
        });
      }
      end += header.size;
      nextOffset = header.lastOffset + 1;
    }
    return { end, nextOffset };
  }

  /** The header that `bytes` begin with; undefined when there is no batch, be it the end or damage. */
  #headerIn(bytes: Uint8Array, position: number, left: number): BatchHeader | undefined {
    if (bytes.length < Math.min(left, RECORD_BATCH_OVERHEAD)) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      return headerAt(view, 0, position, left, this.#context);
    } catch (error) {
      if (error instanceof CorruptRecordError) return undefined;
      throw error;
    }
  }

  #refusal(
    end: number,
    nextOffset: number,
    what: string,
    batch: { readonly offset: number; readonly position: number },
  ): CorruptRecordError {
    const { topic, partition } = this.#options.context;
    return new CorruptRecordError(
      `${this.file} at byte ${end}, where offset ${nextOffset} is due, ${what} at byte ${batch.position}: ` +
        `cutting the file would lose it, so the log is not opened to write. Mode "inspect" reads what is before the damage.`,
      {
        code: DAMAGED_SEGMENT,
        file: this.file,
        position: end,
        offset: nextOffset,
        ...(topic === undefined ? {} : { topic }),
        ...(partition === undefined ? {} : { partition }),
      },
    );
  }

  #brokenError(): StorageError {
    return new StorageError(
      `${this.file}: an earlier append failed and could not be undone, so nothing more is appended; open the log again`,
      { code: "LOG_BROKEN", file: this.file, cause: this.#broken },
    );
  }

  async #writeIndexes(): Promise<void> {
    await this.#offsetIndex.write();
    await this.#timeIndex.write();
  }
}

const DAMAGED_SEGMENT = "DAMAGED_SEGMENT";
