/**
 * `anykafka log salvage`: rescues every intact batch of damaged partitions into new folders that a broker opens, and says what
 * is lost. The source is only read.
 *
 * @module
 */

import { AbortedError, KafkaError } from "../core/kafka_error.ts";
import { type OffsetCheckpointEntry, partitionFolder, writeOffsetCheckpoint } from "../log/log_directory.ts";
import { LogSalvage, type LostPart, type SalvagePlan, type SalvageReport } from "../log/salvage_log.ts";
import type { StorageTree } from "../log/storage.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { refuseExisting } from "./refuse_existing.ts";
import { countText } from "./count_text.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets, requireSegments } from "./log_target.ts";
import { Progress } from "./progress.ts";
import { segmentBytesOf } from "./segment_bytes.ts";
import { sizeText } from "./size_text.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logSalvageCommand: Command = {
  words: LOG_TARGET_WORDS,
  wordCount: [1, 1],
  examples: [
    "log salvage kafka-data/orders-0 --out rescued/orders-0",
    "log salvage kafka-data --out rescued",
    "log salvage kafka-data/orders-0 --plan",
  ],
  options: {
    out: {
      type: "string",
      value: "NEWDIR",
      help: "the folder to make: of a partition its own, else one for a folder each; it must not be there, or be empty",
    },
    plan: { type: "boolean", help: "say what would be done, and write nothing" },
    "include-deleted": {
      type: "boolean",
      help: "take .log.deleted files, too, where nothing else has their offsets",
    },
    output: { type: "string", short: "o", value: "text|json", help: "text, or JSON objects" },
    ...logTargetOptions,
  },
  run,
};

const MIB = 1024 * 1024;

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const out = input.text("out");
  if (out === undefined && !input.flag("plan")) {
    throw new UsageError("log salvage: --out NEWDIR is needed, the folder to make; or --plan to write nothing");
  }
  if (out !== undefined) await refuseExisting(io, out);
  const { close, damage, targets } = await openLogTargets(io, input);
  try {
    requireSegments(targets, "rescued");
    for (const { name, place } of targets) {
      if (targets.length > 1 && place === undefined) throw new UsageError(`${name}: no name tells its partition`);
    }
    const printer = form === "json" ? new JsonPrinter(io) : new TextPrinter(io);
    const isWritten = out !== undefined && !input.flag("plan");
    const salvager = new Salvager(io, input, printer, isWritten ? io.writeFolder(out) : undefined);
    await salvager.salvage(targets);
    return damage.length > 0 || salvager.isFailed ? 1 : salvager.isLossy ? 3 : 0;
  } finally {
    await close();
  }
}

/** Rescues one partition after the other. */
class Salvager {
  /** Whether something is lost. */
  isLossy = false;
  /** Whether a partition could not be read. */
  isFailed = false;
  readonly #io: CommandIo;
  readonly #input: CommandInput;
  readonly #printer: Printer;
  readonly #out: StorageTree | undefined;
  readonly #starts: OffsetCheckpointEntry[] = [];

  constructor(io: CommandIo, input: CommandInput, printer: Printer, out: StorageTree | undefined) {
    this.#io = io;
    this.#input = input;
    this.#printer = printer;
    this.#out = out;
  }

  async salvage(targets: readonly LogTarget[]): Promise<void> {
    const total = this.#io.errIsTerminal ? await segmentBytesOf(targets) : 0;
    const progress = new Progress(this.#io, "MiB", (this.#out === undefined ? 1 : 2) * total / MIB);
    const isSingle = targets.length === 1 && targets[0]!.name === targets[0]!.source;
    for (const target of targets) {
      try {
        await this.#partition(target, isSingle, progress);
      } catch (error) {
        if (!(error instanceof KafkaError) || error instanceof AbortedError || targets.length === 1) throw error;
        progress.tell(`${target.name} could not be rescued: ${error.message} [${error.code}]\n`);
        this.isFailed = true;
      }
    }
    progress.end();
    if (this.#out !== undefined && this.#starts.length > 0) {
      await writeOffsetCheckpoint(this.#out, "log-start-offset-checkpoint", this.#starts);
    }
  }

  async #partition(target: LogTarget, isSingle: boolean, progress: Progress): Promise<void> {
    const salvage = await LogSalvage.survey(target.storage, {
      includeDeleted: this.#input.flag("include-deleted"),
      onProgress: (bytes) => progress.step(bytes / MIB),
      signal: this.#io.signal,
    });
    await this.#printer.plan(target, salvage.plan);
    if (this.#out === undefined) {
      if (salvage.plan.damaged.some(({ firstOffset }) => firstOffset !== undefined)) this.isLossy = true;
      return;
    }
    const folder = isSingle ? this.#out : await this.#out.folder(partitionFolder(target.place!));
    const report = await salvage.write(folder);
    if (report.lost.length > 0) this.isLossy = true;
    const { logStartOffset } = target.checkpoints ?? {};
    if (logStartOffset !== undefined && logStartOffset > report.logStartOffset && target.place !== undefined) {
      if (!isSingle) this.#starts.push({ ...target.place, offset: logStartOffset });
      else {
        progress.tell(
          `${target.name}: what is below offset ${logStartOffset} was deleted; with the line "${target.place.topic} ` +
            `${target.place.partition} ${logStartOffset}" in log-start-offset-checkpoint it stays so\n`,
        );
      }
    }
    await this.#printer.report(target, report);
  }
}

interface Printer {
  plan(target: LogTarget, plan: SalvagePlan): Promise<void>;
  report(target: LogTarget, report: SalvageReport): Promise<void>;
}

/** A JSON object for the plan, each loss, each repair, and the end of each partition. */
class JsonPrinter implements Printer {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  plan(target: LogTarget, plan: SalvagePlan): Promise<void> {
    return this.#line({ type: "plan", ...named(target), ...plan });
  }

