/**
 * The producer id and epoch under which an idempotent producer numbers its records. The id comes from the cluster once;
 * the epoch goes up by itself whenever a partition has to start its sequence anew (KIP-360).
 *
 * @module
 */

import type { Cluster } from "../client/cluster.ts";
import type { KafkaError } from "../core/kafka_error.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { initProducerIdApi } from "../protocol/init_producer_id.ts";

const INT32_MAX = 2 ** 31 - 1;
const MAX_EPOCH = 32767;

/** The identity of one producer. */
export class ProducerIdentity {
  readonly #cluster: Cluster;
  readonly #timeoutMs: number;
  readonly #changed: () => void;
  #id = -1;
  #epoch = -1;
  #asking = false;
  #failure: KafkaError | undefined;

  /** `changed` is called when an id has come or could not be had. */
  constructor(cluster: Cluster, timeoutMs: number, changed: () => void) {
    this.#cluster = cluster;
    this.#timeoutMs = timeoutMs;
    this.#changed = changed;
  }

  /** The producer id; −1 until there is one. */
  get id(): number {
    return this.#id;
  }

  /** The epoch; −1 until there is one. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Why no id could be had; it is told once, and asked for again after. */
  takeFailure(): KafkaError | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Asks for an id unless there is one or it is being asked for. */
  ensure(): void {
    if (this.#id >= 0 || this.#asking) return;
    this.#asking = true;
    void this.#ask();
  }

  /** Moves on to the next epoch, or to a new id when there is none left. */
  nextEpoch(): void {
    if (this.#epoch < MAX_EPOCH) this.#epoch++;
    else this.#id = this.#epoch = -1;
  }

  async #ask(): Promise<void> {
    try {
      const answer = await this.#cluster.request(
        initProducerIdApi,
        { transactionalId: null, transactionTimeoutMs: INT32_MAX, producerId: -1, producerEpoch: -1 },
        {
          timeoutMs: this.#timeoutMs,
          check: ({ errorCode }) => {
            if (errorCode !== 0) throw brokerError(errorCode, "InitProducerId", { outcome: "not-written" });
          },
        },
      );
      this.#id = answer.producerId;
      this.#epoch = answer.producerEpoch;
    } catch (cause) {
      this.#failure = cause as KafkaError;
    } finally {
      this.#asking = false;
      this.#changed();
    }
  }
}
