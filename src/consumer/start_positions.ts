/**
 * Turns `from` and `until` into offsets, with one question to each leader for whatever must be asked.
 *
 * @module
 */

import type { ClientOptions } from "../client/client_options.ts";
import type { Cluster } from "../client/cluster.ts";
import { listOffsets, type ListOffsetsOptions, OFFSET_TIMESTAMPS, type OffsetQuery } from "../client/list_offsets.ts";
import type { Resolved } from "../core/option_table.ts";
import type { EndOffset, StartOffset } from "./consumer_options.ts";
import { PartitionState } from "./partition_state.ts";

/** One partition and what is wanted of it. */
export interface PartitionRange {
  /** Topic. */
  readonly topic: string;
  /** Id of the topic. */
  readonly topicId: string;
  /** Partition. */
  readonly partition: number;
  /** Where reading begins. */
  readonly from: StartOffset;
  /** Where reading ends; never when absent. */
  readonly until: EndOffset | undefined;
}

const { earliest, latest } = OFFSET_TIMESTAMPS;

/** Resolves to the partitions with their first and end offsets. */
export async function startPositions(
  cluster: Cluster,
  client: Resolved<ClientOptions>,
  ranges: readonly PartitionRange[],
  options: ListOffsetsOptions,
): Promise<PartitionState[]> {
  const queries = new Map<string, OffsetQuery>();
  for (const { topic, partition, from, until } of ranges) {
    for (const timestamp of new Set([...timestampsOf(from), ...timestampsOf(until)])) {
      queries.set(`${topic}-${partition}@${timestamp}`, { topic, partition, timestamp });
    }
  }
  const answers = await listOffsets(cluster, client, [...queries.values()], options);
  const offsets = new Map([...queries.keys()].map((key, i) => [key, answers[i]!.offset]));
  return ranges.map(({ topic, topicId, partition, from, until }) => {
    const offsetAt = (timestamp: number) => offsets.get(`${topic}-${partition}@${timestamp}`)!;
    return new PartitionState(topic, topicId, partition, startOf(from, offsetAt), endOf(until, offsetAt));
  });
}

function timestampsOf(place: StartOffset | EndOffset | undefined): number[] {
  if (place === undefined) return [];
  if (place === "earliest") return [earliest];
  if (place === "latest" || place === "end") return [latest];
  if (typeof place === "number") return place < 0 ? [earliest, latest] : [];
  // The end stands in when no record is that late.
  return "timestamp" in place ? [place.timestamp, latest] : [];
}

function startOf(from: StartOffset, offsetAt: (timestamp: number) => number): number {
  if (from === "earliest") return offsetAt(earliest);
  if (from === "latest") return offsetAt(latest);
  if (typeof from === "number") return from < 0 ? Math.max(offsetAt(earliest), offsetAt(latest) + from) : from;
  return "offset" in from ? from.offset : orEnd(offsetAt(from.timestamp), offsetAt);
}

function endOf(until: EndOffset | undefined, offsetAt: (timestamp: number) => number): number {
  if (until === undefined) return Infinity;
  if (until === "end") return offsetAt(latest);
  return "offset" in until ? until.offset : orEnd(offsetAt(until.timestamp), offsetAt);
}

function orEnd(offset: number, offsetAt: (timestamp: number) => number): number {
  return offset < 0 ? offsetAt(latest) : offset;
}
