/**
 * Brokers in memory that answer what a consumer and an admin client ask, out of logs that a test fills byte by byte, and
 * that misbehave where a test says so. They speak with this library's generated messages, the broker's half.
 *
 * @module
 */

import { gunzipSync, gzipSync } from "fflate";
import { concatenate } from "../../src/bytes/concatenate.ts";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { type ClientContext, clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import type { Codec } from "../../src/compression/codec.ts";
import type { Clock } from "../../src/core/clock.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import type { Input, ServerApi } from "../../src/protocol/api.ts";
import { apiVersionsServerApi } from "../../src/protocol/api_versions.ts";
import { createTopicsServerApi } from "../../src/protocol/create_topics.ts";
import { deleteTopicsServerApi } from "../../src/protocol/delete_topics.ts";
import { describeConfigsServerApi } from "../../src/protocol/describe_configs.ts";
import { type FetchRequest, type FetchResponse, fetchServerApi } from "../../src/protocol/fetch.ts";
import {
  type ListOffsetsRequest,
  type ListOffsetsResponse,
  listOffsetsServerApi,
} from "../../src/protocol/list_offsets.ts";
import { type MetadataRequest, type MetadataResponse, metadataServerApi } from "../../src/protocol/metadata.ts";
import { decodeRequestHeader } from "../../src/protocol/request_header.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { type HeaderInput, RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** A request that came in. */
export interface FakeCall {
  readonly node: number;
  readonly api: string;
  readonly version: number;
  readonly request: unknown;
}

/** The log of one partition and who leads it. */
export interface FakePartition {
  leader: number;
  epoch: number;
  logStart: number;
  /** Where read_committed stops; undefined for the end. */
  lastStableOffset?: number;
  batches: Uint8Array[];
  aborted: { producerId: number; firstOffset: number }[];
}

export interface FakeTopic {
  readonly name: string;
  id: string;
  readonly partitions: FakePartition[];
  readonly configs: Map<string, string>;
}

const PORT = 9092;

/** Gzip for both sides. */
export const testGzip: Codec = {
  compress: (bytes) => gzipSync(bytes),
  decompress: (bytes) => gunzipSync(bytes),
};

/** What makes a batch special. */
export interface BatchSpec {
  readonly baseOffset: number;
  readonly timestamp?: number;
  readonly key?: string | Uint8Array;
  readonly headers?: readonly HeaderInput[];
  readonly gzip?: boolean;
  readonly producerId?: number;
  readonly isTransactional?: boolean;
  /** Sets attribute bits and then the checksum anew: 0x08 LogAppendTime, 0x20 control. */
  readonly attributes?: number;
}

/** One batch with a record for each of `values`. */
export function batchOf(values: readonly (string | Uint8Array)[], spec: BatchSpec): Uint8Array {
  const builder = new RecordBatchBuilder(new Uint8Array(1024), { limit: 1 << 24 });
  values.forEach((value, i) =>
    builder.append((spec.timestamp ?? 1000) + i, spec.key ?? null, value, spec.headers ?? [])
  );
  const { baseOffset, producerId, isTransactional } = spec;
  const sealed = builder.seal({
    crc32c,
    baseOffset,
    producerId,
    isTransactional,
    producerEpoch: producerId === undefined ? undefined : 0,
    partitionLeaderEpoch: 0,
    compression: spec.gzip === true ? { type: "gzip", codec: testGzip } : undefined,
  }).slice();
  const view = new DataView(sealed.buffer);
  view.setInt16(21, view.getInt16(21) | (spec.attributes ?? 0));
  view.setUint32(17, crc32c(sealed.subarray(21)));
  return sealed;
}

/** The control batch that ends a transaction, in Kafka's bytes: key = int16 version 0, int16 type 0 (abort) or 1 (commit). */
export function markerOf(type: "abort" | "commit", baseOffset: number, producerId: number): Uint8Array {
  const key = new Uint8Array([0, 0, 0, type === "abort" ? 0 : 1]);
  return batchOf([new Uint8Array([0, 0, 0, 0, 0, 0])], {
    baseOffset,
    key,
    producerId,
    isTransactional: true,
    attributes: 0x20,
  });
}

/** Some brokers. */
export class FakeCluster {
  readonly network: MemoryNetwork = new MemoryNetwork();
  readonly topics: Map<string, FakeTopic> = new Map();
  readonly calls: FakeCall[] = [];
  readonly clock: Clock;
  /** Nodes in metadata. */
  readonly nodes: number[];
  /** Highest versions by API name, where lower than ours. */
  readonly maxVersions: Map<string, number> = new Map();
  /** Hangs up or falls silent instead of answering. */
  before: ((call: FakeCall) => "hang-up" | "silent" | undefined) | undefined;
  /** Changes an answer before it is encoded. */
  after: ((call: FakeCall, answer: unknown) => unknown) | undefined;
  /** Changes an encoded answer (the frame without its length). */
  frame: ((call: FakeCall, frame: Uint8Array) => Uint8Array) | undefined;
  /** Whether metadata requests create topics. */
  autoCreate = false;
  /** Whether fetches wait for data as they are told to. */
  longPoll = true;
  controller: number;
  #changed: (() => void)[] = [];
  #nextId = 1;
  readonly #routes: Map<number, Route>;

  constructor(clock: Clock, nodes: number[] = [1]) {
    this.clock = clock;
    this.nodes = nodes;
    this.controller = nodes[0]!;
    this.#routes = this.#makeRoutes();
    for (const node of nodes) {
      void this.network.listen(hostOf(node), PORT, (transport) => void this.#serve(node, transport));
    }
  }

  /** A client's context for this cluster. */
  context(options: Partial<ClientOptions> = {}): ClientContext {
    const { connect } = this.network;
    return clientContext({
      bootstrapServers: `${hostOf(this.nodes[0]!)}:${PORT}`,
      clock: this.clock,
      random: () => 0.5,
      codecs: { gzip: testGzip },
      ...options,
    }, { connect, codecs: () => Promise.resolve({}) });
  }

  /** Adds a topic whose partitions are led by the nodes in turn. */
  addTopic(name: string, partitions = 1): FakeTopic {
    const id = btoa(String.fromCharCode(...new Array(15).fill(0), this.#nextId++)).slice(0, 22).replaceAll("+", "-")
      .replaceAll("/", "_");
    const topic: FakeTopic = { name, id, partitions: [], configs: new Map() };
    for (let p = 0; p < partitions; p++) this.addPartition(topic);
    this.topics.set(name, topic);
    return topic;
  }

  addPartition(topic: FakeTopic): FakePartition {
    const leader = this.nodes[topic.partitions.length % this.nodes.length]!;
    const partition = { leader, epoch: 0, logStart: 0, batches: [], aborted: [] };
    topic.partitions.push(partition);
    return partition;
  }

  /** Appends a batch and wakes long polls. */
  append(partition: FakePartition, batch: Uint8Array): void {
    partition.batches.push(batch);
    const changed = this.#changed;
    this.#changed = [];
    for (const wake of changed) wake();
  }

  /** Appends `values` as one batch at the end. */
  produce(partition: FakePartition, values: readonly string[], spec: Partial<BatchSpec> = {}): void {
    this.append(partition, batchOf(values, { baseOffset: endOf(partition), ...spec }));
  }

  /** Requests of one API so far. */
  countOf(api: string): number {
    return this.calls.filter((call) => call.api === api).length;
  }

  async #serve(node: number, transport: Transport): Promise<void> {
    const frames = new FrameReader(transport, { peer: `client of ${node}` });
    try {
      for (let frame = await frames.next(), next; frame !== null; frame = await next) {
        next = frames.next();
        // A long poll ends when its client is gone.
        const gone = next.then((after) => after === null, () => true);
        next.catch(() => {});
        const head = new Reader(frame, "request");
        const route = this.#routes.get(head.int16())!;
        const version = head.int16();
        const reader = new Reader(frame, "request");
        const { correlationId } = decodeRequestHeader(reader, version >= route.flexibleFrom ? 2 : 1);
        const { call, answer } = route.handle(reader, version, node);
        this.calls.push(call);
        const verdict = this.before?.(call);
        if (verdict === "silent") continue;
        if (verdict === "hang-up") break;
        const body = await answer(gone);
        const writer = new Writer();
        writer.int32(correlationId);
        if (version >= route.flexibleFrom && call.api !== "ApiVersions") writer.unsignedVarint(0);
        route.encode(writer, this.after?.(call, body) ?? body, version);
        const bytes = concatenate(writer.finish());
        const sent = this.frame?.(call, bytes) ?? bytes;
        const length = new Uint8Array(4);
        new DataView(length.buffer).setInt32(0, sent.length);
        await transport.write([length, sent]);
      }
    } catch {
      // The client went away; tests look at its side.
    }
    transport.close();
  }

  #makeRoutes(): Map<number, Route> {
    const routes = new Map<number, Route>();
    const add = <Req, Res>(
      api: ServerApi<Req, Res>,
      handle: (request: Req, node: number, version: number, gone: Promise<boolean>) => Input<Res> | Promise<Input<Res>>,
    ) => {
      routes.set(api.key, {
        name: api.name,
        flexibleFrom: api.flexibleFrom,
        minVersion: api.minVersion,
        maxVersion: api.maxVersion,
        encode: (writer, answer, version) => api.encodeResponse(writer, answer as Input<Res>, version),
        handle: (reader, version, node) => {
          const request = api.decodeRequest(reader, version);
          return {
            call: { node, api: api.name, version, request },
            answer: (gone) => handle(request, node, version, gone),
          };
        },
      });
    };
    add(apiVersionsServerApi, () => ({
      apiKeys: [...routes].map(([apiKey, { name, minVersion, maxVersion }]) => ({
        apiKey,
        minVersion,
        maxVersion: Math.min(maxVersion, this.maxVersions.get(name) ?? maxVersion),
      })),
    }));
    add(metadataServerApi, (request) => this.#metadata(request));
    add(listOffsetsServerApi, (request, node) => this.#listOffsets(request, node));
    add(fetchServerApi, (request, node, version, gone) => this.#fetch(request, node, version, gone));
    add(createTopicsServerApi, (request, node) => ({
      topics: request.topics.map(({ name, numPartitions, assignments, configs }) => {
        if (node !== this.controller) return { name, errorCode: 41 };
        if (this.topics.has(name)) return { name, errorCode: 36, errorMessage: `Topic '${name}' already exists.` };
        if (request.validateOnly) return { name };
        const topic = this.addTopic(name, assignments.length > 0 ? assignments.length : Math.max(1, numPartitions));
        assignments.forEach(({ brokerIds }, i) => topic.partitions[i]!.leader = brokerIds[0]!);
        for (const config of configs) topic.configs.set(config.name, config.value ?? "");
        return { name, topicId: topic.id };
      }),
    }));
    add(deleteTopicsServerApi, (request) => ({
      responses: request.topics.map(({ name }) => ({ name, errorCode: this.topics.delete(name ?? "") ? 0 : 3 })),
    }));
    add(describeConfigsServerApi, (request) => ({
      results: request.resources.map(({ resourceType, resourceName }) => ({
        resourceType,
        resourceName,
        configs: [
          ...[...this.topics.get(resourceName)!.configs].map(([name, value]) => ({ name, value, configSource: 1 })),
          { name: "cleanup.policy", value: "delete", configSource: 5 },
        ],
      })),
    }));
    return routes;
  }

  #metadata(request: MetadataRequest): Input<MetadataResponse> {
    const wanted = request.topics?.map(({ name }) => name!) ?? [...this.topics.keys()];
    return {
      clusterId: "fake",
      controllerId: this.controller,
      brokers: this.nodes.map((nodeId) => ({ nodeId, host: hostOf(nodeId), port: PORT })),
      topics: wanted.map((name) => {
        if (!this.topics.has(name) && this.autoCreate && request.allowAutoTopicCreation) this.addTopic(name);
        const topic = this.topics.get(name);
        if (topic === undefined) return { name, errorCode: 3 };
        return {
          name,
          topicId: topic.id,
          partitions: topic.partitions.map(({ leader, epoch }, partitionIndex) => ({
            partitionIndex,
            leaderId: leader,
            leaderEpoch: epoch,
            replicaNodes: [leader],
            isrNodes: [leader],
            errorCode: leader < 0 ? 5 : 0,
          })),
        };
      }),
    };
  }

  #listOffsets(request: ListOffsetsRequest, node: number): Input<ListOffsetsResponse> {
    return {
      topics: request.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, timestamp }) => {
          const partition = this.topics.get(name)?.partitions[partitionIndex];
          if (partition === undefined) return { partitionIndex, errorCode: 3 };
          if (partition.leader !== node) return { partitionIndex, errorCode: 6 };
          return { partitionIndex, ...offsetAt(partition, timestamp, request.isolationLevel === 1) };
        }),
      })),
    };
  }

  async #fetch(
    request: FetchRequest,
    node: number,
    version: number,
    gone: Promise<boolean>,
  ): Promise<Input<FetchResponse>> {
    const deadline = this.clock.now() + request.maxWaitMs;
    let isGone = false;
    void gone.then((is) => isGone = is);
    for (;;) {
      const { answer, ready } = this.#read(request, node, version);
      const left = deadline - this.clock.now();
      if (ready || left <= 0 || !this.longPoll || isGone) return answer;
      await new Promise<void>((resolve) => {
        const timer = this.clock.setTimer(left, resolve);
        const wake = () => {
          timer.cancel();
          resolve();
        };
        this.#changed.push(wake);
        void gone.then((isGone) => isGone && wake());
      });
    }
  }

  #read(request: FetchRequest, node: number, version: number): { answer: Input<FetchResponse>; ready: boolean } {
    let size = 0;
    let failed = false;
    const endpoints = new Set<number>();
    const responses = request.topics.map(({ topic: name, topicId, partitions }) => {
      const topic = version >= 13 ? [...this.topics.values()].find(({ id }) => id === topicId) : this.topics.get(name);
      return {
        topic: name,
        topicId,
        partitions: partitions.map(({ partition: partitionIndex, fetchOffset, partitionMaxBytes }) => {
          const partition = topic?.partitions[partitionIndex];
          if (partition === undefined) {
            failed = true;
            return { partitionIndex, errorCode: version >= 13 ? 100 : 3 };
          }
          if (partition.leader !== node) {
            failed = true;
            if (version < 16) return { partitionIndex, errorCode: 6 };
            endpoints.add(partition.leader);
            const currentLeader = { leaderId: partition.leader, leaderEpoch: partition.epoch };
            return { partitionIndex, errorCode: 6, currentLeader };
          }
          const highWatermark = endOf(partition);
          const committed = request.isolationLevel === 1;
          const end = committed ? partition.lastStableOffset ?? highWatermark : highWatermark;
          if (fetchOffset < partition.logStart || fetchOffset > highWatermark) {
            failed = true;
            return { partitionIndex, errorCode: 1, highWatermark: -1, lastStableOffset: -1 };
          }
          const max = Math.min(partitionMaxBytes, request.maxBytes - size);
          const records = slice(partition, fetchOffset, end, max, size === 0);
          size += records.length;
          return {
            partitionIndex,
            highWatermark,
            lastStableOffset: end,
            logStartOffset: partition.logStart,
            abortedTransactions: committed ? partition.aborted : null,
            records,
          };
        }),
      };
    });
    const nodeEndpoints = [...endpoints].map((nodeId) => ({ nodeId, host: hostOf(nodeId), port: PORT }));
    return { answer: { responses, nodeEndpoints }, ready: failed || size >= request.minBytes };
  }
}

