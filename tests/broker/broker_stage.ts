import assert from "node:assert/strict";
import { EmbeddedBroker, type EmbeddedBrokerOptions } from "../../src/broker/embedded_broker.ts";
import { fetchApi, type FetchResponsePartitionData } from "../../src/protocol/fetch.ts";
import { produceApi, type ProduceResponsePartitionProduceResponse } from "../../src/protocol/produce.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { RawClient } from "./raw_client.ts";

/** A broker in memory and a client of it. */
export interface Stage {
  readonly broker: EmbeddedBroker;
  readonly network: MemoryNetwork;
  readonly client: RawClient;
  connect(): Promise<RawClient>;
}

/** Runs `act` with a broker in memory and a client, and closes both. */
export async function withBroker(
  options: Partial<EmbeddedBrokerOptions>,
  act: (stage: Stage) => Promise<void>,
): Promise<void> {
  const network = new MemoryNetwork();
  const broker = await EmbeddedBroker.start({ listen: network.listen, ...options });
  const clients: RawClient[] = [];
  const connect = async () => {
    const client = new RawClient(await network.connect("127.0.0.1", broker.port));
    clients.push(client);
    return client;
  };
  try {
    await act({ broker, network, client: await connect(), connect });
  } finally {
    for (const { transport } of clients) transport.close();
    await broker.close();
  }
}

/** Sends one batch, and answers what its partition says. */
export async function produce(
  client: RawClient,
  topic: string,
  records: Uint8Array,
  { acks = -1, partition = 0, version = 9 }: { acks?: number; partition?: number; version?: number } = {},
): Promise<ProduceResponsePartitionProduceResponse> {
  const topicData = [{ name: topic, partitionData: [{ index: partition, records }] }];
  const answer = await client.call(produceApi, { acks, timeoutMs: 1000, topicData }, version);
  return answer.responses[0]!.partitionResponses[0]!;
}

interface FetchSettings {
  readonly maxBytes?: number;
  readonly maxWaitMs?: number;
  readonly minBytes?: number;
  readonly version?: number;
}

/** Fetches partition 0. */
export async function fetch(
  client: RawClient,
  topic: string,
  fetchOffset: number,
  { maxBytes = 1 << 20, maxWaitMs = 0, minBytes = 1, version = 11 }: FetchSettings = {},
): Promise<FetchResponsePartitionData> {
  const partitions = [{ partition: 0, fetchOffset, partitionMaxBytes: maxBytes }];
  const answer = await client.call(
    fetchApi,
    { maxWaitMs, minBytes, maxBytes, topics: [{ topic, partitions }] },
    version,
  );
  assert.equal(answer.sessionId, 0);
  return answer.responses[0]!.partitions[0]!;
}

/** The values of all records in fetched bytes. */
export function valuesIn(records: Uint8Array | null): string[] {
  return [...new RecordBatches(records ?? new Uint8Array(0))].flatMap((batch) =>
    batch.records().map(({ value }) => new TextDecoder().decode(value!))
  );
}
