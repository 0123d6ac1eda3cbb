import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { encodeProducerSnapshot } from "../../src/log/producer_snapshot.ts";
import { type ProducerState, ProducerStates, type ReplayedBatch } from "../../src/log/producer_states.ts";
import { fileBytes, replaceFile } from "./batch_of.ts";
import { goldenCopy, goldenSet, goldenStorage } from "./golden_set.ts";
import { dataBatch, markerBatch, putSegment } from "./raw_log.ts";

/** A batch of three records by producer 1, unless told otherwise. */
function batch(baseOffset: number, fields: Partial<ReplayedBatch> = {}): ReplayedBatch {
  const baseSequence = fields.baseSequence ?? 0;
  return {
    baseOffset,
    lastOffset: baseOffset + 2,
    maxTimestamp: 1000 + baseOffset,
    producerId: 1,
    producerEpoch: 0,
    baseSequence,
    lastSequence: baseSequence + 2,
    isTransactional: false,
    ...fields,
  };
}

function marker(offset: number, producerId: number, fields: Partial<ReplayedBatch> = {}): ReplayedBatch {
  return batch(offset, { lastOffset: offset, producerId, baseSequence: -1, lastSequence: -1, ...fields });
}

const COMMIT = { type: "COMMIT", coordinatorEpoch: 3, timestamp: 5000 } as const;
const ABORT = { type: "ABORT", coordinatorEpoch: 3, timestamp: 5000 } as const;

/** As `expected.json` has it, ordered by id. */
function viewOf(states: readonly ProducerState[], batches: "all" | "last"): unknown[] {
  return states.map((state) => ({
    producerId: state.producerId,
    producerEpoch: state.epoch,
    coordinatorEpoch: state.coordinatorEpoch,
    lastTimestamp: state.timestamp,
    currentTxnFirstOffset: state.currentTxnFirstOffset < 0 ? null : state.currentTxnFirstOffset,
    batches: state.batches.slice(batches === "all" ? 0 : -1),
  })).sort((a, b) => a.producerId - b.producerId);
}

// deno-lint-ignore no-explicit-any -- of expected.json
function theirs(active: any[], batches: "all" | "last"): unknown[] {
  return active.map((producer) => ({
    ...producer,
    // deno-lint-ignore no-explicit-any -- of expected.json
    batches: producer.batches.slice(batches === "all" ? 0 : -1).map(({ offsetDelta: _, ...rest }: any) => rest),
  })).sort((a, b) => a.producerId - b.producerId);
}

/** Without those that Kafka forgot when it made `expected.json`: the last timestamp is old, and no transaction open. */
function unexpired(states: readonly ProducerState[]): ProducerState[] {
  return states.filter((state) => state.currentTxnFirstOffset >= 0 || state.timestamp > 1_790_000_000_000);
}

