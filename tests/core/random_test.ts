import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { randomInt, seededRandom } from "../../src/core/random.ts";

describe("seededRandom", () => {
  test("repeats itself from the same seed, and not from another", () => {
    const take = (seed: number) => Array.from({ length: 20 }, seededRandom(seed));
    assert.deepEqual(take(1), take(1));
    assert.notDeepEqual(take(1), take(2));
  });

  test("stays within [0, 1) and spreads evenly", () => {
    for (const seed of [0, 1, -1, 2 ** 31]) {
      const random = seededRandom(seed);
      const buckets = new Array<number>(10).fill(0);
      for (let i = 0; i < 100_000; i++) {
        const value = random();
        assert.ok(value >= 0 && value < 1);
        buckets[Math.floor(value * 10)]!++;
      }
      // 10,000 expected, standard deviation 95.
      for (const count of buckets) assert.ok(Math.abs(count - 10_000) < 500, `${seed}: ${buckets}`);
    }
  });
});

describe("randomInt", () => {
  test("reaches every number below the limit and no other", () => {
    assert.equal(randomInt(() => 0, 3), 0);
    assert.equal(randomInt(() => 1 - 2 ** -53, 3), 2);
  });
});
