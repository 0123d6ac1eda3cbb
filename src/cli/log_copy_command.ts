/**
 * `anykafka log copy`: takes partitions, or a range of their offsets, out of a backup, an archive or a URL, as a log directory
 * that a broker opens.
 *
 * @module
 */

import { AbortedError, KafkaError, StorageError } from "../core/kafka_error.ts";
import { copyLogFolder, copyLogRange } from "../log/copy_log.ts";
import {
  type OffsetCheckpointEntry,
  type OffsetCheckpointName,
  parsePartitionFolder,
  partitionFolder,
  type TopicPartition,
  writeOffsetCheckpoint,
} from "../log/log_directory.ts";
import type { Log } from "../log/log.ts";
import type { Storage, StorageTree } from "../log/storage.ts";
import { verifyLog } from "../log/verify_log.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { refuseExisting } from "./refuse_existing.ts";
import { resolveRange } from "./resolve_range.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets } from "./log_target.ts";
import { openTargetLog } from "./open_target_log.ts";
import { rangeOptions, readRange, type TimeRange, timeRange, type WantedRange } from "./position.ts";
import { Progress } from "./progress.ts";
import { sizeText } from "./size_text.ts";
import { table } from "./table.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logCopyCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: [
    "log copy backup.tar.gz --topic orders --out restored",
    "log copy kafka-data/orders-0 --from 350 --until 500 --out excerpt",
    "log copy https://backups.example/kafka-data/ --time 2026-11-30T10:00Z..2026-11-30T11:00Z --out excerpt",
    "log copy 00000000000000000350.log --as orders-0 --out excerpt",
  ],
  options: {
    out: { type: "string", value: "DIR", help: "the log directory to make; it must not be there, or be empty" },
    ...logTargetOptions,
    ...rangeOptions,
    time: { type: "string", value: "A..B", help: "from the first record at A or later up to the first at B or later" },
    as: { type: "string", value: "TOPIC-N", help: "the partition that the copy is to be, of a single source" },
    output: { type: "string", short: "o", value: "text|json", help: "a table of what was copied, or JSON objects" },
  },
  run,
};

const MIB = 1024 * 1024;

/** One partition to copy. */
interface Plan {
  readonly target: LogTarget;
  readonly place: TopicPartition;
}

/** What was copied of one partition. */
interface Copied {
  readonly name: string;
  readonly place: TopicPartition;
  /** First and last offset; undefined when nothing is in it. */
  readonly offsets?: { readonly first: number; readonly last: number };
  readonly segments: number;
  readonly bytes: number;
}

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const out = input.text("out");
  if (out === undefined) throw new UsageError("log copy: --out DIR is needed, the log directory to make");
  const now = io.clock.wallTime();
  const range = readRange(input, now);
  const time = input.text("time") === undefined ? undefined : timeRange(input.text("time")!, now);
  const as = readAs(input);
  await refuseExisting(io, out);
  const { close, damage, targets } = await openLogTargets(io, input);
  try {
    const plans = planned(targets, as);
    const copier = new Copier(io, io.writeFolder(out), range, time);
    const copied = await copier.copy(plans, await bytesOf(targets));
    await print(io, form, copied);
    return damage.length > 0 ? 1 : copier.isDamaged ? 3 : 0;
  } finally {
    await close();
  }
}

function readAs(input: CommandInput): TopicPartition | undefined {
  const text = input.text("as");
  if (text === undefined) return undefined;
  const place = parsePartitionFolder(text);
  if (place === undefined || !/^[a-zA-Z0-9._-]{1,249}$/.test(place.topic)) {
    throw new UsageError(`--as ${text}: expected a topic and a partition, such as orders-0`);
  }
  return place;
}

/** Which partition each target becomes. */
function planned(targets: readonly LogTarget[], as: TopicPartition | undefined): Plan[] {
  if (as !== undefined && targets.length > 1) {
    throw new UsageError(`--as goes with one source; here are ${targets.length}, such as ${targets[1]!.name}`);
  }
  const names = new Map<string, string>();
  return targets.map((target) => {
    if (target.kind === "file" && target.fileType !== "log") {
      throw new UsageError(`${target.name}: partitions and segments are copied, not such a file alone`);
    }
    const place = as ?? target.place;
    if (place === undefined) {
      throw new UsageError(`${target.name}: no name tells its partition; say it with --as TOPIC-N`);
    }
    const folder = partitionFolder(place);
    const other = names.get(folder);
    if (other !== undefined) {
      throw new UsageError(`${folder} is there twice, as ${other} and as ${target.name}: copy them one by one`);
    }
    names.set(folder, target.name);
    return { target, place };
  });
}

