/**
 * Produce: versions 3 to 13. One batch a partition, checked and appended; transactions are refused. With acks 0 nothing is
 * answered, and a refused batch closes the connection, as with Kafka.
 *
 * @module
 */

import { BrokerError, KafkaError, ProtocolError, StorageError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import {
  type ProduceRequest,
  type ProduceRequestTopicProduceData,
  type ProduceResponse,
  type ProduceResponsePartitionProduceResponse,
  produceServerApi,
} from "../../protocol/produce.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import { refusal } from "../refusal.ts";
import type { Partition } from "../partition.ts";
import { validateBatch } from "../validate_batch.ts";

const LEADER_HINTS_FROM = 10;
const TOPIC_IDS_FROM = 13;

/** Answers Produce. Version 0 is told for librdkafka, which asks for it before it compresses (KAFKA-18659). */
export const produceHandler: Handler = handler(produceServerApi, produce, {
  advertisedMinVersion: 0,
  places: ({ topicData }, broker) =>
    topicData.flatMap(({ name, topicId, partitionData }) => {
      const topic = name || (broker.topics.byId(topicId)?.name ?? topicId);
      return partitionData.map(({ index: partition }) => ({ topic, partition }));
    }),
});

type PartitionAnswer = Input<ProduceResponsePartitionProduceResponse>;

async function produce(request: ProduceRequest, context: RequestContext): Promise<Input<ProduceResponse> | undefined> {
  const responses = await Promise.all(request.topicData.map(async (data) => ({
    name: data.name,
    ...(context.version >= TOPIC_IDS_FROM ? { topicId: data.topicId } : {}),
    partitionResponses: await Promise.all(
      data.partitionData.map(({ index, records }) => appendOne(request, data, index, records, context)),
    ),
  })));
  if (request.acks !== 0) return { responses, ...nodeEndpoints(responses, context) };
  const refused = responses.flatMap((topic) => topic.partitionResponses).find((answer) => answer.errorCode !== 0);
  if (refused === undefined) return undefined;
  throw new ProtocolError(`a batch sent with acks 0 was refused: ${refused.errorMessage}`);
}

async function appendOne(
  { acks, transactionalId }: ProduceRequest,
  data: ProduceRequestTopicProduceData,
  index: number,
  records: Uint8Array | null,
  { broker, nodeId, obeyScript, version }: RequestContext,
): Promise<PartitionAnswer> {
  let partition: Partition | undefined;
  try {
    if (acks !== -1 && acks !== 0 && acks !== 1) throw refusal("INVALID_REQUIRED_ACKS", `acks ${acks}`);
    const byId = version >= TOPIC_IDS_FROM;
    const topic = byId ? broker.topics.byId(data.topicId) : broker.topics.get(data.name);
    partition = topic?.partitions[index];
    if (topic === undefined || partition === undefined) {
      const isUnknownId = byId && topic === undefined;
      throw refusal(
        isUnknownId ? "UNKNOWN_TOPIC_ID" : "UNKNOWN_TOPIC_OR_PARTITION",
        `${data.name || data.topicId}-${index}`,
      );
    }
    const batch = validateBatch(records, {
      topic: topic.name,
      partition: index,
      maxMessageBytes: topic.config.maxMessageBytes,
      codecs: broker.codecs,
      crc32c: broker.crc32c,
      version,
      transactionalId,
    });
    const place = { topic: topic.name, partition: index };
    obeyScript("before", place);
    const { baseOffset, logAppendTime } = await partition.append(batch, nodeId);
    obeyScript("after", place);
    return {
      index,
      errorCode: 0,
      baseOffset,
      logAppendTimeMs: logAppendTime,
      logStartOffset: partition.log.logStartOffset,
    };
  } catch (error) {
    if (error instanceof BrokerError) {
      const isElsewhere = error.code === "NOT_LEADER_OR_FOLLOWER" && partition !== undefined;
      const { leader: leaderId, leaderEpoch } = partition ?? { leader: -1, leaderEpoch: -1 };
      // Who asks the wrong node is told the right one (KIP-951).
      const hint = isElsewhere && version >= LEADER_HINTS_FROM ? { currentLeader: { leaderId, leaderEpoch } } : {};
      return { ...failed(index, error.errorCode, error.message), ...hint };
    }
    if (error instanceof KafkaError && error.code === "RECORD_LIST_TOO_LARGE") {
      return failed(index, errorCodeOf(error.code), error.message);
    }
    if (error instanceof StorageError) {
      broker.logger.error(`append to ${data.name}-${index} failed: ${error.message}`, { error });
      return failed(index, errorCodeOf("KAFKA_STORAGE_ERROR"), error.message);
    }
    throw error;
  }
}

/** Where the leaders are that answers name. */
function nodeEndpoints(
  responses: readonly { readonly partitionResponses: readonly PartitionAnswer[] }[],
  { broker }: RequestContext,
): Pick<Input<ProduceResponse>, "nodeEndpoints"> {
  const named = new Set(
    responses.flatMap(({ partitionResponses }) => partitionResponses.map((answer) => answer.currentLeader?.leaderId)),
  );
  const nodes = broker.nodes.filter(({ id }) => named.has(id));
  return nodes.length === 0
    ? {}
    : { nodeEndpoints: nodes.map(({ id: nodeId, host, port }) => ({ nodeId, host, port })) };
}

function failed(index: number, errorCode: number, errorMessage: string): PartitionAnswer {
  return { index, errorCode, errorMessage, baseOffset: -1, logAppendTimeMs: -1, logStartOffset: -1 };
}
