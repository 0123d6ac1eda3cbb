/**
 * Rescues what can be rescued of a damaged log: every intact batch of a partition's folder goes into a new folder that a
 * Kafka broker opens, with its bytes and offsets. The source is only read, twice, in memory that does not grow with it.
 *
 * Kafka itself cuts a log at the first batch that is wrong and deletes all that follows. Here damage costs what it hit.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import { StorageError } from "../core/kafka_error.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import { type BatchRun, type DamagedPart, RunFinder, type RunSource, type SurveyedRuns } from "./run_finder.ts";
import { checkFolder, type FolderContent } from "./check_folder.ts";
import { mergeRuns } from "./merge_runs.ts";
import { readPartitionMetadata, writePartitionMetadata } from "./partition_metadata.ts";
import { RebuiltEpochs } from "./rebuilt_epochs.ts";
import type { LostPart, SalvagePlan, SalvageReport, SalvageSource } from "./salvage_report.ts";
import { SalvageLosses } from "./salvage_losses.ts";
import { SalvageWriter } from "./salvage_writer.ts";
import { SegmentWalk } from "./segment_walk.ts";
import type { Storage, StoredFile } from "./storage.ts";

export type {
  LostPart,
  RepairedBatch,
  SalvagedSegment,
  SalvagePlan,
  SalvageReport,
  SalvageSource,
} from "./salvage_report.ts";

/** How to rescue. */
export interface SalvageOptions {
  /** Most bytes of a batch. Default 100 MiB, the most that a broker takes in one request. */
  readonly maxBatchBytes?: number | undefined;
  /** Bytes of batches between two entries of the new indexes. Default 4096. Kafka: `index.interval.bytes`. */
  readonly indexIntervalBytes?: number | undefined;
  /** Whether segments that Kafka was about to delete (`.log.deleted`) are taken, too, where nothing else has their offsets. */
  readonly includeDeleted?: boolean | undefined;
  /** Checksum to use; the fastest one here when absent. */
  readonly crc32c?: Crc32c | undefined;
  /** Told, every so often, how many bytes were read since it was told last; every byte is read twice in all. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Ends it early, with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

const MAX_BATCH_BYTES = 100 * 1024 * 1024;
const RANKS = { swap: 1, cleaned: 2, deleted: 3 } as const;

/** A rescue: first a look at all of the source, then the writing. */
export class LogSalvage {
  /** What will be done. */
  readonly plan: SalvagePlan;
  readonly #storage: Storage;
  readonly #options: SalvageOptions;
  readonly #crc32c: Crc32c;
  readonly #surveyed: SurveyedRuns;
  /** Base offset of the first segment. */
  readonly #startOffset: number;

  private constructor(
    storage: Storage,
    options: SalvageOptions & { readonly crc32c: Crc32c },
    startOffset: number,
    surveyed: SurveyedRuns,
    plan: SalvagePlan,
  ) {
    this.#startOffset = startOffset;
    this.#storage = storage;
    this.#options = options;
    this.#crc32c = options.crc32c;
    this.#surveyed = surveyed;
    this.plan = plan;
  }

  /**
   * Looks at all of the log in `storage`.
   *
   * @throws StorageError; with code `"NO_SEGMENTS"` when there is nothing to rescue, with `"UNSAFE_INTEGER"` when a segment's
   * offsets are beyond 2^53−1.
   */
  static async survey(storage: Storage, given: SalvageOptions = {}): Promise<LogSalvage> {
    const options = { ...given, crc32c: given.crc32c ?? await loadCrc32c() };
    const content = await checkFolder(storage);
    const sources = sourcesIn(content, options.includeDeleted === true);
    const finder = new RunFinder();
    const seen: SalvageSource[] = [];
    for (const source of sources) seen.push(await surveyFile(storage, source, finder, options));
    const surveyed = finder.end();
    const damaged = surveyed.damaged.filter((part) => part.kind !== "zeros").map((part) =>
      lostOf(part, nextBase(sources, part.source))
    );
    const bytes = seen.reduce((sum, { intactBytes }) => sum + intactBytes, 0);
    return new LogSalvage(storage, options, sources[0]!.baseOffset, surveyed, { sources: seen, damaged, bytes });
  }

