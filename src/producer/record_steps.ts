/**
 * What a record goes through before it is appended, where its producer has interceptors, serializers or a partitioner.
 * Those without any of them go straight on, and nothing here is touched.
 *
 * @module
 */

import { utf8Encode } from "../bytes/utf8.ts";
import { type ErrorDetails, type KafkaError, ProduceError } from "../core/kafka_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Interceptor } from "./interceptor.ts";
import type { ClusterView, Partitioner, PartitionFunction, PartitionRequest } from "./partitioner.ts";
import type { Receiver } from "./producer_batch.ts";
import type { ProducerOptions } from "./producer_options.ts";
import { type Payload, type ProducerRecord, RecordMetadata } from "./record_metadata.ts";
import type { Serializer } from "./serializer.ts";

type Serialized = Payload | null | undefined | PromiseLike<Payload | null>;

type Headers = [name: string, value: Payload | null][];

/** One record on its way, and who hears of its outcome. */
export interface RecordOutcome {
  /** Told of it. */
  readonly receiver: Receiver;
  /** The headers as sent. */
  headers: readonly (readonly [string, Payload | null])[];
}

/** The steps of one producer. */
export class RecordSteps<K, V> {
  readonly #keySerializer: Serializer<K> | undefined;
  readonly #valueSerializer: Serializer<V> | undefined;
  readonly #interceptors: readonly Interceptor<K, V>[];
  readonly #partitioner: Partitioner<K, V> | undefined;
  readonly #logger: Logger;

  /** Takes the steps out of `options`. */
  constructor(options: Partial<ProducerOptions<K, V>>, logger: Logger) {
    const { interceptors, keySerializer, partitioner, valueSerializer } = options;
    this.#keySerializer = keySerializer;
    this.#valueSerializer = valueSerializer;
    this.#interceptors = interceptors ?? [];
    this.#partitioner = typeof partitioner === "function"
      ? { partition: partitioner as PartitionFunction<K, V> }
      : partitioner;
    this.#logger = logger;
  }

  /** Whether a partitioner was given. */
  get choosesPartition(): boolean {
    return this.#partitioner !== undefined;
  }

  /** Whether the partitioner wants to know of new batches. */
  get seesNewBatches(): boolean {
    return this.#partitioner?.onNewBatch !== undefined;
  }

  /** The record as the interceptors leave it. */
  intercepted(record: ProducerRecord<K, V>): ProducerRecord<K, V> {
    let current = record;
    for (const interceptor of this.#interceptors) {
      if (interceptor.onSend === undefined) continue;
      try {
        const next = interceptor.onSend(current);
        if (typeof next?.topic !== "string") throw new TypeError("it answered no record");
        current = next;
      } catch (cause) {
        this.#logger.warn(`interceptor: onSend for ${current.topic} failed: ${messageOf(cause)}`, { cause });
      }
    }
    return current;
  }

