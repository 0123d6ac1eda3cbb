/**
 * A log directory, Kafka's `log.dirs` entry, around its partition folders: their names, the checkpoints, `meta.properties`
 * and the marker of a clean stop.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { type Anomaly, damage } from "./anomaly.ts";
import {
  malformedFile,
  quote,
  readCheckpointLines,
  readTextFile,
  writeCheckpointLines,
  writeTextFile,
} from "./checkpoint_lines.ts";
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

/**
 * The partition a folder belongs to; undefined for other folders, such as one on its way to be deleted. A topic may contain
 * hyphens: the number follows the last one.
 */
export function parsePartitionFolder(name: string): TopicPartition | undefined {
  const match = /^(.+)-(\d{1,10})$/.exec(name);
  const partition = Number(match?.[2]);
  return match === null || partition > 0x7fffffff ? undefined : { topic: match[1]!, partition };
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
  | "log-start-offset-checkpoint"
  | "cleaner-offset-checkpoint";

/**
 * Reads an offset checkpoint; a missing or empty one has no entries.
 *
 * @throws StorageError with code `"MALFORMED_FILE"` for any other form than Kafka's.
 */
export async function readOffsetCheckpoint(
  storage: Storage,
  name: OffsetCheckpointName,
): Promise<OffsetCheckpointEntry[]> {
  return (await readCheckpointLines(storage, name)).map((line) => {
    const match = /^\s*(\S+)\s+(\d{1,10})\s+(-?\d+)\s*$/.exec(line);
    const offset = Number(match?.[3]);
    if (match === null || !Number.isSafeInteger(offset)) {
      throw malformedFile(name, `${quote(line)} is not a topic, a partition and an offset`);
    }
    return { topic: match[1]!, partition: Number(match[2]), offset };
  });
}

/** Writes an offset checkpoint, whole or not at all. */
export async function writeOffsetCheckpoint(
  storage: Storage,
  name: OffsetCheckpointName,
  entries: readonly OffsetCheckpointEntry[],
): Promise<void> {
  await writeCheckpointLines(
    storage,
    name,
    entries.map(({ topic, partition, offset }) => `${topic} ${partition} ${offset}`),
  );
}

/** What the checkpoints of a log directory say of one partition, as `Log.open` takes it. */
export interface PartitionCheckpoints {
  /** First visible offset: `log-start-offset-checkpoint`. */
  readonly logStartOffset?: number;
  /** First offset that is not replicated: `replication-offset-checkpoint`. */
  readonly highWatermark?: number;
  /** First offset not known to be on the disk: `recovery-point-offset-checkpoint`. */
  readonly recoveryPoint?: number;
  /** First offset that was never compacted: `cleaner-offset-checkpoint`. */
  readonly firstDirtyOffset?: number;
  /** Whether the last stop was a clean one, which the marker tells. */
  readonly cleanShutdown: boolean;
}

const CHECKPOINTS = [
  ["logStartOffset", "log-start-offset-checkpoint"],
  ["highWatermark", "replication-offset-checkpoint"],
  ["recoveryPoint", "recovery-point-offset-checkpoint"],
  ["firstDirtyOffset", "cleaner-offset-checkpoint"],
] as const;

/**
 * Reads what a log directory says of its partitions; the answer looks one up. A checkpoint that cannot be read says
 * nothing, as for a broker, and goes to `report`.
 */
export async function readPartitionCheckpoints(
  directory: Storage,
  report?: (anomaly: Anomaly) => void,
): Promise<(place: TopicPartition) => PartitionCheckpoints> {
  const cleanShutdown = await hasCleanShutdown(directory);
  const offsets = new Map<string, Partial<Record<typeof CHECKPOINTS[number][0], number>>>();
  for (const [field, name] of CHECKPOINTS) {
    try {
      for (const { offset, ...place } of await readOffsetCheckpoint(directory, name)) {
        const folder = partitionFolder(place);
        offsets.set(folder, { ...offsets.get(folder), [field]: offset });
      }
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "MALFORMED_FILE") throw error;
      report?.(
        damage("offset-checkpoint-unreadable", name, `${error.message}. A broker goes on as if it were not there`),
      );
    }
  }
  return (place) => ({ ...offsets.get(partitionFolder(place)), cleanShutdown });
}

/** Who a log directory belongs to: `meta.properties` in the form that brokers without ZooKeeper use. */
export interface LogDirectoryProperties {
  /** Id of the cluster. */
  readonly clusterId: string;
  /** Number of the node. */
  readonly nodeId: number;
  /** Id of this directory: 22 characters of base64url; older brokers have none. */
  readonly directoryId?: string;
}

const META_PROPERTIES = "meta.properties";

/**
 * Reads `meta.properties`; undefined when there is none.
 *
 * @throws StorageError with code `"MALFORMED_FILE"` when something is missing in it.
 */
export async function readMetaProperties(storage: Storage): Promise<LogDirectoryProperties | undefined> {
  const text = await readTextFile(storage, META_PROPERTIES);
  if (text === undefined) return undefined;
  const properties = parseProperties(text);
  const clusterId = properties.get("cluster.id");
  // Version 0, of the time of ZooKeeper, calls it broker.id.
  const node = properties.get("node.id") ?? properties.get("broker.id");
  if (clusterId === undefined) throw malformedFile(META_PROPERTIES, "it has no cluster.id");
  if (!/^\d{1,10}$/.test(node ?? "")) {
    throw malformedFile(META_PROPERTIES, `node.id is ${quote(node)}, where a number is due`);
  }
  const directoryId = properties.get("directory.id");
  return { clusterId, nodeId: Number(node), ...(directoryId === undefined ? {} : { directoryId }) };
}

/** Writes `meta.properties`. */
export async function writeMetaProperties(storage: Storage, meta: LogDirectoryProperties): Promise<void> {
  const lines = ["version=1", `node.id=${meta.nodeId}`, `cluster.id=${meta.clusterId}`];
  if (meta.directoryId !== undefined) lines.push(`directory.id=${meta.directoryId}`);
  await writeTextFile(storage, META_PROPERTIES, `${lines.join("\n")}\n`);
}

/** Lines of Java's properties form, as far as the broker's own files use it. */
function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([^#!=:\s][^=:\s]*)\s*[=:]\s*(.*?)\s*$/.exec(line);
    if (match !== null) properties.set(match[1]!, match[2]!.replace(/\\(.)/g, "$1"));
  }
  return properties;
}

const CLEAN_SHUTDOWN = ".kafka_cleanshutdown";

/** Whether the marker of a clean stop is there. */
export async function hasCleanShutdown(storage: Storage): Promise<boolean> {
  return (await storage.list()).includes(CLEAN_SHUTDOWN);
}

/**
 * Whether the last stop was a clean one, which lets logs open without being checked. The marker is removed, so that a crash
 * from here on counts as one: call it once, before the first log is opened to write.
 */
export async function takeCleanShutdown(storage: Storage): Promise<boolean> {
  if (!await hasCleanShutdown(storage)) return false;
  await storage.remove(CLEAN_SHUTDOWN);
  return true;
}

/** Marks a clean stop: the last thing to do, after every log was closed and every checkpoint written. */
export async function markCleanShutdown(storage: Storage): Promise<void> {
  await writeTextFile(storage, CLEAN_SHUTDOWN, '{"version":0,"brokerEpoch":-1}');
}
