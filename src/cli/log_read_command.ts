/**
 * `anykafka log read`: prints the records of partition directories, without a broker.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { throwIfAborted } from "../core/abort_error.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";
import { type OffsetRange, resolveRange } from "./resolve_range.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets } from "./log_target.ts";
import { openTargetLog } from "./open_target_log.ts";
import { rangeOptions, readRange, type WantedRange } from "./position.ts";
import { recordOutputOptions, RecordPrinter } from "./record_output.ts";

/** The command. */
export const logReadCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: [
    "log read kafka-data/orders-0 -o json",
    "log read kafka-data/orders-0 --from 350 --limit 10",
    "log read kafka-data/orders-0 --from @-1h --grep error --follow",
    "log read kafka-data/__consumer_offsets-7 --decode offsets",
  ],
  options: {
    ...recordOutputOptions,
    ...rangeOptions,
    committed: { type: "boolean", help: "leave out aborted transactions, and end before open ones" },
    follow: { type: "boolean", short: "f", help: "go on with what a running broker appends" },
    ...logTargetOptions,
  },
  run,
};

/** How often a directory is looked at again. */
const POLL_MS = 250;

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const range = readRange(input, io.clock.wallTime());
  const printer = await RecordPrinter.of(io, input);
  const reader = new Reader(io, printer, await io.codecs(), await loadCrc32c(), input.flag("committed"));
  const { close, targets } = await openLogTargets(io, input);
  try {
    const nexts = new Map<LogTarget, OffsetRange>();
    for (const target of targets) nexts.set(target, await reader.read(target, range));
    while (input.flag("follow") && !printer.isDone && !io.signal.aborted) {
      await pause(io, POLL_MS);
      for (const target of targets) {
        const next = nexts.get(target)!;
        if (next.from < next.until) nexts.set(target, await reader.read(target, range, next));
      }
      if ([...nexts.values()].every(({ from, until }) => from >= until)) break;
    }
    await printer.flush();
  } catch (error) {
    await printer.flushBefore(error);
  } finally {
    await close();
  }
  return 0;
}

/** Prints what logs hold. */
class Reader {
  readonly #io: CommandIo;
  readonly #printer: RecordPrinter;
  readonly #codecs: Codecs;
  readonly #crc32c: Crc32c;
  readonly #committed: boolean;

  constructor(io: CommandIo, printer: RecordPrinter, codecs: Codecs, crc32c: Crc32c, committed: boolean) {
    this.#io = io;
    this.#printer = printer;
    this.#codecs = codecs;
    this.#crc32c = crc32c;
    this.#committed = committed;
  }

  /** Reads a log as it is now, and answers where to go on when there is more; `rest` is such an answer. */
  async read(target: LogTarget, wanted: WantedRange, rest?: OffsetRange): Promise<OffsetRange> {
    const printer = this.#printer;
    const log = await openTargetLog(target);
    try {
      const { from, until } = rest ?? await resolveRange(log, wanted, this.#codecs);
      // What is deleted meanwhile is passed over.
      let next = Math.max(from, log.logStartOffset);
      // The end of the log is none for whoever follows it.
      const last = wanted.until === undefined ? Infinity : until;
      for await (const batch of log.batches({ from: next, until, committed: this.#committed })) {
        throwIfAborted(this.#io.signal);
        batch.verifyCrc(this.#crc32c);
        if (!batch.isControl) {
          for (const record of batch.records({ codecs: this.#codecs })) {
            if (record.offset < next || record.offset >= until) continue;
            printer.print(record);
            if (printer.isFull) await printer.flush();
            if (printer.isDone) return { from: record.offset + 1, until: last };
          }
        }
        next = Math.max(next, batch.lastOffset + 1);
      }
      return { from: next, until: last };
    } finally {
      await log.close();
    }
  }
}

/** Waits, unless the person interrupts. */
function pause({ clock, signal }: CommandIo, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimer(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
