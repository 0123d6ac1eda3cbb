/**
 * ListOffsets: versions 1 to 11. By timestamp, and the places that negative timestamps ask for: latest, earliest, the record
 * with the greatest timestamp, the earliest on this disk. There is no tiered storage, so what asks for it finds nothing.
 *
 * @module
 */

import { BrokerError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import {
  type ListOffsetsRequest,
  type ListOffsetsRequestListOffsetsPartition,
  type ListOffsetsResponse,
  type ListOffsetsResponseListOffsetsPartitionResponse,
  listOffsetsServerApi,
} from "../../protocol/list_offsets.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import { refusal } from "../refusal.ts";

const EARLIEST_LOCAL = -4;

/** Answers ListOffsets. */
export const listOffsetsHandler: Handler = handler(listOffsetsServerApi, listOffsets, {
  places: ({ topics }) =>
    topics.flatMap(({ name: topic, partitions }) =>
      partitions.map(({ partitionIndex: partition }) => ({ topic, partition }))
    ),
});

async function listOffsets(request: ListOffsetsRequest, context: RequestContext): Promise<Input<ListOffsetsResponse>> {
  const topics = await Promise.all(request.topics.map(async ({ name, partitions }) => ({
    name,
    partitions: await Promise.all(partitions.map((asked) => find(name, asked, context))),
  })));
  return { topics };
}

async function find(
  topic: string,
  { currentLeaderEpoch, partitionIndex, timestamp }: ListOffsetsRequestListOffsetsPartition,
  { broker, nodeId, obeyScript, version }: RequestContext,
): Promise<Input<ListOffsetsResponseListOffsetsPartitionResponse>> {
  const place = { topic, partition: partitionIndex };
  try {
    obeyScript("before", place);
    const partition = broker.topics.get(topic)?.partitions[partitionIndex];
    if (partition === undefined) throw refusal("UNKNOWN_TOPIC_OR_PARTITION", `${topic}-${partitionIndex}`);
    partition.checkLeader(nodeId, currentLeaderEpoch);
    const found = timestamp < EARLIEST_LOCAL
      ? undefined
      : await partition.log.offsetForTimestamp(timestamp, broker.codecs);
    obeyScript("after", place);
    if (found === undefined) return { partitionIndex, errorCode: 0, offset: -1, timestamp: -1 };
    const { leaderEpoch, offset, timestamp: at } = found;
    return { partitionIndex, errorCode: 0, offset, timestamp: at, ...(version >= 4 ? { leaderEpoch } : {}) };
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return { partitionIndex, errorCode: error.errorCode, offset: -1, timestamp: -1 };
  }
}
