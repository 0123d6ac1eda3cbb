import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleep } from "../../src/core/clock.ts";
import { ManualClock } from "./manual_clock.ts";

describe("ManualClock", () => {
  test("stands still until it is moved", async () => {
    const clock = new ManualClock({ now: 5, wallTime: 1000 });
    clock.setTimer(0, () => assert.fail("fired"));
    await clock.flush();
    assert.deepEqual([clock.now(), clock.wallTime()], [5, 1000]);
  });

  test("fires timers in the order they are due, each at its own time, also those set meanwhile", async () => {
    const clock = new ManualClock();
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.now()]);
    clock.setTimer(30, note("c"));
    clock.setTimer(10, note("a"));
    clock.setTimer(10, note("b"));
    clock.setTimer(20, () => clock.setTimer(5, note("set at 20")));
    clock.setTimer(15, note("cancelled")).cancel();
    clock.setTimer(31, note("too late"));
    await clock.advance(30);
    assert.deepEqual(fired, [["a", 10], ["b", 10], ["set at 20", 25], ["c", 30]]);
    assert.equal(clock.now(), 30);
    assert.equal(clock.pendingTimers, 1);
  });

  test("lets promises and next turns run out between two timers", async () => {
    const clock = new ManualClock();
    const order: string[] = [];
    clock.setTimer(1, () => {
      void (async () => {
        for (let i = 0; i < 50; i++) await undefined;
        order.push("promises");
        clock.nextTurn(() => {
          order.push("turn");
          clock.nextTurn(() => order.push("turn of the turn"));
        });
      })();
    });
    clock.setTimer(2, () => order.push("second timer"));
    await clock.advance(2);
    assert.deepEqual(order, ["promises", "turn", "turn of the turn", "second timer"]);
  });

  test("runs until a promise settles and no further", async () => {
    const clock = new ManualClock();
    const work = (async () => {
      for (let i = 0; i < 5; i++) await sleep(clock, 1000);
      return "done";
    })();
    clock.setTimer(9000, () => assert.fail("ran past the end"));
    assert.equal(await clock.runUntil(work), "done");
    assert.equal(clock.now(), 5000);
    await assert.rejects(clock.runUntil(Promise.reject(new Error("as it is"))), { message: "as it is" });
  });

  test("complains when the time is up", async () => {
    const clock = new ManualClock();
    await assert.rejects(clock.runUntil(sleep(clock, 1001), 1000), { message: /not settled after 1000 ms/ });
  });

  test("waits for real work when no timer is set, and says when nothing will ever happen", async () => {
    const clock = new ManualClock({ patienceMs: 100 });
    const real = new Promise((resolve) => setTimeout(() => resolve("real"), 20));
    assert.equal(await clock.runUntil(real), "real");
    await assert.rejects(clock.runUntil(new Promise(() => {})), { message: /never settles/ });
  });
});
