/**
 * One node of the embedded broker: where it listens, and who is connected to it. It can be stopped and started again; the
 * logs are not its own.
 *
 * @module
 */

import type { Listen, Listener, Transport } from "../transport/transport.ts";

/** What a node needs. */
export interface BrokerEndpointOptions {
  /** Its number. */
  readonly id: number;
  /** Host to listen on. */
  readonly host: string;
  /** Port to listen on; 0 for a free one, which it keeps. */
  readonly port: number;
  /** Listens. */
  readonly listen: Listen;
  /** Serves one connection until it ends or the signal fires; never rejects. */
  readonly serve: (transport: Transport, signal: AbortSignal) => Promise<void>;
}

/** One node. */
export class BrokerEndpoint {
  readonly #options: BrokerEndpointOptions;
  readonly #connections = new Set<Promise<void>>();
  #listener: Listener | undefined;
  #stopping = new AbortController();
  #port: number;

  /** A node that is not started. */
  constructor(options: BrokerEndpointOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** Its number. */
  get id(): number {
    return this.#options.id;
  }

  /** Its port; 0 before it was started for the first time, if any is right. */
  get port(): number {
    return this.#port;
  }

  /** Whether it listens. */
  get isRunning(): boolean {
    return this.#listener !== undefined;
  }

  /**
   * Listens.
   *
   * @throws ConnectionError when the port is taken.
   */
  async start(): Promise<void> {
    if (this.isRunning) return;
    const { host, listen, serve } = this.#options;
    this.#stopping = new AbortController();
    const { signal } = this.#stopping;
    this.#listener = await listen(host, this.#port, (transport) => {
      const served = serve(transport, signal).finally(() => this.#connections.delete(served));
      this.#connections.add(served);
    });
    this.#port = this.#listener.port;
  }

  /** Ends its connections, and listens no more. */
  async stop(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#stopping.abort();
    await listener?.close();
    await Promise.all(this.#connections);
  }
}
