/**
 * Sockets over `Deno.connect`. TLS goes through `node:tls`, since `Deno.connectTls` has no client certificates together
 * with a name of one's own, and cannot be aborted.
 *
 * Needs `--allow-net`. Deno does not let the time until keep-alive be set for these sockets; the system's applies.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 * import { connect } from "@anykafka/kafka/deno";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092", connect });
 * ```
 *
 * @module
 */

import type { ConnectionError } from "../src/core/kafka_error.ts";
import { connectAbortedError, connectError } from "../src/transport/connect_error.ts";
import { gather } from "../src/transport/gather.ts";
import { closedError, overlapError, type Peer, peerClosedError, streamError } from "../src/transport/stream_error.ts";
import type { Connect, ConnectOptions, TlsOptions, Transport } from "../src/transport/transport.ts";

export type { Connect, ConnectOptions, TlsOptions, Transport };

interface DenoConn {
  read(into: Uint8Array): Promise<number | null>;
  write(data: Uint8Array): Promise<number>;
  close(): void;
  setNoDelay(on: boolean): void;
  setKeepAlive(on: boolean): void;
}

interface DenoLike {
  connect(options: { hostname: string; port: number; signal?: AbortSignal }): Promise<DenoConn>;
}

const SCRATCH_SIZE = 64 * 1024;

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
  const { Deno } = globalThis as unknown as { Deno: DenoLike };
  const { signal } = options;
  const attempt = { host, port, tls: false };
  let conn: DenoConn | undefined;
  try {
    signal?.throwIfAborted();
    conn = await Deno.connect({ hostname: host, port, ...(signal === undefined ? {} : { signal }) });
    // The signal may fire after the socket is open and before this line runs.
    signal?.throwIfAborted();
    conn.setNoDelay(true);
    conn.setKeepAlive(true);
    return new DenoTransport(conn, { host, port });
  } catch (cause) {
    conn?.close();
    throw signal?.aborted ? connectAbortedError(attempt, signal.reason) : connectError(attempt, cause);
  }
};

class DenoTransport implements Transport {
  readonly #conn: DenoConn;
  readonly #peer: Peer;
  readonly #scratch: Uint8Array = new Uint8Array(SCRATCH_SIZE);
  #reading = false;
  #writing = false;
  /** How the stream ended or broke; undefined while it stands. */
  #end: "end" | ConnectionError | undefined;
  #closed = false;

  constructor(conn: DenoConn, peer: Peer) {
    this.#conn = conn;
    this.#peer = peer;
  }

  async read(into: Uint8Array): Promise<number> {
    if (this.#end === "end") return 0;
    if (this.#end !== undefined) throw this.#end;
    if (this.#reading) throw overlapError("read");
    this.#reading = true;
    try {
      const count = await this.#conn.read(into);
      if (this.#closed) throw closedError(this.#peer);
      if (count !== null) return count;
      this.#end ??= "end";
      return 0;
    } catch (cause) {
      throw this.#fail(cause);
    } finally {
      this.#reading = false;
    }
  }

  async write(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#end !== undefined) throw this.#end === "end" ? peerClosedError(this.#peer) : this.#end;
    if (this.#writing) throw overlapError("write");
    this.#writing = true;
    try {
      for (const piece of gather(parts, this.#scratch)) {
        let sent = await this.#conn.write(piece);
        while (sent < piece.length) sent += await this.#conn.write(piece.subarray(sent));
      }
    } catch (cause) {
      throw this.#fail(cause);
    } finally {
      this.#writing = false;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#end = closedError(this.#peer);
    this.#conn.close();
  }

  /** The error to throw for `cause`: that of our own close, when that is what ended the call. */
  #fail(cause: unknown): ConnectionError {
    if (this.#end === undefined || this.#end === "end") this.#end = streamError(this.#peer, cause);
    return this.#end;
  }
}
