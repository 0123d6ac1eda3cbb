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
import { type Clock, systemClock } from "../core/clock.ts";
import { ClosedError, KafkaError, ProtocolError, StorageError } from "../core/kafka_error.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { type Crc32c, crc32c as plainCrc32c } from "../hash/crc32c.ts";
import type { Batch } from "../records/batch.ts";
import type { Record } from "../records/record.ts";
import { RECORD_BATCH_FIELDS, RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { FileRecords } from "./file_records.ts";
import { type LeaderEpoch, LeaderEpochs } from "./leader_epochs.ts";
import { LogSegment, segmentFileName, type TimestampedOffset } from "./log_segment.ts";
import { readPartitionMetadata, writePartitionMetadata } from "./partition_metadata.ts";
import type { Storage } from "./storage.ts";

export type { Batch, DecodeOptions } from "../records/batch.ts";
export type { Record } from "../records/record.ts";
export type { RecordBatches } from "../records/record_batches.ts";
export type { BatchHeader, BatchScanner } from "./batch_scanner.ts";
export type { FileRecords } from "./file_records.ts";
export type { LeaderEpoch } from "./leader_epochs.ts";
export type { AppendedBatch, LogSegment, SegmentRead, TimestampedOffset } from "./log_segment.ts";
export type { OffsetIndex, OffsetPosition } from "./offset_index.ts";
export type { Storage, StorageTree, StoredFile } from "./storage.ts";
export type { TimeIndex, TimestampOffset } from "./time_index.ts";

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
  /**
   * How long a segment takes batches, told by their timestamps, or by the clock where they have none. Default 7 days.
   * Kafka: `segment.ms`.
   */
  readonly segmentMs?: number;
  /** Most bytes of a batch that is read whole. Default 100 MiB, the most that a broker takes in one request. */
  readonly maxBatchBytes?: number;
  /** First visible offset, where it is not that of the first segment. */
  readonly logStartOffset?: number;
  /** First offset not to be read yet; the end of the log when absent. */
  readonly highWatermark?: number;
  /** Whether the log was closed in order, so that `"write"` need not check the last segment. Default false. */
  readonly cleanShutdown?: boolean;
  /** Checksum to use; a plain one when absent. */
  readonly crc32c?: Crc32c;
  /** Where time comes from. */
  readonly clock?: Clock;
  /** Takes what is odd but no failure. */
  readonly logger?: Logger;
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
  /** Base offset of the segment that the offset is in. */
  readonly segmentBaseOffset: number;
  /** Where in that segment the bytes begin; without any, where they would. */
  readonly position: number;
  /** First offset of the first batch, which may lie before the one asked for; −1 without any. */
  readonly firstOffset: number;
  /** Whether not even the first batch is whole, which only happens without `minOneBatch`. */
  readonly firstEntryIncomplete: boolean;
}

