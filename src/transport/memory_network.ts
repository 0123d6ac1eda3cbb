/**
 * A network in memory: listeners by host and port, connections between them and clients of the same process, and control
 * over both. Tests and the embedded broker inside a program use it in place of sockets.
 *
 * @module
 */

import { ConnectionError } from "../core/kafka_error.ts";
import { connectAbortedError, connectError } from "./connect_error.ts";
import { type Break, MemoryTransport, type MemoryTransportOptions } from "./memory_transport.ts";
import { type Peer, peerText } from "./stream_error.ts";
import type { Connect, ConnectOptions, Listen, Listener, Transport } from "./transport.ts";

/** One connection of a {@linkcode MemoryNetwork}, with both its ends. */
export interface MemoryConnection {
  /** The listener's host, as the client asked for it. */
  readonly host: string;
  /** The listener's port. */
  readonly port: number;
  /** The end that connected. */
  readonly client: MemoryTransport;
  /** The end that was accepted. */
  readonly server: MemoryTransport;
}

/**
 * What a host and port answer to a new connection: `"open"` lets the listener accept it, `"refuse"` turns it away,
 * `"silent"` never answers, as behind a firewall.
 */
export type Reachability = "open" | "refuse" | "silent";

const FIRST_FREE_PORT = 49152;
const LOCAL_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "0.0.0.0", "::", ""]);

/** Listeners and connections in memory. */
export class MemoryNetwork {
  /** Connects to a listener of this network. */
  readonly connect: Connect;
  /** Listens in this network; port 0 takes a free one. */
  readonly listen: Listen;
  /** Called with each new connection before either side sees it: the place to set its switches. */
  onConnect: ((connection: MemoryConnection) => void) | undefined;

  readonly #options: Omit<MemoryTransportOptions, "peers">;
  readonly #listeners = new Map<string, (transport: Transport) => void>();
  readonly #reachability = new Map<string, Reachability>();
  readonly #hosts = new Set<string>(["localhost"]);
  #connections: MemoryConnection[] = [];
  #nextPort = FIRST_FREE_PORT;

  /** Makes an empty network; the options go to every connection. */
  constructor(options: Omit<MemoryTransportOptions, "peers"> = {}) {
    this.#options = options;
    this.connect = (host, port, connectOptions = {}) => this.#connect(host, port, connectOptions);
    this.listen = (host, port, accept) => this.#listen(host, port, accept);
  }

  /** Sets how `host:port` answers to new connections; those that stand are left alone. */
  setReachability(host: string, port: number, reachability: Reachability): void {
    this.#reachability.set(address(host, port), reachability);
    this.#hosts.add(nameOf(host));
  }

  /** The connections to `host:port` that stand, oldest first. */
  connections(host: string, port: number): MemoryConnection[] {
    this.#forgetClosed();
    const wanted = address(host, port);
    return this.#connections.filter((connection) => address(connection.host, connection.port) === wanted);
  }

  /** Breaks every connection to `host:port`; answers how many there were. */
  cutAll(host: string, port: number, how: Break = "reset"): number {
    const connections = this.connections(host, port);
    for (const { server } of connections) {
      if (how === "reset") server.reset();
      else server.close();
    }
    return connections.length;
  }

  async #connect(host: string, port: number, { signal, tls }: ConnectOptions): Promise<Transport> {
    const attempt = { host, port, tls: Boolean(tls) };
    if (signal?.aborted) throw connectAbortedError(attempt, signal.reason);
    if (attempt.tls) {
      throw connectError(attempt, failure("NO_TLS", "a network in memory has no TLS"));
    }
    const where = address(host, port);
    const reachability = this.#reachability.get(where) ?? "open";
    if (reachability === "silent") await aborted(signal);
    // As with sockets: the call returns before anything has been decided, and an abort may come meanwhile.
    else await undefined;
    if (signal?.aborted) throw connectAbortedError(attempt, signal.reason);
    if (!this.#hosts.has(nameOf(host))) throw connectError(attempt, failure("ENOTFOUND", `no host ${host} here`));
    const accept = this.#listeners.get(where);
    if (accept === undefined || reachability === "refuse") {
      throw connectError(attempt, failure("ECONNREFUSED", `no listener on ${peerText(attempt)} here`));
    }
    return this.#open({ host, port }, accept);
  }

  #open({ host, port }: Peer, accept: (transport: Transport) => void): Transport {
    this.#forgetClosed();
    const peers: [Peer, Peer] = [{ host: "localhost", port: this.#nextPort++ }, { host, port }];
    const [client, server] = MemoryTransport.pair({ ...this.#options, peers });
    const connection: MemoryConnection = { host, port, client, server };
    this.#connections.push(connection);
    this.onConnect?.(connection);
    accept(server);
    return client;
  }

  #listen(host: string, port: number, accept: (transport: Transport) => void): Promise<Listener> {
    const chosen = port === 0 ? this.#freePort(host) : port;
    const where = address(host, chosen);
    if (this.#listeners.has(where)) {
      return Promise.reject(
        new ConnectionError(`listen ${peerText({ host, port })}: the port is taken`, {
          host,
          port,
          code: "EADDRINUSE",
          retriable: false,
        }),
      );
    }
    this.#hosts.add(nameOf(host));
    this.#listeners.set(where, accept);
    return Promise.resolve({
      port: chosen,
      close: (): Promise<void> => {
        if (this.#listeners.get(where) === accept) this.#listeners.delete(where);
        return Promise.resolve();
      },
    });
  }

  #freePort(host: string): number {
    while (this.#listeners.has(address(host, this.#nextPort))) this.#nextPort++;
    return this.#nextPort++;
  }

  #forgetClosed(): void {
    this.#connections = this.#connections.filter(({ client, server }) => !client.closed || !server.closed);
  }
}

/** This machine has many names. */
function nameOf(host: string): string {
  return LOCAL_NAMES.has(host) ? "localhost" : host.toLowerCase();
}

function address(host: string, port: number): string {
  return `${nameOf(host)}:${port}`;
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Waits for the signal, for ever when there is none. */
function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}
