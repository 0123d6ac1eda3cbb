/**
 * Writes the segments of a rescued log, and what a broker needs beside them: indexes, the epochs, and one snapshot of the
 * producers at the end, so that a broker that starts after a clean stop knows of open transactions.
 *
 * @module
 */

import type { Crc32c } from "../hash/crc32c.ts";
import { RECORD_BATCH_FIELDS } from "../records/record_batch.ts";
import type { RunSource } from "./run_finder.ts";
import { writeCheckpointLines } from "./checkpoint_lines.ts";
import { LeaderEpochs } from "./leader_epochs.ts";
import { type AppendedBatch, LogSegment } from "./log_segment.ts";
import { markerOf, replayedBatch } from "./producer_check.ts";
import { encodeProducerSnapshot } from "./producer_snapshot.ts";
import { type CompletedTransaction, ProducerStates } from "./producer_states.ts";
import type { RebuiltEpochs } from "./rebuilt_epochs.ts";
import type { RepairedBatch, SalvagedSegment, SalvageReport } from "./salvage_report.ts";
import { segmentFileName } from "./segment_file_name.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { Storage } from "./storage.ts";
import { TRANSACTION_INDEX_ENTRY_BYTES } from "./transaction_index.ts";

/** What writing needs. */
export interface SalvageWriterOptions {
  /** Base offset of the first segment of the source. */
  readonly startOffset: number;
  /** Bytes of the largest file of the source: no segment becomes larger. */
  readonly segmentBytes: number;
  /** Whether offsets may be missing between segments without anything being lost. */
  readonly isCompacted: boolean;
  /** Finds out the epochs. */
  readonly epochs: RebuiltEpochs;
  /** Checksum to use. */
  readonly crc32c: Crc32c;
  /** Bytes of batches between two index entries. */
  readonly indexIntervalBytes: number;
  /** Most bytes of one batch. */
  readonly maxBatchBytes: number;
  /** Told of every field that is put right. */
  readonly onRepaired: (repaired: RepairedBatch) => void;
}

/** What was written. */
export type Salvaged = Pick<
  SalvageReport,
  "segments" | "batches" | "logStartOffset" | "logEndOffset" | "openTransactions"
>;

const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;
const SEGMENT_INDEX_BYTES = 10 * 1024 * 1024;
/** Bytes that are written together. */
const CHUNK_BYTES = 1024 * 1024;

/** A batch that waits to be written, since its epoch is judged by that of the next. */
interface Pending {
  readonly size: number;
  readonly source: RunSource;
  readonly position: number;
  readonly firstOffset: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly maxTimestamp: number;
  readonly magic: number;
  readonly epoch: number;
}

/** A batch to write, and where it comes from. */
export interface WrittenBatch {
  /** The batch; its bytes are copied. */
  readonly batch: WalkedBatch;
  /** The offset that it begins with, as far as that is known without decoding. */
  readonly firstOffset: number;
  /** Where it comes from. */
  readonly run: { readonly source: RunSource };
}

/** Takes batches in order of their offsets. */
export class SalvageWriter {
  readonly #target: Storage;
  readonly #options: SalvageWriterOptions;
  readonly #segments: SalvagedSegment[] = [];
  readonly #producers = new ProducerStates(0);
  #segment: LogSegment | undefined;
  /** The file whose base offset the segment has, or would have. */
  #source: RunSource | undefined;
  #segmentBatches = 0;
  #segmentSize = 0;
  #pending: Pending | undefined;
  #lastOffset = -1;
  #lastEpoch = -1;
  #batches = 0;
  /** The bytes of what is to be appended next, and behind them those of the batch that waits. */
  #buffer: Uint8Array<ArrayBuffer>;
  #chunk: AppendedBatch[] = [];
  #chunkSize = 0;
  #aborted: CompletedTransaction[] = [];

  /** Will write into `target`. */
  constructor(target: Storage, options: SalvageWriterOptions) {
    this.#target = target;
    this.#options = options;
    this.#buffer = new Uint8Array(Math.min(CHUNK_BYTES, options.segmentBytes));
  }

