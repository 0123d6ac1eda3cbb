/**
 * The steps of one look-up, with their numbers: how an offset or a timestamp leads to a place in a file.
 *
 * @module
 */

/** What bounds a read: the log's end, what is replicated, or what is decided of transactions as well. */
export type Isolation = "log-end" | "high-watermark" | "committed";

/** Why a slice ends where it does. */
export type SliceEnd =
  /** As many bytes as were asked for. */
  | "max-bytes"
  /** The first batch alone is larger than that, and is read whole. */
  | "first-batch"
  /** The segment ends there. */
  | "segment-end"
  /** Nothing above the log's end, the high watermark or the last stable offset is read. */
  | Isolation;

/** One step; `step` says which. */
export type ReadStep =
  /** What is asked, and what the log holds. `bound` is the first offset that is not to be read. */
  | {
    readonly step: "offset";
    readonly offset: number;
    readonly isolation: Isolation;
    readonly bound: number;
    readonly logStartOffset: number;
    readonly highWatermark: number;
    readonly logEndOffset: number;
  }
  /** What timestamp is asked. */
  | { readonly step: "timestamp"; readonly timestamp: number; readonly logStartOffset: number }
  /** The segment with the greatest base offset at or below the offset, out of `segments`. `next` is the base offset after it. */
  | {
    readonly step: "segment";
    readonly file: string;
    readonly baseOffset: number;
    readonly next: number | undefined;
    readonly segments: number;
  }
  /** A segment whose greatest timestamp was compared; the first that reaches the one wanted is searched. */
  | {
    readonly step: "segment-timestamp";
    readonly file: string;
    readonly baseOffset: number;
    readonly largestTimestamp: number;
    readonly isChosen: boolean;
  }
  /** An entry that the binary search looked at in an offset index, and whether the floor is at or after it. */
  | {
    readonly step: "index-probe";
    readonly file: string;
    readonly entry: number;
    readonly offset: number;
    readonly position: number;
    readonly isAtMost: boolean;
  }
  /** The floor of an offset in an offset index: entry −1, at the segment's start, when all are above. */
  | {
    readonly step: "index-floor";
    readonly file: string;
    readonly wanted: number;
    readonly entries: number;
    readonly entry: number;
    readonly offset: number;
    readonly position: number;
    /** The entry after it. */
    readonly next: { readonly offset: number; readonly position: number } | undefined;
  }
  /** An entry that the binary search looked at in a time index, and whether the floor is at or after it. */
  | {
    readonly step: "time-index-probe";
    readonly file: string;
    readonly entry: number;
    readonly timestamp: number;
    readonly offset: number;
    readonly isAtMost: boolean;
  }
  /** The floor of a timestamp in a time index: entry −1, timestamp −1 at the base offset, when all are above. */
  | {
    readonly step: "time-index-floor";
    readonly file: string;
    readonly wanted: number;
    readonly entries: number;
    readonly entry: number;
    readonly timestamp: number;
    readonly offset: number;
    /** The entry after it. */
    readonly next: { readonly timestamp: number; readonly offset: number } | undefined;
  }
  /** An index led to no batch that can be the one, so the segment is scanned from its start. */
  | { readonly step: "index-distrusted"; readonly file: string; readonly position: number; readonly reason: string }
  /** Where the batch headers are read from. */
  | { readonly step: "scan"; readonly file: string; readonly position: number }
  /** A batch header. Only the first {@linkcode MAX_TRACED_BATCHES} that were passed over are told, and the one that was found. */
  | {
    readonly step: "batch";
    readonly file: string;
    readonly position: number;
    readonly size: number;
    readonly magic: number;
    readonly baseOffset: number;
    readonly lastOffset: number;
    readonly maxTimestamp: number;
    readonly isFound: boolean;
  }
  /** The end of a scan: how many headers were passed over, and whether a batch was found. */
  | { readonly step: "scanned"; readonly file: string; readonly passed: number; readonly isFound: boolean }
  /** A record that is looked at for its timestamp: the first one that is not older. */
  | { readonly step: "record"; readonly offset: number; readonly timestamp: number }
  /** The bytes that are the answer. */
  | {
    readonly step: "slice";
    readonly file: string;
    readonly begin: number;
    readonly end: number;
    readonly maxBytes: number;
    readonly endedBy: SliceEnd;
  }
  /** Aborted transactions below `upperBound`, which overlap the answer, and the transaction indexes that were read. */
  | {
    readonly step: "aborted-transactions";
    readonly upperBound: number;
    readonly files: readonly string[];
    readonly count: number;
  }
  /** Nothing to read, and why: the offset is at or beyond the bound, or nothing is left above it. */
  | { readonly step: "empty"; readonly reason: "at-bound" | "beyond-bound" | "no-batch" | "no-bytes" }
  /** Nothing as new was found. */
  | { readonly step: "none" };

/** Takes the steps of a look-up as they are made. */
export type Trace = (step: ReadStep) => void;

/** Batches passed over that a trace tells of one scan. */
export const MAX_TRACED_BATCHES = 1000;
