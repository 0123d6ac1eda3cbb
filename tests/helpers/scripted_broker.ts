/**
 * A broker in memory that does what a test says: it answers ApiVersions, Metadata, InitProducerId and Produce like Kafka,
 * keeps the batches it accepted, checks sequences, and lets `script` change or withhold single answers.
 */

import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import type { Input, ServerApi } from "../../src/protocol/api.ts";
import { apiVersionsServerApi } from "../../src/protocol/api_versions.ts";
import { initProducerIdServerApi } from "../../src/protocol/init_producer_id.ts";
import { metadataServerApi } from "../../src/protocol/metadata.ts";
import {
  type ProduceRequest,
  type ProduceResponse,
  type ProduceResponsePartitionProduceResponse,
  produceServerApi,
} from "../../src/protocol/produce.ts";
import type { Record as Record_ } from "../../src/records/record.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { testGzip } from "./fake_cluster.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import type { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** What becomes of one request: `"answer"` as usual, `"silence"`, `"cut"` before or after it is carried out, or an error code for every partition. */
export type Verdict = "answer" | "silence" | "cut-before" | "cut-after" | {
  readonly error: number;
  readonly append?: boolean;
};

/** What a test may change. */
export interface BrokerScript {
  /** Partitions of topics; a topic that is not here is unknown. */
  topics: Record<string, number>;
  /** Decides on the `nth` (from 1) request of an API; `node` is the one that was asked. */
  verdict?: (api: string, nth: number, node: number) => Verdict;
  /** Error code of every topic in Metadata answers. */
  topicError?: (topic: string) => number;
  /** Ranges of versions to announce, by API key. */
  ranges?: Record<number, [number, number]>;
  /** Epoch that goes with a new producer id, the number after the one given out; default 0. */
  epoch?: (next: number) => number;
  /** Brokers; default 1. Partition p is led by node p mod `nodes` + 1. */
  nodes?: number;
  /** Node that leads a partition, where it is not that one; −1 for none. */
  leader?: (topic: string, partition: number) => number;
  /** Bytes of the largest batch taken; a larger one is MESSAGE_TOO_LARGE. */
  maxBatchBytes?: number;
  /** Changes the `nth` (from 1) answer to Produce as a whole. */
  produceAnswer?: (responses: PartitionAnswers, nth: number) => PartitionAnswers;
  /** Changes the answer for one partition. */
  partitionAnswer?: (topic: string, partition: number) => Input<ProduceResponsePartitionProduceResponse>;
}

/** What is answered for each topic and partition, in that order. */
export type PartitionAnswers = {
  readonly name: string;
  readonly partitionResponses: readonly Input<ProduceResponsePartitionProduceResponse>[];
}[];

interface Stored {
  readonly values: string[];
  readonly timestamps: number[];
  readonly records: Record_[];
  /** Bytes of each batch, and what it says of itself. */
  readonly batches: { size: number; count: number; producerId: number; producerEpoch: number; baseSequence: number }[];
  readonly producers: Map<number, { epoch: number; last: { first: number; count: number; offset: number }[] }>;
}

const APIS = [apiVersionsServerApi, metadataServerApi, initProducerIdServerApi, produceServerApi] as const;
const HOST = "broker";
const PORT = 9092;
const hostOf = (node: number) => node === 1 ? HOST : `${HOST}${node}`;
const text = new TextDecoder();

export class ScriptedBroker {
  readonly script: BrokerScript;
  readonly requests: string[] = [];
  readonly produceRequests: ProduceRequest[] = [];
  readonly stored: Map<string, Stored> = new Map();
  readonly bootstrapServers: string = `${HOST}:${PORT}`;
  #counts = new Map<string, number>();
  #nextProducerId = 1000;

  constructor(script: BrokerScript) {
    this.script = script;
  }

  async listen(network: MemoryNetwork): Promise<void> {
    for (let node = 1; node <= (this.script.nodes ?? 1); node++) {
      await network.listen(hostOf(node), PORT, (transport) => void this.#serve(transport, node));
    }
  }

  records(topic: string, partition = 0): Record_[] {
    return this.stored.get(`${topic}-${partition}`)?.records ?? [];
  }

  batches(topic: string, partition = 0): Stored["batches"] {
    return this.stored.get(`${topic}-${partition}`)?.batches ?? [];
  }

  values(topic: string, partition = 0): string[] {
    return this.stored.get(`${topic}-${partition}`)?.values ?? [];
  }

  async #serve(transport: Transport, node: number): Promise<void> {
    const frames = new FrameReader(transport, { peer: "client" });
    let silent = false;
    try {
      for (;;) {
        const frame = await frames.next();
        if (frame === null) return;
        const reader = new Reader(frame, "request");
        const [key, version, correlationId] = [reader.int16(), reader.int16(), reader.int32()];
        reader.textOrNull(false);
        const api = APIS.find((candidate) => candidate.key === key);
        if (api === undefined) return transport.close();
        const known = key !== 18 || version <= 4;
        if (version >= api.flexibleFrom && known) reader.skipTags();
        this.requests.push(api.name);
        const nth = (this.#counts.get(api.name) ?? 0) + 1;
        this.#counts.set(api.name, nth);
        const verdict = this.script.verdict?.(api.name, nth, node) ?? "answer";
        if (verdict === "cut-before") return transport.close();
        const body = this.#answer(api.name, reader, version, verdict);
        if (verdict === "cut-after") return transport.close();
        // Answers come in the order of requests, so behind one that never comes there is none.
        silent ||= verdict === "silence";
        if (silent || body === undefined) continue;
        const writer = new Writer();
        writer.int32(0);
        writer.int32(correlationId);
        if (version >= api.flexibleFrom && key !== 18) writer.unsignedVarint(0);
        (api as ServerApi<unknown, unknown>).encodeResponse(writer, body, version);
        const size = writer.size - 4;
        const parts = writer.finish();
        writer.setFirstInt32(size);
        await transport.write(parts);
      }
    } catch {
      transport.close();
    }
  }

  #answer(api: string, reader: Reader, version: number, verdict: Verdict): Input<unknown> | undefined {
    const error = typeof verdict === "object" ? verdict.error : 0;
    switch (api) {
      case "ApiVersions": {
        const apiKeys = APIS.map(({ key, minVersion, maxVersion }) => {
          const [min, max] = this.script.ranges?.[key] ?? [minVersion, maxVersion];
          return { apiKey: key, minVersion: min, maxVersion: max };
        });
        return { errorCode: error, apiKeys };
      }
      case "Metadata": {
        const asked = metadataServerApi.decodeRequest(reader, version).topics ?? [];
        return {
          brokers: Array.from({ length: this.script.nodes ?? 1 }, (_, i) => ({
            nodeId: i + 1,
            host: hostOf(i + 1),
            port: PORT,
          })),
          clusterId: "scripted",
          controllerId: 1,
          topics: asked.map(({ name }) => {
            const partitions = this.script.topics[name!];
            const errorCode = this.script.topicError?.(name!) ?? (partitions === undefined ? 3 : 0);
            return {
              name,
              errorCode,
              partitions: errorCode !== 0 ? [] : Array.from({ length: partitions! }, (_, partitionIndex) => ({
                partitionIndex,
                leaderId: this.script.leader?.(name!, partitionIndex) ??
                  partitionIndex % (this.script.nodes ?? 1) + 1,
                leaderEpoch: 0,
                replicaNodes: [1],
                isrNodes: [1],
              })),
            };
          }),
        };
      }
      case "InitProducerId":
        return {
          errorCode: error,
          producerId: error === 0 ? this.#nextProducerId++ : -1,
          producerEpoch: error === 0 ? this.script.epoch?.(this.#nextProducerId) ?? 0 : -1,
        };
      default:
        return this.#produce(produceServerApi.decodeRequest(reader, version), verdict);
    }
  }

  #produce(request: ProduceRequest, verdict: Verdict): Input<ProduceResponse> | undefined {
    this.produceRequests.push(request);
    const fault = typeof verdict === "object" ? verdict : undefined;
    const responses = request.topicData.map(({ name, partitionData }) => ({
      name,
      partitionResponses: partitionData.map(({ index, records }) => {
        if (fault !== undefined && fault.append !== true) {
          return { index, errorCode: fault.error, baseOffset: -1, ...this.script.partitionAnswer?.(name, index) };
        }
        if (records!.length > (this.script.maxBatchBytes ?? Infinity)) return { index, errorCode: 10, baseOffset: -1 };
        const outcome = this.#append(name, index, new RecordBatch(records!));
        return {
          index,
          ...outcome,
          errorCode: fault?.error ?? outcome.errorCode,
          logAppendTimeMs: -1,
          logStartOffset: 0,
          ...this.script.partitionAnswer?.(name, index),
        };
      }),
    }));
    if (request.acks === 0) return undefined;
    return { responses: this.script.produceAnswer?.(responses, this.produceRequests.length) ?? responses };
  }

  /** Kafka's rule: the next in sequence is taken, one of the last five again answers its old offset, all else is out of order. */
  #append(topic: string, partition: number, batch: RecordBatch): { errorCode: number; baseOffset: number } {
    const key = `${topic}-${partition}`;
    const stored: Stored = this.stored.get(key) ??
      { values: [], timestamps: [], records: [], batches: [], producers: new Map() };
    this.stored.set(key, stored);
    const baseOffset = stored.values.length;
    const { producerId, producerEpoch, baseSequence, recordCount } = batch;
    if (producerId >= 0) {
      let producer = stored.producers.get(producerId);
      if (producer !== undefined && producerEpoch < producer.epoch) return { errorCode: 47, baseOffset: -1 };
      if (producer === undefined || producerEpoch > producer.epoch) {
        if (producer !== undefined && baseSequence !== 0) return { errorCode: 45, baseOffset: -1 };
        stored.producers.set(producerId, producer = { epoch: producerEpoch, last: [] });
      }
      const again = producer.last.find((b) => b.first === baseSequence && b.count === recordCount);
      if (again !== undefined) return { errorCode: 0, baseOffset: again.offset };
      const previous = producer.last.at(-1);
      const expected = previous === undefined ? baseSequence : (previous.first + previous.count) % 2 ** 31;
      if (baseSequence !== expected) return { errorCode: 45, baseOffset: -1 };
      producer.last.push({ first: baseSequence, count: recordCount, offset: baseOffset });
      if (producer.last.length > 5) producer.last.shift();
    }
    stored.batches.push({ size: batch.size, count: recordCount, producerId, producerEpoch, baseSequence });
    for (const record of batch.records({ codecs: { gzip: testGzip } })) {
      stored.records.push(record);
      stored.values.push(record.value === null ? "null" : text.decode(record.value));
      stored.timestamps.push(record.timestamp);
    }
    return { errorCode: 0, baseOffset };
  }
}
