/**
 * What a client knows of its cluster: nodes, topics, leaders. Metadata is fetched lazily, one request at a time: when a
 * topic is first used, when something proved to be out of date, and when it is older than `metadataMaxAgeMs`.
 *
 * Readers take one {@linkcode Cluster.metadata} snapshot and use it throughout a step; it is replaced, never changed.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import { sleep } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { ClosedError, ConnectionError, isRetriable, type KafkaError, TimeoutError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { randomInt } from "../core/random.ts";
import { backoffMs, retry } from "../core/retry.ts";
import type { ClientApi, Input } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { errorOf } from "../protocol/error_table.ts";
import { metadataApi, type MetadataResponse, type MetadataResponseTopic } from "../protocol/metadata.ts";
import type { Connect } from "../transport/transport.ts";
import { bootstrapServers } from "./bootstrap_servers.ts";
import { BrokerNode } from "./broker_node.ts";
import type { ClientOptions } from "./client_options.ts";
import type { Connection, RequestOptions } from "./connection.ts";

/** One partition as the cluster's metadata has it. */
export interface PartitionMetadata {
  /** Its number. */
  readonly partition: number;
  /** Node id of the leader; −1 while there is none. */
  readonly leader: number;
  /** The leader's epoch; −1 where the broker tells none. */
  readonly leaderEpoch: number;
  /** Node ids of the replicas. */
  readonly replicas: readonly number[];
  /** Node ids of the replicas in sync. */
  readonly isr: readonly number[];
}

/** One topic as the cluster's metadata has it. */
export interface TopicMetadata {
  /** Its name. */
  readonly name: string;
  /** Its id as 22 characters of base64url; all `A` where the broker tells none. */
  readonly id: string;
  /** Whether Kafka keeps it for itself. */
  readonly isInternal: boolean;
  /** Its partitions; the index is the number. */
  readonly partitions: readonly PartitionMetadata[];
}

/** What was known at one moment. */
export interface Metadata {
  /** Grows with every change. */
  readonly version: number;
  /** The cluster's id, once known. */
  readonly clusterId: string | null;
  /** Topics known by name. */
  readonly topics: ReadonlyMap<string, TopicMetadata>;
}

/** Where a partition's requests go. */
export interface Leader {
  /** The node. */
  readonly node: BrokerNode;
  /** Its epoch; −1 where the broker tells none. */
  readonly epoch: number;
}

/** What a cluster needs. */
export interface ClusterOptions {
  /** The client's options. */
  readonly client: Resolved<ClientOptions>;
  /** Opens sockets. */
  readonly connect: Connect;
  /** Whether asking for an unknown topic makes the broker create it, where the broker allows that. */
  readonly allowAutoTopicCreation: boolean;
}

/** How long a call may wait. */
export interface WaitOptions {
  /** Most milliseconds. */
  readonly timeoutMs: number;
  /** Gives up. */
  readonly signal?: AbortSignal | undefined;
}

/** The version from which on leader epochs in Metadata can be relied upon. */
const RELIABLE_EPOCHS_FROM = 9;

/** A client's view of the cluster. */
export class Cluster {
  readonly #options: ClusterOptions;
  readonly #bootstrap: readonly BrokerNode[];
  readonly #nodes = new Map<number, BrokerNode>();
  readonly #lastUsed = new Map<string, number>();
  readonly #newTopics = new Set<string>();
  readonly #topicErrors = new Map<string, KafkaError>();
  readonly #closing = new AbortController();
  #metadata: Metadata = { version: 0, clusterId: null, topics: new Map() };
  #updating = false;
  #wanted = false;
  #attempt: Deferred<void> = deferred<void>();
  #failure: KafkaError | undefined;
  #streak = 0;
  #lastAttempt = -Infinity;
  #lastFull = -Infinity;
  #onUpdate: (() => void) | undefined;

  /** Makes the view; nothing is connected yet. */
  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#bootstrap = bootstrapServers(options.client.bootstrapServers)
      .map((address, i) => this.#makeNode(-1 - i, address));
  }

