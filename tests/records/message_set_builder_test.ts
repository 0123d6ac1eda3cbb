import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { ConfigError } from "../../src/core/kafka_error.ts";
import { MessageSet } from "../../src/records/message_set.ts";
import { MessageSetBuilder } from "../../src/records/message_set_builder.ts";
import { fromHex } from "../helpers/hex.ts";

const TIME = 1_700_000_000_000;
const gzip = { type: "gzip", codec: plainCodecs.gzip! } as const;

// What Kafka's own builder and brokers wrote is written anew in rebuild_golden_test.ts.
describe("MessageSetBuilder", () => {
  test("writes a message as Kafka does", () => {
    const v0 = new MessageSetBuilder({ magic: 0 });
    v0.append(0, TIME, "k", "v");
    assert.deepEqual(v0.build(), fromHex("0000000000000000000000101fecd70a0000000000016b0000000176"));
    const v1 = new MessageSetBuilder({ magic: 1 });
    v1.append(0, TIME, "k", "v");
    assert.deepEqual(
      v1.build(),
      fromHex("00000000000000000000001839268c3301000000018bcfe56800000000016b0000000176"),
    );
  });

  test("writes text as the same bytes, over its first memory's end", () => {
    const [asText, asBytes] = [new MessageSetBuilder({ magic: 1 }), new MessageSetBuilder({ magic: 1 })];
    for (let i = 0; i < 100; i++) {
      const text = "é€😀".repeat(i);
      const bytes = new TextEncoder().encode(text);
      asText.append(i, TIME, text, i % 3 === 0 ? null : text);
      asBytes.append(i, TIME, bytes, i % 3 === 0 ? null : bytes);
    }
    assert.deepEqual(asText.build(), asBytes.build());
  });

  test("wraps messages of format 1 by relative offsets, which may count from another one", () => {
    for (const baseOffset of [undefined, 90]) {
      const builder = new MessageSetBuilder({ magic: 1, compression: gzip, baseOffset });
      for (const offset of [100, 101, 105]) builder.append(offset, TIME + offset, "k", "v");
      const batch = new MessageSet(builder.build());
      batch.verifyCrc();
      assert.deepEqual([batch.lastOffset, batch.maxTimestamp, batch.compression], [105, TIME + 105, "gzip"]);
      const inner = plainCodecs.gzip!.decompress(batch.bytes.subarray(34), 1000);
      assert.equal(new MessageSet(inner).lastOffset, baseOffset === undefined ? 0 : 10);
      assert.deepEqual(batch.records({ codecs: plainCodecs }).map(({ offset }) => offset), [100, 101, 105]);
    }
  });

  test("goes on after a set was built", () => {
    const builder = new MessageSetBuilder({ magic: 1, compression: gzip });
    builder.append(1, TIME, null, "a");
    const first = builder.build();
    builder.append(2, TIME, null, "b");
    const count = (bytes: Uint8Array) => new MessageSet(bytes).records({ codecs: plainCodecs }).length;
    assert.deepEqual([count(first), count(builder.build())], [1, 2]);
  });

  test("refuses what the formats do not have", () => {
    const zstd = { type: "zstd", codec: gzip.codec } as const;
    assert.throws(() => new MessageSetBuilder({ magic: 1, compression: zstd }), ConfigError);
    assert.throws(() => new MessageSetBuilder({ magic: 0, logAppendTime: TIME }), ConfigError);
    assert.throws(() => new MessageSetBuilder({ magic: 1 }).build(), ConfigError);
    const builder = new MessageSetBuilder({ magic: 1 });
    builder.append(5, -1, null, null);
    for (const offset of [5, 4, -1, 5.5, 2 ** 53, NaN]) {
      assert.throws(() => builder.append(offset, TIME, null, null), ConfigError, `${offset}`);
    }
    for (const timestamp of [-2, 0.5, 2 ** 53, NaN]) {
      assert.throws(() => builder.append(6, timestamp, null, null), ConfigError, `${timestamp}`);
    }
    assert.throws(() => new MessageSetBuilder({ magic: 1, baseOffset: 7 }).append(6, TIME, null, null), ConfigError);
    assert.deepEqual(new MessageSet(builder.build()).size, 34);
  });
});
