import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TimeoutError } from "../../src/core/kafka_error.ts";
import { checkTlsOptions } from "../../src/transport/check_tls_options.ts";
import { connectAbortedError, connectError } from "../../src/transport/connect_error.ts";
import { peerText, streamError } from "../../src/transport/stream_error.ts";
import { caCertificate, clientCertificate, clientKey } from "./certificates.ts";

const plain = { host: "broker", port: 9092, tls: false };
const secure = { ...plain, tls: true };

function failure(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe("connectError", () => {
  // The errors as the runtimes throw them.
  const refused = (address: string) => failure(`connect ECONNREFUSED ${address}`, "ECONNREFUSED");
  const cases: readonly [
    what: string,
    tls: boolean,
    cause: unknown,
    message: RegExp,
    code: string,
    retriable: boolean,
  ][] = [
    [
      "refused",
      false,
      refused("127.0.0.1:9092"),
      /: connection refused; is a broker listening there\?/,
      "ECONNREFUSED",
      true,
    ],
    [
      "refused at every address, Node.js: an AggregateError without a message",
      false,
      Object.assign(new AggregateError([refused("::1:9092"), refused("127.0.0.1:9092")]), { code: "ECONNREFUSED" }),
      /refused.*\(connect ECONNREFUSED ::1:9092, connect ECONNREFUSED 127\.0\.0\.1:9092\)/,
      "ECONNREFUSED",
      true,
    ],
    [
      "no such host",
      false,
      failure("getaddrinfo ENOTFOUND broker", "ENOTFOUND"),
      /cannot be resolved/,
      "ENOTFOUND",
      true,
    ],
    [
      "no such host, Deno: no code",
      false,
      failure("failed to lookup address information: Name or service not known"),
      /cannot be resolved/,
      "ENOTFOUND",
      true,
    ],
    [
      "bad port",
      false,
      new RangeError("Port should be >= 0 and < 65536"),
      /Port should be/,
      "CONNECTION_FAILED",
      false,
    ],
    ["unreachable", false, failure("connect EHOSTUNREACH", "EHOSTUNREACH"), /EHOSTUNREACH/, "EHOSTUNREACH", true],
    [
      "unknown issuer",
      true,
      failure("unable to verify the first certificate", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
      /TLS handshake failed: unable to verify .*; .* tls\.ca/,
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      false,
    ],
    ["expired", true, failure("certificate has expired", "CERT_HAS_EXPIRED"), /not valid/, "CERT_HAS_EXPIRED", false],
    [
      "plaintext port, Node.js",
      true,
      failure(
        "00C6:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/x.c:77:\n",
        "ERR_SSL_WRONG_VERSION_NUMBER",
      ),
      /TLS handshake failed: wrong version number; the peer does not speak TLS/,
      "ERR_SSL_WRONG_VERSION_NUMBER",
      false,
    ],
    [
      "plaintext port, Deno",
      true,
      failure("(ssl error:0A00010B:SSL routines:(unknown function):wrong version number)", "EPROTO"),
      /TLS handshake failed: wrong version number; the peer does not speak TLS/,
      "EPROTO",
      false,
    ],
    [
      "plaintext port, Bun",
      true,
      failure("error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER", "EPROTO"),
      /TLS handshake failed: WRONG_VERSION_NUMBER; the peer does not speak TLS/,
      "EPROTO",
      false,
    ],
    [
      "peer leaves during the handshake",
      true,
      failure("Client network socket disconnected before secure TLS connection was established", "ECONNRESET"),
      /during the TLS handshake; is it a TLS port\?/,
      "ECONNRESET",
      true,
    ],
    ["reset without TLS", false, failure("read ECONNRESET", "ECONNRESET"), /read ECONNRESET/, "ECONNRESET", true],
    ["no error at all", false, "gone", /: gone$/, "CONNECTION_FAILED", true],
    ["nothing at all", false, undefined, /: undefined$/, "CONNECTION_FAILED", true],
  ];

  for (const [what, tls, cause, message, code, retriable] of cases) {
    test(what, () => {
      const error = connectError(tls ? secure : plain, cause);
      assert.match(error.message, /^connect broker:9092: /);
      assert.match(error.message, message);
      assert.deepEqual([error.code, error.retriable], [code, retriable]);
      assert.deepEqual([error.host, error.port, error.cause], ["broker", 9092, cause]);
    });
  }

  test("an abort is as retriable as its reason", () => {
    const timeout = new TimeoutError("no connection within 10 ms");
    const error = connectAbortedError(plain, timeout);
    assert.equal(error.message, "connect broker:9092: aborted: no connection within 10 ms");
    assert.deepEqual([error.code, error.retriable, error.cause], ["ABORTED", true, timeout]);
    assert.equal(connectAbortedError(plain, new Error("mine")).retriable, false);
    assert.equal(connectAbortedError(plain, undefined).message, "connect broker:9092: aborted");
  });
});

describe("streamError", () => {
  test("says what broke and where, and what to do where something can be done", () => {
    const peer = { host: "broker", port: 9092 };
    assert.equal(
      streamError(peer, failure("read ECONNRESET", "ECONNRESET")).message,
      "broker:9092: the peer reset the connection",
    );
    const alert = failure("ssl/tls alert certificate required", "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED");
    const error = streamError(peer, alert);
    assert.match(error.message, /^broker:9092: .*; .* give tls\.cert and tls\.key$/);
    assert.deepEqual([error.code, error.retriable, error.cause], [alert["code" as keyof Error], false, alert]);
  });

  test("puts an IPv6 address into brackets", () => {
    assert.equal(peerText({ host: "::1", port: 1 }), "[::1]:1");
  });
});

describe("checkTlsOptions", () => {
  test("takes PEM text and nothing else", () => {
    checkTlsOptions({});
    checkTlsOptions({ ca: caCertificate, cert: clientCertificate, key: clientKey, serverName: "x", insecure: true });
    for (const bad of [{ ca: "/etc/ssl/ca.pem" }, { cert: "", key: clientKey }, { key: clientKey }]) {
      assert.throws(() => checkTlsOptions(bad), { name: "ConfigError", code: "INVALID_CONFIG", message: /^tls\./ });
    }
  });
});
