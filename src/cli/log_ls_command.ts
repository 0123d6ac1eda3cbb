/**
 * `anykafka log ls`: what lies in log directories, partition folders, archives and single files, segment by segment.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import { type KafkaFileName, parseKafkaFileName } from "../log/kafka_file_name.ts";
import { type SegmentSummary, summarizeSegment } from "../log/segment_summary.ts";
import type { Storage } from "../log/storage.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets } from "./log_target.ts";
import { Progress } from "./progress.ts";
import { sizeText } from "./size_text.ts";
import { table } from "./table.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logLsCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: [
    "log ls kafka-data",
    "log ls kafka-data/orders-0",
    "log ls backup.tar.gz --topic orders -o json",
    "log ls https://backups.example/kafka-data/",
  ],
  options: {
    output: { type: "string", short: "o", value: "text|json", help: "a table, or JSON objects" },
    segments: { type: "boolean", short: "s", help: "the segments of every partition, not only of a single one" },
    fast: { type: "boolean", help: "only names and sizes, without a look at the batches" },
    ...logTargetOptions,
  },
  run,
};

/** One segment. */
interface ListedSegment {
  readonly file: string;
  /** The number in its name, as text, since it may say more than a number holds. */
  readonly digits: string;
  readonly state: KafkaFileName["state"];
  readonly size: number;
  /** Sizes of the files that go with it, by their kinds. */
  readonly indexes: Readonly<Record<string, number>>;
  /** Absent with `--fast`. */
  readonly summary?: SegmentSummary;
}

/** One partition, or what was given alone. */
interface ListedPartition {
  readonly target: LogTarget;
  readonly segments: readonly ListedSegment[];
}

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const isFast = input.flag("fast");
  const targets = await openLogTargets(io, input);
  try {
    const isShown = io.errIsTerminal && !isFast;
    // Asked for only once, since behind a URL each size is a request.
    const known = new Map<LogTarget, readonly ListedSegment[]>();
    if (isShown) { for (const target of targets.targets) known.set(target, await segmentsOf(target)); }
    const total = [...known.values()].flat().reduce((sum, { size }) => sum + size, 0);
    const progress = new Progress(io, "MiB", total / MIB, isShown);
    const lister = form === "json"
      ? new JsonLister(io)
      : io.outIsTerminal
      ? new TreeLister(io, input)
      : new RowLister(io);
    await lister.begin();
    for (const target of targets.targets) {
      const segments: ListedSegment[] = [];
      for (const files of known.get(target) ?? await segmentsOf(target)) {
        throwIfAborted(io.signal);
        const segment = isFast
          ? files
          : { ...files, summary: await summaryOf(io, target.storage, files.file, progress) };
        segments.push(segment);
        await lister.segment(target, segment);
      }
      await lister.partition({ target, segments });
    }
    progress.end();
    await lister.end();
    return targets.damage.length > 0 ? 1 : 0;
  } finally {
    await targets.close();
  }
}

const MIB = 1024 * 1024;

/** The segments of a target, without a look into them. A single file of another kind counts as one without batches. */
async function segmentsOf({ file, storage }: LogTarget): Promise<ListedSegment[]> {
  const names = file === undefined ? await storage.list() : [file];
  const all = await storage.list();
  const segments: ListedSegment[] = [];
  for (const name of names) {
    const parsed = parseKafkaFileName(name);
    if (file === undefined && parsed?.type !== "log") continue;
    const indexes: Record<string, number> = {};
    if (parsed?.type === "log") {
      for (const type of ["index", "timeindex", "txnindex", "snapshot"]) {
        const index = `${parsed.digits}.${type}${parsed.state === undefined ? "" : `.${parsed.state}`}`;
        if (all.includes(index)) indexes[type] = await sizeOf(storage, index);
      }
    }
    const size = await sizeOf(storage, name);
    segments.push({ file: name, digits: parsed?.digits ?? "", state: parsed?.state, size, indexes });
  }
  return segments;
}

