/**
 * What is odd about a partition's folder and costs nothing to see while it is opened: what lies behind the last batch, what
 * the names of the files tell, and checkpoints that the log does not hold.
 *
 * @module
 */

import { type Anomaly, damage, note } from "./anomaly.ts";
import { parseKafkaFileName } from "./kafka_file_name.ts";
import type { LogOptions } from "./log_options.ts";
import type { LogSegment, SegmentEnd } from "./log_segment.ts";
import { segmentFileName } from "./segment_file_name.ts";

type Report = (anomaly: Anomaly) => void;

/** Bytes behind the last batch that are looked at. */
const TAIL_BYTES = 64 * 1024;

/** A folder that was opened. */
export interface OpenedFolder {
  /** Names of its files. */
  readonly names: readonly string[];
  /** The segments in order. */
  readonly segments: readonly LogSegment[];
  /** The end of the last segment. */
  readonly end: SegmentEnd;
  /** What was said of the log, with its checkpoints. */
  readonly options: LogOptions;
}

/** Reports what is odd about `folder`. */
export async function reportFolderAnomalies(folder: OpenedFolder, report: Report): Promise<void> {
  await reportEnd(folder.segments.at(-1)!, folder.end, report);
  reportNames(folder.names, folder.segments, report);
  reportCheckpoints(folder.options, folder.end.nextOffset, report);
}

/** Reports what lies behind the last batch. */
async function reportEnd(
  active: LogSegment,
  { nextOffset, misplaced, error }: SegmentEnd,
  report: Report,
): Promise<void> {
  const { file, size: position, trailingBytes } = active;
  const place = { position, offset: nextOffset };
  if (nextOffset > active.baseOffset && !active.takes(nextOffset - 1)) {
    report(damage(
      "offset-overflow",
      file,
      `offset ${nextOffset - 1} is not within 2^31 of the segment's base: its index cannot tell it. ` +
        `A broker splits such a segment when it opens the log`,
      place,
    ));
  }
  if (misplaced !== undefined) {
    const { baseOffset: offset, position } = misplaced;
    report(damage(
      offset < active.baseOffset ? "offset-below-base" : "offset-not-increasing",
      file,
      `the batch begins at offset ${offset}, below what is before it: it is passed over. A broker takes the end of the ` +
        `last batch for the end of the log, and may cut the segment off when it recovers the log`,
      { position, offset, losesData: true },
    ));
  }
  if (error?.code === "UNSAFE_INTEGER") {
    report(damage("unsafe-integer", file, `${error.message}. What is before it can be read`, place));
  } else if (error !== undefined) {
    report(damage(
      "corrupt-batch",
      file,
      `${error.message}. The log ends before it. A broker refuses to open the log after a clean stop, ` +
        `and cuts off all ${trailingBytes} bytes when it recovers it, with whatever right batches are in them`,
      { ...place, losesData: true },
    ));
  } else if (trailingBytes > 0) {
    report(await tailOf(active, place));
  }
}

/** Reports what the names of the files tell. */
function reportNames(names: readonly string[], segments: readonly LogSegment[], report: Report): void {
  const logs = new Set(names.filter((name) => name.endsWith(".log")).map((name) => name.slice(0, -".log".length)));
  const snapshots: string[] = [];
  for (const name of names) {
    const { digits, type } = parseKafkaFileName(name) ?? {};
    if (digits === undefined || logs.has(digits)) continue;
    if (type === "snapshot") snapshots.push(name);
    else if (type === "index" || type === "timeindex" || type === "txnindex") {
      report(note("orphan-index", name, "it belongs to no .log; a broker deletes it when it opens the log"));
    }
  }
  // A clean stop writes one for the end of the log, which is above all segments.
  if ((snapshots.at(-1) ?? "") > [...logs].sort().at(-1)!) snapshots.pop();
  for (const name of snapshots) {
    report(note(
      "stray-snapshot",
      name,
      "no segment begins at its offset, and it is not the newest; a broker deletes it when it opens the log",
    ));
  }
  const isThere = new Set(names);
  for (const { baseOffset, size } of segments) {
    const name = segmentFileName(baseOffset, "index");
    if (size === 0 || isThere.has(name)) continue;
    report(note("missing-index", name, "the segment has none, so it is scanned; a broker builds it anew"));
  }
}

/** Reports offsets of checkpoints that the log does not hold. */
function reportCheckpoints(
  { logStartOffset, highWatermark, recoveryPoint }: LogOptions,
  end: number,
  report: Report,
): void {
  if (logStartOffset !== undefined && logStartOffset > end) {
    report(damage(
      "offset-checkpoint-content",
      "log-start-offset-checkpoint",
      `the log begins at offset ${logStartOffset}, and its files end at ${end}: records were lost. ` +
        `A broker deletes all segments and begins a new one at ${logStartOffset}; open without the checkpoint to read them`,
      { offset: logStartOffset },
    ));
  }
  if (highWatermark !== undefined && highWatermark > Math.max(end, logStartOffset ?? 0)) {
    report(damage(
      "offset-checkpoint-content",
      "replication-offset-checkpoint",
      `records below offset ${highWatermark} were replicated, and the files end at ${end}: some were lost here`,
      { offset: highWatermark },
    ));
  }
  if (recoveryPoint !== undefined && recoveryPoint > Math.max(end, logStartOffset ?? 0)) {
    report(damage(
      "offset-checkpoint-content",
      "recovery-point-offset-checkpoint",
      `records below offset ${recoveryPoint} were on the disk, and the files end at ${end}: some were lost`,
      { offset: recoveryPoint },
    ));
  }
}

/** What lies behind the last batch, though nothing is wrong with its first bytes. */
async function tailOf(active: LogSegment, place: { position: number; offset: number }): Promise<Anomaly> {
  const { file, trailingBytes } = active;
  const isZero = (await active.trailing(TAIL_BYTES)).every((byte) => byte === 0);
  return isZero
    ? note(
      "zero-tail",
      file,
      `${trailingBytes} bytes behind the last batch are zero: the file was made at full length (preallocate=true) ` +
        `and was live when it was copied, or its broker crashed. A broker cuts them off when it recovers the log`,
      place,
    )
    : damage(
      "torn-batch",
      file,
      `${trailingBytes} bytes behind the last batch are no whole one: what a crash left unfinished. ` +
        `A broker takes them for the end, and cuts them off when it recovers the log`,
      place,
    );
}
