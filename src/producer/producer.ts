/**
 * The producer: takes records, gathers them into batches, sends them, and answers each with where it was stored.
 *
 * The order of `send` calls is the order in each partition. A record that can be appended at once is; one that has to wait
 * for metadata or memory waits in its topic's line, and so does everything sent to that topic after it.
 *
 * @module
 */

import type { ClientContext } from "../client/client_context.ts";
import { Cluster, type TopicMetadata } from "../client/cluster.ts";
import { utf8Encode, utf8Length, utf8Write } from "../bytes/utf8.ts";
import { codecFor } from "../compression/codec.ts";
import type { Clock } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import { ClosedError, ConfigError, type KafkaError, ProduceError, TimeoutError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { Queue } from "../core/queue.ts";
import { murmur2 } from "../hash/murmur2.ts";
import { type HeaderInput, recordBound } from "../records/record_batch_builder.ts";
import { Accumulator, type PreparedRecord } from "./accumulator.ts";
import { BufferPool } from "./buffer_pool.ts";
import type { ProducerBatch, Reject, Resolve } from "./producer_batch.ts";
import { ProducerIdentity } from "./producer_identity.ts";
import { type ProducerOptions, resolveProducerOptions } from "./producer_options.ts";
import type { Payload, ProducerRecord, RecordMetadata } from "./record_metadata.ts";
import { Sender } from "./sender.ts";

/** How a producer is closed. */
export interface CloseOptions {
  /** Most milliseconds to wait for what was sent before; 0 gives up on it at once. Without limit when absent. */
  readonly timeoutMs?: number;
}

/** A record that waits in its topic's line, or a mark in it. */
type Pending = PendingRecord | { readonly reached: () => void };

interface PendingRecord {
  /** The partition the record asks for, if it does. */
  readonly partition: number | undefined;
  readonly prepared: PreparedRecord;
  readonly deadline: number;
}

/** What the producer knows of one topic. */
interface TopicState {
  readonly name: string;
  metadata: TopicMetadata | undefined;
  readonly pending: Queue<Pending>;
  working: boolean;
}

const NO_HEADERS: readonly HeaderInput[] = [];

// The wall clock is read once for so many records at most; each reading costs as much as appending a record.
const RECORDS_PER_CLOCK_READING = 64;

/** Sends records. Made by `kafka.producer()`. */
export class Producer {
  readonly #options: Resolved<ProducerOptions>;
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #pool: BufferPool;
  readonly #accumulator: Accumulator;
  readonly #topics = new Map<string, TopicState>();
  readonly #prepared: { -readonly [K in keyof PreparedRecord]: PreparedRecord[K] } = {
    key: null,
    value: null,
    headers: NO_HEADERS,
    timestamp: 0,
    bound: 0,
    keySize: -1,
    valueSize: -1,
    resolve: () => {},
    reject: () => {},
  };
  readonly #keyScratch = new Uint8Array(256);
  #sender: Sender | undefined;
  readonly #startup: Promise<void>;
  #startupError: KafkaError | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;
  #wallTime = 0;
  #wallTimeUses = 0;

  /**
   * Makes a producer; it connects when the first record is sent.
   *
   * @throws ConfigError
   */
  constructor(context: ClientContext, options: ProducerOptions) {
    const { client } = context;
    this.#options = resolveProducerOptions(options, client);
    this.#clock = client.clock;
    this.#cluster = new Cluster({ client, connect: context.connect, allowAutoTopicCreation: true });
    // Compressed batches are measured after compression, so more records go into one; four to one is what text gives.
    const bufferSize = this.#options.batchSize * (this.#options.compressionType === "none" ? 1 : 4);
    this.#pool = new BufferPool(this.#options.bufferMemory, bufferSize, client.clock);
    this.#accumulator = new Accumulator({
      batchSize: this.#options.batchSize,
      bufferSize,
      pool: this.#pool,
      clock: client.clock,
      random: client.random,
      onBatch: (full) => {
        if (full) this.#sender?.wake();
        else this.#sender?.wakeAt(client.clock.now() + this.#options.lingerMs);
      },
    });
    this.#cluster.onUpdate = () => this.#metadataChanged();
    this.#startup = this.#start(context);
    this.#startup.catch(() => {}); // told to every send
  }

  /**
   * Sends a record; resolves to where it was stored. What the arguments hold is copied before this returns, so that a
   * buffer may be reused at once. A rejection that nobody handles is an unhandled rejection, as with any promise.
   *
   * @throws (rejects) ConfigError for a malformed record; ProduceError with an `outcome`; TimeoutError when metadata or
   * memory did not come within `maxBlockMs`; ClosedError.
   */
  send(record: ProducerRecord): Promise<RecordMetadata> {
    return new Promise((resolve, reject) => this.#send(record, resolve, reject));
  }

  /** Resolves when everything sent before is settled, whether it succeeded or not. It does not wait for `lingerMs`. */
  async flush(): Promise<void> {
    const hurry = this.#accumulator.hurry();
    try {
      this.#sender?.wake();
      await Promise.all([...this.#topics.values()].map((topic) => this.#lineEnd(topic)));
      this.#sender?.wake();
      await this.#accumulator.whenSettled();
    } finally {
      hurry.end();
    }
  }

  /**
   * The partitions of `topic`.
   *
   * @throws TimeoutError when they are not known within `maxBlockMs`; BrokerError.
   */
  async partitionsFor(topic: string): Promise<TopicMetadata["partitions"]> {
    this.#throwIfClosed();
    const metadata = await this.#cluster.waitForTopic(topic, { timeoutMs: this.#options.maxBlockMs });
    return metadata.partitions;
  }

  /** Sends what is left and ends. Records that are not settled in time are rejected with what is known of them. Safe to repeat. */
  close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
      return Promise.reject(new ConfigError(`close: timeoutMs must be at least 0, not ${timeoutMs}`));
    }
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /** Closes gracefully; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #start(context: ClientContext): Promise<void> {
    const { client } = context;
    const { compressionType, compressionLevel, enableIdempotence } = this.#options;
    try {
      const crc32c = await context.crc32c();
      const compression = compressionType === "none"
        ? undefined
        : { type: compressionType, codec: codecFor(await context.codecs(), compressionType), level: compressionLevel };
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
        metrics: client.metrics,
        tags: { "client-id": client.clientId },
      });
    } catch (cause) {
      this.#startupError = cause as KafkaError;
      throw cause;
    }
  }

  #send(record: ProducerRecord, resolve: Resolve, reject: Reject): void {
    try {
      if (this.#closing !== undefined) throw closedError(record.topic);
      if (this.#startupError !== undefined) throw this.#startupError;
      const prepared = this.#prepare(record, resolve, reject);
      const topic = this.#topicState(record.topic);
      // The line must be empty, or this record would overtake those that wait in it.
      if (this.#sender !== undefined && topic.pending.size === 0 && topic.metadata !== undefined) {
        const partition = this.#partition(record.partition, prepared.key, topic.metadata);
        if (partition < topic.metadata.partitions.length) {
          if (this.#accumulator.append(topic.metadata, partition, prepared) === 0) return;
        }
      }
      this.#enqueue(topic, {
        partition: record.partition,
        prepared: detached(prepared),
        deadline: this.#clock.now() + this.#options.maxBlockMs,
      });
    } catch (cause) {
      reject(cause as KafkaError);
    }
  }

  /** Checks a record and measures it. */
  #prepare(record: ProducerRecord, resolve: Resolve, reject: Reject): PreparedRecord {
    const { topic, timestamp, partition, value } = record;
    const key = record.key ?? null;
    if (typeof topic !== "string" || topic === "") throw invalid(record, "topic must be a non-empty string");
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
      throw new ProduceError(`${topic}: a record of ${bound} bytes is larger than ${name}=${limit}`, {
        code: "RECORD_TOO_LARGE",
        outcome: "not-written",
        topic,
      });
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
    prepared.resolve = resolve;
    prepared.reject = reject;
    return prepared;
  }

  /** The partition the record asks for or its key decides; −1 leaves it to the sticky choice. */
  #partition(wanted: number | undefined, key: Payload | null, { partitions }: TopicMetadata): number {
    if (wanted !== undefined) return wanted;
    if (key === null || this.#options.partitionerIgnoreKeys) return -1;
    return (this.#hash(key) & 0x7fffffff) % partitions.length;
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

  #topicState(name: string): TopicState {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = { name, metadata: this.#cluster.topic(name), pending: new Queue<Pending>(), working: false };
      this.#topics.set(name, topic);
    }
    return topic;
  }

  #metadataChanged(): void {
    for (const topic of this.#topics.values()) topic.metadata = this.#cluster.metadata.topics.get(topic.name);
    this.#sender?.wake();
  }

  #enqueue(topic: TopicState, pending: Pending): void {
    topic.pending.push(pending);
    if (topic.working) return;
    topic.working = true;
    void this.#workOff(topic);
  }

  /** Appends what waits in a topic's line, one after the other. */
  async #workOff(topic: TopicState): Promise<void> {
    for (let next = topic.pending.peek(); next !== undefined; next = topic.pending.peek()) {
      if ("reached" in next) next.reached();
      else {
        try {
          await this.#startup;
          await this.#appendWhenPossible(topic, next);
        } catch (cause) {
          next.prepared.reject(this.#notWritten(topic.name, cause as KafkaError));
        }
      }
      topic.pending.shift();
    }
    topic.working = false;
  }

  async #appendWhenPossible(
    topic: TopicState,
    { partition: wanted, prepared, deadline }: PendingRecord,
  ): Promise<void> {
    const left = () => Math.max(0, deadline - this.#clock.now());
    topic.metadata ??= this.#cluster.topic(topic.name) ??
      await this.#cluster.waitForTopic(topic.name, { timeoutMs: left() });
    let partition = this.#partition(wanted, prepared.key, topic.metadata);
    if (partition >= topic.metadata.partitions.length) {
      topic.metadata = await this.#cluster.waitForTopic(topic.name, { timeoutMs: left() }, partition);
      partition = this.#partition(wanted, prepared.key, topic.metadata);
    }
    let buffer: Uint8Array | undefined;
    for (;;) {
      const size = this.#accumulator.append(topic.metadata, partition, prepared, buffer);
      if (size === 0) return;
      this.#sender!.wake(); // memory is short: let go of what there is
      buffer = await this.#pool.take(size, left());
      if (buffer === undefined) {
        throw new TimeoutError(
          `${topic.name}: no memory for a record within maxBlockMs=${this.#options.maxBlockMs}: ` +
            `${this.#pool.total - this.#pool.available} of bufferMemory=${this.#pool.total} bytes are in use`,
          { code: "BUFFER_EXHAUSTED" },
        );
      }
    }
  }

  #notWritten(topic: string, cause: KafkaError): KafkaError {
    if (this.#closed && !(cause instanceof ClosedError)) return closedError(topic);
    if (cause.outcome !== undefined) return cause;
    const { code, retriable, message } = cause;
    return new ProduceError(message, { code, retriable, topic, outcome: "not-written", cause });
  }

  /** Resolves when all that waits in the topic's line now has left it. */
  #lineEnd(topic: TopicState): Promise<void> {
    if (topic.pending.size === 0) return Promise.resolve();
    const end: Deferred<void> = deferred<void>();
    this.#enqueue(topic, { reached: () => end.resolve() });
    return end.promise;
  }

  async #close(timeoutMs: number | undefined): Promise<void> {
    if (timeoutMs !== 0) {
      const flushed = this.flush();
      if (timeoutMs === undefined) await flushed;
      else {
        let timer: { cancel(): void } | undefined;
        const late = new Promise<void>((resolve) => timer = this.#clock.setTimer(timeoutMs, resolve));
        await Promise.race([flushed, late]);
        timer?.cancel();
      }
    }
    this.#closed = true;
    this.#pool.close();
    this.#cluster.close(closedError("the producer"));
    const forced = (batch: ProducerBatch) =>
      new ProduceError(`${batch.text}: the producer was closed before the broker acknowledged`, {
        code: "CLOSED",
        outcome: batch.onWire || batch.maybeStored ? "unknown" : "not-written",
        topic: batch.topic,
        partition: batch.partition,
      });
    this.#sender?.stop(forced);
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw closedError("the producer");
  }
}

function closedError(what: string): ClosedError {
  return new ClosedError(`${what}: the producer is closed`, { outcome: "not-written" });
}

function invalid({ topic }: ProducerRecord, reason: string): ConfigError {
  return new ConfigError(`send to ${String(topic)}: ${reason}`, { code: "INVALID_RECORD", outcome: "not-written" });
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
