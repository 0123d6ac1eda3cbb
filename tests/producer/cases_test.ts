/** Faults that users met in Kafka clients, by their numbers in the project's list of cases: sequences, order, answers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { clientContext } from "../../src/client/client_context.ts";
import { sleep } from "../../src/core/clock.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { seededRandom } from "../../src/core/random.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { PartitionQueue } from "../../src/producer/partition_queue.ts";
import { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { range, stage } from "../helpers/producer_stage.ts";
import type { PartitionAnswers, ScriptedBroker, Verdict } from "../helpers/scripted_broker.ts";

const OUT_OF_ORDER_SEQUENCE_NUMBER = 45;
const NOT_LEADER_OR_FOLLOWER = 6;
const INVALID_RECORD = 87;
const alone: ProducerOptions = { batchSize: 1 };

const produce = (of: (nth: number) => Verdict) => (api: string, nth: number): Verdict =>
  api === "Produce" ? of(nth) : "answer";

/** Base sequences of the requests for `t-0` in the order in which they came. */
function sequencesSent(broker: ScriptedBroker): number[] {
  return broker.produceRequests.flatMap(({ topicData }) =>
    topicData.flatMap(({ partitionData }) => partitionData.map(({ records }) => new RecordBatch(records!).baseSequence))
  );
}

/** Runs `act` with partitions that begin at `sequence`, as after so many records. */
async function beginningAt(sequence: number, act: () => Promise<void>): Promise<void> {
  const { restart } = PartitionQueue.prototype;
  PartitionQueue.prototype.restart = function (this: PartitionQueue, producerId: number, producerEpoch: number) {
    restart.call(this, producerId, producerEpoch);
    this.nextSequence = sequence;
  };
  try {
    await act();
  } finally {
    PartitionQueue.prototype.restart = restart;
  }
}

describe("case 001: sends in flight side by side", () => {
  for (const perBatch of [1, 3]) {
    for (const jitter of [false, true]) {
      test(`20 batches of ${perBatch}, answers 20 ms late${jitter ? ", 1 ms of jitter at each step" : ""}`, async () => {
        const clock = new ManualClock();
        const network = new MemoryNetwork({ clock });
        const storage = new MemoryStorage();
        const random = seededRandom(1);
        const broker = await EmbeddedBroker.start({ listen: network.listen, storage, topics: { t: 1 }, clock });
        broker.script({ api: "Produce", times: Infinity, when: "after", delayMs: 20 });
        if (jitter) broker.script({ times: Infinity, when: "before", delayMs: 1 });
        const context = clientContext(
          { bootstrapServers: broker.bootstrapServers, clock, random },
          { connect: network.connect, codecs: () => Promise.resolve({}) },
        );
        const producer = new Producer<string, string>(context, {
          // A record of 50 bytes takes about 57 of them, after 61 for the batch: room for as many as there should be.
          batchSize: 61 + 60 * perBatch,
          valueSerializer: async (value) => {
            if (jitter) await sleep(clock, Math.floor(random() * 2));
            return value;
          },
        });
        const values = range(20 * perBatch).map((i) => `${i}`.padEnd(50, "."));
        const sends = values.map((value) => producer.send({ topic: "t", value }));
        const placed = await clock.runUntil(Promise.all(sends));
        await clock.runUntil(producer.close());
        await clock.runUntil(broker.close());
        assert.deepEqual(placed.map(({ offset }) => offset), range(values.length));

        const log = await Log.open(await storage.folder("t-0"), { mode: "inspect" });
        const stored: string[] = [];
        const sequences: number[] = [];
        for await (const batch of log.batches()) {
          sequences.push(batch.baseSequence);
          for (const { value } of batch.records()) stored.push(new TextDecoder().decode(value!));
        }
        await log.close();
        assert.deepEqual(stored, values);
        assert.deepEqual(sequences, range(20).map((i) => i * perBatch));
      });
    }
  }
});

