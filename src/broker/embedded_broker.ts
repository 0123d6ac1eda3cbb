/**
 * A broker in this process, for tests and demos: it speaks Kafka's protocol over whatever it is told to listen on, and
 * stores real Kafka partition directories. What it does not have it does not announce.
 *
 * It may show several nodes, so that a test can move leaders and stop nodes; they share one log directory, nothing is
 * replicated. {@linkcode EmbeddedBroker.script} makes things go wrong.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import type { Random } from "../core/random.ts";
import { Reader } from "../bytes/reader.ts";
import { loadCrc32c } from "../hash/crc32c.ts";
import {
  markCleanShutdown,
  readMetaProperties,
  takeCleanShutdown,
  writeMetaProperties,
  writeOffsetCheckpoint,
} from "../log/log_directory.ts";
import { MemoryStorage } from "../log/memory_storage.ts";
import type { StorageTree } from "../log/storage.ts";
import type { Listen, Listener, Transport } from "../transport/transport.ts";
import { BrokerEndpoint } from "./broker_endpoint.ts";
import { type BrokerFault, BrokerScript } from "./broker_script.ts";
import type { BrokerState } from "./broker_state.ts";
import { handlerTable } from "./handler_table.ts";
import { NO_LEADER } from "./partition.ts";
import { refusal } from "./refusal.ts";
import { serveConnection } from "./serve_connection.ts";
import { parseTopicConfig } from "./topic_config.ts";
import { TopicRegistry } from "./topic_registry.ts";

export type { BrokerFault, BrokerRequest, RequestPlace } from "./broker_script.ts";
export type { Codec, Codecs } from "../compression/codec.ts";
export type { Clock, Logger, Random };
export type { Storage, StorageTree, StoredFile } from "../log/storage.ts";
export type { Listen, Listener, Transport };

/** Settings of an {@linkcode EmbeddedBroker}. */
export interface EmbeddedBrokerOptions {
  /** Listens for connections: an adapter's `listen`, or that of a network in memory. */
  readonly listen: Listen;
  /** The log directory; in memory when absent. */
  readonly storage?: StorageTree;
  /** Address to listen on and to tell clients. Default `"127.0.0.1"`. */
  readonly host?: string;
  /** Port to listen on; 0, the default, for a free one. Further nodes take the ports behind it. */
  readonly port?: number;
  /** Nodes to show, numbered from 1. Default 1. */
  readonly nodes?: number;
  /** Topics to make if they are not there, with their partitions. */
  readonly topics?: Readonly<Record<string, number>>;
  /** Whether a topic that a client asks for is made. Default true. Kafka: `auto.create.topics.enable`. */
  readonly autoCreateTopics?: boolean;
  /** Partitions of such a topic. Default 1. Kafka: `num.partitions`. */
  readonly defaultPartitions?: number;
  /** Bytes of one segment. Default 1 GiB. Kafka: `log.segment.bytes`. */
  readonly segmentBytes?: number;
  /** Bytes of batches between two index entries. Default 4096. Kafka: `log.index.interval.bytes`. */
  readonly indexIntervalBytes?: number;
  /** Largest request in bytes. Default 100 MiB. Kafka: `socket.request.max.bytes`. */
  readonly maxRequestSize?: number;
  /** Codecs to look into compressed batches with; without one they are stored unseen. */
  readonly codecs?: Codecs;
  /** Time. */
  readonly clock?: Clock;
  /** Chance. */
  readonly random?: Random;
  /** Takes messages. */
  readonly logger?: Logger;
}

const MIB = 1024 * 1024;
const FIRST_NODE = 1;

/** A broker in this process. */
export class EmbeddedBroker {
  readonly #state: BrokerState;
  readonly #storage: StorageTree;
  readonly #nodes: readonly BrokerEndpoint[];
  #closing: Promise<void> | undefined;

  private constructor(state: BrokerState, storage: StorageTree, nodes: readonly BrokerEndpoint[]) {
    this.#state = state;
    this.#storage = storage;
    this.#nodes = nodes;
  }

