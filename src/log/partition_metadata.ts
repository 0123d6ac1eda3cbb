/**
 * `partition.metadata`: the id of the topic that a partition's folder belongs to, so that a topic made anew under an old
 * name is never mistaken for the old one.
 *
 * @module
 */

import { ZERO_UUID } from "../protocol/api.ts";
import { malformedFile, quote, readTextFile, writeTextFile } from "./checkpoint_lines.ts";
import type { Storage } from "./storage.ts";

/** Name of the file. */
const FILE = "partition.metadata";

/**
 * Reads the topic id, 22 characters of base64url; undefined when there is no file.
 *
 * @throws StorageError with code `"MALFORMED_FILE"`.
 */
export async function readPartitionMetadata(storage: Storage): Promise<string | undefined> {
  const text = await readTextFile(storage, FILE);
  if (text === undefined) return undefined;
  const [version, id] = text.split(/\r?\n/);
  if (!/^version:\s*0\s*$/.test(version ?? "")) {
    throw malformedFile(FILE, `line 1 is ${quote(version)}, where "version: 0" is due`);
  }
  const topicId = /^topic_id:\s*([A-Za-z0-9_-]{22})\s*$/.exec(id ?? "")?.[1];
  if (topicId === undefined || topicId === ZERO_UUID) {
    throw malformedFile(FILE, `line 2 is ${quote(id)}, where a topic_id is due`);
  }
  return topicId;
}

/** Writes the topic id. */
export async function writePartitionMetadata(storage: Storage, topicId: string): Promise<void> {
  await writeTextFile(storage, FILE, `version: 0\ntopic_id: ${topicId}`);
}
