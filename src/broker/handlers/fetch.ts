/**
 * Fetch: versions 4 to 18, long poll included. Slices of the segment files go out as they are; nothing is decoded. There are
 * no fetch sessions: every answer says session 0, so that clients ask in full.
 *
 * @module
 */

import { BrokerError, KafkaError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import {
  type FetchRequest,
  type FetchRequestFetchPartition,
  type FetchResponse,
  type FetchResponsePartitionData,
  fetchServerApi,
} from "../../protocol/fetch.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import type { Partition } from "../partition.ts";
import { refusal } from "../refusal.ts";
import type { Topic } from "../topic.ts";

const LEADER_HINTS_FROM = 12;
const TOPIC_IDS_FROM = 13;

/** Answers Fetch. */
export const fetchHandler: Handler = handler(fetchServerApi, fetch, {
  places: ({ topics }, broker) =>
    topics.flatMap(({ topic: name, topicId, partitions }) => {
      const topic = name || (broker.topics.byId(topicId)?.name ?? topicId);
      return partitions.map(({ partition }) => ({ topic, partition }));
    }),
});

interface Answer {
  readonly body: Input<FetchResponse>;
  readonly bytes: number;
  readonly hasError: boolean;
}

async function fetch(request: FetchRequest, context: RequestContext): Promise<Input<FetchResponse>> {
  if (request.sessionId !== 0) return { errorCode: errorCodeOf("FETCH_SESSION_ID_NOT_FOUND"), sessionId: 0 };
  const { clock } = context.broker;
  const deadline = clock.now() + request.maxWaitMs;
  for (;;) {
    const partitions = partitionsOf(request, context);
    // Waiting begins before reading, or a batch that comes in between would be missed.
    const waiting = waitForAppend(partitions, deadline - clock.now(), context);
    const answer = await read(request, context);
    const enough = answer.bytes >= request.minBytes || answer.hasError || clock.now() >= deadline ||
      context.signal.aborted;
    if (enough) {
      waiting.cancel();
      return answer.body;
    }
    await waiting.over;
  }
}

function partitionsOf(request: FetchRequest, { broker, version }: RequestContext): Partition[] {
  return request.topics.flatMap(({ topic: name, topicId, partitions }) => {
    const topic = version >= TOPIC_IDS_FROM ? broker.topics.byId(topicId) : broker.topics.get(name);
    return partitions.flatMap(({ partition }) => topic?.partitions[partition] ?? []);
  });
}

/** Ends at the next append to one of `partitions`, after `ms`, or when the broker closes. */
function waitForAppend(
  partitions: readonly Partition[],
  ms: number,
  { broker, signal }: RequestContext,
): { readonly over: Promise<void>; cancel(): void } {
  let end!: () => void;
  const over = new Promise<void>((resolve) => end = resolve);
  const finish = () => {
    timer.cancel();
    signal.removeEventListener("abort", finish);
    for (const cancel of cancels) cancel();
    end();
  };
  const timer = broker.clock.setTimer(Math.max(0, ms), finish);
  signal.addEventListener("abort", finish, { once: true });
  const cancels = partitions.map((partition) => partition.onAppend(finish));
  return { over, cancel: finish };
}

async function read(request: FetchRequest, context: RequestContext): Promise<Answer> {
  const { broker, version } = context;
  const byId = version >= TOPIC_IDS_FROM;
  const responses: NonNullable<Input<FetchResponse>["responses"]>[number][] = [];
  let bytes = 0;
  let hasError = false;
  for (const { topic: name, topicId, partitions: wanted } of request.topics) {
    const topic = byId ? broker.topics.byId(topicId) : broker.topics.get(name);
    const partitions: Input<FetchResponsePartitionData>[] = [];
    for (const asked of wanted) {
      const answer = await readPartition(topic, asked, request.maxBytes - bytes, bytes === 0, context);
      partitions.push(answer);
      if (answer.errorCode !== 0) hasError = true;
      bytes += (answer.records as Uint8Array).length;
    }
    responses.push(byId ? { topicId, partitions } : { topic: name, partitions });
  }
  return { body: { sessionId: 0, responses }, bytes, hasError };
}

/** At least one batch goes out with the first partition that has one; after it, limits are limits. */
async function readPartition(
  topic: Topic | undefined,
  { currentLeaderEpoch, fetchOffset, partition: partitionIndex, partitionMaxBytes }: FetchRequestFetchPartition,
  left: number,
  isFirst: boolean,
  { nodeId, obeyScript, version }: RequestContext,
): Promise<Input<FetchResponsePartitionData>> {
  const records = new Uint8Array(0);
  let partition: Partition | undefined;
  try {
    if (topic === undefined && version >= TOPIC_IDS_FROM) throw refusal("UNKNOWN_TOPIC_ID", "no topic has this id");
    partition = topic?.partitions[partitionIndex];
    if (topic === undefined || partition === undefined) {
      throw refusal("UNKNOWN_TOPIC_OR_PARTITION", "there is no such partition");
    }
    const place = { topic: topic.name, partition: partitionIndex };
    obeyScript("before", place);
    partition.checkLeader(nodeId, currentLeaderEpoch);
    const { highWatermark, logStartOffset } = partition.log;
    const answer = { partitionIndex, errorCode: 0, highWatermark, lastStableOffset: highWatermark, logStartOffset };
    const maxBytes = Math.min(partitionMaxBytes, left);
    if (maxBytes <= 0 && !isFirst) return { ...answer, records };
    const read = await partition.log.read(fetchOffset, { maxBytes: Math.max(0, maxBytes), minOneBatch: isFirst });
    obeyScript("after", place);
    return { ...answer, records: read.records === undefined ? records : await read.records.bytes() };
  } catch (error) {
    const answer = { partitionIndex, highWatermark: -1, lastStableOffset: -1, logStartOffset: -1, records };
    if (!(error instanceof KafkaError)) throw error;
    const errorCode = error instanceof BrokerError ? error.errorCode : errorCodeOf(storageErrorOf(error));
    if (error.code !== "NOT_LEADER_OR_FOLLOWER" || version < LEADER_HINTS_FROM || partition === undefined) {
      return { ...answer, errorCode };
    }
    return { ...answer, errorCode, currentLeader: { leaderId: partition.leader, leaderEpoch: partition.leaderEpoch } };
  }
}

function storageErrorOf({ code }: KafkaError): string {
  return code === "OFFSET_OUT_OF_RANGE" ? code : "KAFKA_STORAGE_ERROR";
}
