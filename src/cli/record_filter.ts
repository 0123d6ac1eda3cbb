/**
 * Which records a command is about: the options that all commands with records share.
 *
 * @module
 */

import { utf8Encode } from "../bytes/utf8.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { type CommandInput, type CommandOption, UsageError } from "./command.ts";
import { type TimeRange, timeRange } from "./position.ts";
import type { PayloadView } from "./payload_view.ts";
import { fromBase64 } from "./record_json.ts";

/** The options. */
export const recordFilterOptions: Readonly<Record<string, CommandOption>> = {
  time: { type: "string", value: "A..B", help: "only records with A <= timestamp < B; either may be left out" },
  key: { type: "string", value: "KEY", help: "only records with this key: text, hex:00ff or base64:AP8=" },
  grep: {
    type: "string",
    value: "REGEX",
    help: "only records whose key, value or a header matches, as they are or as --decode shows them",
  },
  limit: { type: "string", short: "n", value: "N", help: "stop after N records" },
};

/** Tells the records that are wanted. */
export class RecordFilter {
  /** Most records. */
  readonly limit: number;
  /** When they are from; undefined when it does not matter. */
  readonly time: TimeRange | undefined;
  readonly #key: Uint8Array | undefined;
  readonly #pattern: RegExp | undefined;
  readonly #view: PayloadView | undefined;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /**
   * Reads the options; `now` in milliseconds since 1970. With a `view`, what it shows is searched as well.
   *
   * @throws UsageError
   */
  constructor(input: CommandInput, now: number, view?: PayloadView) {
    this.#view = view;
    const [time, key, pattern, limit] = ["time", "key", "grep", "limit"].map((name) => input.text(name));
    if (limit !== undefined && !/^\d{1,15}$/.test(limit)) throw new UsageError(`--limit ${limit}: expected a number`);
    this.limit = limit === undefined ? Infinity : Number(limit);
    this.time = time === undefined ? undefined : timeRange(time, now);
    this.#key = key === undefined ? undefined : keyBytes(key);
    this.#pattern = pattern === undefined ? undefined : regExp(pattern);
  }

  /** Whether some records are not wanted, whatever their number. */
  get isSelective(): boolean {
    return this.time !== undefined || this.#key !== undefined || this.#pattern !== undefined;
  }

  /** Whether `record` is wanted; the limit is for the caller to count. */
  matches(record: KafkaRecord): boolean {
    const { time } = this;
    if (time !== undefined && !(record.timestamp >= time.from && record.timestamp < time.until)) return false;
    const key = this.#key;
    if (key !== undefined && !(record.keyLength === key.length && isSame(record.key!, key))) return false;
    return this.#pattern === undefined || this.#finds(this.#pattern, record);
  }

  #finds(pattern: RegExp, record: KafkaRecord): boolean {
    const found = (bytes: Uint8Array | null) => bytes !== null && pattern.test(this.#decoder.decode(bytes));
    if (this.#view !== undefined && pattern.test(this.#view.json(record))) return true;
    return found(record.value) || found(record.key) ||
      record.headers.some(([name, value]) => pattern.test(name) || found(value));
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function keyBytes(text: string): Uint8Array {
  if (text.startsWith("hex:")) {
    const digits = text.slice(4);
    if (!/^(?:[0-9a-fA-F]{2})*$/.test(digits)) throw new UsageError(`--key ${text}: expected pairs of hex digits`);
    return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  }
  return text.startsWith("base64:") ? fromBase64(text.slice(7)) : utf8Encode(text);
}

function regExp(text: string): RegExp {
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new UsageError(`--grep ${text}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
