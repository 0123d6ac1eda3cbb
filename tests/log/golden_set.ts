import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { copyFiles } from "./batch_of.ts";

/** A directory that Kafka wrote (tests/golden/README.md), and what Kafka's own classes say of it. */
export interface GoldenSet {
  /** The log directory. */
  readonly directory: string;
  /** Name of the partition's folder in it. */
  readonly partition: string;
  // deno-lint-ignore no-explicit-any -- the file of another program, of which each test looks at other fields
  readonly expected: any;
}

/** One of the sets. */
export function goldenSet(name: string): GoldenSet {
  const directory = fileURLToPath(new URL(`../golden/${name}/`, import.meta.url));
  const packed = `${directory}expected.json.gz`;
  const json = existsSync(packed) ? gunzipSync(readFileSync(packed)) : readFileSync(`${directory}expected.json`);
  const expected = JSON.parse(new TextDecoder().decode(json));
  return { directory, partition: expected.partition, expected };
}

/** The partition's folder of a set, only to read. */
export async function goldenStorage({ directory, partition }: GoldenSet): Promise<Storage> {
  return await nodeStorage(directory, { readOnly: true }).folder(partition);
}

/** A copy of the partition's folder in memory, to be changed. */
export async function goldenCopy(set: GoldenSet): Promise<MemoryStorage> {
  const copy = new MemoryStorage();
  await copyFiles(await goldenStorage(set), copy);
  return copy;
}
