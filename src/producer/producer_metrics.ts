/**
 * A producer's figures under the names that Java's producer gives them, by client, node and topic.
 *
 * What Java measures of its selector thread (`select-*`, `io-*`) has no counterpart here and is left out.
 *
 * @module
 */

import type { ClientOptions } from "../client/client_options.ts";
import type { Cluster } from "../client/cluster.ts";
import type { MetricTags } from "../core/metrics.ts";
import { MetricsRecorder, type SeriesFigures } from "../core/metrics_recorder.ts";
import type { Resolved } from "../core/option_table.ts";
import type { BufferPool } from "./buffer_pool.ts";
import type { ProducerBatch } from "./producer_batch.ts";

/** One figure of a producer. */
export interface Metric {
  /** Java's name, such as `record-send-rate`. */
  readonly name: string;
  /** Java's group: `producer-metrics`, `producer-node-metrics` or `producer-topic-metrics`. */
  readonly group: string;
  /** What it belongs to: `client-id`, and `node-id` or `topic`. */
  readonly tags: MetricTags;
  /** The figure; rates are per second. NaN for an average or a maximum of nothing. */
  readonly value: number;
}

/** Where a snapshot finds what is not counted but looked up. */
export interface MetricSources {
  /** Nodes and the age of metadata. */
  readonly cluster: Cluster;
  /** Memory. */
  readonly pool: BufferPool;
  /** Records that wait for metadata, a serializer or memory. */
  readonly waiting: number;
}

/** Records a producer's figures. */
export class ProducerMetrics {
  /** Takes the figures of connections as well. */
  readonly recorder: MetricsRecorder;
  readonly #now: () => number;
  readonly #tags: MetricTags;
  readonly #topicTags = new Map<string, MetricTags>();

  /** Hands all figures on to the client's own `metrics`. */
  constructor({ clientId, clock, metrics }: Resolved<ClientOptions>) {
    this.#now = () => clock.now();
    this.#tags = { "client-id": clientId };
    this.recorder = new MetricsRecorder(metrics, this.#now);
  }

  /** Counts something of the whole producer. */
  count(name: string, value: number): void {
    this.recorder.count(name, value, this.#tags);
  }

  /** Measures something of the whole producer. */
  observe(name: string, value: number): void {
    this.recorder.observe(name, value, this.#tags);
  }

  /** Adds time spent waiting to `NAME-ns-total`. */
  waited(name: string, ms: number): void {
    this.count(`${name}-ns-total`, ms * 1e6);
  }

  /** Counts records of a batch that is sent again or failed: `record-retry` or `record-error`. */
  records(name: string, batch: ProducerBatch): void {
    this.count(`${name}-total`, batch.recordCount);
    this.recorder.count(`${name}-total`, batch.recordCount, this.#tagsOf(batch.topic));
  }

  /** Measures a batch of `size` bytes that is being sent. */
  sent(batch: ProducerBatch, size: number): void {
    const topic = this.#tagsOf(batch.topic);
    const ratio = batch.builder.compressionRatio;
    // First all of the one, then all of the other: that is faster.
    this.count("record-send-total", batch.recordCount);
    this.observe("batch-size", size);
    this.observe("record-size", batch.largestRecord);
    this.observe("record-queue-time", this.#now() - batch.createdAt);
    this.observe("compression-rate", ratio);
    this.recorder.count("record-send-total", batch.recordCount, topic);
    this.recorder.count("byte-total", size, topic);
    this.recorder.observe("compression-rate", ratio, topic);
  }

  /** All figures as of now. */
  snapshot({ cluster, pool, waiting }: MetricSources): Metric[] {
    const metrics: Metric[] = [];
    const client = this.#tags;
    const push = (name: string, tags: MetricTags, value: number) => {
      const group = "topic" in tags
        ? "producer-topic-metrics"
        : "node-id" in tags
        ? "producer-node-metrics"
        : "producer-metrics";
      metrics.push({ name, group, tags, value });
    };
    // What nodes have is the client's, too.
    const ofNodes = new Map<string, SeriesFigures>();
    this.recorder.forEach((name, tags, figures) => {
      pushFigures(name, tags, figures, push);
      if ("node-id" in tags) ofNodes.set(name, sum(figures, ofNodes.get(name)));
    });
    for (const [name, figures] of ofNodes) pushFigures(name, client, figures, push);
    const total = (name: string) => ofNodes.get(name)?.total ?? 0;
    let inFlight = 0;
    for (const node of cluster.nodes.values()) inFlight += node.connection("main")?.inFlight ?? 0;
    push("requests-in-flight", client, inFlight);
    push("connection-count", client, total("connection-creation-total") - total("connection-close-total"));
    push("metadata-age", client, cluster.metadataAgeMs / 1000);
    push("buffer-total-bytes", client, pool.total);
    push("buffer-available-bytes", client, pool.available);
    push("waiting-threads", client, waiting);
    return metrics;
  }

  #tagsOf(topic: string): MetricTags {
    let tags = this.#topicTags.get(topic);
    if (tags === undefined) this.#topicTags.set(topic, tags = { ...this.#tags, topic });
    return tags;
  }
}

function pushFigures(
  name: string,
  tags: MetricTags,
  { isCount, total, sum, count, max, seconds }: SeriesFigures,
  push: (name: string, tags: MetricTags, value: number) => void,
): void {
  if (isCount) {
    push(name, tags, total);
    // Of nanoseconds Java tells the total alone.
    if (!name.endsWith("-ns-total")) push(name.replace("-total", "-rate"), tags, sum / seconds);
  } else {
    const average = sum / count;
    if ("topic" in tags) return push(name, tags, average); // compression-rate, the only one
    push(`${name}-avg`, tags, average);
    push(`${name}-max`, tags, count === 0 ? NaN : max);
  }
}

function sum(a: SeriesFigures, b: SeriesFigures | undefined): SeriesFigures {
  if (b === undefined) return a;
  return {
    isCount: a.isCount,
    total: a.total + b.total,
    sum: a.sum + b.sum,
    count: a.count + b.count,
    max: Math.max(a.max, b.max),
    seconds: Math.max(a.seconds, b.seconds),
  };
}
