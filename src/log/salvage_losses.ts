import type { MergedBatch } from "./merge_runs.ts";
import type { LostPart, RepairedBatch } from "./salvage_report.ts";

/** More of one kind say nothing new, and memory stays bounded. */
const MAX_LISTED = 10_000;

/** Offsets of a batch that was left out, as far as no other batch held them yet. */
interface Uncovered {
  readonly part: LostPart;
  next: number;
  readonly last: number;
}

/** Keeps account of what does not get into the new log. */
export class SalvageLosses {
  /** What was put right. */
  readonly repaired: RepairedBatch[] = [];
  /** Batches that were there twice. */
  duplicates = 0;
  readonly #lost: LostPart[];
  readonly #isCompacted: boolean;
  #uncovered: Uncovered[] = [];
  #lastOffset: number | undefined;

  /** Begins with the bytes that hold no batch; `isCompacted` when offsets may be missing without being lost. */
  constructor(damaged: readonly LostPart[], isCompacted: boolean) {
    this.#lost = damaged.filter((part) => part.firstOffset !== undefined);
    this.#isCompacted = isCompacted;
  }

  /** Takes note of a field that was put right. */
  repair(repaired: RepairedBatch): void {
    if (this.repaired.length < MAX_LISTED) this.repaired.push(repaired);
  }

  /** A batch with a wrong offset that no other batch has. */
  misplaced({ batch, run }: MergedBatch): void {
    this.#add({
      kind: "misplaced",
      file: run.source.name,
      from: batch.position,
      until: batch.position + batch.size,
      reason:
        `the batch is intact, but its offsets, ${batch.baseOffset} to ${batch.lastOffset}, cannot be right here, and ` +
        `no checksum covers them`,
    });
  }

  /** A batch that gives way to another. */
  leftOut(left: MergedBatch, kept: MergedBatch): void {
    const { batch, run } = left;
    if (isSame(batch.bytes, kept.batch.bytes)) {
      this.duplicates++;
      return;
    }
    // What a compaction was about to put in place of files that are still there says nothing new.
    if (run.source.rank > kept.run.source.rank) return;
    if (run.isMisplaced) return this.misplaced(left);
    const { source: { name } } = kept.run;
    const part: LostPart = {
      kind: "conflict",
      file: run.source.name,
      from: batch.position,
      until: batch.position + batch.size,
      reason:
        `the batch is intact, but offsets of it, ${batch.baseOffset} to ${batch.lastOffset}, are also in ${name} at byte ` +
        `${kept.batch.position} with other content`,
    };
    if (this.#uncovered.length < MAX_LISTED) {
      this.#uncovered.push({ part, next: batch.baseOffset, last: batch.lastOffset });
    }
  }

  /** A batch that goes into the new log, in order of offsets. */
  passes(next: MergedBatch): void {
    if (next.run.isMisplaced) return;
    this.#missing(next);
    const { baseOffset, lastOffset } = next.batch;
    this.#lastOffset = lastOffset;
    if (this.#uncovered.length === 0) return;
    this.#uncovered = this.#uncovered.filter((left) => {
      if (baseOffset > left.next) {
        this.#add({ ...left.part, firstOffset: left.next, lastOffset: Math.min(baseOffset - 1, left.last) });
        return false;
      }
      left.next = Math.max(left.next, lastOffset + 1);
      if (left.next <= left.last) return true;
      this.#add(left.part);
      return false;
    });
  }

  /** Tells of offsets before a batch, if no damaged bytes may have held them. Of the old formats it is not known. */
  #missing({ batch, run }: MergedBatch): void {
    const firstOffset = (this.#lastOffset ?? batch.baseOffset) + 1;
    const lastOffset = batch.baseOffset - 1;
    if (lastOffset < firstOffset || batch.magic < 2 || this.#isCompacted) return;
    const isExplained = this.#lost.some((part) =>
      part.kind === "damaged" && part.firstOffset! <= firstOffset && (part.lastOffset ?? Infinity) >= lastOffset
    );
    if (isExplained) return;
    const { position } = batch;
    const reason =
      `the batch here begins with offset ${batch.baseOffset}, and ${firstOffset} is due: unless the topic is ` +
      `compacted, a file is missing, or an offset is damaged`;
    this.#add({
      kind: "missing",
      file: run.source.name,
      from: position,
      until: position,
      reason,
      firstOffset,
      lastOffset,
    });
  }

  /** All that is lost. */
  end(): LostPart[] {
    for (const { last, next, part } of this.#uncovered.splice(0)) {
      this.#add({ ...part, firstOffset: next, lastOffset: last });
    }
    return this.#lost;
  }

  #add(part: LostPart): void {
    if (this.#lost.length < MAX_LISTED) this.#lost.push(part);
  }
}

/** Whether two batches are the same; the leader's epoch may differ, which is stamped on them. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i] || (i >= 12 && i < 16 && a[16] === 2));
}
