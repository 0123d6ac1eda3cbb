/**
 * Prints records the same way for every command that has some.
 *
 * @module
 */

import type { Record as KafkaRecord } from "../records/record.ts";
import { type CommandInput, type CommandIo, type CommandOption, UsageError } from "./command.ts";
import { payloadText, recordToJson } from "./record_json.ts";

/** Options of a command that prints records. */
export const recordOutputOptions: Readonly<Record<string, CommandOption>> = {
  output: { type: "string", short: "o", value: "text|json", help: "values as text, or a JSON object a line" },
  limit: { type: "string", short: "n", value: "N", help: "stop after N records" },
};

/** How to print. */
export interface RecordOutput {
  /** The line for a record, without its end. */
  readonly line: (record: KafkaRecord) => string;
  /** Most records. */
  readonly limit: number;
}

/** Reads the options. */
export function recordOutput(input: CommandInput): RecordOutput {
  const form = input.text("output") ?? "text";
  if (form !== "text" && form !== "json") throw new UsageError(`-o ${form}: expected text or json`);
  const limit = input.text("limit");
  if (limit !== undefined && !/^\d+$/.test(limit)) throw new UsageError(`--limit ${limit}: expected a number`);
  return {
    line: form === "json" ? recordToJson : (record) => payloadText(record.value),
    limit: limit === undefined ? Infinity : Number(limit),
  };
}

/** Lines are written together up to about so many characters. */
const CHUNK = 32 * 1024;
/** … but a person who follows a topic sees each record within this time. */
const FLUSH_MS = 100;

/** Prints `records` until they end or there are enough. */
export async function printRecords(
  io: CommandIo,
  records: AsyncIterable<KafkaRecord>,
  { line, limit }: RecordOutput,
): Promise<number> {
  let count = 0;
  let chunk = "";
  let flushing: { cancel(): void } | undefined;
  const flush = async () => {
    flushing?.cancel();
    flushing = undefined;
    const text = chunk;
    chunk = "";
    if (text !== "") await io.out(text);
  };
  if (limit > 0) {
    for await (const record of records) {
      chunk += `${line(record)}\n`;
      if (chunk.length >= CHUNK) await flush();
      else flushing ??= io.clock.setTimer(FLUSH_MS, () => void flush());
      if (++count >= limit) break;
    }
  }
  await flush();
  return count;
}
