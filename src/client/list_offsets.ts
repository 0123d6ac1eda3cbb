/**
 * Asks the leaders of partitions for offsets: the first, the end, or the first at or past a timestamp. Shared by the
 * consumer, which begins there, and the admin client, which shows them.
 *
 * @module
 */

import { isRetriable, KafkaError } from "../core/kafka_error.ts";
import type { Resolved } from "../core/option_table.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { listOffsetsApi } from "../protocol/list_offsets.ts";
import type { BrokerNode } from "./broker_node.ts";
import type { ClientOptions } from "./client_options.ts";
import type { Cluster, WaitOptions } from "./cluster.ts";

/** Timestamps with a meaning of their own in ListOffsets. */
export const OFFSET_TIMESTAMPS = { latest: -1, earliest: -2, maxTimestamp: -3 } as const;

/** Whether records of open and aborted transactions are seen. */
export type IsolationLevel = "read_uncommitted" | "read_committed";

/** One question. */
export interface OffsetQuery {
  /** Topic. */
  readonly topic: string;
  /** Partition. */
  readonly partition: number;
  /** Milliseconds since 1970, or one of {@linkcode OFFSET_TIMESTAMPS}. */
  readonly timestamp: number;
}

/** One answer. */
export interface ListedOffset extends OffsetQuery {
  /** The offset; −1 when no record has that timestamp or a later one. */
  readonly offset: number;
  /** Timestamp of the record at that offset; −1 where the broker tells none. */
  readonly recordTimestamp: number;
  /** Epoch of the leader that wrote it; −1 where the broker tells none. */
  readonly leaderEpoch: number;
}

/** How to ask. */
export interface ListOffsetsOptions extends WaitOptions {
  /** With `"read_committed"`, the end is the last stable offset. Default `"read_uncommitted"`. */
  readonly isolationLevel?: IsolationLevel;
}

/** The lowest version that knows the maximum timestamp. */
const MAX_TIMESTAMP_FROM = 7;

/**
 * Resolves to the answers in the order of `queries`: one request for each leader, those that failed again until the time is up.
 *
 * @throws BrokerError naming topic and partition; TimeoutError with the last failure as its cause.
 */
export async function listOffsets(
  cluster: Cluster,
  client: Resolved<ClientOptions>,
  queries: readonly OffsetQuery[],
  options: ListOffsetsOptions,
): Promise<ListedOffset[]> {
  const answers: ListedOffset[] = new Array(queries.length);
  let pending = queries.map((query, index) => ({ query, index }));
  await cluster.retry("ListOffsets", options, async (left) => {
    const failures: KafkaError[] = [];
    const requests = byLeader(cluster, pending, failures);
    await Promise.all(requests.map(async ({ node, items }) => {
      try {
        for (const { answer, index } of await ask(cluster, client, node, items, options, left, failures)) {
          answers[index] = answer;
        }
      } catch (cause) {
        if (!(cause instanceof KafkaError)) throw cause;
        failures.push(cause);
      }
    }));
    pending = pending.filter(({ index }) => answers[index] === undefined);
    if (pending.length === 0) return;
    const failure = failures.find((error) => !isRetriable(error)) ?? failures[0]!;
    if (isRetriable(failure)) cluster.requestUpdate();
    throw failure;
  });
  return answers;
}

interface Item {
  readonly query: OffsetQuery;
  readonly index: number;
}

interface LeaderRequest {
  readonly node: BrokerNode;
  readonly items: Item[];
}

/** One request a leader; a second where a partition is asked twice, which brokers refuse within one. */
function byLeader(cluster: Cluster, items: readonly Item[], failures: KafkaError[]): LeaderRequest[] {
  const requests: (LeaderRequest & { readonly seen: Set<string> })[] = [];
  for (const item of items) {
    const { topic, partition } = item.query;
    // Marks the topic as in use, and asks for it when it is not known.
    cluster.topic(topic);
    const leader = cluster.leader(topic, partition);
    if (leader === undefined) {
      const known = cluster.topicError(topic);
      failures.push(known ?? brokerError(LEADER_NOT_AVAILABLE, `${topic}-${partition}`, { topic, partition }));
      continue;
    }
    const key = `${topic}-${partition}`;
    let request = requests.find(({ node, seen }) => node === leader.node && !seen.has(key));
    if (request === undefined) requests.push(request = { node: leader.node, items: [], seen: new Set() });
    request.seen.add(key);
    request.items.push(item);
  }
  return requests;
}

const LEADER_NOT_AVAILABLE = 5;

async function ask(
  cluster: Cluster,
  client: Resolved<ClientOptions>,
  node: BrokerNode,
  items: readonly Item[],
  options: ListOffsetsOptions,
  left: number,
  failures: KafkaError[],
): Promise<{ answer: ListedOffset; index: number }[]> {
  const connection = await node.connect("main");
  const asksMax = items.some(({ query }) => query.timestamp === OFFSET_TIMESTAMPS.maxTimestamp);
  const version = connection.versions.pick(listOffsetsApi, asksMax ? { min: MAX_TIMESTAMP_FROM } : {});
  const topics = new Map<string, Item[]>();
  for (const item of items) {
    const list = topics.get(item.query.topic);
    if (list === undefined) topics.set(item.query.topic, [item]);
    else list.push(item);
  }
  const timeoutMs = Math.ceil(Math.min(left, client.requestTimeoutMs));
  const response = await connection.request(listOffsetsApi, {
    replicaId: -1,
    // Versions below 2 have no isolation and no transactions either.
    isolationLevel: options.isolationLevel === "read_committed" ? 1 : 0,
    topics: [...topics].map(([name, list]) => ({
      name,
      partitions: list.map(({ query }) => ({
        partitionIndex: query.partition,
        currentLeaderEpoch: cluster.leader(name, query.partition)?.epoch ?? -1,
        timestamp: query.timestamp,
      })),
    })),
    timeoutMs,
  }, { version, timeoutMs });
  const answers: { answer: ListedOffset; index: number }[] = [];
  for (const topic of response.topics) {
    for (const p of topic.partitions) {
      const item = topics.get(topic.name)?.find(({ query }) => query.partition === p.partitionIndex);
      if (item === undefined) continue;
      const { query, index } = item;
      if (p.errorCode !== 0) {
        const where = `${query.topic}-${query.partition}: ListOffsets from ${node.text}`;
        failures.push(brokerError(p.errorCode, where, { topic: query.topic, partition: query.partition }));
        continue;
      }
      answers.push({
        index,
        answer: { ...query, offset: p.offset, recordTimestamp: p.timestamp, leaderEpoch: p.leaderEpoch },
      });
    }
  }
  if (answers.length === 0 && failures.length === 0) {
    const { topic, partition } = items[0]!.query;
    failures.push(
      new KafkaError(`${topic}-${partition}: the ListOffsets answer from ${node.text} lacks it`, {
        code: "PROTOCOL_ERROR",
        retriable: true,
        topic,
        partition,
      }),
    );
  }
  return answers;
}
