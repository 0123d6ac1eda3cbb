/**
 * One segment of a log: the `.log` file with its batches and the two sparse indexes beside it. It stores and finds; what
 * goes where is for the {@linkcode Log} above to decide.
 *
 * @module
 */

import type { Crc32c } from "../hash/crc32c.ts";
import { CorruptRecordError } from "../core/kafka_error.ts";
import type { Batch } from "../records/batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type BatchHeader, BatchScanner } from "./batch_scanner.ts";
import { FileRecords } from "./file_records.ts";
import { OffsetIndex } from "./offset_index.ts";
import type { Storage, StoredFile } from "./storage.ts";
import { TimeIndex } from "./time_index.ts";

/** What a segment needs. */
export interface LogSegmentOptions {
  /** The partition's folder. */
  readonly storage: Storage;
  /** Lower bound of the offsets in it; the number in its file names. */
  readonly baseOffset: number;
  /** Whether it may be written. */
  readonly writable: boolean;
  /** Bytes of batches between two index entries. */
  readonly indexIntervalBytes: number;
  /** Most bytes of one index file. Kafka: `segment.index.bytes`. */
  readonly segmentIndexBytes: number;
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
export interface AppendInfo {
  /** Offset of its last record. */
  readonly lastOffset: number;
  /** Greatest timestamp in it. */
  readonly maxTimestamp: number;
}

/** The number in a segment's file names: 20 digits. */
export function segmentFileName(baseOffset: number, suffix: "log" | "index" | "timeindex"): string {
  return `${String(baseOffset).padStart(20, "0")}.${suffix}`;
}

/** Least bytes of a batch in any format: no segment has more index entries than batches. */
const MIN_BATCH_SIZE = 26;

/** One segment. */
export class LogSegment {
  readonly #options: LogSegmentOptions;
  readonly #log: StoredFile;
  readonly #offsetIndex: OffsetIndex;
  readonly #timeIndex: TimeIndex;
  #size: number;
  #bytesSinceEntry = 0;
  #maxTimestamp: number;
  #maxTimestampOffset: number;

  private constructor(options: LogSegmentOptions, log: StoredFile, offsetIndex: OffsetIndex, timeIndex: TimeIndex) {
    this.#options = options;
    this.#log = log;
    this.#offsetIndex = offsetIndex;
    this.#timeIndex = timeIndex;
    this.#size = log.size;
    this.#maxTimestamp = timeIndex.last.timestamp;
    this.#maxTimestampOffset = timeIndex.last.offset;
  }

  /** Opens the segment's files; missing indexes count as empty. With `create`, a missing `.log` is made. */
  static async open(options: LogSegmentOptions, create = false): Promise<LogSegment> {
    const { storage, baseOffset, segmentIndexBytes: maxBytes, writable } = options;
    const log = await storage.open(segmentFileName(baseOffset, "log"), { create });
    // A segment that is being written may grow, so its size says nothing of how many entries can be genuine later.
    const indexOptions = { writable, maxBytes, plausibleEntries: Math.ceil(log.size / MIN_BATCH_SIZE) + 1 };
    const offsetIndex = await OffsetIndex.open(storage, segmentFileName(baseOffset, "index"), baseOffset, indexOptions);
    const timeName = segmentFileName(baseOffset, "timeindex");
    return new LogSegment(options, log, offsetIndex, await TimeIndex.open(storage, timeName, baseOffset, indexOptions));
  }

  /** Lower bound of the offsets in it. */
  get baseOffset(): number {
    return this.#options.baseOffset;
  }

