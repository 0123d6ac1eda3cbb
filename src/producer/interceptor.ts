/**
 * Sees every record before it is sent and its outcome after: for tracing, metrics, headers that each record must have.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import type { Payload, ProducerRecord, RecordMetadata } from "./record_metadata.ts";

/**
 * A producer's interceptor. Several form a chain, in the order given. Nothing that one throws breaks a send: it is logged,
 * and the next one gets the record of the last that succeeded.
 */
export interface Interceptor<K = Payload, V = Payload> {
  /** Answers the record to send instead of `record`, before it is serialized. Called within `send`, so it must be quick. */
  onSend?(record: ProducerRecord<K, V>): ProducerRecord<K, V>;
  /**
   * Called once for each record when its outcome is known, before its promise is settled. Of a record that failed
   * `metadata` has the topic, the partition if it was known, and −1 elsewhere. `headers` are those that were sent.
   */
  onAcknowledgement?(
    metadata: RecordMetadata,
    error: KafkaError | undefined,
    headers: readonly (readonly [name: string, value: Payload | null])[],
  ): void;
  /** Called once when the producer is closed. */
  close?(): void | PromiseLike<void>;
}
