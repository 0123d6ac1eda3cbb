/**
 * Sorts the files of a partition's folder, and tells which do not belong there and what a broker would do with them.
 *
 * @module
 */

import { type Anomaly, damage, note } from "./anomaly.ts";
import { type KafkaFileName, parseKafkaFileName } from "./kafka_file_name.ts";
import type { SnapshotFile } from "./producer_check.ts";
import type { Storage } from "./storage.ts";

/** The files of one segment. */
export interface SegmentFiles {
  /** Its base offset. */
  readonly baseOffset: number;
  /** Name of its `.log`. */
  readonly log: string;
  /** Name of its offset index. */
  readonly index: string;
  /** Name of its time index. */
  readonly timeindex: string;
  /** Name of its transaction index. */
  readonly txnindex: string;
  /** Which of the indexes are there. */
  readonly has: { readonly index: boolean; readonly timeindex: boolean; readonly txnindex: boolean };
}

/** A `.log` that is not in use. */
export interface UnusedLog {
  /** Its name. */
  readonly name: string;
  /** Base offset of the segment. */
  readonly baseOffset: number;
  /** What Kafka was about to do with it. */
  readonly state: "deleted" | "cleaned" | "swap";
}

/** What is in a folder. */
export interface FolderContent {
  /** Segments in order. */
  readonly segments: readonly SegmentFiles[];
  /** Files of segments that are not in use, in order. */
  readonly unusedLogs: readonly UnusedLog[];
  /** Producer snapshots in order. */
  readonly snapshots: readonly SnapshotFile[];
  /** Names of a KRaft log's snapshots, in order. */
  readonly kraftSnapshots: readonly string[];
  /** What does not belong there. */
  readonly anomalies: readonly Anomaly[];
}

interface Named {
  readonly name: string;
  readonly file: KafkaFileName;
  readonly offset: number;
}

/**
 * Lists the folder.
 *
 * @throws StorageError when it cannot be listed.
 */
export async function checkFolder(storage: Storage): Promise<FolderContent> {
  const anomalies: Anomaly[] = [];
  const files: Named[] = [];
  const names = await storage.list();
  for (const name of names) {
    const file = parseKafkaFileName(name);
    if (file === undefined) {
      anomalies.push(note("unknown-file", name, "none of Kafka's files has such a name: a broker leaves it alone."));
    } else if (file.digits !== undefined) {
      const offset = Number(file.digits);
      if (Number.isSafeInteger(offset)) files.push({ name, file, offset });
      else {
        const message =
          "the offset in its name is beyond 2^53−1, which a JavaScript number cannot hold: it is not looked at.";
        anomalies.push(note("unsafe-integer", name, message));
      }
    }
  }
  const inUse = new Set(names);
  const logs = files.filter(({ file }) => file.type === "log" && file.state === undefined).sort(byOffset);
  const bases = new Set(logs.map(({ offset }) => offset));
  anomalies.push(...unfinished(files, bases), ...orphans(files, bases));
  if (logs.length === 0) {
    anomalies.push(
      damage("no-segments", "", "the folder holds no segment: there is no file like 00000000000000000000.log."),
    );
  }
  return {
    segments: logs.map(({ name, offset }) => segmentFiles(name, offset, inUse)),
    unusedLogs: files.flatMap(({ file, name, offset }) =>
      file.type === "log" && file.state !== undefined ? [{ name, baseOffset: offset, state: file.state }] : []
    ),
    snapshots: files.filter(({ file }) => file.type === "snapshot" && file.state === undefined)
      .map(({ name, offset }) => ({ name, offset })).sort(byOffset),
    kraftSnapshots: files.filter(({ file }) => file.type === "checkpoint" && file.state === undefined)
      .map(({ name }) => name),
    anomalies,
  };
}

function segmentFiles(log: string, baseOffset: number, names: ReadonlySet<string>): SegmentFiles {
  const stem = log.slice(0, -"log".length);
  const [index, timeindex, txnindex] = ["index", "timeindex", "txnindex"].map((suffix) => stem + suffix) as [
    string,
    string,
    string,
  ];
  const has = { index: names.has(index), timeindex: names.has(timeindex), txnindex: names.has(txnindex) };
  return { baseOffset, log, index, timeindex, txnindex, has };
}

/** Files that are on their way in or out: what a broker does with them when it opens the log. */
function* unfinished(files: readonly Named[], bases: ReadonlySet<number>): Generator<Anomaly, void, undefined> {
  const cleaned = files.filter(({ file }) => file.state === "cleaned");
  const [deleted, ...more] = files.filter(({ file }) => file.state === "deleted");
  if (deleted !== undefined) {
    const message = more.length === 0
      ? "it is on its way out: a broker removes it when it opens the log."
      : `it and ${more.length} more files are on their way out: a broker removes them when it opens the log.`;
    yield note("deleted-file", deleted.name, message, { offset: deleted.offset });
  }
  const firstCleaned = Math.min(...cleaned.map(({ offset }) => offset), Infinity);
  for (const { file, name, offset } of files) {
    const isOnlyCopy = file.type === "log" && !bases.has(offset);
    const only = isOnlyCopy ? " There is no other file of that segment: what is in it would be lost." : "";
    if (file.state === "cleaned") {
      const message = `a compaction or split did not finish: a broker removes the file when it opens the log.${only}`;
      yield damage("unfinished-replacement", name, message, { offset, losesData: isOnlyCopy });
    } else if (file.state === "swap" && offset >= firstCleaned) {
      const message =
        `a compaction or split did not finish, since a .cleaned file is there: a broker removes this one, too.`;
      yield damage("unfinished-replacement", name, message + only, { offset, losesData: isOnlyCopy });
    } else if (file.state === "swap") {
      const message =
        `a compaction or split finished, but its result is not in place: a broker puts it there when it opens the ` +
        `log, and removes the files whose offsets it covers.`;
      yield damage("unfinished-replacement", name, message, { offset });
    }
  }
}

/** Files that belong to a segment that is not there. */
function* orphans(files: readonly Named[], bases: ReadonlySet<number>): Generator<Anomaly, void, undefined> {
  for (const { file, name, offset } of files) {
    if (file.state !== undefined || bases.has(offset)) continue;
    if (file.type !== "index" && file.type !== "timeindex" && file.type !== "txnindex") continue;
    const message =
      "its .log is not there: a broker removes it. Unless that was deleted just now, a segment is missing.";
    yield damage("orphan-index", name, message, { offset });
  }
}

function byOffset(a: { readonly offset: number }, b: { readonly offset: number }): number {
  return a.offset - b.offset;
}
