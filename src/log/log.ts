/**
 * The log of one partition: its segments in order, what may be read of them, and where the next batch goes. It alone moves
 * its end offset.
 *
 * `"inspect"` opens a folder to read and never changes it; what is odd about it is in {@linkcode Log.anomalies}. `"write"`
 * checks the last segment batch by batch, cuts off what a crash left unfinished, and takes appends.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { ClosedError, KafkaError, StorageError } from "../core/kafka_error.ts";
import type { Batch } from "../records/batch.ts";
import type { Record } from "../records/record.ts";
import type { RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { Anomaly } from "./anomaly.ts";
import type { EpochEndOffset, LeaderEpoch } from "./leader_epochs.ts";
import type { LogOffsetMetadata } from "./log_offset_metadata.ts";
import { loadCrc32c } from "../hash/crc32c.ts";
import { type LogOptions, type LogSettings, logSettings, placeText, recordContextOf } from "./log_options.ts";
import { parsePartitionFolder, readPartitionCheckpoints } from "./log_directory.ts";
import { LogProducers } from "./log_producers.ts";
import type { LogSegment, TimestampedOffset } from "./log_segment.ts";
import { LogOpener, type OpenedLog } from "./open_log.ts";
import type { ProducerStates } from "./producer_states.ts";
import { locate, type LogRead, type LogView, readLog, type ReadOptions } from "./read_log.ts";
import type { Isolation, Trace } from "./read_step.ts";
import { stampBatches } from "./stamp_batches.ts";
import type { Storage, StorageTree } from "./storage.ts";
import { findMaxTimestamp, findTimestamp, LIST_OFFSETS_TIMESTAMPS } from "./find_timestamp.ts";
import { walkBatches } from "./walk_batches.ts";

export type { AbortedTransaction } from "../records/aborted_transaction_filter.ts";
export type { Batch, DecodeOptions } from "../records/batch.ts";
export type { Record } from "../records/record.ts";
export type { RecordBatches } from "../records/record_batches.ts";
export type { Anomaly, AnomalyKind, AnomalyLevel } from "./anomaly.ts";
export type { BatchHeader, BatchScanner } from "./batch_scanner.ts";
export type { FileRecords } from "./file_records.ts";
export type { IndexFile } from "./index_file.ts";
export type { EpochEndOffset, LeaderEpoch } from "./leader_epochs.ts";
export type { LogOffsetMetadata } from "./log_offset_metadata.ts";
export type { LogMode, LogOptions } from "./log_options.ts";
export type { AppendedBatch, LogSegment, SegmentEnd, SegmentRead, TimestampedOffset } from "./log_segment.ts";
export type { OffsetIndex, OffsetPosition } from "./offset_index.ts";
export type { ProducerSnapshotEntry } from "./producer_snapshot.ts";
export type {
  CompletedTransaction,
  ProducerBatch,
  ProducerState,
  ProducerStates,
  ReplayedBatch,
  ReplayedMarker,
} from "./producer_states.ts";
export type { LogRead, ReadOptions } from "./read_log.ts";
export type { Isolation, ReadStep, SliceEnd, Trace } from "./read_step.ts";
export type { Storage, StorageTree, StoredFile } from "./storage.ts";
export type { TimeIndex, TimestampOffset } from "./time_index.ts";
export { LIST_OFFSETS_TIMESTAMPS } from "./find_timestamp.ts";
export type { CollectedTransactions, TransactionIndex, TransactionIndexEntry } from "./transaction_index.ts";

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
  /** Whether to leave out aborted transactions, and to end before those that are open. Default false. */
  readonly committed?: boolean;
}

/** How to look for a timestamp. */
export interface TimestampOptions {
  /** What counts as the end: what is not below it is not found. Default the high watermark. */
  readonly isolation?: Isolation;
  /** Takes the steps of the look-up with their numbers. */
  readonly trace?: Trace;
}

/** A `.log` is at most this large: index entries hold positions in 32 bits. */
const MAX_SEGMENT_BYTES = 2 ** 31 - 1;