  async report(target: LogTarget, report: SalvageReport): Promise<void> {
    const { damaged: _damaged, lost, repaired, sources: _sources, ...rest } = report;
    for (const part of lost) await this.#line({ type: "lost", ...named(target), ...part });
    for (const batch of repaired) await this.#line({ type: "repaired", ...named(target), ...batch });
    await this.#line({ type: "summary", ...named(target), ...rest, lost: lost.length, repaired: repaired.length });
  }

  async #line(object: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#io.out(`${JSON.stringify(object)}\n`);
  }
}

function named({ name, place }: LogTarget): Readonly<Record<string, unknown>> {
  return { name, ...place };
}

/** More of one kind than a person reads. */
const MAX_SHOWN = 50;

/** Lines for a person. */
class TextPrinter implements Printer {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  async plan({ name }: LogTarget, { bytes, damaged, sources }: SalvagePlan): Promise<void> {
    const batches = sources.reduce((sum, source) => sum + source.batches, 0);
    const lines = [
      `${name}: ${countText(batches, "intact batch", "intact batches")}, ${sizeText(bytes)}, in ${
        countText(sources.length, "file")
      }`,
    ];
    for (const source of sources) {
      const other = source.size - source.intactBytes;
      lines.push(
        `  ${source.file}: ${countText(source.batches, "batch", "batches")}${
          other === 0 ? "" : `, ${sizeText(other)} without any`
        }`,
      );
    }
    for (const part of damaged.slice(0, MAX_SHOWN)) lines.push(`  damaged: ${partText(part)}`);
    if (damaged.length > MAX_SHOWN) lines.push(`  and ${damaged.length - MAX_SHOWN} more damaged places`);
    await this.#io.out(`${lines.join("\n")}\n`);
  }

  async report({ name }: LogTarget, report: SalvageReport): Promise<void> {
    const { batches, duplicates, logEndOffset, logStartOffset, lost, openTransactions, repaired, segments } = report;
    const size = segments.reduce((sum, segment) => sum + segment.size, 0);
    const lines = [
      `${name}: wrote ${countText(batches, "batch", "batches")}, ${sizeText(size)}, in ${
        countText(segments.length, "segment")
      }, ` +
      (logEndOffset > logStartOffset ? `offsets ${logStartOffset} to ${logEndOffset - 1}` : `empty`),
    ];
    if (duplicates > 0) lines.push(`  there twice: ${countText(duplicates, "batch", "batches")}`);
    for (const { actual, field, file, offset, position, stored } of repaired.slice(0, MAX_SHOWN)) {
      lines.push(`  put right: ${file} at byte ${position}, offset ${offset}: ${field} ${stored} is ${actual}`);
    }
    if (repaired.length > MAX_SHOWN) lines.push(`  and ${repaired.length - MAX_SHOWN} more put right`);
    for (const part of lost.slice(0, MAX_SHOWN)) lines.push(`  LOST: ${partText(part)}`);
    if (lost.length > MAX_SHOWN) lines.push(`  and ${lost.length - MAX_SHOWN} more LOST`);
    if (lost.length === 0) lines.push("  nothing is lost");
    if (openTransactions.length > 0 && lost.length > 0) {
      const { firstOffset, producerId } = openTransactions[0]!;
      lines.push(
        `  ${
          countText(openTransactions.length, "open transaction")
        } without an end (the first of producer ${producerId} at offset ` +
          `${firstOffset}): readers of committed records stop there. Where the end is among what is lost, ` +
          `kafka-transactions.sh abort ends it.`,
      );
    }
    await this.#io.out(`${lines.join("\n")}\n`);
  }
}

function partText({ file, firstOffset, from, kind, lastOffset, reason, until }: LostPart): string {
  const offsets = firstOffset === undefined
    ? ""
    : lastOffset === undefined
    ? ` (offset ${firstOffset} and on)`
    : firstOffset === lastOffset
    ? ` (offset ${firstOffset})`
    : ` (offsets ${firstOffset} to ${lastOffset})`;
  const bytes = kind === "missing" ? `before byte ${from}` : `bytes ${from} to ${until - 1}`;
  return `${file} ${bytes}${offsets}: ${reason}`;
}
