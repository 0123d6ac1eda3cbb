/**
 * The error of a connection that could not be made: one wording for every adapter.
 *
 * @module
 */

import { ConnectionError, type ErrorDetails, isRetriable } from "../core/kafka_error.ts";
import { type Peer, peerText } from "./stream_error.ts";
import { tlsHint } from "./tls_hint.ts";

/** What a connection was to be made to, and how. */
export interface ConnectAttempt extends Peer {
  /** Whether TLS was asked for. */
  readonly tls: boolean;
}

/**
 * The error for `attempt`. The runtime's error is its cause; its code tells what failed: `ECONNREFUSED`, `ENOTFOUND`,
 * `ERR_TLS_CERT_ALTNAME_INVALID`, …
 */
export function connectError(attempt: ConnectAttempt, cause: unknown): ConnectionError {
  const { reason, ...details } = explain(attempt, cause);
  const { host, port } = attempt;
  return new ConnectionError(`connect ${peerText(attempt)}: ${reason}`, { host, port, cause, ...details });
}

/** The error when the caller's signal fired; its reason becomes the cause. */
export function connectAbortedError(attempt: ConnectAttempt, reason: unknown): ConnectionError {
  const { host, port } = attempt;
  const why = reason instanceof Error && reason.message !== "" ? `: ${reason.message}` : "";
  return new ConnectionError(`connect ${peerText(attempt)}: aborted${why}`, {
    host,
    port,
    cause: reason,
    code: "ABORTED",
    retriable: isRetriable(reason),
  });
}

function explain(attempt: ConnectAttempt, cause: unknown): ErrorDetails & { reason: string } {
  const text = messageOf(cause);
  const code = codeOf(cause);
  if (code === "ECONNREFUSED") return { code, reason: `connection refused; is a broker listening there? (${text})` };
  // Deno has no code for a name that does not resolve, and a text that varies with the system.
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || /lookup address|name resolution|no such host/i.test(text)) {
    return { code: code ?? "ENOTFOUND", reason: `the host name cannot be resolved (${text})` };
  }
  if (attempt.tls) {
    const hint = tlsHint(cause);
    // Retrying does not mend a certificate.
    if (hint !== undefined) {
      return { retriable: false, ...named(code), reason: `TLS handshake failed: ${text}; ${hint}` };
    }
    if (code === "ECONNRESET" || code === "CONNECTION_CLOSED") {
      return { code, reason: `the peer closed the connection during the TLS handshake; is it a TLS port? (${text})` };
    }
  }
  // An argument the runtime refuses, such as port 70000, or a key that is no PEM, is refused every time.
  const hopeless = cause instanceof TypeError || cause instanceof RangeError || code?.startsWith("ERR_OSSL_") === true;
  return { ...named(code), reason: text, ...(hopeless ? { retriable: false } : {}) };
}

function named(code: string | undefined): { code?: string } {
  return code === undefined ? {} : { code };
}

function codeOf(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** Node.js tries each address of a name and then throws an AggregateError whose own message is empty. */
function messageOf(cause: unknown): string {
  const { errors, message } = (cause ?? {}) as { errors?: unknown; message?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(messageOf).join(", ");
  if (typeof message !== "string" || message === "") return String(cause);
  // OpenSSL's own text has addresses and source files of its build around the reason.
  return /SSL routines:[^:]*:([^:)]+)/.exec(message)?.[1]?.trim() ?? message.trim();
}
