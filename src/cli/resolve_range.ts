import type { Codecs } from "../compression/codec.ts";
import type { Log } from "../log/log.ts";
import type { WantedRange } from "./position.ts";

/** Offsets of one log. */
export interface OffsetRange {
  /** First offset. */
  readonly from: number;
  /** First offset not wanted. */
  readonly until: number;
}

/** The offsets of `log` that were asked for; without a word about an end, that of the log. */
export async function resolveRange(log: Log, { from, until }: WantedRange, codecs: Codecs): Promise<OffsetRange> {
  const { logEndOffset: end, logStartOffset: start } = log;
  const atTime = async (timestamp: number) =>
    (await log.offsetForTimestamp(timestamp, codecs, { isolation: "log-end" }))?.offset ?? end;
  let first = start;
  if (from === "latest") first = end;
  else if (typeof from === "number") first = from < 0 ? end + from : from;
  else if (typeof from === "object") first = "offset" in from ? from.offset : await atTime(from.timestamp);
  let last = end;
  if (typeof until === "object") last = "offset" in until ? until.offset : await atTime(until.timestamp);
  return { from: Math.max(start, first), until: Math.min(end, last) };
}
