import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UpdateBackoff } from "../../src/client/update_backoff.ts";

/** Without chance; the middle of Kafka's ±20 %. */
const make = () => new UpdateBackoff({ initialMs: 100, maxMs: 1000 }, () => 0.5);

// The expected waits are those of `timeToAllowUpdate` in Kafka's Metadata class (4.3.1), its chance taken out.
describe("scenario 42: when metadata may be asked for again", () => {
  test("the first time at once, then a wait after the last update", () => {
    const backoff = make();
    assert.equal(backoff.waitMs(0), 0);
    backoff.answered(10, true);
    assert.equal(backoff.waitMs(10), 100);
    assert.equal(backoff.waitMs(70), 40);
    assert.ok(backoff.waitMs(110) <= 0);
  });

  test("answers without news make it longer, one with news short again", () => {
    const backoff = make();
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      backoff.answered(0, i === 0);
      waits.push(Math.round(backoff.waitMs(0)));
    }
    assert.deepEqual(waits, [100, 100, 200, 400, 800, 1000, 1000]);
    backoff.answered(0, true);
    assert.equal(backoff.waitMs(0), 100);
  });

  test("so do failures, and a success makes it short again", () => {
    const backoff = make();
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      backoff.failed(0);
      waits.push(Math.round(backoff.waitMs(0)));
    }
    assert.deepEqual(waits, [100, 200, 400, 800, 1000, 1000]);
    backoff.answered(0, true);
    assert.equal(backoff.waitMs(0), 100);
  });

  test("a new topic need not wait; old data lifts what answers without news brought", () => {
    const backoff = make();
    for (let i = 0; i < 6; i++) backoff.answered(0, false);
    assert.ok(backoff.waitMs(0) > 900);
    backoff.forgetRepeats();
    assert.equal(backoff.waitMs(0), 100);
    for (let i = 0; i < 6; i++) backoff.answered(0, false);
    backoff.hurry();
    assert.equal(backoff.waitMs(0), 0);
    backoff.answered(0, false);
    assert.equal(backoff.waitMs(0), 100);
  });
});
