/**
 * 200,000 keyed records while a real cluster of three nodes loses leaders, is paused, restarted, moved, throttled. What kcat
 * reads afterwards must be what was acknowledged: nothing lost, nothing doubled, each key in the order of its sends.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Kafka } from "../../mod.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import type { Producer } from "../../src/producer/producer.ts";
import type { KafkaCluster } from "../../tools/kafka/kafka_cluster.ts";
import { bootstrapServers, cluster, createTopic, javaTool, kcat, uniqueName } from "../kafka/helpers.ts";

const RECORDS = Number(process.env["CHAOS_RECORDS"] ?? 200_000);
const KEYS = 1000;
const PARTITIONS = 6;
const SLICE = 250;
/** Milliseconds between slices: 10,000 records a second, so that the whole lasts 20 s and longer where sends must wait. */
const PACE_MS = 25;

interface Stage {
  readonly kafka: KafkaCluster;
  readonly topic: string;
}

interface Scenario {
  readonly name: string;
  readonly configs?: Readonly<Record<string, string | number>>;
  /** Makes the trouble, and ends it: the cluster is whole when it is over. */
  act(stage: Stage): Promise<void>;
  /** Whether Kafka itself may lose acknowledged records here. */
  readonly kafkaMayLose?: boolean;
  /** Whether records may fail, as long as it is told truly. */
  readonly mayFail?: boolean;
}

const tools = "org.apache.kafka.tools";

/** The node that leads partition 0 now. */
async function leader(topic: string): Promise<number> {
  const text = await javaTool(`${tools}.TopicCommand`, ["--bootstrap-server", "@", "--describe", "--topic", topic]);
  return Number(/Partition: 0\s+Leader: (\d+)/.exec(text)?.[1]);
}

async function alterTopic(topic: string, config: string): Promise<void> {
  await javaTool("kafka.admin.ConfigCommand", [
    ...["--bootstrap-server", "@", "--alter", "--entity-type", "topics", "--entity-name", topic],
    ...["--add-config", config],
  ]);
}

async function clientQuota(change: readonly string[]): Promise<void> {
  await javaTool("kafka.admin.ConfigCommand", [
    ...["--bootstrap-server", "@", "--alter", "--entity-type", "clients", "--entity-name", "chaos", ...change],
  ]);
}

/** Gives every partition's leadership to the next node. */
async function moveLeaders({ kafka, topic }: Stage, round: number): Promise<void> {
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => ({
    topic,
    partition,
    replicas: [0, 1, 2].map((i) => 1 + (partition + round + i) % 3),
  }));
  const file = join(kafka.directory, `${topic}-${round}.json`);
  await writeFile(file, JSON.stringify({ version: 1, partitions }));
  await javaTool(`${tools}.reassign.ReassignPartitionsCommand`, [
    ...["--bootstrap-server", "@", "--reassignment-json-file", file, "--execute"],
  ]);
  await writeFile(
    file,
    JSON.stringify({ partitions: partitions.map(({ partition }) => ({ topic, partition })) }),
  );
  await javaTool(`${tools}.LeaderElectionCommand`, [
    ...["--bootstrap-server", "@", "--election-type", "preferred", "--path-to-json-file", file],
  ]).catch(() => {}); // "not needed" where it happened by itself
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "the leader is killed, twice",
    async act({ kafka, topic }) {
      for (let round = 0; round < 2; round++) {
        const node = await leader(topic);
        await kafka.kill(node);
        await sleep(6000);
        await kafka.startNode(node);
        await kafka.waitUntilReady([1, 2, 3]);
      }
    },
  },
  {
    name: "a broker stands still for 40 s",
    async act({ kafka, topic }) {
      const node = await leader(topic);
      kafka.pause(node);
      await sleep(40_000);
      kafka.resume(node);
      await kafka.waitUntilReady([1, 2, 3]);
    },
  },
  {
    name: "a rolling restart",
    async act({ kafka }) {
      for (const node of [1, 2, 3]) {
        await kafka.restart(node);
        await kafka.waitUntilReady([1, 2, 3]);
      }
    },
  },
  {
    name: "leaders move",
    async act(stage) {
      for (let round = 1; round <= 4; round++) {
        await moveLeaders(stage, round);
        await sleep(1500);
      }
    },
  },
  {
    name: "too few replicas are in sync, and enough again",
    configs: { "min.insync.replicas": 3 },
    async act({ kafka, topic }) {
      const node = (await leader(topic)) % 3 + 1;
      await kafka.kill(node);
      await sleep(10_000);
      await kafka.startNode(node);
      await kafka.waitUntilReady([1, 2, 3]);
    },
  },
  {
    name: "the topic gets more partitions",
    async act({ topic }) {
      for (const count of [8, 12]) {
        await javaTool(`${tools}.TopicCommand`, [
          ...["--bootstrap-server", "@", "--alter", "--topic", topic, "--partitions", `${count}`],
        ]);
        await sleep(2000);
      }
    },
  },
  {
    name: "a quota throttles the producer",
    async act() {
      await clientQuota(["--add-config", "producer_byte_rate=400000"]);
      await sleep(15_000);
      await clientQuota(["--delete-config", "producer_byte_rate"]);
    },
  },
  {
    name: "the topic is deleted and made again",
    kafkaMayLose: true,
    mayFail: true,
    async act({ topic }) {
      await javaTool(`${tools}.TopicCommand`, ["--bootstrap-server", "@", "--delete", "--topic", topic]);
      await sleep(3000);
      await createTopic(topic, PARTITIONS).catch(() => {}); // records may be there before the helper has looked
    },
  },
  {
    name: "an unclean election",
    configs: { "min.insync.replicas": 1 },
    kafkaMayLose: true,
    mayFail: true,
    async act({ kafka, topic }) {
      await alterTopic(topic, "unclean.leader.election.enable=true");
      const last = await leader(topic);
      const [lagging] = [1, 2, 3].filter((id) => id !== last);
      await kafka.kill(lagging!);
      await sleep(6000);
      await kafka.kill(last);
      await kafka.startNode(lagging!);
      await sleep(4000);
      await kafka.startNode(last);
      await kafka.waitUntilReady([1, 2, 3]);
    },
  },
];

