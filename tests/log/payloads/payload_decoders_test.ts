import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Writer } from "../../../src/bytes/writer.ts";
import { CorruptRecordError, KafkaError, UnsupportedVersionError } from "../../../src/core/kafka_error.ts";
import { crc32c } from "../../../src/hash/crc32c.ts";
import { decodeOffsets } from "../../../src/log/payloads/decode_offsets.ts";
import { PAYLOAD_DECODERS, type PayloadName } from "../../../src/log/payloads/payload_decoders.ts";
import { encodeRecordBatch } from "../../../src/records/encode_record_batch.ts";
import { RecordBatch } from "../../../src/records/record_batch.ts";
import type { Record as KafkaRecord } from "../../../src/records/record.ts";
import { seeded } from "../../helpers/seeded.ts";

/** Message, module, version, then values: bytes that Kafka's classes wrote. */
type Vector = [name: string, path: string, version: number, ...values: [bytes: string, ...string[]][]];

const packed = readFileSync(new URL("../../vectors/protocol.json.gz", import.meta.url));
const vectors: Vector[] = JSON.parse(new TextDecoder().decode(gunzipSync(packed)));

function record(key: Uint8Array | null, value: Uint8Array | null): KafkaRecord {
  const batch = encodeRecordBatch([{ offset: 3, timestamp: 0, key, value }], { crc32c });
  return new RecordBatch(batch, { topic: "t", partition: 0 }).records()[0]!;
}

/** What `write` writes. */
function bytesOf(write: (w: Writer) => void): Uint8Array {
  const writer = new Writer();
  write(writer);
  return writer.toBytes().slice();
}

const typeOf = async ([name, path]: Vector): Promise<number> => {
  const module = await import(`../../../src/protocol/${path}.ts`);
  return module[`${name[0]!.toLowerCase()}${name.slice(1)}Schema`].type;
};

/** Records that hold every message a decoder knows, in every version, as Kafka's classes wrote them. */
async function everyRecord(): Promise<[PayloadName, string, KafkaRecord][]> {
  const records: [PayloadName, string, KafkaRecord][] = [];
  const keys = new Map(vectors.filter(([name]) => name.endsWith("Key")).map((vector) => [vector[0], vector]));
  for (const vector of vectors) {
    const [name, path, version, ...values] = vector;
    if (!path.startsWith("records/")) continue;
    const key = keys.get(name.replace(/Value$/, "Key"));
    for (const [i, [text]] of values.entries()) {
      const bytes = Buffer.from(text, "base64");
      if (name.endsWith("Value") && key !== undefined) {
        const type = await typeOf(vector);
        const [, , , ...keyValues] = key;
        const keyBytes = Buffer.from(keyValues[i]![0], "base64");
        const decoder = name.startsWith("Transaction")
          ? "transactions"
          : /^Share(Snapshot|Update)/.test(name)
          ? "share-group-state"
          : "offsets";
        records.push([
          decoder,
          name,
          record(
            bytesOf((w) => (w.int16(type), w.raw(keyBytes))),
            bytesOf((w) => (w.int16(version), w.raw(bytes))),
          ),
        ]);
      } else if (name.endsWith("Record") && await typeOf(vector) >= 0) {
        const type = await typeOf(vector);
        const value = bytesOf((
          w,
        ) => (w.unsignedVarint(1), w.unsignedVarint(type), w.unsignedVarint(version), w.raw(bytes)));
        records.push([
          name.startsWith("Remote") ? "remote-log-metadata" : "cluster-metadata",
          name,
          record(null, value),
        ]);
      }
    }
  }
  return records;
}

