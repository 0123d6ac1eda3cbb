/**
 * The names and text files of a log directory, Kafka's `log.dirs` entry: partition folders, checkpoints, `meta.properties`.
 *
 * @module
 */

import { utf8Encode, utf8Read } from "../bytes/utf8.ts";
import { StorageError } from "../core/kafka_error.ts";
import type { Storage } from "./storage.ts";

/** A partition that a folder belongs to. */
export interface TopicPartition {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
}

/** The name of a partition's folder. */
export function partitionFolder({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

/** The partition a folder belongs to; undefined for other folders, such as one on its way to be deleted. */
export function parsePartitionFolder(name: string): TopicPartition | undefined {
  const match = /^(.+)-(\d{1,10})$/.exec(name);
  return match === null ? undefined : { topic: match[1]!, partition: Number(match[2]) };
}

/** One line of an offset checkpoint. */
export interface OffsetCheckpointEntry extends TopicPartition {
  /** The offset: a recovery point, a high watermark or a log start, as the file's name says. */
  readonly offset: number;
}

/** Names of the offset checkpoints. */
export type OffsetCheckpointName =
  | "recovery-point-offset-checkpoint"
  | "replication-offset-checkpoint"
  | "log-start-offset-checkpoint";

/**
 * Reads an offset checkpoint; a missing or empty one has no entries.
 *
 * @throws StorageError for any other form than Kafka's.
 */
export async function readOffsetCheckpoint(
  storage: Storage,
  name: OffsetCheckpointName,
): Promise<OffsetCheckpointEntry[]> {
  const text = await readTextFile(storage, name);
  if (text === undefined || text === "") return [];
  return checkpointLines(text, name).map((line) => {
    const [topic, partition, offset, ...rest] = line.trim().split(/\s+/);
    if (offset === undefined || rest.length > 0 || !/^\d+$/.test(partition!) || !/^-?\d+$/.test(offset)) {
      throw malformed(name, line);
    }
    return { topic: topic!, partition: Number(partition), offset: Number(offset) };
  });
}

/** Writes an offset checkpoint, whole or not at all. */
export async function writeOffsetCheckpoint(
  storage: Storage,
  name: OffsetCheckpointName,
  entries: readonly OffsetCheckpointEntry[],
): Promise<void> {
  const lines = entries.map(({ topic, partition, offset }) => `${topic} ${partition} ${offset}`);
  await writeTextFile(storage, name, checkpointText(lines));
}

/** The lines of a checkpoint in Kafka's form: a version, a count, then that many lines. */
export function checkpointLines(text: string, name: string): string[] {
  const [version, count, ...lines] = text.split(/\r?\n/);
  if (version !== "0") throw malformed(name, version ?? "");
  while (lines.at(-1) === "") lines.pop();
  if (!/^\d+$/.test(count ?? "") || Number(count) !== lines.length) throw malformed(name, count ?? "");
  return lines;
}

/** A checkpoint of `lines` in Kafka's form. */
export function checkpointText(lines: readonly string[]): string {
  return ["0", String(lines.length), ...lines, ""].join("\n");
}

/** Reads a small text file; undefined when it is not there. */
export async function readTextFile(storage: Storage, name: string): Promise<string | undefined> {
  try {
    const file = await storage.open(name);
    try {
      const bytes = new Uint8Array(file.size);
      return utf8Read(bytes, 0, await file.readAt(bytes, 0));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a small text file, whole or not at all: beside its place first, then into it. */
export async function writeTextFile(storage: Storage, name: string, text: string): Promise<void> {
  const temporary = `${name}.tmp`;
  await storage.remove(temporary);
  const file = await storage.open(temporary, { create: true });
  try {
    await file.append([utf8Encode(text)]);
    await file.sync();
  } finally {
    await file.close();
  }
  await storage.rename(temporary, name);
}

function malformed(name: string, line: string): StorageError {
  return new StorageError(`${name}: "${line}" is not a line of a checkpoint`, { code: "MALFORMED_FILE", file: name });
}