async function bytesOf(targets: readonly LogTarget[]): Promise<number> {
  let bytes = 0;
  for (const { file, storage } of targets) {
    for (const name of file === undefined ? await storage.list() : [file]) {
      const stored = await storage.open(name);
      bytes += stored.size;
      await stored.close();
    }
  }
  return bytes;
}

/** Copies one partition after the other; the checkpoints name those that are complete. */
class Copier {
  /** Whether damage was found in what was copied as it is. */
  isDamaged = false;
  readonly #io: CommandIo;
  readonly #out: StorageTree;
  readonly #range: WantedRange;
  readonly #time: TimeRange | undefined;
  readonly #checkpoints = new Map<OffsetCheckpointName, OffsetCheckpointEntry[]>();

  constructor(io: CommandIo, out: StorageTree, range: WantedRange, time: TimeRange | undefined) {
    this.#io = io;
    this.#out = out;
    this.#range = range;
    this.#time = time;
  }

  async copy(plans: readonly Plan[], total: number): Promise<Copied[]> {
    const progress = new Progress(this.#io, "MiB", total / MIB);
    const copied: Copied[] = [];
    for (const plan of plans) {
      const folder = partitionFolder(plan.place);
      try {
        copied.push(await this.#partition(plan, await this.#out.folder(folder), progress));
        await this.#writeCheckpoints();
      } catch (error) {
        // What is half there would be taken for a partition.
        await this.#out.removeFolder(folder);
        if (error instanceof AbortedError || !(error instanceof KafkaError)) throw error;
        throw new StorageError(`${plan.target.name}: ${error.message}${hintFor(error)}`, {
          code: error.code,
          cause: error,
          ...plan.place,
        });
      }
    }
    progress.end();
    return copied;
  }

  async #partition({ place, target }: Plan, into: Storage, progress: Progress): Promise<Copied> {
    const onProgress = (bytes: number) => progress.step(bytes / MIB);
    const { from, until } = this.#range;
    const isWhole = from === undefined && until === undefined && this.#time === undefined && target.kind !== "file";
    const copied = isWhole
      ? await this.#whole(place, target, into, onProgress)
      : await this.#part(place, target, into, onProgress, progress);
    await this.#verify(copied, into, isWhole, progress);
    return copied;
  }

  async #whole(
    place: TopicPartition,
    target: LogTarget,
    into: Storage,
    onProgress: (bytes: number) => void,
  ): Promise<Copied> {
    const options = { onProgress, signal: this.#io.signal };
    const { bytes } = await copyLogFolder(target.storage, into, options);
    const { firstDirtyOffset, highWatermark, logStartOffset, recoveryPoint } = target.checkpoints ?? {};
    this.#note("log-start-offset-checkpoint", place, logStartOffset);
    this.#note("replication-offset-checkpoint", place, highWatermark);
    this.#note("recovery-point-offset-checkpoint", place, recoveryPoint);
    this.#note("cleaner-offset-checkpoint", place, firstDirtyOffset);
    const segments = (await into.list()).filter((name) => /^\d{20}\.log$/.test(name)).length;
    if (segments === 0) return { name: target.name, place, segments, bytes };
    const log = await openTargetLog(target);
    try {
      const offsets = { first: log.logStartOffset, last: log.logEndOffset - 1 };
      return { name: target.name, place, segments, bytes, ...(offsets.last < offsets.first ? {} : { offsets }) };
    } finally {
      await log.close();
    }
  }

  async #part(
    place: TopicPartition,
    target: LogTarget,
    into: Storage,
    onProgress: (bytes: number) => void,
    progress: Progress,
  ): Promise<Copied> {
    const log = await openTargetLog(target);
    try {
      const codecs = await this.#io.codecs();
      const { from, until } = await this.#offsets(log);
      const { firstOffset, logEndOffset, openTransactions, segments } = await copyLogRange(log, target.storage, into, {
        from,
        // Without an end the log's own counts, and damage before it is an error.
        ...(until === undefined ? {} : { until }),
        codecs,
        onProgress,
        signal: this.#io.signal,
      });
      // The batch around the first offset is there whole; what lies before in it is hidden as after DeleteRecords.
      if (from > segments[0]!.baseOffset) this.#note("log-start-offset-checkpoint", place, from);
      this.#note("replication-offset-checkpoint", place, logEndOffset);
      this.#note("recovery-point-offset-checkpoint", place, logEndOffset);
      if (openTransactions.length > 0) {
        const { firstOffset: first, producerId } = openTransactions[0]!;
        progress.tell(
          `${target.name}: ${openTransactions.length} transactions have no end in the copy (the first of producer ` +
            `${producerId} at offset ${first}); consumers with read_committed will not pass it\n`,
        );
      }
      const bytes = segments.reduce((sum, { size }) => sum + size, 0);
      const offsets = { first: Math.max(from, firstOffset), last: logEndOffset - 1 };
      return { name: target.name, place, offsets, segments: segments.length, bytes };
    } finally {
      await log.close();
    }
  }

