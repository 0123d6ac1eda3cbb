/**
 * The log of one partition: its segments in order, what may be read of them, and where the next batch goes. It alone moves
 * its end offset.
 *
 * `"inspect"` opens a folder to read and never changes it. `"write"` checks the last segment batch by batch, cuts off what
 * a crash left unfinished, and takes appends.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { ClosedError, KafkaError, ProtocolError, StorageError } from "../core/kafka_error.ts";
import { type Crc32c, crc32c as plainCrc32c } from "../hash/crc32c.ts";
import type { Batch } from "../records/batch.ts";
import type { Record } from "../records/record.ts";
import { RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { BatchHeader } from "./batch_scanner.ts";
import type { FileRecords } from "./file_records.ts";
import { writeTextFile } from "./checkpoint_file.ts";
import { type LeaderEpoch, LeaderEpochs } from "./leader_epochs.ts";
import { LogSegment } from "./log_segment.ts";
import type { Storage } from "./storage.ts";

/** How a log is opened. */
export interface LogOptions {
  /** `"inspect"` only reads; `"write"` recovers the tail and takes appends. */
  readonly mode: "inspect" | "write";
  /** Topic, for messages and records. */
  readonly topic?: string;
  /** Partition, for messages and records. */
  readonly partition?: number;
  /** Topic id to keep in `partition.metadata`: 22 characters of base64url. */
  readonly topicId?: string;
  /** Bytes at which a new segment is begun. Default 1 GiB. Kafka: `segment.bytes`. */
  readonly segmentBytes?: number;
  /** Bytes of batches between two index entries. Default 4096. Kafka: `index.interval.bytes`. */
  readonly indexIntervalBytes?: number;
  /** Most bytes of one index file. Default 10 MiB. Kafka: `segment.index.bytes`. */
  readonly segmentIndexBytes?: number;
  /** First visible offset, where it is not that of the first segment. */
  readonly logStartOffset?: number;
  /** Checksum to use; a plain one when absent. */
  readonly crc32c?: Crc32c;
}

/** How much a read may answer. */
export interface ReadOptions {
  /** Most bytes. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Whether the first batch is read even when it alone is larger. Default true. */
  readonly minOneBatch?: boolean;
  /** Whether to read to the end of the log, or only what is replicated. Default the high watermark. */
  readonly isolation?: "log-end" | "high-watermark";
}

/** What a read answers. */
export interface LogRead {
  /** The bytes, on a batch boundary at the front; undefined when there is nothing to read yet. */
  readonly records: FileRecords | undefined;
  /** Base offset of the segment they are in; −1 without any. */
  readonly segmentBaseOffset: number;
  /** First offset of the first batch, which may lie before the one asked for; −1 without any. */
  readonly firstOffset: number;
}

