/**
 * The socket seam. The core speaks to a broker through a {@linkcode Transport}; adapters make one from a runtime's sockets,
 * and an in-memory pair makes two without any.
 *
 * One reader and one writer at a time: the connection owns both, so an adapter needs no queues.
 *
 * @module
 */

/** TLS settings of one connection. */
export interface TlsOptions {
  /** Trusted roots in PEM; the runtime's own when absent. */
  readonly ca?: string;
  /** Client certificate chain in PEM. */
  readonly cert?: string;
  /** Client private key in PEM. */
  readonly key?: string;
  /** Name sent as SNI and checked in the certificate; the host when absent. */
  readonly serverName?: string;
  /** Skip every certificate check; for tests only. */
  readonly insecure?: boolean;
}

/** Settings of one connection. */
export interface ConnectOptions {
  /** Speak TLS. */
  readonly tls?: boolean | TlsOptions;
  /** Gives up connecting. */
  readonly signal?: AbortSignal;
}

/** One byte stream to a peer. Every failure is a `ConnectionError` with the runtime's error as its cause. */
export interface Transport {
  /** Fills the front of `into`; resolves to the count, 0 at end of stream. */
  read(into: Uint8Array): Promise<number>;
  /** Sends every part in order; the parts must stay unchanged until it resolves. */
  write(parts: readonly Uint8Array[]): Promise<void>;
  /** Drops the connection; pending reads and writes reject. Safe to repeat. */
  close(): void;
}

/** Opens a byte stream. TCP_NODELAY is set, keep-alive is on after 30 s. */
export type Connect = (host: string, port: number, options?: ConnectOptions) => Promise<Transport>;

/** A listening socket. */
export interface Listener {
  /** The port it listens on, chosen by the system when 0 was asked for. */
  readonly port: number;
  /** Stops listening; connections already accepted stay. */
  close(): Promise<void>;
}

/** Listens for byte streams and hands each to `accept`. */
export type Listen = (host: string, port: number, accept: (transport: Transport) => void) => Promise<Listener>;
