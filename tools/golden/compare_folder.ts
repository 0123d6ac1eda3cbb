/**
 * Compares the files of a partition's folder that are read for themselves: all of them as bytes, producer snapshots, KRaft
 * snapshots, text files.
 *
 * @module
 */

import { LeaderEpochs } from "../../src/log/leader_epochs.ts";
import { type OffsetCheckpointName, readOffsetCheckpoint } from "../../src/log/log_directory.ts";
import { readPartitionMetadata } from "../../src/log/partition_metadata.ts";
import { readProducerSnapshot } from "../../src/log/producer_snapshot.ts";
import { sha256 } from "./bytes_form.ts";
import { compareBatches, decodedForms, walkFile } from "./compare_batches.ts";
import { readBytes } from "./copy_of.ts";
import { differences, type Json, type Mismatches, UNSAFE, type View } from "./differences.ts";
import { topicPartitionOf } from "./expected_set.ts";
import type { GoldenSet } from "./golden_set.ts";
import { producerForm } from "./producer_form.ts";

/** Compares `files`. */
export async function* compareFiles({ expected, folder }: GoldenSet): Mismatches {
  const files: View[] = [];
  for (const name of await folder.list()) {
    const bytes = await readBytes(folder, name);
    files.push({ name, size: bytes.length, sha256: await sha256(bytes) });
  }
  yield* differences("files", expected.files, files);
}

/** Compares `checkpoints`. */
export async function* compareCheckpoints({ expected, folder, codecs }: GoldenSet): Mismatches {
  const names = (await folder.list()).filter((name) => name.endsWith(".checkpoint"));
  const checkpoints = expected.checkpoints ?? [];
  yield* differences("checkpoints.file", checkpoints.map(({ file }) => file), names);
  for (const [i, { file, batches, records, ...rest }] of checkpoints.entries()) {
    const walked = walkFile(await readBytes(folder, file), file, topicPartitionOf(expected));
    const { validBytes, trailingBytes } = walked;
    yield* differences(`checkpoints[${i}]`, rest as unknown as Json, {
      validBytes,
      trailingBytes,
      decoded: decodedForms([walked], codecs),
    });
    yield* compareBatches(`checkpoints[${i}].`, [walked], batches, records, codecs);
  }
}

/** Compares `producerSnapshots`. */
export async function* compareProducerSnapshots({ expected, folder }: GoldenSet): Mismatches {
  const snapshots: View[] = [];
  for (const name of await folder.list()) {
    if (!name.endsWith(".snapshot")) continue;
    const { entries, file, offset } = await readProducerSnapshot(folder, name);
    // What it holds can be read even where the number in its name cannot be held, which is −1 then.
    snapshots.push({ file, offset: offset < 0 ? UNSAFE : offset, producers: entries.map(producerForm) });
  }
  yield* differences("producerSnapshots", expected.producerSnapshots as unknown as Json, snapshots);
}

/** Compares `leaderEpochCheckpoint`, `partitionMetadata` and what checkpoints of the log directory say of the partition. */
export async function* compareTextFiles(set: GoldenSet): Mismatches {
  const { expected, folder } = set;
  const names = await folder.list();
  const { entries } = await LeaderEpochs.load(folder);
  const epochs = names.includes(LeaderEpochs.FILE)
    ? entries.map(({ epoch, startOffset }) => [epoch, startOffset])
    : undefined;
  yield* differences("leaderEpochCheckpoint", expected.leaderEpochCheckpoint, epochs);
  const topicId = await readPartitionMetadata(folder);
  yield* differences(
    "partitionMetadata",
    expected.partitionMetadata,
    topicId === undefined ? undefined : { version: 0, topicId },
  );
  const start = await checkpointOf(set, "log-start-offset-checkpoint");
  const { logStartOffsetCheckpoint, recoveryPointCheckpoint } = expected.opened;
  if (start !== undefined) yield* differences("opened.logStartOffsetCheckpoint", logStartOffsetCheckpoint, start);
  const recoveryPoint = await checkpointOf(set, "recovery-point-offset-checkpoint");
  if (recoveryPoint !== undefined) {
    yield* differences("opened.recoveryPointCheckpoint", recoveryPointCheckpoint, recoveryPoint);
  }
}

/** The partition's offset in a checkpoint of the log directory, 0 when it is not in it; undefined without the file. */
export async function checkpointOf(
  { expected, logDirectory }: GoldenSet,
  name: OffsetCheckpointName,
): Promise<number | undefined> {
  if (logDirectory === undefined || !(await logDirectory.list()).includes(name)) return undefined;
  const { topic, partition } = topicPartitionOf(expected);
  const entries = await readOffsetCheckpoint(logDirectory, name);
  return entries.find((entry) => entry.topic === topic && entry.partition === partition)?.offset ?? 0;
}
