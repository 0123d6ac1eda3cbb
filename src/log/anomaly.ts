/**
 * What may be wrong in a partition's folder or a log directory, and how it is told: by one list of kinds, whoever finds it.
 *
 * @module
 */

/** What is wrong, by name. */
export type AnomalyKind =
  // .log
  | "corrupt-batch"
  | "torn-batch"
  | "zero-tail"
  | "undecodable-batch"
  | "odd-magic"
  | "unsafe-integer"
  | "offset-not-increasing"
  | "offset-below-base"
  | "offset-overflow"
  | "overlapping-segment"
  | "offset-gap"
  // .index, .timeindex
  | "missing-index"
  | "orphan-index"
  | "index-size"
  | "index-zero-tail"
  | "index-entry"
  // .txnindex
  | "transaction-index-size"
  | "transaction-index-entry"
  | "transaction-index-missing-entry"
  // transactions in the batches
  | "transaction-marker"
  // .snapshot
  | "corrupt-snapshot"
  | "stray-snapshot"
  | "snapshot-content"
  | "corrupt-checkpoint"
  // other files of the partition
  | "leader-epochs-unreadable"
  | "leader-epochs-content"
  | "partition-metadata-unreadable"
  | "unfinished-replacement"
  | "deleted-file"
  | "unknown-file"
  | "no-segments"
  // the log directory
  | "offset-checkpoint-unreadable"
  | "offset-checkpoint-content"
  | "unclean-shutdown";

/**
 * How much it matters. `"damage"` is what no healthy broker leaves behind; a `"note"` is what a live, killed or older broker
 * leaves, and what every reader has to bear.
 */
export type AnomalyLevel = "note" | "damage";

/** One thing that is not as it should be. */
export interface Anomaly {
  /** What it is. */
  readonly kind: AnomalyKind;
  /** How much it matters. */
  readonly level: AnomalyLevel;
  /** Name of the file. */
  readonly file: string;
  /** Byte in the file, where it is at one. */
  readonly position?: number | undefined;
  /** Offset concerned, where there is one. */
  readonly offset?: number | undefined;
  /** What it is, what it means, and what a Kafka broker would do about it. */
  readonly message: string;
  /** Whether a broker that recovers the log would cut or delete records that are right. */
  readonly losesData: boolean;
}

/** Makes an anomaly of level `"damage"`, with only the fields that apply. */
export function damage(kind: AnomalyKind, file: string, message: string, details: AnomalyDetails = {}): Anomaly {
  return anomaly(kind, "damage", file, message, details);
}

/** Makes an anomaly of level `"note"`, with only the fields that apply. */
export function note(kind: AnomalyKind, file: string, message: string, details: AnomalyDetails = {}): Anomaly {
  return anomaly(kind, "note", file, message, details);
}

/** What else is known of an anomaly. */
export interface AnomalyDetails {
  /** Byte in the file. */
  readonly position?: number | undefined;
  /** Offset concerned. */
  readonly offset?: number | undefined;
  /** Whether recovery would lose records that are right; false when absent. */
  readonly losesData?: boolean;
}

function anomaly(
  kind: AnomalyKind,
  level: AnomalyLevel,
  file: string,
  message: string,
  { position, offset, losesData = false }: AnomalyDetails,
): Anomaly {
  return {
    kind,
    level,
    file,
    ...(position === undefined ? {} : { position }),
    ...(offset === undefined ? {} : { offset }),
    message,
    losesData,
  };
}