  /**
   * Opens the log directory, with the topics that are in it, and listens.
   *
   * @throws ConnectionError when the port is taken; StorageError.
   */
  static async start(options: EmbeddedBrokerOptions): Promise<EmbeddedBroker> {
    const { clock = systemClock, host = "127.0.0.1", maxRequestSize = 100 * MIB, port = 0, random = Math.random } =
      options;
    const storage = options.storage ?? new MemoryStorage();
    const crc32c = await loadCrc32c();
    const { clusterId, cleanShutdown } = await claimDirectory(storage, random);
    const handlers = handlerTable();
    const nodes = Array.from({ length: options.nodes ?? 1 }, (_, index) =>
      new BrokerEndpoint({
        id: FIRST_NODE + index,
        host,
        port: port === 0 ? 0 : port + index,
        listen: options.listen,
        serve: (transport, signal) =>
          serveConnection(transport, { broker, nodeId: FIRST_NODE + index, handlers, maxRequestSize }, signal),
      }));
    const running = () => nodes.filter(({ isRunning }) => isRunning);
    const topics = await TopicRegistry.open({
      storage,
      cleanShutdown,
      segmentBytes: options.segmentBytes ?? 1024 * MIB,
      indexIntervalBytes: options.indexIntervalBytes ?? 4096,
      clock,
      random,
      crc32c,
      // Topics are opened before the nodes start, which need them.
      runningNodes: () => (running().length === 0 ? nodes : running()).map(({ id }) => id),
    });
    let nextProducerId = clock.wallTime();
    // The address that means "every interface" is none that a client could connect to.
    const toldHost = host === "0.0.0.0" || host === "::" ? "localhost" : host;
    const broker: BrokerState = {
      clusterId,
      get nodes() {
        return running().map(({ id, port }) => ({ id, host: toldHost, port }));
      },
      nodeIds: nodes.map(({ id }) => id),
      script: new BrokerScript(),
      topics,
      autoCreateTopics: options.autoCreateTopics ?? true,
      defaultPartitions: options.defaultPartitions ?? 1,
      codecs: options.codecs ?? {},
      crc32c,
      clock,
      logger: options.logger ?? silentLogger,
      // Begins at the time, so that an id is not given twice over restarts of one log directory.
      nextProducerId: () => nextProducerId++,
    };
    try {
      for (const [name, partitions] of Object.entries(options.topics ?? {})) {
        if (topics.get(name) === undefined) await topics.create(name, partitions);
      }
      for (const node of nodes) await node.start();
    } catch (error) {
      for (const node of nodes) await node.stop();
      await topics.close();
      throw error;
    }
    return new EmbeddedBroker(broker, storage, nodes);
  }

  /** The port that the first node listens on. */
  get port(): number {
    return this.#nodes[0]!.port;
  }