async function sizeOf(storage: Storage, name: string): Promise<number> {
  const file = await storage.open(name);
  const { size } = file;
  await file.close();
  return size;
}

async function summaryOf(
  io: CommandIo,
  storage: Storage,
  name: string,
  progress: Progress,
): Promise<SegmentSummary> {
  const file = await storage.open(name);
  try {
    return await summarizeSegment(file, io.signal, (bytes) => progress.step(bytes / MIB));
  } finally {
    await file.close();
  }
}

/** Numbers of one partition or many. */
class Totals {
  partitions = 0;
  segments = 0;
  size = 0;
  batches = 0;
  minTimestamp = -1;
  maxTimestamp = -1;
  minEpoch = -1;
  maxEpoch = -1;
  readonly codecs: Set<string> = new Set();

  static of(partition: ListedPartition): Totals {
    const totals = new Totals();
    totals.partitions = 1;
    for (const { size, state, summary } of partition.segments) {
      // What is on its way out or not in yet is shown, but it is not the log's.
      if (state !== undefined) continue;
      totals.segments++;
      totals.size += size;
      if (summary !== undefined) totals.#add(summary);
    }
    return totals;
  }

  static sum(all: readonly Totals[]): Totals {
    const totals = new Totals();
    for (const one of all) {
      totals.partitions += one.partitions;
      totals.segments += one.segments;
      totals.size += one.size;
      totals.#add({ ...one, codecs: [...one.codecs] });
    }
    return totals;
  }

  #add(
    { batches, codecs, maxEpoch, maxTimestamp, minEpoch, minTimestamp }: Pick<
      SegmentSummary,
      "batches" | "codecs" | "maxEpoch" | "maxTimestamp" | "minEpoch" | "minTimestamp"
    >,
  ): void {
    this.batches += batches;
    for (const codec of codecs) this.codecs.add(codec);
    this.minTimestamp = least(this.minTimestamp, minTimestamp);
    this.maxTimestamp = Math.max(this.maxTimestamp, maxTimestamp);
    this.minEpoch = least(this.minEpoch, minEpoch);
    this.maxEpoch = Math.max(this.maxEpoch, maxEpoch);
  }
}

function least(a: number, b: number): number {
  return a < 0 ? b : b < 0 ? a : Math.min(a, b);
}

/** First and last offset of a partition, as far as they are known. */
function offsetsOf({ segments, target }: ListedPartition): { first: number; last: number } | undefined {
  const own = segments.filter(({ digits, state }) => state === undefined && digits !== "");
  if (own.length === 0) return undefined;
  const first = Math.max(Number(own[0]!.digits), target.checkpoints?.logStartOffset ?? 0);
  const last = Math.max(-1, ...own.map(({ summary }) => summary?.lastOffset ?? -1));
  return { first, last };
}

interface Lister {
  begin(): Promise<void>;
  segment(target: LogTarget, segment: ListedSegment): Promise<void>;
  partition(partition: ListedPartition): Promise<void>;
  end(): Promise<void>;
}

/** One JSON object for each segment, partition and log directory. */
class JsonLister implements Lister {
  readonly #io: CommandIo;
  readonly #sources = new Map<string, Totals[]>();

  constructor(io: CommandIo) {
    this.#io = io;
  }

  async begin(): Promise<void> {}