/** The log of one partition. */
export class Log {
  readonly #settings: LogSettings;
  readonly #context: RecordContext;
  readonly #opener: LogOpener;
  readonly #opened: OpenedLog;
  readonly #anomalies: Anomaly[];
  /** Replaced when one is begun, never changed, so that a read can go on with those it began with. */
  #segments: readonly LogSegment[];
  /** When the last segment was begun, for batches without timestamps. */
  #segmentCreated: number;
  /** Whether the next append must begin a segment: an attempt failed, and may have left its files behind. */
  #mustRoll = false;
  /** The end and where it lies, moved together: a reader never sees bytes behind it. */
  #end: LogOffsetMetadata;
  #highWatermark: number;
  #recoveryPoint: number;
  /** Where the high watermark and the last stable offset were found to be. */
  readonly #places = new Map<Isolation, LogOffsetMetadata>();
  readonly #producers: LogProducers;
  /** The last append; the next one waits for it, so that batches never mix. */
  #appending: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(
    settings: LogSettings,
    context: RecordContext,
    opener: LogOpener,
    opened: OpenedLog,
    anomalies: Anomaly[],
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#opener = opener;
    this.#opened = opened;
    this.#anomalies = anomalies;
    this.#segments = [...opened.segments];
    this.#segmentCreated = settings.clock.wallTime();
    this.#end = endOf(opened.segments, opened.logEndOffset);
    this.#highWatermark = opened.highWatermark;
    this.#recoveryPoint = opened.recoveryPoint;
    this.#producers = new LogProducers(opened.bareSegments);
  }

  /**
   * Opens the log in `storage`, a partition's folder.
   *
   * @throws StorageError; with `"inspect"` a folder without any `.log` is one with code `"NO_SEGMENTS"`. CorruptRecordError
   * with code `"DAMAGED_SEGMENT"` when `"write"` would have to cut off batches that are right.
   */
  static async open(storage: Storage, options: LogOptions = {}): Promise<Log> {
    const settings = logSettings(options, options.crc32c ?? await loadCrc32c());
    const context = recordContextOf(options);
    const anomalies: Anomaly[] = [...options.anomalies ?? []];
    const report = (anomaly: Anomaly) => {
      if (anomalies.some((known) => isSame(known, anomaly))) return; // an index that was read again
      anomalies.push(anomaly);
      const { level, file, message } = anomaly;
      if (level === "damage") settings.logger.warn(`${placeText(context)}${file}: ${message}`, { anomaly });
    };
    const opener = new LogOpener(storage, options, settings, context, report);
    return new Log(settings, context, opener, await opener.open(), anomalies);
  }

  /**
   * Opens the partition in the folder `name` of a log directory to inspect it, with what the directory's checkpoints say of
   * it: its log start, its high watermark, and whether the last stop was a clean one.
   *
   * @throws StorageError as {@linkcode open}; with code `"ENOENT"` when there is no such folder, which is then not made.
   */
  static async openPartition(
    directory: StorageTree,
    name: string,
    options: Omit<LogOptions, "mode"> = {},
  ): Promise<Log> {
    const place = parsePartitionFolder(name);
    if (place === undefined || !(await directory.folders()).includes(name)) {
      const message = `open ${name}: the log directory has no such partition folder`;
      throw new StorageError(message, { code: "ENOENT", file: name });
    }
    const anomalies = [...options.anomalies ?? []];
    const checkpointsOf = await readPartitionCheckpoints(directory, (anomaly) => anomalies.push(anomaly));
    const { firstDirtyOffset: _, ...checkpoints } = checkpointsOf(place);
    return await Log.open(await directory.folder(name), { ...place, ...checkpoints, ...options, anomalies });
  }

  /** Id of the topic; undefined when the folder does not tell. */
  get topicId(): string | undefined {
    return this.#opened.topicId;
  }

  /** First visible offset. */
  get logStartOffset(): number {
    return this.#opened.logStartOffset;
  }

  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.#end.messageOffset;
  }

  /** The end of the log and where it lies. */
  get endOffsetMetadata(): LogOffsetMetadata {
    return this.#end;
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
    return this.#opened.recoveredBytes;
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
    return this.#opened.epochs.entries;
  }

  /** What is odd about a log that is inspected, as far as it was seen until now. To look at everything is to verify it. */
  get anomalies(): readonly Anomaly[] {
    return this.#anomalies;
  }

  /**
   * Where the records of a leader epoch end: the epoch, or the greatest known one before it, and the offset behind its last
   * record. Undefined when nothing is known of it.
   */
  endOffsetForEpoch(epoch: number): EpochEndOffset | undefined {
    return this.#opened.epochs.endOffsetFor(epoch, this.logEndOffset);
  }

  /** What is known of the producers at the end of the log; loaded when it is first asked for. */
  async producers(): Promise<ProducerStates> {
    this.#throwIfClosed();
    if (this.#producers.states !== undefined) return this.#producers.states;
    const source = () => ({
      storage: this.#opened.storage,
      segments: this.#segments,
      logStartOffset: this.logStartOffset,
      highWatermark: this.#highWatermark,
      logEndOffset: this.logEndOffset,
      crc32c: this.#settings.crc32c,
      report: this.#opener.report,
    });
    const loading = this.#producers.load(source, this.#appending);
    this.#appending = loading.catch(() => {}); // the next append goes into them; a failure is told to whoever asked
    return await loading;
  }

  /** First offset that is not decided: of an open transaction, or the high watermark. */
  async lastStableOffset(): Promise<number> {
    const { firstUnstableOffset = Infinity } = await this.producers();
    return Math.max(this.logStartOffset, Math.min(firstUnstableOffset, this.#highWatermark));
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
    const { isolation = "high-watermark" } = options;
    const stable = isolation === "committed" ? await this.lastStableOffset() : undefined;
    const view = this.#view();
    const bound = await this.#bound(view, isolation, stable);
    return await readLog(view, offset, bound, options);
  }

  /** Where `offset` lies: its segment and the position of its batch, or of the next one above it. */
  async locate(offset: number): Promise<LogOffsetMetadata> {
    this.#throwIfClosed();
    return await locate(this.#view(), offset);
  }

  /**
   * The first record in order of offsets with a timestamp ≥ `timestamp`, or the place that a negative one asks for
   * ({@linkcode LIST_OFFSETS_TIMESTAMPS}); undefined when there is none.
   */
  async offsetForTimestamp(
    timestamp: number,
    codecs: Codecs = {},
    { isolation = "high-watermark", trace }: TimestampOptions = {},
  ): Promise<TimestampedOffset | undefined> {
    this.#throwIfClosed();
    const { endError, epochs, isCut } = this.#opened;
    const bound = isolation === "committed"
      ? await this.lastStableOffset()
      : isolation === "log-end"
      ? this.logEndOffset
      : this.#highWatermark;
    const { logStartOffset } = this;
    const search = { segments: this.#segments, logStartOffset, bound, endError, isCut, codecs, trace };
    const asked = LIST_OFFSETS_TIMESTAMPS;
    switch (timestamp) {
      case asked.earliest:
      case asked.earliestLocal:
        return { offset: logStartOffset, timestamp: -1, leaderEpoch: epochs.earliestAt(logStartOffset) };
      case asked.latest:
        return { offset: bound, timestamp: -1, leaderEpoch: epochs.latest };
      case asked.max:
        return await findMaxTimestamp(search);
      case asked.latestTiered:
      case asked.earliestPendingUpload:
        return { offset: -1, timestamp: -1, leaderEpoch: -1 }; // no tiered storage
      default:
        return await findTimestamp(timestamp, search);
    }
  }

  /** Walks whole batches in order, reading windows of about 1 MiB. */
  async *batches(range: RangeOptions = {}): AsyncGenerator<Batch, void, undefined> {
    const end = range.committed ? await this.lastStableOffset() : this.logEndOffset;
    const { until = Infinity } = range;
    yield* walkBatches({
      read: (offset, options) => this.read(offset, options),
      from: Math.max(range.from ?? 0, this.logStartOffset),
      until: Math.min(until, end),
      committed: range.committed ?? false,
      endError: end === this.logEndOffset && until > end ? this.#opened.endError : undefined,
      maxBatchBytes: this.#settings.maxBatchBytes,
      context: this.#context,
      report: this.#opener.report,
    });
  }

  /** Walks records in order; those of control batches are left out, as a consumer does. */
  async *records(range: RangeOptions = {}): AsyncGenerator<Record, void, undefined> {
    let next = Math.max(range.from ?? 0, this.logStartOffset);
    const until = range.until ?? Infinity;
    for await (const batch of this.batches(range)) {
      if (!batch.isControl) {
        for (const record of batch.records({ codecs: range.codecs })) {
          // Where segments overlap, what was read is not read again.
          if (record.offset >= next && record.offset < until) yield record;
        }
      }
      next = Math.max(next, batch.lastOffset + 1);
    }
  }

  /** Resolves once everything appended so far is on the disk. */
  async flush(): Promise<void> {
    await this.#appending;
    const end = this.logEndOffset;
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
        this.#recoveryPoint = this.logEndOffset;
      }
    } finally {
      await this.#closeSegments();
    }
  }

  /** Releases the files as they are, as the end of the process would leave them: nothing is completed. */
  async abandon(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#appending;
    await this.#closeSegments();
  }

  async #closeSegments(): Promise<void> {
    const closed = await Promise.allSettled(this.#segments.map((segment) => segment.close()));
    for (const result of closed) if (result.status === "rejected") throw result.reason;
  }

  /** What the log holds now. */
  #view(): LogView {
    return {
      segments: this.#segments,
      logStartOffset: this.logStartOffset,
      highWatermark: this.#highWatermark,
      end: this.#end,
      endError: this.#opened.endError,
      context: this.#context,
      collectAborted: (segment, from, upperBound) => this.#producers.collectAborted(segment, from, upperBound),
    };
  }

  /** The first offset that is not to be read, and where it lies, which is looked up only once. */
  async #bound(view: LogView, isolation: Isolation, stable: number | undefined): Promise<LogOffsetMetadata> {
    const offset = stable ?? (isolation === "log-end" ? view.end.messageOffset : view.highWatermark);
    if (offset >= view.end.messageOffset) return view.end;
    let place = this.#places.get(isolation);
    if (place?.messageOffset !== offset) {
      place = await locate(view, offset);
      this.#places.set(isolation, place);
    }
    return place;
  }

  async #append(bytes: Uint8Array, leaderEpoch: number): Promise<LogAppend> {
    this.#throwIfClosed();
    if (this.#settings.mode !== "write") {
      throw new StorageError(`${this.#text()}the log was opened to inspect it, not to write`, {
        code: "EROFS",
        ...this.#context,
      });
    }
    const baseOffset = this.logEndOffset;
    const batches = stampBatches(bytes, baseOffset, leaderEpoch, this.#context);
    const { lastOffset } = batches.at(-1)!;
    const segment = await this.#segmentFor(batches, bytes.length, lastOffset);
    await this.#opened.epochs.assign(leaderEpoch, baseOffset);
    await segment.append([bytes], batches);
    this.#moveEnd(lastOffset + 1);
    this.#producers.appended(batches, this.#highWatermark);
    return { baseOffset, lastOffset };
  }

  /** Moves the end, and with it the high watermark, since nobody else has to store the batches. */
  #moveEnd(offset: number): void {
    this.#end = endOf(this.#segments, offset);
    this.#highWatermark = offset;
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
    this.#recoveryPoint = this.logEndOffset;
    this.#mustRoll = true;
    const next = await this.#opener.openSegment(this.logEndOffset, true);
    this.#segments = [...this.#segments, next];
    this.#end = endOf(this.#segments, this.logEndOffset);
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

  #text(): string {
    return placeText(this.#context);
  }

  #throwIfClosed(): void {
    if (this.#closed) throw new ClosedError(`${this.#text()}the log is closed`, { ...this.#context });
  }
}

/** The end of a log whose next offset is `offset`. */
function endOf(segments: readonly LogSegment[], offset: number): LogOffsetMetadata {
  const active = segments.at(-1)!;
  return { messageOffset: offset, segmentBaseOffset: active.baseOffset, relativePosition: active.size };
}

function isSame(a: Anomaly, b: Anomaly): boolean {
  return a.kind === b.kind && a.file === b.file && a.position === b.position && a.offset === b.offset;
}
