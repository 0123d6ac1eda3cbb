/**
 * The end of a `WritableStream` that sends what is written to one topic.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import type { Receiver } from "./producer_batch.ts";
import type { ProducerRecord } from "./record_metadata.ts";

/** A record without its topic, which the stream knows. */
export type TopicRecord<K, V> = Omit<ProducerRecord<K, V>, "topic">;

/** What a sink uses of its producer. */
export interface SinkProducer<K, V> {
  /** Sends a record; the receiver is told its outcome. */
  send(record: ProducerRecord<K, V>, receiver: Receiver): void;
  /** Resolves at once, or when no record of the topic waits for metadata, a serializer or memory. */
  ready(): Promise<void>;
  /** Resolves when all that was sent is settled. */
  flush(): Promise<void>;
}

/**
 * Takes records as fast as they go into batches. A write is done when its record does not wait for anything but the broker,
 * so that a stream holds no more than `bufferMemory`, and one record besides. The first failure ends the stream.
 */
export class TopicSink<K, V> implements UnderlyingSink<TopicRecord<K, V>> {
  readonly #topic: string;
  readonly #producer: SinkProducer<K, V>;
  readonly #receiver: Receiver = { stored: () => {}, failed: (error) => this.#fail(error) };
  #controller: WritableStreamDefaultController | undefined;
  #failure: KafkaError | undefined;

  /** Sends to `topic` by way of `producer`. */
  constructor(topic: string, producer: SinkProducer<K, V>) {
    this.#topic = topic;
    this.#producer = producer;
  }

  /** Called by the stream when it begins. */
  start(controller: WritableStreamDefaultController): void {
    this.#controller = controller;
  }

  /** Called by the stream for each record. */
  write(record: TopicRecord<K, V>): Promise<void> {
    this.#producer.send({ ...record, topic: this.#topic }, this.#receiver);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#producer.ready();
  }

  /** Called by the stream when all was written: resolves when all of it is stored. */
  async close(): Promise<void> {
    await this.#producer.flush();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fail(error: KafkaError): void {
    this.#failure ??= error;
    this.#controller?.error(this.#failure);
  }
}
