/**
 * Time that stands still until a test moves it. Timers fire in the order in which they are due, and between any two of
 * them everything that can happen without more time has happened.
 *
 * @module
 */

import type { Clock, Timer } from "../../src/core/clock.ts";

/** Settings of a {@linkcode ManualClock}. */
export interface ManualClockOptions {
  /** First answer of `now`. Default 0. */
  readonly now?: number;
  /** First answer of `wallTime`. Default 2024-01-01T00:00:00Z. */
  readonly wallTime?: number;
  /**
   * Turns of the event loop that must pass without work before time moves on. Default 2, which is enough for all that
   * happens in memory; code under test that waits for files, sockets or `crypto` needs more.
   */
  readonly quietTurns?: number;
  /** Real milliseconds that `runUntil` waits for the outside world when no timer is left. Default 2000. */
  readonly patienceMs?: number;
}

interface ManualTimer {
  readonly due: number;
  readonly run: () => void;
}

/** A clock in the hands of a test. */
export class ManualClock implements Clock {
  #now: number;
  readonly #wallOffset: number;
  readonly #quietTurns: number;
  readonly #patienceMs: number;
  /** By due time; timers due at the same time in the order they were set. */
  readonly #timers: ManualTimer[] = [];
  #turns: (() => void)[] = [];

  constructor(options: ManualClockOptions = {}) {
    this.#now = options.now ?? 0;
    this.#wallOffset = (options.wallTime ?? Date.UTC(2024, 0, 1)) - this.#now;
    this.#quietTurns = options.quietTurns ?? 2;
    this.#patienceMs = options.patienceMs ?? 2000;
  }

  /** Timers that are set and have not fired. A closed client must leave none. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return Math.floor(this.#now + this.#wallOffset);
  }

  setTimer(ms: number, run: () => void): Timer {
    const timer: ManualTimer = { due: this.#now + (ms > 0 ? ms : 0), run };
    let at = this.#timers.length;
    while (at > 0 && this.#timers[at - 1]!.due > timer.due) at--;
    this.#timers.splice(at, 0, timer);
    return {
      cancel: () => {
        const index = this.#timers.indexOf(timer);
        if (index >= 0) this.#timers.splice(index, 1);
      },
    };
  }

  nextTurn(run: () => void): void {
    this.#turns.push(run);
  }

  /** Moves time on by `ms` while nothing else happens, as work does that keeps the event loop for so long. */
  spend(ms: number): void {
    this.#now += ms;
  }

  /** Lets everything happen that needs no time: promises, and what was handed to `nextTurn`. */
  async flush(): Promise<void> {
    for (let quiet = 0; quiet < this.#quietTurns; quiet++) {
      await turn();
      while (this.#turns.length > 0) {
        const turns = this.#turns;
        this.#turns = [];
        for (const run of turns) run();
        await turn();
        quiet = 0;
      }
    }
  }

  /** Moves time on by `ms`, firing every timer that is due until then at its own time, also those set meanwhile. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.flush();
    while (this.#timers.length > 0 && this.#timers[0]!.due <= end) await this.#fireFirst();
    this.#now = end;
  }

  /** Moves time from timer to timer until `promise` settles, `limitMs` at most; answers what it resolves to. */
  async runUntil<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    const end = this.#now + limitMs;
    let settled = false;
    const done = () => settled = true;
    promise.then(done, done);
    await this.flush();
    while (!settled) {
      if (this.#timers.length === 0) await this.#waitOutside(() => settled);
      else if (this.#timers[0]!.due > end) throw new Error(`not settled after ${limitMs} ms of the test's time`);
      else await this.#fireFirst();
    }
    return await promise;
  }

  async #fireFirst(): Promise<void> {
    const timer = this.#timers.shift()!;
    this.#now = timer.due;
    timer.run();
    await this.flush();
  }

  /** Something real may be under way: a file, a socket, a digest. */
  async #waitOutside(settled: () => boolean): Promise<void> {
    const start = Date.now();
    while (!settled() && this.#timers.length === 0) {
      if (Date.now() - start > this.#patienceMs) throw new Error("never settles: no timer is set and nothing happens");
      await new Promise((resolve) => setTimeout(resolve, 1));
      await this.flush();
    }
  }
}

/** One turn of the event loop, with all the promises in it. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
