import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { encodeCreateTopicsRequest } from "../../src/protocol/create_topics.ts";
import { decodeMetadataResponse, encodeMetadataRequest } from "../../src/protocol/metadata.ts";
import { decodeProduceRequest, encodeProduceRequest } from "../../src/protocol/produce.ts";
import { canonicalJson } from "../helpers/canonical_json.ts";

/** Name, module under src/protocol, version, then values: bytes that Kafka's classes read and wrote, and a hash of what they read. */
type Vector = [name: string, path: string, version: number, ...values: [bytes: string, hash: string][]];

const packed = readFileSync(new URL("../vectors/protocol.json.gz", import.meta.url));
const vectors: Vector[] = JSON.parse(new TextDecoder().decode(gunzipSync(packed)));
const hash = (value: unknown) => createHash("sha256").update(canonicalJson(value)).digest("base64").slice(0, 8);

async function codecOf([name, path]: Vector) {
  const module = await import(`../../src/protocol/${path}.ts`);
  return {
    encode: module[`encode${name}`] as (w: Writer, value: unknown, version: number) => void,
    decode: module[`decode${name}`] as (r: Reader, version: number) => unknown,
  };
}

describe("generated messages", () => {
  test("every message in every version reads what Kafka wrote, and writes it again", { timeout: 60_000 }, async () => {
    assert.ok(vectors.length > 600 && vectors.every((vector) => vector.length >= 6), `${vectors.length} vectors`);
    for (const vector of vectors) {
      const [name, , version, ...values] = vector;
      const { encode, decode } = await codecOf(vector);
      for (const [bytes, expected] of values) {
        const reader = new Reader(Buffer.from(bytes, "base64"), name);
        const value = decode(reader, version);
        assert.equal(reader.remaining, 0, `${name} v${version} leaves bytes`);
        assert.equal(hash(value), expected, `${name} v${version} of ${bytes}`);
        const writer = new Writer();
        encode(writer, value, version);
        assert.equal(Buffer.from(writer.toBytes()).toString("base64"), bytes, `${name} v${version}`);
      }
    }
  });

  test(
    "a message cut anywhere is our error or a shorter message, never a foreign error",
    { timeout: 60_000 },
    async () => {
      for (const vector of vectors) {
        const [name, , version, ...values] = vector;
        const { decode } = await codecOf(vector);
        const bytes = Buffer.from(values[0]![0], "base64");
        for (let end = 0; end < bytes.length; end++) {
          try {
            decode(new Reader(bytes.subarray(0, end), name), version);
          } catch (error) {
            assert.ok(error instanceof KafkaError, `${name} v${version} cut at ${end}: ${error}`);
          }
        }
      }
    },
  );

  test("flipped bytes are our error or another message, and cost no memory", { timeout: 60_000 }, async () => {
    for (const vector of vectors) {
      const [name, , version, ...values] = vector;
      const { decode } = await codecOf(vector);
      const bytes = Buffer.from(values[0]![0], "base64");
      for (let at = 0; at < bytes.length; at += 3) {
        const damaged = Uint8Array.from(bytes);
        damaged[at] = damaged[at]! ^ (at % 2 === 0 ? 0xff : 0x7f);
        try {
          decode(new Reader(damaged, name), version);
        } catch (error) {
          assert.ok(error instanceof KafkaError, `${name} v${version} flipped at ${at}: ${error}`);
        }
      }
    }
  });

  test("a list longer than its message is refused before anything is allocated", () => {
    // Metadata v1: 2^31 − 1 brokers announced in 4 bytes.
    const bytes = Uint8Array.of(0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0);
    assert.throws(() => decodeMetadataResponse(new Reader(bytes, "Metadata v1 answer"), 1), {
      code: "MALFORMED_MESSAGE",
      message: "Metadata v1 answer: list of 2147483647 elements in 4 bytes at byte 4 of 8",
    });
  });

  test("unknown tagged fields are passed over", () => {
    const bytes = new Writer();
    encodeProduceRequest(bytes, { acks: 1 }, 9);
    const plain = bytes.toBytes();
    // The last byte is the count of tagged fields: one of tag 99 with 3 bytes.
    const tagged = Uint8Array.of(...plain.subarray(0, -1), 1, 99, 3, 1, 2, 3);
    const reader = new Reader(tagged, "request");
    assert.equal(decodeProduceRequest(reader, 9).acks, 1);
    assert.equal(reader.remaining, 0);
  });

  test("a version that does not exist, and a field that the version does not have, are errors that say so", () => {
    assert.throws(() => encodeProduceRequest(new Writer(), {}, 99), {
      code: "UNSUPPORTED_VERSION",
      message: "ProduceRequest has versions 3 to 13, not 99",
    });
    // Before version 4 a broker created topics whether or not the client wanted it.
    assert.throws(() => encodeMetadataRequest(new Writer(), { topics: [], allowAutoTopicCreation: false }, 3), {
      code: "UNSUPPORTED_VERSION",
      message: "MetadataRequest v3 has no field allowAutoTopicCreation, which is set",
    });
    assert.throws(() => encodeCreateTopicsRequest(new Writer(), {}, 0), { code: "UNSUPPORTED_VERSION" });
  });

  test("record batches are passed on by reference", () => {
    const records = new Uint8Array(5000);
    const writer = new Writer();
    encodeProduceRequest(writer, { topicData: [{ name: "t", partitionData: [{ index: 0, records }] }] }, 12);
    assert.ok(writer.finish().includes(records));
  });
});
