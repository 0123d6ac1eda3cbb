/**
 * The one stream of batches behind a consumer: begins when the first one is asked for, ends in one place.
 *
 * @module
 */

import type { ClientContext } from "../client/client_context.ts";
import { Cluster } from "../client/cluster.ts";
import { abortError } from "../core/abort_error.ts";
import { ClosedError, KafkaError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import type { ConsumerBatch } from "./consumer_batch.ts";
import type { ConsumerOptions } from "./consumer_options.ts";
import type { FetchedPartition } from "./fetched_partition.ts";
import type { Fetcher } from "./fetcher.ts";
import type { PartitionState } from "./partition_state.ts";
import type { PartitionRange } from "./start_positions.ts";

/** Most milliseconds of uninterrupted work on data at hand before timers and sockets get their turn. */
const TURN_MS = 10;

/** The batches of a consumer. */
export class BatchSource {
  readonly #context: ClientContext;
  readonly #options: Resolved<ConsumerOptions>;
  readonly #cluster: Cluster;
  readonly #closing = new AbortController();
  readonly #onAbort = () => this.end(abortError(this.#options.signal!));
  #starting: Promise<Fetcher> | undefined;
  #fetcher: Fetcher | undefined;
  #current: FetchedPartition | undefined;
  #failure: KafkaError | undefined;
  #turnStart = -Infinity;

  /** Makes it; nothing is connected before {@linkcode more} is called. */
  constructor(context: ClientContext, options: Resolved<ConsumerOptions>) {
    this.#context = context;
    this.#options = options;
    this.#cluster = new Cluster({
      client: context.client,
      connect: context.connect,
      allowAutoTopicCreation: options.allowAutoCreateTopics,
    });
    const { signal } = options;
    if (signal?.aborted) this.end(abortError(signal));
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Whether nothing more will come. */
  get isEnded(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The partitions being read; empty before reading has begun. */
  get partitions(): readonly PartitionState[] {
    return this.#fetcher?.partitions ?? [];
  }

  /** The next batch if it is at hand. */
  take(): ConsumerBatch | undefined {
    if (this.#current === undefined || this.isEnded) return undefined;
    const batch = this.#current.next();
    if (batch === undefined) this.#current = undefined;
    return batch;
  }

  /** Resolves to true when there may be more to take, to false when nothing more will come. */
  async more(): Promise<boolean> {
    try {
      if (await this.#advance()) return true;
    } catch (cause) {
      // What broke off because everything was ended is no news.
      if (!this.isEnded) throw this.fail(cause);
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    return false;
  }

  /** Ends everything because of `cause`, and answers with the error to throw. */
  fail(cause: unknown): KafkaError {
    const error = cause instanceof KafkaError ? cause : new KafkaError(`consumer: ${cause}`, { cause });
    this.end();
    this.#failure = undefined;
    return error;
  }

  /** Ends everything; `failure`, if given, is told to who asks next. The only place where reading ends. Safe to repeat. */
  end(failure?: KafkaError): void {
    if (this.isEnded) return;
    this.#failure = failure;
    this.#current = undefined;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    const reason = failure ?? new ClosedError("the consumer was closed");
    this.#closing.abort(reason);
    this.#cluster.close(reason);
  }

  /** Waits until something can be taken; answers false when reading has ended. */
  async #advance(): Promise<boolean> {
    if (this.isEnded) return false;
    const fetcher = await (this.#starting ??= this.#start());
    while (!this.isEnded) {
      if (this.#current !== undefined) return true;
      this.#current = fetcher.take();
      if (this.#current !== undefined) await this.#turn();
      else if (fetcher.failure !== undefined) throw fetcher.failure;
      else if (fetcher.isFinished) this.end();
      else {
        await fetcher.arrival();
        this.#turnStart = this.#context.client.clock.now();
      }
    }
    return false;
  }

  /** Lets timers and sockets have their turn when the caller has long been busy with what was at hand. */
  async #turn(): Promise<void> {
    const { clock } = this.#context.client;
    if (clock.now() - this.#turnStart < TURN_MS) return;
    await new Promise<void>((resolve) => clock.nextTurn(resolve));
    this.#turnStart = clock.now();
  }

  async #start(): Promise<Fetcher> {
    const { client } = this.#context;
    const { signal } = this.#closing;
    const consumer = this.#options;
    // Loaded on demand, so that a program that only produces does not carry what reads.
    const [{ Fetcher }, { startPositions }, codecs, crc32c] = await Promise.all([
      import("./fetcher.ts"),
      import("./start_positions.ts"),
      this.#context.codecs(),
      this.#context.crc32c(),
    ]);
    const timeoutMs = client.defaultApiTimeoutMs;
    const ranges = await this.#ranges(timeoutMs);
    const { isolationLevel } = consumer;
    const states = await startPositions(this.#cluster, client, ranges, { timeoutMs, signal, isolationLevel });
    this.#fetcher = new Fetcher(states, {
      cluster: this.#cluster,
      client,
      consumer,
      decoding: { codecs, crc32c, checkCrcs: consumer.checkCrcs },
      follow: consumer.until === undefined ? topicsOf(consumer) : [],
      signal,
    });
    this.#turnStart = client.clock.now();
    return this.#fetcher;
  }

  /** What to read, once the topics are known. */
  async #ranges(timeoutMs: number): Promise<PartitionRange[]> {
    const { assignments, from, until } = this.#options;
    const wait = { timeoutMs, signal: this.#closing.signal };
    if (assignments !== undefined) {
      return await Promise.all(assignments.map(async (wanted) => {
        const { topic, partition } = wanted;
        const { id } = await this.#cluster.waitForTopic(topic, wait, partition);
        return { topic, topicId: id, partition, from: wanted.from ?? from, until: wanted.until ?? until };
      }));
    }
    const topics = await Promise.all(topicsOf(this.#options).map((name) => this.#cluster.waitForTopic(name, wait)));
    return topics.flatMap(({ name, id, partitions }) =>
      partitions.map((_, partition) => ({ topic: name, topicId: id, partition, from, until }))
    );
  }
}

function topicsOf({ topics = [] }: Resolved<ConsumerOptions>): string[] {
  return [...new Set(typeof topics === "string" ? [topics] : topics)];
}
