/**
 * The options of every command that talks to a cluster.
 *
 * @module
 */

import { type ClientOptions, clientOptionTable } from "../client/client_options.ts";
import { type ConsumerOptions, consumerOptionTable } from "../consumer/consumer_options.ts";
import { optionsFromProperties, unknownOption } from "../core/option_table.ts";
import { type ProducerOptions, producerOptionTable } from "../producer/producer_options.ts";
import { type CommandInput, type CommandIo, type CommandOption, UsageError } from "./command.ts";

/** Where the cluster is, and settings by Java's keys. */
export const clusterOptions: Readonly<Record<string, CommandOption>> = {
  bootstrap: { type: "string", short: "b", value: "HOST:PORT,…", help: "brokers to ask first; localhost:9092" },
  set: { type: "string", short: "X", multiple: true, value: "KEY=VALUE", help: "a setting by Java's key: linger.ms=5" },
  properties: { type: "string", value: "FILE", help: "settings from a Java properties file" },
};

/** Settings read from the call. */
export interface ClusterSettings {
  /** For the client. */
  readonly client: ClientOptions;
  /** For a producer. */
  readonly producer: ProducerOptions;
  /** For a consumer. */
  readonly consumer: Partial<ConsumerOptions>;
}

/**
 * Reads `--bootstrap`, `--set` and `--properties`; the environment comes after the call, the default last.
 *
 * @throws UsageError, ConfigError
 */
export async function clusterSettings(io: CommandIo, input: CommandInput): Promise<ClusterSettings> {
  const properties = new Map<string, string>();
  const file = input.text("properties");
  if (file !== undefined) {
    for (const [key, value] of parseProperties(await io.readText(file))) properties.set(key, value);
  }
  for (const pair of input.texts("set")) {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--set ${pair}: expected KEY=VALUE, such as linger.ms=5`);
    properties.set(pair.slice(0, at), pair.slice(at + 1));
  }
  const bootstrap = input.text("bootstrap") ?? properties.get("bootstrap.servers") ?? io.env.ANYKAFKA_BOOTSTRAP ??
    "localhost:9092";
  properties.set("bootstrap.servers", bootstrap);
  const client = optionsFromProperties("client", clientOptionTable, properties);
  const producer = optionsFromProperties("producer", producerOptionTable, properties);
  const consumer = optionsFromProperties("consumer", consumerOptionTable, properties);
  for (const key of properties.keys()) {
    const tables = [clientOptionTable, producerOptionTable, consumerOptionTable];
    throw unknownOption("--set", key, tables.flatMap((table) => Object.values(table).map((row) => row.key)));
  }
  return { client, producer, consumer };
}

/** The pairs of a Java properties file: `key=value` or `key: value`, `#` and `!` begin comments. */
export function parseProperties(text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const line of text.replace(/\\\r?\n\s*/g, "").split(/\r?\n/)) {
    const match = /^\s*([^#!\s=:][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$/.exec(line);
    if (match !== null) pairs.set(match[1]!, match[2]!);
  }
  return pairs;
}