/** What an append answers. */
export interface LogAppend {
  /** Offset of the first record. */
  readonly baseOffset: number;
  /** Offset of the last record. */
  readonly lastOffset: number;
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

/** From where to where to walk. */
export interface RangeOptions {
  /** First offset; the log's start when absent. */
  readonly from?: number;
  /** First offset not wanted; the log's end when absent. */
  readonly until?: number;
  /** Codecs for compressed batches. */
  readonly codecs?: Codecs;
}

/** Timestamps that ask for a place instead of a time, as in ListOffsets. */
export const LIST_OFFSETS_TIMESTAMPS = { latest: -1, earliest: -2, max: -3, earliestLocal: -4 } as const;

const INT32_MAX = 2 ** 31 - 1;
const WINDOW_BYTES = 1024 * 1024;

/** The log of one partition. */
export class Log {
  readonly #storage: Storage;
  readonly #options: Required<
    Pick<LogOptions, "mode" | "segmentBytes" | "segmentIndexBytes" | "indexIntervalBytes" | "crc32c">
  >;
  readonly #context: RecordContext;
  readonly #segments: LogSegment[] = [];
  #epochs: LeaderEpochs;
  #logStartOffset = 0;
  #logEndOffset = 0;
  #highWatermark = 0;
  #recoveredBytes = 0;
  /** The last append; the next one waits for it, so that batches never mix. */
  #appending: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(storage: Storage, options: LogOptions) {
    this.#storage = storage;
    this.#epochs = LeaderEpochs.empty(storage);
    this.#options = {
      mode: options.mode,
      segmentBytes: options.segmentBytes ?? 1024 * 1024 * 1024,
      segmentIndexBytes: options.segmentIndexBytes ?? 10 * 1024 * 1024,
      indexIntervalBytes: options.indexIntervalBytes ?? 4096,
      crc32c: options.crc32c ?? plainCrc32c,
    };
    const { topic, partition } = options;
    this.#context = { ...(topic === undefined ? {} : { topic }), ...(partition === undefined ? {} : { partition }) };
  }

  /**
   * Opens the log in `storage`, a partition's folder.
   *
   * @throws StorageError; with `"inspect"` a folder without any `.log` is one with code `"NO_SEGMENTS"`.
   */
  static async open(storage: Storage, options: LogOptions): Promise<Log> {
    const log = new Log(storage, options);
    await log.#load(options);
    return log;
  }

  /** First visible offset. */
  get logStartOffset(): number {
    return this.#logStartOffset;
  }

  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.#logEndOffset;
  }

  /** First offset that is not replicated yet; with one replica the end. */
  get highWatermark(): number {
    return this.#highWatermark;
  }

  /** Bytes that were cut off when the log was opened to write, since they were no whole, right batch. */
  get recoveredBytes(): number {
    return this.#recoveredBytes;
  }

  /** The segments in order. */
  get segments(): readonly LogSegment[] {
    return this.#segments;
  }

  /** Bytes of all batches. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.size, 0);
  }

  /** Leader epochs and where they began, in order. */
  get leaderEpochs(): readonly LeaderEpoch[] {
    return this.#epochs.entries;
  }

  /**
   * Appends the v2 batches in `bytes`, which get the next offsets and `leaderEpoch`, stamped in place. Their checksums are
   * the caller's to check.
   *
   * @throws CorruptRecordError, ProtocolError for bytes that are not whole batches; StorageError.
   */
  append(bytes: Uint8Array, leaderEpoch = 0): Promise<LogAppend> {
    const append = this.#appending.then(() => this.#append(bytes, leaderEpoch));
    this.#appending = append.catch(() => {}); // told to whoever appended
    return append;
  }

  /**
   * Reads from `offset` on: the floor segment, the floor of its offset index, then batch headers up to the one wanted.
   *
   * @throws KafkaError with code `"OFFSET_OUT_OF_RANGE"` below the start or above the end; CorruptRecordError.
   */
  async read(offset: number, options: ReadOptions = {}): Promise<LogRead> {
    this.#throwIfClosed();
    if (offset < this.#logStartOffset || offset > this.#logEndOffset) throw this.#outOfRange(offset);
    const bound = options.isolation === "log-end" ? this.#logEndOffset : this.#highWatermark;
    const nothing: LogRead = { records: undefined, segmentBaseOffset: -1, firstOffset: -1 };
    if (offset >= bound) return nothing;
    const { maxBytes = WINDOW_BYTES, minOneBatch = true } = options;
    for (let i = this.#floorSegment(offset); i < this.#segments.length; i++) {
      const segment = this.#segments[i]!;
      const end = await this.#positionOf(segment, bound);
      const read = await segment.read(offset, maxBytes, end, minOneBatch);
      if (read === undefined) continue; // everything at and above was compacted away here
      return { records: read.records, segmentBaseOffset: segment.baseOffset, firstOffset: read.firstBatch.baseOffset };
    }
    return nothing;
  }

  /**
   * The first record in order of offsets with a timestamp ≥ `timestamp`, or the place that a negative one asks for
   * ({@linkcode LIST_OFFSETS_TIMESTAMPS}); undefined when there is none.
   */
  async offsetForTimestamp(timestamp: number, codecs: Codecs = {}): Promise<TimestampedOffset | undefined> {
    this.#throwIfClosed();
    const { earliest, earliestLocal, latest, max } = LIST_OFFSETS_TIMESTAMPS;
    switch (timestamp) {
      case earliest:
      case earliestLocal: {
        const first = this.#epochs.entries[0];
        const leaderEpoch = first !== undefined && first.startOffset <= this.#logStartOffset ? first.epoch : -1;
        return { offset: this.#logStartOffset, timestamp: -1, leaderEpoch };
      }
      case latest:
        return { offset: this.#highWatermark, timestamp: -1, leaderEpoch: this.#epochs.latest };
      case max:
        return await this.#offsetOfMaxTimestamp(codecs);
      default:
        return await this.#offsetAtTimestamp(timestamp, codecs);
    }
  }

  /** Walks whole batches in order, reading windows of about 1 MiB. */
  async *batches(range: RangeOptions = {}): AsyncGenerator<Batch, void, undefined> {
    const until = Math.min(range.until ?? Infinity, this.#logEndOffset);
    for (let next = Math.max(range.from ?? 0, this.#logStartOffset); next < until;) {
      const { records } = await this.read(next, { isolation: "log-end", maxBytes: WINDOW_BYTES });
      if (records === undefined) return;
      const before = next;
      for (const batch of await records.batches()) {
        if (batch.lastOffset < next) continue;
        if (batch.baseOffset >= until) return;
        yield batch;
        next = batch.lastOffset + 1;
      }
      if (next === before) return;
    }
  }

  /** Walks records in order; those of control batches are left out, as a consumer does. */
  async *records(range: RangeOptions = {}): AsyncGenerator<Record, void, undefined> {
    const from = range.from ?? 0;
    const until = range.until ?? Infinity;
    for await (const batch of this.batches(range)) {
      if (batch.isControl) continue;
      for (const record of batch.records({ codecs: range.codecs })) {
        if (record.offset >= from && record.offset < until) yield record;
      }
    }
  }

  /** Resolves once everything appended is on the disk. */
  async flush(): Promise<void> {
    await this.#appending;
    await this.#segments.at(-1)?.flush();
  }

  /** Ends the log: indexes complete, files on the disk and released. Safe to repeat. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#appending;
    if (this.#options.mode === "write") await this.#segments.at(-1)?.seal();
    for (const segment of this.#segments) await segment.close();
  }

  async #load(options: LogOptions): Promise<void> {
    const names = await this.#storage.list();
    const bases = names.flatMap((name) => /^(\d{20})\.log$/.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
    const writable = this.#options.mode === "write";
    if (bases.length === 0) {
      if (!writable) {
        throw new StorageError("the folder holds no segment: there is no file like 00000000000000000000.log in it", {
          code: "NO_SEGMENTS",
          ...this.#context,
        });
      }
      bases.push(options.logStartOffset ?? 0);
    }
    for (const base of bases) this.#segments.push(await this.#openSegment(base, writable));
    this.#epochs = await LeaderEpochs.load(this.#storage);
    const last = this.#segments.at(-1)!;
    if (writable) {
      this.#recoveredBytes = await last.recover(this.#options.crc32c);
      if (options.topicId !== undefined && !names.includes("partition.metadata")) {
        await writeTextFile(this.#storage, "partition.metadata", `version: 0\ntopic_id: ${options.topicId}`);
      }
    }
    this.#logEndOffset = this.#highWatermark = await last.findEnd();
    this.#logStartOffset = Math.max(bases[0]!, options.logStartOffset ?? 0);
  }

  #openSegment(baseOffset: number, create: boolean): Promise<LogSegment> {
    return LogSegment.open({
      storage: this.#storage,
      baseOffset,
      writable: this.#options.mode === "write",
      segmentIndexBytes: this.#options.segmentIndexBytes,
      indexIntervalBytes: this.#options.indexIntervalBytes,
      context: this.#context,
    }, create);
  }

  async #append(bytes: Uint8Array, leaderEpoch: number): Promise<LogAppend> {
    this.#throwIfClosed();
    if (this.#options.mode !== "write") throw new StorageError("the log was opened to inspect it, not to write");
    const baseOffset = this.#logEndOffset;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const batches: RecordBatch[] = [];
    let next = baseOffset;
    for (let at = 0; at < bytes.length;) {
      const batch = new RecordBatch(bytes, this.#context, at, view);
      // Offset and epoch lie outside the checksum, so that a broker can stamp both.
      view.setInt32(at, Math.floor(next / 4294967296));
      view.setInt32(at + 4, next | 0);
      view.setInt32(at + 12, leaderEpoch);
      next = batch.lastOffset + 1;
      if (!Number.isSafeInteger(next)) throw this.#tooFar(next);
      batches.push(batch);
      at += batch.size;
    }
    if (batches.length === 0) throw new ProtocolError("append of no batch", { code: "EMPTY_APPEND", ...this.#context });
    await this.#epochs.assign(leaderEpoch, baseOffset);
    for (const batch of batches) {
      const segment = await this.#segmentFor(batch);
      const { lastOffset, maxTimestamp } = batch;
      await segment.append(batch.bytes, { lastOffset, maxTimestamp });
      this.#logEndOffset = this.#highWatermark = lastOffset + 1;
    }
    return { baseOffset, lastOffset: next - 1 };
  }

  /** The segment that takes `batch`: the last, or a new one when it is full. */
  async #segmentFor(batch: RecordBatch): Promise<LogSegment> {
    const last = this.#segments.at(-1)!;
    const isFull = last.size > this.#options.segmentBytes - batch.size || last.isIndexFull;
    // Index entries hold offsets relative to the segment's, in 32 bits, and positions likewise.
    const isFar = batch.lastOffset - last.baseOffset > INT32_MAX || last.size + batch.size > INT32_MAX;
    if (last.size === 0 || (!isFull && !isFar)) return last;
    await last.seal();
    const segment = await this.#openSegment(this.#logEndOffset, true);
    this.#segments.push(segment);
    return segment;
  }

  /** The index of the segment with the greatest base offset ≤ `offset`. */
  #floorSegment(offset: number): number {
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#segments[middle]!.baseOffset <= offset) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Where reading of `segment` must stop so that nothing at or above `bound` is answered. */
  async #positionOf(segment: LogSegment, bound: number): Promise<number> {
    if (bound >= this.#logEndOffset) return segment.size;
    const { position } = segment.offsetIndex.floor(bound);
    const batches = segment.scan(position);
    for (let batch = await batches.next(); batch !== undefined; batch = await batches.next()) {
      if (batch.lastOffset >= bound) return batch.position;
    }
    return segment.size;
  }

  async #offsetAtTimestamp(timestamp: number, codecs: Codecs): Promise<TimestampedOffset | undefined> {
    for (const segment of this.#segments) {
      if (segment.maxTimestamp < timestamp) continue;
      const from = Math.max(segment.timeIndex.floor(timestamp).offset, this.#logStartOffset);
      const { position } = segment.offsetIndex.floor(from);
      const headers = segment.scan(position);
      for (let header = await headers.next(); header !== undefined; header = await headers.next()) {
        if (header.maxTimestamp < timestamp) continue;
        const found = await this.#recordAt(
          segment,
          header,
          codecs,
          (record) => record.timestamp >= timestamp && record.offset >= this.#logStartOffset,
        );
        if (found !== undefined) return found.offset < this.#highWatermark ? found : undefined;
      }
      return undefined;
    }
    return undefined;
  }

  async #offsetOfMaxTimestamp(codecs: Codecs): Promise<TimestampedOffset | undefined> {
    let newest: LogSegment | undefined;
    for (const segment of this.#segments) {
      if (segment.size > 0 && segment.maxTimestamp > (newest?.maxTimestamp ?? -1)) newest = segment;
    }
    if (newest === undefined) return undefined;
    const { maxTimestamp } = newest;
    const headers = newest.scan();
    for (let header = await headers.next(); header !== undefined; header = await headers.next()) {
      if (header.maxTimestamp !== maxTimestamp) continue;
      return await this.#recordAt(newest, header, codecs, (record) => record.timestamp === maxTimestamp);
    }
    return undefined;
  }

  async #recordAt(
    segment: LogSegment,
    header: BatchHeader,
    codecs: Codecs,
    matches: (record: Record) => boolean,
  ): Promise<TimestampedOffset | undefined> {
    const batch = await segment.batch(header);
    const record = batch.records({ codecs }).find(matches);
    if (record === undefined) return undefined;
    return { offset: record.offset, timestamp: record.timestamp, leaderEpoch: header.partitionLeaderEpoch };
  }

  #outOfRange(offset: number): KafkaError {
    return new KafkaError(
      `${this.#text()}offset ${offset} is outside the log, which holds ${this.#logStartOffset} to ${this.#logEndOffset}`,
      { code: "OFFSET_OUT_OF_RANGE", offset, ...this.#context },
    );
  }

  #tooFar(offset: number): KafkaError {
    return new KafkaError(`${this.#text()}offset ${offset} would be beyond 2^53−1`, {
      code: "OFFSET_TOO_LARGE",
      ...this.#context,
    });
  }

  #text(): string {
    const { topic, partition } = this.#context;
    return topic === undefined ? "" : `${topic}-${partition}: `;
  }

  #throwIfClosed(): void {
    if (this.#closed) throw new ClosedError(`${this.#text()}the log is closed`, { ...this.#context });
  }
}