  /** What is known now. */
  get metadata(): Metadata {
    return this.#metadata;
  }

  /** The nodes known by their ids. */
  get nodes(): ReadonlyMap<number, BrokerNode> {
    return this.#nodes;
  }

  /** Calls `run` after every change of the metadata. */
  set onUpdate(run: () => void) {
    this.#onUpdate = run;
  }

  /** The topic `name` if it is known; else its metadata is asked for and undefined is the answer for now. */
  topic(name: string): TopicMetadata | undefined {
    const topic = this.#metadata.topics.get(name);
    this.#use(name);
    if (topic === undefined) this.#addTopic(name);
    return topic;
  }

  /** Why the last answer had no usable topic `name`, if it said so. */
  topicError(name: string): KafkaError | undefined {
    return this.#topicErrors.get(name);
  }

  /** The leader of a partition if one is known. Whoever asks uses the topic, so that it is not forgotten. */
  leader(topic: string, partition: number): Leader | undefined {
    this.#use(topic);
    const known = this.#metadata.topics.get(topic)?.partitions[partition];
    const node = known === undefined ? undefined : this.#nodes.get(known.leader);
    return node === undefined ? undefined : { node, epoch: known!.leaderEpoch };
  }

  /**
   * Resolves to the topic `name` once it is known, and has partition `partition` where one is given.
   *
   * @throws BrokerError at once when waiting cannot help (invalid name, not authorized); TimeoutError with the last reason
   * as its cause; ClosedError.
   */
  async waitForTopic(name: string, wait: WaitOptions, partition = 0): Promise<TopicMetadata> {
    const { clock } = this.#options.client;
    const start = clock.now();
    // A refusal was told to whoever waited then; it may have been lifted since.
    if (this.#topicErrors.get(name)?.retriable === false) this.#topicErrors.delete(name);
    for (;;) {
      const topic = this.topic(name);
      if (topic !== undefined && partition < topic.partitions.length) return topic;
      this.#throwIfClosed();
      const error = this.#topicErrors.get(name);
      if (error !== undefined && !error.retriable) throw error;
      this.requestUpdate();
      const left = wait.timeoutMs - (clock.now() - start);
      if (left <= 0 || !(await this.#nextAttempt(left, wait.signal))) throw this.#topicTimeout(name, partition, wait);
      if (this.#failure !== undefined && !this.#failure.retriable) throw this.#failure;
    }
  }

  /**
   * Asks for one update in the background, no sooner than the back-off allows; what was known stays in use meanwhile.
   * Should it fail or not help, {@linkcode onUpdate} is called all the same, and whoever still needs one asks again.
   */
  requestUpdate(): void {
    this.#wanted = true;
    if (!this.#updating && !this.#closing.signal.aborted) void this.#update();
  }

  /** Asks for an update when the metadata is older than `metadataMaxAgeMs`. Cheap; call it often. */
  refreshIfOld(now: number): void {
    if (now - this.#lastFull >= this.#options.client.metadataMaxAgeMs && this.#metadata.version > 0) {
      this.requestUpdate();
    }
  }

  /** Takes a newer leader that a broker told in an answer (KIP-951), without waiting for the next update; answers whether it was news. */
  takeLeader(
    topic: string,
    partition: number,
    leader: number,
    epoch: number,
    host?: { host: string; port: number },
  ): boolean {
    const known = this.#metadata.topics.get(topic);
    const before = known?.partitions[partition];
    if (known === undefined || before === undefined || leader < 0 || epoch <= before.leaderEpoch) return false;
    if (host !== undefined) this.#keepNode(leader, host);
    if (!this.#nodes.has(leader)) return false;
    const partitions = known.partitions.slice();
    partitions[partition] = { ...before, leader, leaderEpoch: epoch };
    const topics = new Map(this.#metadata.topics).set(topic, { ...known, partitions });
    this.#metadata = { ...this.#metadata, version: this.#metadata.version + 1, topics };
    this.#onUpdate?.();
    return true;
  }

  /**
   * Sends a request that may be repeated, to `node` or to the least loaded one, again after a retriable failure.
   *
   * @throws TimeoutError with the last failure as its cause; any error that is not retriable.
   */
  request<Req, Res>(
    api: ClientApi<Req, Res>,
    body: Input<Req>,
    options: WaitOptions & { readonly node?: BrokerNode; readonly check?: (answer: Res) => void },
  ): Promise<Res> {
    const { client } = this.#options;
    return this.retry(api.name, options, async (left) => {
      const timeoutMs = Math.min(left, client.requestTimeoutMs);
      const answer = options.node === undefined
        ? await this.#ask(api, body, { timeoutMs })
        : await (await options.node.connect("main")).request(api, body, { timeoutMs });
      options.check?.(answer);
      return answer;
    });
  }

  /**
   * Runs `attempt`, which is given the milliseconds left, until it succeeds, with the client's back-off between attempts.
   *
   * @throws TimeoutError with the last failure as its cause; any error that is not retriable.
   */
  retry<T>(what: string, wait: WaitOptions, attempt: (left: number) => Promise<T>): Promise<T> {
    const { clock, random, retryBackoffMs: initialMs, retryBackoffMaxMs: maxMs } = this.#options.client;
    return retry({ initialMs, maxMs, clock, random, timeoutMs: wait.timeoutMs, signal: wait.signal, what }, attempt);
  }

  /** Ends every connection; what waits is rejected with a ClosedError. Safe to repeat. */
  close(reason: KafkaError = new ClosedError("the client was closed")): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(reason);
    for (const node of [...this.#nodes.values(), ...this.#bootstrap]) node.close(reason);
    this.#attempt.resolve();
  }

  #throwIfClosed(): void {
    throwIfAborted(this.#closing.signal);
  }

  #use(name: string): void {
    this.#lastUsed.set(name, this.#options.client.clock.now());
  }

  #addTopic(name: string): void {
    if (this.#newTopics.has(name) || this.#topicErrors.has(name)) return;
    this.#newTopics.add(name);
    if (!this.#updating && !this.#closing.signal.aborted) void this.#update();
  }

  /** Resolves to true after the next attempt at an update, to false when `ms` pass before. */
  async #nextAttempt(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { clock } = this.#options.client;
    const late = new AbortController();
    const over = sleep(clock, ms, signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]));
    try {
      return await Promise.race([this.#attempt.promise.then(() => true), over.then(() => false)]);
    } finally {
      over.catch(() => {}); // ends with the abort below, which nobody waits for
      late.abort();
    }
  }

  /** The only place that asks for metadata: one request at a time, until nothing more is wanted. */
  async #update(): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#closing;
    this.#updating = true;
    try {
      while ((this.#wanted || this.#newTopics.size > 0) && !signal.aborted) {
        // Topics never asked for go at once; asking again for what was just answered waits longer each time.
        if (this.#newTopics.size === 0) await this.#backOff();
        if (signal.aborted) return;
        const full = this.#wanted || client.clock.now() - this.#lastFull >= client.metadataMaxAgeMs;
        const topics = full ? this.#trackedTopics() : [...this.#newTopics];
        this.#wanted = false;
        for (const name of topics) this.#newTopics.delete(name);
        this.#lastAttempt = client.clock.now();
        try {
          await this.#fetch(topics, full);
          this.#failure = undefined;
        } catch (cause) {
          if (signal.aborted) return;
          this.#failure = cause as KafkaError;
          client.logger.warn(`metadata: ${this.#failure.message}`, { code: this.#failure.code });
        }
        const attempt = this.#attempt;
        this.#attempt = deferred<void>();
        attempt.resolve();
        this.#onUpdate?.();
      }
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      this.#updating = false;
    }
  }

  async #backOff(): Promise<void> {
    const { clock, random, retryBackoffMs, retryBackoffMaxMs } = this.#options.client;
    const since = clock.now() - this.#lastAttempt;
    if (since > 2 * retryBackoffMaxMs) this.#streak = 0;
    if (this.#streak > 0) {
      const wait = backoffMs({ initialMs: retryBackoffMs, maxMs: retryBackoffMaxMs }, this.#streak, random) - since;
      if (wait > 0) await sleep(clock, wait, this.#closing.signal);
    }
    this.#streak++;
  }

  #trackedTopics(): string[] {
    const { clock, metadataMaxIdleMs } = this.#options.client;
    const oldest = clock.now() - metadataMaxIdleMs;
    for (const [name, used] of this.#lastUsed) {
      if (used >= oldest || this.#newTopics.has(name)) continue;
      this.#lastUsed.delete(name);
      this.#topicErrors.delete(name);
    }
    return [...this.#lastUsed.keys()];
  }

  async #fetch(topics: readonly string[], full: boolean): Promise<void> {
    const { allowAutoTopicCreation, client } = this.#options;
    const { answer, version } = await this.#tryNodes(async (connection) => {
      const version = connection.versions.pick(metadataApi);
      const body = { topics: topics.map((name) => ({ name })), allowAutoTopicCreation };
      const answer = await connection.request(metadataApi, body, { version, timeoutMs: client.requestTimeoutMs });
      if (answer.brokers.length === 0) throw new ConnectionError("metadata: the broker knows no brokers yet");
      return { answer, version };
    });
    if (full) this.#lastFull = client.clock.now();
    this.#merge(answer, version, topics, full);
  }

  #merge(answer: MetadataResponse, version: number, asked: readonly string[], full: boolean): void {
    for (const broker of answer.brokers) this.#keepNode(broker.nodeId, broker);
    for (const [id, node] of this.#nodes) {
      if (answer.brokers.some((broker) => broker.nodeId === id)) continue;
      // A node that left the metadata may be back in a moment; its connections end by themselves if it is gone.
      if (node.connection("main") === undefined && node.connection("fetch") === undefined) {
        this.#nodes.delete(id);
        node.close();
      }
    }
    const before = this.#metadata.topics;
    const topics = new Map<string, TopicMetadata>();
    for (const [name, topic] of before) {
      if (full ? this.#lastUsed.has(name) && !asked.includes(name) : true) topics.set(name, topic);
    }
    for (const topic of answer.topics) {
      if (topic.name === null) continue;
      const error = this.#topicProblem(topic);
      if (error === undefined) this.#topicErrors.delete(topic.name);
      else this.#topicErrors.set(topic.name, error);
      if (topic.errorCode === 0) topics.set(topic.name, mergeTopic(topic, version, before.get(topic.name)));
      else topics.delete(topic.name);
    }
    this.#metadata = { version: this.#metadata.version + 1, clusterId: answer.clusterId, topics };
  }

  #topicProblem(topic: MetadataResponseTopic): KafkaError | undefined {
    if (topic.errorCode !== 0) {
      return brokerError(topic.errorCode, `topic ${topic.name}`, { topic: topic.name!, outcome: "not-written" });
    }
    const partition = topic.partitions.find((p) => p.errorCode !== 0 && errorOf(p.errorCode).refreshMetadata);
    if (partition === undefined) return undefined;
    return brokerError(partition.errorCode, `${topic.name}-${partition.partitionIndex}`, {
      topic: topic.name!,
      partition: partition.partitionIndex,
      outcome: "not-written",
    });
  }

  #topicTimeout(name: string, partition: number, { timeoutMs }: WaitOptions): KafkaError {
    const known = this.#metadata.topics.get(name);
    const cause = this.#topicErrors.get(name) ?? this.#failure;
    const what = known === undefined
      ? `topic ${name}: no metadata within ${Math.round(timeoutMs)} ms`
      : `topic ${name}: partition ${partition} is not one of its ${known.partitions.length} after ${
        Math.round(timeoutMs)
      } ms`;
    const reason = cause === undefined ? "" : `; last: ${cause.message}`;
    return new TimeoutError(`${what}${reason}`, {
      code: cause?.code ?? "METADATA_TIMED_OUT",
      topic: name,
      ...(partition > 0 ? { partition } : {}),
      outcome: "not-written",
      cause,
    });
  }

  #ask<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, options: RequestOptions): Promise<Res> {
    return this.#tryNodes((connection) => connection.request(api, body, options));
  }

  /**
   * Runs `call` on the least loaded node that can be connected to, then on the others; the bootstrap servers come last.
   * Only failures to connect go on to the next node: after a request was sent, its outcome is the caller's matter.
   */
  async #tryNodes<T>(call: (connection: Connection) => Promise<T>): Promise<T> {
    const failures: KafkaError[] = [];
    for (const node of [...this.#byLoad(), ...this.#shuffledBootstrap()]) {
      let connection: Connection;
      try {
        connection = await node.connect("main");
      } catch (cause) {
        this.#throwIfClosed();
        failures.push(cause as KafkaError);
        continue;
      }
      return await call(connection);
    }
    throw noBroker(failures);
  }

  #byLoad(): BrokerNode[] {
    const { random } = this.#options.client;
    const load = new Map<BrokerNode, number>();
    for (const node of this.#nodes.values()) {
      const connection = node.connection("main");
      // Connected ones first, idle before busy; then those being connected; then those tried longest ago.
      const rank = connection !== undefined
        ? connection.inFlight
        : node.isConnecting("main")
        ? 1e6
        : 1e7 + Math.max(0, node.lastAttempt);
      load.set(node, rank + random());
    }
    return [...load.keys()].sort((a, b) => load.get(a)! - load.get(b)!);
  }

  #shuffledBootstrap(): BrokerNode[] {
    const nodes = this.#bootstrap.slice();
    const start = randomInt(this.#options.client.random, nodes.length);
    return [...nodes.slice(start), ...nodes.slice(0, start)];
  }

  #keepNode(id: number, { host, port }: { host: string; port: number }): void {
    const known = this.#nodes.get(id);
    if (known !== undefined && known.address.host === host && known.address.port === port) return;
    known?.close();
    this.#nodes.set(id, this.#makeNode(id, { host, port }));
  }

  #makeNode(id: number, address: { host: string; port: number }): BrokerNode {
    const { client, connect } = this.#options;
    return new BrokerNode({
      id,
      address,
      client,
      connect,
      // Whatever was led by a node that went away has a new leader soon.
      onDisconnect: () => {
        if (id >= 0) this.requestUpdate();
      },
    });
  }
}

/** The topic in an answer, but with newer leaders that were known before: brokers learn of an election one by one. */
function mergeTopic(topic: MetadataResponseTopic, version: number, before: TopicMetadata | undefined): TopicMetadata {
  const sameTopic = before !== undefined && before.id === topic.topicId;
  const partitions: PartitionMetadata[] = [];
  for (const p of topic.partitions) {
    const leaderEpoch = version >= RELIABLE_EPOCHS_FROM ? p.leaderEpoch : -1;
    const known = sameTopic ? before.partitions[p.partitionIndex] : undefined;
    partitions[p.partitionIndex] = known !== undefined && leaderEpoch < known.leaderEpoch && leaderEpoch >= 0
      ? known
      : {
        partition: p.partitionIndex,
        leader: p.leaderId,
        leaderEpoch,
        replicas: p.replicaNodes,
        isr: p.isrNodes,
      };
  }
  return { name: topic.name!, id: topic.topicId, isInternal: topic.isInternal, partitions };
}

function noBroker(failures: readonly KafkaError[]): KafkaError {
  const first = failures[0]!;
  if (failures.length === 1) return first;
  const messages = [...new Set(failures.map((failure) => failure.message))].join("; ");
  return new ConnectionError(`no broker could be reached: ${messages}`, {
    code: first.code,
    retriable: failures.some(isRetriable),
    outcome: "not-written",
    cause: first,
  });
}
