/**
 * Compares segments and their indexes as they lie on the disk, and what scanning and walking them finds.
 *
 * @module
 */

import type { BatchHeader, Log } from "../../src/log/log.ts";
import type { Storage } from "../../src/log/storage.ts";
import type { WalkedFile } from "./compare_batches.ts";
import {
  differences,
  exact,
  isUnsafeInteger,
  type Json,
  type Mismatches,
  UNSAFE_REST,
  type View,
} from "./differences.ts";
import type { SafeEnd } from "./expected_below.ts";
import type { ExpectedBatch, ExpectedSet } from "./expected_set.ts";
import type { GoldenSet } from "./golden_set.ts";

/** Compares `segments`. */
export async function* compareSegments(
  { expected, folder }: GoldenSet,
  walked: readonly WalkedFile[],
  log: Log,
): Mismatches {
  const sizes = await fileSizes(folder);
  const segments: View[] = [];
  for (const [i, segment] of log.segments.entries()) {
    const { baseOffset, file } = segment;
    const { validBytes, trailingBytes, error } = walked[i]!;
    const offsetIndex = await segment.offsetIndex();
    const timeIndex = await segment.timeIndex();
    const transactionIndex = await segment.transactionIndex();
    const theirs = expected.segments[i];
    const slots = (suffix: string, size: number) =>
      Math.floor((sizes.get(file.replace(/log$/, suffix)) ?? 0) / size) || undefined;
    segments.push({
      baseOffset,
      file,
      size: sizes.get(file),
      validBytes,
      trailingBytes,
      error,
      offsetIndex: entriesOf(offsetIndex, ({ offset, position }) => [offset, position]),
      offsetIndexSlots: slots("index", 8),
      offsetIndexLookups: theirs?.offsetIndexLookups?.map(([target]) =>
        exact(() => {
          const { offset, position } = offsetIndex.floor(Number(target));
          return [target!, offset, position];
        })
      ),
      timeIndex: entriesOf(timeIndex, ({ timestamp, offset }) => [timestamp, offset]),
      timeIndexSlots: slots("timeindex", 12),
      timeIndexLookups: theirs?.timeIndexLookups?.map(([target]) =>
        exact(() => {
          const { timestamp, offset } = timeIndex.floor(Number(target));
          return [target!, timestamp, offset];
        })
      ),
      transactionIndex: entriesOf(transactionIndex, (entry) => ({ ...entry })),
    });
  }
  yield* differences("segments", expected.segments as unknown as Json, segments);
}

async function fileSizes(folder: Storage): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await folder.list()) {
    const file = await folder.open(name);
    sizes.set(name, file.size);
    await file.close();
  }
  return sizes;
}

/** The entries of an index; of one without any `expected.json` says nothing. */
function entriesOf<Entry>(
  index: { readonly entries: number; entry(n: number): Entry },
  form: (entry: Entry) => View,
): readonly View[] | undefined {
  if (index.entries === 0) return undefined;
  return Array.from({ length: index.entries }, (_, n) => exact(() => form(index.entry(n))));
}

/** Compares the headers that scanning finds, and the batches that walking the log does, with `batches`. */
export async function* compareWalks(log: Log, expected: ExpectedSet, end: SafeEnd | undefined): Mismatches {
  const headers: View[] = [];
  for (const segment of log.segments) {
    const scanner = segment.scan();
    for (let header = await scanner.next(); header !== undefined; header = await scanner.next()) {
      headers.push(headerForm(segment.file, header));
    }
  }
  const below = end === undefined
    ? expected.batches
    : expected.batches.slice(0, expected.batches.findIndex((batch) => isAt(batch, end)));
  yield* differences("batches (headers)", below.map(expectedHeader), headers);

  const positions: View[] = [];
  try {
    for await (const batch of log.batches()) positions.push([batch.position, batch.lastOffset]);
  } catch (error) {
    if (!isUnsafeInteger(error)) throw error;
    positions.push(UNSAFE_REST);
  }
  const visible = expected.batches.map((batch) => batch as unknown as { readonly [field: string]: Json })
    .filter(({ lastOffset }) => Number(lastOffset) >= log.logStartOffset);
  yield* differences("batches (walk)", visible.map(({ position, lastOffset }) => [position!, lastOffset!]), positions);

  // A log that ends before Kafka's does says so, and where.
  const anomalies = log.anomalies.filter(({ kind }) => kind === "unsafe-integer");
  yield* differences(
    "anomalies of kind unsafe-integer",
    end === undefined ? [] : [{ file: end.file, position: end.position }],
    anomalies.map(({ file, position }) => ({ file, position })),
  );
}

function isAt(batch: ExpectedBatch, { file, position }: SafeEnd): boolean {
  return batch.file === file && (batch as unknown as SafeEnd).position === position;
}

/** What of a batch its header tells without decoding. */
function expectedHeader(batch: ExpectedBatch): Json {
  const { codec: _codec, timestampType: _type, crc: _crc, valid: _valid, deleteHorizonMs: _horizon, ...rest } =
    batch as unknown as { readonly [field: string]: Json };
  const { count: _count, firstRecord: _first, recordCount: _records, baseOffset, ...fields } = rest;
  // Of a compressed message of the old formats the first offset is told by decoding only.
  return fields.magic === 2 ? { ...fields, baseOffset: baseOffset! } : fields;
}

function headerForm(file: string, header: BatchHeader): View {
  const { position, size, magic, lastOffset, maxTimestamp } = header;
  const common = { file, position, size, magic, lastOffset, maxTimestamp };
  if (magic < 2) return common;
  const { baseOffset, partitionLeaderEpoch, producerId, producerEpoch, baseSequence, lastSequence } = header;
  return {
    ...common,
    baseOffset,
    partitionLeaderEpoch,
    producerId,
    producerEpoch,
    baseSequence,
    lastSequence,
    transactional: header.isTransactional,
    control: header.isControl,
  };
}
