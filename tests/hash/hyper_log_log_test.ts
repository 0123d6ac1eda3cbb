import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HyperLogLog } from "../../src/hash/hyper_log_log.ts";

const encoder = new TextEncoder();

function estimateOf(count: number, name: (i: number) => string): number {
  const log = new HyperLogLog();
  for (let i = 0; i < count; i++) log.add(encoder.encode(name(i)));
  return log.estimate();
}

describe("HyperLogLog", () => {
  test("none, one, and the same one again", () => {
    assert.equal(estimateOf(0, String), 0);
    assert.equal(estimateOf(1, String), 1);
    assert.equal(estimateOf(10_000, () => "again"), 1);
  });

  for (const count of [10, 1000, 30_000, 45_000, 300_000]) {
    test(`${count} different values are told within 2.5 %, however alike they are`, () => {
      for (const name of [String, (i: number) => `user-${i}`, (i: number) => `${i.toString(16).padStart(32, "0")}`]) {
        const estimate = estimateOf(count, name);
        assert.ok(Math.abs(estimate - count) <= 0.025 * count, `${estimate} for ${count}`);
      }
    });
  }

  test("a part of a buffer is a value", () => {
    const log = new HyperLogLog();
    const bytes = encoder.encode("abcabc");
    log.add(bytes, 0, 3);
    log.add(bytes, 3, 6);
    assert.equal(log.estimate(), 1);
  });
});
