/**
 * Metadata (3), versions 0 to 13. One node, leader of everything, epoch 0. A topic asked for by name is made when both the
 * request and the broker allow it. No authorized operations.
 *
 * @module
 */

import type { Input } from "../../protocol/api.ts";
import { ZERO_UUID } from "../../protocol/api.ts";
import {
  type MetadataRequest,
  type MetadataResponse,
  type MetadataResponseTopic,
  metadataServerApi,
} from "../../protocol/metadata.ts";
import { BrokerError } from "../../core/kafka_error.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import type { Topic } from "../topic.ts";

/** Answers Metadata. */
export const metadataHandler: Handler = handler(metadataServerApi, metadata);

async function metadata(request: MetadataRequest, context: RequestContext): Promise<Input<MetadataResponse>> {
  const { broker, version } = context;
  const topics: Input<MetadataResponseTopic>[] = [];
  // In version 0 an empty list asks for all topics, later null does.
  if (request.topics === null || (version === 0 && request.topics.length === 0)) {
    for (const topic of broker.topics) topics.push(describe(topic, broker.nodeId));
  } else {
    for (const { name, topicId } of request.topics) {
      topics.push(name === null ? byId(topicId, context) : await byName(name, request, context));
    }
  }
  return {
    brokers: [{ nodeId: broker.nodeId, host: broker.host, port: broker.port }],
    clusterId: broker.clusterId,
    controllerId: broker.nodeId,
    topics,
  };
}

function byId(topicId: string, { broker }: RequestContext): Input<MetadataResponseTopic> {
  const topic = broker.topics.byId(topicId);
  if (topic !== undefined) return describe(topic, broker.nodeId);
  return { errorCode: errorCodeOf("UNKNOWN_TOPIC_ID"), topicId, name: null };
}

async function byName(
  name: string,
  request: MetadataRequest,
  { broker, version }: RequestContext,
): Promise<Input<MetadataResponseTopic>> {
  const topic = broker.topics.get(name);
  if (topic !== undefined) return describe(topic, broker.nodeId);
  const unknown = { name, topicId: version >= 10 ? ZERO_UUID : undefined };
  if (!broker.autoCreateTopics || !request.allowAutoTopicCreation) {
    return { ...unknown, errorCode: errorCodeOf("UNKNOWN_TOPIC_OR_PARTITION") };
  }
  try {
    return describe(await broker.topics.create(name, broker.defaultPartitions), broker.nodeId);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    // Another client may have been faster.
    const made = broker.topics.get(name);
    return made === undefined ? { ...unknown, errorCode: error.errorCode } : describe(made, broker.nodeId);
  }
}

function describe(topic: Topic, nodeId: number): Input<MetadataResponseTopic> {
  return {
    name: topic.name,
    topicId: topic.id,
    partitions: topic.partitions.map((_, partitionIndex) => ({
      partitionIndex,
      leaderId: nodeId,
      leaderEpoch: 0,
      replicaNodes: [nodeId],
      isrNodes: [nodeId],
    })),
  };
}
