/**
 * The producer: takes records, gathers them into batches, sends them, and answers each with where it was stored.
 *
 * The order of `send` calls is the order in each partition. A record that can be appended at once is; one that has to wait
 * for metadata, a serializer or memory waits in its topic's line, and so does everything sent to that topic after it.
 *
 * A send that fails rejects its promise. A rejection that nobody handles is an unhandled rejection, as with any promise:
 * runtimes end the program then, which is better than to lose records in silence. Whoever does not care for the outcome
 * says so with `.catch(() => {})`, or learns of it from an interceptor's `onAcknowledgement` beside that.
 *
 * @module
 */

import type { ClientContext } from "../client/client_context.ts";
import { Cluster, type Metadata, type TopicMetadata } from "../client/cluster.ts";
import { utf8Encode, utf8Length, utf8Write } from "../bytes/utf8.ts";
import { codecFor } from "../compression/codec.ts";
import { abortable, abortError } from "../core/abort_error.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { AbortedError, ClosedError, ConfigError, KafkaError, ProduceError, TimeoutError } from "../core/kafka_error.ts";
import { murmur2 } from "../hash/murmur2.ts";
import { type HeaderInput, recordBound } from "../records/record_batch_builder.ts";
import { Accumulator, type PreparedRecord, type TopicQueues } from "./accumulator.ts";
import { BufferPool } from "./buffer_pool.ts";
import { type ClusterView, clusterView } from "./partitioner.ts";
import type { ProducerBatch, Receiver } from "./producer_batch.ts";
import { ProducerIdentity } from "./producer_identity.ts";
import { type Metric, ProducerMetrics } from "./producer_metrics.ts";
import { levelInUse, type ProducerOptions, type ProducerSettings, resolveProducerOptions } from "./producer_options.ts";
import type { Payload, ProducerRecord, RecordMetadata } from "./record_metadata.ts";
import { RecordSteps } from "./record_steps.ts";
import { SendGroup } from "./send_group.ts";
import { Sender } from "./sender.ts";
import { type TopicRecord, TopicSink } from "./topic_sink.ts";
import { type Place, WaitingLine } from "./waiting_line.ts";

/** How a producer is closed. */
export interface CloseOptions {
  /** Most milliseconds to wait for what was sent before; 0 gives up on it at once. Without limit when absent. */
  readonly timeoutMs?: number;
}

/** How a call is given up. */
export interface SendOptions {
  /**
   * Gives up while a record waits for metadata, a serializer or memory: it is rejected with an AbortedError and was not
   * sent. Once it is in a batch the signal has no effect, since nobody could say any more what became of it.
   */
  readonly signal?: AbortSignal | undefined;
}

/** A record that was sent, as far as it is on its way. */
interface SentRecord<K, V> {
  /** What is appended; a promise while a serializer is at work. */
  readonly prepared: PreparedRecord | Promise<PreparedRecord>;
  /** The record itself, where a partitioner may want to see it. */
  readonly source: ProducerRecord<K, V> | undefined;
  /** The partition the record asks for, if it does. */
  readonly partition: number | undefined;
  /** Who is told of it, and under which number. */
  readonly receiver: Receiver;
  readonly index: number;
  readonly signal: AbortSignal | undefined;
}

/** A record in its topic's line. */
interface WaitingRecord<K, V> extends SentRecord<K, V> {
  /** When it has waited long enough, but for the time that serializers took. */
  readonly deadline: number;
}

/** What the producer knows of one topic. */
interface TopicState<K, V> {
  readonly name: string;
  readonly queues: TopicQueues;
  metadata: TopicMetadata | undefined;
  /** Records that wait for metadata, a serializer or memory. */
  readonly line: WaitingLine<WaitingRecord<K, V>>;
  /** Milliseconds that the line has stood still for serializers, which count for nobody's `maxBlockMs`. */
  serializing: number;
}

const NO_HEADERS: readonly HeaderInput[] = [];

// The wall clock is read once for so many records at most; each reading costs as much as appending a record.
const RECORDS_PER_CLOCK_READING = 64;

