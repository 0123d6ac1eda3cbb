/**
 * Sockets over `node:net` and `node:tls`. They work in Node.js, Deno and Bun alike.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 * import { connect } from "@anykafka/kafka/node";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092", connect });
 * ```
 *
 * @module
 */

import { connect as connectTcp, createServer, isIP, type Server, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type ConnectionOptions, type PeerCertificate } from "node:tls";
import { ConfigError, ConnectionError } from "../src/core/kafka_error.ts";
import { checkTlsOptions } from "../src/transport/check_tls_options.ts";
import { connectAbortedError, connectError } from "../src/transport/connect_error.ts";
import { gather } from "../src/transport/gather.ts";
import { Inbox } from "../src/transport/inbox.ts";
import {
  closedError,
  overlapError,
  type Peer,
  peerClosedError,
  peerText,
  streamError,
} from "../src/transport/stream_error.ts";
import type { Connect, ConnectOptions, Listen, Listener, TlsOptions, Transport } from "../src/transport/transport.ts";

export type { Connect, ConnectOptions, Listen, Listener, TlsOptions, Transport };

const KEEP_ALIVE_MS = 30_000;
const READ_BUFFER_SIZE = 64 * 1024;
/** A message of so many bytes is copied into one piece. */
const SCRATCH_SIZE = 64 * 1024;
/**
 * Bytes that may wait for a reader when the runtime makes the chunks. Generous, since `node:tls` of Deno 2.9 forgets to
 * report an end of stream that arrives while a socket is stopped.
 */
const CHUNKS_SIZE = 1024 * 1024;

/** Opens a TCP or TLS connection. */
export const connect: Connect = (host: string, port: number, options: ConnectOptions = {}): Promise<Transport> => {
  const { signal } = options;
  const attempt = { host, port, tls: Boolean(options.tls) };
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(connectAbortedError(attempt, signal.reason));
    const transport = new NodeTransport({ host, port });
    let socket: Socket;
    try {
      // A TLS socket may call `onread` several times although it was told to stop, each time with the same buffer.
      socket = options.tls
        ? connectTls({ host, port, ...tlsOptions(host, options.tls === true ? {} : options.tls) })
        : connectTcp({ host, port, onread: transport.onread });
      tune(socket);
    } catch (cause) {
      // A port out of range, a key that does not fit.
      return reject(cause instanceof ConfigError ? cause : connectError(attempt, cause));
    }
    const settle = () => {
      signal?.removeEventListener("abort", abort);
      socket.off("error", fail);
      socket.off("close", close);
    };
    const giveUp = (error: ConnectionError) => {
      settle();
      // The socket may still have something to say, which would end the process if nobody listened.
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const abort = () => giveUp(connectAbortedError(attempt, signal?.reason));
    const fail = (cause: unknown) => giveUp(connectError(attempt, cause));
    const close = () => fail(Object.assign(new Error("closed by the peer"), { code: "CONNECTION_CLOSED" }));
    signal?.addEventListener("abort", abort, { once: true });
    socket.on("error", fail);
    socket.on("close", close);
    socket.once(attempt.tls ? "secureConnect" : "connect", () => {
      settle();
      transport.attach(socket);
      if (attempt.tls) transport.takeChunks(socket);
      else socket.resume();
      resolve(transport);
    });
  });
};

/** Listens for plain TCP connections; for the embedded broker. */
export const listen: Listen = (
  host: string,
  port: number,
  accept: (transport: Transport) => void,
): Promise<Listener> => {
  const server = createServer((socket) => {
    const peer = { host: socket.remoteAddress ?? "unknown", port: socket.remotePort ?? 0 };
    tune(socket);
    const transport = new NodeTransport(peer);
    transport.attach(socket);
    transport.takeChunks(socket);
    accept(transport);
  });
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const details = { host, port, cause, retriable: false };
      reject(new ConnectionError(`listen ${peerText({ host, port })}: ${(cause as Error).message}`, details));
    };
    // Stays on: an accept that fails later, for want of file descriptors, must not end the process.
    server.on("error", fail);
    try {
      server.listen(port, host, () => resolve(listener(server)));
    } catch (cause) {
      fail(cause);
    }
  });
};

function listener(server: Server): Listener {
  return {
    port: (server.address() as { port: number }).port,
    close: (): Promise<void> => {
      // Not awaited: it is reported only when the last accepted connection is gone, and those are their owners' business.
      server.close();
      return Promise.resolve();
    },
  };
}