/** What an append answers. */
export interface LogAppend {
  /** Offset of the first record. */
  readonly baseOffset: number;
  /** Offset of the last record. */
  readonly lastOffset: number;
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

/** A `.log` is at most this large: index entries hold positions in 32 bits. */
const MAX_SEGMENT_BYTES = 2 ** 31 - 1;
const MIB = 1024 * 1024;
const WINDOW_BYTES = MIB;
const SEGMENT_MS = 7 * 24 * 60 * 60 * 1000;

type Settings = Required<Omit<LogOptions, "topic" | "partition" | "topicId" | "logStartOffset" | "highWatermark">>;

/** The log of one partition. */
export class Log {
  readonly #storage: Storage;
  readonly #settings: Settings;
  readonly #context: RecordContext;
  /** Replaced when one is begun, never changed, so that a read can go on with those it began with. */
  #segments: readonly LogSegment[] = [];
  /** When the last segment was begun, for batches without timestamps. */
  #segmentCreated = 0;
  /** Whether the next append must begin a segment: an attempt failed, and may have left its files behind. */
  #mustRoll = false;
  #epochs: LeaderEpochs;
  #topicId: string | undefined;
  #logStartOffset = 0;
  #logEndOffset = 0;
  #highWatermark = 0;
  #recoveryPoint = 0;
  #recoveredBytes = 0;
  /** The last append; the next one waits for it, so that batches never mix. */
  #appending: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(storage: Storage, options: LogOptions) {
    this.#storage = storage;
    this.#settings = {
      mode: options.mode,
      segmentBytes: options.segmentBytes ?? 1024 * MIB,
      segmentMs: options.segmentMs ?? SEGMENT_MS,
      indexIntervalBytes: options.indexIntervalBytes ?? 4096,
      segmentIndexBytes: options.segmentIndexBytes ?? 10 * MIB,
      maxBatchBytes: options.maxBatchBytes ?? 100 * MIB,
      cleanShutdown: options.cleanShutdown ?? false,
      crc32c: options.crc32c ?? plainCrc32c,
      clock: options.clock ?? systemClock,
      logger: options.logger ?? silentLogger,
    };
    const { topic, partition } = options;
    this.#context = { ...(topic === undefined ? {} : { topic }), ...(partition === undefined ? {} : { partition }) };
    this.#epochs = LeaderEpochs.empty(storage);
  }

  /**
   * Opens the log in `storage`, a partition's folder.
   *
   * @throws StorageError; with `"inspect"` a folder without any `.log` is one with code `"NO_SEGMENTS"`. CorruptRecordError
   * with code `"DAMAGED_SEGMENT"` when `"write"` would have to cut off batches that are right.
   */
  static async open(storage: Storage, options: LogOptions): Promise<Log> {
    const log = new Log(storage, options);
    try {
      await log.#load(options);
    } catch (error) {
      // This is the failure to tell, not what closing half a log may add.
      await log.#closeSegments().catch(() => {});
      throw error;
    }
    return log;
  }

  /** Id of the topic; undefined when the folder does not tell. */
  get topicId(): string | undefined {
    return this.#topicId;
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

  /** First offset that is not known to be on the disk. */
  get recoveryPoint(): number {
    return this.#recoveryPoint;
  }

  /** Bytes that were cut off when the log was opened to write, since they were no whole, right batch. */
  get recoveredBytes(): number {
    return this.#recoveredBytes;
  }

  /** Bytes behind the last whole batch: what a crash left unfinished, or damage. */
  get trailingBytes(): number {
    return this.#segments.at(-1)?.trailingBytes ?? 0;
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
   * Appends the v2 batches in `bytes`, which get the next offsets and `leaderEpoch`, stamped in place: all of them, or none.
   * Their checksums are the caller's to check.
   *
   * @throws CorruptRecordError, ProtocolError for bytes that are not whole batches; KafkaError with code
   * `"RECORD_LIST_TOO_LARGE"` when no segment can hold them; StorageError.
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
    const { maxBytes = WINDOW_BYTES, minOneBatch = true, isolation = "high-watermark" } = options;
    // Taken together, since appends go on meanwhile.
    const [segments, end] = [this.#segments, this.#logEndOffset];
    const bound = isolation === "log-end" ? end : this.#highWatermark;
    if (!(offset >= this.#logStartOffset && offset <= end)) throw this.#outOfRange(offset);
    if (offset >= bound) return this.#emptyRead(segments, offset, end);
    for (let i = floorSegment(segments, offset); i < segments.length; i++) {
      const segment = segments[i]!;
      const endPosition = bound >= end ? segment.size : await positionOf(segment, bound);
      const read = await segment.read(offset, maxBytes, endPosition, minOneBatch);
      if (read === undefined) continue; // everything at and above was compacted away here
      const { records, firstBatch } = read;
      return {
        records: records.size === 0 ? undefined : records,
        segmentBaseOffset: segment.baseOffset,
        position: firstBatch.position,
        firstOffset: records.size === 0 ? -1 : firstBatch.baseOffset,
        firstEntryIncomplete: records.size > 0 && records.size < firstBatch.size,
      };
    }
    return this.#emptyRead(segments, end, end);
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
        const leaderEpoch = this.#epochs.epochFor(this.#logStartOffset);
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
      const { records, segmentBaseOffset } = await this.read(next, { isolation: "log-end", maxBytes: WINDOW_BYTES });
      if (records === undefined) return;
      const before = next;
      // Larger than the window is only a single batch, whose length may be damage.
      const batches = records.size > WINDOW_BYTES
        ? [await records.batch(this.#settings.maxBatchBytes)]
        : await records.batches();
      for (const batch of batches) {
        if (batch.lastOffset < next) continue;
        if (batch.baseOffset >= until) return;
        yield batch;
        next = batch.lastOffset + 1;
      }
      if (next === before) throw this.#stuck(next, segmentBaseOffset, records.position);
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

  /** Resolves once everything appended so far is on the disk. */
  async flush(): Promise<void> {
    await this.#appending;
    const end = this.#logEndOffset;
    // Whatever lies before the last segment was synced when that one was begun.
    if (this.#settings.mode === "write") await this.#segments.at(-1)?.flush();
    this.#recoveryPoint = Math.max(this.#recoveryPoint, end);
  }

  /** Ends the log: indexes complete, files on the disk and released. Safe to repeat. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#appending;
    try {
      if (this.#settings.mode === "write") {
        await this.#segments.at(-1)?.seal();
        this.#recoveryPoint = this.#logEndOffset;
      }
    } finally {
      await this.#closeSegments();
    }
  }

  async #closeSegments(): Promise<void> {
    const closed = await Promise.allSettled(this.#segments.map((segment) => segment.close()));
    for (const result of closed) if (result.status === "rejected") throw result.reason;
  }

  async #load(options: LogOptions): Promise<void> {
    const writable = this.#settings.mode === "write";
    const names = await this.#names(writable);
    if (writable) this.#refuseUnfinished(names);
    const bases = this.#baseOffsets(names);
    if (bases.length === 0) {
      if (!writable) {
        throw new StorageError("the folder holds no segment: there is no file like 00000000000000000000.log in it", {
          code: "NO_SEGMENTS",
          ...this.#context,
        });
      }
      bases.push(options.logStartOffset ?? 0);
    }
    const activeBase = bases.pop()!;
    for (const base of bases) await this.#openSealed(base, names);
    const active = await this.#openSegment(activeBase, writable);
    this.#segmentCreated = this.#settings.clock.wallTime();
    this.#logEndOffset = await this.#endOf(active);
    this.#logStartOffset = Math.max(this.#segments[0]!.baseOffset, options.logStartOffset ?? 0);
    this.#highWatermark = this.#logEndOffset;
    if (options.highWatermark !== undefined) {
      this.#highWatermark = Math.min(Math.max(options.highWatermark, this.#logStartOffset), this.#logEndOffset);
    }
    this.#recoveryPoint = this.#settings.cleanShutdown ? this.#logEndOffset : active.baseOffset;
    await this.#loadEpochs();
    await this.#loadTopicId(options.topicId);
  }

  /** Files of the folder. One that is not there yet will be made by writing. */
  async #names(writable: boolean): Promise<string[]> {
    try {
      return await this.#storage.list();
    } catch (error) {
      if (writable && error instanceof StorageError && error.code === "ENOENT") return [];
      throw error;
    }
  }

  /** The numbers of the segments, ascending. */
  #baseOffsets(names: readonly string[]): number[] {
    const bases: number[] = [];
    for (const name of names) {
      const digits = /^(\d{20})\.log$/.exec(name)?.[1];
      if (digits === undefined) continue;
      const base = Number(digits);
      if (!Number.isSafeInteger(base)) {
        throw new StorageError(`${name}: offsets beyond 2^53−1 cannot be held by a JavaScript number`, {
          code: "UNSAFE_INTEGER",
          file: name,
          ...this.#context,
        });
      }
      bases.push(base);
    }
    return bases.sort((a, b) => a - b);
  }

  /** Such files are half of a replacement of segments: what is appended beside them could go with the other half. */
  #refuseUnfinished(names: readonly string[]): void {
    const name = names.find((name) => name.endsWith(".swap") || name.endsWith(".cleaned"));
    if (name === undefined) return;
    throw new StorageError(
      `${this.#text()}${name} is left of a compaction that a crash interrupted: ` +
        `let a Kafka broker finish it, or open the log with mode "inspect"`,
      { code: "UNFINISHED_COMPACTION", file: name, ...this.#context },
    );
  }

  /** Opens a segment that takes no more batches. Missing indexes are built where that is allowed. */
  async #openSealed(baseOffset: number, names: readonly string[]): Promise<void> {
    const isComplete = names.includes(segmentFileName(baseOffset, "index")) &&
      names.includes(segmentFileName(baseOffset, "timeindex"));
    const rebuild = !isComplete && this.#settings.mode === "write";
    const segment = await this.#openSegment(baseOffset, rebuild);
    if (!rebuild) return;
    await segment.rebuildIndexes();
    await segment.flush();
    await segment.closeIndexes();
  }

  async #openSegment(baseOffset: number, writable: boolean): Promise<LogSegment> {
    const { segmentIndexBytes, indexIntervalBytes, maxBatchBytes } = this.#settings;
    const segment = await LogSegment.open({
      storage: this.#storage,
      baseOffset,
      writable,
      segmentIndexBytes,
      indexIntervalBytes,
      maxBatchBytes,
      context: this.#context,
    });
    this.#segments = [...this.#segments, segment];
    return segment;
  }

  /** The offset behind the last batch; what lies behind it is cut off where that is allowed. */
  async #endOf(active: LogSegment): Promise<number> {
    const { mode, cleanShutdown, crc32c } = this.#settings;
    if (mode === "inspect") return await active.findEnd();
    const end = cleanShutdown ? await active.findEnd() : undefined;
    if (end !== undefined && active.trailingBytes === 0) return end;
    this.#recoveredBytes = await active.recover(crc32c);
    return await active.findEnd();
  }

  async #loadEpochs(): Promise<void> {
    const isWritten = this.#settings.mode === "write";
    try {
      this.#epochs = await LeaderEpochs.load(this.#storage);
    } catch (error) {
      if (isWritten) throw error;
      this.#warn("the leader epochs are unknown", error);
    }
    await this.#epochs.truncateFromEnd(this.#logEndOffset, isWritten);
  }

  async #loadTopicId(wanted: string | undefined): Promise<void> {
    const isWritten = this.#settings.mode === "write";
    try {
      this.#topicId = await readPartitionMetadata(this.#storage);
    } catch (error) {
      if (isWritten) throw error;
      this.#warn("the topic id is unknown", error);
    }
    if (wanted === undefined || !isWritten || this.#topicId === wanted) return;
    if (this.#topicId !== undefined) {
      throw new StorageError(`${this.#text()}the folder belongs to the topic with id ${this.#topicId}, not ${wanted}`, {
        code: "INCONSISTENT_TOPIC_ID",
        ...this.#context,
      });
    }
    await writePartitionMetadata(this.#storage, wanted);
    this.#topicId = wanted;
  }

  #warn(what: string, error: unknown): void {
    if (!(error instanceof StorageError)) throw error;
    this.#settings.logger.warn(`${this.#text()}${what}: ${error.message}`, { error });
  }

  async #append(bytes: Uint8Array, leaderEpoch: number): Promise<LogAppend> {
    this.#throwIfClosed();
    if (this.#settings.mode !== "write") {
      throw new StorageError(`${this.#text()}the log was opened to inspect it, not to write`, {
        code: "EROFS",
        ...this.#context,
      });
    }
    const baseOffset = this.#logEndOffset;
    const batches = this.#stamp(bytes, baseOffset, leaderEpoch);
    const { lastOffset } = batches.at(-1)!;
    const segment = await this.#segmentFor(batches, bytes.length, lastOffset);
    await this.#epochs.assign(leaderEpoch, baseOffset);
    await segment.append([bytes], batches);
    this.#logEndOffset = this.#highWatermark = lastOffset + 1;
    return { baseOffset, lastOffset };
  }

  /** Gives the batches in `bytes` their offsets and epoch, which lie outside the checksum so that a broker can. */
  #stamp(bytes: Uint8Array, baseOffset: number, leaderEpoch: number): RecordBatch[] {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const batches: RecordBatch[] = [];
    let next = baseOffset;
    for (let at = 0; at < bytes.length;) {
      const batch = new RecordBatch(bytes, this.#context, at, view);
      view.setInt32(at, Math.floor(next / 4294967296));
      view.setInt32(at + 4, next | 0);
      view.setInt32(at + RECORD_BATCH_FIELDS.partitionLeaderEpoch, leaderEpoch);
      next = batch.lastOffset + 1;
      if (!Number.isSafeInteger(next)) throw this.#tooFar(next);
      batches.push(batch);
      at += batch.size;
    }
    if (batches.length === 0) throw new ProtocolError("append of no batch", { code: "EMPTY_APPEND", ...this.#context });
    return batches;
  }

  /** The segment that takes `batches`: the last, or a new one when that is full, too old, or its base too far away. */
  async #segmentFor(batches: readonly RecordBatch[], size: number, lastOffset: number): Promise<LogSegment> {
    const limit = Math.min(this.#settings.segmentBytes, MAX_SEGMENT_BYTES);
    if (size > limit) {
      throw new KafkaError(`${this.#text()}${size} bytes of batches, and a segment holds segmentBytes=${limit}`, {
        code: "RECORD_LIST_TOO_LARGE",
        outcome: "rejected",
        ...this.#context,
      });
    }
    const last = this.#segments.at(-1)!;
    const isRoomy = last.size + size <= limit && !last.isIndexFull && last.takes(lastOffset);
    if (isRoomy && !this.#mustRoll && !await this.#isOld(last, batches)) return last;
    // On the disk before the next one is begun: after a crash only the last segment can be unfinished.
    await last.seal();
    this.#recoveryPoint = this.#logEndOffset;
    this.#mustRoll = true;
    const next = await this.#openSegment(this.#logEndOffset, true);
    this.#mustRoll = false;
    this.#segmentCreated = this.#settings.clock.wallTime();
    await last.closeIndexes();
    return next;
  }

  /** Whether the first batch of `segment` is so much older than `batches` that they go into another one. */
  async #isOld(segment: LogSegment, batches: readonly RecordBatch[]): Promise<boolean> {
    if (segment.size === 0) return false;
    const first = await segment.firstTimestamp();
    let newest = -1;
    for (const { maxTimestamp } of batches) newest = Math.max(newest, maxTimestamp);
    const waited = first >= 0 ? newest - first : this.#settings.clock.wallTime() - this.#segmentCreated;
    return waited > this.#settings.segmentMs;
  }

  /** The answer when there is nothing to read at `offset`, with the place where it would be. */
  async #emptyRead(segments: readonly LogSegment[], offset: number, end: number): Promise<LogRead> {
    const segment = segments[floorSegment(segments, offset)]!;
    const position = offset >= end ? segment.size : await positionOf(segment, offset);
    const { baseOffset: segmentBaseOffset } = segment;
    return { records: undefined, segmentBaseOffset, position, firstOffset: -1, firstEntryIncomplete: false };
  }

  async #offsetAtTimestamp(timestamp: number, codecs: Codecs): Promise<TimestampedOffset | undefined> {
    for (const segment of this.#segments) {
      if (await segment.largestTimestamp() < timestamp) continue;
      // As in Kafka no further segment is looked at: this is the first one with anything as new.
      const found = await segment.findOffsetByTimestamp(timestamp, this.#logStartOffset, { codecs });
      return found !== undefined && found.offset < this.#highWatermark ? found : undefined;
    }
    return undefined;
  }

  async #offsetOfMaxTimestamp(codecs: Codecs): Promise<TimestampedOffset | undefined> {
    let newest: LogSegment | undefined;
    let max = -1;
    for (const segment of this.#segments) {
      const timestamp = segment.size === 0 ? -1 : await segment.largestTimestamp();
      if (timestamp > max) [newest, max] = [segment, timestamp];
    }
    return await newest?.findOffsetOfMaxTimestamp({ codecs });
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

  #stuck(offset: number, segmentBaseOffset: number, position: number): StorageError {
    const file = segmentFileName(segmentBaseOffset, "log");
    return new StorageError(
      `${this.#text()}${file} at byte ${position}: no whole batch with offset ${offset} could be read`,
      { code: "SHORT_READ", file, position, offset, ...this.#context },
    );
  }

  #text(): string {
    const { topic, partition } = this.#context;
    return topic === undefined ? "" : `${topic}-${partition}: `;
  }

  #throwIfClosed(): void {
    if (this.#closed) throw new ClosedError(`${this.#text()}the log is closed`, { ...this.#context });
  }
}

/** The index of the segment with the greatest base offset ≤ `offset`. */
function floorSegment(segments: readonly LogSegment[], offset: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (segments[middle]!.baseOffset <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Where in `segment` the batch begins that ends at `offset` or above; the end when there is none. */
async function positionOf(segment: LogSegment, offset: number): Promise<number> {
  return (await segment.find(offset))?.position ?? segment.size;
}
