/**
 * One segment of a log: the `.log` file with its batches and the two sparse indexes beside it. It stores and finds; what
 * goes where is for the {@linkcode Log} above to decide.
 *
 * @module
 */

import type { Crc32c } from "../hash/crc32c.ts";
import { CorruptRecordError, StorageError } from "../core/kafka_error.ts";
import { RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type BatchHeader, batchScanner } from "./batch_scanner.ts";
import { FileSlice } from "./file_slice.ts";
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
  /** Topic and partition for messages. */
  readonly context: RecordContext;
}

/** What a read of a segment found. */
export interface SegmentRead {
  /** The bytes: whole batches, but the last may be cut. */
  readonly slice: FileSlice;
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

/** One segment. */
export class LogSegment {
  readonly #options: LogSegmentOptions;
  readonly #log: StoredFile;
  #indexFile: StoredFile | undefined;
  #timeIndexFile: StoredFile | undefined;
  #offsetIndex: OffsetIndex;
  #timeIndex: TimeIndex;
  #size: number;
  #pendingEntries: Uint8Array[] = [];
  #pendingTimeEntries: Uint8Array[] = [];
  #bytesSinceEntry = 0;
  #maxTimestamp = -1;
  #maxTimestampOffset = -1;

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
    const { storage, baseOffset } = options;
    const log = await storage.open(segmentFileName(baseOffset, "log"), { create });
    const [index, timeIndex] = await Promise.all([
      contentOf(storage, segmentFileName(baseOffset, "index")),
      contentOf(storage, segmentFileName(baseOffset, "timeindex")),
    ]);
    return new LogSegment(options, log, OffsetIndex.parse(index, baseOffset), TimeIndex.parse(timeIndex, baseOffset));
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
    await this.#writeIndexEntries();
  }

