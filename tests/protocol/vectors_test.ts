import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { ProtocolError } from "../../src/core/kafka_error.ts";
import type { MessageSchema } from "../../src/protocol/api.ts";
import { decodeApiVersionsResponse } from "../../src/protocol/api_versions.ts";
import { encodeCreateTopicsRequest } from "../../src/protocol/create_topics.ts";
import { messageToJson } from "../../src/protocol/message_json.ts";
import { decodeMetadataRequest, decodeMetadataResponse, encodeMetadataRequest } from "../../src/protocol/metadata.ts";
import {
  decodeProduceRequest,
  decodeProduceResponse,
  encodeProduceRequest,
  encodeProduceResponse,
} from "../../src/protocol/produce.ts";
import {
  decodeConsumerGroupMetadataValue,
  encodeConsumerGroupMetadataValue,
} from "../../src/protocol/records/consumer_group_metadata_value.ts";
import { canonicalJson } from "../helpers/canonical_json.ts";

/**
 * Name, module under src/protocol, version, then values: bytes that Kafka's classes read and wrote, a hash of what they read
 * and, of a stored message, a hash of the JSON that Kafka's converter made of it.
 */
type Vector = [name: string, path: string, version: number, ...values: [bytes: string, hash: string, json?: string][]];

const packed = readFileSync(new URL("../vectors/protocol.json.gz", import.meta.url));
const vectors: Vector[] = JSON.parse(new TextDecoder().decode(gunzipSync(packed)));
/** Each message in its highest version, which has the most kinds of fields. */
const highest = [...new Map(vectors.map((vector) => [vector[0], vector])).values()];
const hashOf = (text: string) => createHash("sha256").update(text).digest("base64").slice(0, 8);
const hash = (value: unknown) => hashOf(canonicalJson(value));

async function codecOf([name, path]: Vector) {
  const module = await import(`../../src/protocol/${path}.ts`);
  return {
    encode: module[`encode${name}`] as (w: Writer, value: unknown, version: number) => void,
    decode: module[`decode${name}`] as (r: Reader, version: number) => unknown,
    schema: module[`${name[0]!.toLowerCase()}${name.slice(1)}Schema`] as MessageSchema<unknown> | undefined,
  };
}

