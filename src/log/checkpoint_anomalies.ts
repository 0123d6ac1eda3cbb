import { type Anomaly, damage } from "./anomaly.ts";

/** Offsets from the checkpoints of a log directory. */
export interface VerifiedCheckpoints {
  /** First visible offset. */
  readonly logStartOffset?: number | undefined;
  /** First offset that is not replicated. */
  readonly highWatermark?: number | undefined;
  /** First offset that is not known to be on the disk. */
  readonly recoveryPoint?: number | undefined;
  /** First offset that was never compacted. */
  readonly firstDirtyOffset?: number | undefined;
}

/** What the checkpoints say that the log's end contradicts. */
export function* checkpointAnomalies(
  { firstDirtyOffset, highWatermark, logStartOffset, recoveryPoint }: VerifiedCheckpoints,
  endOffset: number,
): Generator<Anomaly, void, undefined> {
  const ends = `and the log ends at ${endOffset}: its end was lost`;
  const make = (file: string, offset: number, message: string, losesData = false) =>
    damage("offset-checkpoint-content", file, message, { offset, losesData });
  if (logStartOffset !== undefined && logStartOffset > endOffset) {
    const message =
      `the first visible offset is ${logStartOffset}, ${ends}. A broker deletes all segments, and begins anew there.`;
    yield make("log-start-offset-checkpoint", logStartOffset, message, true);
  }
  if (recoveryPoint !== undefined && recoveryPoint > endOffset) {
    const message = `all below offset ${recoveryPoint} was on the disk, ${ends}. A broker goes on from what is there.`;
    yield make("recovery-point-offset-checkpoint", recoveryPoint, message);
  }
  if (highWatermark !== undefined && highWatermark > endOffset) {
    const message =
      `all below offset ${highWatermark} was on every replica, ${ends}. A broker goes on from what is there.`;
    yield make("replication-offset-checkpoint", highWatermark, message);
  }
  if (firstDirtyOffset !== undefined && firstDirtyOffset > endOffset) {
    const message =
      `all below offset ${firstDirtyOffset} was compacted, ${ends}. A broker compacts from the start again.`;
    yield make("cleaner-offset-checkpoint", firstDirtyOffset, message);
  }
}
