/**
 * One node of the cluster: its address and its connections, one for each purpose, so that a long poll never holds up a
 * produce. A connection is made when it is asked for, once at a time, no sooner than the back-off after a failure allows.
 *
 * @module
 */

import { abortError, throwIfAborted } from "../core/abort_error.ts";
import { sleep } from "../core/clock.ts";
import { ClosedError, type KafkaError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { backoffMs } from "../core/retry.ts";
import type { Connect } from "../transport/transport.ts";
import { type HostPort, hostPortText } from "./bootstrap_servers.ts";
import type { ClientOptions } from "./client_options.ts";
import { Connection } from "./connection.ts";

/** What a connection is for. Requests of one purpose share a connection and are answered in order. */
export type Purpose = "main" | "fetch";

/** What a node needs. */
export interface BrokerNodeOptions {
  /** Kafka's node id; negative for a bootstrap server, whose id is not known. */
  readonly id: number;
  /** Where it listens. */
  readonly address: HostPort;
  /** The client's options. */
  readonly client: Resolved<ClientOptions>;
  /** Opens sockets. */
  readonly connect: Connect;
  /** Called after a connection was lost or could not be made. */
  readonly onDisconnect?: (node: BrokerNode, error: KafkaError) => void;
}

/** A node of the cluster. */
export class BrokerNode {
  readonly #options: BrokerNodeOptions;
  readonly #live = new Map<Purpose, Connection>();
  readonly #opening = new Map<Purpose, Promise<Connection>>();
  readonly #closing = new AbortController();
  #failures = 0;
  #lastAttempt = -Infinity;
  #retryAt = -Infinity;

  /** Makes the node; nothing is connected yet. */
  constructor(options: BrokerNodeOptions) {
    this.#options = options;
  }

  /** Kafka's node id; negative for a bootstrap server. */
  get id(): number {
    return this.#options.id;
  }

  /** Where it listens. */
  get address(): HostPort {
    return this.#options.address;
  }

  /** The node in messages. */
  get text(): string {
    const address = hostPortText(this.#options.address);
    return this.#options.id < 0 ? `bootstrap server ${address}` : `node ${this.#options.id} (${address})`;
  }

  /** When the last attempt to connect began, on the clock's scale. */
  get lastAttempt(): number {
    return this.#lastAttempt;
  }

  /** Whether a connection for `purpose` is being made. */
  isConnecting(purpose: Purpose): boolean {
    return this.#opening.has(purpose);
  }

  /** The live connection for `purpose`, if there is one. */
  connection(purpose: Purpose): Connection | undefined {
    return this.#live.get(purpose);
  }

  /** Resolves to the live connection for `purpose`, or makes one, waiting out the back-off first. */
  connect(purpose: Purpose): Promise<Connection> {
    const live = this.#live.get(purpose);
    if (live !== undefined) return Promise.resolve(live);
    let opening = this.#opening.get(purpose);
    if (opening === undefined) {
      opening = this.#open(purpose).finally(() => this.#opening.delete(purpose));
      this.#opening.set(purpose, opening);
    }
    return opening;
  }

  /** Ends every connection for good. */
  close(reason: KafkaError = new ClosedError(`${this.text}: closed by the client`)): void {
    this.#closing.abort(reason);
    for (const connection of [...this.#live.values()]) connection.close(reason);
  }

  async #open(purpose: Purpose): Promise<Connection> {
    const { client, address, connect } = this.#options;
    const { signal } = this.#closing;
    throwIfAborted(signal);
    const wait = this.#retryAt - client.clock.now();
    if (wait > 0) await sleep(client.clock, wait, signal);
    this.#lastAttempt = client.clock.now();
    try {
      const connection = await Connection.open({
        node: this.text,
        host: address.host,
        port: address.port,
        connect: (host, port, options) =>
          connect(host, port, { ...options, signal: anySignal(options?.signal, signal) }),
        tls: client.tls ?? client.securityProtocol === "SSL",
        clientId: client.clientId,
        setupTimeoutMs: backoffMs(
          { initialMs: client.socketConnectionSetupTimeoutMs, maxMs: client.socketConnectionSetupTimeoutMaxMs },
          this.#failures + 1,
          client.random,
        ),
        requestTimeoutMs: client.requestTimeoutMs,
        maxIdleMs: client.connectionsMaxIdleMs,
        maxFrameSize: client.receiveMessageMaxBytes,
        clock: client.clock,
        logger: client.logger,
        metrics: client.metrics,
        onEnd: (ended, error) => this.#ended(purpose, ended, error),
      });
      if (signal.aborted) {
        connection.close(abortError(signal));
        throw abortError(signal);
      }
      this.#failures = 0;
      this.#live.set(purpose, connection);
      return connection;
    } catch (cause) {
      if (!signal.aborted) this.#failed(cause as KafkaError);
      throw cause;
    }
  }

  #ended(purpose: Purpose, connection: Connection, error: KafkaError): void {
    // While it was being opened, #open reports the failure.
    if (this.#live.get(purpose) !== connection) return;
    this.#live.delete(purpose);
    if (!this.#closing.signal.aborted && error.code !== "CONNECTION_IDLE") this.#failed(error);
  }

  #failed(error: KafkaError): void {
    const { client } = this.#options;
    this.#failures++;
    const backoff = { initialMs: client.reconnectBackoffMs, maxMs: client.reconnectBackoffMaxMs };
    this.#retryAt = client.clock.now() + backoffMs(backoff, this.#failures, client.random);
    client.logger.warn(`${this.text}: ${error.message}`, { code: error.code, failures: this.#failures });
    this.#options.onDisconnect?.(this, error);
  }
}

/** A signal that fires with either; `AbortSignal.any` keeps no listener on a long-lived signal after the call. */
function anySignal(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  return first === undefined ? second : AbortSignal.any([first, second]);
}
