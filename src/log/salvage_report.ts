/**
 * What a rescue will do, and what it did.
 *
 * @module
 */

/** What a file holds. */
export interface SalvageSource {
  /** Its name. */
  readonly file: string;
  /** Bytes in it. */
  readonly size: number;
  /** Intact batches in it. */
  readonly batches: number;
  /** Bytes of these. */
  readonly intactBytes: number;
}

/** Something that is not rescued. */
export interface LostPart {
  /**
   * `"damaged"`: bytes without any intact batch. `"misplaced"`: an intact batch with an offset that cannot be right.
   * `"conflict"`: an intact batch whose offsets another one holds, with other content. `"missing"`: offsets of which there are
   * not even damaged bytes; a file may be missing, or the batch is one of the misplaced.
   */
  readonly kind: "damaged" | "misplaced" | "conflict" | "missing";
  /** The file. */
  readonly file: string;
  /** First byte. */
  readonly from: number;
  /** First byte behind it. */
  readonly until: number;
  /** What is wrong there. */
  readonly reason: string;
  /** First offset that is lost with it, at most; undefined when none is. */
  readonly firstOffset?: number;
  /** Last offset that is lost with it, at most; undefined when it is not known how many are. */
  readonly lastOffset?: number;
}

/** A field that was put right. */
export interface RepairedBatch {
  /** The file it was read from. */
  readonly file: string;
  /** Where it begins there. */
  readonly position: number;
  /** First offset of the batch. */
  readonly offset: number;
  /** The field. */
  readonly field: "magic" | "length" | "leader epoch";
  /** What it said. */
  readonly stored: number;
  /** What it says now. */
  readonly actual: number;
}

/** What will be done. */
export interface SalvagePlan {
  /** The files that batches are taken from. */
  readonly sources: readonly SalvageSource[];
  /** Bytes in them that hold no intact batch. */
  readonly damaged: readonly LostPart[];
  /** Bytes to write, at most. */
  readonly bytes: number;
}

/** What was done. */
export interface SalvageReport extends SalvagePlan {
  /** What is not rescued. */
  readonly lost: readonly LostPart[];
  /** What was put right. */
  readonly repaired: readonly RepairedBatch[];
  /** Batches that were there twice. */
  readonly duplicates: number;
  /** The new segments. */
  readonly segments: readonly SalvagedSegment[];
  /** Batches in them. */
  readonly batches: number;
  /** First offset of the new log. */
  readonly logStartOffset: number;
  /** Offset that the next record gets. */
  readonly logEndOffset: number;
  /** Transactions without an end, which may be among what is lost: readers of committed records stop at the first one. */
  readonly openTransactions: readonly { readonly producerId: number; readonly firstOffset: number }[];
}

/** A segment that was written. */
export interface SalvagedSegment {
  /** Its base offset. */
  readonly baseOffset: number;
  /** Offset behind its last batch. */
  readonly endOffset: number;
  /** Bytes of batches. */
  readonly size: number;
  /** Batches in it. */
  readonly batches: number;
}
