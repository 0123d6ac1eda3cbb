/**
 * The other end of a connection under test, driven by hand: it reads only when asked to, and can end or reset.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { MemoryTransport } from "../../src/transport/memory_transport.ts";

/** What a test can do at the other end. */
export interface RawPeer {
  /** Waits for `count` bytes and takes them; fewer when the stream ends before. Nothing is read in between two calls. */
  receive(count: number): Promise<Uint8Array>;
  /** Sends `bytes`; resolves when the system has taken them all. */
  send(bytes: Uint8Array): Promise<void>;
  /** Ends the stream cleanly. */
  end(): void;
  /** Breaks the connection. */
  reset(): void;
}

/** A peer over a socket of `node:net`, which must have been paused from the start. */
export function socketPeer(socket: Socket): RawPeer {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  let wanted: { count: number; resolve: (bytes: Uint8Array) => void } | undefined;
  const answer = () => {
    if (wanted === undefined || (size < wanted.count && !ended)) return;
    socket.pause();
    const all = join(chunks);
    const taken = all.slice(0, wanted.count);
    chunks = [all.subarray(taken.length)];
    size = all.length - taken.length;
    wanted.resolve(taken);
    wanted = undefined;
  };
  const end = () => {
    ended = true;
    answer();
  };
  socket.on("data", (chunk: Uint8Array) => {
    chunks.push(chunk);
    size += chunk.length;
    answer();
  });
  socket.pause();
  socket.on("end", end);
  socket.on("close", end);
  // Many tests break the connection.
  socket.on("error", end);
  return {
    receive: (count) =>
      new Promise((resolve) => {
        wanted = { count, resolve };
        if (size < count && !ended) socket.resume();
        answer();
      }),
    send: (bytes) =>
      new Promise((resolve, reject) => socket.write(bytes, (error) => error ? reject(error) : resolve())),
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
  };
}

/** A peer over the other end of an in-memory connection. */
export function memoryPeer(transport: MemoryTransport): RawPeer {
  return {
    receive: async (count) => {
      const bytes = new Uint8Array(count);
      let filled = 0;
      while (filled < count) {
        const read = await transport.read(bytes.subarray(filled)).catch(() => 0);
        if (read === 0) break;
        filled += read;
      }
      return bytes.subarray(0, filled);
    },
    send: (bytes) => transport.write([bytes]),
    end: () => transport.close(),
    reset: () => transport.reset(),
  };
}

/** One buffer out of many. */
export function join(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
