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

/**
 * One byte stream to a peer. Every failure is a `ConnectionError` with the runtime's error as its cause, and its `code` where
 * the runtime tells: `ECONNRESET`, `EPIPE`, … A second read or write while one is pending rejects and leaves the first alone.
 */
export interface Transport {
  /**
   * Fills the front of `into`, which must not be empty; resolves to the count, 0 at the end of the stream. What came before
   * the end, or before the connection broke, is read first.
   */
  read(into: Uint8Array): Promise<number>;
  /**
   * Sends every part in order; resolves when the system has taken them all, so a slow peer holds the writer back. Until then
   * the parts must stay unchanged. Rejects once the end of the stream was seen: there is no half-closed state.
   */
  write(parts: readonly Uint8Array[]): Promise<void>;
  /**
   * Drops the connection: what was received is discarded, pending and later reads and writes reject. What was written still
   * goes out, then the end of the stream. Safe to repeat.
   */
  close(): void;
}

/**
 * Opens a byte stream. TCP_NODELAY is set, keep-alive is on after 30 s. With TLS the peer's certificates have been checked.
 *
 * Rejects with a `ConnectionError` that names host and port; when the signal fired, its reason is the cause. Settings of TLS
 * that cannot be right are a `ConfigError`. Once connected, the signal has no effect.
 */
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
