/** The embedded broker is held to Kafka's answers; `tests/kafka/produce_rules_test.ts` shows that they are Kafka's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { initProducerIdApi } from "../../src/protocol/init_producer_id.ts";
import { fetch, produce, withBroker } from "./broker_stage.ts";
import { refusedRecords, sequenced, sequenceSteps, straddleSteps, wrapSteps } from "./produce_cases.ts";

describe("embedded broker: what it answers to Produce", () => {
  for (const { name, records, version = 9, error } of refusedRecords) {
    test(`case 044: ${name}: refused as by Kafka, and not stored`, async () => {
      await withBroker({ topics: { t: 1 } }, async ({ client }) => {
        const answer = await produce(client, "t", records.slice(), { version });
        assert.equal(answer.errorCode, error, answer.errorMessage ?? "");
        assert.equal(answer.baseOffset, -1);
        assert.equal((await fetch(client, "t", 0)).highWatermark, 0);
      });
    });
  }

  for (const [name, steps] of [["043", sequenceSteps], ["026", wrapSteps], ["026", straddleSteps]] as const) {
    test(`case ${name}: ${steps[0]!.what}, and so on: judged as by Kafka`, async () => {
      await withBroker({ topics: { t: 1 } }, async ({ client }) => {
        const { producerId } = await client.call(initProducerIdApi, { transactionalId: null });
        let end = 0;
        for (const { what, sequence, count, epoch = 0, answer } of steps) {
          const values = Array.from({ length: count }, (_, i) => `${i}`);
          const { errorCode, baseOffset } = await produce(client, "t", sequenced(values, producerId, epoch, sequence));
          assert.equal(errorCode === 0 ? baseOffset : `error ${errorCode}`, answer, what);
          if (answer === end) end += count;
          assert.equal((await fetch(client, "t", 0)).highWatermark, end, what);
        }
      });
    });
  }
});
