/**
 * One partition of the embedded broker: its log, what it remembers of producers, and who waits for its next batch.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Log } from "../log/log.ts";
import { RECORD_BATCH_ATTRIBUTES, RECORD_BATCH_FIELDS, type RecordBatch } from "../records/record_batch.ts";
import { judgeSequence } from "./judge_sequence.ts";
import { refusal } from "./refusal.ts";
import type { TopicConfig } from "./topic_config.ts";

/** The leader of a partition that has none. */
export const NO_LEADER = -1;

/** Where a batch was stored. */
export interface Appended {
  /** Offset of its first record. */
  readonly baseOffset: number;
  /** The broker's time on its records; −1 when they keep their own. */
  readonly logAppendTime: number;
}

/** One partition. */
export class Partition {
  /** Its log. */
  readonly log: Log;
  readonly #config: TopicConfig;
  readonly #clock: Clock;
  readonly #crc32c: Crc32c;
  readonly #waiting = new Set<() => void>();
  #appending: Promise<unknown> = Promise.resolve();
  #leader: number;
  #leaderEpoch: number;

  /** A partition over an open log, led by the node `leader`. */
  constructor(log: Log, leader: number, config: TopicConfig, clock: Clock, crc32c: Crc32c) {
    this.log = log;
    this.#leader = leader;
    this.#leaderEpoch = log.leaderEpochs.at(-1)?.epoch ?? 0;
    this.#config = config;
    this.#clock = clock;
    this.#crc32c = crc32c;
  }

  /** Node that leads it; {@linkcode NO_LEADER} for none. */
  get leader(): number {
    return this.#leader;
  }

  /** Number of its leaders so far, from 0. */
  get leaderEpoch(): number {
    return this.#leaderEpoch;
  }

  /** Gives it to another node, or to none. Who waits at the old one is let go. */
  moveTo(leader: number): void {
    if (leader === this.#leader) return;
    this.#leader = leader;
    this.#leaderEpoch++;
    this.#wake();
  }

  /**
   * Throws unless `nodeId` leads it, and the client's idea of the leader's epoch, −1 for none, is this one.
   *
   * @throws BrokerError NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH
   */
  checkLeader(nodeId: number, epoch = -1): void {
    if (nodeId !== this.#leader) {
      throw refusal("NOT_LEADER_OR_FOLLOWER", `node ${nodeId} was asked, the leader is ${this.#leader}`);
    }
    if (epoch < 0 || epoch === this.#leaderEpoch) return;
    const code = epoch < this.#leaderEpoch ? "FENCED_LEADER_EPOCH" : "UNKNOWN_LEADER_EPOCH";
    throw refusal(code, `leader epoch ${epoch} was named, this is ${this.#leaderEpoch}`);
  }

  /**
   * Appends a validated batch that was sent to `nodeId`. Its bytes are stamped in place.
   *
   * @throws BrokerError for a batch sent to another node than the leader, or out of its producer's sequence; StorageError.
   */
  append(batch: RecordBatch, nodeId: number): Promise<Appended> {
    // The checks and the append belong together, so that two requests cannot both be the next in sequence.
    const append = this.#appending.then(() => this.#append(batch, nodeId));
    this.#appending = append.catch(() => {});
    return append;
  }

  /** Calls `run` at the next append, or when the partition moves or closes; the answer takes it back. */
  onAppend(run: () => void): () => void {
    this.#waiting.add(run);
    return () => this.#waiting.delete(run);
  }

  /** Lets go of all who wait and ends the log. */
  async close(): Promise<void> {
    await this.#appending;
    this.#wake();
    await this.log.close();
  }

  /** Lets go of all who wait and leaves the log as it is. */
  async abandon(): Promise<void> {
    this.#wake();
    await this.log.abandon();
  }

  async #append(batch: RecordBatch, nodeId: number): Promise<Appended> {
    this.checkLeader(nodeId);
    const isLogAppendTime = this.#config.timestampType === "LogAppendTime";
    if (batch.producerId >= 0) {
      const verdict = judgeSequence((await this.log.producers()).get(batch.producerId), batch);
      if (verdict.kind === "refuse") throw refusal(verdict.error, verdict.message);
      if (verdict.kind === "duplicate") {
        const { firstOffset: baseOffset, timestamp } = verdict.batch;
        return { baseOffset, logAppendTime: isLogAppendTime ? timestamp : -1 };
      }
    }
    const logAppendTime = isLogAppendTime ? this.#clock.wallTime() : -1;
    const { bytes } = batch;
    if (logAppendTime >= 0) stampTime(bytes, logAppendTime, this.#crc32c);
    const { baseOffset } = await this.log.append(bytes, this.#leaderEpoch);
    this.#wake();
    return { baseOffset, logAppendTime };
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const run of waiting) run();
  }
}

/** Puts the broker's time on a batch: the records keep theirs, which readers then pass over. */
function stampTime(bytes: Uint8Array, time: number, crc32c: Crc32c): void {
  const F = RECORD_BATCH_FIELDS;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setInt16(F.attributes, view.getInt16(F.attributes) | RECORD_BATCH_ATTRIBUTES.logAppendTime);
  view.setInt32(F.maxTimestamp, Math.floor(time / 4294967296));
  view.setInt32(F.maxTimestamp + 4, time | 0);
  view.setUint32(F.crc, crc32c(bytes.subarray(F.attributes)));
}
