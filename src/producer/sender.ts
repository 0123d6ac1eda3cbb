/**
 * The one loop that sends. It alone takes batches out of their queues, numbers them, puts them into requests and settles
 * them. It runs when something happened (a batch is full, an answer came, metadata changed, time is up), never by polling;
 * with nothing to send it holds no timer.
 *
 * @module
 */

import type { BrokerNode } from "../client/broker_node.ts";
import type { Cluster } from "../client/cluster.ts";
import type { Connection } from "../client/connection.ts";
import type { Clock, Timer } from "../core/clock.ts";
import {
  ClosedError,
  ConnectionError,
  KafkaError,
  type Outcome,
  ProduceError,
  ProtocolError,
  TimeoutError,
} from "../core/kafka_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Random } from "../core/random.ts";
import { backoffMs } from "../core/retry.ts";
import { ZERO_UUID } from "../protocol/api.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { errorOf } from "../protocol/error_table.ts";
import { produceApi, type ProduceResponse, type ProduceResponsePartitionProduceResponse } from "../protocol/produce.ts";
import type { SealOptions } from "../records/record_batch_builder.ts";
import type { Accumulator } from "./accumulator.ts";
import type { PartitionQueue } from "./partition_queue.ts";
import { sequenceAfter } from "./partition_queue.ts";
import type { ProducerBatch } from "./producer_batch.ts";
import type { ProducerIdentity } from "./producer_identity.ts";
import type { ProducerMetrics } from "./producer_metrics.ts";
import type { ProducerSettings } from "./producer_options.ts";

/** What the sender needs. */
export interface SenderOptions {
  /** The producer's options. */
  readonly options: ProducerSettings;
  /** Most milliseconds to wait for an answer. */
  readonly requestTimeoutMs: number;
  /** Wait between attempts. */
  readonly retryBackoff: { readonly initialMs: number; readonly maxMs: number };
  /** Nodes and leaders. */
  readonly cluster: Cluster;
  /** Where the batches are. */
  readonly accumulator: Accumulator;
  /** The identity for sequences; undefined without idempotence. */
  readonly identity: ProducerIdentity | undefined;
  /** How batches are sealed: checksum and codec. */
  readonly seal: Pick<SealOptions, "crc32c" | "compression">;
  /** Time. */
  readonly clock: Clock;
  /** Chance. */
  readonly random: Random;
  /** Takes messages. */
  readonly logger: Logger;
  /** Takes figures. */
  readonly metrics: ProducerMetrics;
}

/** The answer for one partition, as far as it concerns the batch. */
type PartitionAnswer = ProduceResponsePartitionProduceResponse;

// Kafka's numbers of the errors that have rules of their own here; the rest follow the table.
const MESSAGE_TOO_LARGE = 10;
const OUT_OF_ORDER_SEQUENCE_NUMBER = 45;
const DUPLICATE_SEQUENCE_NUMBER = 46;
const UNKNOWN_PRODUCER_ID = 59;

/** Batches of one producer and partition that a broker recognises when they come again. */
const REMEMBERED_BATCHES = 5;

/** Errors after which the records may be stored all the same. */
const MAYBE_STORED = new Set(["REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NETWORK_EXCEPTION"]);

/** Compressing what is due may take long; after so many milliseconds the rest waits for the next turn of the event loop. */
const STEP_MS = 5;

/** Topic ids come with Produce 13; a topic whose id is not known yet goes by its name, in an older version. */
const TOPIC_IDS_FROM = 13;

/** Sends batches. */
export class Sender {
  readonly #deps: SenderOptions;
  readonly #accumulator: Accumulator;
  readonly #posting = new Map<Connection, number>();
  /** When each node last had something to be sent, and when it could be; kept only where a partition's choice depends on it. */
  readonly #nodeTimes = new Map<number, { wanted: number; taken: number }>();
  #scheduled = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #nextExpiry = Infinity;
  #stopped = false;

  /** Makes the sender; it runs when it is woken. */
  constructor(deps: SenderOptions) {
    this.#deps = deps;
    this.#accumulator = deps.accumulator;
  }

