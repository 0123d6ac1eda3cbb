import { StorageError } from "../core/kafka_error.ts";
import { type Anomaly, damage, note } from "./anomaly.ts";
import { type OffsetCheckpointName, readMetaProperties, readOffsetCheckpoint } from "./log_directory.ts";
import type { Storage } from "./storage.ts";

const CHECKPOINTS: readonly (readonly [OffsetCheckpointName, string])[] = [
  ["recovery-point-offset-checkpoint", "A broker checks every segment of every log."],
  ["log-start-offset-checkpoint", "A broker lets each log begin with its first segment: deleted records come back."],
  ["replication-offset-checkpoint", "A broker takes the directory out of service; without the file it does not."],
  ["cleaner-offset-checkpoint", "A broker compacts from the start again."],
];

/**
 * Checks the files of a log directory that belong to no single partition.
 *
 * @throws StorageError when it cannot be read.
 */
export async function verifyLogDirectory(directory: Storage): Promise<Anomaly[]> {
  const found: Anomaly[] = [];
  const tell = async (file: string, meaning: string, read: () => Promise<unknown>, make = damage) => {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "MALFORMED_FILE") throw error;
      found.push(make("offset-checkpoint-unreadable", file, `${error.message}. ${meaning}`));
    }
  };
  const names = await directory.list();
  for (const [file, meaning] of CHECKPOINTS) await tell(file, meaning, () => readOffsetCheckpoint(directory, file));
  // Brokers of old wrote less into it.
  await tell("meta.properties", "A broker of today does not start.", () => readMetaProperties(directory), note);
  if (names.includes("meta.properties") && !names.includes(".kafka_cleanshutdown")) {
    found.push(note(
      "unclean-shutdown",
      ".kafka_cleanshutdown",
      "the marker of a clean stop is not there: the broker runs, or it did not stop in order, and one that starts recovers " +
        "the logs from their recovery points on.",
    ));
  }
  return found;
}
