/** Messages that other clients got wrong, by the numbers of the project's cases. The bytes are those of Kafka's own classes. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { ProtocolError } from "../../src/core/kafka_error.ts";
import {
  decodeAlterClientQuotasRequest,
  encodeAlterClientQuotasRequest,
} from "../../src/protocol/alter_client_quotas.ts";
import { ZERO_UUID } from "../../src/protocol/api.ts";
import {
  decodeDescribeTopicPartitionsRequest,
  encodeDescribeTopicPartitionsRequest,
} from "../../src/protocol/describe_topic_partitions.ts";
import { decodeFetchResponse, encodeFetchResponse } from "../../src/protocol/fetch.ts";
import { decodeMetadataRequest, decodeMetadataResponse, encodeMetadataRequest } from "../../src/protocol/metadata.ts";
import { decodeRequestHeader, encodeRequestHeader } from "../../src/protocol/request_header.ts";

const reader = (hex: string) => new Reader(Buffer.from(hex, "hex"), "message");

function written(write: (writer: Writer) => void): string {
  const writer = new Writer();
  write(writer);
  return Buffer.from(writer.toBytes()).toString("hex");
}

describe("case 008: a count or length from the wire", () => {
  test("is held against the bytes that are there before anything is allocated", () => {
    // 50 million topics in a request of eight bytes (CVE-2022-34917); the highest count in each form.
    for (const hex of ["030000033c0c00b6", "7fffffff00", "7fffffff"]) {
      assert.throws(() => decodeMetadataRequest(reader(hex), 1), { name: "ProtocolError", code: "MALFORMED_MESSAGE" });
    }
    assert.throws(() => decodeMetadataRequest(reader("ffffffff0f"), 9), /list of 4294967294 elements in 0 bytes/);
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 1000; i++) assert.throws(() => reader("030000033c0c00b6").count(false), ProtocolError);
    assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024);
  });

  test("may be −1 where null is allowed, and is an error below that", () => {
    assert.deepEqual(decodeMetadataRequest(reader("ffffffff"), 1).topics, null);
    assert.throws(() => decodeMetadataRequest(reader("ffffffff"), 0), /null where the protocol has none/);
    for (const version of [0, 1]) {
      assert.throws(() => decodeMetadataRequest(reader("fffffffe"), version), /length -2/);
    }
    assert.throws(() => reader("fffe").textOrNull(false), /length -2/);
    assert.throws(() => reader("8000").textOrNull(false), /length -32768/);
    assert.throws(() => reader("80000000").blobOrNull(false), /length -2147483648/);
  });

  test("of a tagged field that is not known is passed over, and held against the bytes, too", () => {
    const known = reader("01" + "6303aabbcc" + "7f");
    known.skipTags();
    assert.equal(known.int8(), 0x7f);
    assert.throws(() => reader("0100ffffffff0f").skipTags(), /4294967295 bytes wanted, 0 left/);
  });
});

describe("case 095: null, none and some", () => {
  // No list is "all topics" from version 1 on; before, an empty one is.
  const metadata: readonly (readonly [version: number, topics: readonly string[] | null, bytes: string])[] = [
    [0, [], "00000000"],
    [0, ["t"], "00000001000174"],
    [1, null, "ffffffff"],
    [1, [], "00000000"],
    [1, ["t"], "00000001000174"],
    [9, null, "0001000000"],
    [9, [], "0101000000"],
    [9, ["t"], "0202740001000000"],
    [12, null, "00010000"],
    [12, [], "01010000"],
    [12, ["t"], "0200000000000000000000000000000000027400010000"],
  ];
  test("topics of Metadata, as each version has them", () => {
    for (const [version, names, bytes] of metadata) {
      const topics = names?.map((name) => ({ name })) ?? null;
      assert.equal(written((w) => encodeMetadataRequest(w, { topics }, version)), bytes, `v${version} ${names}`);
      const read = decodeMetadataRequest(reader(bytes), version).topics;
      assert.deepEqual(read?.map(({ name }) => name) ?? null, names, `v${version} ${names}`);
    }
    assert.throws(() => written((w) => encodeMetadataRequest(w, { topics: null }, 0)), {
      code: "UNSUPPORTED_VERSION",
      message: /topics, which is null/,
    });
  });

  test("aborted transactions of Fetch: null as well as none", () => {
    for (
      const [version, isNull, bytes] of [
        [4, true, "00000000000000010001740000000100000000000000000000000000030000000000000003ffffffffffffffff"],
        [4, false, "000000000000000100017400000001000000000000000000000000000300000000000000030000000000000000"],
        [
          12,
          true,
          "000000000000000000000202740200000000000000000000000000030000000000000003ffffffffffffffff00ffffffff00000000",
        ],
        [
          12,
          false,
          "000000000000000000000202740200000000000000000000000000030000000000000003ffffffffffffffff01ffffffff01000000",
        ],
      ] as const
    ) {
      const answer = decodeFetchResponse(reader(bytes), version);
      const partition = answer.responses[0]!.partitions[0]!;
      assert.equal(partition.abortedTransactions?.length, isNull ? undefined : 0);
      assert.equal(partition.records?.length, isNull ? undefined : 0);
      assert.equal(written((w) => encodeFetchResponse(w, answer, version)), bytes, `v${version}`);
    }
  });

  test("a struct that may be null has one byte before it", () => {
    for (
      const [cursor, bytes] of [[null, "0100000001ff00"], [
        { topicName: "t", partitionIndex: 2 },
        "0100000001010274000000020000",
      ]] as const
    ) {
      const request = { topics: [], responsePartitionLimit: 1, cursor };
      assert.equal(written((w) => encodeDescribeTopicPartitionsRequest(w, request, 0)), bytes);
      assert.deepEqual(decodeDescribeTopicPartitionsRequest(reader(bytes), 0), request);
    }
  });
});

test("case 106: records of size 0 and null are none, and a size below −1 is an error", () => {
  const classic = "0000000000000001000174000000010000000000000000000000000003000000000000000300000000";
  const compact = "000000000000000000000202740200000000000000000000000000030000000000000003ffffffffffffffff01ffffffff";
  for (
    const [version, bytes, size] of [
      [4, `${classic}00000000`, 0],
      [4, `${classic}ffffffff`, undefined],
      [12, `${compact}01000000`, 0],
      [12, `${compact}00000000`, undefined],
    ] as const
  ) {
    assert.equal(decodeFetchResponse(reader(bytes), version).responses[0]!.partitions[0]!.records?.length, size, bytes);
  }
  assert.throws(() => decodeFetchResponse(reader(`${classic}fffffffe`), 4), {
    name: "ProtocolError",
    message: /length -2/,
  });
});

describe("case 109", () => {
  test("a UUID is 16 bytes in their order, and the zero one is none", () => {
    for (
      const [text, bytes] of [
        [ZERO_UUID, "00000000000000000000000000000000"],
        ["AAAAAAAAAAAAAAAAAAAAAQ", "00000000000000000000000000000001"],
        ["_____________________w", "ffffffffffffffffffffffffffffffff"],
        ["AAAAAAAAAAGAAAAAAAAAAA", "00000000000000018000000000000000"],
      ] as const
    ) {
      const hex = `02${bytes}0000010000`;
      const topics = [{ topicId: text, name: null }];
      assert.equal(written((w) => encodeMetadataRequest(w, { topics }, 12)), hex);
      assert.deepEqual(decodeMetadataRequest(reader(hex), 12).topics, topics);
    }
    const [topic] = decodeMetadataResponse(
      reader(
        "00000000" + "01" + "00" + "ffffffff" + "02" + "0000" + "0274" + "0".repeat(32) + "00" + "01" + "80000000" +
          "00" + "00",
      ),
      12,
    ).topics;
    assert.equal(topic!.topicId, ZERO_UUID);
  });

  test("a floating point number keeps every bit", () => {
    for (
      const [value, bytes] of [
        [NaN, "7ff8000000000000"],
        [-0, "8000000000000000"],
        [1e308, "7fe1ccf385ebc8a0"],
        [0.1, "3fb999999999999a"],
      ] as const
    ) {
      const hex = `020102026b${bytes}0000000000`;
      const request = { entries: [{ ops: [{ key: "k", value }] }] };
      assert.equal(written((w) => encodeAlterClientQuotasRequest(w, request, 1)), hex);
      const read = decodeAlterClientQuotasRequest(reader(hex), 1).entries[0]!.ops[0]!.value;
      assert.ok(Object.is(read, value), `${read}`);
    }
  });
});

test("case 110: a client id that is null is ffff, an empty one is 0000", () => {
  const header = { requestApiKey: 18, requestApiVersion: 0, correlationId: 1 };
  for (
    const [clientId, version, bytes] of [
      [null, 1, "0012000000000001ffff"],
      [null, 2, "0012000000000001ffff00"],
      ["", 1, "00120000000000010000"],
    ] as const
  ) {
    assert.equal(written((w) => encodeRequestHeader(w, { ...header, clientId }, version)), bytes);
    assert.equal(decodeRequestHeader(reader(bytes), version).clientId, clientId);
  }
  const tooLong = "x".repeat(32_768);
  assert.throws(() => written((w) => encodeRequestHeader(w, { ...header, clientId: tooLong }, 1)), {
    name: "ConfigError",
  });
});
