/**
 * Finds the runs of right batches in the files of a log: stretches in which offsets rise from batch to batch. A healthy log
 * has one run a file. Damage, doubled bytes, a damaged offset and files under a wrong name begin new ones.
 *
 * What is remembered is a few numbers a run, so that a log of any size can be looked at as a whole before it is rescued.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { RECORD_BATCH_ATTRIBUTES } from "../records/record_batch.ts";
import { type BatchRepair, type DamagedRange, recordCountOf, type WalkedBatch } from "./segment_walk.ts";

/** A `.log` that batches are taken from. */
export interface RunSource {
  /** Its name. */
  readonly name: string;
  /** Base offset of the segment, from the name. */
  readonly baseOffset: number;
  /** Files of a lower rank are believed before those of a higher one. */
  readonly rank: number;
}

/** Batches that follow each other in one file and whose offsets rise. */
export interface BatchRun {
  /** The file. */
  readonly source: RunSource;
  /** Where its first batch begins. */
  readonly from: number;
  /** First byte behind its last batch. */
  until: number;
  /** Offset that its first batch begins with, as far as that is known without decoding. */
  readonly firstOffset: number;
  /** Last offset of its last batch. */
  lastOffset: number;
  /** Number of batches. */
  batches: number;
  /** Of a run of one batch that had to be put right: how. */
  readonly repaired?: BatchRepair | undefined;
  /** Whether it stands alone where it does not belong, so that its offset must be wrong. */
  isMisplaced: boolean;
}

/** Bytes that hold no right batch. */
export interface DamagedPart extends DamagedRange {
  /** The file. */
  readonly source: RunSource;
  /** Offset behind the last right batch before it in the file; the segment's base offset when there is none. */
  readonly fromOffset: number;
  /** Offset that the next right batch in the file begins with; undefined when none follows. */
  untilOffset?: number;
}

/** What lies in the files. */
export interface SurveyedRuns {
  /** In the order of the files. */
  readonly runs: readonly BatchRun[];
  /** In the order of the files. */
  readonly damaged: readonly DamagedPart[];
  /** Whether records are missing between or in right batches that follow each other, as compaction leaves it. */
  readonly isCompacted: boolean;
}

/** Batches at the end of a run that may turn out to have wrong offsets. */
const TAIL = 8;
/** A damaged offset makes a gap or two; compaction makes many. */
export const FEW_GAPS = 3;
/** Runs and damaged parts that are remembered; a log in more pieces is no log any more. About 150 MB. */
const MAX_PIECES = 1_000_000;
/** Runs up to which the best chain of them is searched for; beyond, the log is no more than pieces. */
const MAX_CHAINED = 4000;

interface TailBatch {
  readonly position: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
}

/** Collects runs as files are walked in order. */
export class RunFinder {
  readonly #runs: BatchRun[] = [];
  readonly #damaged: DamagedPart[] = [];
  /** The run that grows, and its last batches. */
  #run: BatchRun | undefined;
  #tail: TailBatch[] = [];
  /** The same of the file before, until this one has a batch. */
  #before: { readonly run: BatchRun; readonly tail: readonly TailBatch[] } | undefined;
  /** Last offset of the run before, when this one begins below it. */
  #resumesAbove: number | undefined;
  #source: RunSource | undefined;
  /** Damage that waits for the batch behind it. */
  #open: DamagedPart | undefined;
  /** Offset behind the last batch of the file. */
  #next = 0;
  /** Whether batches lack records. */
  #isCompacted = false;
  /** Gaps between right batches that follow each other. */
  #gaps = 0;

  /** Begins the next file. */
  begin(source: RunSource): void {
    this.#before = this.#run === undefined ? undefined : { run: this.#run, tail: this.#tail };
    this.#close();
    this.#source = source;
    this.#open = undefined;
    this.#next = source.baseOffset;
  }

