/**
 * Where figures go. Names are those of Kafka's Java client (`record-send-total`, …).
 *
 * @module
 */

/** What a figure belongs to, such as `{ "client-id": "a", topic: "orders" }`. */
export type MetricTags = Readonly<Record<string, string>>;

/** Takes figures as they arise. */
export interface Metrics {
  /** Adds `value` to the total `name`. */
  count(name: string, value: number, tags: MetricTags): void;
  /** Takes one measured `value` of `name`, for averages and maxima. */
  observe(name: string, value: number, tags: MetricTags): void;
}

/** Forgets everything; the default. */
export const noMetrics: Metrics = { count() {}, observe() {} };
