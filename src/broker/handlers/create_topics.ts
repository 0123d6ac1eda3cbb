/**
 * CreateTopics (19), versions 2 to 7. Every node has a replica of everything, whatever the replication factor
 * (at most the number of nodes) or the assignments say; the first node assigned leads. Configs: see `topic_config.ts`; they hold until the broker closes.
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
export const createTopicsHandler: Handler = handler(createTopicsServerApi, createTopics, {
  places: ({ topics }) => topics.map(({ name }) => ({ topic: name })),
});

async function createTopics(
  request: CreateTopicsRequest,
  context: RequestContext,
): Promise<Input<CreateTopicsResponse>> {
  const topics: Input<CreateTopicsResponseCreatableTopicResult>[] = [];
  for (const wanted of request.topics) {
    try {
      context.obeyScript("before", { topic: wanted.name });
      const created = await create(wanted, request.validateOnly, context);
      context.obeyScript("after", { topic: wanted.name });
      topics.push(created);
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
  const { name } = wanted;
  const leaders = assignedLeaders(wanted, broker.nodeIds);
  const count = leaders?.length ?? (wanted.numPartitions === -1 ? broker.defaultPartitions : wanted.numPartitions);
  const replicationFactor = replicationFactorOf(wanted, broker.nodeIds.length);
  const config = parseTopicConfig(name, new Map(wanted.configs.map(({ name, value }) => [name, value])));
  broker.topics.checkNew(name, count);
  const created = validateOnly ? undefined : await broker.topics.create(name, count, config, leaders);
  const detail = version < 5 ? {} : { numPartitions: count, replicationFactor, configs: [] };
  return { name, ...(version >= 7 && created !== undefined ? { topicId: created.id } : {}), ...detail };
}

function replicationFactorOf({ name, replicationFactor }: CreateTopicsRequestCreatableTopic, nodes: number): number {
  if (replicationFactor === -1) return nodes;
  if (replicationFactor >= 1 && replicationFactor <= nodes) return replicationFactor;
  throw refusal(
    "INVALID_REPLICATION_FACTOR",
    `topic ${name}: replication factor ${replicationFactor}, the embedded broker has ${nodes} node${
      nodes === 1 ? "" : "s"
    }`,
  );
}

/** The first node that each partition is assigned to; undefined when the broker is to decide. */
function assignedLeaders(
  { name, assignments }: CreateTopicsRequestCreatableTopic,
  nodeIds: readonly number[],
): number[] | undefined {
  if (assignments.length === 0) return undefined;
  const leaders: number[] = [];
  for (const { brokerIds, partitionIndex } of assignments) {
    if (brokerIds.length > 0 && brokerIds.every((id) => nodeIds.includes(id))) leaders[partitionIndex] = brokerIds[0]!;
  }
  if (assignments.every((_, index) => leaders[index] !== undefined)) return leaders;
  throw refusal(
    "INVALID_REPLICA_ASSIGNMENT",
    `topic ${name}: each partition from 0 on must be assigned, to nodes among ${nodeIds.join(", ")}`,
  );
}
