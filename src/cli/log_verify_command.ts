/**
 * `anykafka log verify`: checks partition folders, log directories, archives and single segments, and says of all that is wrong
 * where it is, what it means, and whether a broker that recovers the log would lose data.
 *
 * @module
 */

import { AbortedError, KafkaError } from "../core/kafka_error.ts";
import type { Anomaly } from "../log/anomaly.ts";
import { verifyLog, type VerifySummary } from "../log/verify_log.ts";
import { verifyLogDirectory } from "../log/verify_log_directory.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";
import { countText } from "./count_text.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets, requireSegments } from "./log_target.ts";
import { Progress } from "./progress.ts";
import { segmentBytesOf } from "./segment_bytes.ts";
import { sizeText } from "./size_text.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logVerifyCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: [
    "log verify kafka-data/orders-0",
    "log verify kafka-data -o json",
    "log verify backup.tar.gz --topic orders",
  ],
  options: {
    output: { type: "string", short: "o", value: "text|json", help: "text, or JSON objects" },
    quick: { type: "boolean", short: "q", help: "check checksums, and decode no records" },
    ...logTargetOptions,
  },
  run,
};

const MIB = 1024 * 1024;

/** How many of what level were found. */
interface Counted {
  damage: number;
  notes: number;
}

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const codecs = input.flag("quick") ? undefined : await io.codecs();
  const { close, damage, targets } = await openLogTargets(io, input);
  try {
    requireSegments(targets, "checked");
    const printer = form === "json" ? new JsonPrinter(io) : io.outIsTerminal ? new TextPrinter(io) : new RowPrinter(io);
    const progress = new Progress(io, "MiB", io.errIsTerminal ? (await segmentBytesOf(targets)) / MIB : 0);
    const total: Counted = { damage: 0, notes: 0 };
    let unread = damage.length;
    await printer.begin();
    await checkDirectories(io, input, printer, total);
    for (const target of targets) {
      const counted: Counted = { damage: 0, notes: 0 };
      try {
        const verification = verifyLog(target.storage, {
          ...target.place,
          codecs,
          checkpoints: target.checkpoints,
          cleanShutdown: target.checkpoints?.cleanShutdown,
          onProgress: (bytes) => progress.step(bytes / MIB),
          signal: io.signal,
        });
        for (let next = await verification.next();; next = await verification.next()) {
          if (next.done) {
            await printer.summary(target, next.value, counted);
            break;
          }
          count(next.value, counted);
          await printer.finding(target, next.value);
        }
      } catch (error) {
        if (!(error instanceof KafkaError) || error instanceof AbortedError) throw error;
        progress.tell(`${target.name} could not be read: ${error.message} [${error.code}]\n`);
        unread++;
      }
      total.damage += counted.damage;
      total.notes += counted.notes;
    }
    progress.end();
    return unread > 0 ? 1 : total.damage > 0 ? 3 : 0;
  } finally {
    await close();
  }
}

/** Checks what belongs to no single partition, of words that are log directories. */
async function checkDirectories(io: CommandIo, input: CommandInput, printer: Printer, total: Counted): Promise<void> {
  for (const word of input.words) {
    if (/^https?:/.test(word)) continue;
    const { folder, kind, name } = await io.openPath(word);
    if (kind !== "folder" || (await folder.folders()).length === 0) continue;
    for (const anomaly of await verifyLogDirectory(folder)) {
      count(anomaly, total);
      await printer.finding({ name }, anomaly);
    }
  }
}

function count({ level }: Anomaly, counted: Counted): void {
  if (level === "damage") counted.damage++;
  else counted.notes++;
}

/** What a finding belongs to. */
type Named = Pick<LogTarget, "name" | "place">;

interface Printer {
  begin(): Promise<void>;
  finding(target: Named, anomaly: Anomaly): Promise<void>;
  summary(target: Named, summary: VerifySummary, counted: Counted): Promise<void>;
}

/** One JSON object for each finding and each partition. */
class JsonPrinter implements Printer {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  async begin(): Promise<void> {}

  finding({ name, place }: Named, anomaly: Anomaly): Promise<void> {
    return this.#line({ type: "finding", name, ...place, ...anomaly });
  }

  summary({ name, place }: Named, summary: VerifySummary, { damage, notes }: Counted): Promise<void> {
    return this.#line({ type: "summary", name, ...place, ...summary, damage, notes });
  }

  async #line(object: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#io.out(`${JSON.stringify(object)}\n`);
  }
}

/** A row of tab-separated cells for each finding; what was checked goes to the messages. */
class RowPrinter implements Printer {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  begin(): Promise<void> {
    return this.#row(["partition", "level", "kind", "file", "position", "offset", "recovery", "message"]);
  }

  finding(target: Named, { file, kind, level, losesData, message, offset, position }: Anomaly): Promise<void> {
    const recovery = losesData ? "loses data" : "-";
    return this.#row([nameOf(target), level, kind, file, cell(position), cell(offset), recovery, message]);
  }

  // deno-lint-ignore require-await -- a promise as its siblings
  async summary(target: Named, summary: VerifySummary, counted: Counted): Promise<void> {
    this.#io.err(`${summaryText(target, summary, counted)}\n`);
  }

  async #row(cells: readonly string[]): Promise<void> {
    await this.#io.out(`${cells.join("\t")}\n`);
  }
}

/** Paragraphs for a person. */
class TextPrinter implements Printer {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  async begin(): Promise<void> {}

  async finding(target: Named, { file, kind, level, losesData, message, offset, position }: Anomaly): Promise<void> {
    const where = [
      `${nameOf(target)}${file === "" ? "" : `/${file}`}${position === undefined ? "" : ` at byte ${position}`}`,
      ...(offset === undefined ? [] : [`offset ${offset}`]),
    ].join(", ");
    const recovery = losesData ? ", recovery would lose data" : "";
    await this.#io.out(
      `${level === "damage" ? "DAMAGE" : "note  "}  ${where}: ${kind}${recovery}\n        ${message}\n`,
    );
  }

  async summary(target: Named, summary: VerifySummary, counted: Counted): Promise<void> {
    await this.#io.out(`${summaryText(target, summary, counted)}\n`);
  }
}

function summaryText(target: Named, summary: VerifySummary, { damage, notes }: Counted): string {
  const { batches, bytes, endOffset, segments, startOffset } = summary;
  const found = [
    damage === 0 ? "no damage" : countText(damage, "finding of damage", "findings of damage"),
    ...(notes === 0 ? [] : [countText(notes, "note")]),
  ].join(", ");
  const offsets = endOffset > startOffset ? `offsets ${startOffset} to ${endOffset - 1}` : "empty";
  const count = `${countText(segments, "segment")}, ${countText(batches, "intact batch", "intact batches")}, ${
    sizeText(bytes)
  }`;
  return `${target.name}: ${count}, ${offsets}: ${found}`;
}

function nameOf({ name, place }: Named): string {
  return place === undefined ? name : `${place.topic}-${place.partition}`;
}

function cell(number: number | undefined): string {
  return number === undefined ? "-" : String(number);
}
