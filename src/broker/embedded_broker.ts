/**
 * A broker in this process, for tests and demos: it speaks Kafka's protocol over whatever it is told to listen on, and
 * stores real Kafka partition directories. It is one node and never more; what it does not have it does not announce.
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
import { serveConnection } from "./serve_connection.ts";
import type { BrokerState } from "./broker_state.ts";
import { handlerTable } from "./handler_table.ts";
import { parseTopicConfig } from "./topic_config.ts";
import { TopicRegistry } from "./topic_registry.ts";

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
  /** Port to listen on; 0, the default, for a free one. */
  readonly port?: number;
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

const NODE_ID = 1;

/** A broker in this process. */
export class EmbeddedBroker {
  readonly #state: BrokerState;
  readonly #storage: StorageTree;
  readonly #listener: Listener;
  readonly #stopping: AbortController;
  readonly #connections: Set<Promise<void>>;
  #closing: Promise<void> | undefined;

  private constructor(
    state: BrokerState,
    storage: StorageTree,
    listener: Listener,
    stopping: AbortController,
    connections: Set<Promise<void>>,
  ) {
    this.#state = state;
    this.#storage = storage;
    this.#listener = listener;
    this.#stopping = stopping;
    this.#connections = connections;
  }

  /**
   * Opens the log directory, with the topics that are in it, and listens.
   *
   * @throws ConnectionError when the port is taken; StorageError.
   */
  static async start(options: EmbeddedBrokerOptions): Promise<EmbeddedBroker> {
    const { clock = systemClock, host = "127.0.0.1", random = Math.random } = options;
    const storage = options.storage ?? new MemoryStorage();
    const crc32c = await loadCrc32c();
    const { clusterId, cleanShutdown } = await claimDirectory(storage, random);
    const topics = await TopicRegistry.open({
      storage,
      cleanShutdown,
      segmentBytes: options.segmentBytes ?? 1024 * 1024 * 1024,
      indexIntervalBytes: options.indexIntervalBytes ?? 4096,
      clock,
      random,
      crc32c,
    });
    const stopping = new AbortController();
    const connections = new Set<Promise<void>>();
    const handlers = handlerTable();
    let nextProducerId = clock.wallTime();
    let listener: Listener | undefined;
    const state: BrokerState = {
      nodeId: NODE_ID,
      clusterId,
      // The address that means "every interface" is none that a client could connect to.
      host: host === "0.0.0.0" || host === "::" ? "localhost" : host,
      get port() {
        return listener?.port ?? -1;
      },
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
    const accept = (transport: Transport) => {
      const maxRequestSize = options.maxRequestSize ?? 100 * 1024 * 1024;
      const served = serveConnection(transport, state, handlers, maxRequestSize, stopping.signal)
        .finally(() => connections.delete(served));
      connections.add(served);
    };
    try {
      for (const [name, partitions] of Object.entries(options.topics ?? {})) {
        if (topics.get(name) === undefined) await topics.create(name, partitions);
      }
      listener = await options.listen(host, options.port ?? 0, accept);
    } catch (error) {
      await topics.close();
      throw error;
    }
    return new EmbeddedBroker(state, storage, listener, stopping, connections);
  }

  /** The port it listens on. */
  get port(): number {
    return this.#listener.port;
  }

  /** `host:port`, for a client. */
  get bootstrapServers(): string {
    const { host } = this.#state;
    return `${host.includes(":") ? `[${host}]` : host}:${this.port}`;
  }

  /** The names of its topics. */
  get topics(): string[] {
    return [...this.#state.topics].map((topic) => topic.name);
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

  /** Ends connections and logs; the log directory is complete after. Safe to repeat. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stopping.abort();
    await this.#listener.close();
    await Promise.all(this.#connections);
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
  const meta = { clusterId: id(), nodeId: NODE_ID, directoryId: id() };
  // The first file makes the folder.
  await writeMetaProperties(storage, meta);
  return { clusterId: meta.clusterId, cleanShutdown: false };
}
