/**
 * Creates, deletes, lists and describes topics, and asks for their offsets.
 *
 * @module
 */

import type { BrokerNode } from "../client/broker_node.ts";
import type { ClientOptions } from "../client/client_options.ts";
import type { ClientContext } from "../client/client_context.ts";
import { Cluster } from "../client/cluster.ts";
import type { IsolationLevel, ListedOffset } from "../client/list_offsets.ts";
import { BrokerError, ClosedError, ConfigError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import type { ClientApi, Input } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { createTopicsApi } from "../protocol/create_topics.ts";
import { deleteTopicsApi } from "../protocol/delete_topics.ts";
import { describeConfigsApi } from "../protocol/describe_configs.ts";
import { metadataApi, type MetadataResponse, type MetadataResponseTopic } from "../protocol/metadata.ts";

/** Settings of one call. */
export interface AdminCallOptions {
  /** Most milliseconds; the client's `defaultApiTimeoutMs` when absent. */
  readonly timeoutMs?: number | undefined;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** A topic to be created. */
export interface NewTopic {
  /** Its name. */
  readonly topic: string;
  /** Number of partitions; the broker's default when absent. */
  readonly partitions?: number | undefined;
  /** Replicas of each partition; the broker's default when absent. */
  readonly replicationFactor?: number | undefined;
  /** Node ids of the replicas, the preferred leader first, by partition; instead of the two numbers. */
  readonly assignments?: readonly (readonly number[])[] | undefined;
  /** Configuration by Kafka's keys, such as `{ "retention.ms": "60000" }`. */
  readonly configs?: { readonly [key: string]: string | number | boolean } | undefined;
}

/** Settings of {@linkcode Admin.createTopics}. */
export interface CreateTopicsOptions extends AdminCallOptions {
  /** Only checks whether they could be created. Default false. */
  readonly validateOnly?: boolean;
  /** Waits until every partition has a leader, so that it can be used at once. Default true. */
  readonly waitUntilReady?: boolean;
}

/** One topic in a list. */
export interface TopicListing {
  /** Its name. */
  readonly name: string;
  /** Its id as 22 characters of base64url; all `A` where the broker tells none. */
  readonly id: string;
  /** Whether Kafka keeps it for itself. */
  readonly isInternal: boolean;
  /** Number of partitions. */
  readonly partitionCount: number;
}

/** One partition of a topic that was described. */
export interface PartitionDescription {
  /** Its number. */
  readonly partition: number;
  /** Node id of the leader; −1 while there is none. */
  readonly leader: number;
  /** Epoch of the leader; −1 where the broker tells none. */
  readonly leaderEpoch: number;
  /** Node ids of the replicas, the preferred leader first. */
  readonly replicas: readonly number[];
  /** Node ids of the replicas in sync. */
  readonly isr: readonly number[];
  /** Node ids of the replicas that are away. */
  readonly offlineReplicas: readonly number[];
}

/** One configuration value of a topic. */
export interface ConfigEntry {
  /** Its key. */
  readonly name: string;
  /** Its value; null when the broker keeps it secret. */
  readonly value: string | null;
  /** Whether the broker's default applies. */
  readonly isDefault: boolean;
  /** Whether it cannot be changed. */
  readonly isReadOnly: boolean;
  /** Whether it is secret. */
  readonly isSensitive: boolean;
}

/** A topic that was described. */
export interface TopicDescription {
  /** Its name. */
  readonly name: string;
  /** Its id as 22 characters of base64url; all `A` where the broker tells none. */
  readonly id: string;
  /** Whether Kafka keeps it for itself. */
  readonly isInternal: boolean;
  /** Its partitions by number. */
  readonly partitions: readonly PartitionDescription[];
  /** Its configuration; undefined unless asked for. */
  readonly configs: readonly ConfigEntry[] | undefined;
}

/** Settings of {@linkcode Admin.describeTopics}. */
export interface DescribeTopicsOptions extends AdminCallOptions {
  /** Asks for the configuration as well. Default false. */
  readonly configs?: boolean;
}

/** Which offset of a partition: its first, its end, that of the record with the greatest timestamp, or the first at or past a timestamp. */
export type OffsetSpec = "earliest" | "latest" | "maxTimestamp" | { readonly timestamp: number };

/** Settings of {@linkcode Admin.listOffsets}. */
export interface AdminListOffsetsOptions extends AdminCallOptions {
  /** Partitions to ask for; all when absent. */
  readonly partitions?: readonly number[] | undefined;
  /** With `"read_committed"`, the end is the last stable offset. Default `"read_uncommitted"`. */
  readonly isolationLevel?: IsolationLevel;
}

/** One broker of the cluster. */
export interface BrokerListing {
  /** Node id. */
  readonly id: number;
  /** Host. */
  readonly host: string;
  /** Port. */
  readonly port: number;
  /** Rack, where one is set. */
  readonly rack: string | null;
  /** Whether requests for the controller go there. */
  readonly isController: boolean;
}

const NOT_CONTROLLER = 41;
const LEADER_NOT_AVAILABLE = 5;
const TOPIC_RESOURCE = 2;

/** A client for topics and offsets. Calls may run at the same time. */
export class Admin {
  readonly #client: Resolved<ClientOptions>;
  readonly #cluster: Cluster;
  readonly #closing = new AbortController();

  /** Makes the client; it connects at the first call. */
  constructor(context: ClientContext) {
    this.#client = context.client;
    this.#cluster = new Cluster({
      client: context.client,
      connect: context.connect,
      allowAutoTopicCreation: false,
    });
  }

  /**
   * Creates topics.
   *
   * @throws BrokerError for the first topic that could not be created, such as code `TOPIC_ALREADY_EXISTS`; others may have
   * been created. ConfigError; TimeoutError.
   */
  async createTopics(topics: readonly NewTopic[], options: CreateTopicsOptions = {}): Promise<void> {
    const body = {
      topics: topics.map(newTopic),
      timeoutMs: this.#brokerTimeout(options),
      validateOnly: options.validateOnly ?? false,
    };
    const answer = await this.#askController(createTopicsApi, body, options, (answer) => answer.topics);
    for (const topic of answer.topics) throwTopicError(topic, "create topic");
    if (options.validateOnly !== true && options.waitUntilReady !== false) {
      await this.#waitUntilReady(topics.map(({ topic }) => topic), options);
    }
  }

  /**
   * Deletes topics.
   *
   * @throws BrokerError for the first topic that could not be deleted, such as code `UNKNOWN_TOPIC_OR_PARTITION`; others may
   * have been deleted. TimeoutError.
   */
  async deleteTopics(names: readonly string[], options: AdminCallOptions = {}): Promise<void> {
    const body = {
      topics: names.map((name) => ({ name })),
      topicNames: [...names],
      timeoutMs: this.#brokerTimeout(options),
    };
    const answer = await this.#askController(deleteTopicsApi, body, options, (answer) => answer.responses);
    for (const topic of answer.responses) throwTopicError(topic, "delete topic");
  }

  /** Resolves to the topics in order of their names; Kafka's own only with `internal: true`. */
  async listTopics(options: AdminCallOptions & { readonly internal?: boolean } = {}): Promise<TopicListing[]> {
    const answer = await this.#metadata(null, options);
    const listings: TopicListing[] = [];
    for (const topic of answer.topics) {
      if (topic.name === null || (topic.isInternal && options.internal !== true)) continue;
      listings.push({
        name: topic.name,
        id: topic.topicId,
        isInternal: topic.isInternal,
        partitionCount: topic.partitions.length,
      });
    }
    return listings.sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /**
   * Resolves to what the cluster tells of `names`, in their order.
   *
   * @throws BrokerError for the first topic that does not exist or must not be seen.
   */
  async describeTopics(names: readonly string[], options: DescribeTopicsOptions = {}): Promise<TopicDescription[]> {
    if (names.length === 0) return [];
    const [answer, configs] = await Promise.all([
      this.#metadata(names, options),
      options.configs === true ? this.#configs(names, options) : undefined,
    ]);
    return names.map((name) => {
      const topic = answer.topics.find((topic) => topic.name === name);
      if (topic === undefined) throw brokerError(UNKNOWN_TOPIC, `describe topic ${name}`, { topic: name });
      throwTopicError(topic, "describe topic");
      return describe(topic, configs?.get(name));
    });
  }

  /**
   * Resolves to the offset that `at` names in each partition of `topic`, in order of the partitions.
   *
   * @throws BrokerError, TimeoutError naming topic and partition.
   */
  async listOffsets(topic: string, at: OffsetSpec, options: AdminListOffsetsOptions = {}): Promise<ListedOffset[]> {
    const { partitions, isolationLevel } = options;
    // Loaded on demand, as what only readers need is everywhere.
    const { listOffsets, OFFSET_TIMESTAMPS } = await import("../client/list_offsets.ts");
    const timestamp = typeof at === "string" ? OFFSET_TIMESTAMPS[at] : at.timestamp;
    if (!Number.isSafeInteger(timestamp)) {
      throw new ConfigError(`listOffsets: "earliest", "latest", "maxTimestamp" or { timestamp: ms }, not ${at}`);
    }
    const wait = { timeoutMs: this.#timeout(options), signal: this.#signal(options) };
    const known = await this.#cluster.waitForTopic(topic, wait, Math.max(0, ...(partitions ?? [])));
    const wanted = partitions ?? known.partitions.map((_, partition) => partition);
    return await listOffsets(
      this.#cluster,
      this.#client,
      wanted.map((partition) => ({ topic, partition, timestamp })),
      { ...wait, ...(isolationLevel === undefined ? {} : { isolationLevel }) },
    );
  }

  /** Resolves to the brokers in order of their ids. */
  async brokers(options: AdminCallOptions = {}): Promise<BrokerListing[]> {
    const answer = await this.#metadata([], options);
    return answer.brokers
      .map(({ nodeId, host, port, rack }) => ({
        id: nodeId,
        host,
        port,
        rack,
        isController: nodeId === answer.controllerId,
      }))
      .sort((a, b) => a.id - b.id);
  }

  /** Ends every connection; calls under way are rejected with a ClosedError. Safe to repeat. */
  close(): Promise<void> {
    const reason = new ClosedError("the admin client was closed");
    this.#closing.abort(reason);
    this.#cluster.close(reason);
    return Promise.resolve();
  }

  /** Closes; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #timeout({ timeoutMs }: AdminCallOptions): number {
    if (timeoutMs === undefined) return this.#client.defaultApiTimeoutMs;
    if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 0 && timeoutMs < 2 ** 31) return timeoutMs;
    throw new ConfigError(`timeoutMs must be an integer of at least 0, not ${timeoutMs}`);
  }

  /** How long the broker may work on one request: it must answer before the request is given up. */
  #brokerTimeout(options: AdminCallOptions): number {
    return Math.min(this.#timeout(options), this.#client.requestTimeoutMs);
  }

  #signal({ signal }: AdminCallOptions): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  /** The cluster's metadata for `names`, or for all topics. */
  #metadata(names: readonly string[] | null, options: AdminCallOptions): Promise<MetadataResponse> {
    const body = { topics: names === null ? null : names.map((name) => ({ name })), allowAutoTopicCreation: false };
    return this.#request(metadataApi, body, options);
  }

  #request<Req, Res>(
    api: ClientApi<Req, Res>,
    body: Input<Req>,
    options: AdminCallOptions,
    check?: (answer: Res) => void,
  ): Promise<Res> {
    return this.#cluster.request(api, body, {
      timeoutMs: this.#timeout(options),
      signal: this.#signal(options),
      ...(check === undefined ? {} : { check }),
    });
  }

  /**
   * Asks any broker: with KRaft each passes on what is for the controller. One that does not says NOT_CONTROLLER, and the
   * controller that metadata names is asked from then on.
   */
  async #askController<Req, Res>(
    api: ClientApi<Req, Res>,
    body: Input<Req>,
    options: AdminCallOptions,
    resultsOf: (answer: Res) => readonly { readonly errorCode: number }[],
  ): Promise<Res> {
    const client = this.#client;
    const signal = this.#signal(options);
    let node: BrokerNode | undefined;
    return await this.#cluster.retry(api.name, { timeoutMs: this.#timeout(options), signal }, async (left) => {
      const timeoutMs = Math.ceil(Math.min(left, client.requestTimeoutMs));
      const answer = node === undefined
        ? await this.#cluster.request(api, body, { timeoutMs, signal })
        : await (await node.connect("main")).request(api, body, { timeoutMs });
      if (resultsOf(answer).some(({ errorCode }) => errorCode === NOT_CONTROLLER)) {
        const { controllerId } = await this.#metadata([], options);
        this.#cluster.requestUpdate();
        node = this.#cluster.nodes.get(controllerId);
        throw brokerError(NOT_CONTROLLER, api.name);
      }
      return answer;
    });
  }

  async #configs(names: readonly string[], options: AdminCallOptions): Promise<Map<string, ConfigEntry[]>> {
    const resources = names.map((name) => ({
      resourceType: TOPIC_RESOURCE,
      resourceName: name,
      configurationKeys: null,
    }));
    const answer = await this.#request(describeConfigsApi, { resources }, options);
    const configs = new Map<string, ConfigEntry[]>();
    for (const result of answer.results) {
      throwTopicError({ ...result, name: result.resourceName }, "describe the configuration of topic");
      const entries = result.configs.map(({ name, value, configSource, readOnly, isSensitive }) => ({
        name,
        value,
        isDefault: configSource !== TOPIC_CONFIG_SOURCE,
        isReadOnly: readOnly,
        isSensitive,
      }));
      configs.set(result.resourceName, entries.sort((a, b) => a.name < b.name ? -1 : 1));
    }
    return configs;
  }

  /** Resolves when every partition of `names` has a leader, as any broker sees it. */
  async #waitUntilReady(names: readonly string[], options: AdminCallOptions): Promise<void> {
    if (names.length === 0) return;
    const body = { topics: names.map((name) => ({ name })), allowAutoTopicCreation: false };
    await this.#request(metadataApi, body, options, (answer) => {
      for (const topic of answer.topics) {
        throwTopicError(topic, "wait for topic");
        const waiting = topic.partitions.length === 0 || topic.partitions.some((p) => p.leaderId < 0);
        if (waiting) throw brokerError(LEADER_NOT_AVAILABLE, `topic ${topic.name}`, { topic: topic.name! });
      }
    });
  }
}

