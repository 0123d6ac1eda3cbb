/**
 * The one exception from "our view is Kafka's": offsets beyond 2^53−1, which a JavaScript number cannot hold. There our log
 * ends, with the typed error `UNSAFE_INTEGER`, and this says what then is left of Kafka's view.
 *
 * @module
 */

import { type Json, UNSAFE } from "./differences.ts";
import type { ExpectedLog, ExpectedRead, ExpectedSet } from "./expected_set.ts";

/** Where the log ends for us. */
export interface SafeEnd {
  /** The file with the first batch that cannot be told. */
  readonly file: string;
  /** Where that batch begins. */
  readonly position: number;
  /** The offset after the last one that can be told. */
  readonly offset: number;
}

/** A batch as far as it matters here. An offset beyond 2^53−1 is a string. */
interface PlacedBatch {
  readonly file: string;
  readonly position: number;
  readonly size: number;
  readonly lastOffset: number | string;
}

function batchesOf({ batches }: ExpectedSet): readonly PlacedBatch[] {
  return batches as unknown as readonly PlacedBatch[];
}

/** Where the log of `expected` ends for us; undefined when it does not before Kafka's. */
export function safeEndOf(expected: ExpectedSet): SafeEnd | undefined {
  const batches = batchesOf(expected);
  const first = batches.findIndex(({ lastOffset }) => typeof lastOffset === "string");
  if (first < 0) return undefined;
  const { file, position } = batches[first]!;
  return { file, position, offset: Number(batches[first - 1]!.lastOffset) + 1 };
}

/** What is left of `expected` for a log that ends at `end`. */
export function expectedBelow(expected: ExpectedSet, end: SafeEnd): ExpectedSet {
  const { opened } = expected;
  const endOffset = (offset: number): number => typeof offset === "string" ? end.offset : offset;
  const below: ExpectedLog = {
    ...opened,
    ...{ logEndOffset: end.offset, lastStableOffsetWithHighWatermarkAtEnd: end.offset, recoveryPoint: end.offset },
    segments: opened.segments.map((segment, i) =>
      expected.segments[i]!.file !== end.file ? segment : { ...segment, size: end.position, nextOffset: end.offset }
    ),
    endOffsetForEpoch: opened.endOffsetForEpoch.map(([asked, epoch, offset]) => [asked!, epoch!, endOffset(offset!)]),
    offsetByTimestamp: opened.offsetByTimestamp.map((answer) => {
      const [asked, offset, ...rest] = answer;
      if (typeof offset !== "string") return answer;
      return asked === LATEST ? [asked, end.offset, ...rest] : [asked!, UNSAFE];
    }),
    reads: opened.reads.map((read) => readBelow(read, expected, end)),
  };
  return { ...expected, opened: below };
}

const LATEST = -1;

function readBelow(read: ExpectedRead, expected: ExpectedSet, end: SafeEnd): ExpectedRead {
  const { offset, isolation, maxLength, minOneMessage } = read;
  if (typeof offset === "string") {
    return { offset, isolation, maxLength, minOneMessage, error: "UNSAFE_INTEGER" } as ExpectedRead;
  }
  const { segment, position, bytes } = read as unknown as { readonly [field: string]: number };
  const file = expected.segments.find(({ baseOffset }) => baseOffset === segment)?.file;
  if (file !== end.file || position! + bytes! <= end.position) return read;
  const whole = batchesOf(expected).filter((batch) =>
    batch.file === file && batch.position >= position! && batch.position < end.position
  );
  const cut: { readonly [field: string]: Json } = {
    bytes: end.position - position!,
    wholeBatches: whole.length,
    lastWholeBatchEnd: whole.at(-1)!.lastOffset,
  };
  return { ...read, ...cut };
}
