/**
 * Fetches partitions from their leaders: one request in flight per node, the next one on its way while the caller eats the
 * last answer, and never more than that, so that memory is bounded by two answers a node. A partition that failed is
 * asked again after a back-off, at whoever leads it then.
 *
 * @module
 */

import type { BrokerNode } from "../client/broker_node.ts";
import type { ClientOptions } from "../client/client_options.ts";
import type { Cluster, Leader } from "../client/cluster.ts";
import { listOffsets, OFFSET_TIMESTAMPS } from "../client/list_offsets.ts";
import type { Timer } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { KafkaError, ProtocolError, TimeoutError } from "../core/kafka_error.ts";
import type { MetricTags } from "../core/metrics.ts";
import type { Resolved } from "../core/option_table.ts";
import { Queue } from "../core/queue.ts";
import { backoffMs } from "../core/retry.ts";
import type { Input } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { errorOf } from "../protocol/error_table.ts";
import { fetchApi, type FetchRequest, type FetchResponse, type FetchResponsePartitionData } from "../protocol/fetch.ts";
import type { ConsumerOptions } from "./consumer_options.ts";
import { type Decoding, FetchedPartition } from "./fetched_partition.ts";
import { PartitionState } from "./partition_state.ts";

/** What a fetcher needs. */
export interface FetcherOptions {
  /** The cluster. */
  readonly cluster: Cluster;
  /** The client's options. */
  readonly client: Resolved<ClientOptions>;
  /** The consumer's options. */
  readonly consumer: Resolved<ConsumerOptions>;
  /** How batches are checked and decoded. */
  readonly decoding: Decoding;
  /** Topics whose partitions are added as they appear. */
  readonly follow: readonly string[];
  /** Fires when reading ends. */
  readonly signal: AbortSignal;
}

/** The fetches from one node. */
interface Source {
  readonly node: BrokerNode;
  inFlight: boolean;
  /** Fetched and not taken yet. */
  queued: number;
  queuedBytes: number;
  /** Size of the last answer with data. */
  lastBytes: number;
  /** Not to be asked before, on the clock's scale. */
  restUntil: number;
}

interface Arrival {
  readonly source: Source;
  readonly data: FetchedPartition;
}

const OFFSET_OUT_OF_RANGE = 1;
const CORRUPT_MESSAGE = 2;
const LEADER_NOT_AVAILABLE = 5;
const UNKNOWN_SERVER_ERROR = -1;
/** The first version that names topics by id, and the last that names them by name. */
const TOPIC_IDS_FROM = 13;
/** The first version whose answers hold v2 batches and aborted transactions. */
const LOWEST_VERSION = 4;
const NO_TOPIC_ID = /^A*$/;