describe("producer states: replay", () => {
  test("the last five batches of the epoch are remembered", () => {
    const states = new ProducerStates(0);
    for (let n = 0; n < 7; n++) states.replay(batch(3 * n, { baseSequence: 3 * n, lastSequence: 3 * n + 2 }));
    const state = states.get(1)!;
    assert.deepEqual(state.batches.map(({ firstSequence }) => firstSequence), [6, 9, 12, 15, 18]);
    assert.deepEqual(
      [state.lastSequence, state.lastOffset, state.offsetDelta, state.timestamp, states.endOffset],
      [20, 20, 2, 1018, 21],
    );
    states.replay(batch(21, { producerEpoch: 1 }));
    assert.deepEqual([states.get(1)!.epoch, states.get(1)!.batches.length], [1, 1]);
    assert.equal(states.get(2), undefined);
  });

  test("a marker of the next epoch ends the transaction and forgets the batches", () => {
    const states = new ProducerStates(0);
    states.replay(batch(0, { isTransactional: true }));
    states.replay(batch(3, { isTransactional: true }));
    assert.deepEqual([states.firstUnstableOffset, states.ongoing], [0, [{ producerId: 1, firstOffset: 0 }]]);
    assert.deepEqual(states.replayMarker(marker(6, 1, { producerEpoch: 1 }), ABORT), {
      producerId: 1,
      firstOffset: 0,
      lastOffset: 6,
      isAborted: true,
      lastStableOffset: 7,
    });
    assert.deepEqual(states.active, [{
      producerId: 1,
      epoch: 1,
      lastSequence: -1,
      lastOffset: -1,
      offsetDelta: 0,
      timestamp: 5000,
      coordinatorEpoch: 3,
      currentTxnFirstOffset: -1,
      batches: [],
    }]);
    assert.equal(states.firstUnstableOffset, undefined);
  });

  test("a marker without a transaction only fences; an emptied one and one of another kind have no effect", () => {
    const states = new ProducerStates(0);
    assert.equal(states.replayMarker(marker(0, 1, { producerEpoch: 4 }), COMMIT), undefined);
    assert.deepEqual([states.get(1)!.epoch, states.get(1)!.coordinatorEpoch], [4, 3]);
    assert.equal(states.replayMarker(marker(1, 2), undefined), undefined);
    assert.equal(states.replayMarker(marker(2, 3), { ...COMMIT, type: "LEADER_CHANGE" }), undefined);
    assert.deepEqual([states.get(2), states.get(3), states.endOffset], [undefined, undefined, 3]);
  });

  test("the last stable offset of a marker is the start of the oldest other transaction", () => {
    const states = new ProducerStates(0);
    states.replay(batch(0, { producerId: 1, isTransactional: true }));
    states.replay(batch(3, { producerId: 2, isTransactional: true }));
    states.replay(batch(6, { producerId: 3, isTransactional: true }));
    assert.equal(states.replayMarker(marker(9, 2), ABORT)!.lastStableOffset, 0);
    assert.equal(states.replayMarker(marker(10, 1), COMMIT)!.lastStableOffset, 6);
    assert.equal(states.replayMarker(marker(11, 3), COMMIT)!.lastStableOffset, 12);
  });

  test("scenario 25: a transaction is over only when its marker is replicated", () => {
    const states = new ProducerStates(0, [], 0);
    states.replay(batch(0, { isTransactional: true }));
    states.replayMarker(marker(3, 1), COMMIT);
    states.replay(batch(4, { producerId: 2, isTransactional: true }));
    assert.equal(states.firstUnstableOffset, 0);
    states.raiseHighWatermark(3);
    assert.equal(states.firstUnstableOffset, 0, "the marker itself is not");
    states.raiseHighWatermark(4);
    assert.equal(states.firstUnstableOffset, 4);
    states.replayMarker(marker(7, 2), COMMIT);
    assert.equal(states.firstUnstableOffset, 4);
    states.raiseHighWatermark(8);
    assert.equal(states.firstUnstableOffset, undefined);
  });

  test("a batch outside of the open transaction of its producer is told to be odd", () => {
    const states = new ProducerStates(0);
    assert.equal(states.replay(batch(0, { isTransactional: true })), true);
    assert.equal(states.replay(batch(3)), false);
    assert.equal(states.firstUnstableOffset, 0);
    assert.equal(states.replay(batch(6, { producerId: -1 })), true);
  });

  test("a snapshot's sequences go on at 0 after 2^31−1, and its open transactions stand in order", () => {
    const entry = { epoch: 0, timestamp: 9, coordinatorEpoch: -1, lastOffset: 41, offsetDelta: 3 };
    const states = new ProducerStates(42, [
      { ...entry, producerId: 7, lastSequence: 1, currentTxnFirstOffset: 40 },
      { ...entry, producerId: 5, lastSequence: 10, currentTxnFirstOffset: 12 },
      { ...entry, producerId: 6, lastSequence: -1, lastOffset: -1, offsetDelta: 0, currentTxnFirstOffset: -1 },
    ]);
    assert.deepEqual(states.get(7)!.batches, [
      { firstSequence: 2 ** 31 - 2, lastSequence: 1, firstOffset: 38, lastOffset: 41, timestamp: 9 },
    ]);
    assert.deepEqual(states.get(6)!.batches, []);
    assert.deepEqual(states.ongoing.map(({ firstOffset }) => firstOffset), [12, 40]);
  });
});

