import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { ConfigError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { transactionMarker } from "../../src/records/control_record.ts";
import { encodeRecordBatch } from "../../src/records/encode_record_batch.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { fromHex } from "../helpers/hex.ts";

const TIME = 1_700_000_000_000;

// What Kafka's own builder, brokers and cleaner wrote is written anew in rebuild_golden_test.ts.
describe("encodeRecordBatch", () => {
  test("writes what compaction leaves of a transaction's batch", () => {
    const batch = encodeRecordBatch([], {
      crc32c,
      baseOffset: 3,
      lastOffset: 4,
      maxTimestamp: TIME,
      partitionLeaderEpoch: 293,
      producerId: 23,
      producerEpoch: 5,
      baseSequence: 10,
      isTransactional: true,
      compression: { type: "gzip", codec: plainCodecs.gzip! },
    });
    assert.deepEqual(
      batch,
      fromHex(
        "00000000000000030000003100000125029dabbe1f001000000001ffffffffffffffff0000018bcfe56800000000000000001700" +
          "050000000a00000000",
      ),
    );
  });

  test("writes a delete horizon, from which the timestamps count", () => {
    const row = (n: number, value: string | null) => ({
      offset: n,
      timestamp: TIME + 5 * (n + 1),
      key: `${n}`,
      value,
    });
    const batch = encodeRecordBatch([row(0, "0"), row(1, null), row(2, "2")], {
      crc32c,
      partitionLeaderEpoch: 0,
      deleteHorizonMs: 1_700_086_400_000,
    });
    assert.deepEqual(
      batch,
      fromHex(
        "000000000000000000000054000000000234c4c6060040000000020000018bd50bc4000000018bcfe5680fffffffffffffffffff" +
          "ffffffffff000000031600f5efb2520002300230001400ebefb25202023101001600e1efb252040232023200",
      ),
    );
  });

  test("writes a transaction marker", () => {
    const batch = encodeRecordBatch([{ offset: 7, timestamp: TIME, ...transactionMarker("COMMIT", 10) }], {
      crc32c,
      partitionLeaderEpoch: 0,
      producerId: 5,
      producerEpoch: 0,
      isTransactional: true,
      isControl: true,
    });
    const hex = "0000000000000007000000420000000002164010680030000000000000018bcfe568000000018bcfe5680000000000000000" +
      "050000ffffffff000000012000000008000000010c00000000000a00";
    assert.deepEqual(batch, fromHex(hex));
  });

  test("keeps gaps, also before the first record and behind the last, and its records' times under LogAppendTime", () => {
    const records = [12, 13, 20].map((offset) => ({ offset, timestamp: TIME + offset, key: null, value: "v" }));
    const header = { crc32c, baseOffset: 10, lastOffset: 25, logAppendTime: TIME + 60_000, producerId: 1 };
    const bytes = encodeRecordBatch(records, { ...header, producerEpoch: 0, baseSequence: 2 ** 31 - 5 });
    const batch = new RecordBatch(bytes);
    assert.deepEqual([batch.baseOffset, batch.lastOffset, batch.lastSequence], [10, 25, 10]);
    assert.deepEqual(batch.records().map(({ offset, sequence, timestamp }) => [offset, sequence, timestamp - TIME]), [
      [12, 2 ** 31 - 3, 60_000],
      [13, 2 ** 31 - 2, 60_000],
      [20, 5, 60_000],
    ]);
    bytes[22]! &= ~0x08; // as if the topic had never been under LogAppendTime
    assert.deepEqual(new RecordBatch(bytes).records().map(({ timestamp }) => timestamp - TIME), [12, 13, 20]);
  });

  test("refuses offsets that one batch cannot hold", () => {
    const at = (offset: number) => ({ offset, timestamp: TIME, key: null, value: null });
    const refused = [
      () => encodeRecordBatch([], { crc32c }),
      () => encodeRecordBatch([], { crc32c, baseOffset: 1 }),
      () => encodeRecordBatch([], { crc32c, baseOffset: 1, lastOffset: 0 }),
      () => encodeRecordBatch([at(5)], { crc32c, baseOffset: 6, lastOffset: 7 }),
      () => encodeRecordBatch([at(5)], { crc32c, lastOffset: 4 }),
      () => encodeRecordBatch([at(5)], { crc32c, baseOffset: 0.5, lastOffset: 9 }),
      () => encodeRecordBatch([at(5), at(6.5)], { crc32c }),
      () => encodeRecordBatch([at(2 ** 53)], { crc32c }),
    ];
    for (const encode of refused) assert.throws(encode, ConfigError, String(encode));
  });
});
