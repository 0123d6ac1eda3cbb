/**
 * `anykafka produce TOPIC`: sends the lines of the input.
 *
 * @module
 */

import type { KafkaError } from "../core/kafka_error.ts";
import type { ProducerRecord } from "../producer/record_metadata.ts";
import { clusterOptions, clusterSettings } from "./cluster_options.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { recordFromJson } from "./record_json.ts";

/** Records on their way at once; beyond, the input waits. */
const MAX_PENDING = 10_000;

/** The command. */
export const produceCommand: Command = {
  words: "TOPIC",
  wordCount: [1, 1],
  examples: ["produce orders < lines.txt", "consume other -o json --until end | anykafka produce orders --input json"],
  options: {
    ...clusterOptions,
    input: { type: "string", value: "lines|json", help: "one value a line, or what consume -o json prints" },
    "key-separator": { type: "string", short: "k", value: "TEXT", help: "what stands between key and value in a line" },
    partition: { type: "string", short: "p", value: "N", help: "send everything to this partition" },
  },
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const topic = input.words[0]!;
  const toRecord = recordReader(topic, input);
  const { client, producer: options } = await clusterSettings(io, input);
  const producer = io.kafka(client).producer(options);
  let sent = 0;
  let failed = 0;
  let pending = 0;
  let resume: (() => void) | undefined;
  let firstError: KafkaError | undefined;
  const settled = (error?: KafkaError) => {
    pending--;
    if (error === undefined) sent++;
    else {
      failed++;
      firstError ??= error;
    }
    if (pending < MAX_PENDING) resume?.();
  };
  try {
    let number = 0;
    for await (const line of io.lines()) {
      const record = toRecord(line, ++number);
      if (record === undefined) continue;
      pending++;
      producer.send(record).then(() => settled(), settled);
      // A record that failed may mean that none will go: do not read a whole file into a topic that is not there.
      if (firstError !== undefined) break;
      if (pending >= MAX_PENDING) await new Promise<void>((resolve) => resume = resolve);
      if (io.signal.aborted) break;
    }
  } finally {
    await producer.close();
  }
  if (firstError !== undefined) {
    io.err(`anykafka: ${failed} of ${sent + failed} records failed: ${firstError.message} [${firstError.code}]\n`);
    return 1;
  }
  io.err(`${sent} records sent to ${topic}\n`);
  return io.signal.aborted ? 130 : 0;
}

function recordReader(
  topic: string,
  input: CommandInput,
): (line: string, number: number) => ProducerRecord | undefined {
  const form = input.text("input") ?? "lines";
  const separator = input.text("key-separator");
  const partitionText = input.text("partition");
  if (partitionText !== undefined && !/^\d+$/.test(partitionText)) {
    throw new UsageError(`--partition ${partitionText}: expected a number`);
  }
  const partition = partitionText === undefined ? {} : { partition: Number(partitionText) };
  if (form === "json") {
    return (line, number) => line.trim() === "" ? undefined : { ...recordFromJson(line, number, topic), ...partition };
  }
  if (form !== "lines") throw new UsageError(`--input ${form}: expected lines or json`);
  return (line) => {
    const at = separator === undefined ? -1 : line.indexOf(separator);
    if (at < 0) return { topic, value: line, ...partition };
    return { topic, key: line.slice(0, at), value: line.slice(at + separator!.length), ...partition };
  };
}