  async segment(target: LogTarget, { digits, file, indexes, size, state, summary }: ListedSegment): Promise<void> {
    const { error, ...counted } = summary ?? { error: undefined };
    await this.#line({
      type: "segment",
      name: target.name,
      ...target.place,
      file,
      ...(digits === "" ? {} : { baseOffset: exact(digits) }),
      ...(state === undefined ? {} : { state }),
      size,
      ...counted,
      ...(error === undefined ? {} : { error: error.message }),
      indexes,
    });
  }

  async partition(partition: ListedPartition): Promise<void> {
    const { target } = partition;
    const totals = Totals.of(partition);
    this.#sources.set(target.source, [...this.#sources.get(target.source) ?? [], totals]);
    if (target.kind === "file") return;
    const offsets = offsetsOf(partition);
    const { codecs, partitions: _, ...numbers } = totals;
    await this.#line({
      type: "partition",
      name: target.name,
      ...target.place,
      ...(offsets === undefined ? {} : { firstOffset: offsets.first, lastOffset: offsets.last }),
      ...numbers,
      codecs: [...codecs],
      ...(target.checkpoints === undefined ? {} : { checkpoints: target.checkpoints }),
    });
  }

  async end(): Promise<void> {
    for (const [name, all] of this.#sources) {
      if (all.length < 2) continue;
      const { codecs, ...numbers } = Totals.sum(all);
      await this.#line({ type: "directory", name, ...numbers, codecs: [...codecs] });
    }
  }

  async #line(object: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#io.out(`${JSON.stringify(object)}\n`);
  }
}

/** A number, or its digits where no number holds them. */
function exact(digits: string): number | string {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : digits.replace(/^0+(?=\d)/, "");
}

const ROW_COLUMNS = [
  "partition",
  "file",
  "base offset",
  "last offset",
  "first time",
  "last time",
  "bytes",
  "batches",
  "codecs",
  "epochs",
  "indexes",
  "note",
];

/** A row of tab-separated cells for each segment, written as it is known. */
class RowLister implements Lister {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  async begin(): Promise<void> {
    await this.#io.out(table(this.#io, ROW_COLUMNS, []));
  }

  async segment(target: LogTarget, segment: ListedSegment): Promise<void> {
    const { digits, file, size, summary } = segment;
    const cells = [
      target.place === undefined ? target.name : `${target.place.topic}-${target.place.partition}`,
      file,
      digits === "" ? "-" : String(exact(digits)),
      offsetText(summary?.lastOffset),
      timeText(summary?.minTimestamp),
      timeText(summary?.maxTimestamp),
      String(size),
      summary === undefined ? "-" : String(summary.batches),
      ...traits(segment),
    ];
    await this.#io.out(`${cells.join("\t")}\n`);
  }

  async partition(): Promise<void> {}
  async end(): Promise<void> {}
}

const TREE_COLUMNS = [
  "",
  "first",
  "last",
  "first time",
  "last time",
  "size",
  "batches",
  "codecs",
  "epochs",
  "indexes",
  "note",
];

/** A tree with totals, for a person. */
class TreeLister implements Lister {
  readonly #io: CommandIo;
  readonly #allSegments: boolean;
  readonly #partitions: ListedPartition[] = [];

  constructor(io: CommandIo, input: CommandInput) {
    this.#io = io;
    this.#allSegments = input.flag("segments");
  }

  async begin(): Promise<void> {}
  async segment(): Promise<void> {}

  // deno-lint-ignore require-await -- a promise as its siblings
  async partition(partition: ListedPartition): Promise<void> {
    this.#partitions.push(partition);
  }