describe("payload decoders", () => {
  test("every message of Kafka's own topics is known to the decoder of its topic, in every version", async () => {
    const decoded = new Map<PayloadName, Set<string>>();
    for (const [name, message, record] of await everyRecord()) {
      const json = PAYLOAD_DECODERS[name](record);
      assert.equal(typeof json, "object", message);
      if (name === "cluster-metadata") {
        assert.equal(json.type, message.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase());
      }
      decoded.set(name, (decoded.get(name) ?? new Set()).add(message));
    }
    const counts = Object.fromEntries([...decoded].map(([name, messages]) => [name, messages.size]));
    assert.deepEqual(counts, {
      "offsets": 22,
      "transactions": 1,
      "share-group-state": 2,
      "cluster-metadata": 26,
      "remote-log-metadata": 4,
    });
  });

  test("a type that a later Kafka writes is an error of its own, which dumps pass over", () => {
    for (const name of ["offsets", "transactions", "share-group-state"] as const) {
      const later = record(Uint8Array.of(0, 99, 1, 2), Uint8Array.of(0, 0));
      assert.throws(() => PAYLOAD_DECODERS[name](later), (error) => {
        assert.ok(error instanceof UnsupportedVersionError);
        assert.deepEqual([error.code, error.offset, error.topic], ["UNKNOWN_RECORD_TYPE", 3, "t"]);
        assert.match(error.message, /^t-0, offset 3: its key is of type 99/);
        return true;
      });
    }
    for (const name of ["cluster-metadata", "remote-log-metadata"] as const) {
      const code = (value: number[]): unknown => {
        try {
          return PAYLOAD_DECODERS[name](record(null, Uint8Array.from(value)));
        } catch (error) {
          return error instanceof UnsupportedVersionError ? error.code : error;
        }
      };
      assert.equal(code([1, 99, 0]), "UNKNOWN_RECORD_TYPE");
      assert.equal(code([0, 0, 0]), "UNSUPPORTED_VERSION"); // the frame of Kafka 2.8's preview
      assert.equal(code([2, 0, 0]), "UNSUPPORTED_VERSION");
      assert.equal(code([1, 0, 99]), "UNSUPPORTED_VERSION");
    }
  });

  test("what is missing, cut or too long is our error, which names the record", () => {
    const cases: [PayloadName, KafkaRecord, RegExp][] = [
      ["offsets", record(null, null), /its key is null/],
      ["offsets", record(Uint8Array.of(0), null), /key: 2 bytes wanted, 1 left/],
      ["offsets", record(Uint8Array.of(0, 2, 0, 9, 65), null), /key: 9 bytes wanted, 1 left/],
      ["offsets", record(Uint8Array.of(0, 2, 0, 1, 65), new Uint8Array(0)), /value: 2 bytes wanted/],
      ["transactions", record(Uint8Array.of(0, 0, 0, 1, 65), Uint8Array.of(0, 1, 7)), /value: 8 bytes wanted/],
      ["cluster-metadata", record(null, null), /its value is null/],
      ["cluster-metadata", record(null, Uint8Array.of(1, 20, 0, 0, 9)), /value: 1 bytes behind the NoOpRecord/],
      ["cluster-metadata", record(null, Uint8Array.of(1, 255, 255, 255, 255, 255, 255)), /varint/],
    ];
    for (const [name, damaged, reason] of cases) {
      assert.throws(() => PAYLOAD_DECODERS[name](damaged), (error) => {
        assert.ok(error instanceof CorruptRecordError, `${name}: ${error}`);
        assert.match(error.message, reason);
        assert.deepEqual([error.code, error.topic, error.partition, error.offset], ["CORRUPT_PAYLOAD", "t", 0, 3]);
        return true;
      });
    }
  });

  test("a deleted key has the value null", () => {
    const deleted = record(Uint8Array.of(0, 2, 0, 1, 65), null);
    assert.deepEqual(PAYLOAD_DECODERS.offsets(deleted), { key: { type: 2, data: { group: "A" } }, value: null });
  });

  describe("members of a classic group", () => {
    const subscription = "AAMAAAACAAthcHBlbmQtdGltZQAKY29kZWMtZ3ppcP////8AAAAA////////";
    const assignment = "AAMAAAACAAthcHBlbmQtdGltZQAAAAEAAAAAAApjb2RlYy1nemlwAAAAAQAAAAD/////";

    /** A group of one member. */
    function group(protocolType: string, subscription: Uint8Array, assignment: Uint8Array): KafkaRecord {
      const value = bytesOf((w) => {
        w.int16(3);
        w.text(protocolType, false);
        w.int32(1);
        w.text("range", false);
        w.text("m", false);
        w.int64(5);
        w.int32(1);
        w.text("m", false);
        w.text(null, false);
        w.text("c", false);
        w.text("/h", false);
        w.int32(1);
        w.int32(2);
        w.blob(subscription, false);
        w.blob(assignment, false);
      });
      return record(Uint8Array.of(0, 2, 0, 1, 65), value);
    }
    const member = (record: KafkaRecord, options = {}) =>
      (decodeOffsets(record, options).value!.data.members as { subscription: unknown; assignment: unknown }[])[0]!;
    const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));

    test("are decoded as kafka-dump-log does", () => {
      // Bytes of golden set 11a-consumer-offsets, offset 6; the text is what `kafka-dump-log --offsets-decoder` prints of it.
      const decoded = member(group("consumer", bytes(subscription), bytes(assignment)));
      assert.equal(
        JSON.stringify(decoded.subscription),
        '{"topics":["append-time","codec-gzip"],"userData":null,"ownedPartitions":[],"generationId":-1,"rackId":null}',
      );
      assert.equal(
        JSON.stringify(decoded.assignment),
        '{"assignedPartitions":[{"topic":"append-time","partitions":[0]},{"topic":"codec-gzip","partitions":[0]}],"userData":null}',
      );
    });

    test("stay base64 when asked for, and in a group that is not of consumers", () => {
      const records: [KafkaRecord, object][] = [
        [group("consumer", bytes(subscription), bytes(assignment)), { members: "base64" }],
        [group("connect", bytes(subscription), bytes(assignment)), {}],
      ];
      for (const [record, options] of records) {
        const { subscription: s, assignment: a } = member(record, options);
        assert.deepEqual([s, a], [subscription, assignment]);
      }
    });

    test("stay base64 when they are no such messages: clients store what they like", () => {
      for (const odd of ["", "AA==", "AAMAAAAC", "//8AAA=="]) {
        const decoded = member(group("consumer", bytes(odd), bytes(odd)));
        assert.deepEqual([decoded.subscription, decoded.assignment], [odd, odd]);
      }
    });

    test("of a later version are read as far as it is known", () => {
      const later = bytes(subscription);
      later[1] = 9;
      const decoded = member(group("consumer", Uint8Array.of(...later, 1, 2, 3), bytes("")));
      assert.deepEqual((decoded.subscription as { topics: string[] }).topics, ["append-time", "codec-gzip"]);
    });
  });

  test("20,000 records with bytes changed are our error or another message", { timeout: 60_000 }, async () => {
    const random = seeded(23);
    const originals = await everyRecord();
    const changed = (bytes: Uint8Array | null): Uint8Array | null => {
      if (bytes === null) return null;
      const copy = bytes.slice(0, random() < 0.1 ? Math.floor(random() * bytes.length) : undefined);
      for (let n = Math.floor(random() * 4); n > 0 && copy.length > 0; n--) {
        copy[Math.floor(random() * copy.length)] = random() < 0.3 ? 255 : Math.floor(random() * 256);
      }
      return copy;
    };
    let decoded = 0;
    for (let i = 0; i < 20_000; i++) {
      const [name, , { key, value }] = originals[i % originals.length]!;
      try {
        PAYLOAD_DECODERS[name](record(changed(key), changed(value)));
        decoded++;
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error;
        assert.equal(error.offset, 3);
      }
    }
    assert.ok(decoded > 1000 && decoded < 19_000, `${decoded}`);
  });
});
