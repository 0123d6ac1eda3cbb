import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PartitionQueue, sequenceAfter } from "../../src/producer/partition_queue.ts";
import { ProducerBatch } from "../../src/producer/producer_batch.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";

function batchOf(queue: PartitionQueue, records: number): ProducerBatch {
  const buffer = new Uint8Array(256);
  const builder = new RecordBatchBuilder(buffer);
  const batch = new ProducerBatch("t", 0, builder, buffer, 0, queue.takeOrdinal());
  for (let i = 0; i < records; i++) {
    builder.append(0, null, "x");
  }
  return batch;
}

describe("PartitionQueue", () => {
  test("sequences go from 2^31−1 on to 0", () => {
    assert.equal(sequenceAfter(2147483647, 1), 0);
    assert.equal(sequenceAfter(2147483640, 10), 2);
    assert.equal(sequenceAfter(0, 5), 5);
  });

  test("a batch put back stands where it stood, whatever the order in which they come back", () => {
    const queue = new PartitionQueue("t", 0);
    const batches = [1, 2, 3, 4, 5].map(() => batchOf(queue, 1));
    queue.waiting.push(batches[4]!);
    for (const index of [2, 0, 3, 1]) queue.putBack(batches[index]!);
    assert.deepEqual([...queue.waiting].map((batch) => batch.ordinal), [0, 1, 2, 3, 4]);
  });

  test("each record takes one sequence, and a batch may straddle the wrap", () => {
    const queue = new PartitionQueue("t", 0);
    queue.restart(7, 3);
    queue.nextSequence = 2147483646;
    const [a, b] = [batchOf(queue, 3), batchOf(queue, 2)];
    queue.assignSequence(a);
    queue.assignSequence(b);
    assert.deepEqual([a.producerId, a.producerEpoch, a.baseSequence, b.baseSequence], [7, 3, 2147483646, 1]);
    queue.acknowledged(a, 10);
    assert.equal(queue.lastAckedSequence, 0);
    queue.acknowledged(b, 13);
    assert.deepEqual([queue.lastAckedSequence, queue.lastAckedOffset, queue.inFlight.length], [2, 14, 0]);
  });

  test("a later batch acknowledged first is not taken back by an earlier one", () => {
    const queue = new PartitionQueue("t", 0);
    queue.restart(7, 0);
    const [a, b] = [batchOf(queue, 2), batchOf(queue, 2)];
    queue.assignSequence(a);
    queue.assignSequence(b);
    queue.acknowledged(b, 2);
    queue.acknowledged(a, 0);
    assert.deepEqual([queue.lastAckedSequence, queue.lastAckedOffset], [3, 3]);
  });

  test("a new epoch numbers what is not resolved from 0, in order", () => {
    const queue = new PartitionQueue("t", 0);
    queue.restart(7, 0);
    const batches = [batchOf(queue, 2), batchOf(queue, 3), batchOf(queue, 1)];
    for (const batch of batches) queue.assignSequence(batch);
    queue.resolved(batches[0]!);
    queue.restart(7, 1);
    assert.deepEqual(batches.map((b) => [b.producerEpoch, b.baseSequence, b.renumbered]), [
      [0, 0, false],
      [1, 0, true],
      [1, 3, true],
    ]);
    assert.equal(queue.nextSequence, 4);
  });
});
