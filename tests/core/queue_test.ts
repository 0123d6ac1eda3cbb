import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Queue } from "../../src/core/queue.ts";
import { randomInt, seededRandom } from "../../src/core/random.ts";

describe("Queue", () => {
  test("gives back what was put in, first in first out", () => {
    const queue = new Queue<string>();
    assert.equal(queue.shift(), undefined);
    assert.equal(queue.peek(), undefined);
    assert.equal(queue.peekLast(), undefined);
    queue.push("a");
    queue.push("b");
    assert.equal(queue.size, 2);
    assert.equal(queue.peek(), "a");
    assert.equal(queue.peekLast(), "b");
    assert.deepEqual([queue.shift(), queue.shift(), queue.shift()], ["a", "b", undefined]);
    assert.equal(queue.size, 0);
  });

  test("puts first what is put before all others, whether or not something was taken", () => {
    const queue = new Queue<number>();
    queue.unshift(2);
    queue.unshift(1);
    queue.push(3);
    assert.equal(queue.shift(), 1);
    queue.unshift(0);
    assert.deepEqual([...queue], [0, 2, 3]);
    assert.equal(queue.size, 3);
  });

  test("is empty after clear, and usable", () => {
    const queue = new Queue<number>();
    for (let i = 0; i < 5; i++) queue.push(i);
    queue.shift();
    queue.clear();
    assert.equal(queue.size, 0);
    assert.equal(queue.peekLast(), undefined);
    queue.push(9);
    assert.deepEqual([...queue], [9]);
  });

  test("behaves like an array through 50,000 random steps", () => {
    const random = seededRandom(1);
    const queue = new Queue<number>();
    const model: number[] = [];
    for (let step = 0; step < 50_000; step++) {
      // Long phases of growth and of shrinking, so that the spent head is cut off several times.
      const growing = Math.floor(step / 5000) % 2 === 0;
      const dice = random();
      if (dice < (growing ? 0.6 : 0.2)) {
        queue.push(step);
        model.push(step);
      } else if (dice < (growing ? 0.63 : 0.23)) {
        queue.unshift(step);
        model.unshift(step);
      } else if (dice > 0.9998) {
        queue.clear();
        model.length = 0;
      } else assert.equal(queue.shift(), model.shift());
      assert.equal(queue.size, model.length);
      assert.equal(queue.peek(), model[0]);
      assert.equal(queue.peekLast(), model.at(-1));
      if (randomInt(random, 500) === 0) assert.deepEqual([...queue], model);
    }
  });
});
