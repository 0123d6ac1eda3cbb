/**
 * Opens the files of a log: its segments, where it ends, its leader epochs and the id of its topic.
 *
 * @module
 */

import { type KafkaError, StorageError } from "../core/kafka_error.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type Anomaly, type AnomalyKind, damage } from "./anomaly.ts";
import { reportFolderAnomalies } from "./folder_anomalies.ts";
import { folderView } from "./folder_view.ts";
import { IndexCache } from "./index_cache.ts";
import { parseKafkaFileName } from "./kafka_file_name.ts";
import { LeaderEpochs } from "./leader_epochs.ts";
import { type LogOptions, type LogSettings, placeText } from "./log_options.ts";
import { LogSegment, type SegmentEnd } from "./log_segment.ts";
import { readPartitionMetadata, writePartitionMetadata } from "./partition_metadata.ts";
import { segmentFileName } from "./segment_file_name.ts";
import type { Storage } from "./storage.ts";

/** What was found and opened. */
export interface OpenedLog {
  /** The folder, as a broker would have it. */
  readonly storage: Storage;
  /** The segments in order. */
  readonly segments: readonly LogSegment[];
  /** Base offsets of segments that have no index file at all, as a `.log` that was copied alone. */
  readonly bareSegments: ReadonlySet<number>;
  /** Leader epochs. */
  readonly epochs: LeaderEpochs;
  /** Id of the topic. */
  readonly topicId: string | undefined;
  /** First visible offset. */
  readonly logStartOffset: number;
  /** Offset that the next record gets. */
  readonly logEndOffset: number;
  /** First offset that is not replicated. */
  readonly highWatermark: number;
  /** First offset that is not known to be on the disk. */
  readonly recoveryPoint: number;
  /** Bytes that were cut off. */
  readonly recoveredBytes: number;
  /** Why nothing behind the end can be read, though there is more. */
  readonly endError: KafkaError | undefined;
  /** Whether there are segments more, whose offsets are beyond 2^53−1. */
  readonly isCut: boolean;
}

/** Opens one log; use it once. */
export class LogOpener {
  readonly #options: LogOptions;
  readonly #settings: LogSettings;
  readonly #context: RecordContext;
  readonly #indexCache: IndexCache;
  /** Takes what is odd. */
  readonly report: (anomaly: Anomaly) => void;
  #storage: Storage;
  readonly #segments: LogSegment[] = [];
  #endError: KafkaError | undefined;

  /** Opens the log in `storage`; what is odd about one that is inspected goes to `report`. */
  constructor(
    storage: Storage,
    options: LogOptions,
    settings: LogSettings,
    context: RecordContext,
    report: (anomaly: Anomaly) => void,
  ) {
    this.#storage = storage;
    this.#options = options;
    this.#settings = settings;
    this.#context = context;
    this.report = report;
    this.#indexCache = new IndexCache(settings.indexCacheBytes);
  }

  /** Opens everything. What was opened before a failure is closed again. */
  async open(): Promise<OpenedLog> {
    try {
      return this.#isWritten ? await this.#openToWrite() : await this.#openToInspect();
    } catch (error) {
      // This is the failure to tell, not what closing half a log may add.
      await Promise.allSettled(this.#segments.map((segment) => segment.close()));
      throw error;
    }
  }

  /** Opens the segment at `baseOffset`. */
  async openSegment(baseOffset: number, writable: boolean): Promise<LogSegment> {
    const segment = await this.#segmentIn(this.#storage, baseOffset, writable);
    this.#segments.push(segment);
    return segment;
  }

  get #isWritten(): boolean {
    return this.#settings.mode === "write";
  }

