/**
 * Compares an open log with what a broker makes of the same directory: offsets, producers, and the answer to every read and
 * look-up, of a replica and of a consumer.
 *
 * Where a `.log` holds offsets too far from its base a broker splits the file as it loads it; its places are then told as
 * places in the file that lies there.
 *
 * @module
 */

import type { Codecs } from "../../src/compression/codec.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import type { Isolation, Log, TimestampedOffset } from "../../src/log/log.ts";
import { differences, isUnsafeInteger, type Json, type Mismatches, UNSAFE, type View } from "./differences.ts";
import type { ExpectedConsumer, ExpectedLog, ExpectedRead, ExpectedSet } from "./expected_set.ts";
import { type Producer, producerForm } from "./producer_form.ts";

/** Compares all of `opened` but the segments and the reads. */
export async function* compareLog(log: Log, { opened }: ExpectedSet, codecs: Codecs): Mismatches {
  const theirs = opened as unknown as { readonly [field: string]: Json };
  const lastStableOffset = await log.lastStableOffset();
  const producers = await log.producers();
  const ours: { readonly [field: string]: View } = {
    logStartOffset: log.logStartOffset,
    logEndOffset: log.logEndOffset,
    lastStableOffsetWithHighWatermarkAtEnd: lastStableOffset,
    firstUnstableOffset: lastStableOffset < log.highWatermark ? lastStableOffset : null,
    recoveryPoint: log.recoveryPoint,
    leaderEpochs: log.leaderEpochs.map(({ epoch, startOffset }) => [epoch, startOffset]),
    endOffsetForEpoch: opened.endOffsetForEpoch.map(([asked]) => {
      const found = log.endOffsetForEpoch(asked!);
      return [asked!, found?.epoch ?? -1, found?.endOffset ?? -1];
    }),
    offsetByTimestamp: await lookUps(log, opened.offsetByTimestamp, codecs),
  };
  for (const [field, view] of Object.entries(ours)) yield* differences(`opened.${field}`, theirs[field], view);
  // Kafka's order is that of a hash table.
  const known = [...opened.activeProducers].sort((a, b) => a.producerId - b.producerId);
  const isKnown = (id: number) => known.some(({ producerId }) => producerId === id);
  yield* differences(
    "opened.activeProducers",
    known as unknown as Json,
    producers.active.filter((producer) => isKnown(producer.producerId) || !isExpired(producer, known))
      .sort((a, b) => a.producerId - b.producerId).map(producerForm),
  );
}

/** When `opened` was made, at the earliest, and what was `producer.id.expiration.ms` then: the greatest there is. */
const OPENED_AT = Date.UTC(2026, 10, 30);
const PRODUCER_EXPIRATION_MS = 2 ** 31 - 1;

/** Whether a broker drops `producer` as it loads the log: it is too old, older than any that was kept. */
function isExpired(producer: Producer, kept: ExpectedLog["activeProducers"]): boolean {
  const { timestamp, currentTxnFirstOffset } = producer;
  return currentTxnFirstOffset < 0 && timestamp + PRODUCER_EXPIRATION_MS < OPENED_AT &&
    kept.every(({ lastTimestamp, currentTxnFirstOffset }) =>
      currentTxnFirstOffset !== null || timestamp < lastTimestamp
    );
}

/** Compares the answer to every read. */
export async function* compareReads(log: Log, expected: ExpectedSet, codecs: Codecs): Mismatches {
  const places = placesOf(expected);
  for (const [i, read] of expected.opened.reads.entries()) {
    const theirs = read as unknown as Json;
    const { [read.isolation]: isolation } = ISOLATIONS;
    yield* differences(`opened.reads[${i}]`, theirs, await readForm(log, read, isolation, places, codecs));
    // The high watermark is at the end of the log.
    if (isolation !== "log-end") continue;
    const same = await readForm(log, read, "high-watermark", places, codecs);
    yield* differences(`opened.reads[${i}] (below the high watermark)`, theirs, same);
  }
}

/** Where in the files a segment of the broker's lies. */
interface Place {
  /** The broker's base offset. */
  readonly segment: number;
  /** Base offset of the file it lies in. */
  readonly file: number;
  /** First byte. */
  readonly start: number;
  /** The byte after the last. */
  readonly end: number;
}

function placesOf({ opened, segments }: ExpectedSet): Place[] {
  const places: Place[] = [];
  for (const { baseOffset, size } of opened.segments) {
    const last = places.at(-1);
    const isWhole = last === undefined || segments.some((segment) => segment.baseOffset === baseOffset);
    const start = isWhole ? 0 : last.end;
    places.push({ segment: baseOffset, file: isWhole ? baseOffset : last.file, start, end: start + size });
  }
  return places;
}

