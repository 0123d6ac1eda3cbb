/**
 * What to do about a failed TLS handshake, told by the code that OpenSSL or BoringSSL gives, which all runtimes pass on.
 *
 * @module
 */

const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** What the caller can do about `cause`; undefined when it is no failure of TLS that would come back. */
export function tlsHint(cause: unknown): string | undefined {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  if (typeof code !== "string") return undefined;
  if (UNTRUSTED.has(code)) return "the certificate's issuer is not trusted: give its root as tls.ca";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "the certificate is for another name: connect to a name it lists, or give that name as tls.serverName";
  }
  if (code.startsWith("CERT_")) return "the certificate is not valid";
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code) || /wrong.version.number/i.test(String(message))) {
    return "the peer does not speak TLS: this port is for plaintext, leave tls out";
  }
  return certificateRequired(cause) ??
    (code.startsWith("ERR_SSL_") || code.startsWith("ERR_OSSL_")
      ? "the TLS settings of the two sides do not fit"
      : undefined);
}

/** The hint when the peer refused because of the client's certificate. With TLS 1.3 that shows only after the handshake. */
export function certificateRequired(cause: unknown): string | undefined {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return /alert.*(certificate|unknown.ca|handshake.failure)/i.test(`${code} ${message}`)
    ? "the peer wants a client certificate that it trusts: give tls.cert and tls.key"
    : undefined;
}