  /** Takes the next batch. Answers a promise only when something has to be written: a wait for each batch costs more than it. */
  add(written: WrittenBatch): Promise<void> | undefined {
    const { batch, run: { source } } = written;
    const { baseOffset, partitionLeaderEpoch: epoch, position, repaired, size } = batch;
    if (repaired !== undefined) {
      this.#options.onRepaired({ file: source.name, position, offset: baseOffset, ...repaired });
    }
    this.#replay(batch);
    const before = this.#pending;
    if (before !== undefined) this.#correctEpoch(before, epoch);
    const room = this.#buffer.length - this.#chunkSize - (before?.size ?? 0);
    if (size > room || (before !== undefined && !this.#fits(before))) return this.#addAfterWriting(written);
    if (before !== undefined) this.#commit(before);
    this.#wait(written);
    return undefined;
  }

  async #addAfterWriting(written: WrittenBatch): Promise<void> {
    await this.#settle();
    const { size } = written.batch;
    if (size > this.#buffer.length - this.#chunkSize) await this.#flush();
    if (size > this.#buffer.length) this.#buffer = new Uint8Array(size);
    this.#wait(written);
  }

  /** Ends the log. `emptyBase` is the base offset of a last segment in which nothing is. */
  async end(emptyBase: number | undefined): Promise<Salvaged> {
    if (this.#pending !== undefined) this.#correctEpoch(this.#pending, -1);
    await this.#settle();
    const end = this.#lastOffset + 1;
    const isDue = emptyBase !== undefined && (this.#batches === 0 || (this.#options.isCompacted && emptyBase > end));
    await this.#endSegment();
    if (isDue) await this.#begin(emptyBase);
    await this.#endSegment();
    const logEndOffset = isDue ? emptyBase : end;
    const logStartOffset = this.#segments[0]?.baseOffset ?? 0;
    await this.#writeEpochs(logStartOffset, logEndOffset);
    await this.#writeSnapshot(logEndOffset);
    const { ongoing: openTransactions } = this.#producers;
    return { segments: this.#segments, batches: this.#batches, logStartOffset, logEndOffset, openTransactions };
  }

  /** Releases the files, also when it did not come to an end. */
  async close(): Promise<void> {
    await this.#segment?.close();
    this.#segment = undefined;
  }

  #replay(batch: WalkedBatch): void {
    const replayed = replayedBatch(batch);
    if (replayed === undefined) return;
    if (!replayed.isControl) {
      this.#producers.replay(replayed);
      return;
    }
    const completed = this.#producers.replayMarker(replayed, markerOf(batch));
    if (completed?.isAborted) this.#aborted.push(completed);
  }

  /** Keeps a batch: the copy outlives the window that it was read in. */
  #wait({ batch, firstOffset, run: { source } }: WrittenBatch): void {
    const { baseOffset, bytes, lastOffset, magic, maxTimestamp, partitionLeaderEpoch: epoch, position } = batch;
    this.#buffer.set(bytes, this.#chunkSize);
    const size = bytes.length;
    this.#pending = { size, source, position, firstOffset, baseOffset, lastOffset, maxTimestamp, magic, epoch };
  }

  /** Makes the batch that waits part of what is appended next. */
  #commit({ lastOffset, maxTimestamp, size }: Pending): void {
    this.#pending = undefined;
    this.#chunk.push({ size, lastOffset, maxTimestamp });
    this.#chunkSize += size;
    this.#lastOffset = lastOffset;
  }

  /** The same where a segment may have to be begun for it. */
  async #settle(): Promise<void> {
    const batch = this.#pending;
    if (batch === undefined) return;
    if (!this.#fits(batch)) {
      const at = this.#chunkSize;
      await this.#roll(batch);
      this.#buffer.copyWithin(0, at, at + batch.size);
    }
    this.#commit(batch);
  }

  #correctEpoch({ baseOffset, epoch: stored, magic, position, source }: Pending, nextEpoch: number): void {
    if (magic !== 2) return;
    const { epochs, onRepaired } = this.#options;
    const actual = epochs.correct(baseOffset, stored, this.#lastEpoch, nextEpoch);
    if (actual !== undefined) {
      const view = new DataView(this.#buffer.buffer, this.#chunkSize);
      view.setInt32(RECORD_BATCH_FIELDS.partitionLeaderEpoch, actual);
      onRepaired({ file: source.name, position, offset: baseOffset, field: "leader epoch", stored, actual });
    }
    const epoch = actual ?? stored;
    epochs.add(baseOffset, epoch);
    if (epoch >= 0) this.#lastEpoch = epoch;
  }

  /** Whether the batch goes into the present segment. */
  #fits(batch: Pending): boolean {
    const segment = this.#segment;
    if (segment === undefined || this.#beginsNext(batch)) return false;
    const size = this.#segmentSize + this.#chunkSize + batch.size;
    return segment.takes(batch.lastOffset) && size <= this.#options.segmentBytes && !segment.isIndexFull;
  }

  /** Whether the batch comes from another file, whose name says that a segment begins here. */
  #beginsNext({ firstOffset, source }: Pending): boolean {
    return source !== this.#source && source.baseOffset > this.#lastOffset && source.baseOffset <= firstOffset;
  }

  /** Begins the segment for a batch. */
  async #roll(batch: Pending): Promise<void> {
    const { firstOffset, lastOffset, magic, source } = batch;
    if (this.#segment === undefined) {
      const first = Math.min(this.#options.startOffset, firstOffset);
      return await this.#begin(withinReach(first, firstOffset, lastOffset), source);
    }
    // Where compaction took nothing, what is between was lost: a name that leaves no gap says that no file is missing.
    const isNamed = this.#beginsNext(batch) && (this.#options.isCompacted || magic < 2);
    const named = isNamed ? source.baseOffset : this.#lastOffset + 1;
    await this.#endSegment();
    await this.#begin(withinReach(named, firstOffset, lastOffset), source);
  }

  async #begin(baseOffset: number, source?: RunSource): Promise<void> {
    this.#segment = await LogSegment.open({
      storage: this.#target,
      baseOffset,
      writable: true,
      indexIntervalBytes: this.#options.indexIntervalBytes,
      segmentIndexBytes: SEGMENT_INDEX_BYTES,
      maxBatchBytes: this.#options.maxBatchBytes,
      context: {},
    });
    this.#source = source;
    this.#segmentBatches = 0;
    this.#segmentSize = 0;
  }

  async #flush(): Promise<void> {
    if (this.#chunk.length === 0) return;
    await this.#segment!.append([this.#buffer.subarray(0, this.#chunkSize)], this.#chunk);
    this.#segmentBatches += this.#chunk.length;
    this.#segmentSize += this.#chunkSize;
    this.#batches += this.#chunk.length;
    this.#chunk = [];
    this.#chunkSize = 0;
  }

  async #endSegment(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    await this.#flush();
    await segment.seal();
    await this.#writeAborted(segment.baseOffset);
    const endOffset = Math.max(segment.baseOffset, this.#lastOffset + 1);
    this.#segments.push({
      baseOffset: segment.baseOffset,
      endOffset,
      size: this.#segmentSize,
      batches: this.#segmentBatches,
    });
    this.#segment = undefined;
    await segment.close();
  }

  /** The transactions that were aborted in the segment that ends; the marker of a batch that waits belongs to the next. */
  async #writeAborted(baseOffset: number): Promise<void> {
    const here = this.#aborted.filter(({ lastOffset }) => lastOffset <= this.#lastOffset);
    this.#aborted = this.#aborted.filter(({ lastOffset }) => lastOffset > this.#lastOffset);
    if (here.length === 0) return;
    const view = new DataView(new ArrayBuffer(here.length * TRANSACTION_INDEX_ENTRY_BYTES));
    for (const [n, { firstOffset, lastOffset, lastStableOffset, producerId }] of here.entries()) {
      const at = n * TRANSACTION_INDEX_ENTRY_BYTES + 2;
      for (const [i, value] of [producerId, firstOffset, lastOffset, lastStableOffset].entries()) {
        view.setInt32(at + 8 * i, Math.floor(value / 4294967296));
        view.setInt32(at + 8 * i + 4, value | 0);
      }
    }
    await this.#write(segmentFileName(baseOffset, "txnindex"), new Uint8Array(view.buffer));
  }

  async #writeEpochs(startOffset: number, endOffset: number): Promise<void> {
    const entries = this.#options.epochs.entries(startOffset, endOffset);
    if (entries.length === 0) return;
    const lines = entries.map((entry) => `${entry.epoch} ${entry.startOffset}`);
    await writeCheckpointLines(this.#target, LeaderEpochs.FILE, lines);
  }

  async #writeSnapshot(endOffset: number): Promise<void> {
    const { active } = this.#producers;
    if (active.length === 0) return;
    await this.#write(segmentFileName(endOffset, "snapshot"), encodeProducerSnapshot(active, this.#options.crc32c));
  }

  async #write(name: string, bytes: Uint8Array): Promise<void> {
    const file = await this.#target.open(name, { create: true });
    try {
      await file.append([bytes]);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** A base offset that is at most `named` or `firstOffset`, and from which `lastOffset` can be told. */
function withinReach(named: number, firstOffset: number, lastOffset: number): number {
  if (lastOffset - named <= MAX_RELATIVE_OFFSET) return named;
  // Of a compressed message of the old formats it is only known that it begins behind the message before it.
  return Math.max(Math.min(firstOffset, lastOffset), lastOffset - MAX_RELATIVE_OFFSET);
}
