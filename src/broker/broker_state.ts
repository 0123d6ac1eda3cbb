/**
 * What the handlers share: who the broker is, its topics and its seams.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { BrokerScript } from "./broker_script.ts";
import type { TopicRegistry } from "./topic_registry.ts";

/** One node, and where clients are told to find it. */
export interface NodeAddress {
  /** Its number. */
  readonly id: number;
  /** Host to connect to. */
  readonly host: string;
  /** Port to connect to. */
  readonly port: number;
}

/** One running broker, as its handlers see it. */
export interface BrokerState {
  /** Id of the cluster. */
  readonly clusterId: string;
  /** The nodes that run, by number. */
  readonly nodes: readonly NodeAddress[];
  /** Numbers of all nodes, those that were stopped too. */
  readonly nodeIds: readonly number[];
  /** What goes wrong. */
  readonly script: BrokerScript;
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