  /** The offsets that were asked for; no end where it is that of the log. */
  async #offsets(log: Log): Promise<{ from: number; until: number | undefined }> {
    const codecs = await this.#io.codecs();
    let { from, until } = await resolveRange(log, this.#range, codecs);
    const atTime = async (timestamp: number) =>
      (await log.offsetForTimestamp(timestamp, codecs, { isolation: "log-end" }))?.offset ?? log.logEndOffset;
    const { time } = { time: this.#time };
    if (time !== undefined && time.from > -Infinity) from = Math.max(from, await atTime(time.from));
    if (time !== undefined && time.until < Infinity) until = Math.min(until, await atTime(time.until));
    return { from, until: until === log.logEndOffset && this.#range.until === undefined ? undefined : until };
  }

  /** Reads what was written as a broker would; only a copy of damage is damaged. */
  async #verify({ name, place }: Copied, into: Storage, isWhole: boolean, progress: Progress): Promise<void> {
    const found = verifyLog(into, { ...place, signal: this.#io.signal });
    for await (const anomaly of found) {
      if (anomaly.level !== "damage") continue;
      const text = `${anomaly.file}${
        anomaly.position === undefined ? "" : ` at byte ${anomaly.position}`
      }: ${anomaly.message}`;
      if (!isWhole) {
        throw new StorageError(`the copy is not right: ${text}`, { code: "COPY_DIFFERS", file: anomaly.file });
      }
      this.isDamaged = true;
      progress.tell(`${name}: copied as it is, and it is damaged: ${text}\n`);
    }
  }

  #note(file: OffsetCheckpointName, place: TopicPartition, offset: number | undefined): void {
    if (offset === undefined) return;
    this.#checkpoints.set(file, [...this.#checkpoints.get(file) ?? [], { ...place, offset }]);
  }

  async #writeCheckpoints(): Promise<void> {
    for (const [file, entries] of this.#checkpoints) await writeOffsetCheckpoint(this.#out, file, entries);
  }
}

function hintFor({ code }: KafkaError): string {
  return /CORRUPT|DAMAGED_SEGMENT|UNSUPPORTED_MAGIC/.test(code)
    ? "; copied without a range it comes as it is, and log salvage rescues what is right"
    : "";
}

async function print(io: CommandIo, form: string, copied: readonly Copied[]): Promise<void> {
  if (form === "json") {
    for (const { bytes, name, offsets, place, segments } of copied) {
      const { first: firstOffset, last: lastOffset } = offsets ?? {};
      await io.out(`${JSON.stringify({ name, ...place, firstOffset, lastOffset, segments, bytes })}\n`);
    }
    return;
  }
  const rows = copied.map(({ bytes, offsets, place, segments }) => [
    partitionFolder(place),
    offsets === undefined ? "-" : String(offsets.first),
    offsets === undefined ? "-" : String(offsets.last),
    String(segments),
    io.outIsTerminal ? sizeText(bytes) : String(bytes),
  ]);
  await io.out(table(io, ["partition", "first", "last", "segments", "bytes"], rows));
}
