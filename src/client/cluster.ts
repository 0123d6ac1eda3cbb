/**
 * What a client knows of its cluster: nodes, topics, leaders. Metadata is fetched lazily, one request at a time: when a
 * topic is first used, when something proved to be out of date, and when it is older than `metadataMaxAgeMs`.
 *
 * Readers take one {@linkcode Cluster.metadata} snapshot and use it throughout a step; it is replaced, never changed.
 *
 * @module
 */

import { abortable, throwIfAborted } from "../core/abort_error.ts";
import { type Clock, sleep, type Timer } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { ClosedError, ConnectionError, isRetriable, type KafkaError, TimeoutError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { retry } from "../core/retry.ts";
import type { ClientApi, Input } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { metadataApi, type MetadataResponse } from "../protocol/metadata.ts";
import type { Connect } from "../transport/transport.ts";
import { bootstrapServers } from "./bootstrap_servers.ts";
import { BrokerNode } from "./broker_node.ts";
import type { ClientOptions } from "./client_options.ts";
import { type Metadata, type TopicMetadata, updateClusterMetadata } from "./cluster_metadata.ts";
import type { Connection } from "./connection.ts";
import { leastLoaded } from "./least_loaded.ts";
import { UpdateBackoff } from "./update_backoff.ts";

export type { Metadata, PartitionMetadata, TopicMetadata } from "./cluster_metadata.ts";

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

/** A client's view of the cluster. */
export class Cluster {
  readonly #options: ClusterOptions;
  readonly #bootstrap: readonly BrokerNode[];
  readonly #nodes = new Map<number, BrokerNode>();
  /** Nodes that are not in the metadata any more and still have connections; what is under way there ends by itself. */
  readonly #leftNodes = new Map<number, BrokerNode>();
  /** When each topic was last used. Those that are here are asked for. */
  readonly #lastUsed = new Map<string, number>();
  /** Topics that no answer has told of yet. */
  readonly #newTopics = new Set<string>();
  readonly #topicErrors = new Map<string, KafkaError>();
  readonly #closing = new AbortController();
  readonly #backoff: UpdateBackoff;
  #metadata: Metadata = { version: 0, clusterId: null, topics: new Map() };
  #isUpdating = false;
  /** Whether all that is known is to be asked for again. */
  #wantsAll = false;
  /** Whether the new topics are to be asked for. */
  #wantsNew = false;
  #attempt: Deferred<void> = deferred<void>();
  #failure: KafkaError | undefined;
  #lastAttemptEnd = -Infinity;
  #lastFull = -Infinity;
  /** Since when metadata has been wanted and not been had; undefined after a success. */
  #failingSince: number | undefined;
  #endPause: (() => void) | undefined;
  #onUpdate: (() => void) | undefined;

  /** Makes the view; nothing is connected yet. */
  constructor(options: ClusterOptions) {
    this.#options = options;
    const { client } = options;
    this.#bootstrap = bootstrapServers(client.bootstrapServers).map((address, i) => this.#makeNode(-1 - i, address));
    this.#backoff = new UpdateBackoff(
      { initialMs: client.retryBackoffMs, maxMs: client.retryBackoffMaxMs },
      client.random,
    );
  }

  /** What is known now. */
  get metadata(): Metadata {
    return this.#metadata;
  }

  /** Milliseconds since all that is known was last asked for; NaN before. */
  get metadataAgeMs(): number {
    return this.#lastFull === -Infinity ? NaN : this.#options.client.clock.now() - this.#lastFull;
  }

  /** The nodes known by their ids. */
  get nodes(): ReadonlyMap<number, BrokerNode> {
    return this.#nodes;
  }

  /** Calls `run` after every change of the metadata. */
  set onUpdate(run: () => void) {
    this.#onUpdate = run;
  }

  /** The topic `name` if it is known. One that is used for the first time is asked for at once, and undefined the answer for now. */
  topic(name: string): TopicMetadata | undefined {
    if (!this.#lastUsed.has(name)) {
      this.#newTopics.add(name);
      this.#backoff.hurry();
      this.#endPause?.();
    }
    this.#lastUsed.set(name, this.#options.client.clock.now());
    const topic = this.#metadata.topics.get(name);
    if (topic === undefined && this.#newTopics.has(name)) {
      this.#wantsNew = true;
      this.#startUpdate();
    }
    return topic;
  }

  /** Why the last answer had no usable topic `name`, if it said so. */
  topicError(name: string): KafkaError | undefined {
    return this.#topicErrors.get(name);
  }

  /** The leader of a partition if one is known. Whoever asks uses the topic, so that it is not forgotten. */
  leader(topic: string, partition: number): Leader | undefined {
    if (this.#lastUsed.has(topic)) this.#lastUsed.set(topic, this.#options.client.clock.now());
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
      // A new topic is being asked for already.
      if (!this.#newTopics.has(name)) this.requestUpdate();
      const left = wait.timeoutMs - (clock.now() - start);
      const attempt = this.#attempt.promise.then(() => true);
      if (left <= 0 || !(await within(clock, left, attempt, wait.signal))) {
        throw this.#topicTimeout(name, partition, wait);
      }
      if (this.#failure !== undefined && !this.#failure.retriable) throw this.#failure;
    }
  }

  /**
   * Asks for one update in the background, no sooner than the back-off allows; what was known stays in use meanwhile.
   * Should it fail or not help, {@linkcode onUpdate} is called all the same, and whoever still needs one asks again.
   */
  requestUpdate(): void {
    this.#wantsAll = true;
    this.#startUpdate();
  }

  /** Asks for an update when the metadata is older than `metadataMaxAgeMs`. Cheap; call it often. */
  refreshIfOld(now: number): void {
    if (this.#isOld(now) && this.#metadata.version > 0) this.requestUpdate();
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
    const { clock, requestTimeoutMs } = this.#options.client;
    return this.retry(api.name, options, async (left) => {
      const start = clock.now();
      const connecting = options.node?.connect("main") ?? this.#connectAny().then(({ connection }) => connection);
      const connection = await within(clock, left, connecting, options.signal);
      if (connection === undefined) {
        throw new TimeoutError(`${api.name}: no connection within ${Math.round(left)} ms`, { outcome: "not-written" });
      }
      const timeoutMs = Math.min(Math.max(1, left - (clock.now() - start)), requestTimeoutMs);
      const answer = await connection.request(api, body, { timeoutMs });
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
    // A closed client must not sit out a back-off: its timer would keep the program alive.
    const closing = this.#closing.signal;
    const signal = wait.signal === undefined ? closing : AbortSignal.any([wait.signal, closing]);
    const options = { initialMs, maxMs, clock, random, timeoutMs: wait.timeoutMs, signal, what };
    return retry(options, (left) => abortable(attempt(left), signal));
  }

  /** Ends every connection; what waits is rejected with a ClosedError. Safe to repeat. */
  close(reason: KafkaError = new ClosedError("the client was closed")): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(reason);
    for (const node of [...this.#nodes.values(), ...this.#leftNodes.values(), ...this.#bootstrap]) node.close(reason);
    this.#endPause?.();
    this.#attempt.resolve();
  }

  #throwIfClosed(): void {
    throwIfAborted(this.#closing.signal);
  }

  #isOld(now: number): boolean {
    return now - this.#lastFull >= this.#options.client.metadataMaxAgeMs;
  }

  #startUpdate(): void {
    if (!this.#isUpdating && !this.#closing.signal.aborted) void this.#update();
  }

  /** The only place that asks for metadata: one request at a time, until nothing more is wanted. */
  async #update(): Promise<void> {
    const { clock, retryBackoffMaxMs } = this.#options.client;
    const { signal } = this.#closing;
    this.#isUpdating = true;
    // Between failures that belong together somebody asks again soon.
    if (clock.now() - this.#lastAttemptEnd > 2 * retryBackoffMaxMs) this.#failingSince = undefined;
    try {
      while (this.#wantsAll || (this.#wantsNew && this.#newTopics.size > 0)) {
        await this.#pause();
        if (signal.aborted) return;
        const trigger = this.#setRebootstrapTrigger();
        try {
          await this.#fetch();
          this.#failure = this.#failingSince = undefined;
        } catch (cause) {
          if (signal.aborted) return;
          this.#failed(cause as KafkaError);
        } finally {
          trigger?.cancel();
        }
        this.#lastAttemptEnd = clock.now();
        const attempt = this.#attempt;
        this.#attempt = deferred<void>();
        attempt.resolve();
        this.#onUpdate?.();
      }
    } finally {
      this.#isUpdating = false;
    }
  }

  /** Waits as long as the back-off wants, or until a topic is used for the first time. */
  async #pause(): Promise<void> {
    const { clock } = this.#options.client;
    const now = clock.now();
    if (this.#isOld(now)) this.#backoff.forgetRepeats();
    const ms = this.#backoff.waitMs(now);
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(ms, resolve);
      this.#endPause = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#endPause = undefined;
  }

  #failed(failure: KafkaError): void {
    this.#failure = failure;
    if (failure.code === "REBOOTSTRAP_REQUIRED") this.#rebootstrap(failure.message);
    this.#options.client.logger.warn(`metadata: ${failure.message}`, { code: failure.code });
  }

  /** Sees to it that nodes which take connections and answer nothing are given up one day (KIP-1102). */
  #setRebootstrapTrigger(): Timer | undefined {
    const { clock, metadataRecoveryRebootstrapTriggerMs: triggerMs } = this.#options.client;
    const now = clock.now();
    this.#failingSince ??= now;
    if (this.#nodes.size === 0) return undefined;
    const left = this.#failingSince + triggerMs - now;
    const rebootstrap = () => this.#rebootstrap(`no metadata for ${triggerMs} ms`);
    if (left > 0) return clock.setTimer(left, rebootstrap);
    rebootstrap();
    return undefined;
  }

  /** Forgets every node and ends every connection, so that the bootstrap servers are next, found by their names anew. */
  #rebootstrap(why: string): void {
    if (this.#options.client.metadataRecoveryStrategy === "none") return;
    const reason = new ConnectionError(`the client begins anew at the bootstrap servers: ${why}`);
    const nodes = [...this.#nodes.values(), ...this.#leftNodes.values()];
    this.#nodes.clear();
    this.#leftNodes.clear();
    for (const node of nodes) node.close(reason);
    for (const node of this.#bootstrap) node.disconnect(reason);
    this.#metadata = { ...this.#metadata, version: this.#metadata.version + 1 };
    this.#failingSince = undefined;
    this.#wantsAll = true;
  }

  /** The topics to ask for: those used lately, and those no answer has told of. */
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

  async #fetch(): Promise<void> {
    const { allowAutoTopicCreation, client } = this.#options;
    const wantedAll = this.#wantsAll;
    this.#wantsAll = this.#wantsNew = false;
    // A node that cannot be connected to has a back-off of its own, and counts for none here.
    const { connection, node } = await this.#connectAny();
    // A bootstrap server is asked when there is no node; what it tells takes the place of all that was known.
    const all = wantedAll || this.#wantsAll || node.id < 0 || this.#isOld(client.clock.now());
    this.#wantsAll = this.#wantsNew = false;
    const asked = all ? this.#trackedTopics() : [...this.#newTopics];
    try {
      const version = connection.versions.pick(metadataApi);
      const body = { topics: asked.map((name) => ({ name })), allowAutoTopicCreation };
      const answer = await connection.request(metadataApi, body, { version, timeoutMs: client.requestTimeoutMs });
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode, "Metadata", { retriable: true });
      if (answer.brokers.length === 0) throw new ConnectionError("metadata: the broker knows no brokers yet");
      this.#take(answer, version, asked, all);
    } catch (cause) {
      this.#backoff.failed(client.clock.now());
      throw cause;
    }
  }

  /** Takes over what an answer says; all of it replaces what was known, else it is added. */
  #take(answer: MetadataResponse, version: number, asked: readonly string[], all: boolean): void {
    const known = new Set(asked);
    const update = updateClusterMetadata(
      this.#metadata,
      answer,
      version,
      (topic) => !all || (this.#lastUsed.has(topic) && !known.has(topic)),
    );
    this.#metadata = update.metadata;
    this.#takeNodes(answer.brokers);
    for (const name of asked) {
      this.#newTopics.delete(name);
      const problem = update.problems.get(name);
      if (problem === undefined) this.#topicErrors.delete(name);
      else this.#topicErrors.set(name, problem);
    }
    const now = this.#options.client.clock.now();
    if (all) this.#lastFull = now;
    this.#backoff.answered(now, update.isNews);
    // Topics that came while this was under way were never asked for.
    if (this.#newTopics.size > 0) this.#backoff.hurry();
  }

  #takeNodes(brokers: MetadataResponse["brokers"]): void {
    const ids = new Set(brokers.map(({ nodeId }) => nodeId));
    for (const broker of brokers) this.#keepNode(broker.nodeId, broker);
    for (const [id, node] of this.#nodes) {
      if (ids.has(id)) continue;
      this.#nodes.delete(id);
      this.#leftNodes.set(id, node);
    }
    for (const [id, node] of this.#leftNodes) {
      if (node.connection("main") !== undefined || node.connection("fetch") !== undefined) continue;
      this.#leftNodes.delete(id);
      node.close(new ConnectionError(`${node.text}: it is no longer a node of the cluster`));
    }
  }

  #keepNode(id: number, { host, port }: { host: string; port: number }): void {
    const known = this.#nodes.get(id) ?? this.#leftNodes.get(id);
    this.#leftNodes.delete(id);
    this.#nodes.set(id, known ?? this.#makeNode(id, { host, port }));
    // What is under way on its connections is not lost with its name.
    if (known !== undefined && (known.address.host !== host || known.address.port !== port)) {
      known.moveTo({ host, port });
    }
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

  /** Resolves to a connection to the least loaded node that can be connected to; each is tried once. */
  async #connectAny(): Promise<{ readonly node: BrokerNode; readonly connection: Connection }> {
    const { clock, metadataRecoveryStrategy, random } = this.#options.client;
    const failures = new Map<BrokerNode, KafkaError>();
    for (;;) {
      this.#throwIfClosed();
      const begin = this.#nodes.size === 0 || metadataRecoveryStrategy === "rebootstrap" ? this.#bootstrap : [];
      const left = [...this.#nodes.values(), ...begin].filter((node) => !failures.has(node));
      const node = leastLoaded(left, clock.now(), random);
      if (node === undefined) throw noBroker([...failures.values()]);
      try {
        return { node, connection: await node.connect("main") };
      } catch (cause) {
        failures.set(node, cause as KafkaError);
      }
    }
  }
}

/** What `promise` resolves to; undefined when `ms` pass before. */
async function within<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const settled = new AbortController();
  const over = sleep(clock, ms, signal === undefined ? settled.signal : AbortSignal.any([settled.signal, signal]));
  try {
    return await Promise.race([promise, over.then(() => undefined)]);
  } finally {
    over.catch(() => {}); // ends with the abort below, which nobody waits for
    settled.abort();
  }
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
