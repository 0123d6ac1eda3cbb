import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfigError, ConnectionError, TimeoutError } from "../../src/core/kafka_error.ts";
import { backoffMs, retry, type RetryOptions } from "../../src/core/retry.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const almostOne = 0.9999;

/** Options for a call that waits 100, 200, 400, … up to 1000 ms, without jitter. */
function options(clock: ManualClock, more: Partial<RetryOptions> = {}): RetryOptions {
  return { initialMs: 100, maxMs: 1000, timeoutMs: 10_000, clock, random: () => 0.5, what: "create topic t", ...more };
}

function refused(): ConnectionError {
  return new ConnectionError("connect b:1: connection refused", { code: "ECONNREFUSED" });
}

describe("backoffMs", () => {
  // Extremes of 200,000 calls each of org.apache.kafka.common.utils.ExponentialBackoff (4.3.1) with multiplier 2 and
  // jitter 0.2; it answers whole milliseconds, rounded down. Its first attempt is 0, ours is failure 1.
  const java: readonly [initialMs: number, maxMs: number, failures: number, low: number, high: number][] = [
    [100, 1000, 1, 80, 119],
    [100, 1000, 2, 160, 239],
    [100, 1000, 3, 320, 479],
    [100, 1000, 4, 640, 959],
    [100, 1000, 5, 800, 1000],
    [100, 1000, 6, 800, 1000],
    [100, 1000, 11, 800, 1000],
    [100, 1000, 41, 800, 1000],
    [1000, 100, 1, 100, 100],
    [1000, 100, 5, 100, 100],
    [50, 50, 1, 50, 50],
    [50, 1000, 1, 40, 59],
    [50, 1000, 5, 640, 959],
    [50, 1000, 6, 800, 1000],
  ];

  test("waits as Java does: doubled, 20 % more or less, at most the maximum", () => {
    for (const [initialMs, maxMs, failures, low, high] of java) {
      const wait = (random: number) => Math.floor(backoffMs({ initialMs, maxMs }, failures, () => random));
      assert.deepEqual([wait(0), wait(almostOne)], [low, high], `${initialMs}..${maxMs}, failure ${failures}`);
    }
  });

  test("stays finite after any number of failures", () => {
    for (const failures of [0, 1e3, 1e9, Number.MAX_SAFE_INTEGER]) {
      const wait = backoffMs({ initialMs: 50, maxMs: 1000 }, failures, () => 0);
      assert.ok(wait >= 40 && wait <= 1000, String(wait));
    }
  });
});

describe("retry", () => {
  test("answers what the first attempt that succeeds answers, after the waits between", async () => {
    const clock = new ManualClock();
    const times: number[] = [];
    const result = await clock.runUntil(retry(options(clock), () => {
      times.push(clock.now());
      return times.length < 4 ? Promise.reject(refused()) : Promise.resolve("done");
    }));
    assert.equal(result, "done");
    assert.deepEqual(times, [0, 100, 300, 700]);
    assert.equal(clock.pendingTimers, 0);
  });

  test("gives each attempt what is left of the budget", async () => {
    const clock = new ManualClock();
    const budgets: number[] = [];
    await clock.runUntil(retry(options(clock, { timeoutMs: 1000 }), (left) => {
      budgets.push(left);
      return budgets.length < 3 ? Promise.reject(refused()) : Promise.resolve();
    }));
    assert.deepEqual(budgets, [1000, 900, 700]);
  });

  test("does not try again what cannot get better", async () => {
    const clock = new ManualClock();
    let attempts = 0;
    for (const error of [new ConfigError("bad name"), new TypeError("a bug")]) {
      const call = retry(options(clock), () => {
        attempts++;
        return Promise.reject(error);
      });
      await assert.rejects(call, (thrown: unknown) => thrown === error);
    }
    assert.equal(attempts, 2);
  });

  test("gives up when the next attempt would come too late, and says what failed last", async () => {
    const clock = new ManualClock();
    const last = refused();
    const call = retry(options(clock, { timeoutMs: 750 }), () => Promise.reject(last));
    await assert.rejects(clock.runUntil(call), (error: unknown) => {
      assert.ok(error instanceof TimeoutError);
      assert.equal(
        error.message,
        "create topic t: gave up after 700 ms and 4 attempts; last: connect b:1: connection refused",
      );
      assert.equal(error.cause, last);
      return true;
    });
    assert.equal(clock.now(), 700);
    assert.equal(clock.pendingTimers, 0);
  });

  test("stops at once when the signal fires during a wait", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const call = retry(options(clock, { signal: controller.signal }), () => Promise.reject(refused()));
    const rejected = assert.rejects(call, { name: "AbortedError", code: "ABORTED", cause: "enough" });
    await clock.advance(50);
    controller.abort("enough");
    await rejected;
    assert.equal(clock.pendingTimers, 0);
  });

  test("does not begin when the signal has fired", async () => {
    const clock = new ManualClock();
    const call = retry(options(clock, { signal: AbortSignal.abort("no") }), () => assert.fail("tried"));
    await assert.rejects(call, { name: "AbortedError", cause: "no" });
  });
});
