/**
 * Checks a partition's folder: every batch, every index entry, the snapshots and the small files, against each other. It
 * reads the files once from front to back, in memory that does not grow with them, and changes nothing.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { throwIfAborted } from "../core/abort_error.ts";
import { CompressionError, CorruptRecordError, StorageError } from "../core/kafka_error.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import type { RecordContext } from "../records/record_context.ts";
import { type Anomaly, damage, note } from "./anomaly.ts";
import { checkFolder, type FolderContent, type SegmentFiles } from "./check_folder.ts";
import { checkpointAnomalies, type VerifiedCheckpoints } from "./checkpoint_anomalies.ts";
import { damagedRangeAnomaly } from "./damaged_range_anomaly.ts";
import { LeaderEpochCheck } from "./leader_epoch_check.ts";
import { OffsetIndexCheck } from "./offset_index_check.ts";
import { readPartitionMetadata } from "./partition_metadata.ts";
import { ProducerCheck, type ReplayedAbort } from "./producer_check.ts";
import { FEW_GAPS } from "./run_finder.ts";
import { batchView, type DamagedRange, recordCountOf, SegmentWalk, type WalkedBatch } from "./segment_walk.ts";
import type { Storage, StoredFile } from "./storage.ts";
import { TimeIndexCheck } from "./time_index_check.ts";
import { TransactionIndexCheck } from "./transaction_index_check.ts";
import { verifyKraftSnapshot } from "./verify_kraft_snapshot.ts";

export type { VerifiedCheckpoints } from "./checkpoint_anomalies.ts";

/** How to check. */
export interface VerifyOptions {
  /** Topic, for messages. */
  readonly topic?: string | undefined;
  /** Partition, for messages. */
  readonly partition?: number | undefined;
  /** Codecs; with them every record is decoded, and not only the checksums are checked. */
  readonly codecs?: Codecs | undefined;
  /** Whether the log directory around says that the broker stopped in order. Unknown when absent. */
  readonly cleanShutdown?: boolean | undefined;
  /** What the checkpoints of the log directory around say of this partition. */
  readonly checkpoints?: VerifiedCheckpoints | undefined;
  /** Most bytes of a batch. Default 100 MiB, the most that a broker takes in one request. */
  readonly maxBatchBytes?: number | undefined;
  /** Checksum to use; the fastest one here when absent. */
  readonly crc32c?: Crc32c | undefined;
  /** Told, every so often, how many bytes of the segments were read since it was told last. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Ends the check early, with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

/** What was checked. */
export interface VerifySummary {
  /** Segments. */
  readonly segments: number;
  /** Intact batches. */
  readonly batches: number;
  /** Bytes of the segments. */
  readonly bytes: number;
  /** Base offset of the first segment. */
  readonly startOffset: number;
  /** Offset behind the last one. */
  readonly endOffset: number;
}

const MAX_BATCH_BYTES = 100 * 1024 * 1024;
const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;
/** More of one segment say nothing new. */
const MAX_FOUND_IN_SEGMENT = 100;

/**
 * Checks the log in `storage` and answers what is wrong, as it is found; the generator's return value says how much was
 * checked. A log without any damage may still give notes.
 *
 * @throws StorageError when a file cannot be read.
 */
export async function* verifyLog(
  storage: Storage,
  options: VerifyOptions = {},
): AsyncGenerator<Anomaly, VerifySummary, undefined> {
  const content = await checkFolder(storage);
  yield* content.anomalies;
  yield* await checkMetadata(storage);
  const { crc32c = await loadCrc32c(), maxBatchBytes = MAX_BATCH_BYTES } = options;
  for (const name of content.kraftSnapshots) yield* await verifyKraftSnapshot(storage, name, { crc32c, maxBatchBytes });
  return yield* new LogVerifier(storage, { ...options, crc32c }, await LeaderEpochCheck.begin(storage), content).run(
    content.segments,
  );
}

async function checkMetadata(storage: Storage): Promise<Anomaly[]> {
  try {
    await readPartitionMetadata(storage);
    return [];
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "MALFORMED_FILE") throw error;
    const meaning =
      "A broker refuses to open a log with a file that it cannot read; without the file it writes a new one.";
    return [damage("partition-metadata-unreadable", "partition.metadata", `${error.message}. ${meaning}`)];
  }
}

