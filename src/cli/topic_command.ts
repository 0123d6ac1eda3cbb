/**
 * `anykafka topic list|create|describe|delete`.
 *
 * @module
 */

import type { Admin } from "../admin/admin.ts";
import { clusterOptions, clusterSettings } from "./cluster_options.ts";
import { type Command, type CommandInput, type CommandIo, type CommandOption, UsageError } from "./command.ts";
import { table } from "./table.ts";
import { textOrJson } from "./text_or_json.ts";

const json: CommandOption = {
  type: "string",
  short: "o",
  value: "text|json",
  help: "a table, or a JSON object a line",
};

async function withAdmin(io: CommandIo, input: CommandInput, run: (admin: Admin) => Promise<void>): Promise<number> {
  const { client } = await clusterSettings(io, input);
  const admin = io.kafka(client).admin();
  try {
    await run(admin);
  } finally {
    await admin.close();
  }
  return 0;
}

function wholeNumber(input: CommandInput, name: string): number | undefined {
  const text = input.text(name);
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text) || Number(text) < 1) {
    throw new UsageError(`--${name} ${text}: expected a number of at least 1`);
  }
  return Number(text);
}

/** `topic list`. */
export const topicListCommand: Command = {
  words: "",
  wordCount: [0, 0],
  examples: ["topic list", "topic list --internal -o json"],
  options: { ...clusterOptions, output: json, internal: { type: "boolean", help: "Kafka's own topics, too" } },
  run: (io, input) =>
    withAdmin(io, input, async (admin) => {
      const topics = await admin.listTopics({ internal: input.flag("internal"), signal: io.signal });
      const rows = topics.sort((a, b) => a.name < b.name ? -1 : 1);
      await io.out(
        textOrJson(input) === "json"
          ? rows.map((topic) => `${JSON.stringify(topic)}\n`).join("")
          : table(io, ["topic", "partitions"], rows.map((topic) => [topic.name, String(topic.partitionCount)])),
      );
    }),
};

/** `topic create`. */
export const topicCreateCommand: Command = {
  words: "TOPIC",
  wordCount: [1, 1],
  examples: ["topic create orders -p 6", "topic create orders -p 6 -r 3 -c retention.ms=86400000"],
  options: {
    ...clusterOptions,
    partitions: { type: "string", short: "p", value: "N", help: "partitions; the broker's default when absent" },
    replication: { type: "string", short: "r", value: "N", help: "replicas; the broker's default when absent" },
    config: { type: "string", short: "c", multiple: true, value: "KEY=VALUE", help: "a config of the topic" },
  },
  run: (io, input) =>
    withAdmin(io, input, async (admin) => {
      const topic = input.words[0]!;
      const partitions = wholeNumber(input, "partitions");
      const replicationFactor = wholeNumber(input, "replication");
      const configs = Object.fromEntries(
        input.texts("config").map((pair) => {
          const at = pair.indexOf("=");
          if (at < 1) throw new UsageError(`--config ${pair}: expected KEY=VALUE`);
          return [pair.slice(0, at), pair.slice(at + 1)];
        }),
      );
      await admin.createTopics([{
        topic,
        ...(partitions === undefined ? {} : { partitions }),
        ...(replicationFactor === undefined ? {} : { replicationFactor }),
        configs,
      }], { signal: io.signal });
      io.err(`topic ${topic} created\n`);
    }),
};

/** `topic describe`. */
export const topicDescribeCommand: Command = {
  words: "TOPIC…",
  wordCount: [1, Infinity],
  examples: ["topic describe orders", "topic describe orders -o json"],
  options: { ...clusterOptions, output: json },
  run: (io, input) =>
    withAdmin(io, input, async (admin) => {
      const topics = await admin.describeTopics(input.words, { signal: io.signal });
      if (textOrJson(input) === "json") {
        return await io.out(topics.map((topic) => `${JSON.stringify(topic)}\n`).join(""));
      }
      const rows: string[][] = [];
      for (const topic of topics) {
        const offsets = async (at: "earliest" | "latest") =>
          new Map((await admin.listOffsets(topic.name, at, { signal: io.signal })).map((o) => [o.partition, o.offset]));
        const [first, last] = await Promise.all([offsets("earliest"), offsets("latest")]);
        for (const { partition, leader, replicas, isr } of topic.partitions) {
          rows.push([
            topic.name,
            partition,
            leader,
            replicas.join(","),
            isr.join(","),
            first.get(partition) ?? "-",
            last.get(partition) ?? "-",
          ].map(String));
        }
      }
      await io.out(table(io, ["topic", "partition", "leader", "replicas", "isr", "first", "end"], rows));
    }),
};

/** `topic delete`. */
export const topicDeleteCommand: Command = {
  words: "TOPIC…",
  wordCount: [1, Infinity],
  examples: ["topic delete orders --yes"],
  options: { ...clusterOptions, yes: { type: "boolean", help: "delete without asking" } },
  run: (io, input) =>
    withAdmin(io, input, async (admin) => {
      const names = input.words.join(", ");
      if (!input.flag("yes")) {
        if (!io.errIsTerminal) throw new UsageError(`topic delete: would delete ${names}; say --yes to do it`);
        io.err(`delete ${names} and every record in it? [y/N] `);
        for await (const answer of io.lines()) {
          if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError("nothing deleted");
          break;
        }
      }
      await admin.deleteTopics(input.words, { signal: io.signal });
      io.err(`deleted ${names}\n`);
    }),
};
