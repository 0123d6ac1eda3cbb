/**
 * The small text files of the log layer, and the form most of them have: a version, a count, then that many lines.
 *
 * @module
 */

import { utf8Encode } from "../bytes/utf8.ts";
import { StorageError } from "../core/kafka_error.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** Most bytes such a file may have; a million partitions take about a third. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a file whole; undefined when it is not there.
 *
 * @throws StorageError with code `"MALFORMED_FILE"` when it is larger than `maxBytes`, before anything is read.
 */
export async function readSmallFile(
  storage: Storage,
  name: string,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let file: StoredFile;
  try {
    file = await storage.open(name);
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (file.size > maxBytes) {
      throw malformedFile(name, `${file.size} bytes are too many, at most ${maxBytes} make sense`);
    }
    const bytes = new Uint8Array(file.size);
    return bytes.subarray(0, await file.readAt(bytes, 0));
  } finally {
    await file.close();
  }
}

/**
 * Reads a small text file; undefined when it is not there.
 *
 * @throws StorageError with code `"MALFORMED_FILE"` when it is no text.
 */
export async function readTextFile(storage: Storage, name: string): Promise<string | undefined> {
  const bytes = await readSmallFile(storage, name, MAX_BYTES);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw malformedFile(name, "it is not UTF-8 text");
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

/**
 * Reads the lines of a checkpoint; a missing or empty one has none.
 *
 * @throws StorageError with code `"MALFORMED_FILE"` for any other form than Kafka's.
 */
export async function readCheckpointLines(storage: Storage, name: string): Promise<string[]> {
  const text = await readTextFile(storage, name);
  if (text === undefined || text === "") return [];
  const [version, count, ...lines] = text.split(/\r?\n/);
  if (version !== "0") throw malformedFile(name, `line 1 is ${quote(version)}, where the version 0 is due`);
  while (lines.at(-1) === "") lines.pop();
  if (!/^\d+$/.test(count ?? "") || Number(count) !== lines.length) {
    throw malformedFile(name, `line 2 is ${quote(count)}, and ${lines.length} lines follow`);
  }
  return lines;
}

/** Writes a checkpoint of `lines`. */
export async function writeCheckpointLines(storage: Storage, name: string, lines: readonly string[]): Promise<void> {
  await writeTextFile(storage, name, ["0", String(lines.length), ...lines, ""].join("\n"));
}

/** The error for a text file that does not have the form it must have. */
export function malformedFile(name: string, reason: string): StorageError {
  return new StorageError(`${name}: ${reason}`, { code: "MALFORMED_FILE", file: name });
}

/** A piece of a file for a message: in quotes, and not longer than reads well. */
export function quote(text: string | undefined): string {
  if (text === undefined) return "missing";
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
