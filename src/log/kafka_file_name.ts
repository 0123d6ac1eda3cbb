/**
 * What the name of a file in a log directory or a partition's folder says about it.
 *
 * @module
 */

/** Kinds of files. `"checkpoint"` is a KRaft snapshot, which holds batches; the offset checkpoints are text. */
export type KafkaFileType =
  | "log"
  | "index"
  | "timeindex"
  | "txnindex"
  | "snapshot"
  | "checkpoint"
  | "leader-epoch-checkpoint"
  | "partition.metadata"
  | "offset-checkpoint"
  | "meta.properties"
  | "quorum-state"
  | "clean-shutdown";

/** A file as its name tells it. */
export interface KafkaFileName {
  /** Kind. */
  readonly type: KafkaFileType;
  /** The 20 digits in front as they are, since they may say more than a number holds; undefined where there are none. */
  readonly digits?: string;
  /** What Kafka was about to do with it: delete it, fill it, or swap it in. */
  readonly state?: "deleted" | "cleaned" | "swap";
}

const BY_NAME: Readonly<Record<string, KafkaFileType>> = {
  "leader-epoch-checkpoint": "leader-epoch-checkpoint",
  "partition.metadata": "partition.metadata",
  "recovery-point-offset-checkpoint": "offset-checkpoint",
  "replication-offset-checkpoint": "offset-checkpoint",
  "log-start-offset-checkpoint": "offset-checkpoint",
  "cleaner-offset-checkpoint": "offset-checkpoint",
  "meta.properties": "meta.properties",
  "quorum-state": "quorum-state",
  "bootstrap.checkpoint": "checkpoint",
  ".kafka_cleanshutdown": "clean-shutdown",
};

/** Reads the name; undefined when it is none of Kafka's. */
export function parseKafkaFileName(name: string): KafkaFileName | undefined {
  if (Object.hasOwn(BY_NAME, name)) return { type: BY_NAME[name]! };
  const match =
    /^(\d{20})(?:-\d{10,})?\.(log|index|timeindex|txnindex|snapshot|checkpoint)(?:\.(deleted|cleaned|swap))?$/
      .exec(name);
  if (match === null) return undefined;
  const [, digits, type, state] = match as unknown as [string, string, KafkaFileType, KafkaFileName["state"]];
  return { type, digits, ...(state === undefined ? {} : { state }) };
}

/** Whether a folder with a file of this name is a partition's. */
export function isPartitionFile(name: string): boolean {
  const file = parseKafkaFileName(name);
  return file?.digits !== undefined || file?.type === "partition.metadata" || file?.type === "leader-epoch-checkpoint";
}
