/**
 * Sockets over `Bun.connect`, which need half the CPU a request that `node:net` needs in Bun. TLS goes through `node:tls`,
 * which tells more about what is wrong.
 *
 * Bun cannot be told to stop connecting. An attempt that is aborted ends at once for the caller, but keeps the process alive
 * until the system gives up: two minutes for a host that does not answer. So `auto.ts` does not take these sockets by
 * itself; they are for services, which go on anyway.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 * import { connect } from "@anykafka/kafka/bun";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092", connect });
 * ```
 *
 * @module
 */

import type { ConnectionError } from "../src/core/kafka_error.ts";
import { connectAbortedError, type ConnectAttempt, connectError } from "../src/transport/connect_error.ts";
import { gather } from "../src/transport/gather.ts";
import { Inbox } from "../src/transport/inbox.ts";
import { closedError, overlapError, type Peer, peerClosedError, streamError } from "../src/transport/stream_error.ts";
import type { Connect, ConnectOptions, TlsOptions, Transport } from "../src/transport/transport.ts";

export type { Connect, ConnectOptions, TlsOptions, Transport };

interface BunSocket {
  /** Answers how many bytes were taken, -1 when closed; the rest is ours to write after `drain`. */
  write(data: Uint8Array): number;
  pause(): void;
  resume(): void;
  /** Sends what was written, then the end of the stream. */
  close(): void;
  /** Resets the connection. */
  terminate(): void;
  setNoDelay(on: boolean): boolean;
  setKeepAlive(on: boolean, ms: number): boolean;
}

interface BunHandlers {
  open(socket: BunSocket): void;
  data(socket: BunSocket, chunk: Uint8Array): void;
  drain(socket: BunSocket): void;
  end(socket: BunSocket): void;
  close(socket: BunSocket, error?: Error): void;
  error(socket: BunSocket, error: Error): void;
}

interface BunLike {
  connect(options: { hostname: string; port: number; socket: BunHandlers }): Promise<BunSocket>;
}

const KEEP_ALIVE_MS = 30_000;
const SCRATCH_SIZE = 64 * 1024;
/** Bytes that may wait for a reader before the runtime is told to stop; its chunks have up to 512 KiB. */
const PAUSE_ABOVE = 128 * 1024;

/** Opens a TCP or TLS connection. */
export const connect: Connect = async (
  host: string,
  port: number,
  options: ConnectOptions = {},
): Promise<Transport> => {
  if (options.tls) {
    const node = await import("./node.ts");
    return await node.connect(host, port, options);
  }
  return await connectTcp({ host, port, tls: false }, options.signal);
};

function connectTcp(attempt: ConnectAttempt, signal: AbortSignal | undefined): Promise<Transport> {
  const { Bun } = globalThis as unknown as { Bun: BunLike };
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(connectAbortedError(attempt, signal.reason));
    const abort = () => transport.giveUp(connectAbortedError(attempt, signal?.reason));
    const transport = new BunTransport(attempt, (error) => {
      signal?.removeEventListener("abort", abort);
      if (error === undefined) resolve(transport);
      else reject(error);
    });
    signal?.addEventListener("abort", abort, { once: true });
    const fail = (cause: unknown) => transport.giveUp(connectError(attempt, cause));
    try {
      Bun.connect({ hostname: attempt.host, port: attempt.port, socket: transport.handlers }).catch(fail);
    } catch (cause) {
      fail(cause);
    }
  });
}