  /**
   * Takes damaged bytes of the file.
   *
   * @throws StorageError with code `"TOO_MANY_PIECES"`.
   */
  damage(range: DamagedRange): void {
    this.#close();
    const part: DamagedPart = { ...range, source: this.#source!, fromOffset: this.#next };
    this.#damaged.push(part);
    this.#open = part;
    this.#limit();
  }

  /**
   * Takes the next right batch of the file.
   *
   * @throws StorageError with code `"TOO_MANY_PIECES"`.
   */
  batch(batch: WalkedBatch): void {
    const { baseOffset, lastOffset, position, repaired, size } = batch;
    if (this.#before !== undefined) this.#cutTail(this.#before.run, this.#before.tail, baseOffset);
    this.#before = undefined;
    if (this.#run !== undefined && baseOffset <= this.#run.lastOffset) this.#fallBack(baseOffset);
    else if (this.#resumesAbove !== undefined && baseOffset > this.#resumesAbove) this.#close();
    if (repaired !== undefined) this.#close();
    if (this.#open !== undefined) this.#open.untilOffset = baseOffset;
    this.#open = undefined;
    const firstOffset = firstOffsetOf(batch, this.#run?.lastOffset);
    if (batch.magic === 2) {
      if (this.#run !== undefined && baseOffset > this.#run.lastOffset + 1) this.#gaps++;
      if (!this.#isCompacted) this.#isCompacted = recordCountOf(batch) < lastOffset - baseOffset + 1;
    }
    const run = this.#run ??= this.#begin(position, firstOffset, repaired);
    run.until = position + size;
    run.lastOffset = lastOffset;
    run.batches++;
    this.#next = lastOffset + 1;
    this.#tail.push({ position, firstOffset, lastOffset });
    if (this.#tail.length > TAIL) this.#tail.shift();
    if (repaired !== undefined) this.#close();
  }

  /** All runs, once every file was walked. */
  end(): SurveyedRuns {
    this.#close();
    markMisplaced(this.#runs);
    const isCompacted = this.#isCompacted || this.#gaps > FEW_GAPS;
    return { runs: this.#runs, damaged: this.#damaged, isCompacted };
  }

  #begin(from: number, firstOffset: number, repaired: BatchRepair | undefined): BatchRun {
    const run = {
      source: this.#source!,
      from,
      until: from,
      firstOffset,
      lastOffset: -1,
      batches: 0,
      isMisplaced: false,
    };
    this.#runs.push(repaired === undefined ? run : { ...run, repaired });
    this.#limit();
    return this.#runs.at(-1)!;
  }

  #limit(): void {
    if (this.#runs.length + this.#damaged.length <= MAX_PIECES) return;
    const { name } = this.#source!;
    throw new StorageError(
      `${name}: up to here there are more than ${MAX_PIECES} pieces of a log; rescue its segments one by one, if at all`,
      { code: "TOO_MANY_PIECES", file: name },
    );
  }

  #close(): void {
    this.#run = undefined;
    this.#tail = [];
    this.#resumesAbove = undefined;
  }

  /** Ends the run before a batch that begins below its end. Once one lies above all of it again, what is between was wrong. */
  #fallBack(baseOffset: number): void {
    const { lastOffset } = this.#run!;
    this.#cutTail(this.#run!, this.#tail, baseOffset);
    this.#close();
    this.#resumesAbove = lastOffset;
  }

  /**
   * If only the last few batches of a run lie above `baseOffset`, which the batch behind it begins with, they become a run of
   * their own: the wrong offset may be among them.
   */
  #cutTail(run: BatchRun, tail: readonly TailBatch[], baseOffset: number): void {
    const cut = tail.findIndex((batch) => batch.lastOffset >= baseOffset);
    if (cut <= 0) return;
    const { position: from, firstOffset } = tail[cut]!;
    const batches = tail.length - cut;
    this.#runs.push({ ...run, from, firstOffset, batches });
    run.until = from;
    run.lastOffset = tail[cut - 1]!.lastOffset;
    run.batches -= batches;
  }
}

/**
 * The offset that a batch begins with. A compressed message of the old formats tells only its last one: it begins behind the
 * message before it.
 */
export function firstOffsetOf(batch: WalkedBatch, before: number | undefined): number {
  const isWrapper = batch.magic < 2 && (batch.bytes[17]! & RECORD_BATCH_ATTRIBUTES.codec) !== 0;
  return isWrapper && before !== undefined ? before + 1 : batch.baseOffset;
}

/**
 * Looks for the chain of runs with the most bytes in which offsets rise from file to file, as they should. A single batch
 * that is not in it, though others of its file are, has a wrong offset.
 */
function markMisplaced(runs: readonly BatchRun[]): void {
  const inUse = runs.filter(({ source }) => source.rank === 0);
  if (inUse.length > MAX_CHAINED) return;
  const chained = new Set(heaviestChain(inUse));
  const files = new Set([...chained].map(({ source }) => source));
  for (const run of inUse) {
    if (run.batches === 1 && !chained.has(run) && files.has(run.source)) run.isMisplaced = true;
  }
}

function heaviestChain(runs: readonly BatchRun[]): BatchRun[] {
  const weights: number[] = [];
  const previous: number[] = [];
  let best = -1;
  for (const [i, run] of runs.entries()) {
    let weight = 0;
    let from = -1;
    for (let j = 0; j < i; j++) {
      if (runs[j]!.lastOffset < run.firstOffset && weights[j]! > weight) [weight, from] = [weights[j]!, j];
    }
    weights.push(weight + run.until - run.from);
    previous.push(from);
    if (best < 0 || weights[i]! > weights[best]!) best = i;
  }
  const chain: BatchRun[] = [];
  for (let i = best; i >= 0; i = previous[i]!) chain.push(runs[i]!);
  return chain;
}
