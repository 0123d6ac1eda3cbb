/**
 * Compares our view of a partition's directory with what Kafka's own classes say of it: every list of `expected.json`, field
 * by field, through the library's own interface.
 *
 * It runs wherever the library does, a browser included: files come in as storages.
 *
 * @module
 */

import { KafkaError } from "../../src/core/kafka_error.ts";
import { LeaderEpochs } from "../../src/log/leader_epochs.ts";
import { Log } from "../../src/log/log.ts";
import type { Storage } from "../../src/log/storage.ts";
import { compareBatches, decodedForms, type WalkedFile, walkFile } from "./compare_batches.ts";
import {
  checkpointOf,
  compareCheckpoints,
  compareFiles,
  compareProducerSnapshots,
  compareTextFiles,
} from "./compare_folder.ts";
import { compareConsumer, compareLog, compareReads } from "./compare_log.ts";
import { compareOpenedSegments } from "./compare_opened_segments.ts";
import { compareSegments, compareWalks } from "./compare_segments.ts";
import { copyOf, readBytes } from "./copy_of.ts";
import { differences, type Json, type Mismatches } from "./differences.ts";
import { expectedBelow, safeEndOf } from "./expected_below.ts";
import { topicPartitionOf } from "./expected_set.ts";
import type { GoldenSet } from "./golden_set.ts";

/** Answers each place where our view of the set differs from Kafka's. */
export async function* compareGoldenSet(set: GoldenSet): Mismatches {
  const { codecs, expected } = set;
  yield* unknownFields("", expected, FIELDS);
  yield* unknownFields("opened.", expected.opened, OPENED_FIELDS);
  yield* guarded("files", () => compareFiles(set));
  yield* guarded("producerSnapshots", () => compareProducerSnapshots(set));
  yield* guarded("leaderEpochCheckpoint", () => compareTextFiles(set));
  yield* guarded("checkpoints", () => compareCheckpoints(set));
  yield* guarded("segments", async function* () {
    const walked = await walkSegments(set);
    yield* guarded("batches", () => compareBatches("", walked, expected.batches, expected.records, codecs));
    yield* guarded("decoded", () => compareDecoded(set, walked));
    yield* guarded("opened", () => compareOpened(set, walked));
  });
}

/** Compares all that an open log is needed for. */
async function* compareOpened(set: GoldenSet, walked: readonly WalkedFile[]): Mismatches {
  const { codecs, folder } = set;
  const end = safeEndOf(set.expected);
  const expected = end === undefined ? set.expected : expectedBelow(set.expected, end);
  const log = await openLog(set);
  try {
    yield* guarded("segments", () => compareSegments(set, walked, log));
    yield* guarded("batches", () => compareWalks(log, set.expected, end));
    yield* guarded("opened.segments", () => compareOpenedSegments(log, expected, folder));
    yield* guarded("opened", () => compareLog(log, expected, codecs));
    yield* guarded("opened.reads", () => compareReads(log, expected, codecs));
    yield* guarded("consumer", () => compareConsumer(log, expected, codecs));
  } finally {
    await log.close();
  }
}

/** Lets one part that fails not hide the others: its error is a mismatch. */
async function* guarded(path: string, part: () => Mismatches): Mismatches {
  try {
    yield* part();
  } catch (error) {
    const text = error instanceof KafkaError
      ? `${error.name} ${error.code}: ${error.message}`
      : `an error that is not of this library: ${error instanceof Error ? error.stack : String(error)}`;
    yield { path, expected: undefined, actual: text };
  }
}

/** What is compared, or says how the set was made. */
const FIELDS = [
  ...["set", "partition", "note", "writtenBy", "describedBy", "topicConfig", "dumpToolError"],
  ...["files", "segments", "batches", "records", "decoded", "producerSnapshots", "checkpoints"],
  ...["leaderEpochCheckpoint", "partitionMetadata", "opened", "consumer"],
];

/** The same within `opened`. What files are there after a clean close is for a log that was written to. */
const OPENED_FIELDS = [
  ...["clean", "logStartOffsetCheckpoint", "recoveryPointCheckpoint", "filesAfterOpenAndClose"],
  ...[
    "logStartOffset",
    "logEndOffset",
    "lastStableOffsetWithHighWatermarkAtEnd",
    "firstUnstableOffset",
    "recoveryPoint",
  ],
  ...["segments", "leaderEpochs", "endOffsetForEpoch", "activeProducers", "reads", "offsetByTimestamp"],
];

/** What a newer set may say that nobody compares yet. */
async function* unknownFields(path: string, object: object, known: readonly string[]): Mismatches {
  for (const [field, value] of Object.entries(object)) {
    if (!known.includes(field)) yield { path: path + field, expected: value, actual: undefined };
  }
}

async function walkSegments({ expected, folder }: GoldenSet): Promise<WalkedFile[]> {
  const walked: WalkedFile[] = [];
  for (const name of await folder.list()) {
    if (name.endsWith(".log")) walked.push(walkFile(await readBytes(folder, name), name, topicPartitionOf(expected)));
  }
  return walked;
}

async function* compareDecoded({ expected, codecs }: GoldenSet, walked: readonly WalkedFile[]): Mismatches {
  yield* differences("decoded", expected.decoded as unknown as Json, decodedForms(walked, codecs));
}

async function openLog(set: GoldenSet): Promise<Log> {
  const { expected, folder } = set;
  const { clean, logStartOffsetCheckpoint, recoveryPointCheckpoint } = expected.opened;
  const hasEpochs = (await folder.list()).includes(LeaderEpochs.FILE);
  // A load that recovers notes the epochs of the batches: so do we, on a copy.
  const storage = clean || hasEpochs ? folder : await copyWithEpochs(folder);
  return await Log.open(storage, {
    mode: "inspect",
    ...topicPartitionOf(expected),
    logStartOffset: await checkpointOf(set, "log-start-offset-checkpoint") ?? logStartOffsetCheckpoint,
    recoveryPoint: await checkpointOf(set, "recovery-point-offset-checkpoint") ?? recoveryPointCheckpoint,
    cleanShutdown: clean,
  });
}

async function copyWithEpochs(folder: Storage): Promise<Storage> {
  const copy = await copyOf(folder);
  const epochs = LeaderEpochs.empty(copy);
  const log = await Log.open(copy, { mode: "inspect" });
  try {
    for await (const { partitionLeaderEpoch, baseOffset } of log.batches()) {
      await epochs.assign(partitionLeaderEpoch, baseOffset);
    }
  } finally {
    await log.close();
  }
  return copy;
}
