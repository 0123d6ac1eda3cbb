/**
 * Compares segments with those that a broker has once it has loaded the directory.
 *
 * A load that recovers (`opened.clean` is false) builds the indexes anew: ours are built the same way, on a copy. One file may
 * have become several segments, where offsets lay too far from its base: they are compared as one, with the indexes that lie
 * there, since only a log that is written to can split a file.
 *
 * @module
 */

import { crc32c } from "../../src/hash/crc32c.ts";
import type { Log } from "../../src/log/log.ts";
import { LogSegment } from "../../src/log/log_segment.ts";
import type { Storage } from "../../src/log/storage.ts";
import { copyOf } from "./copy_of.ts";
import { differences, type Json, type Mismatches, type View } from "./differences.ts";
import { type ExpectedSegment, type ExpectedSet, type LoadedSegment, topicPartitionOf } from "./expected_set.ts";

/** Compares `opened.segments`. */
export async function* compareOpenedSegments(
  log: Log,
  expected: ExpectedSet,
  folder: Storage,
): Mismatches {
  const { clean, segments: loaded } = expected.opened;
  const theirs = expected.segments.map((segment, i) => {
    const next = expected.segments[i + 1]?.baseOffset ?? Infinity;
    const parts = loaded.filter(({ baseOffset }) => baseOffset >= segment.baseOffset && baseOffset < next);
    return { isSplit: parts.length > 1, form: parts.length > 1 ? joined(parts, segment) : parts[0] };
  });
  const segments: View[] = [];
  for (const [i, segment] of log.segments.entries()) {
    const { baseOffset, size } = segment;
    segments.push({
      baseOffset,
      size,
      nextOffset: await nextOffset(segment),
      maxTimestampSoFar: await segment.largestTimestamp(),
      ...(clean || theirs[i]?.isSplit ? await entries(segment) : await recoveredEntries(expected, folder, baseOffset)),
    });
  }
  yield* differences("opened.segments", theirs.map(({ form }) => form as unknown as Json), segments);
}

/** The segments that a file was split into, as one. */
function joined(parts: readonly LoadedSegment[], { offsetIndex, timeIndex }: ExpectedSegment): LoadedSegment {
  return {
    baseOffset: parts[0]!.baseOffset,
    size: parts.reduce((sum, { size }) => sum + size, 0),
    nextOffset: parts.at(-1)!.nextOffset,
    maxTimestampSoFar: Math.max(...parts.map(({ maxTimestampSoFar }) => maxTimestampSoFar)),
    offsetIndexEntries: offsetIndex?.length ?? 0,
    timeIndexEntries: timeIndex?.length ?? 0,
  };
}

async function nextOffset(segment: LogSegment): Promise<number> {
  const headers = segment.scan();
  let next = segment.baseOffset;
  for (let header = await headers.next(); header !== undefined; header = await headers.next()) {
    next = header.lastOffset + 1;
  }
  return next;
}

type Entries = Pick<LoadedSegment, "offsetIndexEntries" | "timeIndexEntries">;

async function entries(segment: LogSegment): Promise<Entries> {
  const [offsetIndex, timeIndex] = [await segment.offsetIndex(), await segment.timeIndex()];
  return { offsetIndexEntries: offsetIndex.entries, timeIndexEntries: timeIndex.entries };
}

async function recoveredEntries(expected: ExpectedSet, folder: Storage, baseOffset: number): Promise<Entries> {
  const segment = await LogSegment.open({
    storage: await copyOf(folder, (name) => Number(name.slice(0, 20)) === baseOffset),
    baseOffset,
    writable: true,
    indexIntervalBytes: Number(expected.topicConfig["index.interval.bytes"] ?? 4096),
    segmentIndexBytes: 10 * 1024 * 1024,
    maxBatchBytes: 100 * 1024 * 1024,
    context: topicPartitionOf(expected),
  });
  try {
    await segment.recover(crc32c);
    return await entries(segment);
  } finally {
    await segment.close();
  }
}