  /** Bytes from the batch with `offset` on, or the next above it: at most `maxBytes`, but at least one whole batch with `minOneBatch`. */
  async read(
    offset: number,
    maxBytes: number,
    maxPosition: number,
    minOneBatch: boolean,
  ): Promise<SegmentRead | undefined> {
    const end = Math.min(maxPosition, this.#size);
    const { position } = this.#offsetIndex.floor(offset);
    for await (const batch of this.scan(position, end)) {
      if (batch.lastOffset < offset) continue;
      const limit = minOneBatch ? Math.max(maxBytes, batch.size) : maxBytes;
      const size = Math.min(limit, end - batch.position);
      return { slice: new FileSlice(this.#log, this.file, batch.position, size), firstBatch: batch };
    }
    return undefined;
  }

  /** The headers of its batches from `position` on. */
  scan(position = 0, end: number = this.#size): AsyncGenerator<BatchHeader, void, undefined> {
    return batchScanner(this.#log, this.#context(), position, end);
  }

  /** The whole batch that begins at `position`. */
  async batchAt({ position, size }: BatchHeader): Promise<RecordBatch> {
    const bytes = await new FileSlice(this.#log, this.file, position, size).bytes();
    return new RecordBatch(bytes, { ...this.#context(), position });
  }

  /** The offset behind the last whole batch, found from the last index entry on; `size` is set to where it ends. */
  async findEnd(): Promise<number> {
    let end = this.baseOffset;
    let valid = this.#offsetIndex.last?.position ?? 0;
    for await (const batch of this.scan(valid)) {
      end = batch.lastOffset + 1;
      valid = batch.position + batch.size;
      this.#raiseMaxTimestamp(batch);
    }
    this.#size = valid;
    return end;
  }

  /**
   * Checks every batch, builds the indexes anew, and cuts the file behind the last batch that is whole and right. Answers
   * the bytes cut off.
   */
  async recover(crc32c: Crc32c): Promise<number> {
    const fileSize = this.#log.size;
    this.#offsetIndex = new OffsetIndex(this.baseOffset);
    this.#timeIndex = new TimeIndex(this.baseOffset);
    this.#maxTimestamp = this.#maxTimestampOffset = -1;
    this.#pendingEntries = [];
    this.#pendingTimeEntries = [];
    this.#bytesSinceEntry = 0;
    let valid = 0;
    let nextOffset = this.baseOffset;
    try {
      for await (const header of this.scan(0, fileSize)) {
        if (header.baseOffset < nextOffset) break;
        (await this.batchAt(header)).verifyCrc(crc32c);
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
    await this.#rewriteIndexes();
    return fileSize - valid;
  }

  /** Ends writing: the greatest timestamp gets its entry, and everything is on the disk. */
  async seal(): Promise<void> {
    this.#addTimeEntry();
    await this.#writeIndexEntries();
    await this.flush();
  }

  /** Resolves once everything is on the disk. */
  async flush(): Promise<void> {
    await this.#log.sync();
    await this.#indexFile?.sync();
    await this.#timeIndexFile?.sync();
  }

  /** Releases the files. */
  async close(): Promise<void> {
    await this.#log.close();
    await this.#indexFile?.close();
    await this.#timeIndexFile?.close();
  }

  #context(): RecordContext {
    return { ...this.#options.context, file: this.file };
  }

  /** Takes note of a batch behind all others; an index entry comes before the batch that makes one due. */
  #note({ position, size, lastOffset, maxTimestamp }: Omit<BatchHeader, "baseOffset" | "leaderEpoch">): void {
    this.#raiseMaxTimestamp({ lastOffset, maxTimestamp });
    if (this.#bytesSinceEntry > this.#options.indexIntervalBytes) {
      this.#addEntry(lastOffset, position);
      this.#bytesSinceEntry = 0;
    }
    this.#bytesSinceEntry += size;
  }

  #raiseMaxTimestamp({ lastOffset, maxTimestamp }: Pick<BatchHeader, "lastOffset" | "maxTimestamp">): void {
    if (maxTimestamp <= this.#maxTimestamp) return;
    this.#maxTimestamp = maxTimestamp;
    this.#maxTimestampOffset = lastOffset;
  }

  /** Adds an entry to both indexes. */
  #addEntry(lastOffset: number, position: number): void {
    const entry = this.#offsetIndex.append({ offset: lastOffset, position });
    if (entry !== undefined) this.#pendingEntries.push(entry);
    this.#addTimeEntry();
  }

  #addTimeEntry(): void {
    const entry = this.#timeIndex.append({ timestamp: this.#maxTimestamp, offset: this.#maxTimestampOffset });
    if (entry !== undefined) this.#pendingTimeEntries.push(entry);
  }

  /** Writes the entries that the files do not have yet. */
  async #writeIndexEntries(): Promise<void> {
    const { storage, baseOffset } = this.#options;
    if (this.#pendingEntries.length > 0) {
      this.#indexFile ??= await storage.open(segmentFileName(baseOffset, "index"), { create: true });
      await this.#indexFile.append(this.#pendingEntries);
      this.#pendingEntries = [];
    }
    if (this.#pendingTimeEntries.length > 0) {
      this.#timeIndexFile ??= await storage.open(segmentFileName(baseOffset, "timeindex"), { create: true });
      await this.#timeIndexFile.append(this.#pendingTimeEntries);
      this.#pendingTimeEntries = [];
    }
  }

  async #rewriteIndexes(): Promise<void> {
    const { storage, baseOffset } = this.#options;
    this.#indexFile ??= await storage.open(segmentFileName(baseOffset, "index"), { create: true });
    this.#timeIndexFile ??= await storage.open(segmentFileName(baseOffset, "timeindex"), { create: true });
    await this.#indexFile.truncate(0);
    await this.#timeIndexFile.truncate(0);
    await this.#writeIndexEntries();
  }
}

/** The content of a file, or nothing when it is not there. */
async function contentOf(storage: Storage, name: string): Promise<Uint8Array> {
  let file: StoredFile;
  try {
    file = await storage.open(name);
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return new Uint8Array(0);
    throw error;
  }
  try {
    const bytes = new Uint8Array(file.size);
    return bytes.subarray(0, await file.readAt(bytes, 0));
  } finally {
    await file.close();
  }
}
