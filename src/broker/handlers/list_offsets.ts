/**
 * ListOffsets: versions 1 to 11. By timestamp, and the places that negative timestamps ask for: latest, earliest, the record
 * with the greatest timestamp, the earliest on this disk. There is no tiered storage, so what asks for it finds nothing.
 *
 * @module
 */

import type { Input } from "../../protocol/api.ts";
import {
  type ListOffsetsRequest,
  type ListOffsetsResponse,
  listOffsetsServerApi,
} from "../../protocol/list_offsets.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";

const EARLIEST_LOCAL = -4;

/** Answers ListOffsets. */
export const listOffsetsHandler: Handler = handler(listOffsetsServerApi, listOffsets);

async function listOffsets(
  request: ListOffsetsRequest,
  { broker, version }: RequestContext,
): Promise<Input<ListOffsetsResponse>> {
  const topics = await Promise.all(request.topics.map(async ({ name, partitions }) => ({
    name,
    partitions: await Promise.all(partitions.map(async ({ partitionIndex, timestamp }) => {
      const partition = broker.topics.get(name)?.partitions[partitionIndex];
      if (partition === undefined) {
        return { partitionIndex, errorCode: errorCodeOf("UNKNOWN_TOPIC_OR_PARTITION"), offset: -1, timestamp: -1 };
      }
      const found = timestamp < EARLIEST_LOCAL
        ? undefined
        : await partition.log.offsetForTimestamp(timestamp, broker.codecs);
      if (found === undefined) return { partitionIndex, errorCode: 0, offset: -1, timestamp: -1 };
      const { leaderEpoch, offset, timestamp: at } = found;
      return { partitionIndex, errorCode: 0, offset, timestamp: at, ...(version >= 4 ? { leaderEpoch } : {}) };
    })),
  })));
  return { topics };
}
