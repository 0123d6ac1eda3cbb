/**
 * Keeps figures as Kafka's Java client does: totals for ever; rates, averages and maxima over the last 30 to 60 seconds.
 *
 * To record costs two look-ups and a few additions, and no timer; figures are put together when somebody asks.
 *
 * @module
 */

import { type Metrics, type MetricTags, noMetrics } from "./metrics.ts";

/** What is known of one series of measurements. */
export interface SeriesFigures {
  /** Whether it counts something; else it measures. */
  readonly isCount: boolean;
  /** Sum of all that was ever recorded. */
  readonly total: number;
  /** Sum of what the windows hold. */
  readonly sum: number;
  /** How many measurements they hold. */
  readonly count: number;
  /** The greatest of them; −Infinity when there is none. */
  readonly max: number;
  /** How long they are, in seconds. */
  readonly seconds: number;
}

const WINDOW_MS = 30_000;

/** Measurements by time: the window under way and the one before it. */
class Series {
  readonly isCount: boolean;
  total = 0;
  #start: number;
  #current = [0, 0, -Infinity]; // sum, count, greatest
  #previous: number[] | undefined;

  constructor(isCount: boolean, now: number) {
    this.isCount = isCount;
    this.#start = now;
  }

  add(value: number, now: number): void {
    if (now - this.#start >= WINDOW_MS) this.#advance(now);
    this.total += value;
    const window = this.#current;
    window[0]! += value;
    window[1]!++;
    if (value > window[2]!) window[2] = value;
  }

  figures(now: number): SeriesFigures {
    if (now - this.#start >= WINDOW_MS) this.#advance(now);
    const [sum, count, max] = this.#current as [number, number, number];
    const [sumBefore, countBefore, maxBefore] = this.#previous ?? [0, 0, -Infinity];
    // Java, too, takes a window that has just begun for a whole one, so that the first records are no flood.
    const ms = this.#previous === undefined ? WINDOW_MS : WINDOW_MS + now - this.#start;
    return {
      isCount: this.isCount,
      total: this.total,
      sum: sum + sumBefore!,
      count: count + countBefore!,
      max: Math.max(max, maxBefore!),
      seconds: ms / 1000,
    };
  }

  #advance(now: number): void {
    const recent = now - this.#start < 2 * WINDOW_MS;
    this.#previous = recent ? this.#current : undefined;
    this.#start = recent ? this.#start + WINDOW_MS : now;
    this.#current = [0, 0, -Infinity];
  }
}

/** Takes figures, keeps them, and hands them on. */
export class MetricsRecorder implements Metrics {
  readonly #next: Metrics | undefined;
  readonly #now: () => number;
  readonly #series = new Map<string, { readonly tags: MetricTags; readonly byName: Map<string, Series> }>();
  // Whoever records keeps one object of tags for each thing that it measures, so this is the look-up there mostly is.
  readonly #byTags = new WeakMap<MetricTags, Map<string, Series>>();
  /** What was looked up last: several figures of one thing are recorded in a row. */
  #last: { readonly tags: MetricTags; readonly byName: Map<string, Series> } | undefined;

  /** Hands on to `next`, whose faults are its own; `now` answers milliseconds on a clock that never jumps. */
  constructor(next: Metrics, now: () => number) {
    this.#next = next === noMetrics ? undefined : next;
    this.#now = now;
  }

  /** Adds `value` to the total `name`. */
  count(name: string, value: number, tags: MetricTags): void {
    this.#add(name, value, tags, true);
    this.#handOn("count", name, value, tags);
  }

  /** Takes one measured `value` of `name`. */
  observe(name: string, value: number, tags: MetricTags): void {
    this.#add(name, value, tags, false);
    this.#handOn("observe", name, value, tags);
  }

  /** Calls `visit` for every series. */
  forEach(visit: (name: string, tags: MetricTags, figures: SeriesFigures) => void): void {
    const now = this.#now();
    for (const { tags, byName } of this.#series.values()) {
      for (const [name, series] of byName) visit(name, tags, series.figures(now));
    }
  }

  #handOn(how: "count" | "observe", name: string, value: number, tags: MetricTags): void {
    if (this.#next === undefined) return;
    try {
      this.#next[how](name, value, tags);
    } catch {
      // Whoever measures must not be able to stop what is measured.
    }
  }

  #add(name: string, value: number, tags: MetricTags, isCount: boolean): void {
    const now = this.#now();
    if (this.#last?.tags !== tags) this.#last = { tags, byName: this.#byTags.get(tags) ?? this.#seriesOf(tags) };
    const { byName } = this.#last;
    let series = byName.get(name);
    if (series === undefined) byName.set(name, series = new Series(isCount, now));
    series.add(value, now);
  }

  /** The series of things with these tags, by name. */
  #seriesOf(tags: MetricTags): Map<string, Series> {
    const key = JSON.stringify(tags);
    let known = this.#series.get(key);
    if (known === undefined) this.#series.set(key, known = { tags, byName: new Map() });
    this.#byTags.set(tags, known.byName);
    return known.byName;
  }
}