/** A buffer that the runtime reads into, and what to call then; the answer says whether to read on. */
interface OnRead {
  readonly buffer: Uint8Array;
  callback(count: number): boolean;
}

function tune(socket: Socket): void {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

function tlsOptions(host: string, options: TlsOptions): ConnectionOptions {
  checkTlsOptions(options);
  const { ca, cert, key, serverName, insecure } = options;
  const name = serverName ?? host;
  return {
    rejectUnauthorized: !insecure,
    // Node.js sends the name only when told to. An IP address must not be sent (RFC 6066); the host is checked anyway.
    ...(isIP(name) === 0 ? { servername: name } : serverName === undefined ? {} : {
      checkServerIdentity: (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate),
    }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** One socket. What came and was not read stops the runtime from reading more. */
class NodeTransport implements Transport {
  readonly #peer: Peer;
  readonly #inbox: Inbox = new Inbox(() => {
    if (this.#paused && this.#inbox.size <= this.#capacity / 2) {
      this.#paused = false;
      this.#socket?.resume();
    }
  });
  #socket: Socket | undefined;
  /** Bytes that may wait for a reader before the socket is stopped. */
  #capacity = 0;
  #paused = false;
  #scratch: Uint8Array | undefined;
  #rejectWrite: ((error: ConnectionError) => void) | undefined;
  /** Why writes are refused. */
  #broken: ConnectionError | undefined;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /** Lets the runtime read into one buffer for the connection's whole life: no allocation a chunk. */
  get onread(): OnRead {
    const buffer = new Uint8Array(READ_BUFFER_SIZE);
    return { buffer, callback: (count: number): boolean => this.#receive(buffer.subarray(0, count)) };
  }

  /** Reads the chunks that `socket` makes itself, for where {@linkcode NodeTransport.onread} cannot be had. */
  takeChunks(socket: Socket): void {
    this.#capacity = CHUNKS_SIZE;
    socket.on("data", (chunk: Uint8Array) => {
      if (!this.#receive(chunk)) socket.pause();
    });
  }

  /** Takes over `socket`, which is connected. */
  attach(socket: Socket): void {
    this.#socket = socket;
    socket.on("end", () => {
      this.#inbox.end();
      this.#refuseWrites(peerClosedError(this.#peer));
    });
    socket.on("error", (cause: Error) => this.#fail(streamError(this.#peer, cause)));
    socket.on("close", () => this.#fail(peerClosedError(this.#peer)));
  }

  read(into: Uint8Array): Promise<number> {
    return this.#inbox.read(into);
  }

  write(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#rejectWrite !== undefined) return Promise.reject(overlapError("write"));
    // Parts cost 2 to 4 µs each, so a small message leaves as one; a large one goes by reference in one writev.
    const isSmall = parts.reduce((size, part) => size + part.length, 0) <= SCRATCH_SIZE;
    const filled = isSmall
      ? [...gather(parts, this.#scratch ??= new Uint8Array(SCRATCH_SIZE))]
      : parts.filter((part) => part.length > 0);
    const last = filled.pop();
    if (last === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#rejectWrite = reject;
      const socket = this.#socket!;
      socket.cork();
      for (const part of filled) socket.write(part);
      // Only this callback says that the kernel has all of it: "drain" does not come for less than the high-water mark.
      socket.write(last, (cause) => {
        if (this.#rejectWrite !== reject) return;
        if (cause) return this.#fail(streamError(this.#peer, cause));
        // Node.js reports a write that a reset cut off as done.
        if (socket.destroyed) return this.#fail(peerClosedError(this.#peer));
        this.#rejectWrite = undefined;
        resolve();
      });
      socket.uncork();
    });
  }

  close(): void {
    const error = closedError(this.#peer);
    this.#inbox.close(error);
    this.#refuseWrites(error);
    this.#socket?.destroy();
  }

  /** Takes what came; false when no more must come until it was read. */
  #receive(chunk: Uint8Array): boolean {
    this.#inbox.push(chunk);
    if (this.#inbox.size > this.#capacity) this.#paused = true;
    return !this.#paused;
  }

  #fail(error: ConnectionError): void {
    this.#inbox.fail(error);
    this.#refuseWrites(error);
  }

  #refuseWrites(error: ConnectionError): void {
    this.#broken ??= error;
    this.#rejectWrite?.(error);
    this.#rejectWrite = undefined;
  }
}
