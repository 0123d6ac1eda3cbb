const BUCKETS = 64;
const FIRST_STEP_MS = 1000;

/** Counts over time in a fixed number of steps, which become longer as the span grows. */
export class TimeHistogram {
  #counts: number[] = new Array(BUCKETS).fill(0);
  #from = 0;
  #step = FIRST_STEP_MS;
  #isEmpty = true;

  /** Counts one at `timestamp`, in milliseconds. */
  add(timestamp: number): void {
    if (this.#isEmpty) {
      this.#isEmpty = false;
      this.#from = Math.floor(timestamp / this.#step) * this.#step;
    }
    let at = Math.floor((timestamp - this.#from) / this.#step);
    while (at < 0 || at >= BUCKETS) {
      this.#widen(timestamp);
      at = Math.floor((timestamp - this.#from) / this.#step);
    }
    this.#counts[at]!++;
  }

  /** The counts from the first step with any to the last. */
  result(): { from: number; stepMs: number; counts: number[] } {
    const first = this.#counts.findIndex((count) => count > 0);
    if (first < 0) return { from: 0, stepMs: 0, counts: [] };
    const last = this.#counts.findLastIndex((count) => count > 0);
    return {
      from: this.#from + first * this.#step,
      stepMs: this.#step,
      counts: this.#counts.slice(first, last + 1),
    };
  }

  /** Makes steps twice as long, and moves the start so that `timestamp` comes nearer. */
  #widen(timestamp: number): void {
    const step = this.#step * 2;
    const counts: number[] = new Array(BUCKETS).fill(0);
    const first = this.#counts.findIndex((count) => count > 0);
    const earliest = Math.min(timestamp, this.#from + first * this.#step);
    // At most half of the steps earlier, lest what is counted falls off the end.
    const start = Math.floor(Math.max(earliest, this.#from - (BUCKETS / 2 - 1) * step) / step) * step;
    for (const [i, count] of this.#counts.entries()) {
      if (count > 0) counts[Math.floor((this.#from + i * this.#step - start) / step)]! += count;
    }
    this.#counts = counts;
    this.#from = start;
    this.#step = step;
  }
}
