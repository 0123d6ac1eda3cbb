/**
 * Merges runs of batches into one sequence in which offsets rise, batch by batch. Where two hold the same offsets one wins.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { type BatchRun, firstOffsetOf } from "./run_finder.ts";
import { SegmentWalk, type WalkedBatch } from "./segment_walk.ts";
import type { StoredFile } from "./storage.ts";

/** A batch of the merged sequence. */
export interface MergedBatch {
  /** The batch; its bytes are valid until the next one is asked for. */
  readonly batch: WalkedBatch;
  /** The offset that it begins with, as far as that is known without decoding. */
  readonly firstOffset: number;
  /** Where it comes from. */
  readonly run: BatchRun;
}

/** Told of a batch that is left out, since `kept` holds its offsets, or some of them. */
export type LeftOut = (left: MergedBatch, kept: MergedBatch) => void;

/** What reading needs. */
export interface MergeOptions {
  /** Gives the file of a run that begins. */
  readonly open: (run: BatchRun) => Promise<StoredFile>;
  /** Takes back the file of a run that has ended. */
  readonly release: (run: BatchRun) => Promise<void>;
  /** Checksum to use: what is read a second time is checked a second time. */
  readonly crc32c: Crc32c;
  /** Most bytes of one batch. */
  readonly maxBatchBytes: number;
  /** Told of what is left out. */
  readonly onLeftOut: LeftOut;
}

/**
 * Answers the batches of `runs` in order of their offsets.
 *
 * @throws StorageError when a file is not what it was when the runs were found.
 */
export async function* mergeRuns(
  runs: readonly BatchRun[],
  options: MergeOptions,
): AsyncGenerator<MergedBatch, void, undefined> {
  const waiting = [...runs].sort((a, b) => b.firstOffset - a.firstOffset);
  const open: RunReader[] = [];
  const put = async (reader: RunReader) => {
    if (await reader.advance()) open.splice(placeOf(open, reader.firstOffset), 0, reader);
    else await options.release(reader.run);
  };
  for (;;) {
    // The runs that begin below the end of the next batch take part in it.
    while (waiting.length > 0 && (open.length === 0 || waiting.at(-1)!.firstOffset <= open[0]!.head.batch.lastOffset)) {
      const run = waiting.pop()!;
      await put(new RunReader(run, await options.open(run), options));
    }
    const first = open[0];
    if (first === undefined) return;
    const rival = open[1];
    if (rival !== undefined && rival.firstOffset <= first.head.batch.lastOffset) {
      const [kept, left] = isBetter(rival.head, first.head) ? [rival, first] : [first, rival];
      options.onLeftOut(left.head, kept.head);
      open.splice(open.indexOf(left), 1);
      await put(left);
      continue;
    }
    open.shift();
    yield first.head;
    await put(first);
  }
}

/** Where a reader belongs among others that are in order of their offsets. */
function placeOf(readers: readonly RunReader[], firstOffset: number): number {
  let low = 0;
  let high = readers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (readers[middle]!.firstOffset <= firstOffset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Files in use before others, then what was believed for longer, then what comes first. */
function isBetter({ run: a }: MergedBatch, { run: b }: MergedBatch): boolean {
  if (a.source.rank !== b.source.rank) return a.source.rank < b.source.rank;
  if (a.isMisplaced !== b.isMisplaced) return b.isMisplaced;
  return a.until - a.from > b.until - b.from;
}

/** Reads the batches of one run. */
class RunReader {
  readonly run: BatchRun;
  readonly #walk: SegmentWalk;
  #items: readonly WalkedBatch[] = [];
  #at = 0;
  #lastOffset: number | undefined;
  #head: MergedBatch | undefined;
  constructor(run: BatchRun, file: StoredFile, { crc32c, maxBatchBytes }: MergeOptions) {
    this.run = run;
    const { from, source: { baseOffset }, until } = run;
    this.#walk = new SegmentWalk(file, { crc32c, maxBatchBytes, baseOffset, from, until });
  }

  /** The next batch. */
  get head(): MergedBatch {
    return this.#head!;
  }

  /** The offset that the next batch begins with. */
  get firstOffset(): number {
    return this.head.firstOffset;
  }

  /** Goes to the next batch; false behind the last. */
  async advance(): Promise<boolean> {
    if (this.#at === this.#items.length) {
      const items = await this.#walk.next();
      if (items === undefined) return false;
      this.#items = items.map((item) => {
        if (item.type === "batch") return item;
        const { name } = this.run.source;
        throw new StorageError(
          `${name} at byte ${item.from}: there was a right batch a moment ago, and now there is none (${item.reason}): ` +
            `the file changes, or the disk fails. Copy the folder first, and rescue the copy.`,
          { code: "FILE_CHANGED", file: name, position: item.from },
        );
      });
      this.#at = 0;
    }
    const batch = this.#items[this.#at++]!;
    const isFirst = this.#lastOffset === undefined;
    const firstOffset = isFirst ? this.run.firstOffset : firstOffsetOf(batch, this.#lastOffset);
    this.#lastOffset = batch.lastOffset;
    this.#head = { batch, firstOffset, run: this.run };
    return true;
  }
}