/** Offsets that are missing. */
interface Gap {
  readonly file: string;
  readonly position?: number;
  readonly from: number;
  readonly until: number;
}

/** One check of one log. */
class LogVerifier {
  readonly #storage: Storage;
  readonly #options: VerifyOptions;
  readonly #crc32c: Crc32c;
  readonly #context: RecordContext;
  readonly #epochs: LeaderEpochCheck;
  readonly #producers: ProducerCheck;
  /** Last offset of the batch before; undefined at first and behind damage. */
  #lastOffset: number | undefined;
  /** Greatest offset of all, and one more. */
  #endOffset = 0;
  /** Whether batches lack records, which only compaction leaves so. */
  #isCompacted = false;
  /** Gaps between batches of one segment: their number, and the first ones. */
  #innerGaps = 0;
  readonly #firstInnerGaps: Gap[] = [];
  /** Gaps between segments. */
  readonly #gaps: Gap[] = [];
  readonly #missingCodecs = new Set<string>();
  #reported = 0;
  #batches = 0;
  #bytes = 0;

  constructor(
    storage: Storage,
    options: VerifyOptions & { readonly crc32c: Crc32c },
    epochs: LeaderEpochCheck,
    content: FolderContent,
  ) {
    this.#storage = storage;
    this.#options = options;
    this.#crc32c = options.crc32c;
    this.#context = { topic: options.topic, partition: options.partition };
    this.#epochs = epochs;
    this.#producers = new ProducerCheck(storage, content.snapshots, this.#crc32c);
  }

