import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CorruptRecordError } from "../../../src/core/kafka_error.ts";
import { crc32c } from "../../../src/hash/crc32c.ts";
import { controlRecordToJson, decodeControlRecord } from "../../../src/log/payloads/decode_control_record.ts";
import { transactionMarker } from "../../../src/records/control_record.ts";
import { encodeRecordBatch } from "../../../src/records/encode_record_batch.ts";
import { RecordBatch } from "../../../src/records/record_batch.ts";
import { fromHex } from "../../helpers/hex.ts";
import { seeded } from "../../helpers/seeded.ts";

/** Control batches that Kafka 4.3.1's MemoryRecords made, and what they say. */
const BATCHES = {
  ABORT: {
    hex: "0000000000000007000000420000000502959a50ee0030000000000000018bcfe568000000018bcfe568000000000000000017" +
      "0004ffffffff000000012000000008000000000c00000000004d00",
    json: { type: "ABORT", coordinatorEpoch: 77 },
  },
  LEADER_CHANGE: {
    hex: "000000000000000300000054000000070249b5880e0020000000000000018bcfe568000000018bcfe56800ffffffffffffffff" +
      "ffffffffffff000000014400000008000000023000000000000203000000010000000002000200000002000000",
    json: {
      type: "LEADER_CHANGE",
      data: { version: 0, leaderId: 2, voters: [{ voterId: 1 }, { voterId: 2 }], grantingVoters: [{ voterId: 2 }] },
    },
  },
  SNAPSHOT_HEADER: {
    hex: "000000000000000000000047000000070227332c9a0020000000000000018bcfe568000000018bcfe56800ffffffffffffffff" +
      "ffffffffffff000000012a00000008000000031600000000018bcfe567fb0000",
    json: { type: "SNAPSHOT_HEADER", data: { version: 0, lastContainedLogTimestamp: 1699999999995 } },
  },
  SNAPSHOT_FOOTER: {
    hex: "00000000000000090000003f00000007028f6608e60020000000000000018bcfe568000000018bcfe56800ffffffffffffffff" +
      "ffffffffffff000000011a00000008000000040600000000",
    json: { type: "SNAPSHOT_FOOTER", data: { version: 0 } },
  },
  KRAFT_VERSION: {
    hex: "0000000000000001000000410000000702a89c55860020000000000000018bcfe568000000018bcfe56800ffffffffffffffff" +
      "ffffffffffff000000011e00000008000000050a000000010000",
    json: { type: "KRAFT_VERSION", data: { version: 0, kRaftVersion: 1 } },
  },
  KRAFT_VOTERS: {
    hex: "0000000000000002000000740000000702404f6a7e0020000000000000018bcfe568000000018bcfe56800ffffffffffffffff" +
      "ffffffffffff00000001820100000008000000066e000002000000018b32c1dd310cfed20ff075eff3fb2e35020b434f4e5452" +
      "4f4c4c45520a6c6f63616c686f7374eabd000000000100000000",
    json: {
      type: "KRAFT_VOTERS",
      data: {
        version: 0,
        voters: [{
          voterId: 1,
          voterDirectoryId: "izLB3TEM_tIP8HXv8_suNQ",
          endpoints: [{ name: "CONTROLLER", host: "localhost", port: 60093 }],
          kRaftVersionFeature: { minSupportedVersion: 0, maxSupportedVersion: 1 },
        }],
      },
    },
  },
};

/** A control record with this key and value. */
function controlRecord(key: Uint8Array | null, value: Uint8Array | null) {
  const header = { crc32c, producerId: 7, producerEpoch: 1, isControl: true };
  const batch = encodeRecordBatch([{ offset: 3, timestamp: 0, key, value }], header);
  return new RecordBatch(batch, { topic: "t", partition: 0 }).records()[0]!;
}