  /**
   * Writes what is intact into `target`, an empty folder.
   *
   * @throws StorageError; with code `"NOT_EMPTY"` when there are files in the folder.
   */
  async write(target: Storage): Promise<SalvageReport> {
    const [present] = await filesIn(target);
    if (present !== undefined) {
      throw new StorageError(`the folder to write to is not empty, there is ${present}: take a new one`, {
        code: "NOT_EMPTY",
        file: present,
      });
    }
    const epochs = await RebuiltEpochs.begin(this.#storage);
    const { runs, isCompacted } = this.#surveyed;
    const losses = new SalvageLosses(this.plan.damaged, isCompacted);
    const writer = new SalvageWriter(target, {
      startOffset: this.#startOffset,
      segmentBytes: Math.max(...this.plan.sources.map(({ size }) => size), 1),
      isCompacted,
      epochs,
      crc32c: this.#crc32c,
      indexIntervalBytes: this.#options.indexIntervalBytes ?? 4096,
      maxBatchBytes: this.#options.maxBatchBytes ?? MAX_BATCH_BYTES,
      onRepaired: (repaired) => losses.repair(repaired),
    });
    const files = new OpenFiles(this.#storage, runs);
    try {
      const merged = mergeRuns(runs, {
        open: (run) => files.open(run),
        release: (run) => files.release(run),
        crc32c: this.#crc32c,
        maxBatchBytes: this.#options.maxBatchBytes ?? MAX_BATCH_BYTES,
        onLeftOut: (left, kept) => losses.leftOut(left, kept),
      });
      let reported = 0;
      for await (const next of merged) {
        losses.passes(next);
        if (next.run.isMisplaced) losses.misplaced(next);
        else {
          const writing = writer.add(next);
          if (writing !== undefined) await writing;
        }
        if ((reported += next.batch.size) < MIB) continue;
        this.#options.onProgress?.(reported);
        reported = 0;
        throwIfAborted(this.#options.signal);
      }
      const written = await writer.end(lastEmptyBase(this.plan.sources, runs));
      await this.#copyOthers(target);
      return { ...this.plan, ...written, lost: losses.end(), repaired: losses.repaired, duplicates: losses.duplicates };
    } finally {
      await writer.close();
      await files.close();
    }
  }

  /** The topic's id, and what a KRaft log has beside its segments. Producer snapshots and indexes are made anew. */
  async #copyOthers(target: Storage): Promise<void> {
    try {
      const topicId = await readPartitionMetadata(this.#storage);
      if (topicId !== undefined) await writePartitionMetadata(target, topicId);
    } catch (error) {
      // Without the file a broker writes a new one; with such a file it does not start.
      if (!(error instanceof StorageError) || error.code !== "MALFORMED_FILE") throw error;
    }
    for (const name of await this.#storage.list()) {
      if (name === "quorum-state" || /^\d{20}-\d{10}\.checkpoint$/.test(name)) await copy(this.#storage, target, name);
    }
  }
}

/**
 * Rescues the log in `source` into `target`, an empty folder.
 *
 * @throws StorageError, see {@linkcode LogSalvage}.
 */
export async function salvageLog(
  source: Storage,
  target: Storage,
  options: SalvageOptions = {},
): Promise<SalvageReport> {
  return await (await LogSalvage.survey(source, options)).write(target);
}

const MIB = 1024 * 1024;

function sourcesIn(content: FolderContent, includeDeleted: boolean): RunSource[] {
  const unsafe = content.anomalies.find(({ file, kind }) => kind === "unsafe-integer" && file.endsWith(".log"));
  if (unsafe !== undefined) {
    throw new StorageError(`${unsafe.file}: ${unsafe.message}`, { code: "UNSAFE_INTEGER", file: unsafe.file });
  }
  const sources: RunSource[] = content.segments.map(({ baseOffset, log }) => ({ name: log, baseOffset, rank: 0 }));
  for (const { name, baseOffset, state } of content.unusedLogs) {
    if (state !== "deleted" || includeDeleted) sources.push({ name, baseOffset, rank: RANKS[state] });
  }
  if (sources.length === 0) {
    throw new StorageError("the folder holds no segment: there is no file like 00000000000000000000.log in it", {
      code: "NO_SEGMENTS",
    });
  }
  return sources.sort((a, b) => a.rank - b.rank || a.baseOffset - b.baseOffset);
}

async function surveyFile(
  storage: Storage,
  source: RunSource,
  finder: RunFinder,
  options: SalvageOptions & { readonly crc32c: Crc32c },
): Promise<SalvageSource> {
  const file = await storage.open(source.name);
  try {
    finder.begin(source);
    const walk = new SegmentWalk(file, {
      crc32c: options.crc32c,
      maxBatchBytes: options.maxBatchBytes ?? MAX_BATCH_BYTES,
      baseOffset: source.baseOffset,
    });
    let batches = 0;
    let intactBytes = 0;
    let reported = 0;
    for (let items = await walk.next(); items !== undefined; items = await walk.next()) {
      for (const item of items) {
        if (item.type === "damage") {
          finder.damage(item);
          continue;
        }
        finder.batch(item);
        batches++;
        intactBytes += item.size;
      }
      options.onProgress?.(walk.position - reported);
      reported = walk.position;
      throwIfAborted(options.signal);
    }
    return { file: source.name, size: file.size, batches, intactBytes };
  } finally {
    await file.close();
  }
}

/** Base offset of the segment behind `source`, if there is one. */
function nextBase(sources: readonly RunSource[], source: RunSource): number | undefined {
  const next = sources[sources.indexOf(source) + 1];
  return next?.rank === source.rank ? next.baseOffset : undefined;
}

function lostOf(part: DamagedPart, nextBaseOffset: number | undefined): LostPart {
  const { from, fromOffset, reason, source, until, untilOffset = nextBaseOffset } = part;
  const isNothing = untilOffset !== undefined && untilOffset <= fromOffset;
  return {
    kind: "damaged",
    file: source.name,
    from,
    until,
    reason,
    ...(isNothing ? {} : { firstOffset: fromOffset }),
    ...(isNothing || untilOffset === undefined ? {} : { lastOffset: untilOffset - 1 }),
  };
}

/** The last segment's base offset if nothing is in it: it says what offset is due. */
function lastEmptyBase(sources: readonly SalvageSource[], runs: readonly BatchRun[]): number | undefined {
  const last = sources.findLast(({ file }) => file.endsWith(".log"));
  if (last === undefined) return undefined;
  const base = Number(/^\d+/.exec(last.file)![0]);
  return runs.length === 0 || last.size === 0 ? base : undefined;
}

async function filesIn(storage: Storage): Promise<string[]> {
  try {
    return await storage.list();
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return [];
    throw error;
  }
}

async function copy(from: Storage, to: Storage, name: string): Promise<void> {
  const source = await from.open(name);
  try {
    const target = await to.open(name, { create: true });
    try {
      const buffer = new Uint8Array(Math.min(MIB, source.size));
      for (let at = 0; at < source.size;) {
        const count = await source.readAt(buffer, at);
        if (count === 0) break;
        await target.append([buffer.subarray(0, count)]);
        at += count;
      }
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** The files that runs are read from, open while one of their runs is. */
class OpenFiles {
  readonly #storage: Storage;
  readonly #files = new Map<RunSource, StoredFile>();
  readonly #readers = new Map<RunSource, number>();
  readonly #left = new Map<RunSource, number>();

  constructor(storage: Storage, runs: readonly BatchRun[]) {
    this.#storage = storage;
    for (const { source } of runs) this.#left.set(source, (this.#left.get(source) ?? 0) + 1);
  }

  async open({ source }: BatchRun): Promise<StoredFile> {
    let file = this.#files.get(source);
    if (file === undefined) this.#files.set(source, file = await this.#storage.open(source.name));
    this.#readers.set(source, (this.#readers.get(source) ?? 0) + 1);
    return file;
  }

  async release({ source }: BatchRun): Promise<void> {
    const [readers, left] = [this.#readers.get(source)! - 1, this.#left.get(source)! - 1];
    this.#readers.set(source, readers);
    this.#left.set(source, left);
    if (readers > 0) return;
    await this.#files.get(source)!.close();
    this.#files.delete(source);
  }

  async close(): Promise<void> {
    for (const file of this.#files.values()) await file.close();
  }
}