  async *run(segments: readonly SegmentFiles[]): AsyncGenerator<Anomaly, VerifySummary, undefined> {
    for (const [i, segment] of segments.entries()) {
      const isActive = i === segments.length - 1;
      this.#endOffset = Math.max(this.#endOffset, segment.baseOffset);
      yield* this.#segment(segment, isActive);
    }
    yield* this.#missingOffsets();
    yield* await this.#producers.end(this.#endOffset, !this.#hasGaps());
    const startOffset = segments[0]?.baseOffset ?? 0;
    const endOffset = this.#endOffset;
    yield* this.#epochs.end(startOffset, endOffset);
    if (segments.length > 0) yield* checkpointAnomalies(this.#options.checkpoints ?? {}, endOffset);
    return { segments: segments.length, batches: this.#batches, bytes: this.#bytes, startOffset, endOffset };
  }

  async *#segment(segment: SegmentFiles, isActive: boolean): AsyncGenerator<Anomaly, void, undefined> {
    const { baseOffset, has, index, log, timeindex, txnindex } = segment;
    const opened: StoredFile[] = [];
    const open = async (name: string): Promise<StoredFile> => {
      const file = await this.#storage.open(name);
      opened.push(file);
      return file;
    };
    try {
      const file = await open(log);
      this.#bytes += file.size;
      const aborts = await TransactionIndexCheck.begin(
        txnindex,
        has.txnindex ? await open(txnindex) : undefined,
        baseOffset,
      );
      const offsets = has.index
        ? await OffsetIndexCheck.begin(index, await open(index), baseOffset, isActive)
        : undefined;
      const times = has.timeindex
        ? await TimeIndexCheck.begin(timeindex, await open(timeindex), baseOffset, isActive)
        : undefined;
      yield* this.#walk(segment, file, isActive, { offsets, times, aborts });
      for (const check of [offsets, times, aborts]) yield* await check?.end() ?? [];
    } finally {
      for (const file of opened) await file.close();
    }
  }

  async *#walk(
    segment: SegmentFiles,
    file: StoredFile,
    isActive: boolean,
    checks: SegmentChecks,
  ): AsyncGenerator<Anomaly, void, undefined> {
    const state: SegmentState = {
      segment,
      checks,
      batches: 0,
      maxTimestamp: -1,
      dueOffset: segment.baseOffset,
      found: [],
      damaged: undefined,
    };
    const walk = new SegmentWalk(file, {
      crc32c: this.#crc32c,
      maxBatchBytes: this.#options.maxBatchBytes ?? MAX_BATCH_BYTES,
      baseOffset: segment.baseOffset,
    });
    let found = 0;
    for (let items = await walk.next(); items !== undefined; items = await walk.next()) {
      for (const item of items) {
        if (item.type === "damage") {
          await this.#damaged(item, state, isActive);
          continue;
        }
        // Waiting for every batch would take longer than its checksum.
        if (this.#isIndexed(item, state)) await this.#compare(item, state);
        else {
          checks.offsets?.pass(item);
          checks.times?.pass(item);
        }
        const abort = this.#batch(item, state);
        if (abort !== undefined) await checks.aborts.abort(abort.producerId, item.baseOffset, abort.completed);
      }
      this.#report(walk.position);
      if (state.found.length === 0) continue;
      const room = Math.max(0, MAX_FOUND_IN_SEGMENT - found);
      found += state.found.length;
      yield* state.found.splice(0).slice(0, room);
    }
    this.#reported = 0;
    this.#settle(state, undefined, !isActive);
    yield* state.found.slice(0, Math.max(1, MAX_FOUND_IN_SEGMENT - found));
    if (found > MAX_FOUND_IN_SEGMENT) {
      yield damage(
        "corrupt-batch",
        segment.log,
        `${found - MAX_FOUND_IN_SEGMENT} more findings in this file are not listed.`,
      );
    }
    yield* this.#missingIndexes(state);
    const { baseOffset, log } = segment;
    const before = this.#lastOffset;
    if (file.size === 0 && before !== undefined && baseOffset > before + 1) {
      this.#gaps.push({ file: log, from: before + 1, until: baseOffset });
    }
  }

  #report(position: number): void {
    this.#options.onProgress?.(position - this.#reported);
    this.#reported = position;
    throwIfAborted(this.#options.signal);
  }

  /** Whether an index entry or a snapshot is to be compared at this batch, which may need a file. Few batches are. */
  #isIndexed({ baseOffset, lastOffset, position }: WalkedBatch, { checks }: SegmentState): boolean {
    return checks.offsets?.reaches(position) === true || checks.times?.reaches(lastOffset) === true ||
      this.#producers.isDue(baseOffset);
  }

