/**
 * One node of the cluster: its address and its connections, one for each purpose, so that a long poll never holds up a
 * produce. A connection is made when it is asked for, once at a time, no sooner than the back-off after a failure allows.
 *
 * @module
 */

import { abortError, throwIfAborted } from "../core/abort_error.ts";
import { sleep } from "../core/clock.ts";
import { ClosedError, ConnectionError, type KafkaError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { backoffMs } from "../core/retry.ts";
import type { Connect, TlsOptions } from "../transport/transport.ts";
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

/** A connection that is being made. */
interface Opening {
  readonly connection: Promise<Connection>;
  readonly giveUp: AbortController;
}

/**
 * The versions of ApiVersions that are begun with, one after the other, where the peer hangs up on a later one instead of
 * refusing it, as Azure Event Hubs does; undefined stands for the highest.
 */
const VERSIONS_BELOW: ReadonlyMap<number | undefined, number | undefined> = new Map([
  [undefined, 3],
  [3, 0],
  [0, undefined],
]);

/** A node of the cluster. */
export class BrokerNode {
  readonly #options: BrokerNodeOptions;
  readonly #live = new Map<Purpose, Connection>();
  readonly #opening = new Map<Purpose, Opening>();
  #address: HostPort;
  #closed: KafkaError | undefined;
  /** Connections lost or not made since the last one that was ready. */
  #failures = 0;
  /** Sockets not opened since the last one that was. */
  #setupFailures = 0;
  #lastAttempt = -Infinity;
  #backoffUntil = -Infinity;
  #lastError: KafkaError | undefined;
  #firstVersion: number | undefined;

  /** Makes the node; nothing is connected yet. */
  constructor(options: BrokerNodeOptions) {
    this.#options = options;
    this.#address = options.address;
  }

  /** Kafka's node id; negative for a bootstrap server. */
  get id(): number {
    return this.#options.id;
  }

  /** Where it listens. */
  get address(): HostPort {
    return this.#address;
  }

  /** The node in messages. */
  get text(): string {
    const address = hostPortText(this.#address);
    return this.id < 0 ? `bootstrap server ${address}` : `node ${this.id} (${address})`;
  }

  /** When the last attempt to connect began, on the clock's scale. */
  get lastAttempt(): number {
    return this.#lastAttempt;
  }

  /** Before when no attempt to connect begins, on the clock's scale; in the past when there is no reason to wait. */
  get backoffUntil(): number {
    return this.#backoffUntil;
  }

  /** Why the last connection was lost or not made; undefined since one is ready. */
  get lastError(): KafkaError | undefined {
    return this.#lastError;
  }

  /** Whether a connection for `purpose` is being made, or will be after the back-off. */
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
    const opening = this.#opening.get(purpose);
    if (opening !== undefined) return opening.connection;
    const giveUp = new AbortController();
    if (this.#closed !== undefined) giveUp.abort(this.#closed);
    const connection = this.#open(purpose, giveUp.signal).finally(() => {
      if (this.#opening.get(purpose)?.giveUp === giveUp) this.#opening.delete(purpose);
    });
    this.#opening.set(purpose, { connection, giveUp });
    return connection;
  }

  /** The node listens elsewhere from now on. Connections that stand are kept; what is being made begins anew. */
  moveTo(address: HostPort): void {
    const before = this.text;
    this.#address = address;
    this.#failures = this.#setupFailures = 0;
    this.#backoffUntil = -Infinity;
    this.#firstVersion = undefined;
    this.#giveUp(new ConnectionError(`${before}: it listens at ${hostPortText(address)} now`, { ...address }));
  }

  /** Ends the connections that stand; the next call for one makes it anew, from the name of the host on. */
  disconnect(reason: KafkaError): void {
    const live = [...this.#live.values()];
    this.#live.clear();
    for (const connection of live) connection.close(reason);
  }

  /** Ends every connection for good. */
  close(reason: KafkaError = new ClosedError(`${this.text}: closed by the client`)): void {
    this.#closed ??= reason;
    this.#giveUp(reason);
    this.disconnect(reason);
  }

  #giveUp(reason: KafkaError): void {
    const openings = [...this.#opening.values()];
    this.#opening.clear();
    for (const { giveUp } of openings) giveUp.abort(reason);
  }

  async #open(purpose: Purpose, signal: AbortSignal): Promise<Connection> {
    const { client, connect } = this.#options;
    throwIfAborted(signal);
    const wait = this.#backoffUntil - client.clock.now();
    if (wait > 0) await sleep(client.clock, wait, signal);
    this.#lastAttempt = client.clock.now();
    const { host, port } = this.#address;
    let hasSocket = false;
    try {
      const connection = await Connection.open({
        node: this.text,
        nodeId: this.id,
        host,
        port,
        connect: async (host, port, options) => {
          const transport = await connect(host, port, { ...options, signal: anySignal(options?.signal, signal) });
          hasSocket = true;
          return transport;
        },
        tls: tlsFor(host, client),
        clientId: client.clientId,
        setupTimeoutMs: backoffMs(
          { initialMs: client.socketConnectionSetupTimeoutMs, maxMs: client.socketConnectionSetupTimeoutMaxMs },
          this.#setupFailures + 1,
          client.random,
        ),
        requestTimeoutMs: client.requestTimeoutMs,
        maxIdleMs: client.connectionsMaxIdleMs,
        maxFrameSize: client.receiveMessageMaxBytes,
        firstVersion: this.#firstVersion,
        clock: client.clock,
        logger: client.logger,
        metrics: client.metrics,
        signal,
        onEnd: (ended, error) => this.#ended(purpose, ended, error),
      });
      if (signal.aborted) {
        connection.close(abortError(signal));
        throw abortError(signal);
      }
      // The peer may have hung up right behind its answer.
      if (connection.ended !== undefined) throw connection.ended;
      this.#failures = this.#setupFailures = 0;
      this.#lastError = undefined;
      this.#live.set(purpose, connection);
      return connection;
    } catch (cause) {
      if (signal.aborted) throw abortError(signal);
      this.#setupFailures = hasSocket ? 0 : this.#setupFailures + 1;
      if (hasSocket && cause instanceof ConnectionError && cause.retriable) {
        this.#firstVersion = VERSIONS_BELOW.get(this.#firstVersion);
      }
      this.#failed(cause as KafkaError);
      throw cause;
    }
  }

  #ended(purpose: Purpose, connection: Connection, error: KafkaError): void {
    // While it was being opened, #open reports the failure; what this side ended is none.
    if (this.#live.get(purpose) !== connection) return;
    this.#live.delete(purpose);
    if (error.code !== "CONNECTION_IDLE") this.#failed(error);
  }

  #failed(error: KafkaError): void {
    const { client } = this.#options;
    this.#failures++;
    this.#lastError = error;
    const backoff = { initialMs: client.reconnectBackoffMs, maxMs: client.reconnectBackoffMaxMs };
    this.#backoffUntil = client.clock.now() + backoffMs(backoff, this.#failures, client.random);
    client.logger.warn(`${this.text}: ${error.message}`, { code: error.code, failures: this.#failures });
    this.#options.onDisconnect?.(this, error);
  }
}

/** A name may end in a dot, which says that it is complete. Certificates and SNI never have it. */
function tlsFor(host: string, { securityProtocol, tls }: Resolved<ClientOptions>): boolean | TlsOptions {
  if (tls === undefined && securityProtocol !== "SSL") return false;
  return host.endsWith(".") ? { serverName: host.slice(0, -1), ...tls } : tls ?? true;
}

/** A signal that fires with either; `AbortSignal.any` keeps no listener on a long-lived signal after the call. */
function anySignal(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  return first === undefined ? second : AbortSignal.any([first, second]);
}