  async end(): Promise<void> {
    const rows: string[][] = [];
    for (const [source, partitions] of groups(this.#partitions, ({ target }) => target.source)) {
      const [single] = partitions;
      if (partitions.length === 1) {
        rows.push(...this.#partitionRows(single!, single!.target.name, "", true));
        continue;
      }
      const topics = groups(partitions, ({ target }) => target.place?.topic ?? target.name);
      rows.push(totalRow(source, partitions));
      for (const [i, [topic, members]] of topics.entries()) {
        const [branch, below] = i < topics.length - 1 ? ["├─ ", "│  "] : ["└─ ", "   "];
        rows.push(totalRow(`${branch}${topic}`, members));
        for (const [j, member] of members.entries()) {
          const isLast = j === members.length - 1;
          const { place, name } = member.target;
          const label = `${below}${isLast ? "└─ " : "├─ "}${
            place === undefined ? name : `${topic}-${place.partition}`
          }`;
          rows.push(...this.#partitionRows(member, label, `${below}${isLast ? "   " : "│  "}`, this.#allSegments));
        }
      }
    }
    await this.#io.out(table(this.#io, TREE_COLUMNS, rows));
  }

  #partitionRows(partition: ListedPartition, label: string, below: string, hasSegments: boolean): string[][] {
    const { segments, target } = partition;
    if (target.kind === "file") return segments.map((segment) => segmentRow(segment, target.name));
    const offsets = offsetsOf(partition);
    const row = totalRow(label, [partition]);
    row[1] = offsetText(offsets?.first);
    row[2] = offsetText(offsets?.last);
    if (!hasSegments) return [row];
    const last = segments.length - 1;
    return [
      row,
      ...segments.map((segment, i) => segmentRow(segment, `${below}${i < last ? "├─ " : "└─ "}${segment.file}`)),
    ];
  }
}

function segmentRow(segment: ListedSegment, label: string): string[] {
  const { digits, size, summary } = segment;
  return [
    label,
    digits === "" ? "" : String(exact(digits)),
    offsetText(summary?.lastOffset),
    secondsText(summary?.minTimestamp),
    secondsText(summary?.maxTimestamp),
    sizeText(size),
    summary === undefined ? "" : String(summary.batches),
    ...traits(segment),
  ];
}

function totalRow(label: string, partitions: readonly ListedPartition[]): string[] {
  const totals = Totals.sum(partitions.map(Totals.of));
  const counts = [
    ...(partitions.length === 1 ? [] : [`${partitions.length} partitions`]),
    totals.segments === 1 ? "1 segment" : `${totals.segments} segments`,
  ];
  return [
    label,
    "",
    "",
    secondsText(totals.minTimestamp),
    secondsText(totals.maxTimestamp),
    sizeText(totals.size),
    totals.batches === 0 ? "" : String(totals.batches),
    [...totals.codecs].join(","),
    epochsText(totals),
    "",
    counts.join(", "),
  ];
}

/** Codecs, epochs, indexes and what is odd. */
function traits({ indexes, state, summary }: ListedSegment): string[] {
  const notes = [
    ...(state === undefined ? [] : [state]),
    ...(summary === undefined || summary.magics.every((magic) => magic === 2)
      ? []
      : [`format ${summary.magics.join(",")}`]),
    ...(summary?.error === undefined
      ? (summary?.trailingBytes ?? 0) === 0 ? [] : [`${summary!.trailingBytes} bytes behind the last batch`]
      : [`no batch at byte ${summary.validBytes}: ${summary.error.code}`]),
  ];
  return [
    summary?.codecs.join(",") || "-",
    summary === undefined ? "-" : epochsText(summary) || "-",
    Object.keys(indexes).join(",") || "-",
    notes.join("; "),
  ];
}

function epochsText({ maxEpoch, minEpoch }: { readonly minEpoch: number; readonly maxEpoch: number }): string {
  return minEpoch < 0 ? "" : minEpoch === maxEpoch ? String(minEpoch) : `${minEpoch}-${maxEpoch}`;
}

function offsetText(offset: number | undefined): string {
  return offset === undefined || offset < 0 ? "-" : String(offset);
}

/** Beyond the year 275760 no date is known; a record may say so. */
const MAX_DATE = 8.64e15;

function timeText(timestamp: number | undefined): string {
  if (timestamp === undefined || timestamp < 0) return "-";
  return timestamp > MAX_DATE ? String(timestamp) : new Date(timestamp).toISOString();
}

function secondsText(timestamp: number | undefined): string {
  return timeText(timestamp).replace(/\.\d{3}Z$/, "Z");
}

/** The members by key, in order of first appearance. */
function groups<T>(members: readonly T[], keyOf: (member: T) => string): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const member of members) {
    const key = keyOf(member);
    const group = found.get(key);
    if (group === undefined) found.set(key, [member]);
    else group.push(member);
  }
  return [...found];
}
