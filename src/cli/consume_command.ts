/**
 * `anykafka consume TOPIC`: prints records, from where and as far as it is told.
 *
 * @module
 */

import { clusterOptions, clusterSettings } from "./cluster_options.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { endPosition, startPosition } from "./position.ts";
import { recordOutputOptions, RecordPrinter } from "./record_output.ts";

/** The command. */
export const consumeCommand: Command = {
  words: "TOPIC",
  wordCount: [1, 1],
  examples: ["consume orders --from start --until end -o json", "consume orders --from -10"],
  options: {
    ...clusterOptions,
    ...recordOutputOptions,
    from: { type: "string", value: "WHERE", help: "start, end (default), an offset, -N, @-1h or @TIME" },
    until: { type: "string", value: "WHERE", help: "end, an offset, @-1h or @TIME; without it, wait for more" },
    partition: { type: "string", short: "p", value: "N", multiple: true, help: "only this partition" },
  },
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const topic = input.words[0]!;
  const printer = await RecordPrinter.of(io, input);
  const now = io.clock.wallTime();
  const from = startPosition(input.text("from") ?? "end", now);
  const until = input.text("until");
  const partitions = input.texts("partition").map((text) => {
    if (!/^\d+$/.test(text)) throw new UsageError(`--partition ${text}: expected a number`);
    return { topic, partition: Number(text) };
  });
  const settings = await clusterSettings(io, input);
  const consumer = io.kafka(settings.client).consumer({
    // Looking at a topic must not make it.
    allowAutoCreateTopics: false,
    ...settings.consumer,
    ...(partitions.length > 0 ? { assignments: partitions } : { topics: topic }),
    from,
    ...(until === undefined ? {} : { until: endPosition(until, now) }),
    signal: io.signal,
  });
  try {
    await printer.printAll(consumer);
  } finally {
    await consumer.close();
  }
  return 0;
}