describe("sequences", () => {
  test("case 026: after 2147483647 comes 0, in the middle of a batch", async () => {
    await beginningAt(2147483646, async () => {
      const { producer, broker, run } = await stage({}, { lingerMs: 5 });
      await run(producer.sendAll(["a", "b", "c", "d", "e"].map((value) => ({ topic: "t", value }))));
      assert.equal((await run(producer.send({ topic: "t", value: "f" }))).offset, 5);
      assert.deepEqual(broker.batches("t").map(({ baseSequence, count }) => [baseSequence, count]), [
        [2147483646, 5],
        [3, 1],
      ]);
      const [first] = broker.produceRequests[0]!.topicData[0]!.partitionData;
      assert.equal(new RecordBatch(first!.records!).lastSequence, 2);
      await run(producer.close());
    });
  });

  test("case 031: go on where they were when the topic was gone from the metadata for a moment", async () => {
    const { producer, broker, clock, run } = await stage({}, alone, { metadataMaxAgeMs: 1000 });
    const send = (values: readonly string[]) =>
      run(Promise.all(values.map((value) => producer.send({ topic: "t", value }))));
    await send(["0", "1", "2"]);
    const asked = () => broker.requests.filter((api) => api === "Metadata").length;
    const before = asked();
    broker.script.topicError = () => 3;
    await clock.advance(1500);
    const waiting = send(["3", "4", "5"]);
    await clock.advance(500);
    assert.ok(asked() > before, "it was told that there is no such topic");
    delete broker.script.topicError;
    await waiting;
    assert.deepEqual(broker.values("t"), range(6).map(String));
    assert.deepEqual(sequencesSent(broker), range(6));
    // In a new epoch they begin anew.
    broker.script.verdict = produce((nth) => nth === 7 ? { error: INVALID_RECORD } : "answer");
    await run(producer.send({ topic: "t", value: "refused" }).then(() => assert.fail(), () => {}));
    await send(["6"]);
    const { producerEpoch, baseSequence } = broker.batches("t").at(-1)!;
    assert.deepEqual([producerEpoch, baseSequence], [1, 0]);
    await run(producer.close());
  });

  for (const first of [0, 2147483645]) {
    test(`case 032: five in flight from ${first + 1} on, the first refused for a moment: sent again in order`, async () => {
      await beginningAt(first, async () => {
        const { producer, broker, run } = await stage({
          verdict: produce((nth) => nth === 2 ? { error: NOT_LEADER_OR_FOLLOWER } : "answer"),
        }, alone);
        const errors: number[] = [];
        broker.script.produceAnswer = (responses) => {
          errors.push(responses[0]!.partitionResponses[0]!.errorCode!);
          return responses;
        };
        await run(producer.send({ topic: "t", value: "warm" }));
        const sent = range(5).map((i) => producer.send({ topic: "t", value: `${i}` }));
        assert.deepEqual((await run(Promise.all(sent))).map(({ offset }) => offset), [1, 2, 3, 4, 5]);
        assert.deepEqual(broker.values("t"), ["warm", ...range(5).map(String)]);
        const five = range(5).map((i) => (first + 1 + i) % 2 ** 31);
        assert.deepEqual(sequencesSent(broker), [first, ...five, ...five]);
        const behind = Array.from({ length: 4 }, () => OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert.deepEqual(errors, [0, NOT_LEADER_OR_FOLLOWER, ...behind, 0, 0, 0, 0, 0]);
        await run(producer.close());
      });
    });
  }

  test("scenario 18: after epoch 32767 comes a new producer id; what was sent under the old one keeps it", async () => {
    const { producer, broker, clock, run } = await stage({
      topics: { t: 2 },
      // Only the first id is nearly used up.
      epoch: (next) => next === 1001 ? 32767 : 0,
    }, alone);
    const send = (partition: number, value: string) => {
      const sent = producer.send({ topic: "t", partition, value });
      sent.catch(() => {});
      return sent;
    };
    await run(Promise.all([send(0, "a"), send(1, "a")]));
    // One batch is refused for good, so partition 0 needs a next epoch; that of partition 1 fails only for a moment.
    broker.script.partitionAnswer = (_, partition) =>
      partition === 0 ? { errorCode: INVALID_RECORD, baseOffset: -1 } : { errorCode: 7, baseOffset: -1 };
    broker.script.verdict = produce(() => ({ error: 7 }));
    const [refused, retried] = [send(0, "refused"), send(1, "b")];
    await clock.flush();
    delete broker.script.partitionAnswer;
    delete broker.script.verdict;
    await assert.rejects(run(refused), { code: "INVALID_RECORD" });
    await run(Promise.all([retried, send(0, "c"), send(1, "d")]));
    const identities = (partition: number) =>
      broker.batches("t", partition).map(({ producerId, producerEpoch, baseSequence }) => [
        producerId,
        producerEpoch,
        baseSequence,
      ]);
    assert.deepEqual(broker.values("t", 0), ["a", "c"]);
    assert.deepEqual(broker.values("t", 1), ["a", "b", "d"]);
    assert.deepEqual(identities(0)[0], [1000, 32767, 0]);
    assert.deepEqual([identities(0)[1]![0], identities(0)[1]![2]], [1001, 0]);
    assert.deepEqual(identities(1).slice(0, 2), [[1000, 32767, 0], [1000, 32767, 1]]);
    assert.deepEqual([identities(1)[2]![0], identities(1)[2]![2]], [1001, 0]);
    assert.equal(broker.requests.filter((api) => api === "InitProducerId").length, 2);
    await run(producer.close());
  });
});

describe("case 082: an answer that is not in the order of its request", () => {
  /** One request for t-0, t-1 and u-0; the first answer to it is `changed`. */
  async function sendThree(changed: (responses: PartitionAnswers) => PartitionAnswers) {
    const { producer, broker, run } = await stage({ topics: { t: 2, u: 1 } }, { lingerMs: 5 });
    // Each partition at another offset, so that a swapped answer shows.
    const warm = [["t", 0, 1], ["t", 1, 2], ["u", 0, 3]] as const;
    await run(
      Promise.all(
        warm.flatMap(([topic, partition, count]) =>
          range(count).map(() => producer.send({ topic, partition, value: "warm" }))
        ),
      ),
    );
    const nth = broker.produceRequests.length + 1;
    broker.script.produceAnswer = (responses, n) => n === nth ? changed(responses) : responses;
    const outcome = await run(Promise.all(
      warm.map(([topic, partition]) =>
        producer.send({ topic, partition, value: "x" }).then(
          (metadata) => `${metadata.topic}-${metadata.partition} @${metadata.offset}`,
          (error: KafkaError) => error.message,
        )
      ),
    ));
    const again = broker.produceRequests.slice(nth).flatMap(({ topicData }) =>
      topicData.flatMap(({ name, partitionData }) => partitionData.map(({ index }) => `${name}-${index}`))
    );
    assert.equal(broker.produceRequests[nth - 1]!.topicData.flatMap(({ partitionData }) => partitionData).length, 3);
    const values = warm.map(([topic, partition]) => broker.values(topic, partition).length);
    await run(producer.close());
    return { outcome, again, values };
  }

  const right = ["t-0 @1", "t-1 @2", "u-0 @3"];
  const without = (responses: PartitionAnswers, topic: string, partition: number): PartitionAnswers =>
    responses.map(({ name, partitionResponses }) => ({
      name,
      partitionResponses: partitionResponses.filter(({ index }) => name !== topic || index !== partition),
    }));

  test("each is matched by topic and partition", async () => {
    const turned = (responses: PartitionAnswers) =>
      [...responses].reverse().map(({ name, partitionResponses }) => ({
        name,
        partitionResponses: [...partitionResponses].reverse(),
      }));
    const { outcome, again, values } = await sendThree(turned);
    assert.deepEqual(outcome, right);
    assert.deepEqual(again, []);
    assert.deepEqual(values, [2, 3, 4]);
  });

  test("one that is absent is sent again, and no other", async () => {
    const { outcome, again, values } = await sendThree((responses) => without(responses, "t", 1));
    assert.deepEqual(outcome, right);
    assert.deepEqual(again, ["t-1"]);
    assert.deepEqual(values, [2, 3, 4], "what was stored is known again");
  });

  test("one that is there twice counts once", async () => {
    const { outcome, again, values } = await sendThree((responses) => [...responses, ...without(responses, "t", 1)]);
    assert.deepEqual(outcome, right);
    assert.deepEqual(again, []);
    assert.deepEqual(values, [2, 3, 4]);
  });

  test("one for a partition that was not sent harms none", async () => {
    const { outcome, again, values } = await sendThree((responses) => [
      { name: "u", partitionResponses: [{ index: 9, errorCode: 0, baseOffset: 99 }] },
      { name: "other", partitionResponses: [{ index: 0, errorCode: 3, baseOffset: -1 }] },
      ...responses,
    ]);
    assert.deepEqual(outcome, right);
    assert.deepEqual(again, []);
    assert.deepEqual(values, [2, 3, 4]);
  });
});
