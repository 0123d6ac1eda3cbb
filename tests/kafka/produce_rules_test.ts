/** That Kafka itself answers as `tests/broker/produce_cases.ts` says, which the embedded broker is held to. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { connect } from "../../adapters/auto.ts";
import { initProducerIdApi } from "../../src/protocol/init_producer_id.ts";
import { produce } from "../broker/broker_stage.ts";
import { refusedRecords, sequenced, sequenceSteps, straddleSteps, wrapSteps } from "../broker/produce_cases.ts";
import { RawClient } from "../broker/raw_client.ts";
import { bootstrapServers, createTopic, uniqueName } from "./helpers.ts";

async function withClient(act: (client: RawClient) => Promise<void>): Promise<void> {
  const [host, port] = bootstrapServers()[0]!.split(":") as [string, string];
  const client = new RawClient(await connect(host, Number(port)));
  try {
    await act(client);
  } finally {
    client.transport.close();
  }
}

/** A broker that has just started has no ids to give yet: it answers COORDINATOR_LOAD_IN_PROGRESS until it has. */
async function newProducerId(client: RawClient): Promise<number> {
  for (let tries = 1;; tries++) {
    const { errorCode, producerId } = await client.call(initProducerIdApi, { transactionalId: null }, 3);
    if (errorCode === 0) return producerId;
    assert.ok(tries < 100, `InitProducerId: error ${errorCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("what Kafka answers to Produce", () => {
  test("case 044: bad batches are refused, and nothing is stored", { timeout: 60_000 }, async () => {
    const topic = await createTopic(uniqueName("refused"));
    await withClient(async (client) => {
      for (const { name, records, version = 9, error, kafkasError = error } of refusedRecords) {
        const answer = await produce(client, topic, records.slice(), { version });
        assert.equal(answer.errorCode, kafkasError, `${name}: ${answer.errorMessage}`);
      }
      assert.equal((await produce(client, topic, sequenced(["a"], -1, -1, -1))).baseOffset, 0);
    });
  });

  for (const [name, steps] of [["043", sequenceSteps], ["026", wrapSteps], ["026", straddleSteps]] as const) {
    test(`case ${name}: ${steps[0]!.what}, and so on`, { timeout: 60_000 }, async () => {
      const topic = await createTopic(uniqueName("sequences"));
      await withClient(async (client) => {
        const producerId = await newProducerId(client);
        for (const { what, sequence, count, epoch = 0, answer } of steps) {
          const values = Array.from({ length: count }, (_, i) => `${i}`);
          const batch = sequenced(values, producerId, epoch, sequence);
          const { errorCode, baseOffset } = await produce(client, topic, batch);
          assert.equal(errorCode === 0 ? baseOffset : `error ${errorCode}`, answer, what);
        }
      });
    });
  }
});