  /** Bytes of batches. */
  get size(): number {
    return this.#size;
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

  /** Greatest timestamp in it; −1 when none is known. */
  get maxTimestamp(): number {
    return this.#maxTimestamp;
  }

  /**
   * Appends one batch.
   *
   * @throws StorageError; a torn tail is cut off again.
   */
  async append(bytes: Uint8Array, { lastOffset, maxTimestamp }: AppendInfo): Promise<void> {
    const position = this.#size;
    try {
      await this.#log.append([bytes]);
    } catch (cause) {
      await this.#log.truncate(position).catch(() => {}); // the first failure is the one to tell
      throw cause;
    }
    this.#size += bytes.length;
    this.#note({ position, size: bytes.length, lastOffset, maxTimestamp });
    await this.#writeIndexes();
  }

  /** Bytes from the batch with `offset` on, or the next above it: at most `maxBytes`, but at least one whole batch with `minOneBatch`. */
  async read(
    offset: number,
    maxBytes: number,
    maxPosition: number,
    minOneBatch: boolean,
  ): Promise<SegmentRead | undefined> {
    const end = Math.min(maxPosition, this.#size);
    const batches = this.scan(this.#offsetIndex.floor(offset).position, end);
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      if (batch.lastOffset < offset) continue;
      const limit = minOneBatch ? Math.max(maxBytes, batch.size) : maxBytes;
      const size = Math.min(limit, end - batch.position);
      return { records: new FileRecords(this.#log, batch.position, size, this.#context()), firstBatch: batch };
    }
    return undefined;
  }

  /** The headers of its batches from `position` on. */
  scan(position = 0, end: number = this.#size): BatchScanner {
    return new BatchScanner(this.#log, position, end, this.#context());
  }

  /** The whole batch with `header`. */
  batch({ position, size }: BatchHeader): Promise<Batch> {
    return new FileRecords(this.#log, position, size, this.#context()).batch();
  }

  /** The offset behind the last whole batch, found from the last index entry on; `size` is set to where it ends. */
  async findEnd(): Promise<number> {
    let end = this.baseOffset;
    const { entries } = this.#offsetIndex;
    const batches = this.scan(entries === 0 ? 0 : this.#offsetIndex.entry(entries - 1).position);
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      end = batch.lastOffset + 1;
      this.#raiseMaxTimestamp(batch);
    }
    this.#size = batches.position;
    return end;
  }

  /**
   * Checks every batch, builds the indexes anew, and cuts the file behind the last batch that is whole and right. Answers
   * the bytes cut off.
   */
  async recover(crc32c: Crc32c): Promise<number> {
    const fileSize = this.#log.size;
    await this.#offsetIndex.truncateEntries(0);
    await this.#timeIndex.truncateEntries(0);
    this.#maxTimestamp = this.#maxTimestampOffset = -1;
    this.#bytesSinceEntry = 0;
    let valid = 0;
    let nextOffset = this.baseOffset;
    try {
      const batches = this.scan(0, fileSize);
      for (let header = await batches.next(); header !== undefined; header = await batches.next()) {
        if (header.baseOffset < nextOffset) break;
        (await this.batch(header)).verifyCrc(crc32c);
        this.#note(header);
        valid = header.position + header.size;
        nextOffset = header.lastOffset + 1;
      }
    } catch (error) {
      if (!(error instanceof CorruptRecordError)) throw error;
    }
    if (valid < fileSize) await this.#log.truncate(valid);
    this.#size = valid;
    this.#bytesSinceEntry = 0; // as after any start of a broker
    await this.#writeIndexes();
    return fileSize - valid;
  }

  /** Ends writing: the greatest timestamp gets its entry, and everything is on the disk. */
  async seal(): Promise<void> {
    this.#addTimeEntry();
    await this.flush();
  }

  /** Resolves once everything is on the disk. */
  async flush(): Promise<void> {
    await this.#log.sync();
    await this.#offsetIndex.sync();
    await this.#timeIndex.sync();
  }

  /** Releases the files. */
  async close(): Promise<void> {
    await this.#log.close();
    await this.#offsetIndex.close();
    await this.#timeIndex.close();
  }

  #context(): RecordContext {
    return { ...this.#options.context, file: this.file };
  }

  /** Takes note of a batch behind all others; an index entry comes before the batch that makes one due. */
  #note(
    { position, size, lastOffset, maxTimestamp }: Pick<
      BatchHeader,
      "position" | "size" | "lastOffset" | "maxTimestamp"
    >,
  ): void {
    this.#raiseMaxTimestamp({ lastOffset, maxTimestamp });
    if (this.#bytesSinceEntry > this.#options.indexIntervalBytes) {
      this.#offsetIndex.add(lastOffset, position);
      this.#addTimeEntry();
      this.#bytesSinceEntry = 0;
    }
    this.#bytesSinceEntry += size;
  }

  #raiseMaxTimestamp({ lastOffset, maxTimestamp }: Pick<BatchHeader, "lastOffset" | "maxTimestamp">): void {
    if (maxTimestamp <= this.#maxTimestamp) return;
    this.#maxTimestamp = maxTimestamp;
    this.#maxTimestampOffset = lastOffset;
  }

  #addTimeEntry(): void {
    if (this.#maxTimestamp >= 0) {
      this.#timeIndex.maybeAdd({ timestamp: this.#maxTimestamp, offset: this.#maxTimestampOffset });
    }
  }

  async #writeIndexes(): Promise<void> {
    await this.#offsetIndex.write();
    await this.#timeIndex.write();
  }
}
