import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../../src/core/random.ts";
import { BufferPool } from "../../src/producer/buffer_pool.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

describe("BufferPool (scenario 9)", () => {
  test("hands buffers of the common size out again", () => {
    const pool = new BufferPool(64, 16, new ManualClock());
    const first = pool.tryTake(10)!;
    assert.equal(first.length, 16);
    pool.release(first);
    assert.equal(pool.tryTake(16), first);
    assert.equal(pool.available, 48);
  });

  test("makes larger buffers and never hands out more than the total", () => {
    const pool = new BufferPool(64, 16, new ManualClock());
    const large = pool.tryTake(40)!;
    assert.equal(large.length, 40);
    assert.ok(pool.tryTake(16) !== undefined);
    assert.equal(pool.tryTake(16), undefined);
    pool.release(large);
    assert.ok(pool.tryTake(16) !== undefined);
  });

  test("serves those who wait in order, and a large wish is not overtaken by small ones", async () => {
    const pool = new BufferPool(64, 16, new ManualClock());
    const held = [1, 2, 3, 4].map(() => pool.tryTake(16)!);
    const served: string[] = [];
    const large = pool.take(48, 1000).then(() => served.push("large"));
    const small = pool.take(16, 1000).then(() => served.push("small"));
    pool.release(held[0]!);
    assert.equal(pool.tryTake(16), undefined, "whoever comes now stands behind those who wait");
    await Promise.resolve();
    assert.deepEqual(served, []);
    pool.release(held[1]!);
    pool.release(held[2]!);
    await large;
    assert.deepEqual(served, ["large"]);
    pool.release(held[3]!);
    await small;
    assert.equal(pool.waiting, 0);
  });

  test("who waited too long gets nothing and no longer stands in the way", async () => {
    const clock = new ManualClock();
    const pool = new BufferPool(32, 16, clock);
    const held = pool.tryTake(32)!;
    const large = pool.take(32, 100);
    const small = pool.take(16, 1000);
    await clock.advance(100);
    assert.equal(await large, undefined);
    pool.release(held);
    assert.equal((await small)!.length, 16);
    assert.equal(pool.available, 16);
  });

  test("whose signal fires leaves the line at once, and a smaller wish behind is served", async () => {
    const clock = new ManualClock();
    const pool = new BufferPool(32, 16, clock);
    pool.tryTake(16);
    const controller = new AbortController();
    const large = pool.take(32, 1000, controller.signal);
    const small = pool.take(16, 1000);
    assert.equal(pool.waiting, 2);
    controller.abort();
    await assert.rejects(large, { code: "ABORTED" });
    assert.equal((await small)!.length, 16);
    assert.deepEqual([pool.waiting, pool.available, clock.pendingTimers], [0, 0, 0]);
  });

  test("closing turns everybody away", async () => {
    const pool = new BufferPool(16, 16, new ManualClock());
    pool.tryTake(16);
    const waiting = pool.take(16, 1000);
    pool.close();
    await assert.rejects(waiting, { code: "CLOSED" });
    await assert.rejects(pool.take(16, 1000), { code: "CLOSED" });
  });

  test("after any sequence of takes and releases the total is there again", () => {
    const random = seededRandom(1);
    const pool = new BufferPool(1000, 64, new ManualClock());
    const held: Uint8Array[] = [];
    for (let i = 0; i < 20_000; i++) {
      if (random() < 0.5) {
        const buffer = pool.tryTake(1 + Math.floor(random() * 300));
        if (buffer !== undefined) held.push(buffer);
      } else if (held.length > 0) pool.release(held.splice(Math.floor(random() * held.length), 1)[0]!);
      const out = held.reduce((sum, buffer) => sum + buffer.length, 0);
      assert.equal(pool.available, 1000 - out);
    }
    for (const buffer of held) pool.release(buffer);
    assert.equal(pool.available, 1000);
  });
});
