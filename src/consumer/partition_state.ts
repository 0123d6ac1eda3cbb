/**
 * What a consumer keeps of one partition: how far it has fetched, how far it has handed out, and how fetching fares.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";

/** One partition being read. */
export class PartitionState {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Reading ends before this offset; Infinity for never. */
  readonly end: number;
  /** Id the topic had when reading began. */
  topicId: string;
  /** Offset of the next fetch: what is before it was fetched, though perhaps not handed out. */
  fetchOffset: number;
  /** Offset after the last batch handed out. */
  position: number;
  /** First offset that is not replicated yet, as of the last answer; −1 before. */
  highWatermark = -1;
  /** Where the broker stops answering: the high watermark, or the last stable offset with read_committed. */
  limit = -1;
  /** Whether a fetch with it is under way. */
  inFlight = false;
  /** Whether its new offset is being looked up. */
  resetting = false;
  /** Whether fetched data waits to be taken. */
  queued = false;
  /** Failures in a row. */
  failures = 0;
  /** When these began, on the clock's scale; Infinity while all is well. */
  failingSince: number = Infinity;
  /** Not to be fetched before, on the clock's scale. */
  retryAt: number = -Infinity;
  /** The last failure. */
  lastError: KafkaError | undefined;

  /** A partition to be read from `start` until before `end`. */
  constructor(topic: string, topicId: string, partition: number, start: number, end: number) {
    this.topic = topic;
    this.topicId = topicId;
    this.partition = partition;
    this.fetchOffset = start;
    this.position = start;
    this.end = end;
  }

  /** The partition in messages. */
  get text(): string {
    return `${this.topic}-${this.partition}`;
  }

  /** Whether all that was asked for has been fetched. */
  get isComplete(): boolean {
    return this.fetchOffset >= this.end;
  }

  /** Whether the broker is known to have more. */
  get isBehind(): boolean {
    return this.fetchOffset < this.limit;
  }

  /** A fetch was answered: whatever failed before is over. */
  recovered(): void {
    this.failures = 0;
    this.failingSince = Infinity;
    this.lastError = undefined;
  }

  /** Something failed at `now`; the first failure of a row starts the time after which the consumer gives up. */
  failed(error: KafkaError, now: number): void {
    this.failingSince = Math.min(this.failingSince, now);
    this.lastError = error;
  }

  /** Goes on from `offset`. */
  moveTo(offset: number): void {
    this.fetchOffset = offset;
    this.position = offset;
  }
}