interface Fate {
  readonly state: "acked" | "not-written" | "unknown" | "rejected" | "foreign";
  readonly partition: number;
  readonly offset: number;
  readonly message: string;
}

async function send(producer: Producer, topic: string, n: number): Promise<Fate> {
  try {
    const { partition, offset } = await producer.send({ topic, key: `${n % KEYS}`, value: `${n}` });
    return { state: "acked", partition, offset, message: "" };
  } catch (error) {
    const { outcome = "foreign", message } = error as KafkaError;
    return { state: outcome, partition: -1, offset: -1, message };
  }
}

interface Stored {
  readonly partition: number;
  readonly offset: number;
}

/** Every record of the topic, read by kcat, in order within each partition. */
async function storedRecords(topic: string): Promise<Map<number, Stored[]>> {
  const text = new TextDecoder().decode(
    await kcat(["-C", "-q", "-e", "-t", topic, "-o", "beginning", "-f", "%p %o %s\n"]),
  );
  const stored = new Map<number, Stored[]>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [partition, offset, n] = line.split(" ").map(Number) as [number, number, number];
    const places = stored.get(n);
    if (places === undefined) stored.set(n, [{ partition, offset }]);
    else places.push({ partition, offset });
  }
  return stored;
}

/** What was promised and is not so. */
function violations(scenario: Scenario, fates: readonly Fate[], stored: ReadonlyMap<number, Stored[]>): string[] {
  const found: string[] = [];
  fates.forEach(({ message, offset, partition, state }, n) => {
    const places = stored.get(n) ?? [];
    if (state === "foreign") found.push(`record ${n} failed with a foreign error: ${message}`);
    if (state !== "acked" && !scenario.mayFail) found.push(`record ${n} failed (${state}): ${message}`);
    if (places.length > 1) found.push(`record ${n} is stored ${places.length} times: ${JSON.stringify(places)}`);
    if (state === "acked" && places.length === 0 && !scenario.kafkaMayLose) {
      found.push(`record ${n} was acknowledged at ${partition}:${offset} and is not there`);
    }
    if ((state === "not-written" || state === "rejected") && places.length > 0) {
      found.push(`record ${n} is stored, and was said to be ${state}: ${message}`);
    }
    const place = places[0];
    if (state === "acked" && place !== undefined && !scenario.kafkaMayLose) {
      const isThere = place.partition === partition && place.offset === offset;
      if (!isThere) found.push(`record ${n} lies at ${JSON.stringify(place)}, told was ${partition}:${offset}`);
    }
  });
  for (let key = 0; key < KEYS; key++) {
    const last = new Map<number, number>();
    for (let n = key; n < fates.length; n += KEYS) {
      const place = stored.get(n)?.[0];
      if (place === undefined) continue;
      const before = last.get(place.partition) ?? -1;
      if (place.offset < before) found.push(`key ${key}: record ${n} lies before an earlier one`);
      last.set(place.partition, place.offset);
    }
  }
  return found;
}

describe("chaos on a real cluster", () => {
  for (const scenario of SCENARIOS) {
    test(scenario.name, { timeout: 300_000 }, async () => {
      const kafka = cluster();
      const topic = await createTopic(uniqueName("chaos"), PARTITIONS, scenario.configs);
      const client = new Kafka({ bootstrapServers: bootstrapServers(), clientId: "chaos", requestTimeoutMs: 10_000 });
      const producer = client.producer({ maxBlockMs: 120_000 });
      const sends: Promise<Fate>[] = [];
      const trouble = sleep(2000).then(() => scenario.act({ kafka, topic }));
      trouble.catch(() => {}); // told below
      while (sends.length < RECORDS) {
        for (let i = 0; i < SLICE && sends.length < RECORDS; i++) sends.push(send(producer, topic, sends.length));
        await sleep(PACE_MS);
      }
      await trouble;
      const fates = await Promise.all(sends);
      await producer.close();
      const found = violations(scenario, fates, await storedRecords(topic));
      const count = (state: Fate["state"]) => fates.filter((fate) => fate.state === state).length;
      process.stderr.write(
        `${scenario.name}: ${count("acked")} acknowledged, ${count("not-written")} not written, ${
          count("unknown")
        } unknown\n`,
      );
      assert.deepEqual(found.slice(0, 10), [], `${found.length} violations`);
      assert.ok(count("acked") > RECORDS / 2, "most records are acknowledged");
    });
  }
});
