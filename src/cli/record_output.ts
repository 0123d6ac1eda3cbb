/**
 * Prints records the same way for every command that has some.
 *
 * @module
 */

import type { Timer } from "../core/clock.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { ByteOutput } from "./byte_output.ts";
import { type CommandInput, type CommandIo, type CommandOption, UsageError } from "./command.ts";
import { decodeOptions, hex, type PayloadView, payloadView } from "./payload_view.ts";
import { RecordFilter, recordFilterOptions } from "./record_filter.ts";
import { payloadText, RecordJsonWriter } from "./record_json.ts";

/** Options of a command that prints records. */
export const recordOutputOptions: Readonly<Record<string, CommandOption>> = {
  output: {
    type: "string",
    short: "o",
    value: "text|json|raw|hex",
    help: "values as text, a JSON object a line, values as they are without line ends, or hex digits",
  },
  ...recordFilterOptions,
  ...decodeOptions,
};

const FORMS = ["text", "json", "raw", "hex"] as const;
/** A person who follows a topic sees each record within this time. */
const FLUSH_MS = 100;

/** Prints the records that are wanted. */
export class RecordPrinter {
  readonly #io: CommandIo;
  readonly #out: ByteOutput;
  readonly #json: RecordJsonWriter;
  readonly #form: typeof FORMS[number];
  readonly #filter: RecordFilter;
  readonly #payloads: PayloadView | undefined;
  #left: number;
  #flushing: Timer | undefined;

  private constructor(
    io: CommandIo,
    form: typeof FORMS[number],
    filter: RecordFilter,
    payloads: PayloadView | undefined,
  ) {
    this.#io = io;
    this.#out = new ByteOutput(io);
    this.#json = new RecordJsonWriter(this.#out);
    this.#form = form;
    this.#filter = filter;
    this.#payloads = payloads;
    this.#left = filter.limit;
  }

  /**
   * Reads the options.
   *
   * @throws UsageError
   */
  static async of(io: CommandIo, input: CommandInput): Promise<RecordPrinter> {
    const given = input.text("output") ?? "text";
    const form = FORMS.find((known) => known === given);
    if (form === undefined) throw new UsageError(`-o ${given}: expected text, json, raw or hex`);
    const payloads = await payloadView(input);
    if (payloads !== undefined && (form === "raw" || form === "hex")) {
      throw new UsageError(`-o ${form} shows values as they are; --decode goes with text and json`);
    }
    return new RecordPrinter(io, form, new RecordFilter(input, io.clock.wallTime(), payloads), payloads);
  }

  /** Whether there were as many records as wanted. */
  get isDone(): boolean {
    return this.#left <= 0;
  }

  /** Whether to flush before more is printed. */
  get isFull(): boolean {
    return this.#out.isFull;
  }

  /** Prints `record` if it is wanted. */
  print(record: KafkaRecord): void {
    if (this.#left <= 0 || !this.#filter.matches(record)) return;
    this.#left--;
    this.#write(record);
    this.#flushing ??= this.#io.clock.setTimer(FLUSH_MS, () => {
      this.#flushing = undefined;
      // Whoever prints next, or last, is told of a failure.
      this.#out.flush().catch(() => {});
    });
  }

  /** Resolves when all that was printed is written. */
  async flush(): Promise<void> {
    this.#flushing?.cancel();
    this.#flushing = undefined;
    await this.#out.flush();
  }

  /** Writes what was printed before `error`, and throws that. */
  async flushBefore(error: unknown): Promise<never> {
    await this.flush().catch(() => {}); // the first failure is the one to tell
    throw error;
  }

  /** Prints `records` until they end or there are enough. */
  async printAll(records: AsyncIterable<KafkaRecord>): Promise<void> {
    try {
      if (this.isDone) return;
      for await (const record of records) {
        this.print(record);
        if (this.isFull) await this.flush();
        if (this.isDone) break;
      }
    } catch (error) {
      await this.flushBefore(error);
    }
    await this.flush();
  }

  #write(record: KafkaRecord): void {
    const out = this.#out;
    const { value } = record;
    switch (this.#form) {
      case "raw":
        if (value !== null) out.bytes(value);
        return;
      case "hex":
        return out.ascii(`${value === null ? "null" : hex(value)}\n`);
      case "json":
        return this.#json.write(record, this.#payloads?.json(record));
      case "text":
        if (this.#payloads === undefined) {
          if (value === null || !out.bytesWithin(value, 0, 0x7f)) out.text(payloadText(value));
          return out.ascii("\n");
        }
        return out.text(
          `${this.#payloads.isKafkas ? this.#payloads.json(record) : this.#payloads.text(record).value ?? "null"}\n`,
        );
    }
  }
}