/** One socket, from before it is connected. */
class BunTransport implements Transport {
  readonly #attempt: ConnectAttempt;
  readonly #peer: Peer;
  /** Tells the waiter for the connection, once. */
  #onConnected: ((error?: ConnectionError) => void) | undefined;
  readonly #inbox: Inbox = new Inbox(() => {
    if (this.#paused && this.#inbox.size <= PAUSE_ABOVE) {
      this.#paused = false;
      this.#socket?.resume();
    }
  });
  readonly #scratch: Uint8Array = new Uint8Array(SCRATCH_SIZE);
  #socket: BunSocket | undefined;
  #paused = false;
  #writing: Writing | undefined;
  /** Why writes are refused. */
  #broken: ConnectionError | undefined;

  constructor(attempt: ConnectAttempt, onConnected: (error?: ConnectionError) => void) {
    this.#attempt = attempt;
    this.#peer = { host: attempt.host, port: attempt.port };
    this.#onConnected = onConnected;
  }

  /** What the runtime calls. */
  get handlers(): BunHandlers {
    return {
      open: (socket) => {
        this.#socket = socket;
        // The attempt was given up, but the runtime has no way to stop connecting.
        if (this.#broken !== undefined) return socket.terminate();
        socket.setNoDelay(true);
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        this.#onConnected?.();
        this.#onConnected = undefined;
      },
      data: (socket, chunk) => {
        this.#inbox.push(chunk);
        if (this.#inbox.size > PAUSE_ABOVE && !this.#paused) {
          this.#paused = true;
          socket.pause();
        }
      },
      drain: () => this.#pump(),
      end: () => {
        if (this.#onConnected !== undefined) return this.#fail(closedByPeer());
        this.#inbox.end();
        this.#refuseWrites(peerClosedError(this.#peer));
      },
      close: (_socket, error) => this.#fail(error ?? closedByPeer()),
      error: (_socket, error) => this.#fail(error),
    };
  }

  /** Ends an attempt that did not lead to a connection. */
  giveUp(error: ConnectionError): void {
    const onConnected = this.#onConnected;
    if (onConnected === undefined) return;
    this.#onConnected = undefined;
    this.#broken = error;
    this.#socket?.terminate();
    onConnected(error);
  }

  read(into: Uint8Array): Promise<number> {
    return this.#inbox.read(into);
  }

  write(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#writing !== undefined) return Promise.reject(overlapError("write"));
    return new Promise((resolve, reject) => {
      this.#writing = { pieces: gather(parts, this.#scratch), rest: undefined, resolve, reject };
      this.#pump();
    });
  }

  close(): void {
    const error = closedError(this.#peer);
    this.#inbox.close(error);
    this.#refuseWrites(error);
    this.#socket?.close();
  }

  /** Hands pieces to the runtime until it takes no more or all is written. */
  #pump(): void {
    const writing = this.#writing;
    if (writing === undefined) return;
    for (;;) {
      const piece = writing.rest ?? writing.pieces.next().value;
      if (piece === undefined) break;
      const taken = this.#socket!.write(piece);
      if (taken < 0) return this.#refuseWrites(peerClosedError(this.#peer));
      writing.rest = taken < piece.length ? piece.subarray(taken) : undefined;
      if (writing.rest !== undefined) return;
    }
    this.#writing = undefined;
    writing.resolve();
  }

  #fail(cause: Error): void {
    if (this.#onConnected !== undefined) return this.giveUp(connectError(this.#attempt, cause));
    const error = isClosedByPeer(cause) ? peerClosedError(this.#peer) : streamError(this.#peer, cause);
    this.#inbox.fail(error);
    this.#refuseWrites(error);
  }

  #refuseWrites(error: ConnectionError): void {
    this.#broken ??= error;
    this.#writing?.reject(error);
    this.#writing = undefined;
  }
}

interface Writing {
  readonly pieces: Generator<Uint8Array, undefined>;
  /** What the runtime did not take of the last piece. */
  rest: Uint8Array | undefined;
  resolve(): void;
  reject(error: ConnectionError): void;
}

const CLOSED_BY_PEER = "CONNECTION_CLOSED";

function closedByPeer(): Error {
  return Object.assign(new Error("closed by the peer"), { code: CLOSED_BY_PEER });
}

function isClosedByPeer(cause: Error): boolean {
  return (cause as { code?: unknown }).code === CLOSED_BY_PEER;
}