const UNKNOWN_TOPIC = 3;
/** The value was set on the topic itself; any other source is a default of the cluster or of Kafka. */
const TOPIC_CONFIG_SOURCE = 1;

function newTopic({ topic, partitions, replicationFactor, assignments, configs = {} }: NewTopic): {
  name: string;
  numPartitions: number;
  replicationFactor: number;
  assignments: { partitionIndex: number; brokerIds: number[] }[];
  configs: { name: string; value: string }[];
} {
  if (typeof topic !== "string" || topic === "") {
    throw new ConfigError(`createTopics: topic must be a name, not ${topic}`);
  }
  for (const [name, value] of Object.entries({ partitions, replicationFactor })) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue;
    throw new ConfigError(`createTopics: ${name} of ${topic} must be a positive integer, not ${value}`, { topic });
  }
  if (assignments !== undefined && (partitions !== undefined || replicationFactor !== undefined)) {
    throw new ConfigError(
      `createTopics: ${topic} has assignments, which say how many partitions and replicas there are; leave the numbers out`,
      { topic },
    );
  }
  return {
    name: topic,
    numPartitions: partitions ?? -1,
    replicationFactor: replicationFactor ?? -1,
    assignments: (assignments ?? []).map((brokerIds, partitionIndex) => ({
      partitionIndex,
      brokerIds: [...brokerIds],
    })),
    configs: Object.entries(configs).map(([name, value]) => ({ name, value: String(value) })),
  };
}

function throwTopicError(
  result: { readonly errorCode: number; readonly name: string | null; readonly errorMessage?: string | null },
  what: string,
): void {
  if (result.errorCode === 0) return;
  const topic = result.name ?? "";
  const error = brokerError(result.errorCode, `${what} ${topic}`, { topic });
  const said = result.errorMessage ?? "";
  if (said === "" || error.message.includes(said)) throw error;
  throw new BrokerError(`${error.message} (the broker says: ${said})`, result.errorCode, {
    code: error.code,
    retriable: error.retriable,
    topic,
  });
}

function describe(topic: MetadataResponseTopic, configs: readonly ConfigEntry[] | undefined): TopicDescription {
  return {
    name: topic.name!,
    id: topic.topicId,
    isInternal: topic.isInternal,
    partitions: topic.partitions
      .map((p) => ({
        partition: p.partitionIndex,
        leader: p.leaderId,
        leaderEpoch: p.leaderEpoch,
        replicas: p.replicaNodes,
        isr: p.isrNodes,
        offlineReplicas: p.offlineReplicas,
      }))
      .sort((a, b) => a.partition - b.partition),
    configs,
  };
}
