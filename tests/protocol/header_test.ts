import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { apiVersionsApi } from "../../src/protocol/api_versions.ts";
import { requestHeaderVersion, responseHeaderVersion } from "../../src/protocol/header_version.ts";
import { produceApi } from "../../src/protocol/produce.ts";
import { decodeRequestHeader, encodeRequestHeader } from "../../src/protocol/request_header.ts";
import { decodeResponseHeader } from "../../src/protocol/response_header.ts";
import { saslHandshakeApi } from "../../src/protocol/sasl_handshake.ts";

describe("headers", () => {
  test("the client id keeps its 16-bit length in the flexible header, so that any broker can read it", () => {
    const header = { requestApiKey: 18, requestApiVersion: 3, correlationId: 1, clientId: "test" };
    const bytes: Record<number, string> = {
      1: "00120003000000010004" + "74657374",
      2: "00120003000000010004" + "74657374" + "00",
    };
    for (const version of [1, 2]) {
      const writer = new Writer();
      encodeRequestHeader(writer, header, version);
      assert.equal(Buffer.from(writer.toBytes()).toString("hex"), bytes[version]);
      assert.deepEqual(decodeRequestHeader(new Reader(Buffer.from(bytes[version]!, "hex")), version), header);
    }
    const withoutId = Buffer.from("0012000300000001ffff00", "hex");
    assert.equal(decodeRequestHeader(new Reader(withoutId), 2).clientId, null);
  });

  test("the header's version follows from that of the message, and ApiVersions is answered with the old one", () => {
    assert.deepEqual([requestHeaderVersion(produceApi, 8), requestHeaderVersion(produceApi, 9)], [1, 2]);
    assert.deepEqual([responseHeaderVersion(produceApi, 8), responseHeaderVersion(produceApi, 9)], [0, 1]);
    assert.deepEqual([requestHeaderVersion(apiVersionsApi, 2), requestHeaderVersion(apiVersionsApi, 3)], [1, 2]);
    assert.equal(responseHeaderVersion(apiVersionsApi, 4), 0);
    assert.deepEqual([requestHeaderVersion(saslHandshakeApi, 1), responseHeaderVersion(saslHandshakeApi, 1)], [1, 0]);
    const reader = new Reader(Buffer.from("00000007" + "01" + "0502abcd" + "ff", "hex"));
    assert.deepEqual(decodeResponseHeader(reader, 1), { correlationId: 7 });
    assert.equal(reader.remaining, 1);
  });
});
