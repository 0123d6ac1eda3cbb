/**
 * The errors of a connection that stands: one wording for every adapter.
 *
 * @module
 */

import { ConnectionError } from "../core/kafka_error.ts";
import { certificateRequired } from "./tls_hint.ts";

/** The two ends of a connection as messages name it. */
export interface Peer {
  /** The other end's host. */
  readonly host: string;
  /** The other end's port. */
  readonly port: number;
}

/** `host:port`, with brackets around an IPv6 address. */
export function peerText({ host, port }: Peer): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The connection broke; `cause` is the runtime's error. */
export function streamError(peer: Peer, cause: unknown): ConnectionError {
  const { code, message } = cause as { code?: unknown; message?: string };
  const reason = code === "ECONNRESET" ? "the peer reset the connection" : message || String(cause);
  const hint = certificateRequired(cause);
  return new ConnectionError(`${peerText(peer)}: ${reason}${hint === undefined ? "" : `; ${hint}`}`, {
    ...peer,
    cause,
    retriable: hint === undefined,
  });
}

/** The peer is gone, so nothing more can be written. */
export function peerClosedError(peer: Peer): ConnectionError {
  return new ConnectionError(`${peerText(peer)}: the peer closed the connection`, { ...peer, code: "EPIPE" });
}

/** This side closed the connection before or while the call ran. */
export function closedError(peer: Peer): ConnectionError {
  return new ConnectionError(`${peerText(peer)}: the connection was closed on this side`, {
    ...peer,
    code: "CONNECTION_CLOSED",
  });
}

/** A second read or write was begun while one was pending, which would garble the stream. */
export function overlapError(operation: "read" | "write"): ConnectionError {
  return new ConnectionError(`a ${operation} is still pending on this connection; await it before the next`, {
    code: `${operation.toUpperCase()}_PENDING`,
    retriable: false,
  });
}
