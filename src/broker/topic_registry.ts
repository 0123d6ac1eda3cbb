/**
 * The topics of the embedded broker: made, found, deleted, and found again in an existing log directory.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import { Reader } from "../bytes/reader.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import { Log } from "../log/log.ts";
import { parsePartitionFolder, partitionFolder } from "../log/log_directory.ts";
import { readPartitionMetadata } from "../log/partition_metadata.ts";
import type { StorageTree } from "../log/storage.ts";
import { NO_LEADER, Partition } from "./partition.ts";
import { refusal } from "./refusal.ts";
import type { Topic } from "./topic.ts";
import { DEFAULT_TOPIC_CONFIG, type TopicConfig } from "./topic_config.ts";

/** What a registry needs. */
export interface TopicRegistryOptions {
  /** The log directory. */
  readonly storage: StorageTree;
  /** Whether the last stop was a clean one, so that the logs that are there need no check. */
  readonly cleanShutdown: boolean;
  /** Bytes of one segment. */
  readonly segmentBytes: number;
  /** Bytes of batches between two index entries. */
  readonly indexIntervalBytes: number;
  /** Time. */
  readonly clock: Clock;
  /** Chance, for topic ids. */
  readonly random: Random;
  /** CRC-32C. */
  readonly crc32c: Crc32c;
  /** Numbers of the nodes that run, which lead partitions in turn. */
  readonly runningNodes: () => readonly number[];
}

const MAX_NAME_LENGTH = 249;
const MAX_PARTITIONS = 10_000;

/** The topics, by name and by id. */
export class TopicRegistry implements Iterable<Topic> {
  readonly #options: TopicRegistryOptions;
  readonly #topics = new Map<string, Topic>();
  /** Topics being made or deleted: another request for the name must not meet half of its folders. */
  readonly #busy = new Set<string>();

  private constructor(options: TopicRegistryOptions) {
    this.#options = options;
  }

  /** Opens the topics that lie in the log directory. */
  static async open(options: TopicRegistryOptions): Promise<TopicRegistry> {
    const registry = new TopicRegistry(options);
    const counts = new Map<string, number>();
    for (const folder of await options.storage.folders()) {
      const place = parsePartitionFolder(folder);
      if (place !== undefined) counts.set(place.topic, Math.max(counts.get(place.topic) ?? 0, place.partition + 1));
    }
    for (const [name, count] of counts) {
      const first = await options.storage.folder(partitionFolder({ topic: name, partition: 0 }));
      const id = await readPartitionMetadata(first);
      await registry.#make(name, count, DEFAULT_TOPIC_CONFIG, id ?? registry.#newId());
    }
    return registry;
  }

