/**
 * `anykafka demo`: real data through the whole house. 20,000 flights are sent over a socket into a broker, read back over
 * the network, and, where the broker is the embedded one, read once more from its segment files. All three must agree.
 *
 * @module
 */

import { crc32c } from "../hash/crc32c.ts";
import type { Kafka } from "../kafka.ts";
import { Log } from "../log/log.ts";
import type { ProducerOptions } from "../producer/producer_options.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { clusterOptions, clusterSettings } from "./cluster_options.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";
import { Progress } from "./progress.ts";
import { table } from "./table.ts";

const PARTITIONS = 3;

/** What was seen of one partition: how many records, and a checksum that does not depend on their order. */
interface Tally {
  count: number;
  checksum: number;
  bytes: number;
}

/** The command. */
export const demoCommand: Command = {
  words: "",
  wordCount: [0, 0],
  examples: ["demo", "demo --bootstrap localhost:9092"],
  options: {
    ...clusterOptions,
    bootstrap: {
      type: "string",
      short: "b",
      value: "HOST:PORT,…",
      help: "a real cluster; an embedded broker without it",
    },
    keep: { type: "string", value: "DIR", help: "keep the embedded broker's log directory there" },
  },
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const lines = await io.demoData();
  await io.out(`${lines.length} flights within the United States, 2001 (U.S. Bureau of Transportation Statistics)\n\n`);
  const settings = await clusterSettings(io, input);
  const isReal = input.text("bootstrap") !== undefined;
  const keep = input.text("keep");
  const folder = isReal || keep !== undefined ? undefined : await io.temporaryFolder();
  const data = isReal ? undefined : keep ?? folder!.path;
  const topic = `flights-${io.clock.wallTime()}`;
  const broker = data === undefined
    ? undefined
    : await io.startBroker({ data, host: "127.0.0.1", port: 0, topics: { [topic]: PARTITIONS } });
  try {
    const client = broker === undefined
      ? settings.client
      : { ...settings.client, bootstrapServers: broker.bootstrapServers };
    const kafka = io.kafka(client);
    if (broker === undefined) await createTopic(kafka, topic);
    await io.out(
      broker === undefined
        ? `cluster         ${String(settings.client.bootstrapServers)}, topic ${topic}\n`
        : `broker          embedded, ${broker.bootstrapServers}, log directory ${data}\n`,
    );
    const compressionType = "gzip";
    const { tallies: sent, rate } = await send(io, kafka, topic, lines, { compressionType, ...settings.producer });
    await io.out(
      `sent            ${lines.length} records keyed by origin airport, ${rate}/s, every one acknowledged\n`,
    );
    const read = await readBack(io, kafka, topic, lines.length);
    await io.out(`read back       ${total(read.tallies)} records over the network, ${read.rate}/s\n`);
    await broker?.close();
    const stored = data === undefined ? undefined : await readFiles(io, data, topic);
    if (stored !== undefined) {
      await io.out(
        `read the files  ${total(stored.tallies)} records from ${stored.segments} segments, without a broker\n`,
      );
    }
    await io.out("\n");
    return await compare(io, lines, sent, read.tallies, stored);
  } finally {
    await broker?.close();
    await folder?.remove();
  }
}

async function createTopic(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.createTopics([{ topic, partitions: PARTITIONS }]);
  } finally {
    await admin.close();
  }
}

async function send(
  io: CommandIo,
  kafka: Kafka,
  topic: string,
  lines: readonly string[],
  options: ProducerOptions,
): Promise<{ tallies: Tally[]; rate: number }> {
  const producer = kafka.producer(options);
  const progress = new Progress(io, "records sent", lines.length);
  const tallies = newTallies();
  const encoder = new TextEncoder();
  try {
    await Promise.all(lines.map(async (line) => {
      const { origin } = JSON.parse(line) as { origin: string };
      const { partition } = await producer.send({ topic, key: origin, value: line });
      add(tallies, partition, encoder.encode(line));
      progress.step();
    }));
  } finally {
    await producer.close();
  }
  return { tallies, rate: progress.end() };
}

async function readBack(
  io: CommandIo,
  kafka: Kafka,
  topic: string,
  expected: number,
): Promise<{ tallies: Tally[]; rate: number }> {
  const consumer = kafka.consumer({ topics: topic, from: "earliest", until: "end", signal: io.signal });
  const progress = new Progress(io, "records read", expected);
  const tallies = newTallies();
  try {
    for await (const record of consumer) {
      addRecord(tallies, record);
      progress.step();
    }
  } finally {
    await consumer.close();
  }
  return { tallies, rate: progress.end() };
}

/** Reads the partition directories as files. */
async function readFiles(
  io: CommandIo,
  data: string,
  topic: string,
): Promise<{ tallies: Tally[]; segments: number; fileBytes: number[] }> {
  const tallies = newTallies();
  const codecs = await io.codecs();
  const fileBytes: number[] = [];
  let segments = 0;
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const storage = await io.openFolder(`${data}/${topic}-${partition}`);
    const log = await Log.open(storage, { mode: "inspect", topic, partition });
    try {
      for await (const record of log.records({ codecs })) addRecord(tallies, record);
      segments += log.segments.length;
      fileBytes.push(log.size);
    } finally {
      await log.close();
    }
  }
  return { tallies, segments, fileBytes };
}

async function compare(
  io: CommandIo,
  lines: readonly string[],
  sent: readonly Tally[],
  read: readonly Tally[],
  stored: { tallies: readonly Tally[]; fileBytes: readonly number[] } | undefined,
): Promise<number> {
  const columns = [
    "partition",
    "sent",
    "read back",
    ...(stored === undefined ? [] : ["in the files", "bytes", "on disk", "ratio"]),
  ];
  let same = total(sent) === lines.length;
  const rows = sent.map((tally, partition) => {
    const others = [read[partition]!, ...(stored === undefined ? [] : [stored.tallies[partition]!])];
    same = same && others.every((other) => other.count === tally.count && other.checksum === tally.checksum);
    const row = [partition, tally.count, ...others.map((other) => other.count)];
    if (stored !== undefined) {
      const size = stored.fileBytes[partition]!;
      row.push(tally.bytes, size);
      return [...row.map(String), size === 0 ? "-" : (tally.bytes / size).toFixed(1)];
    }
    return row.map(String);
  });
  await io.out(table(io, columns, rows));
  await io.out(same ? "\nSame records everywhere, by count and checksum.\n" : "\nThe records differ.\n");
  return same ? 0 : 3;
}

function newTallies(): Tally[] {
  return Array.from({ length: PARTITIONS }, () => ({ count: 0, checksum: 0, bytes: 0 }));
}

function add(tallies: Tally[], partition: number, value: Uint8Array): void {
  const tally = tallies[partition]!;
  tally.count++;
  tally.bytes += value.length;
  tally.checksum = (tally.checksum + crc32c(value)) >>> 0;
}

function addRecord(tallies: Tally[], { partition, value }: KafkaRecord): void {
  add(tallies, partition, value ?? new Uint8Array(0));
}

function total(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, { count }) => sum + count, 0);
}
