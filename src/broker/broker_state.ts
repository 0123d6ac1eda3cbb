/**
 * What the handlers share: who the broker is, its topics and its seams.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { TopicRegistry } from "./topic_registry.ts";

/** One running broker, as its handlers see it. */
export interface BrokerState {
  /** Number of this node. */
  readonly nodeId: number;
  /** Id of the cluster of one. */
  readonly clusterId: string;
  /** Host that clients are told to connect to. */
  readonly host: string;
  /** Port that clients are told to connect to. */
  readonly port: number;
  /** The topics. */
  readonly topics: TopicRegistry;
  /** Whether a topic that a client asks for by name is made. */
  readonly autoCreateTopics: boolean;
  /** Partitions of a topic that is made without a number. */
  readonly defaultPartitions: number;
  /** Codecs to look into compressed batches with; those without one are stored unseen. */
  readonly codecs: Codecs;
  /** CRC-32C. */
  readonly crc32c: Crc32c;
  /** Time. */
  readonly clock: Clock;
  /** Takes messages. */
  readonly logger: Logger;
  /** A producer id that no producer has. */
  nextProducerId(): number;
}