  /** All topics in order of their names. */
  [Symbol.iterator](): Iterator<Topic> {
    return [...this.#topics.values()].sort((a, b) => a.name < b.name ? -1 : 1)[Symbol.iterator]();
  }

  /** The topic `name`. */
  get(name: string): Topic | undefined {
    return this.#topics.get(name);
  }

  /** The topic with this id. */
  byId(id: string): Topic | undefined {
    for (const topic of this.#topics.values()) if (topic.id === id) return topic;
    return undefined;
  }

  /**
   * Checks whether a topic could be made.
   *
   * @throws BrokerError INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS
   */
  checkNew(name: string, partitions: number): void {
    if (!/^[\w.-]+$/.test(name) || name === "." || name === ".." || name.length > MAX_NAME_LENGTH) {
      throw refusal(
        "INVALID_TOPIC_EXCEPTION",
        `topic "${name}": a name has 1 to ${MAX_NAME_LENGTH} of the characters a-z, A-Z, 0-9, ".", "_" and "-"`,
      );
    }
    if (this.#topics.has(name) || this.#busy.has(name)) {
      throw refusal("TOPIC_ALREADY_EXISTS", `topic ${name} exists already`);
    }
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > MAX_PARTITIONS) {
      throw refusal(
        "INVALID_PARTITIONS",
        `topic ${name}: ${partitions} partitions, 1 to ${MAX_PARTITIONS} are possible`,
      );
    }
  }

  /**
   * Makes a topic; its partitions are led by `leaders`, or by the nodes in turn.
   *
   * @throws BrokerError as {@linkcode checkNew}; StorageError.
   */
  async create(
    name: string,
    partitions: number,
    config: TopicConfig = DEFAULT_TOPIC_CONFIG,
    leaders: readonly number[] = [],
  ): Promise<Topic> {
    this.checkNew(name, partitions);
    this.#busy.add(name);
    try {
      return await this.#make(name, partitions, config, this.#newId(), leaders);
    } finally {
      this.#busy.delete(name);
    }
  }

  /**
   * Gives a topic more partitions, `count` in all.
   *
   * @throws BrokerError UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS; StorageError.
   */
  async grow(name: string, count: number): Promise<void> {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw refusal("UNKNOWN_TOPIC_OR_PARTITION", `there is no topic ${name}`);
    if (!Number.isInteger(count) || count <= topic.partitions.length || count > MAX_PARTITIONS) {
      throw refusal(
        "INVALID_PARTITIONS",
        `topic ${name} has ${topic.partitions.length} partitions; ${count} were asked for`,
      );
    }
    const added = await this.#open(topic, topic.partitions.length, count);
    this.#topics.set(name, { ...topic, partitions: [...topic.partitions, ...added] });
  }

  /** Deletes a topic and its files. */
  async delete(name: string): Promise<void> {
    const topic = this.#topics.get(name);
    if (topic === undefined) return;
    this.#topics.delete(name);
    this.#busy.add(name);
    try {
      for (const [partition, open] of topic.partitions.entries()) {
        await open.close();
        await this.#options.storage.removeFolder(partitionFolder({ topic: name, partition }));
      }
    } finally {
      this.#busy.delete(name);
    }
  }

  /** Ends every log. */
  async close(): Promise<void> {
    for (const { partitions } of this.#topics.values()) for (const partition of partitions) await partition.close();
  }

  /** Leaves every log as it is. */
  async abandon(): Promise<void> {
    for (const { partitions } of this.#topics.values()) for (const partition of partitions) await partition.abandon();
  }

  async #make(
    name: string,
    count: number,
    config: TopicConfig,
    id: string,
    leaders: readonly number[] = [],
  ): Promise<Topic> {
    const partitions = await this.#open({ name, id, config }, 0, count, leaders);
    const topic: Topic = { name, id, config, partitions };
    this.#topics.set(name, topic);
    return topic;
  }

  /** Opens the partitions of a topic from the number `first` on, `count` being that of all. */
  async #open(
    { name, id, config }: Omit<Topic, "partitions">,
    first: number,
    count: number,
    leaders: readonly number[] = [],
  ): Promise<Partition[]> {
    const { clock, crc32c, indexIntervalBytes, segmentBytes, storage } = this.#options;
    const nodes = this.#options.runningNodes();
    const partitions: Partition[] = [];
    for (let partition = first; partition < count; partition++) {
      const log = await Log.open(await storage.folder(partitionFolder({ topic: name, partition })), {
        mode: "write",
        topic: name,
        partition,
        topicId: id,
        cleanShutdown: this.#options.cleanShutdown,
        segmentBytes: config.segmentBytes ?? segmentBytes,
        indexIntervalBytes,
        crc32c,
      });
      const leader = leaders[partition] ?? nodes[partition % nodes.length] ?? NO_LEADER;
      partitions.push(new Partition(log, leader, config, clock, crc32c));
    }
    return partitions;
  }

  #newId(): string {
    const bytes = Uint8Array.from({ length: 16 }, () => Math.floor(this.#options.random() * 256));
    return new Reader(bytes).uuid();
  }
}