describe("generated messages", () => {
  test("every message in every version reads what Kafka wrote, and writes it again", { timeout: 60_000 }, async () => {
    // Three random values and the defaults of each, in 728 versions of 272 messages: those of the wire and those stored.
    assert.ok(vectors.length >= 728 && vectors.every((vector) => vector.length >= 7), `${vectors.length} vectors`);
    assert.ok(new Set(vectors.map(([name]) => name)).size >= 272);
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

  test("every stored message becomes the JSON that Kafka's converters make of it", async () => {
    const stored = vectors.filter((vector) => vector[3]?.[2] !== undefined);
    assert.ok(new Set(stored.map(([name]) => name)).size >= 92);
    for (const vector of stored) {
      const [name, , version, ...values] = vector;
      const { schema } = await codecOf(vector);
      assert.equal(schema!.name, name);
      for (const [bytes, , expected] of values) {
        const value = schema!.decode(new Reader(Buffer.from(bytes, "base64"), name), version);
        const json = JSON.stringify(messageToJson(schema!, value, version));
        assert.equal(hashOf(json), expected, `${name} v${version}: ${json}`);
      }
    }
  });

  test("a message cut at any byte is our error", { timeout: 60_000 }, async () => {
    for (const vector of highest) {
      const [name, , version, ...values] = vector;
      const { decode } = await codecOf(vector);
      const bytes = Buffer.from(values[1]![0], "base64");
      for (let end = 0; end < bytes.length; end++) {
        const cut = new Reader(bytes.subarray(0, end), name);
        assert.throws(
          () => decode(cut, version),
          ProtocolError,
          `${name} v${version} cut at ${end} of ${bytes.length}`,
        );
      }
    }
  });

  test("flipped bytes are our error or another message, and cost no memory", { timeout: 60_000 }, async () => {
    for (const vector of highest) {
      const [name, , version, ...values] = vector;
      const { decode } = await codecOf(vector);
      const bytes = Buffer.from(values[1]![0], "base64");
      for (let at = 0; at < bytes.length; at++) {
        const damaged = Uint8Array.from(bytes);
        damaged[at] = damaged[at]! ^ (at % 2 === 0 ? 0xff : 0x7f);
        try {
          decode(new Reader(damaged, name), version);
        } catch (error) {
          assert.ok(error instanceof ProtocolError, `${name} v${version} flipped at ${at}: ${error}`);
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

  test("a compact list longer than its message is refused too", () => {
    // Produce v9: no transactional id, acks, time-out, 2^32 − 2 topics.
    const bytes = Uint8Array.of(0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0);
    assert.throws(() => decodeProduceRequest(new Reader(bytes, "Produce v9"), 9), {
      code: "MALFORMED_MESSAGE",
      message: "Produce v9: list of 4294967294 elements in 1 bytes at byte 12 of 13",
    });
  });

  test("null where the version has none is refused in both directions", () => {
    // Topics may be null from version 1 on.
    const expected = "MetadataRequest v0 needs a value for topics, which is null";
    assert.throws(() => encodeMetadataRequest(new Writer(), { topics: null }, 0), {
      code: "UNSUPPORTED_VERSION",
      message: expected,
    });
    const bytes = new Writer();
    encodeMetadataRequest(bytes, { topics: null }, 1);
    assert.equal(Buffer.from(bytes.toBytes()).toString("hex"), "ffffffff");
    assert.equal(decodeMetadataRequest(new Reader(Uint8Array.of(255, 255, 255, 255)), 1).topics, null);
    assert.throws(() => decodeMetadataRequest(new Reader(Uint8Array.of(255, 255, 255, 255)), 0), {
      code: "MALFORMED_MESSAGE",
    });
  });

  test("a tagged field that does not fill its size is refused", () => {
    // ApiVersions v3 answer: no error, no APIs, no throttling, tag 1 (an int64) in 9 bytes.
    const bytes = Uint8Array.of(0, 0, 1, 0, 0, 0, 0, 1, 1, 9, 0, 0, 0, 0, 0, 0, 0, 5, 0);
    assert.throws(() => decodeApiVersionsResponse(new Reader(bytes, "ApiVersions"), 3), {
      message: "ApiVersions: tagged field ends at byte 19 at byte 18 of 19",
    });
    bytes[9] = 8;
    assert.equal(decodeApiVersionsResponse(new Reader(bytes, "ApiVersions"), 3).finalizedFeaturesEpoch, 5);
  });

  test("tagged fields are written when they are set, also to what is only part of a struct", () => {
    const plain = new Writer();
    const fields = { responses: [{ partitionResponses: [{ currentLeader: { leaderId: -1, leaderEpoch: -1 } }] }] };
    encodeProduceResponse(plain, fields, 12);
    const leader = new Writer();
    const partition = { currentLeader: { leaderEpoch: 7 } };
    encodeProduceResponse(leader, { responses: [{ partitionResponses: [partition] }] }, 12);
    const bytes = leader.toBytes();
    // Tag, size, and nine bytes: two int32 and the struct's own count of tagged fields.
    assert.equal(bytes.length, plain.toBytes().length + 11);
    const read = decodeProduceResponse(new Reader(bytes), 12).responses[0]!.partitionResponses[0]!;
    assert.deepEqual(read.currentLeader, { leaderId: -1, leaderEpoch: 7 });
    assert.throws(() => encodeProduceResponse(new Writer(), { responses: [{ partitionResponses: [partition] }] }, 9), {
      message: "ProduceResponsePartitionProduceResponse v9 has no field currentLeader, which is set",
    });
  });

  test("a hash of 64 bits is a bigint, and exact", () => {
    const writer = new Writer();
    encodeConsumerGroupMetadataValue(writer, { epoch: 1, metadataHash: -9223372036854775807n }, 0);
    const { metadataHash } = decodeConsumerGroupMetadataValue(new Reader(writer.toBytes()), 0);
    assert.equal(metadataHash, -9223372036854775807n);
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
    assert.throws(() => decodeProduceRequest(new Reader(new Uint8Array(9)), NaN), { code: "UNSUPPORTED_VERSION" });
    // What may be ignored is left out without a word.
    const writer = new Writer();
    encodeProduceResponse(writer, {
      responses: [{ partitionResponses: [{ errorMessage: "too old", logStartOffset: 5 }] }],
    }, 3);
    const read = decodeProduceResponse(new Reader(writer.toBytes()), 3).responses[0]!.partitionResponses[0]!;
    assert.deepEqual([read.errorMessage, read.logStartOffset], [null, -1]);
  });

  test("record batches are passed on by reference", () => {
    const records = new Uint8Array(5000);
    const writer = new Writer();
    encodeProduceRequest(writer, { topicData: [{ name: "t", partitionData: [{ index: 0, records }] }] }, 12);
    assert.ok(writer.finish().includes(records));
  });
});
