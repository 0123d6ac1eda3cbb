/**
 * CreateTopics (19), versions 2 to 7. One node, so the replication factor must be 1 or −1 and assignments must name this
 * node. Configs: see `topic_config.ts`; they hold until the broker closes.
 *
 * @module
 */

import { BrokerError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import {
  type CreateTopicsRequest,
  type CreateTopicsRequestCreatableTopic,
  type CreateTopicsResponse,
  type CreateTopicsResponseCreatableTopicResult,
  createTopicsServerApi,
} from "../../protocol/create_topics.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import { refusal } from "../refusal.ts";
import { parseTopicConfig } from "../topic_config.ts";

/** Answers CreateTopics. */
export const createTopicsHandler: Handler = handler(createTopicsServerApi, createTopics);

async function createTopics(
  request: CreateTopicsRequest,
  context: RequestContext,
): Promise<Input<CreateTopicsResponse>> {
  const topics: Input<CreateTopicsResponseCreatableTopicResult>[] = [];
  for (const wanted of request.topics) {
    try {
      topics.push(await create(wanted, request.validateOnly, context));
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      topics.push({ name: wanted.name, errorCode: error.errorCode, errorMessage: error.message, configs: [] });
    }
  }
  return { topics };
}

async function create(
  wanted: CreateTopicsRequestCreatableTopic,
  validateOnly: boolean,
  { broker, version }: RequestContext,
): Promise<Input<CreateTopicsResponseCreatableTopicResult>> {
  const { name, replicationFactor } = wanted;
  const count = partitionCount(wanted, broker.nodeId, broker.defaultPartitions);
  if (replicationFactor !== 1 && replicationFactor !== -1) {
    throw refusal(
      "INVALID_REPLICATION_FACTOR",
      `topic ${name}: replication factor ${replicationFactor}, the embedded broker is one node`,
    );
  }
  const config = parseTopicConfig(name, new Map(wanted.configs.map(({ name, value }) => [name, value])));
  broker.topics.checkNew(name, count);
  const created = validateOnly ? undefined : await broker.topics.create(name, count, config);
  const detail = version < 5 ? {} : { numPartitions: count, replicationFactor: 1, configs: [] };
  return { name, ...(version >= 7 && created !== undefined ? { topicId: created.id } : {}), ...detail };
}

function partitionCount(wanted: CreateTopicsRequestCreatableTopic, nodeId: number, fallback: number): number {
  const { name, assignments, numPartitions } = wanted;
  if (assignments.length === 0) return numPartitions === -1 ? fallback : numPartitions;
  const indexes = new Set(assignments.map((assignment) => assignment.partitionIndex));
  const here = assignments.every(({ brokerIds }) => brokerIds.length === 1 && brokerIds[0] === nodeId);
  const consecutive = assignments.every((_, index) => indexes.has(index));
  if (here && consecutive) return assignments.length;
  throw refusal(
    "INVALID_REPLICA_ASSIGNMENT",
    `topic ${name}: each partition from 0 on must be assigned to node ${nodeId} alone`,
  );
}