  /** `host:port` of each node that runs, for a client. */
  get bootstrapServers(): string {
    return this.#state.nodes
      .map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`)
      .join(",");
  }

  /** The names of its topics. */
  get topics(): string[] {
    return [...this.#state.topics].map((topic) => topic.name);
  }

  /**
   * Makes things go wrong: each fault strikes the requests that it fits, counted from now on. More may be added at any time.
   *
   * ```ts ignore
   * broker.script({ api: "Produce", nth: 3, when: "after", disconnect: true });
   * broker.script({ api: "Produce", topic: "orders", partition: 0, times: 2, error: "NOT_ENOUGH_REPLICAS" });
   * ```
   */
  script(...faults: BrokerFault[]): void {
    this.#state.script.add(faults);
  }

  /** Lets everything go well again. */
  clearScript(): void {
    this.#state.script.clear();
  }

  /** Node that leads a partition; −1 for none, or when there is no such partition. */
  leaderOf(topic: string, partition: number): number {
    return this.#state.topics.get(topic)?.partitions[partition]?.leader ?? NO_LEADER;
  }

  /**
   * Gives a partition to another node, or with −1 to none.
   *
   * @throws BrokerError UNKNOWN_TOPIC_OR_PARTITION; RangeError for a node that there is not.
   */
  moveLeader(topic: string, partition: number, node: number): void {
    const found = this.#state.topics.get(topic)?.partitions[partition];
    if (found === undefined) throw refusal("UNKNOWN_TOPIC_OR_PARTITION", `there is no ${topic}-${partition}`);
    if (node !== NO_LEADER) this.#node(node);
    found.moveTo(node);
  }

  /**
   * Ends a node's connections, and lets it listen no more. What it led goes to the nodes that run, or to none.
   *
   * @throws RangeError for a node that there is not.
   */
  async stopNode(node: number): Promise<void> {
    const stopping = this.#node(node).stop();
    const left = this.#state.nodes;
    for (const topic of this.#state.topics) {
      topic.partitions.forEach((partition, index) => {
        if (partition.leader === node) partition.moveTo(left[index % left.length]?.id ?? NO_LEADER);
      });
    }
    await stopping;
  }

  /**
   * Starts a node again, at its old port. It leads what has no leader.
   *
   * @throws RangeError for a node that there is not; ConnectionError when the port is taken.
   */
  async startNode(node: number): Promise<void> {
    await this.#node(node).start();
    for (const { partitions } of this.#state.topics) {
      for (const partition of partitions) if (partition.leader === NO_LEADER) partition.moveTo(node);
    }
  }

  /**
   * Makes a topic; configs under Kafka's names, as text: `{ "message.timestamp.type": "LogAppendTime" }`. They hold until the
   * broker is closed.
   *
   * @throws BrokerError TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_CONFIG
   */
  async createTopic(
    name: string,
    partitions: number = this.#state.defaultPartitions,
    configs: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await this.#state.topics.create(name, partitions, parseTopicConfig(name, new Map(Object.entries(configs))));
  }

  /**
   * Gives a topic more partitions, `count` in all.
   *
   * @throws BrokerError UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS; StorageError.
   */
  async createPartitions(topic: string, count: number): Promise<void> {
    await this.#state.topics.grow(topic, count);
  }

  /** Deletes a topic and its files; absent is fine. */
  async deleteTopic(name: string): Promise<void> {
    await this.#state.topics.delete(name);
  }

  /** Ends connections and logs; the log directory is complete after. Safe to repeat. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Ends it as a crash would: connections break, and the log directory stays as it is, without the marker of a clean stop.
   * A broker started over the same storage recovers it.
   */
  kill(): Promise<void> {
    this.#closing ??= this.#kill();
    return this.#closing;
  }

  /** Closes; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #node(id: number): BrokerEndpoint {
    const node = this.#nodes.find((node) => node.id === id);
    if (node === undefined) throw new RangeError(`there is no node ${id}: the broker has ${this.#nodes.length}`);
    return node;
  }

  async #kill(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
    await this.#state.topics.abandon();
  }

  async #close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
    const entries = [...this.#state.topics].flatMap(({ name, partitions }) =>
      partitions.map(({ log }, partition) => ({ topic: name, partition, offset: log.logEndOffset }))
    );
    await this.#state.topics.close();
    await writeOffsetCheckpoint(this.#storage, "recovery-point-offset-checkpoint", entries);
    await writeOffsetCheckpoint(this.#storage, "replication-offset-checkpoint", entries);
    await markCleanShutdown(this.#storage);
  }
}

/** What the log directory says of itself. */
interface ClaimedDirectory {
  /** Id of the cluster, made the first time. */
  readonly clusterId: string;
  /** Whether the last stop was a clean one, so that the logs need no check. */
  readonly cleanShutdown: boolean;
}

/** Takes the directory into use: from here on a crash counts as one. */
async function claimDirectory(storage: StorageTree, random: Random): Promise<ClaimedDirectory> {
  const known = await readMetaProperties(storage);
  if (known !== undefined) return { clusterId: known.clusterId, cleanShutdown: await takeCleanShutdown(storage) };
  const id = () => new Reader(Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256))).uuid();
  const meta = { clusterId: id(), nodeId: FIRST_NODE, directoryId: id() };
  // The first file makes the folder.
  await writeMetaProperties(storage, meta);
  return { clusterId: meta.clusterId, cleanShutdown: false };
}
