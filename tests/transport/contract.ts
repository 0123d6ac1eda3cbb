/**
 * What every transport must do, whoever made it. The suites run over sockets of each runtime and over the memory network.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { ConnectionError } from "../../src/core/kafka_error.ts";
import { randomInt, seededRandom } from "../../src/core/random.ts";
import type { Connect, Transport } from "../../src/transport/transport.ts";
import { join, type RawPeer } from "./raw_peer.ts";

const MB = 1024 * 1024;
const LIMIT = { timeout: 20_000 };

/** One connection under test and the far end of it. */
export interface Line {
  readonly transport: Transport;
  readonly peer: RawPeer;
}

/** Makes connections, and ends all that is left of them. */
export interface Stage {
  open(): Promise<Line>;
  close(): Promise<void>;
}

/** A place to connect to. */
export interface Target {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The suite for a {@linkcode Transport} that stands. */
export function transportContract(name: string, makeStage: () => Promise<Stage>): void {
  const check = (title: string, run: (line: Line, stage: Stage) => Promise<void>) =>
    test(title, LIMIT, async () => {
      const stage = await makeStage();
      try {
        const line = await stage.open();
        await run(line, stage);
        line.transport.close();
      } finally {
        await stage.close();
      }
    });

  describe(`${name}: transport`, () => {
    check("sends parts in order, empty ones included", async ({ transport, peer }) => {
      await transport.write([bytes(1), bytes(), bytes(2, 3), bytes(4)]);
      await transport.write([]);
      await transport.write([bytes()]);
      await transport.write([bytes(5)]);
      assert.deepEqual([...await peer.receive(5)], [1, 2, 3, 4, 5]);
    });

    check("sends thousands of parts of every size in one write", async ({ transport, peer }) => {
      const random = seededRandom(7);
      const parts = Array.from(
        { length: 3000 },
        () => pattern(random() < 0.01 ? 50_000 : randomInt(random, 300), random),
      );
      const sent = transport.write(parts);
      assertSame(await peer.receive(join(parts).length), join(parts));
      await sent;
    });

    check("waits for a slow reader: a write of 24 MB is done only when it has read", async ({ transport, peer }) => {
      const data = pattern(24 * MB);
      let done = false;
      const sent = transport.write([data.subarray(0, 10), data.subarray(10, 70_000), data.subarray(70_000)]);
      void sent.then(() => done = true);
      await pause(60);
      assert.equal(done, false);
      assertSame(await peer.receive(data.length), data);
      await sent;
    });

    check("scenario 43: goes on after many writes that the system took in part", async ({ transport, peer }) => {
      const random = seededRandom(11);
      const pieces = Array.from({ length: 60 }, () => pattern(randomInt(random, 400_000), random));
      const sent = (async () => {
        for (const piece of pieces) {
          const cut = randomInt(random, piece.length + 1);
          await transport.write([piece.subarray(0, cut), piece.subarray(cut)]);
        }
      })();
      for (const piece of pieces) assertSame(await peer.receive(piece.length), piece);
      await sent;
    });

    check("is done with the caller's bytes when a write resolves", async ({ transport, peer }) => {
      for (const size of [10, 100_000, 12 * MB]) {
        const data = pattern(size);
        const expected = data.slice();
        const sent = transport.write([data.subarray(0, 5), data.subarray(5)]).then(() => data.fill(0));
        assertSame(await peer.receive(size), expected);
        await sent;
      }
      const small = bytes(1, 2, 3);
      await transport.write([small]);
      small.fill(9);
      assert.deepEqual([...await peer.receive(3)], [1, 2, 3]);
    });

    check("reads byte by byte", async ({ transport, peer }) => {
      await peer.send(pattern(300));
      const got: number[] = [];
      while (got.length < 300) {
        const into = new Uint8Array(1);
        assert.equal(await transport.read(into), 1);
        got.push(into[0]!);
      }
      assert.deepEqual(got, [...pattern(300)]);
    });

    check("fills the front of the buffer and leaves the rest of it alone", async ({ transport, peer }) => {
      await peer.send(bytes(1, 2, 3));
      const into = new Uint8Array(10).fill(7);
      const count = await transport.read(into.subarray(2));
      assert.ok(count >= 1 && count <= 3);
      assert.deepEqual([...into], [7, 7, ...[1, 2, 3].slice(0, count), ...Array(8 - count).fill(7)]);
    });

    check("carries random data in random pieces, both ways at once", async ({ transport, peer }) => {
      const random = seededRandom(42);
      const out = pattern(3 * MB, random);
      const back = pattern(3 * MB, random);
      const sending = inPieces(out, random, (piece) => transport.write([piece]));
      const answering = inPieces(back, random, (piece) => peer.send(piece));
      const arriving = (async () => {
        const got: Uint8Array[] = [];
        for (let size = 0; size < out.length;) {
          const piece = await peer.receive(Math.min(1 + randomInt(random, 100_000), out.length - size));
          size += piece.length;
          got.push(piece);
        }
        return join(got);
      })();
      assertSame(await read(transport, back.length, () => 1 + randomInt(random, 100_000)), back);
      assertSame(await arriving, out);
      await Promise.all([sending, answering]);
    });

    check("holds a bounded amount when nobody reads", async ({ transport, peer }) => {
      const data = pattern(40 * MB);
      let taken = 0;
      const sent = (async () => {
        for (; taken < data.length; taken += MB) await peer.send(data.subarray(taken, taken + MB));
      })();
      for (let before = -1; taken !== before;) {
        before = taken;
        await pause(100);
      }
      assert.ok(taken < data.length, "the peer could send 40 MB to a transport that nobody reads");
      assertSame(await read(transport, data.length), data);
      await sent;
    });

    check(
      "answers 0 at the end of the stream, again and again, and refuses writes then",
      async ({ transport, peer }) => {
        await peer.send(bytes(1, 2, 3));
        peer.end();
        assert.deepEqual([...await read(transport, 3)], [1, 2, 3]);
        assert.equal(await transport.read(new Uint8Array(9)), 0);
        assert.equal(await transport.read(new Uint8Array(9)), 0);
        await pause(20);
        assert.equal(await transport.read(new Uint8Array(9)), 0);
        await assert.rejects(transport.write([bytes(1)]), isConnectionError(/the peer closed the connection/));
      },
    );

    check("tells a pending read about the end of the stream", async ({ transport, peer }) => {
      const pending = transport.read(new Uint8Array(9));
      await pause(5);
      peer.end();
      assert.equal(await pending, 0);
      await assert.rejects(transport.write([bytes(1)]), isConnectionError(/the peer closed the connection/));
    });

    check("delivers all that was sent before the end, even to a late reader", async ({ transport, peer }) => {
      const data = pattern(3 * MB);
      const sent = peer.send(data).then(() => peer.end());
      await pause(50);
      assertSame(await read(transport, data.length, () => 1000), data);
      assert.equal(await transport.read(new Uint8Array(1)), 0);
      await sent;
    });

    check("rejects a pending read when the peer resets, and all that follows", async ({ transport, peer }) => {
      const pending = transport.read(new Uint8Array(9));
      await transport.write([bytes(1)]);
      await peer.receive(1);
      peer.reset();
      await assert.rejects(pending, isConnectionError(/reset/, "ECONNRESET"));
      await assert.rejects(transport.read(new Uint8Array(9)), ConnectionError);
      await assert.rejects(transport.write([bytes(1)]), ConnectionError);
    });

    check("rejects a pending write when the peer resets", async ({ transport, peer }) => {
      const pending = transport.write([pattern(24 * MB)]);
      await peer.receive(1000);
      peer.reset();
      await assert.rejects(pending, ConnectionError);
      await assert.rejects(transport.write([bytes(1)]), ConnectionError);
    });

    check("refuses writes some time after the peer has gone, without a read", async ({ transport, peer }) => {
      peer.reset();
      await assert.rejects(async () => {
        for (let i = 0; i < 2000; i++) {
          await transport.write([bytes(i)]);
          await pause(1);
        }
      }, ConnectionError);
    });

    check("rejects a pending read on close; closes once, for good", async ({ transport, peer }) => {
      const pending = transport.read(new Uint8Array(9));
      transport.close();
      await assert.rejects(pending, isConnectionError(/closed on this side/, "CONNECTION_CLOSED"));
      transport.close();
      await assert.rejects(transport.read(new Uint8Array(9)), isConnectionError(/closed on this side/));
      await assert.rejects(transport.write([bytes(1)]), isConnectionError(/closed on this side/));
      transport.close();
      assert.equal((await peer.receive(1)).length, 0);
    });

    check("rejects a pending write on close", async ({ transport }) => {
      const pending = transport.write([bytes(1), pattern(24 * MB)]);
      const rejected = assert.rejects(pending, isConnectionError(/closed on this side/, "CONNECTION_CLOSED"));
      await pause(30);
      transport.close();
      await rejected;
    });

    check("drops what was not read when it is closed, also after the peer's end", async ({ transport, peer }) => {
      await peer.send(bytes(1, 2, 3));
      assert.equal(await transport.read(new Uint8Array(1)), 1);
      peer.end();
      await pause(10);
      transport.close();
      await assert.rejects(transport.read(new Uint8Array(1)), ConnectionError);
    });

    check("delivers what was written before it is closed", async ({ transport, peer }) => {
      await transport.write([pattern(50_000)]);
      transport.close();
      assertSame(await peer.receive(50_000), pattern(50_000));
      assert.equal((await peer.receive(1)).length, 0);
    });

    check("refuses a second read or write while one is pending, and the first goes on", async ({ transport, peer }) => {
      const into = new Uint8Array(3);
      const reading = transport.read(into);
      await assert.rejects(transport.read(new Uint8Array(3)), isConnectionError(/await/, "READ_PENDING"));
      await peer.send(bytes(1));
      assert.equal(await reading, 1);
      assert.equal(into[0], 1);

      const writing = transport.write([pattern(24 * MB)]);
      await assert.rejects(transport.write([bytes(1)]), isConnectionError(/await/, "WRITE_PENDING"));
      assertSame(await peer.receive(24 * MB), pattern(24 * MB));
      await writing;
    });

    check("keeps two connections apart", async (first, stage) => {
      const second = await stage.open();
      await first.transport.write([bytes(1)]);
      await second.transport.write([bytes(2)]);
      assert.deepEqual([...await second.peer.receive(1)], [2]);
      assert.deepEqual([...await first.peer.receive(1)], [1]);
      second.peer.reset();
      await assert.rejects(second.transport.read(new Uint8Array(1)), ConnectionError);
      await first.peer.send(bytes(3));
      assert.deepEqual([...await read(first.transport, 1)], [3]);
      second.transport.close();
    });

    check("works after a rest", async ({ transport, peer }) => {
      const reading = transport.read(new Uint8Array(1));
      await pause(250);
      await transport.write([bytes(1)]);
      assert.deepEqual([...await peer.receive(1)], [1]);
      await peer.send(bytes(2));
      assert.equal(await reading, 1);
    });
  });
}

/** The suite for a {@linkcode Connect}. `listen` opens a place that accepts connections and never answers. */
export function connectContract(name: string, connect: Connect, listen: () => Promise<Target>): void {
  describe(`${name}: connect`, () => {
    test("says where a connection was refused", LIMIT, async () => {
      const { host, port, close } = await listen();
      await close();
      await assert.rejects(connect(host, port), (error: unknown) => {
        isConnectionError(/^connect .*: connection refused/, "ECONNREFUSED")(error);
        assert.ok((error as Error).message.includes(`${host}:${port}`));
        assert.deepEqual(where(error), { host, port, retriable: true });
        assert.ok((error as Error).cause instanceof Error);
        return true;
      });
    });

    test("says that a host is unknown", LIMIT, async () => {
      await assert.rejects(
        connect("nosuchhost.invalid", 9092),
        (error: unknown) => {
          isConnectionError(/^connect nosuchhost\.invalid:9092: the host name cannot be resolved/)(error);
          assert.match((error as ConnectionError).code, /^(ENOTFOUND|EAI_AGAIN)$/);
          assert.deepEqual(where(error), { host: "nosuchhost.invalid", port: 9092, retriable: true });
          return true;
        },
      );
    });

    test("does not begin when the signal has fired", LIMIT, async () => {
      const reason = new Error("changed my mind");
      await assert.rejects(connect("127.0.0.1", 1, { signal: AbortSignal.abort(reason) }), isAborted(reason));
    });

    test("gives up when the signal fires meanwhile", LIMIT, async () => {
      const { host, port, close } = await listen();
      try {
        const controller = new AbortController();
        const connecting = connect(host, port, { signal: controller.signal });
        const reason = new Error("changed my mind");
        controller.abort(reason);
        await assert.rejects(connecting, isAborted(reason));
      } finally {
        await close();
      }
    });

    test("forgets the signal once it is connected", LIMIT, async () => {
      const { host, port, close } = await listen();
      try {
        const controller = new AbortController();
        const listeners = countListeners(controller.signal);
        const transport = await connect(host, port, { signal: controller.signal });
        assert.equal(listeners(), 0);
        controller.abort();
        await transport.write([bytes(1)]);
        transport.close();
      } finally {
        await close();
      }
    });

    test("forgets the signal when it fails", LIMIT, async () => {
      const { host, port, close } = await listen();
      await close();
      const controller = new AbortController();
      const listeners = countListeners(controller.signal);
      await assert.rejects(connect(host, port, { signal: controller.signal }), ConnectionError);
      assert.equal(listeners(), 0);
      controller.abort();
    });
  });
}

/** Bytes by value. */
export function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

/** `size` bytes that repeat nowhere near, from a fixed seed unless `random` is given. */
export function pattern(size: number, random: () => number = seededRandom(size)): Uint8Array {
  const words = new Uint32Array(Math.ceil(size / 4));
  let state = Math.floor(random() * 0xffffffff) | 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, size);
}

