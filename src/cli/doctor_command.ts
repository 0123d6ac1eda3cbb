/**
 * `anykafka doctor`: connects step by step, as a client does, and says at which step it fails and what to do.
 *
 * @module
 */

import { bootstrapServers, type HostPort, hostPortText } from "../client/bootstrap_servers.ts";
import { type KafkaError, TimeoutError } from "../core/kafka_error.ts";
import { clusterOptions, clusterSettings } from "./cluster_options.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";

const STEP_TIMEOUT_MS = 5000;

/** The command. */
export const doctorCommand: Command = {
  words: "",
  wordCount: [0, 0],
  examples: ["doctor --bootstrap localhost:9092"],
  options: clusterOptions,
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const { client } = await clusterSettings(io, input);
  const servers = bootstrapServers(client.bootstrapServers);
  let reachable = 0;
  for (const server of servers) {
    if (await step(io, `connect to ${hostPortText(server)}`, () => openAndClose(io, server))) reachable++;
  }
  if (reachable === 0) {
    io.err(
      "No bootstrap server can be reached. Is the broker running, and is the port that of a listener for clients?\n",
    );
    return 3;
  }
  const admin = io.kafka({ ...client, defaultApiTimeoutMs: STEP_TIMEOUT_MS, requestTimeoutMs: STEP_TIMEOUT_MS })
    .admin();
  try {
    let brokers: readonly { readonly id: number; readonly host: string; readonly port: number }[] = [];
    const asked = await step(io, "ask for versions and metadata", async () => {
      brokers = await admin.brokers({ signal: io.signal });
      return `${brokers.length} brokers`;
    });
    if (!asked) {
      io.err("The port is open but does not answer as Kafka does. A TLS listener needs --set security.protocol=SSL.\n");
      return 3;
    }
    let bad = 0;
    for (const broker of brokers) {
      const where = `connect to broker ${broker.id} as it advertises itself: ${hostPortText(broker)}`;
      if (!await step(io, where, () => openAndClose(io, broker))) bad++;
    }
    if (bad > 0) {
      io.err("Clients go to the advertised addresses. Set advertised.listeners to names that resolve here.\n");
      return 3;
    }
    const listed = await step(
      io,
      "list the topics",
      async () => `${(await admin.listTopics({ signal: io.signal })).length} topics`,
    );
    return listed ? 0 : 3;
  } finally {
    await admin.close();
  }
}

async function openAndClose(io: CommandIo, { host, port }: HostPort): Promise<string> {
  const late = new AbortController();
  const timer = io.clock.setTimer(
    STEP_TIMEOUT_MS,
    () => late.abort(new TimeoutError(`no connection within ${STEP_TIMEOUT_MS} ms`, { host, port })),
  );
  try {
    (await io.connect(host, port, { signal: late.signal })).close();
    return "";
  } finally {
    timer.cancel();
  }
}

/** Runs one step and prints how it went. */
async function step(io: CommandIo, what: string, run: () => Promise<string>): Promise<boolean> {
  const start = io.clock.now();
  try {
    const result = await run();
    const ms = Math.round(io.clock.now() - start);
    await io.out(`ok    ${what}${result === "" ? "" : `: ${result}`} (${ms} ms)\n`);
    return true;
  } catch (error) {
    const { code, message } = error as KafkaError;
    await io.out(`FAIL  ${what}: ${message} [${code}]\n`);
    return false;
  }
}
