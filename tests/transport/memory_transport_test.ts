import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { memoryTransports } from "../../src/transport/memory_transport.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { bytes, isConnectionError, pattern, read } from "./contract.ts";

/** What `promise` has come to without more time passing. */
async function stateOf(clock: ManualClock, promise: Promise<unknown>): Promise<"pending" | "resolved" | "rejected"> {
  let state: "pending" | "resolved" | "rejected" = "pending";
  promise.then(() => state = "resolved", () => state = "rejected");
  await clock.flush();
  return state;
}

describe("memory transport", () => {
  test("short reads: a read answers at most maxReadSize bytes", async () => {
    const [a, b] = memoryTransports();
    b.maxReadSize = 3;
    await a.write([pattern(8)]);
    const sizes: number[] = [];
    for (let left = 8; left > 0; left -= sizes.at(-1)!) sizes.push(await b.read(new Uint8Array(100)));
    assert.deepEqual(sizes, [3, 3, 2]);
    b.maxReadSize = Infinity;
    await a.write([pattern(8)]);
    assert.equal(await b.read(new Uint8Array(100)), 8);
  });

  test("cut with a reset: exactly so many bytes arrive, then both sides fail", async () => {
    const [a, b] = memoryTransports();
    await a.write([bytes(0)]);
    a.cutAfter(5);
    const waiting = a.read(new Uint8Array(1));
    await a.write([bytes(1, 2)]);
    await assert.rejects(a.write([bytes(3, 4), bytes(5, 6)]), isConnectionError(/reset/, "ECONNRESET"));
    await assert.rejects(waiting, isConnectionError(/reset/, "ECONNRESET"));
    assert.deepEqual([...await read(b, 6)], [0, 1, 2, 3, 4, 5]);
    await assert.rejects(b.read(new Uint8Array(1)), isConnectionError(/reset/, "ECONNRESET"));
    await assert.rejects(b.write([bytes(1)]), isConnectionError(/reset/, "ECONNRESET"));
    assert.equal(a.closed && b.closed, true);
  });

  test("cut with an end: so many bytes arrive, then the stream ends; the write that just fits succeeds", async () => {
    const [a, b] = memoryTransports();
    a.cutAfter(2, "end");
    await a.write([bytes(1, 2)]);
    await assert.rejects(a.write([bytes(3)]), isConnectionError(/closed/, "EPIPE"));
    assert.deepEqual([...await read(b, 2)], [1, 2]);
    assert.equal(await b.read(new Uint8Array(1)), 0);
    assert.equal(await a.read(new Uint8Array(1)), 0);
  });

  test("cut after nothing: broken at once", async () => {
    const [a, b] = memoryTransports();
    a.cutAfter(0);
    await assert.rejects(b.read(new Uint8Array(1)), isConnectionError(/reset/, "ECONNRESET"));
    await assert.rejects(a.write([bytes(1)]), isConnectionError(/reset/, "ECONNRESET"));
  });

  test("delay: bytes arrive after so many milliseconds of the clock, in order, the end after them", async () => {
    const clock = new ManualClock();
    const [a, b] = memoryTransports({ clock });
    a.delayMs = 100;
    await a.write([bytes(1)]);
    await clock.advance(60);
    a.delayMs = 0; // must not overtake
    await a.write([bytes(2)]);
    a.close();
    const reading = b.read(new Uint8Array(9));
    await clock.advance(39);
    assert.equal(await stateOf(clock, reading), "pending");
    await clock.advance(1);
    assert.equal(await reading, 1);
    assert.deepEqual([...await read(b, 1)], [2]);
    assert.equal(await b.read(new Uint8Array(1)), 0);
    assert.equal(clock.pendingTimers, 0);
  });

  test("delay: one direction only", async () => {
    const clock = new ManualClock();
    const [a, b] = memoryTransports({ clock });
    a.delayMs = 1000;
    await b.write([bytes(7)]);
    assert.deepEqual([...await read(a, 1)], [7]);
  });

  test("half-dead: writes succeed, nothing arrives, not even the end; the other direction lives", async () => {
    const clock = new ManualClock();
    const [a, b] = memoryTransports({ clock });
    a.halfDead = true;
    await a.write([bytes(1)]);
    const reading = b.read(new Uint8Array(1));
    await b.write([bytes(2)]);
    assert.deepEqual([...await read(a, 1)], [2]);
    a.close();
    await clock.advance(1_000_000);
    assert.equal(await stateOf(clock, reading), "pending");
    await b.write([bytes(3)]);
    b.close();
    await assert.rejects(reading, isConnectionError(/closed on this side/));
  });

  test("half-dead may end again", async () => {
    const [a, b] = memoryTransports();
    a.halfDead = true;
    await a.write([bytes(1)]);
    a.halfDead = false;
    await a.write([bytes(2)]);
    assert.deepEqual([...await read(b, 1)], [2]);
  });

  test("reset: bytes under way are lost, those that arrived can be read", async () => {
    const clock = new ManualClock();
    const [a, b] = memoryTransports({ clock });
    await a.write([bytes(1)]);
    a.delayMs = 10;
    await a.write([bytes(2)]);
    a.reset();
    await clock.advance(10);
    assert.deepEqual([...await read(b, 1)], [1]);
    await assert.rejects(b.read(new Uint8Array(1)), isConnectionError(/reset/, "ECONNRESET"));
    await assert.rejects(a.read(new Uint8Array(1)), isConnectionError(/reset/, "ECONNRESET"));
  });

  test("capacity: a write waits while more than that is unread, on the way or there", async () => {
    const clock = new ManualClock();
    const [a, b] = memoryTransports({ clock, capacity: 10 });
    await a.write([pattern(10)]);
    const second = a.write([pattern(5)]);
    assert.equal(await stateOf(clock, second), "pending");
    await read(b, 4);
    assert.equal(await stateOf(clock, second), "pending");
    await read(b, 1);
    await second;

    a.delayMs = 50;
    const third = a.write([pattern(1)]);
    assert.equal(await stateOf(clock, third), "pending");
    await read(b, 10);
    await third;
    const fourth = a.write([pattern(20)]);
    const reading = read(b, 21);
    assert.equal(await stateOf(clock, fourth), "pending");
    await clock.advance(50);
    await Promise.all([fourth, reading]);
  });

  test("the ends know each other by name", async () => {
    const [a, b] = memoryTransports({ peers: [{ host: "client", port: 50000 }, { host: "fe80::1", port: 9092 }] });
    a.reset();
    await assert.rejects(a.read(new Uint8Array(1)), (error: unknown) => {
      isConnectionError(/^\[fe80::1\]:9092: the peer reset/)(error);
      assert.equal((error as { host: string }).host, "fe80::1");
      return true;
    });
    await assert.rejects(b.read(new Uint8Array(1)), isConnectionError(/^client:50000: the peer reset/));
  });
});
