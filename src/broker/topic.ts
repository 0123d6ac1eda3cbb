import type { Partition } from "./partition.ts";
import type { TopicConfig } from "./topic_config.ts";

/** One topic of the embedded broker. */
export interface Topic {
  /** Its name. */
  readonly name: string;
  /** Its id: 22 characters of base64url. */
  readonly id: string;
  /** Its configs. */
  readonly config: TopicConfig;
  /** Its partitions by number. */
  readonly partitions: readonly Partition[];
}