interface Route {
  readonly name: string;
  readonly flexibleFrom: number;
  readonly minVersion: number;
  readonly maxVersion: number;
  readonly encode: (writer: Writer, answer: unknown, version: number) => void;
  readonly handle: (
    reader: Reader,
    version: number,
    node: number,
  ) => { call: FakeCall; answer: (gone: Promise<boolean>) => unknown };
}

/** Where a node listens. */
export function hostOf(node: number): string {
  return `127.0.0.${node}`;
}

/** Offset after the last batch. */
export function endOf(partition: FakePartition): number {
  const last = partition.batches.at(-1);
  return last === undefined ? partition.logStart : new RecordBatch(last).lastOffset + 1;
}

function offsetAt(
  partition: FakePartition,
  timestamp: number,
  committed: boolean,
): { offset: number; timestamp: number } {
  if (timestamp === -2) return { offset: partition.logStart, timestamp: -1 };
  const end = endOf(partition);
  if (timestamp === -1) return { offset: committed ? partition.lastStableOffset ?? end : end, timestamp: -1 };
  const records = partition.batches.flatMap((bytes) => new RecordBatch(bytes).records({ codecs: { gzip: testGzip } }));
  const found = timestamp === -3
    ? records.sort((a, b) => b.timestamp - a.timestamp)[0]
    : records.find((record) => record.timestamp >= timestamp);
  return found === undefined ? { offset: -1, timestamp: -1 } : { offset: found.offset, timestamp: found.timestamp };
}

/** Whole batches from the one that holds `offset`, cut at `max` bytes, though not within the very first one. */
function slice(partition: FakePartition, offset: number, end: number, max: number, first: boolean): Uint8Array {
  const batches = partition.batches.filter((bytes) => {
    const batch = new RecordBatch(bytes);
    return batch.lastOffset >= offset && batch.baseOffset < end;
  });
  if (batches.length === 0) return new Uint8Array(0);
  const all = concatenate(batches);
  const least = batches[0]!.length;
  if (max < least) return first ? batches[0]! : new Uint8Array(0);
  return all.subarray(0, max);
}