/** Sends records. Made by `kafka.producer()`. `K` and `V` are what its serializers take; bytes or text without any. */
export class Producer<K = Payload, V = Payload> {
  readonly #options: ProducerSettings;
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #metrics: ProducerMetrics;
  readonly #pool: BufferPool;
  readonly #accumulator: Accumulator;
  /** Undefined where records go straight into their batch. */
  readonly #steps: RecordSteps<K, V> | undefined;
  readonly #topics = new Map<string, TopicState<K, V>>();
  /** The one asked for last, which mostly is the next one, too. */
  #topic: TopicState<K, V> | undefined;
  readonly #prepared: { -readonly [K in keyof PreparedRecord]: PreparedRecord[K] } = {
    key: null,
    value: null,
    headers: NO_HEADERS,
    timestamp: 0,
    bound: 0,
    keySize: -1,
    valueSize: -1,
  };
  readonly #keyScratch = new Uint8Array(256);
  #sender: Sender | undefined;
  readonly #startup: Promise<void>;
  #startupError: KafkaError | undefined;
  #closing: Promise<void> | undefined;
  readonly #giveUp: Deferred<void> = deferred<void>();
  #giveUpTimer: Timer | undefined;
  #closed = false;
  #wallTime = 0;
  #wallTimeUses = 0;
  #view: { readonly of: Metadata; readonly view: ClusterView } | undefined;

  /**
   * Makes a producer; it connects when the first record is sent.
   *
   * @throws ConfigError
   */
  constructor(context: ClientContext, options: ProducerOptions<K, V>) {
    const { keySerializer, valueSerializer, interceptors, partitioner, ...settings } = resolveProducerOptions(
      options,
      context.client,
    );
    const { clock, random } = context.client;
    this.#metrics = new ProducerMetrics(context.client);
    const client = { ...context.client, metrics: this.#metrics.recorder };
    this.#options = settings;
    this.#clock = clock;
    this.#cluster = new Cluster({
      client,
      connect: context.connect,
      allowAutoTopicCreation: settings.allowAutoCreateTopics,
    });
    const { batchSize, bufferMemory, compressionType, lingerMs } = settings;
    if (
      keySerializer !== undefined || valueSerializer !== undefined || interceptors?.length || partitioner !== undefined
    ) {
      const steps = { keySerializer, valueSerializer, interceptors, partitioner };
      this.#steps = new RecordSteps<K, V>(steps as Partial<ProducerOptions<K, V>>, client.logger);
    }
    // Compressed batches are measured after compression, so more records go into one; four to one is what text gives.
    const bufferSize = batchSize * (compressionType === "none" ? 1 : 4);
    this.#pool = new BufferPool(bufferMemory, bufferSize, clock);
    const stallsAfter = settings.partitionerAvailabilityTimeoutMs;
    this.#accumulator = new Accumulator({
      batchSize,
      bufferSize,
      pool: this.#pool,
      clock,
      sticky: {
        batchSize,
        random,
        adaptive: settings.partitionerAdaptivePartitioningEnable,
        isStalled: stallsAfter === 0 ? undefined : (node) => this.#sender!.stalledFor(node) > stallsAfter,
      },
      onBatch: (full) => {
        if (full) this.#sender?.wake();
        else this.#sender?.wakeAt(clock.now() + lingerMs);
      },
    });
    this.#cluster.onUpdate = () => this.#metadataChanged();
    this.#startup = this.#start({ ...context, client });
    this.#startup.catch(() => {}); // told to every send
  }

  /**
   * Sends a record; resolves to where it was stored. What the arguments hold is copied or serialized before this returns, so
   * that a buffer may be reused at once. A rejection that nobody handles is an unhandled rejection, as with any promise.
   *
   * @throws (rejects) ConfigError for a malformed record; ProduceError with an `outcome`; TimeoutError when metadata or
   * memory did not come within `maxBlockMs`; AbortedError; ClosedError.
   */
  send(record: ProducerRecord<K, V>, options?: SendOptions): Promise<RecordMetadata> {
    const signal = options?.signal;
    if (this.#steps === undefined && signal === undefined && this.#closing === undefined) {
      try {
        const batch = this.#appendAtOnce(record);
        if (batch !== undefined) return batch.outcomeOfLast(this.#prepared);
      } catch (cause) {
        return Promise.reject(asKafkaError(cause));
      }
    }
    const { promise, resolve, reject } = deferred<RecordMetadata>();
    this.#send(record, { stored: resolve, failed: reject }, -1, signal);
    return promise;
  }

  /**
   * Sends records, of any topics, in their order; resolves to where they were stored, in the same order. It costs about a
   * fifth less than as many `send`s, since there is one promise for all.
   *
   * @throws (rejects) SendAllError, once every record is settled, when one or more failed; its `results` say which.
   */
  sendAll(records: Iterable<ProducerRecord<K, V>>, options?: SendOptions): Promise<RecordMetadata[]> {
    return new Promise((resolve, reject) => {
      const group = new SendGroup(resolve, reject);
      const signal = options?.signal;
      for (const record of records) this.#send(record, group, group.add(), signal);
      group.end();
    });
  }

  /**
   * A stream that sends what is written to `topic`. It takes records as fast as memory allows; closing it waits until all of
   * them are stored. The first record that fails ends the stream with its error. Aborting it takes back nothing.
   */
  writable(topic: string, strategy?: QueuingStrategy<TopicRecord<K, V>>): WritableStream<TopicRecord<K, V>> {
    const sink = new TopicSink<K, V>(topic, {
      send: (record, receiver) => this.#send(record, receiver, -1, undefined),
      ready: () => this.#topicState(topic).line.whenServed(),
      flush: () => this.flush(),
    });
    return new WritableStream(sink, strategy);
  }

  /** Resolves when everything sent before is settled, whether it succeeded or not. It does not wait for `lingerMs`. */
  async flush(): Promise<void> {
    const start = this.#clock.now();
    const hurry = this.#accumulator.hurry();
    try {
      this.#sender?.wake();
      await Promise.all([...this.#topics.values()].map(({ line }) => line.whenServed()));
      this.#sender?.wake();
      await this.#accumulator.whenSettled();
    } finally {
      hurry.end();
      this.#metrics.waited("flush-time", this.#clock.now() - start);
    }
  }

  /**
   * The partitions of `topic`.
   *
   * @throws TimeoutError when they are not known within `maxBlockMs`; BrokerError; AbortedError.
   */
  async partitionsFor(topic: string, options?: SendOptions): Promise<TopicMetadata["partitions"]> {
    if (this.#closing !== undefined) throw new ClosedError("partitionsFor: the producer is closed");
    const { partitions } = await this.#waitForTopic(topic, this.#options.maxBlockMs, options?.signal);
    return partitions;
  }

  /** The figures of Java's producer by their names, as of now: totals, and rates and averages of the last minute. */
  metrics(): Metric[] {
    let waiting = 0;
    for (const { line } of this.#topics.values()) waiting += line.size;
    return this.#metrics.snapshot({ cluster: this.#cluster, pool: this.#pool, waiting });
  }

  /**
   * Sends what is left and ends. Records that are not settled in time are rejected with what is known of them. Safe to
   * repeat; a later call with a shorter time ends it sooner.
   */
  close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && !(typeof timeoutMs === "number" && timeoutMs >= 0)) {
      return Promise.reject(new ConfigError(`close: timeoutMs must be at least 0, not ${timeoutMs}`));
    }
    this.#closing ??= this.#close();
    if (timeoutMs !== undefined && !this.#closed) {
      this.#giveUpTimer?.cancel();
      if (timeoutMs === 0) this.#giveUp.resolve();
      else this.#giveUpTimer = this.#clock.setTimer(timeoutMs, () => this.#giveUp.resolve());
    }
    return this.#closing;
  }

  /** Closes gracefully; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #start(context: ClientContext): Promise<void> {
    const { client } = context;
    const { compressionType, enableIdempotence } = this.#options;
    try {
      const crc32c = await context.crc32c();
      const compression = compressionType === "none" ? undefined : {
        type: compressionType,
        codec: codecFor(await context.codecs(), compressionType),
        level: levelInUse(this.#options),
      };
      const identity = enableIdempotence
        ? new ProducerIdentity(this.#cluster, client.defaultApiTimeoutMs, () => this.#sender?.wake())
        : undefined;
      this.#sender = new Sender({
        options: this.#options,
        requestTimeoutMs: client.requestTimeoutMs,
        retryBackoff: { initialMs: client.retryBackoffMs, maxMs: client.retryBackoffMaxMs },
        cluster: this.#cluster,
        accumulator: this.#accumulator,
        identity,
        seal: { crc32c, compression },
        clock: client.clock,
        random: client.random,
        logger: client.logger,
        metrics: this.#metrics,
      });
    } catch (cause) {
      this.#startupError = cause as KafkaError;
      throw cause;
    }
  }

  #send(
    record: ProducerRecord<K, V>,
    receiver: Receiver,
    index: number,
    signal: AbortSignal | undefined,
  ): void {
    if (this.#steps !== undefined) return this.#sendInSteps(this.#steps, record, receiver, index, signal);
    try {
      this.#throwIfUnable(record.topic, signal);
      const batch = this.#appendAtOnce(record);
      if (batch !== undefined) return batch.tellOfLast(receiver, index, this.#prepared);
      const prepared = detached(this.#prepare(record as ProducerRecord));
      const { partition } = record;
      this.#enqueue(this.#topicOf(record), { prepared, source: undefined, partition, receiver, index, signal });
    } catch (cause) {
      receiver.failed(asKafkaError(cause), index);
    }
  }

  /**
   * Appends a record that has nothing to wait for, and answers its batch. Hot: nothing of the record is kept but its bytes
   * and what the batch notes of it.
   */
  #appendAtOnce(record: ProducerRecord<K, V>): ProducerBatch | undefined {
    const topic = this.#topicOf(record);
    if (!this.#canAppend(topic)) return undefined;
    // Without serializers it is bytes and text, or refused here.
    const prepared = this.#prepare(record as ProducerRecord);
    return this.#append(topic, this.#partition(record.partition, prepared, topic, undefined), prepared);
  }

  #sendInSteps(
    steps: RecordSteps<K, V>,
    given: ProducerRecord<K, V>,
    receiver: Receiver,
    index: number,
    signal: AbortSignal | undefined,
  ): void {
    if (typeof given !== "object" || given === null) {
      return receiver.failed(asKafkaError(new TypeError(String(given))), index);
    }
    const record = steps.intercepted(given);
    const outcome = steps.outcome(record, receiver);
    try {
      this.#throwIfUnable(record.topic, signal);
      const topic = this.#topicOf(record);
      const serialized = steps.serialized(record, outcome);
      const { partition } = record;
      const source = steps.choosesPartition ? { ...record } : undefined;
      const sent = { source, partition, receiver: outcome.receiver, index, signal };
      if (serialized instanceof Promise) {
        const prepared = serialized.then((bytes) => detached(this.#prepare(bytes)));
        prepared.catch(() => {}); // told when its turn comes
        this.#enqueue(topic, { ...sent, prepared });
      } else {
        // A copy, since the program's own partitioner might send, too.
        this.#place(topic, { ...sent, prepared: { ...this.#prepare(serialized) } });
      }
    } catch (cause) {
      outcome.receiver.failed(asKafkaError(cause), index);
    }
  }

  /** Whether a record of `topic` has nothing to wait for but memory. It must not overtake those in the topic's line. */
  #canAppend(topic: TopicState<K, V>): topic is TopicState<K, V> & { metadata: TopicMetadata } {
    return this.#sender !== undefined && topic.line.size === 0 && topic.metadata !== undefined;
  }

  /** Appends a record; undefined where the partition is not known or memory is short. */
  #append(
    { queues, metadata }: TopicState<K, V> & { metadata: TopicMetadata },
    partition: number,
    prepared: PreparedRecord,
  ): ProducerBatch | undefined {
    if (partition >= metadata.partitions.length) return undefined;
    return this.#accumulator.append(queues, metadata, partition, prepared);
  }

  /** Appends a record if that is possible at once; else it waits in its topic's line. */
  #place(topic: TopicState<K, V>, record: SentRecord<K, V> & { readonly prepared: PreparedRecord }): void {
    const { prepared, receiver, index } = record;
    let { partition } = record;
    if (this.#canAppend(topic)) {
      const chosen = this.#partition(partition, prepared, topic, record.source);
      const batch = this.#append(topic, chosen, prepared);
      if (batch !== undefined) return batch.tellOfLast(receiver, index, prepared);
      // Chosen once: a partitioner that counts would skip one if it were asked again.
      if (chosen >= 0) partition = chosen;
    }
    this.#enqueue(topic, { ...record, partition, prepared: detached(prepared) });
  }

  /** Checks a record and measures it. */
  #prepare(record: ProducerRecord): PreparedRecord {
    const { topic, timestamp, partition, value } = record;
    const key = record.key ?? null;
    if (partition !== undefined && !(Number.isInteger(partition) && partition >= 0)) {
      throw invalid(record, `partition must be an integer of at least 0, not ${partition}`);
    }
    if (timestamp !== undefined && !(Number.isSafeInteger(timestamp) && timestamp >= 0)) {
      throw invalid(record, `timestamp must be milliseconds since 1970, not ${timestamp}`);
    }
    if (value === undefined) throw invalid(record, "value is missing; null sends a tombstone");
    const headers = record.headers === undefined ? NO_HEADERS : checkedHeaders(record);
    const keySize = payloadSize(record, "key", key);
    const valueSize = payloadSize(record, "value", value);
    const bound = recordBound(keySize, valueSize, headers);
    const { maxRequestSize, bufferMemory } = this.#options;
    if (bound > maxRequestSize || bound > bufferMemory) {
      const [name, limit] = bound > maxRequestSize
        ? ["maxRequestSize", maxRequestSize]
        : ["bufferMemory", bufferMemory];
      throw new ProduceError(
        `${topic}: a record of ${bound} bytes is larger than ${name}=${limit}. It was not sent; raise ${name}, and the ` +
          `topic's max.message.bytes, or send less at once.`,
        { code: "RECORD_TOO_LARGE", outcome: "not-written", topic, partition },
      );
    }
    // One object serves all: it is read before `send` returns, and a record that has to wait gets a copy.
    const prepared = this.#prepared;
    prepared.key = key;
    prepared.value = value;
    prepared.headers = headers;
    prepared.timestamp = timestamp ?? this.#now();
    prepared.bound = bound;
    prepared.keySize = keySize;
    prepared.valueSize = valueSize;
    return prepared;
  }

  /** The partition the record asks for, the partitioner chooses or the key decides; −1 leaves it to the sticky choice. */
  #partition(
    wanted: number | undefined,
    record: PreparedRecord,
    { metadata }: { readonly metadata: TopicMetadata },
    source: ProducerRecord<K, V> | undefined,
  ): number {
    if (wanted !== undefined) return wanted;
    if (source !== undefined) return this.#choosePartition(this.#steps!, record, metadata, source);
    const { key } = record;
    if (key === null || this.#options.partitionerIgnoreKeys) return -1;
    return (this.#hash(key) & 0x7fffffff) % metadata.partitions.length;
  }

  #choosePartition(
    steps: RecordSteps<K, V>,
    record: PreparedRecord,
    topic: TopicMetadata,
    source: ProducerRecord<K, V>,
  ): number {
    const { metadata, nodes } = this.#cluster;
    if (this.#view?.of !== metadata) {
      this.#view = { of: metadata, view: clusterView(metadata.clusterId, [...nodes.keys()], metadata.topics) };
    }
    const { view } = this.#view;
    const { key, value } = record;
    const partition = steps.partition(source, key, value, view);
    if (!steps.seesNewBatches || this.#accumulator.hasRoom(topic.name, partition, record.bound)) return partition;
    steps.newBatch(topic.name, view, partition);
    return steps.partition(source, key, value, view);
  }

  #hash(key: Payload): number {
    if (typeof key !== "string") return murmur2(key);
    const length = utf8Length(key);
    if (length > this.#keyScratch.length) return murmur2(utf8Encode(key));
    utf8Write(key, length, this.#keyScratch, 0);
    return murmur2(this.#keyScratch, length);
  }

  /** Milliseconds since 1970, as of this turn of the event loop. */
  #now(): number {
    if (this.#wallTimeUses === 0) {
      this.#wallTime = this.#clock.wallTime();
      this.#wallTimeUses = RECORDS_PER_CLOCK_READING;
      this.#clock.nextTurn(() => this.#wallTimeUses = 0);
    }
    this.#wallTimeUses--;
    return this.#wallTime;
  }

  #topicOf(record: { readonly topic: string }): TopicState<K, V> {
    if (record.topic !== this.#topic?.name) {
      checkTopic(record);
      this.#topic = this.#topicState(record.topic);
    }
    return this.#topic!;
  }

  #topicState(name: string): TopicState<K, V> {
    const known = this.#topics.get(name);
    if (known !== undefined) return known;
    const line = new WaitingLine<WaitingRecord<K, V>>({
      serve: (place) => this.#appendWhenPossible(topic, place),
      failed: ({ receiver, index }, cause) => receiver.failed(notSent(name, asKafkaError(cause)), index),
    });
    const [queues, metadata] = [this.#accumulator.queuesOf(name), this.#cluster.topic(name)];
    const topic: TopicState<K, V> = { name, queues, metadata, line, serializing: 0 };
    this.#topics.set(name, topic);
    return topic;
  }

  #metadataChanged(): void {
    for (const topic of this.#topics.values()) topic.metadata = this.#cluster.metadata.topics.get(topic.name);
    this.#sender?.wake();
  }

  #enqueue(topic: TopicState<K, V>, record: SentRecord<K, V>): void {
    const deadline = this.#clock.now() + this.#options.maxBlockMs - topic.serializing;
    topic.line.push({ ...record, deadline }, record.signal);
  }

  async #appendWhenPossible(topic: TopicState<K, V>, place: Place<WaitingRecord<K, V>>): Promise<void> {
    const { deadline, index, partition: wanted, receiver, signal, source } = place.item;
    if (this.#sender === undefined) await abortable(this.#startup, signal);
    let { prepared } = place.item;
    if (prepared instanceof Promise) {
      const start = this.#clock.now();
      prepared = await abortable(prepared, signal);
      topic.serializing += this.#clock.now() - start;
    }
    const left = () => Math.max(0, deadline + topic.serializing - this.#clock.now());
    let metadata = topic.metadata ??= this.#cluster.topic(topic.name) ??
      await this.#waitForTopic(topic.name, left(), signal);
    let partition = this.#partition(wanted, prepared, { metadata }, source);
    if (partition >= metadata.partitions.length) {
      metadata = topic.metadata = await this.#waitForTopic(topic.name, left(), signal, partition);
      partition = this.#partition(wanted, prepared, { metadata }, source);
    }
    let buffer: Uint8Array | undefined;
    for (;;) {
      if (place.left) {
        if (buffer !== undefined) this.#pool.release(buffer);
        return;
      }
      const batch = this.#accumulator.append(topic.queues, topic.metadata ?? metadata, partition, prepared, buffer);
      if (batch !== undefined) {
        batch.tellOfLast(receiver, index, prepared);
        return place.leave();
      }
      this.#sender!.wake(); // memory is short: let go of what there is
      const start = this.#clock.now();
      buffer = await this.#pool.take(this.#accumulator.memoryFor(prepared), left(), signal);
      this.#metrics.waited("bufferpool-wait-time", this.#clock.now() - start);
      if (buffer === undefined) throw this.#noMemory(topic.name);
    }
  }

  #noMemory(topic: string): KafkaError {
    const { available, total } = this.#pool;
    this.#metrics.count("buffer-exhausted-total", 1);
    return new TimeoutError(
      `${topic}: no memory for a record within maxBlockMs=${this.#options.maxBlockMs}: ${total - available} of ` +
        `bufferMemory=${total} bytes hold records that are not acknowledged. It was not sent: send more slowly, or raise ` +
        `bufferMemory or maxBlockMs.`,
      { code: "BUFFER_EXHAUSTED", outcome: "not-written", topic },
    );
  }

  async #waitForTopic(
    topic: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    partition?: number,
  ): Promise<TopicMetadata> {
    const start = this.#clock.now();
    try {
      return await this.#cluster.waitForTopic(topic, { timeoutMs, signal }, partition);
    } finally {
      this.#metrics.waited("metadata-wait-time", this.#clock.now() - start);
    }
  }

  async #close(): Promise<void> {
    await Promise.race([this.flush(), this.#giveUp.promise]);
    this.#giveUpTimer?.cancel();
    this.#closed = true;
    for (const { name, line } of this.#topics.values()) line.dissolve(closedError(name));
    this.#pool.close();
    this.#cluster.close(new ClosedError("the producer is closed"));
    this.#sender?.stop();
    await this.#steps?.close();
  }

  #throwIfUnable(topic: string, signal: AbortSignal | undefined): void {
    if (this.#closing !== undefined) throw closedError(topic);
    if (this.#startupError !== undefined) throw this.#startupError;
    if (signal?.aborted) throw notSent(topic, abortError(signal));
  }
}

/** The error with what is known of a record that never left. */
function notSent(topic: string, cause: KafkaError): KafkaError {
  if (cause.outcome !== undefined) return cause;
  const { code, retriable, message } = cause;
  const details = { code, retriable, topic, outcome: "not-written" } as const;
  if (cause instanceof AbortedError) {
    return new AbortedError(`${topic}: ${message}; the record was not sent`, { ...details, cause: cause.cause });
  }
  return new ProduceError(`${topic}: ${message}`, { ...details, cause });
}

function closedError(topic: string): ClosedError {
  return new ClosedError(`${topic}: the producer is closed; the record was not sent`, {
    outcome: "not-written",
    topic,
  });
}

/** The error as one of ours; others come from a record that is no record. */
function asKafkaError(cause: unknown): KafkaError {
  if (cause instanceof KafkaError) return cause;
  const details = { code: "INVALID_RECORD", outcome: "not-written", cause } as const;
  return new ConfigError(`send: this is no record: ${cause instanceof Error ? cause.message : cause}`, details);
}

function invalid({ topic }: { readonly topic: string }, reason: string): ConfigError {
  return new ConfigError(`send to ${String(topic)}: ${reason}`, { code: "INVALID_RECORD", outcome: "not-written" });
}

function checkTopic(record: { readonly topic: string }): void {
  if (typeof record.topic !== "string" || record.topic === "") {
    throw invalid(record, "topic must be a non-empty string");
  }
}

function payloadSize(record: ProducerRecord, field: string, payload: Payload | null): number {
  if (payload === null) return -1;
  if (typeof payload === "string") return utf8Length(payload);
  if (payload instanceof Uint8Array) return payload.length;
  throw invalid(record, `${field} must be a Uint8Array, a string or null, not ${typeof payload}`);
}

function checkedHeaders(record: ProducerRecord): readonly HeaderInput[] {
  const headers = record.headers!;
  const list = Array.isArray(headers) ? headers as readonly HeaderInput[] : Object.entries(headers);
  for (const header of list) {
    if (!Array.isArray(header) || typeof header[0] !== "string") {
      throw invalid(record, "a header is a [name, value] pair");
    }
    payloadSize(record, `header ${header[0]}`, header[1]);
  }
  return list;
}

/** The record with copies of the caller's bytes, for one that has to wait. */
function detached(record: PreparedRecord): PreparedRecord {
  const copy = (payload: Payload | null) => payload instanceof Uint8Array ? payload.slice() : payload;
  return {
    ...record,
    key: copy(record.key),
    value: copy(record.value),
    headers: record.headers.map(([name, value]) => [name, copy(value)]),
  };
}