describe("control records", () => {
  for (const [type, { hex, json }] of Object.entries(BATCHES)) {
    test(`${type} as Kafka writes it`, () => {
      const batch = new RecordBatch(fromHex(hex));
      batch.verifyCrc(crc32c);
      assert.ok(batch.isControl);
      assert.deepEqual(batch.records().map((record) => controlRecordToJson(decodeControlRecord(record))), [json]);
    });
  }

  test("a transaction marker is written as Kafka writes it", () => {
    const record = { offset: 7, timestamp: 1_700_000_000_000, ...transactionMarker("ABORT", 77) };
    const batch = encodeRecordBatch([record], {
      crc32c,
      partitionLeaderEpoch: 5,
      producerId: 23,
      producerEpoch: 4,
      isTransactional: true,
      isControl: true,
    });
    assert.deepEqual(batch, fromHex(BATCHES.ABORT.hex));
  });

  test("a leader change of version 1 names the voters' directories", () => {
    const directory = [..."0123456789abcdef"].map((char) => char.charCodeAt(0));
    const value = Uint8Array.of(0, 1, 0, 0, 0, 2, 2, 0, 0, 0, 2, ...directory, 0, 1, 0);
    assert.deepEqual(controlRecordToJson(decodeControlRecord(controlRecord(Uint8Array.of(0, 0, 0, 2), value))), {
      type: "LEADER_CHANGE",
      data: {
        version: 1,
        leaderId: 2,
        voters: [{ voterId: 2, voterDirectoryId: "MDEyMzQ1Njc4OWFiY2RlZg" }],
        grantingVoters: [],
      },
    });
  });

  test("types and versions of a later Kafka are told, not refused", () => {
    const later = controlRecord(Uint8Array.of(0, 0, 0, 99), null);
    assert.deepEqual(decodeControlRecord(later), { type: "UNKNOWN", typeNumber: 99 });
    const version9 = decodeControlRecord(controlRecord(Uint8Array.of(0, 3, 0, 2, 1), Uint8Array.of(0, 9, 1, 2, 3)));
    assert.deepEqual(version9, { type: "LEADER_CHANGE", version: 9, data: undefined });
    assert.deepEqual(controlRecordToJson(version9), { type: "LEADER_CHANGE", version: 9 });
  });

  test("damaged ones are our error, which names the record", () => {
    const values = [
      null,
      new Uint8Array(0),
      Uint8Array.of(0),
      Uint8Array.of(0, 0, 0),
      Uint8Array.of(255, 255, 0, 0, 0),
    ];
    for (let type = 0; type <= 6; type++) {
      for (const value of values) {
        // A footer is no more than its version and a count of tags.
        if (type === 4 && value?.length === 3) continue;
        assert.throws(() => decodeControlRecord(controlRecord(Uint8Array.of(0, 0, 0, type), value)), (error) => {
          assert.ok(error instanceof CorruptRecordError, `type ${type}: ${error}`);
          assert.match(error.message, /t-0, offset 3: /);
          assert.deepEqual([error.topic, error.partition, error.offset], ["t", 0, 3]);
          return true;
        });
      }
    }
  });

  test("20,000 with bytes changed are our error or another record", () => {
    const random = seeded(11);
    const originals = Object.values(BATCHES).map(({ hex }) => new RecordBatch(fromHex(hex)).records()[0]!);
    let decoded = 0;
    for (let i = 0; i < 20_000; i++) {
      const { key, value } = originals[i % originals.length]!;
      const bytes = value!.slice(0, random() < 0.2 ? Math.floor(random() * value!.length) : undefined);
      for (let n = Math.floor(random() * 4); n > 0 && bytes.length > 0; n--) {
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      }
      try {
        controlRecordToJson(decodeControlRecord(controlRecord(key, bytes)));
        decoded++;
      } catch (error) {
        if (!(error instanceof CorruptRecordError)) throw error;
      }
    }
    assert.ok(decoded > 1000 && decoded < 19_000, `${decoded}`);
  });
});