const ISOLATIONS = { LOG_END: "log-end", HIGH_WATERMARK: "high-watermark", TXN_COMMITTED: "committed" } as const;

/** Names of errors: Kafka's, and ours that `expected_below.ts` has. */
const ERRORS: { readonly [code: string]: string } = {
  OFFSET_OUT_OF_RANGE: "OffsetOutOfRangeException",
  UNSAFE_INTEGER: "UNSAFE_INTEGER",
};

async function readForm(
  log: Log,
  read: ExpectedRead,
  isolation: Isolation,
  places: readonly Place[],
  codecs: Codecs,
): Promise<View> {
  const { offset, maxLength, minOneMessage } = read;
  const asked = { offset, isolation: read.isolation, maxLength, minOneMessage };
  try {
    const answer = await log.read(Number(offset), { maxBytes: maxLength, minOneBatch: minOneMessage, isolation });
    const { segmentBaseOffset, position, records, firstEntryIncomplete, abortedTransactions } = answer;
    // At the end of one of the broker's segments comes the next one, in which nothing was read.
    const place = places.findLast(({ file, start }) => file === segmentBaseOffset && start <= position);
    const bytes = records === undefined ? 0 : Math.min(records.size, (place?.end ?? Infinity) - position);
    const batches = records === undefined
      ? []
      : [...await records.batches()].filter((batch) => batch.position + batch.size <= position + bytes);
    const [first, last] = [batches[0], batches.at(-1)];
    return {
      ...asked,
      segment: place?.segment,
      position: position - (place?.start ?? 0),
      bytes,
      // Of a compressed message of the old formats the first offset is told by decoding only.
      firstBatch: first &&
        [first.magic < 2 ? first.records({ codecs })[0]!.offset : first.baseOffset, first.lastOffset],
      firstEntryIncomplete: firstEntryIncomplete || undefined,
      wholeBatches: batches.length,
      lastWholeBatchEnd: last?.lastOffset,
      abortedTransactions: isolation === "committed"
        ? abortedTransactions.map(({ producerId, firstOffset }) => [producerId, firstOffset])
        : undefined,
    };
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error;
    return { ...asked, error: ERRORS[error.code] ?? `${error.code}: ${error.message}` };
  }
}

/** `[asked, offset, timestamp, leaderEpoch]` for each, or `[asked, null]`. */
async function lookUps(
  log: Log,
  expected: readonly (readonly (number | string | null)[])[],
  codecs: Codecs,
  isolation: Isolation = "log-end",
): Promise<View[]> {
  const answers: View[] = [];
  for (const [asked] of expected) {
    let found: TimestampedOffset | undefined | typeof UNSAFE;
    try {
      found = await log.offsetForTimestamp(Number(asked), codecs, { isolation });
    } catch (error) {
      if (!isUnsafeInteger(error)) throw error;
      found = UNSAFE;
    }
    if (found === UNSAFE) answers.push([asked!, UNSAFE]);
    else if (found === undefined) answers.push([asked!, null]);
    else {
      const { offset, timestamp, leaderEpoch } = found;
      answers.push([asked!, offset, timestamp, leaderEpoch < 0 ? null : leaderEpoch]);
    }
  }
  return answers;
}

/** Compares what a consumer is given. */
export async function* compareConsumer(log: Log, { consumer = {} }: ExpectedSet, codecs: Codecs): Mismatches {
  for (const [isolation, theirs] of Object.entries(consumer)) {
    const committed = isolation === "read_committed";
    yield* differences(
      `consumer.${isolation}`,
      theirs as unknown as Json,
      await consumerForm(log, theirs, committed, codecs),
    );
  }
}

async function consumerForm(log: Log, theirs: ExpectedConsumer, committed: boolean, codecs: Codecs): Promise<View> {
  const isolation = committed ? "committed" : "high-watermark";
  const end = committed ? await log.lastStableOffset() : log.highWatermark;
  const ranges: [number, number][] = [];
  let count = 0;
  for await (const { offset } of log.records({ committed, until: end, codecs })) {
    const range = ranges.at(-1);
    if (range !== undefined && offset === range[1] + 1) range[1] = offset;
    else ranges.push([offset, offset]);
    count++;
  }
  return {
    begin: log.logStartOffset,
    end,
    position: end,
    offsetsForTimes: await lookUps(log, theirs.offsetsForTimes, codecs, isolation),
    offsets: ranges,
    count,
  };
}
