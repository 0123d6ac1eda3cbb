/**
 * The other clients that judge ours must agree with each other first, down to null, empty and binary.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  cluster,
  createTopic,
  dumpLogSegments,
  javaConsume,
  javaProduce,
  kcatConsume,
  kcatProduce,
  partitionForKeys,
  type SentRecord,
  uniqueName,
} from "./helpers.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);

describe("Java and kcat", () => {
  test("kcat reads exactly what the Java producer wrote", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("java-to-kcat"), 2);
    const records: SentRecord[] = [
      {
        partition: 1,
        timestamp: 1_700_000_000_123,
        key: text("k"),
        value: text("v"),
        headers: [["a", text("1")], ["b", null]],
      },
      { partition: 1, timestamp: 5, key: null, value: new Uint8Array() },
      { partition: 1, timestamp: 6, key: new Uint8Array(), value: null },
      { partition: 1, timestamp: 7, key: everyByte, value: everyByte },
    ];
    const placed = await javaProduce(topic, records, { acks: "all" });
    assert.deepEqual(placed.map(({ partition, offset }) => [partition, offset]), [[1, 0], [1, 1], [1, 2], [1, 3]]);

    const read = await kcatConsume(topic);
    assert.deepEqual(
      read.map(({ partition, timestamp, key, value }) => ({ partition, timestamp, key, value })),
      records.map(({ partition, timestamp, key, value }) => ({ partition, timestamp, key, value })),
    );
    assert.deepEqual(read.map((record) => record.headers), ["a=1,b=NULL", "", "", ""]);
  });

  test("the Java consumer reads exactly what kcat wrote", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("kcat-to-java"), 2);
    const big = new Uint8Array(900_000).fill(7);
    await kcatProduce(topic, [
      { partition: 0, key: everyByte, value: everyByte, headers: [["h", text("x")]] },
      { partition: 0, key: text("big"), value: big, headers: [["h", text("x")]] },
      { partition: 0, key: null, value: null, headers: [["h", text("x")]] },
    ], ["-z", "gzip"]);
    await kcatProduce(topic, [{ partition: 1, key: text("k"), value: new Uint8Array() }]);

    const first = await javaConsume(topic, { partition: 0 });
    assert.deepEqual(first.map(({ offset, key, value }) => [offset, key, value]), [
      [0, everyByte, everyByte],
      [1, text("big"), big],
      [2, null, null],
    ]);
    assert.deepEqual(first[0]!.headers, [["h", text("x")]]);
    assert.equal(first[0]!.timestampType, "CreateTime");
    const second = await javaConsume(topic, { partition: 1 });
    assert.deepEqual(second.map(({ key, value }) => [key, value]), [[text("k"), new Uint8Array()]]);
  });

  test("the Java partitioner says where the Java producer puts a key", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("partitioner"), 7);
    const keys = [new Uint8Array(), everyByte, ...Array.from({ length: 50 }, (_, n) => text(`key-${n}`))];
    const placed = await javaProduce(topic, keys.map((key) => ({ key, value: key })));
    assert.deepEqual(await partitionForKeys(keys, 7), placed.map(({ partition }) => partition));
  });

  test("a Java error is an error here", { timeout: 60_000 }, async () => {
    await assert.rejects(
      javaProduce(uniqueName("no-such-topic"), [{ value: text("v") }], { "max.block.ms": 500 }),
      /JavaProduce .* ended with code 1:[^]*no-such-topic/,
    );
  });

  test("DumpLogSegments shows a broker's own segment", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("dump"));
    await javaProduce(topic, [{ key: text("k"), value: text("v") }, { value: null }]);
    const { code, text: dump } = await dumpLogSegments(
      [`${cluster().partitionDirectory(topic, 0)}/00000000000000000000.log`],
      ["--deep-iteration", "--print-data-log"],
    );
    assert.equal(code, 0, dump);
    assert.match(dump, /baseOffset: 0 lastOffset: 1 count: 2 .* isvalid: true/);
    assert.match(dump, /keySize: 1 valueSize: 1 .* key: k payload: v/);
  });
});
