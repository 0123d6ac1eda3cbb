/**
 * Metadata (3), versions 0 to 13. Every node has a replica of everything; those that run are in sync. A topic asked for by
 * name is made when both the request and the broker allow it. No authorized operations.
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
import { NO_LEADER } from "../partition.ts";
import type { Topic } from "../topic.ts";

/** Answers Metadata. */
export const metadataHandler: Handler = handler(metadataServerApi, metadata, {
  places: ({ topics }) => (topics ?? []).flatMap(({ name }) => name === null ? [] : { topic: name }),
});

async function metadata(request: MetadataRequest, context: RequestContext): Promise<Input<MetadataResponse>> {
  const { broker, version } = context;
  const topics: Input<MetadataResponseTopic>[] = [];
  // In version 0 an empty list asks for all topics, later null does.
  if (request.topics === null || (version === 0 && request.topics.length === 0)) {
    for (const topic of broker.topics) topics.push(describe(topic, context));
  } else {
    for (const { name, topicId } of request.topics) {
      topics.push(name === null ? byId(topicId, context) : await byName(name, request, context));
    }
  }
  return {
    brokers: broker.nodes.map(({ id: nodeId, host, port }) => ({ nodeId, host, port })),
    clusterId: broker.clusterId,
    controllerId: broker.nodes[0]?.id ?? -1,
    topics,
  };
}

function byId(topicId: string, context: RequestContext): Input<MetadataResponseTopic> {
  const topic = context.broker.topics.byId(topicId);
  if (topic !== undefined) return describe(topic, context);
  return { errorCode: errorCodeOf("UNKNOWN_TOPIC_ID"), topicId, name: null };
}

async function byName(
  name: string,
  request: MetadataRequest,
  context: RequestContext,
): Promise<Input<MetadataResponseTopic>> {
  const { broker, version } = context;
  const topic = broker.topics.get(name);
  if (topic !== undefined) return describe(topic, context);
  const unknown = { name, topicId: version >= 10 ? ZERO_UUID : undefined };
  if (!broker.autoCreateTopics || !request.allowAutoTopicCreation) {
    return { ...unknown, errorCode: errorCodeOf("UNKNOWN_TOPIC_OR_PARTITION") };
  }
  try {
    return describe(await broker.topics.create(name, broker.defaultPartitions), context);
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    // Another client may have been faster.
    const made = broker.topics.get(name);
    return made === undefined ? { ...unknown, errorCode: error.errorCode } : describe(made, context);
  }
}

function describe(topic: Topic, { broker, obeyScript }: RequestContext): Input<MetadataResponseTopic> {
  const { name, id: topicId } = topic;
  try {
    obeyScript("before", { topic: name });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return { name, topicId, errorCode: error.errorCode };
  }
  const isrNodes = broker.nodes.map(({ id }) => id);
  const partitions = topic.partitions.map(({ leader, leaderEpoch }, partitionIndex) => ({
    partitionIndex,
    errorCode: leader === NO_LEADER ? errorCodeOf("LEADER_NOT_AVAILABLE") : 0,
    leaderId: leader,
    leaderEpoch,
    replicaNodes: broker.nodeIds,
    isrNodes,
  }));
  return { name, topicId, partitions };
}
