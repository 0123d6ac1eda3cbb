/**
 * Reads where to begin and where to end: `start`, `end`, an offset, `-N` for the last N, `@-1h` or `@2026-11-30T10:00Z` for a time.
 *
 * @module
 */

import type { EndOffset, StartOffset } from "../consumer/consumer_options.ts";
import { type CommandInput, type CommandOption, UsageError } from "./command.ts";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Where a command with records begins and ends. */
export const rangeOptions: Readonly<Record<string, CommandOption>> = {
  from: { type: "string", value: "WHERE", help: "start, end, an offset, -N for the last N, @-1h or @TIME" },
  until: { type: "string", value: "WHERE", help: "first offset not wanted: end, an offset, @-1h or @TIME" },
};

/** A range as it was asked for. */
export interface WantedRange {
  /** Where to begin; undefined when it was not said. */
  readonly from: StartOffset | undefined;
  /** Where to end; undefined when it was not said. */
  readonly until: EndOffset | undefined;
}

/** Reads `--from` and `--until`; `now` in milliseconds since 1970. */
export function readRange(input: CommandInput, now: number): WantedRange {
  const [from, until] = [input.text("from"), input.text("until")];
  return {
    from: from === undefined ? undefined : startPosition(from, now),
    until: until === undefined ? undefined : endPosition(until, now),
  };
}

/** Where to begin, from the text of `--from`; `now` in milliseconds since 1970. */
export function startPosition(text: string, now: number): StartOffset {
  if (text === "start" || text === "earliest") return "earliest";
  if (text === "end" || text === "latest") return "latest";
  if (text.startsWith("@")) return { timestamp: timeOf(text.slice(1), now) };
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new UsageError(`--from ${text}: expected start, end, an offset, -N, @-1h or @2026-11-30T10:00Z`);
}

/** Where to end, from the text of `--until`. */
export function endPosition(text: string, now: number): EndOffset {
  if (text === "end") return "end";
  if (text.startsWith("@")) return { timestamp: timeOf(text.slice(1), now) };
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { offset: Number(text) };
  throw new UsageError(`--until ${text}: expected end, an offset, @-1h or @2026-11-30T10:00Z`);
}

/** Times from `from` on and before `until`, in milliseconds since 1970. */
export interface TimeRange {
  /** First wanted. */
  readonly from: number;
  /** First not wanted. */
  readonly until: number;
}

/** A range of times, from the text of `--time`: `-2h..`, `2026-11-30T10:00Z..2026-11-30T11:00Z`. */
export function timeRange(text: string, now: number): TimeRange {
  const parts = text.split("..");
  if (parts.length !== 2 || text === "..") {
    throw new UsageError(`--time ${text}: expected A..B, such as -2h.. or 2026-11-30T10:00Z..2026-11-30T11:00Z`);
  }
  const [from, until] = parts.map((part) => part.replace(/^@/, "")) as [string, string];
  return { from: from === "" ? -Infinity : timeOf(from, now), until: until === "" ? Infinity : timeOf(until, now) };
}

function timeOf(text: string, now: number): number {
  const relative = /^-(\d+)(ms|s|m|h|d)$/.exec(text);
  if (relative !== null) return Math.max(0, now - Number(relative[1]) * UNITS[relative[2]!]!);
  const time = /^\d{12,}$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isSafeInteger(time) && time >= 0) return time;
  throw new UsageError(`@${text}: expected a time such as @-1h, @2026-11-30T10:00Z or milliseconds since 1970`);
}