  async #compare(batch: WalkedBatch, { checks }: SegmentState): Promise<void> {
    await checks.offsets?.batch(batch);
    await checks.times?.batch(batch);
    await this.#producers.compareUpTo(batch.baseOffset, !this.#hasGaps());
  }

  #batch(batch: WalkedBatch, state: SegmentState): ReplayedAbort | undefined {
    const { lastOffset, maxTimestamp } = batch;
    if (batch.repaired !== undefined) this.#repaired(batch, state);
    this.#settle(state, batch, true);
    this.#order(batch, state);
    state.batches++;
    this.#batches++;
    if (maxTimestamp > state.maxTimestamp) state.maxTimestamp = maxTimestamp;
    this.#epochs.batch(batch, state.segment.log);
    if (this.#options.codecs !== undefined) this.#decode(batch, state);
    this.#lastOffset = lastOffset;
    state.dueOffset = lastOffset + 1;
    if (lastOffset >= this.#endOffset) this.#endOffset = lastOffset + 1;
    return this.#producers.replay(batch);
  }

  /** Offsets must rise, within the segment's range, and leave nothing out but what compaction took. */
  #order(batch: WalkedBatch, state: SegmentState): void {
    const { baseOffset, lastOffset, position } = batch;
    const { log: file, baseOffset: segmentBase } = state.segment;
    const before = this.#lastOffset;
    if (lastOffset < segmentBase) {
      state.found.push(damage(
        "offset-below-base",
        file,
        `the batch has offsets ${baseOffset} to ${lastOffset}, below the file's name. Its checksum does not cover the ` +
          `offset. A broker that recovers the log refuses to start; after a clean stop it answers reads wrongly.`,
        { position, offset: baseOffset, losesData: true },
      ));
    } else if (lastOffset - segmentBase > MAX_RELATIVE_OFFSET) {
      state.found.push(note(
        "offset-overflow",
        file,
        `offset ${lastOffset} is more than 2^31−1 above the file's name. A broker splits such a segment as it opens the log, ` +
          `if the offsets rise up to the end; else it refuses to start.`,
        { position, offset: baseOffset },
      ));
    }
    if (before === undefined) return;
    if (baseOffset <= before) {
      const isFirst = state.batches === 0;
      const what = isFirst
        ? `the first batch has offsets ${baseOffset} to ${lastOffset}, and the segment before ends at ${before}`
        : `the batch has offsets ${baseOffset} to ${lastOffset}, and the one before it ends at ${before}`;
      state.found.push(damage(
        isFirst ? "overlapping-segment" : "offset-not-increasing",
        file,
        `${what}: one of them is there twice, or has a damaged offset, which no checksum covers. A broker reads records twice ` +
          `or not at all, may take the wrong end, and one that recovers the log can cut the segment to nothing, or refuse.`,
        { position, offset: baseOffset, losesData: true },
      ));
      return;
    }
    // Where a compressed message of the old formats begins is told by decoding only.
    if (batch.magic !== 2) return;
    if (!this.#isCompacted) this.#isCompacted = recordCountOf(batch) < lastOffset - baseOffset + 1;
    const due = before + 1;
    // A batch so far away from the one before must begin a segment of its own.
    const isNamed = state.batches === 0 && segmentBase > due && segmentBase - due <= MAX_RELATIVE_OFFSET;
    if (isNamed) this.#gaps.push({ file, from: due, until: segmentBase });
    const from = isNamed ? segmentBase : due;
    if (baseOffset <= from) return;
    if (this.#innerGaps++ < FEW_GAPS) this.#firstInnerGaps.push({ file, position, from, until: baseOffset });
  }

  #repaired({ baseOffset, bytes, lastOffset, position, repaired }: WalkedBatch, state: SegmentState): void {
    const { field, stored, actual } = repaired!;
    const { log: file } = state.segment;
    const what =
      `${field === "magic" ? "the magic is" : "the length field says"} ${stored}, and the checksum is right with ` +
      `${actual}: the batch of ${bytes.length} bytes, offsets ${baseOffset} to ${lastOffset}, is intact but for that.`;
    const isTaken = field === "magic" && stored > 2;
    const meaning = isTaken
      ? "A broker takes such a batch for format 2; other readers refuse it."
      : "A broker that recovers the log cuts the file here, and deletes the segments behind it.";
    state.found.push(
      damage(isTaken ? "odd-magic" : "corrupt-batch", file, `${what} ${meaning} A rescue puts it right.`, {
        position,
        offset: baseOffset,
        losesData: !isTaken,
      }),
    );
  }

  #decode(batch: WalkedBatch, state: SegmentState): void {
    const { codecs = {} } = this.#options;
    const { position, baseOffset: offset } = batch;
    const file = state.segment.log;
    try {
      const view = batchView(batch, { ...this.#context, file });
      const { compression } = view;
      if (compression === "none" || codecs[compression] !== undefined) view.records({ codecs });
      else if (!this.#missingCodecs.has(compression)) {
        this.#missingCodecs.add(compression);
        const message =
          `there is no ${compression} codec here: batches compressed with it are checked by checksum only.`;
        state.found.push(note("undecodable-batch", file, message, { position, offset }));
      }
    } catch (error) {
      if (error instanceof CorruptRecordError && error.code === "UNSAFE_INTEGER") {
        state.found.push(note("unsafe-integer", file, `${error.message}.`, { position, offset }));
      } else if (error instanceof CorruptRecordError || error instanceof CompressionError) {
        const meaning =
          "Its checksum is right: it was written like that, and brokers keep and serve it; consumers fail on it.";
        state.found.push(damage("undecodable-batch", file, `${error.message}. ${meaning}`, { position, offset }));
      } else throw error;
    }
  }

  /** Keeps damage until it is known what follows it. */
  async #damaged(range: DamagedRange, state: SegmentState, isActive: boolean): Promise<void> {
    const { checks } = state;
    this.#settle(state, undefined, true);
    const hidesNothing = isActive && range.kind === "zeros";
    state.damaged = { range, offset: state.dueOffset };
    if (hidesNothing) return;
    await checks.offsets?.skip(range.until);
    checks.times?.skip();
    checks.aborts.skip();
    this.#producers.skip();
  }

  /** Tells of the damage that was kept, now that `next` is known to follow, or the end of the file, or `hasMore` in any case. */
  #settle(state: SegmentState, next: WalkedBatch | undefined, hasMore: boolean): void {
    const { damaged, segment } = state;
    if (damaged === undefined) return;
    state.damaged = undefined;
    const { range, offset } = damaged;
    const isAtEnd = next === undefined && !hasMore;
    state.found.push(damagedRangeAnomaly(range, segment.log, offset, next, isAtEnd, this.#options.cleanShutdown));
    if (range.kind !== "zeros" || !isAtEnd) this.#lastOffset = undefined;
  }

  *#missingIndexes({ batches, maxTimestamp, segment }: SegmentState): Generator<Anomaly, void, undefined> {
    const meaning = "A broker builds it anew when it opens the log, and look-ups of other readers scan the segment.";
    // Brokers make the files when they first write to them.
    if (!segment.has.index && batches > 0) {
      yield note("missing-index", segment.index, `the file is not there. ${meaning}`);
    }
    if (!segment.has.timeindex && maxTimestamp >= 0) {
      yield note("missing-index", segment.timeindex, `the file is not there. ${meaning}`);
    }
  }

  #hasGaps(): boolean {
    return this.#isCompacted || this.#innerGaps > 0;
  }

  /** What is missing in a log that does not look compacted. */
  *#missingOffsets(): Generator<Anomaly, void, undefined> {
    if (this.#isCompacted || this.#innerGaps > FEW_GAPS) return;
    for (const { file, position, from, until } of this.#firstInnerGaps) {
      const message =
        `offsets ${from} to ${until - 1} are missing before this batch, and hardly any others are: unless the ` +
        `topic is compacted, a batch was lost or taken out, or the offset of this one is damaged, which no checksum covers.`;
      yield note("offset-gap", file, message, { position, offset: from });
    }
    if (this.#innerGaps > 0) return;
    for (const { file, from, until } of this.#gaps) {
      const message =
        `offsets ${from} to ${until - 1} are missing before this segment, and none within segments: unless the ` +
        `topic is compacted, a file was lost or does not belong here. A broker opens the log and passes over the gap.`;
      yield damage("offset-gap", file, message, { offset: from });
    }
  }
}

interface SegmentChecks {
  readonly offsets: OffsetIndexCheck | undefined;
  readonly times: TimeIndexCheck | undefined;
  readonly aborts: TransactionIndexCheck;
}

interface SegmentState {
  readonly segment: SegmentFiles;
  readonly checks: SegmentChecks;
  batches: number;
  maxTimestamp: number;
  /** The offset behind the last batch. */
  dueOffset: number;
  /** What is to be told. */
  readonly found: Anomaly[];
  /** Damage of which it is not known yet what follows, and the offset that was due there. */
  damaged: { readonly range: DamagedRange; readonly offset: number } | undefined;
}