  async #openToWrite(): Promise<OpenedLog> {
    const names = await this.#namesToWrite();
    const [bases, unsafe] = segmentsIn(names);
    if (unsafe.length > 0) throw this.#unsafeSegment(unsafe[0]!);
    if (bases.length === 0) bases.push(this.#options.logStartOffset ?? 0);
    const activeBase = bases.pop()!;
    for (const base of bases) await this.#openSealed(base, names);
    const active = await this.openSegment(activeBase, true);
    const { cleanShutdown, crc32c } = this.#settings;
    let recoveredBytes = 0;
    let end = cleanShutdown ? await active.findEnd() : undefined;
    if (end === undefined || active.trailingBytes > 0) {
      recoveredBytes = await active.recover(crc32c);
      end = await active.findEnd();
    }
    const logEndOffset = end.nextOffset;
    const epochs = await LeaderEpochs.load(this.#storage);
    await epochs.truncateFromEnd(logEndOffset, true);
    return {
      ...this.#common(logEndOffset, epochs),
      bareSegments: new Set(),
      isCut: false,
      topicId: await this.#keepTopicId(),
      recoveryPoint: cleanShutdown ? logEndOffset : active.baseOffset,
      recoveredBytes,
    };
  }

  async #openToInspect(): Promise<OpenedLog> {
    const endOf = async (storage: Storage, baseOffset: number): Promise<number> => {
      const segment = await this.#segmentIn(storage, baseOffset, false);
      try {
        return (await segment.findEnd()).nextOffset;
      } finally {
        await segment.close();
      }
    };
    this.#storage = await folderView(this.#storage, endOf, this.report);
    const names = await this.#storage.list();
    const [bases, unsafe] = segmentsIn(names);
    if (bases.length === 0) {
      if (unsafe.length > 0) throw this.#unsafeSegment(unsafe[0]!);
      throw new StorageError("the folder holds no segment: there is no file like 00000000000000000000.log in it", {
        code: "NO_SEGMENTS",
        ...this.#context,
      });
    }
    for (const base of bases) await this.openSegment(base, false);
    const active = this.#segments.at(-1)!;
    const end = await active.findEnd();
    await reportFolderAnomalies({ names, segments: this.#segments, end, options: this.#options }, this.report);
    if (end.error?.code === "UNSAFE_INTEGER") this.#endError = end.error;
    for (const name of unsafe) this.#reportUnsafeSegment(name);
    const logEndOffset = Math.max(end.nextOffset, this.#options.logStartOffset ?? 0);
    const { cleanShutdown } = this.#settings;
    const recoveryPoint = this.#options.recoveryPoint ?? active.baseOffset;
    return {
      ...this.#common(logEndOffset, await this.#inspectEpochs(logEndOffset, end)),
      isCut: unsafe.length > 0,
      bareSegments: bareSegments(this.#segments, new Set(names)),
      topicId: await this.#inspectTopicId(),
      recoveryPoint: cleanShutdown ? logEndOffset : Math.min(recoveryPoint, logEndOffset),
      recoveredBytes: 0,
    };
  }

  #common(
    logEndOffset: number,
    epochs: LeaderEpochs,
  ): Pick<
    OpenedLog,
    "storage" | "segments" | "epochs" | "logStartOffset" | "logEndOffset" | "highWatermark" | "endError"
  > {
    const logStartOffset = Math.max(this.#segments[0]!.baseOffset, this.#options.logStartOffset ?? 0);
    const highWatermark = this.#options.highWatermark ?? logEndOffset;
    return {
      storage: this.#storage,
      segments: this.#segments,
      epochs,
      logStartOffset,
      logEndOffset,
      highWatermark: Math.min(Math.max(highWatermark, logStartOffset), logEndOffset),
      endError: this.#endError,
    };
  }

  /** Names in a folder to write to; one that is not there yet will be made by writing. */
  async #namesToWrite(): Promise<string[]> {
    let names: string[];
    try {
      names = await this.#storage.list();
    } catch (error) {
      if (error instanceof StorageError && error.code === "ENOENT") return [];
      throw error;
    }
    // Such files are half of a replacement of segments: what is appended beside them could go with the other half.
    const name = names.find((name) => name.endsWith(".swap") || name.endsWith(".cleaned"));
    if (name === undefined) return names;
    throw new StorageError(
      `${placeText(this.#context)}${name} is left of a compaction that a crash interrupted: ` +
        `let a Kafka broker finish it, or open the log with mode "inspect"`,
      { code: "UNFINISHED_COMPACTION", file: name, ...this.#context },
    );
  }

  /** Opens a segment that takes no more batches. Missing indexes are built. */
  async #openSealed(baseOffset: number, names: readonly string[]): Promise<void> {
    const isComplete = names.includes(segmentFileName(baseOffset, "index")) &&
      names.includes(segmentFileName(baseOffset, "timeindex"));
    const segment = await this.openSegment(baseOffset, !isComplete);
    if (isComplete) return;
    await segment.rebuildIndexes();
    await segment.flush();
    await segment.closeIndexes();
  }

  #segmentIn(storage: Storage, baseOffset: number, writable: boolean): Promise<LogSegment> {
    const { segmentIndexBytes, indexIntervalBytes, maxBatchBytes } = this.#settings;
    return LogSegment.open({
      storage,
      baseOffset,
      writable,
      segmentIndexBytes,
      indexIntervalBytes,
      maxBatchBytes,
      context: this.#context,
      indexCache: this.#indexCache,
      ...(this.#isWritten ? {} : { report: this.report }),
    });
  }

  async #keepTopicId(): Promise<string | undefined> {
    const wanted = this.#options.topicId;
    const topicId = await readPartitionMetadata(this.#storage);
    if (wanted === undefined || topicId === wanted) return topicId;
    if (topicId !== undefined) {
      throw new StorageError(
        `${placeText(this.#context)}the folder belongs to the topic with id ${topicId}, not ${wanted}`,
        { code: "INCONSISTENT_TOPIC_ID", ...this.#context },
      );
    }
    await writePartitionMetadata(this.#storage, wanted);
    return wanted;
  }

  async #inspectEpochs(logEndOffset: number, end: SegmentEnd): Promise<LeaderEpochs> {
    const epochs = await this.#tolerate("leader-epochs-unreadable", () => LeaderEpochs.load(this.#storage)) ??
      LeaderEpochs.empty(this.#storage);
    const beyond = epochs.entries.find((entry) => entry.startOffset > logEndOffset);
    if (beyond !== undefined) {
      this.report(damage(
        "leader-epochs-content",
        LeaderEpochs.FILE,
        `epoch ${beyond.epoch} begins at offset ${beyond.startOffset}, and the log ends at ${logEndOffset}: ` +
          `records of it are gone. A broker drops such epochs`,
        { offset: beyond.startOffset },
      ));
    }
    await epochs.truncateFromEnd(logEndOffset, false);
    await epochs.truncateFromStart(this.#options.logStartOffset ?? 0, false);
    // A crash may come between a batch and the file. A broker finds such epochs as it recovers the segment.
    for (const { epoch, startOffset } of this.#settings.cleanShutdown ? [] : end.epochs) {
      if (epoch > epochs.latest) await epochs.assign(epoch, startOffset, false);
    }
    return epochs;
  }

  #inspectTopicId(): Promise<string | undefined> {
    return this.#tolerate("partition-metadata-unreadable", () => readPartitionMetadata(this.#storage));
  }

  /** What `read` answers; undefined when the file cannot be read, which a broker would not start with. */
  async #tolerate<T>(kind: AnomalyKind, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const { file = "", message } = error;
      this.report(damage(kind, file, `${message}. A broker refuses to start with it; without the file it does start`));
      return undefined;
    }
  }

  #reportUnsafeSegment(file: string): void {
    const error = this.#unsafeSegment(file);
    this.#endError ??= error;
    this.report(damage("unsafe-integer", file, error.message));
  }

  #unsafeSegment(file: string): StorageError {
    return new StorageError(
      `${placeText(this.#context)}${file}: offsets beyond 2^53−1 cannot be held by a JavaScript number`,
      { code: "UNSAFE_INTEGER", file, ...this.#context },
    );
  }
}

/** The base offsets of the segments, ascending, and the names of those beyond 2^53−1. */
function segmentsIn(names: readonly string[]): [bases: number[], unsafe: string[]] {
  const bases: number[] = [];
  const unsafe: string[] = [];
  for (const name of names) {
    const file = parseKafkaFileName(name);
    if (file?.type !== "log" || file.state !== undefined) continue;
    const base = Number(file.digits);
    if (Number.isSafeInteger(base)) bases.push(base);
    else unsafe.push(name);
  }
  return [bases.sort((a, b) => a - b), unsafe.sort()];
}

/** Base offsets of the segments that have batches and no index file at all. */
function bareSegments(segments: readonly LogSegment[], names: ReadonlySet<string>): Set<number> {
  const bare = segments.filter(({ baseOffset, size }) =>
    size > 0 && !INDEXES.some((type) => names.has(segmentFileName(baseOffset, type)))
  );
  return new Set(bare.map(({ baseOffset }) => baseOffset));
}

const INDEXES = ["index", "timeindex", "txnindex"] as const;