describe("producer states of a log", () => {
  for (
    const name of ["01-plain", "07-transactions", "07b-transactions-2.8", "08a-compacted", "10a-killed", "15-odd-v2"]
  ) {
    test(`${name}: producers, last stable offset and aborted transactions are what Kafka has`, async () => {
      const set = goldenSet(name);
      const { opened, segments } = set.expected;
      const withSnapshots = await Log.open(await goldenStorage(set), { mode: "inspect" });
      const states = await withSnapshots.producers();
      assert.deepEqual(viewOf(unexpired(states.active), "last"), theirs(opened.activeProducers, "last"));
      assert.equal(await withSnapshots.lastStableOffset(), opened.lastStableOffsetWithHighWatermarkAtEnd);
      assert.equal(states.firstUnstableOffset ?? null, opened.firstUnstableOffset);
      assert.equal(states.endOffset, opened.logEndOffset);
      await withSnapshots.close();
      // Without any index and snapshot all of it comes from the batches.
      const storage = await goldenCopy(set);
      for (const file of await storage.list()) if (!file.endsWith(".log")) await storage.remove(file);
      const bare = await Log.open(storage, { mode: "inspect" });
      assert.equal(await bare.lastStableOffset(), opened.lastStableOffsetWithHighWatermarkAtEnd);
      const { abortedTransactions } = await bare.read(bare.logStartOffset, { isolation: "committed", maxBytes: 1e6 });
      // deno-lint-ignore no-explicit-any -- of expected.json
      const indexed = segments.flatMap(({ transactionIndex = [] }: any) => transactionIndex);
      assert.deepEqual(
        abortedTransactions.length <= indexed.length && abortedTransactions,
        indexed.slice(0, abortedTransactions.length).map(
          // deno-lint-ignore no-explicit-any -- of expected.json
          ({ producerId, firstOffset }: any) => ({ producerId, firstOffset }),
        ),
      );
      await bare.close();
    });
  }

  test("scenario 38: a corrupt snapshot is passed over for the one before it, and is told", async () => {
    const set = goldenSet("07-transactions");
    const storage = await goldenCopy(set);
    const newest = "00000000000000000375.snapshot";
    for (const bytes of [new Uint8Array(0), (await fileBytes(storage, newest)).subarray(0, 40)]) {
      await replaceFile(storage, newest, bytes);
      const log = await Log.open(storage, { mode: "inspect" });
      const states = await log.producers();
      assert.deepEqual(viewOf(unexpired(states.active), "last"), theirs(set.expected.opened.activeProducers, "last"));
      assert.equal(await log.lastStableOffset(), 363);
      const told = log.anomalies.filter(({ kind }) => kind === "corrupt-snapshot");
      assert.deepEqual(told.map(({ file, losesData }) => [file, losesData]), [[newest, false]]);
      await log.close();
    }
  });

  test("scenario 38: without segments {2, 42} stray snapshots are told, and the one beyond all of them is used", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [dataBatch({ offset: 0 })]);
    await putSegment(storage, 5, [dataBatch({ offset: 5, values: [..."abcde"] })]);
    for (const [offset, producerId] of [[2, 12], [5, 15], [9, 19], [10, 20]] as const) {
      const bytes = encodeProducerSnapshot([{
        producerId,
        epoch: 0,
        lastSequence: 0,
        lastOffset: 0,
        offsetDelta: 0,
        timestamp: 1,
        coordinatorEpoch: -1,
        currentTxnFirstOffset: -1,
      }]);
      await replaceFile(storage, `${String(offset).padStart(20, "0")}.snapshot`, bytes);
    }
    const log = await Log.open(storage, { mode: "inspect", logStartOffset: 1 });
    const strays = log.anomalies.filter(({ kind }) => kind === "stray-snapshot").map(({ file }) =>
      Number.parseInt(file)
    );
    assert.deepEqual(strays, [2, 9]);
    // Segments without any index are replayed from the log's start, past all snapshots.
    assert.deepEqual((await log.producers()).active, []);
    for (const base of [0, 5]) await replaceFile(storage, `${String(base).padStart(20, "0")}.index`, new Uint8Array(0));
    const indexed = await Log.open(storage, { mode: "inspect" });
    assert.deepEqual((await indexed.producers()).active.map(({ producerId }) => producerId), [20]);
    await Promise.all([log.close(), indexed.close()]);
  });

  test("scenario 33: the last stable offset does not lie below the log's start", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 0, values: ["a", "b"], producerId: 1, transactional: true }),
      dataBatch({ offset: 2, values: ["c", "d"] }),
    ]);
    for (const [logStartOffset, expected] of [[0, 0], [1, 1]] as const) {
      const log = await Log.open(storage, { mode: "inspect", logStartOffset });
      assert.equal(await log.lastStableOffset(), expected);
      await log.close();
    }
  });

  test("a high watermark below a marker keeps its transaction unstable", async () => {
    const storage = new MemoryStorage();
    await putSegment(storage, 0, [
      dataBatch({ offset: 0 }),
      dataBatch({ offset: 1, producerId: 1, transactional: true }),
      markerBatch("COMMIT", 1, { offset: 2 }),
      dataBatch({ offset: 3 }),
    ]);
    for (const [highWatermark, expected] of [[4, 4], [3, 3], [2, 1], [1, 1], [0, 0]] as const) {
      const log = await Log.open(storage, { mode: "inspect", highWatermark });
      assert.equal(await log.lastStableOffset(), expected, `high watermark ${highWatermark}`);
      await log.close();
    }
  });

  test("a marker that cannot be read is told, and its transaction stays open", async () => {
    const storage = new MemoryStorage();
    const marker = markerBatch("COMMIT", 1, { offset: 1 });
    marker[61] = 2; // the record's length
    await putSegment(storage, 0, [dataBatch({ producerId: 1, transactional: true }), marker]);
    const log = await Log.open(storage, { mode: "inspect" });
    assert.equal(await log.lastStableOffset(), 0);
    const told = log.anomalies.filter(({ kind }) => kind === "transaction-marker");
    assert.deepEqual(told.map(({ position, offset }) => [position, offset]), [[69, 1]]);
    await log.close();
  });

  test("a log that is written keeps its producers up to date once they were asked for", async () => {
    const storage = new MemoryStorage();
    const log = await Log.open(storage, { mode: "write" });
    await log.append(dataBatch({ producerId: 1, transactional: true }));
    assert.equal(await log.lastStableOffset(), 0);
    const append = log.append(dataBatch({ producerId: 2, transactional: true }));
    assert.equal(await log.lastStableOffset(), 0);
    await append;
    await log.append(markerBatch("ABORT", 1));
    assert.equal(await log.lastStableOffset(), 1);
    assert.deepEqual((await log.producers()).ongoing, [{ producerId: 2, firstOffset: 1 }]);
    await log.append(markerBatch("COMMIT", 2));
    assert.equal(await log.lastStableOffset(), 4);
    await log.close();
  });
});