  /** Runs soon: in the next turn of the event loop, so that all that happens in this one is seen at once. */
  wake(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    this.#deps.clock.nextTurn(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#run();
    });
  }

  /** Runs at `at` at the latest, on the clock's scale. */
  wakeAt(at: number): void {
    if (at >= this.#timerAt || this.#stopped) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#deps.clock.setTimer(at - this.#deps.clock.now(), () => {
      this.#timer = undefined;
      this.#timerAt = Infinity;
      this.wake();
    });
  }

  /** Milliseconds for which a node has had something to be sent that it could not take. */
  stalledFor(node: number): number {
    const times = this.#nodeTimes.get(node);
    return times === undefined ? 0 : times.wanted - times.taken;
  }

  /** Stops for good and fails whatever is not settled. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    const cause = new ClosedError("the producer was closed before the broker acknowledged");
    for (const batch of [...this.#accumulator.incomplete]) {
      const error = this.#produceError(batch, cause, batch.onWire || batch.maybeStored ? "unknown" : "not-written");
      this.#settle(batch, () => batch.fail(error));
    }
  }

  #run(): void {
    const { cluster, clock, identity } = this.#deps;
    const now = clock.now();
    if (now >= this.#nextExpiry) this.#expire(now);
    if (identity !== undefined) this.#keepIdentity(identity);
    cluster.refreshIfOld(now);

    let next = Infinity;
    const byNode = new Map<BrokerNode, PartitionQueue[]>();
    for (const queue of this.#accumulator.active) {
      const at = this.#sendableAt(queue, now);
      if (at > now) {
        next = Math.min(next, at);
        continue;
      }
      const leader = cluster.leader(queue.topic, queue.partition);
      if (leader === undefined) {
        // Keeps the topic from being forgotten while records wait for it.
        cluster.topic(queue.topic);
        cluster.requestUpdate();
        continue;
      }
      const queues = byNode.get(leader.node);
      if (queues === undefined) byNode.set(leader.node, [queue]);
      else queues.push(queue);
    }
    for (const [node, queues] of byNode) {
      next = Math.min(next, this.#sendTo(node, queues, now));
      if (this.#scheduled) break; // it took long, or there is something new: the rest is looked at in the next turn
    }

    if (this.#accumulator.incomplete.size === 0) {
      this.#nextExpiry = Infinity;
      return;
    }
    if (this.#nextExpiry === Infinity) {
      // Batches made later expire later, so the first one's time holds until the next look.
      const [oldest] = this.#accumulator.incomplete;
      this.#nextExpiry = oldest!.createdAt + this.#deps.options.deliveryTimeoutMs;
    }
    this.wakeAt(Math.min(next, this.#nextExpiry));
  }

  /** When the first waiting batch of `queue` may leave, as far as its own state goes. */
  #sendableAt(queue: PartitionQueue, now: number): number {
    const head = queue.waiting.peek()!;
    if (head.retryAt !== 0) return head.retryAt;
    const { lingerMs } = this.#deps.options;
    if (queue.open !== head || this.#accumulator.isHurried) return now;
    return head.createdAt + lingerMs;
  }

  /** Sends what `queues` have for `node`; answers when to look again, on the clock's scale. */
  #sendTo(node: BrokerNode, queues: PartitionQueue[], now: number): number {
    const { maxInFlightRequestsPerConnection, partitionerAvailabilityTimeoutMs } = this.#deps.options;
    const connection = node.connection("main");
    const inFlight = () => connection!.inFlight + (this.#posting.get(connection!) ?? 0);
    if (partitionerAvailabilityTimeoutMs > 0) {
      const canTake = connection !== undefined && connection.throttledUntil <= now &&
        inFlight() < maxInFlightRequestsPerConnection;
      const taken = canTake ? now : this.#nodeTimes.get(node.id)?.taken ?? now;
      this.#nodeTimes.set(node.id, { wanted: now, taken });
    }
    if (connection === undefined) {
      // The node waits out its back-off by itself; either outcome is a reason to look again.
      if (!node.isConnecting("main")) node.connect("main").then(() => this.wake(), () => this.wake());
      return Infinity;
    }
    if (connection.throttledUntil > now) return connection.throttledUntil;
    while (inFlight() < maxInFlightRequestsPerConnection) {
      const batches = this.#drain(queues, now);
      if (batches.length === 0) break;
      this.#produce(connection, batches);
      if (connection.ended !== undefined || this.#isStepOver(now)) break;
    }
    return Infinity;
  }

  /** Whether a step that began at `start` has kept the event loop for long enough; what is left is then looked at anew. */
  #isStepOver(start: number): boolean {
    if (this.#deps.clock.now() - start < STEP_MS) return false;
    this.wake();
    return true;
  }

  /** Takes at most one batch of each queue, `maxRequestSize` bytes in all; queues it took from go to the end of the line. */
  #drain(queues: PartitionQueue[], now: number): ProducerBatch[] {
    const { maxRequestSize } = this.#deps.options;
    const batches: ProducerBatch[] = [];
    let size = 0;
    for (const queue of queues) {
      const head = queue.waiting.peek();
      if (head === undefined || this.#sendableAt(queue, now) > now || !this.#mayLeave(queue, head)) continue;
      // A batch larger than a request still goes, alone; else it could never be sent.
      if (batches.length > 0 && size + head.builder.size > maxRequestSize) break;
      this.#accumulator.take(queue);
      size += head.builder.size;
      batches.push(head);
    }
    return batches;
  }

  /** Whether order and sequence allow the first batch of `queue` to leave; numbers it if it is new. */
  #mayLeave(queue: PartitionQueue, head: ProducerBatch): boolean {
    const { identity, options } = this.#deps;
    if (options.maxInFlightRequestsPerConnection === 1 && queue.onWire > 0) return false;
    if (identity === undefined) return true;
    if (identity.id < 0 || queue.wantsEpoch) return false;
    // A batch sent before goes on alone, oldest first: the broker takes only the next in sequence.
    if (head.baseSequence >= 0) return queue.inFlight[0] === head;
    if (queue.unresolvedSequence >= 0) return false;
    if (queue.producerId !== identity.id || queue.producerEpoch !== identity.epoch) {
      if (queue.inFlight.length > 0) return false;
      queue.restart(identity.id, identity.epoch);
    }
    // A broker takes any first sequence of a producer it does not know: until one batch is acknowledged, a second one
    // would be stored even if the first was not. Kafka's own client does not wait here.
    if (queue.lastAckedSequence < 0 && queue.inFlight.length > 0) return false;
    // The broker knows a producer's last five batches again. A batch that is sent again must still be one of them, so none
    // goes that is more than four behind the oldest unresolved one, be those between acknowledged or not. Kafka's own
    // client lets them go; then a second failure of the oldest ends in OUT_OF_ORDER_SEQUENCE_NUMBER, and in a duplicate.
    if (head.ordinal - (queue.inFlight[0] ?? head).ordinal >= REMEMBERED_BATCHES) return false;
    queue.assignSequence(head);
    return true;
  }

  #produce(connection: Connection, batches: ProducerBatch[]): void {
    const { cluster, options, requestTimeoutMs } = this.#deps;
    let version: number;
    try {
      version = connection.versions.pick(produceApi);
    } catch (cause) {
      for (const batch of batches) this.#fail(batch, cause as KafkaError, "not-written");
      return;
    }
    const { topics } = cluster.metadata;
    const idOf = (topic: string) => topics.get(topic)?.id ?? ZERO_UUID;
    if (version >= TOPIC_IDS_FROM && batches.some((batch) => idOf(batch.topic) === ZERO_UUID)) {
      version = TOPIC_IDS_FROM - 1;
    }
    const byTopic = new Map<
      string,
      { name: string; topicId: string; partitionData: { index: number; records: Uint8Array }[] }
    >();
    const sent: ProducerBatch[] = [];
    for (const batch of batches) {
      let records: Uint8Array;
      try {
        records = this.#seal(batch);
      } catch (cause) {
        this.#fail(batch, asKafkaError(cause), "not-written");
        continue;
      }
      let topic = byTopic.get(batch.topic);
      if (topic === undefined) {
        topic = { name: batch.topic, topicId: idOf(batch.topic), partitionData: [] };
        byTopic.set(batch.topic, topic);
      }
      topic.partitionData.push({ index: batch.partition, records });
      batch.onWire = true;
      batch.requests++;
      this.#accumulator.queueOf(batch).onWire++;
      sent.push(batch);
    }
    if (sent.length === 0) return;
    this.#deps.metrics.observe("records-per-request", sent.reduce((sum, { recordCount }) => sum + recordCount, 0));
    const acks = options.acks === "all" ? -1 : options.acks;
    const body = { transactionalId: null, acks, timeoutMs: requestTimeoutMs, topicData: [...byTopic.values()] };
    if (acks === 0) {
      this.#count(connection, 1);
      connection.post(produceApi, body, { version })
        .then(() => this.#posted(sent), (cause) => this.#lost(sent, asKafkaError(cause)))
        .finally(() => this.#count(connection, -1))
        .finally(() => this.wake());
    } else {
      connection.request(produceApi, body, { version, timeoutMs: requestTimeoutMs })
        .then((answer) => this.#answered(connection, sent, answer, idOf))
        .catch((cause) => this.#lost(sent, asKafkaError(cause)))
        .finally(() => this.wake());
    }
  }

  #seal(batch: ProducerBatch): Uint8Array {
    const { metrics, seal } = this.#deps;
    const records = batch.builder.seal({
      ...seal,
      producerId: batch.producerId,
      producerEpoch: batch.producerEpoch,
      baseSequence: batch.baseSequence,
    });
    if (seal.compression !== undefined) this.#accumulator.observeRatio(batch.topic, batch.builder.compressionRatio);
    metrics.sent(batch, records.length);
    return records;
  }

  #count(connection: Connection, by: number): void {
    const count = (this.#posting.get(connection) ?? 0) + by;
    if (count === 0) this.#posting.delete(connection);
    else this.#posting.set(connection, count);
  }

  /** acks=0: written is all that will ever be known. */
  #posted(batches: ProducerBatch[]): void {
    for (const batch of batches) {
      this.#offWire(batch);
      this.#settle(batch, () => batch.succeed(-1, -1));
    }
  }

  #answered(
    connection: Connection,
    batches: ProducerBatch[],
    answer: ProduceResponse,
    idOf: (topic: string) => string,
  ): void {
    const missing = new Set(batches);
    this.#deps.metrics.observe("produce-throttle-time", answer.throttleTimeMs);
    for (const topic of answer.responses) {
      for (const partition of topic.partitionResponses) {
        const batch = batches.find((b) =>
          // By id only where there is no name: before version 13 every answer has the id 0, and so have topics of old brokers.
          b.partition === partition.index &&
          (topic.name === "" ? idOf(b.topic) === topic.topicId : b.topic === topic.name)
        );
        if (batch === undefined || !missing.delete(batch)) {
          connection.close(
            new ProtocolError(
              `Produce answer for ${topic.name || topic.topicId}-${partition.index}, which was not sent`,
              {
                retriable: true,
              },
            ),
          );
          continue;
        }
        this.#takeLeaderHint(batch, partition, answer);
        this.#complete(batch, partition);
      }
    }
    if (missing.size === 0) return;
    const error = new ProtocolError(`Produce answer without ${[...missing].map((batch) => batch.text).join(", ")}`, {
      retriable: true,
      outcome: "unknown",
    });
    connection.close(error);
    this.#lost([...missing], error);
  }

  /** A broker that is no longer the leader may say who is (KIP-951). */
  #takeLeaderHint(batch: ProducerBatch, { currentLeader }: PartitionAnswer, { nodeEndpoints }: ProduceResponse): void {
    if (currentLeader === undefined || currentLeader.leaderId < 0) return;
    const endpoint = nodeEndpoints.find((node) => node.nodeId === currentLeader.leaderId);
    const { leaderId, leaderEpoch } = currentLeader;
    if (this.#deps.cluster.takeLeader(batch.topic, batch.partition, leaderId, leaderEpoch, endpoint)) {
      batch.retryAt = -1; // the reason to wait is gone
    }
  }

  /** No answer came, or none will. */
  #lost(batches: ProducerBatch[], error: KafkaError): void {
    this.#deps.cluster.requestUpdate();
    for (const batch of batches) {
      if (!batch.onWire) continue; // answered before the fault
      this.#offWire(batch);
      if (error.outcome !== "not-written") batch.maybeStored = true;
      this.#retryOrFail(batch, error, error.retriable);
    }
  }

  #complete(batch: ProducerBatch, answer: PartitionAnswer): void {
    const queue = this.#offWire(batch);
    const { errorCode } = answer;
    if (errorCode === 0 || errorCode === DUPLICATE_SEQUENCE_NUMBER) {
      const baseOffset = errorCode === 0 ? answer.baseOffset : -1;
      if (this.#deps.identity !== undefined) queue.acknowledged(batch, baseOffset);
      this.#settle(batch, () => batch.succeed(baseOffset, answer.logAppendTimeMs));
      return;
    }
    const known = errorOf(errorCode);
    const detail = answer.errorMessage === null ? "" : ` (${answer.errorMessage})`;
    const error = brokerError(errorCode, `${batch.text}: Produce${detail}`, {
      topic: batch.topic,
      partition: batch.partition,
    });
    if (errorCode === MESSAGE_TOO_LARGE && batch.recordCount > 1 && !batch.settled && !this.#isLate(batch)) {
      return void this.#split(batch, error);
    }
    if (known.refreshMetadata) this.#deps.cluster.requestUpdate();
    batch.maybeStored = batch.maybeStored || MAYBE_STORED.has(known.name);
    const isOutOfSequence = this.#deps.identity !== undefined &&
      (errorCode === OUT_OF_ORDER_SEQUENCE_NUMBER || errorCode === UNKNOWN_PRODUCER_ID);
    if (isOutOfSequence && this.#needsEpoch(queue, batch, answer)) {
      queue.wantsEpoch = true;
      this.#accumulator.unsettled.add(queue);
    }
    this.#retryOrFail(batch, error, isOutOfSequence || known.retriable, answer);
  }

  /** Whether a batch that the broker found out of sequence can only go on in a new epoch; else it goes again as it is. */
  #needsEpoch(queue: PartitionQueue, batch: ProducerBatch, { errorCode, logStartOffset }: PartitionAnswer): boolean {
    if (errorCode === UNKNOWN_PRODUCER_ID) return logStartOffset !== -1 && !batch.renumbered;
    // Behind a batch that failed it goes again once that one is through. With none before it nothing will change.
    return queue.inFlight[0] === batch || queue.unresolvedSequence === batch.baseSequence;
  }

  #retryOrFail(batch: ProducerBatch, error: KafkaError, retriable: boolean, answer?: PartitionAnswer): void {
    // Failed before, by its delivery time-out: what the broker says now changes nothing for the records.
    if (batch.settled) return;
    const { clock, metrics, options, random, retryBackoff } = this.#deps;
    if (retriable && !this.#isLate(batch) && batch.attempts < options.retries && options.acks !== 0) {
      const wait = batch.retryAt === -1 ? 0 : backoffMs(retryBackoff, batch.attempts + 1, random);
      batch.attempts++;
      batch.retryAt = clock.now() + wait;
      batch.lastError = error;
      metrics.records("record-retry", batch);
      this.#deps.logger.debug(`${batch.text}: attempt ${batch.attempts} failed, trying again: ${error.message}`);
      this.#accumulator.putBack(batch);
      return;
    }
    const outcome = batch.maybeStored
      ? "unknown"
      : retriable || error.outcome === "not-written"
      ? "not-written"
      : "rejected";
    this.#fail(batch, error, outcome, answer);
  }

  #isLate(batch: ProducerBatch): boolean {
    return this.#deps.clock.now() - batch.createdAt >= this.#deps.options.deliveryTimeoutMs;
  }

  /**
   * Sends the records of a batch that is too large for the broker in smaller ones. It costs none of its attempts. Until the
   * code for that is loaded the batch stands in its place and holds back what is behind it.
   */
  async #split(batch: ProducerBatch, error: KafkaError): Promise<void> {
    batch.retryAt = Infinity;
    batch.lastError = error;
    this.#accumulator.putBack(batch);
    try {
      const { splitBatch } = await import("./split_batch.ts");
      if (batch.settled) return;
      const parts = splitBatch(batch.builder, this.#deps.options.batchSize);
      this.#deps.metrics.count("batch-split-total", 1);
      this.#deps.logger.debug(`${batch.text}: ${error.message}, split into ${parts.length} batches`);
      this.#accumulator.replace(batch, parts);
    } catch {
      if (batch.settled) return;
      this.#accumulator.remove(batch);
      this.#fail(batch, error, "rejected");
    } finally {
      this.wake();
    }
  }

  /** Ends a batch in failure. */
  #fail(batch: ProducerBatch, cause: KafkaError, outcome: Outcome, answer?: PartitionAnswer): void {
    const queue = this.#accumulator.queueOf(batch);
    this.#giveUpSequence(queue, batch);
    this.#deps.metrics.records("record-error", batch);
    const error = this.#produceError(batch, cause, outcome);
    const reasons = new Map((answer?.recordErrors ?? []).map((e) => [e.batchIndex, e.batchIndexErrorMessage]));
    this.#settle(
      batch,
      () => batch.fail(error, reasons.size === 0 ? undefined : (i) => recordError(batch, i, reasons, error)),
    );
  }

  /** A sequenced batch that ends in failure leaves a gap, or the doubt whether there is one. */
  #giveUpSequence(queue: PartitionQueue, batch: ProducerBatch): void {
    if (this.#deps.identity === undefined || batch.baseSequence < 0) return;
    queue.resolved(batch);
    const after = sequenceAfter(batch.baseSequence, batch.recordCount);
    if (batch.maybeStored) queue.unresolvedSequence = after;
    else queue.wantsEpoch = true;
    this.#accumulator.unsettled.add(queue);
  }

  #produceError(batch: ProducerBatch, cause: KafkaError, outcome: Outcome): ProduceError {
    const { clock, options } = this.#deps;
    const elapsed = Math.round(clock.now() - batch.createdAt);
    const one = batch.recordCount === 1;
    const attempts = batch.requests === 0
      ? "never sent"
      : batch.requests === 1
      ? "1 attempt"
      : `${batch.requests} attempts`;
    const retries = options.retries === 0 ? ", retries are off" : "";
    return new ProduceError(
      `${batch.text}: ${one ? "1 record" : `${batch.recordCount} records`} failed after ${elapsed} ms (${attempts}` +
        `${retries}): ${cause.message}. ${one ? "It" : "They"} ${whatToDo(outcome, one, cause)}`,
      {
        code: cause.code,
        retriable: cause.retriable,
        outcome,
        topic: batch.topic,
        partition: batch.partition,
        cause,
      },
    );
  }

  #offWire(batch: ProducerBatch): PartitionQueue {
    const queue = this.#accumulator.queueOf(batch);
    if (batch.onWire) {
      batch.onWire = false;
      queue.onWire--;
    }
    // Settled while its request was under way: only the memory was still in use.
    if (batch.settled) this.#accumulator.release(batch);
    return queue;
  }

  #settle(batch: ProducerBatch, settle: () => void): void {
    if (batch.settled) return;
    settle();
    this.#accumulator.settled(batch);
    if (!batch.onWire) this.#accumulator.release(batch);
  }

  /** Fails every batch older than the delivery time-out. */
  #expire(now: number): void {
    const { options } = this.#deps;
    let oldest = Infinity;
    for (const batch of [...this.#accumulator.incomplete]) {
      const at = batch.createdAt + options.deliveryTimeoutMs;
      if (at > now) {
        oldest = Math.min(oldest, at);
        continue;
      }
      if (batch.onWire) batch.maybeStored = true;
      else this.#accumulator.remove(batch);
      const cause = batch.lastError?.message ?? this.#whyStuck(batch);
      const error = new TimeoutError(`deliveryTimeoutMs=${options.deliveryTimeoutMs} passed; last: ${cause}`, {
        code: "DELIVERY_TIMEOUT",
        retriable: false,
        cause: batch.lastError,
      });
      this.#fail(batch, error, batch.maybeStored ? "unknown" : "not-written");
    }
    this.#nextExpiry = oldest;
  }

  #whyStuck(batch: ProducerBatch): string {
    const { cluster, identity } = this.#deps;
    if (batch.onWire) return "no answer from the broker";
    const leader = cluster.leader(batch.topic, batch.partition);
    if (leader === undefined) return cluster.topicError(batch.topic)?.message ?? "no leader known";
    if (identity !== undefined && identity.id < 0) return "no producer id yet";
    return leader.node.connection("main") === undefined ? `no connection to ${leader.node.text}` : "the queue was long";
  }

  /** Keeps an id at hand, and lets partitions start a new epoch once nothing of theirs is on its way. */
  #keepIdentity(identity: ProducerIdentity): void {
    const failure = identity.takeFailure();
    if (failure !== undefined && !(failure instanceof TimeoutError)) {
      for (const queue of [...this.#accumulator.active]) {
        for (const batch of [...queue.waiting]) {
          this.#accumulator.remove(batch);
          this.#fail(batch, failure, batch.maybeStored ? "unknown" : "not-written");
        }
      }
    }
    for (const queue of this.#accumulator.unsettled) {
      if (queue.unresolvedSequence >= 0 && queue.inFlight.length === 0) {
        // What came after the doubtful batch was acknowledged, so the gap is none; else only a new epoch helps.
        if (queue.nextSequence === sequenceAfter(queue.lastAckedSequence, 1)) queue.unresolvedSequence = -1;
        else queue.wantsEpoch = true;
      }
    }
    const ready = [...this.#accumulator.unsettled].filter((queue) => queue.wantsEpoch && queue.onWire === 0);
    if (ready.length > 0 && identity.id >= 0) {
      identity.nextEpoch();
      if (identity.id >= 0) { for (const queue of ready) queue.restart(identity.id, identity.epoch); }
    }
    for (const queue of this.#accumulator.unsettled) {
      if (!queue.wantsEpoch && queue.unresolvedSequence < 0) this.#accumulator.unsettled.delete(queue);
    }
    if (this.#accumulator.active.size > 0) identity.ensure();
  }
}

/** The end of an error's message: what became of the records, and what can be done. */
function whatToDo(outcome: Outcome, one: boolean, { code }: KafkaError): string {
  const [was, it] = one ? ["was", "it"] : ["were", "them"];
  switch (outcome) {
    case "not-written":
      return `${was} not stored; sending ${it} again is safe.`;
    case "unknown":
      return `may be stored: check the topic before sending ${it} again.`;
    default:
      return `${was} refused; sending the same again will not help.${
        code === "MESSAGE_TOO_LARGE" ? " Raise the topic's max.message.bytes, or send less in one record." : ""
      }`;
  }
}

/** The error of one record of a batch of which the broker named those it refused (KIP-467). */
function recordError(
  batch: ProducerBatch,
  index: number,
  reasons: ReadonlyMap<number, string | null>,
  error: ProduceError,
): KafkaError {
  const reason = reasons.get(index);
  const isNamed = reason !== undefined;
  const why = isNamed
    ? `this record was refused${reason === null ? "" : `: ${reason}`}. Sending the same again will not help.`
    : "it failed because another record of its batch was refused. It was not stored; sending it again without that one " +
      "is safe.";
  return new ProduceError(`${batch.text}: record ${index} of ${batch.recordCount}: ${why}`, {
    code: isNamed && reasons.size === 1 ? error.code : "INVALID_RECORD",
    outcome: isNamed || error.outcome === "unknown" ? error.outcome : "not-written",
    topic: batch.topic,
    partition: batch.partition,
    cause: error,
  });
}

function asKafkaError(cause: unknown): KafkaError {
  return cause instanceof KafkaError ? cause : new ConnectionError(String(cause), { cause, retriable: false });
}