/** Reads exactly `count` bytes, at most `most()` at a time. */
export async function read(transport: Transport, count: number, most: () => number = () => count): Promise<Uint8Array> {
  const into = new Uint8Array(count);
  let filled = 0;
  while (filled < count) {
    const got = await transport.read(into.subarray(filled, filled + most()));
    if (got === 0) throw new Error(`the stream ended after ${filled} of ${count} bytes`);
    filled += got;
  }
  return into;
}

/** Fast, and fails shortly where `deepEqual` would print megabytes. */
export function assertSame(actual: Uint8Array, expected: Uint8Array): void {
  if (Buffer.compare(actual, expected) === 0) return;
  assert.equal(actual.length, expected.length);
  assert.fail(`byte ${actual.findIndex((byte, i) => byte !== expected[i])} differs`);
}

/** A check for `assert.rejects`. */
export function isConnectionError(message: RegExp, code?: string): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ConnectionError, `not a ConnectionError: ${error}`);
    assert.match(error.message, message);
    if (code !== undefined) assert.equal(error.code, code);
    return true;
  };
}

/** A check for `assert.rejects`: the abort of a connect, with the signal's own reason. */
export function isAborted(reason: unknown): (error: unknown) => true {
  return (error) => {
    isConnectionError(/^connect .*: aborted/, "ABORTED")(error);
    assert.equal((error as Error).cause, reason);
    return true;
  };
}

/** Lets `ms` milliseconds of real time pass: a socket has no clock that a test could turn. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function where(error: unknown): object {
  const { host, port, retriable } = error as ConnectionError;
  return { host, port, retriable };
}

/** Counts the listeners that are added to `signal` and not removed from now on. */
function countListeners(signal: AbortSignal): () => number {
  let count = 0;
  const add = signal.addEventListener.bind(signal) as (...args: unknown[]) => void;
  const remove = signal.removeEventListener.bind(signal) as (...args: unknown[]) => void;
  Object.assign(signal, {
    addEventListener: (...args: unknown[]) => (count++, add(...args)),
    removeEventListener: (...args: unknown[]) => (count--, remove(...args)),
  });
  return () => count;
}

async function inPieces(data: Uint8Array, random: () => number, send: (piece: Uint8Array) => Promise<void>) {
  for (let at = 0; at < data.length;) {
    const size = 1 + randomInt(random, random() < 0.8 ? 500 : 200_000);
    await send(data.subarray(at, at + size));
    at += size;
  }
}