  /** Hands the outcome of `record` on to `receiver`, with the interceptors told first. */
  outcome(record: ProducerRecord<K, V>, receiver: Receiver): RecordOutcome {
    const told = this.#interceptors.filter(({ onAcknowledgement }) => onAcknowledgement !== undefined);
    if (told.length === 0) return { receiver, headers: [] };
    const tell = (metadata: RecordMetadata, error: KafkaError | undefined) => {
      for (const interceptor of told) {
        try {
          interceptor.onAcknowledgement!(metadata, error, outcome.headers);
        } catch (cause) {
          this.#logger.warn(`interceptor: onAcknowledgement for ${metadata.topic} failed: ${messageOf(cause)}`, {
            cause,
          });
        }
      }
    };
    const outcome: RecordOutcome = {
      headers: [],
      receiver: {
        stored: (metadata, index) => {
          tell(metadata, undefined);
          receiver.stored(metadata, index);
        },
        failed: (error, index) => {
          const partition = error.partition ?? record.partition ?? -1;
          tell(new RecordMetadata(String(record.topic), partition, -1, -1, -1, -1), error);
          receiver.failed(error, index);
        },
      },
    };
    return outcome;
  }

  /**
   * The record in bytes. Serializers are called before this returns, so that an object may change afterwards; the answer is
   * a promise when one of theirs is.
   *
   * @throws (or rejects) ProduceError
   */
  serialized(record: ProducerRecord<K, V>, outcome: RecordOutcome): ProducerRecord | Promise<ProducerRecord> {
    const { topic, partition, timestamp } = record;
    const headers = headerList(record);
    outcome.headers = headers;
    const key = this.#serialize(this.#keySerializer, "key", record.key, topic, headers);
    let value: Serialized;
    try {
      value = this.#serialize(this.#valueSerializer, "value", record.value, topic, headers);
    } catch (cause) {
      if (isPromise(key)) key.then(undefined, () => {}); // its failure would come on top
      throw cause;
    }
    const whole = (key: Payload | null | undefined, value: Payload | null): ProducerRecord => {
      Object.freeze(headers);
      return { topic, key, value, headers, partition, timestamp };
    };
    // An absent value stays absent, which is an error said later.
    if (!isPromise(key) && !isPromise(value)) return whole(key, value as Payload | null);
    return Promise.all([key, value]).then(([key, value]) => whole(key, value as Payload | null));
  }

  /**
   * The partition for `record`, whose bytes are `key` and `value`.
   *
   * @throws ProduceError when the partitioner does, or answers a partition that is not there.
   */
  partition(
    record: ProducerRecord<K, V>,
    key: Payload | null,
    value: Payload | null,
    cluster: ClusterView,
  ): number {
    const { topic } = record;
    const request: PartitionRequest<K, V> = {
      topic,
      key: record.key ?? null,
      value: record.value,
      cluster,
      get keyBytes() {
        return bytesOf(key);
      },
      get valueBytes() {
        return bytesOf(value);
      },
    };
    let partition: number;
    try {
      partition = this.#partitioner!.partition(request);
    } catch (cause) {
      throw failed(topic, "the partitioner", cause, "PARTITIONER_FAILED");
    }
    const count = cluster.partitions(topic).length;
    if (Number.isInteger(partition) && partition >= 0 && partition < count) return partition;
    const reason = `it answered ${String(partition)}, the topic's partitions are 0 to ${count - 1}`;
    throw failed(topic, "the partitioner", new RangeError(reason), "PARTITIONER_FAILED");
  }

  /** Tells the partitioner that the next record begins a batch on `previous`. */
  newBatch(topic: string, cluster: ClusterView, previous: number): void {
    try {
      this.#partitioner?.onNewBatch?.(topic, cluster, previous);
    } catch (cause) {
      throw failed(topic, "the partitioner", cause, "PARTITIONER_FAILED");
    }
  }

  /** Closes interceptors and partitioner; what they throw is logged. */
  async close(): Promise<void> {
    for (const part of [...this.#interceptors, this.#partitioner]) {
      try {
        await part?.close?.();
      } catch (cause) {
        this.#logger.warn(`close of an interceptor or partitioner failed: ${messageOf(cause)}`, { cause });
      }
    }
  }

  #serialize<T>(
    serializer: Serializer<T> | undefined,
    part: "key" | "value",
    data: T | null | undefined,
    topic: string,
    headers: Headers,
  ): Serialized {
    // Without a serializer it is bytes or text, or refused when it is measured.
    if (serializer === undefined || data === null || data === undefined) return data as Payload | null | undefined;
    const fail = (cause: unknown): never => {
      throw failed(topic, `the ${part} serializer`, cause, "SERIALIZATION_FAILED");
    };
    try {
      const bytes = serializer(data, { topic, part, headers });
      return isPromise(bytes) ? bytes.then(undefined, fail) : bytes;
    } catch (cause) {
      return fail(cause);
    }
  }
}

function headerList<K, V>({ headers }: ProducerRecord<K, V>): Headers {
  if (headers === undefined) return [];
  return Array.isArray(headers) ? headers.slice() : Object.entries(headers);
}

function bytesOf(payload: Payload | null): Uint8Array | null {
  return typeof payload === "string" ? utf8Encode(payload) : payload;
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

function failed(topic: string, what: string, cause: unknown, code: string): ProduceError {
  const details: ErrorDetails = { code, outcome: "not-written", topic, cause };
  return new ProduceError(`${topic}: ${what} failed: ${messageOf(cause)}. The record was not sent.`, details);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