/** Fetches what a consumer reads. */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #cluster: Cluster;
  readonly #tags: MetricTags;
  readonly #readCommitted: boolean;
  /** Partitions with more to fetch, the one to be served next first: brokers fill answers in this order. */
  readonly #reading = new Set<PartitionState>();
  readonly #all: PartitionState[] = [];
  readonly #known = new Map<string, number>();
  readonly #sources = new WeakMap<BrokerNode, Source>();
  readonly #arrived = new Queue<Arrival>();
  #arrival: Deferred<void> | undefined;
  #failure: KafkaError | undefined;
  #timer: Timer | undefined;

  /** Starts to fetch `partitions`. */
  constructor(partitions: readonly PartitionState[], options: FetcherOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#tags = { "client-id": options.client.clientId };
    this.#readCommitted = options.consumer.isolationLevel === "read_committed";
    for (const state of partitions) this.#add(state);
    for (const topic of options.follow) this.#known.set(topic, partitions.filter((p) => p.topic === topic).length);
    options.signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#cluster.onUpdate = () => this.#metadataChanged();
    this.#pump();
  }

  /** All partitions that are or were read. */
  get partitions(): readonly PartitionState[] {
    return this.#all;
  }

  /** Why fetching ended early; what arrived before can still be taken. */
  get failure(): KafkaError | undefined {
    return this.#failure;
  }

  /** Whether all that was asked for has been fetched and taken. */
  get isFinished(): boolean {
    return this.#reading.size === 0 && this.#arrived.size === 0;
  }

  /** Takes what arrived first; undefined when nothing has. */
  take(): FetchedPartition | undefined {
    const arrival = this.#arrived.shift();
    if (arrival === undefined) return undefined;
    const { source, data } = arrival;
    source.queued--;
    source.queuedBytes -= data.size;
    data.state.queued = false;
    // When half of an answer is eaten the next one is asked for, so that it is there when the other half is eaten, too.
    if (source.queuedBytes * 2 <= source.lastBytes) this.#pump(source);
    return data;
  }

  /** Resolves when there may be something to take, or fetching has ended. */
  arrival(): Promise<void> {
    if (this.#arrived.size > 0 || this.#failure !== undefined || this.#options.signal.aborted) return Promise.resolve();
    return (this.#arrival ??= deferred<void>()).promise;
  }

  #add(state: PartitionState): void {
    this.#all.push(state);
    if (!state.isComplete) this.#reading.add(state);
  }

  /** The only place that decides what is fetched. `eaten` is the node of which the caller just took something. */
  #pump(eaten?: Source): void {
    if (this.#hasEnded) return;
    const { client, consumer } = this.#options;
    const now = client.clock.now();
    this.#cluster.refreshIfOld(now);
    const plan = new Map<Source, PartitionState[]>();
    let wakeAt = Infinity;
    for (const state of this.#reading) {
      if (state.inFlight || state.queued || state.resetting) continue;
      const deadline = state.failingSince + client.defaultApiTimeoutMs;
      if (deadline <= now) return this.#fail(this.#gaveUp(state, now));
      if (state.retryAt > now) {
        wakeAt = Math.min(wakeAt, state.retryAt, deadline);
        continue;
      }
      const leader = this.#leaderOf(state, now);
      if (this.#hasEnded) return;
      if (leader === undefined) {
        wakeAt = Math.min(wakeAt, state.failingSince + client.defaultApiTimeoutMs);
        continue;
      }
      const source = this.#source(leader.node);
      if (source.inFlight) continue;
      if (source.restUntil > now) {
        wakeAt = Math.min(wakeAt, source.restUntil);
        continue;
      }
      // While some of a node's partitions wait to be taken, the others must not begin a long poll: it would hold up the
      // former when they are taken. They are fetched alone only where the broker surely has more and answers at once.
      if (source.queued > 0 && !(source === eaten && state.isBehind)) continue;
      const states = plan.get(source);
      if (states === undefined) plan.set(source, [state]);
      else states.push(state);
    }
    this.#wakeAt(wakeAt, now);
    for (const [source, states] of plan) {
      void this.#fetch(source, states, source.queued > 0 ? 0 : consumer.fetchMaxWaitMs);
    }
  }

  get #hasEnded(): boolean {
    return this.#failure !== undefined || this.#options.signal.aborted;
  }

  /** The leader of `state`; undefined, with an update under way, while there is none. */
  #leaderOf(state: PartitionState, now: number): Leader | undefined {
    const { topic, partition } = state;
    const known = this.#cluster.topic(topic);
    if (known !== undefined && known.id !== state.topicId && !NO_TOPIC_ID.test(state.topicId)) {
      this.#topicChanged(state, known.id);
      return undefined;
    }
    const leader = this.#cluster.leader(topic, partition);
    if (leader !== undefined) return leader;
    const error = this.#cluster.topicError(topic);
    if (error !== undefined && !error.retriable) this.#fail(error);
    else {
      state.failed(error ?? brokerError(LEADER_NOT_AVAILABLE, state.text, { topic, partition }), now);
      this.#cluster.requestUpdate();
    }
    return undefined;
  }

  #source(node: BrokerNode): Source {
    let source = this.#sources.get(node);
    if (source === undefined) {
      source = { node, inFlight: false, queued: 0, queuedBytes: 0, lastBytes: 0, restUntil: -Infinity };
      this.#sources.set(node, source);
    }
    return source;
  }

  async #fetch(source: Source, states: readonly PartitionState[], maxWaitMs: number): Promise<void> {
    const { client, signal } = this.#options;
    source.inFlight = true;
    for (const state of states) state.inFlight = true;
    try {
      const connection = await source.node.connect("fetch");
      if (signal.aborted) return;
      const haveIds = states.every(({ topicId }) => !NO_TOPIC_ID.test(topicId));
      const version = connection.versions.pick(fetchApi, {
        min: LOWEST_VERSION,
        ...(haveIds ? {} : { max: TOPIC_IDS_FROM - 1 }),
      });
      const start = client.clock.now();
      const answer = await connection.request(fetchApi, this.#request(states, maxWaitMs), {
        version,
        timeoutMs: client.requestTimeoutMs + maxWaitMs,
      });
      if (this.#hasEnded) return;
      this.#take(source, states, answer, version);
      // An answer without anything should have taken the whole wait; whoever answers sooner is not asked again at once.
      const early = start + maxWaitMs - client.clock.now();
      if (early > 0 && states.every((state) => !state.queued && state.failures === 0 && !state.resetting)) {
        source.restUntil = client.clock.now() + Math.min(early, client.retryBackoffMs);
      }
    } catch (cause) {
      if (this.#hasEnded) return;
      if (!(cause instanceof KafkaError)) {
        return this.#fail(new KafkaError(`fetch from ${source.node.text} failed: ${cause}`, { cause }));
      }
      for (const state of states) this.#retryLater(state, cause);
    } finally {
      source.inFlight = false;
      for (const state of states) state.inFlight = false;
    }
    this.#pump();
  }

  #request(states: readonly PartitionState[], maxWaitMs: number): Input<FetchRequest> {
    const { consumer } = this.#options;
    const topics = new Map<string, PartitionState[]>();
    for (const state of states) {
      const list = topics.get(state.topic);
      if (list === undefined) topics.set(state.topic, [state]);
      else list.push(state);
    }
    return {
      replicaId: -1,
      maxWaitMs,
      minBytes: consumer.fetchMinBytes,
      maxBytes: consumer.fetchMaxBytes,
      isolationLevel: this.#readCommitted ? 1 : 0,
      // No fetch session: every request names all it wants.
      sessionId: 0,
      sessionEpoch: -1,
      topics: [...topics].map(([topic, list]) => ({
        topic,
        topicId: list[0]!.topicId,
        partitions: list.map((state) => ({
          partition: state.partition,
          currentLeaderEpoch: this.#cluster.leader(topic, state.partition)?.epoch ?? -1,
          fetchOffset: state.fetchOffset,
          partitionMaxBytes: consumer.maxPartitionFetchBytes,
        })),
      })),
    };
  }

  #take(source: Source, states: readonly PartitionState[], answer: FetchResponse, version: number): void {
    const { client } = this.#options;
    const { text } = source.node;
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode, `Fetch v${version} from ${text}`);
    const missing = new Map<string, PartitionState>();
    for (const state of states) {
      missing.set(`${version >= TOPIC_IDS_FROM ? state.topicId : state.topic}-${state.partition}`, state);
    }
    let bytes = 0;
    for (const topic of answer.responses) {
      for (const data of topic.partitions) {
        const key = `${version >= TOPIC_IDS_FROM ? topic.topicId : topic.topic}-${data.partitionIndex}`;
        const state = missing.get(key);
        if (state === undefined) continue;
        missing.delete(key);
        if (data.errorCode === 0) bytes += this.#takeData(source, state, data);
        else this.#takeError(source, state, data, answer);
      }
    }
    for (const state of missing.values()) {
      const { topic, partition, fetchOffset } = state;
      const reason = `${state.text}: the Fetch v${version} answer from ${text} lacks it`;
      this.#retryLater(state, new ProtocolError(reason, { retriable: true, topic, partition, offset: fetchOffset }));
    }
    client.metrics.count("fetch-total", 1, this.#tags);
    if (bytes === 0) return;
    source.lastBytes = bytes;
    client.metrics.count("bytes-consumed-total", bytes, this.#tags);
    this.#arrivedSomething();
  }

  #takeData(source: Source, state: PartitionState, data: FetchResponsePartitionData): number {
    state.recovered();
    state.highWatermark = data.highWatermark;
    state.limit = this.#readCommitted ? data.lastStableOffset : data.highWatermark;
    const bytes = data.records;
    if (bytes === null || bytes.length === 0) return 0;
    const fetched = new FetchedPartition(state, {
      bytes,
      highWatermark: data.highWatermark,
      abortedTransactions: this.#readCommitted ? data.abortedTransactions : null,
    }, this.#options.decoding);
    state.fetchOffset = fetched.nextOffset;
    state.queued = true;
    source.queued++;
    source.queuedBytes += fetched.size;
    this.#arrived.push({ source, data: fetched });
    // To the end of the line: the others come first in the next answer.
    this.#reading.delete(state);
    if (!state.isComplete && !fetched.isDamaged) this.#reading.add(state);
    return fetched.size;
  }

  #takeError(source: Source, state: PartitionState, data: FetchResponsePartitionData, answer: FetchResponse): void {
    const { topic, partition, fetchOffset } = state;
    const code = data.errorCode;
    if (code === OFFSET_OUT_OF_RANGE) return void this.#outOfRange(state);
    const error = brokerError(code, `${state.text}: fetch at offset ${fetchOffset} from ${source.node.text}`, {
      topic,
      partition,
      offset: fetchOffset,
    });
    const { retriable, refreshMetadata } = errorOf(code);
    // Kafka calls it retriable, for producers; a log that is damaged stays so.
    if (code === CORRUPT_MESSAGE || (!retriable && code !== UNKNOWN_SERVER_ERROR)) return this.#fail(error);
    const { leaderId, leaderEpoch } = data.currentLeader;
    const endpoint = answer.nodeEndpoints.find(({ nodeId }) => nodeId === leaderId);
    const moved = leaderId >= 0 && this.#cluster.takeLeader(topic, partition, leaderId, leaderEpoch, endpoint);
    if (!moved && refreshMetadata) this.#cluster.requestUpdate();
    this.#retryLater(state, error);
    // The news names who to ask, and its epoch only ever grows: no reason to wait.
    if (moved) state.retryAt = -Infinity;
  }

  #retryLater(state: PartitionState, error: KafkaError): void {
    const { clock, random, retryBackoffMs, retryBackoffMaxMs, logger } = this.#options.client;
    if (!error.retriable && error.code !== "UNKNOWN_SERVER_ERROR") return this.#fail(error);
    const now = clock.now();
    state.failed(error, now);
    state.failures++;
    state.retryAt = now + backoffMs({ initialMs: retryBackoffMs, maxMs: retryBackoffMaxMs }, state.failures, random);
    logger.warn(`${state.text}: fetch at offset ${state.fetchOffset} will be tried again: ${error.message}`, {
      code: error.code,
      failures: state.failures,
    });
  }

  /** The log does not reach to where `state` wants to read: goes to where the options say, or fails with the range there is. */
  async #outOfRange(state: PartitionState): Promise<void> {
    const { topic, partition, fetchOffset } = state;
    await this.#move(state, (first, end) => {
      const reset = this.#options.consumer.autoOffsetReset;
      if (reset !== "none") return reset === "earliest" ? first : end;
      throw brokerError(
        OFFSET_OUT_OF_RANGE,
        `${state.text}: offset ${fetchOffset} is not in the log, which has offsets ${first} to before ${end}; ` +
          `set from, or autoOffsetReset to go on at "earliest" or "latest"`,
        { topic, partition, offset: fetchOffset },
      );
    });
  }

  /** A topic was deleted and one of the same name created: its offsets have nothing to do with those read so far. */
  #topicChanged(state: PartitionState, id: string): void {
    const { topic, partition, fetchOffset } = state;
    if (this.#options.consumer.autoOffsetReset === "none") {
      return this.#fail(
        new KafkaError(
          `${state.text}: the topic was deleted and created again while it was read; start anew, or set autoOffsetReset`,
          { code: "TOPIC_RECREATED", topic, partition, offset: fetchOffset },
        ),
      );
    }
    state.topicId = id;
    void this.#move(state, (first) => first);
  }

  /** Asks for the range of the log and moves `state` to where `choose` says. */
  async #move(state: PartitionState, choose: (first: number, end: number) => number): Promise<void> {
    const { client, consumer, signal } = this.#options;
    const { topic, partition, fetchOffset } = state;
    const { earliest, latest } = OFFSET_TIMESTAMPS;
    state.resetting = true;
    try {
      const [first, end] = await listOffsets(
        this.#cluster,
        client,
        [{ topic, partition, timestamp: earliest }, { topic, partition, timestamp: latest }],
        { timeoutMs: client.defaultApiTimeoutMs, signal, isolationLevel: consumer.isolationLevel },
      );
      if (this.#hasEnded) return;
      const offset = choose(first!.offset, end!.offset);
      client.logger.warn(`${state.text}: reading goes on at offset ${offset} instead of ${fetchOffset}`);
      state.moveTo(offset);
      state.recovered();
      if (state.isComplete) {
        this.#reading.delete(state);
        this.#arrivedSomething();
      }
    } catch (cause) {
      if (this.#hasEnded) return;
      return this.#fail(cause as KafkaError);
    } finally {
      state.resetting = false;
    }
    this.#pump();
  }

  #metadataChanged(): void {
    if (this.#hasEnded) return;
    for (const [topic, known] of this.#known) {
      const now = this.#cluster.topic(topic);
      for (let partition = known; partition < (now?.partitions.length ?? 0); partition++) {
        const state = new PartitionState(topic, now!.id, partition, 0, Infinity);
        this.#known.set(topic, partition + 1);
        this.#add(state);
        // Records may have been there, and been deleted, before we knew of it.
        void this.#move(state, (first) => first);
      }
    }
    this.#pump();
  }

  #gaveUp(state: PartitionState, now: number): KafkaError {
    const { topic, partition, fetchOffset, lastError } = state;
    const ms = Math.round(now - state.failingSince);
    return new TimeoutError(
      `${state.text}: could not be fetched at offset ${fetchOffset} for ${ms} ms (defaultApiTimeoutMs ` +
        `${this.#options.client.defaultApiTimeoutMs}); last: ${lastError?.message}`,
      {
        ...(lastError === undefined ? {} : { code: lastError.code, cause: lastError }),
        ...(lastError?.host === undefined ? {} : { host: lastError.host }),
        ...(lastError?.port === undefined ? {} : { port: lastError.port }),
        topic,
        partition,
        offset: fetchOffset,
      },
    );
  }

  #wakeAt(at: number, now: number): void {
    this.#timer?.cancel();
    this.#timer = at === Infinity ? undefined : this.#options.client.clock.setTimer(at - now, () => this.#pump());
  }

  #arrivedSomething(): void {
    this.#arrival?.resolve();
    this.#arrival = undefined;
  }

  #fail(error: KafkaError): void {
    this.#failure ??= error;
    this.#stop();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#arrivedSomething();
  }
}
