import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleep, systemClock } from "../../src/core/clock.ts";
import { TimeoutError } from "../../src/core/kafka_error.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

describe("sleep", () => {
  test("resolves when the clock says so, not before", async () => {
    const clock = new ManualClock();
    let awake = false;
    const sleeping = sleep(clock, 1000).then(() => awake = true);
    await clock.advance(999);
    assert.equal(awake, false);
    await clock.advance(1);
    assert.equal(awake, true);
    await sleeping;
  });

  test("ends with the reason when the signal fires first, and leaves no timer", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const reason = new Error("enough");
    const rejected = assert.rejects(sleep(clock, 1000, controller.signal), {
      name: "AbortedError",
      code: "ABORTED",
      cause: reason,
    });
    assert.equal(clock.pendingTimers, 1);
    controller.abort(reason);
    await rejected;
    assert.equal(clock.pendingTimers, 0);
  });

  test("passes a reason of this library on as it is", async () => {
    const clock = new ManualClock();
    const reason = new TimeoutError("no connection within 10 ms");
    await assert.rejects(sleep(clock, 1, AbortSignal.abort(reason)), (error: unknown) => error === reason);
    assert.equal(clock.pendingTimers, 0);
  });

  test("is deaf to the signal afterwards", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    await clock.runUntil(sleep(clock, 10, controller.signal));
    controller.abort();
    await clock.flush();
  });
});

describe("the system's clock", () => {
  test("fires once after the time, and not when cancelled", async () => {
    const start = systemClock.now();
    const fired: string[] = [];
    systemClock.setTimer(5, () => fired.push("cancelled")).cancel();
    const timer = await new Promise<{ cancel(): void }>((resolve) => {
      const set = systemClock.setTimer(20, () => {
        fired.push("fired");
        resolve(set);
      });
    });
    timer.cancel();
    assert.deepEqual(fired, ["fired"]);
    // Timers count in whole milliseconds, the clock does not.
    assert.ok(systemClock.now() - start >= 19);
  });

  test("case 020: takes a wait beyond what timers can count as a long one, not as none", async () => {
    let fired = false;
    const timer = systemClock.setTimer(2 ** 40, () => fired = true);
    await new Promise((resolve) => setTimeout(resolve, 10));
    timer.cancel();
    assert.equal(fired, false);
  });

  test("runs a next turn after all that is ready now", async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.nextTurn(() => {
        order.push("turn");
        resolve();
      });
      void Promise.resolve().then(() => order.push("promise"));
      order.push("now");
    });
    assert.deepEqual(order, ["now", "promise", "turn"]);
  });

  test("stamps with the time of day", () => {
    assert.ok(Math.abs(systemClock.wallTime() - Date.now()) < 1000);
  });
});
