/**
 * A partition's folder as a broker would have it after opening it: without the files on their way to be deleted, and with
 * a compaction that a crash interrupted undone or finished. Nothing is changed; names are only looked at differently.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { type Anomaly, note } from "./anomaly.ts";
import { type KafkaFileName, parseKafkaFileName } from "./kafka_file_name.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** A file of a segment. */
interface SegmentFile {
  readonly name: string;
  readonly digits: string;
  readonly type: KafkaFileName["type"];
  readonly state: KafkaFileName["state"];
}

/** The folder in `storage` as a broker would have it. `endOf` tells the offset behind the last batch of a segment. */
export async function folderView(
  storage: Storage,
  endOf: (storage: Storage, baseOffset: number) => Promise<number>,
  report: (anomaly: Anomaly) => void,
): Promise<Storage> {
  const names = await storage.list();
  const files = names.flatMap(segmentFilesOf);
  const isLeft = new Set(names);
  for (const { name } of files.filter(({ state }) => state === "deleted")) {
    isLeft.delete(name);
    report(note("deleted-file", name, "the file is on its way to be deleted; a broker does so when it opens the log"));
  }
  const cleaned = files.filter(({ state }) => state === "cleaned");
  const swaps = files.filter(({ state }) => state === "swap");
  if (cleaned.length + swaps.length === 0) return isLeft.size === names.length ? storage : viewOf(storage, isLeft);
  // A crash before all of the new segments were complete: what is there of them goes, and the old ones stay.
  const firstCleaned = cleaned.map(({ digits }) => digits).sort()[0] ?? "~";
  const undone = [...cleaned, ...swaps.filter(({ digits }) => digits >= firstCleaned)];
  for (const { name } of undone) {
    isLeft.delete(name);
    report(note(
      "unfinished-replacement",
      name,
      "a crash interrupted a compaction or a split here; a broker deletes the file when it opens the log, " +
        "since those that it was to replace are still there",
    ));
  }
  const finished = swaps.filter((file) => !undone.includes(file));
  const renamed = new Map(finished.map(({ name }) => [name.slice(0, -".swap".length), name]));
  const replaced = await replacedRange(storage, finished, renamed, endOf);
  for (const { name, digits, state } of files) {
    if (state !== undefined || Number(digits) < replaced.from || Number(digits) >= replaced.until) continue;
    isLeft.delete(name);
    report(note(
      "unfinished-replacement",
      name,
      `a crash interrupted a compaction or a split here; a broker deletes the file when it opens the log, ` +
        `since the .swap files hold what is to be kept of offsets ${replaced.from} to ${replaced.until}`,
    ));
  }
  for (const [name, swap] of renamed) {
    isLeft.delete(swap);
    isLeft.add(name);
    report(
      note("unfinished-replacement", swap, `a broker takes it for ${name} when it opens the log, and so it is here`),
    );
  }
  return viewOf(storage, isLeft, renamed);
}

/** The offsets that new segments cover: old files that begin there are replaced. */
async function replacedRange(
  storage: Storage,
  finished: readonly SegmentFile[],
  renamed: ReadonlyMap<string, string>,
  endOf: (storage: Storage, baseOffset: number) => Promise<number>,
): Promise<{ readonly from: number; readonly until: number }> {
  let [from, until] = [Infinity, -Infinity];
  const view = viewOf(storage, new Set(renamed.keys()), renamed);
  for (const { digits, type } of finished) {
    if (type !== "log") continue;
    from = Math.min(from, Number(digits));
    until = Math.max(until, await endOf(view, Number(digits)));
  }
  return { from, until };
}

function segmentFilesOf(name: string): SegmentFile[] {
  const file = parseKafkaFileName(name);
  // The names of KRaft's snapshots say more than an offset, and no compaction touches them.
  if (file?.digits === undefined || file.type === "checkpoint") return [];
  return [{ name, digits: file.digits, type: file.type, state: file.state }];
}

/** The files `names` of `storage`, of which some have another name in it. */
function viewOf(
  storage: Storage,
  names: ReadonlySet<string>,
  renamed: ReadonlyMap<string, string> = new Map(),
): Storage {
  const refuse = (what: string, file: string): Promise<never> =>
    Promise.reject(
      new StorageError(`${what} ${file}: a log that is inspected is never changed`, { code: "EROFS", file }),
    );
  return {
    list: () => Promise.resolve([...names].sort()),
    open: (name, options = {}): Promise<StoredFile> => {
      if (options.create === true) return refuse("create", name);
      if (names.has(name)) return storage.open(renamed.get(name) ?? name);
      return Promise.reject(new StorageError(`open ${name}: there is no such file`, { code: "ENOENT", file: name }));
    },
    rename: (from) => refuse("rename", from),
    remove: (name) => refuse("remove", name),
  };
}
