/**
 * What a producer is given and what it answers.
 *
 * @module
 */

/** Bytes of a key, value or header: given as bytes, or as text that is sent as UTF-8. */
export type Payload = Uint8Array | string;

/** A record to send; `K` and `V` are what the producer's serializers take, bytes or text without any. */
export interface ProducerRecord<K = Payload, V = Payload> {
  /** Where to. */
  readonly topic: string;
  /** Decides the partition, and what a compacted topic keeps. Absent and null are the same: no key. */
  readonly key?: K | null | undefined;
  /** What is sent; null is a tombstone. */
  readonly value: V | null;
  /** Name–value pairs in order; names may repeat. An object serves as well. */
  readonly headers?:
    | readonly (readonly [string, Payload | null])[]
    | Readonly<Record<string, Payload | null>>
    | undefined;
  /** The partition, when the sender decides it; else the key does, or chance. */
  readonly partition?: number | undefined;
  /** Milliseconds since 1970; now when absent. */
  readonly timestamp?: number | undefined;
}

/** Where a record was stored. */
export class RecordMetadata {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Offset; −1 where the broker tells none (acks 0, or a retry that it had already stored). */
  readonly offset: number;
  /** Milliseconds since 1970: the record's own, or the broker's for topics with LogAppendTime. */
  readonly timestamp: number;
  /** Bytes of the key; −1 without one. */
  readonly serializedKeySize: number;
  /** Bytes of the value; −1 for null. */
  readonly serializedValueSize: number;

  /** Takes the fields in their order. */
  constructor(
    topic: string,
    partition: number,
    offset: number,
    timestamp: number,
    serializedKeySize: number,
    serializedValueSize: number,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.offset = offset;
    this.timestamp = timestamp;
    this.serializedKeySize = serializedKeySize;
    this.serializedValueSize = serializedValueSize;
  }
}
