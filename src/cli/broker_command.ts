/**
 * `anykafka broker`: runs the embedded broker until it is interrupted.
 *
 * @module
 */

import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";

/** The command. */
export const brokerCommand: Command = {
  words: "",
  wordCount: [0, 0],
  examples: ["broker --port 9092 --data kafka-data --topic orders:3"],
  options: {
    port: { type: "string", value: "PORT", help: "port to listen on; 9092, 0 for a free one" },
    host: { type: "string", value: "HOST", help: "address to listen on; 127.0.0.1" },
    data: { type: "string", value: "DIR", help: "folder for the log directory; in memory without it" },
    topic: { type: "string", multiple: true, value: "NAME:PARTITIONS", help: "a topic to make" },
  },
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const port = input.text("port") ?? "9092";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) throw new UsageError(`--port ${port}: expected 0 to 65535`);
  const topics = Object.fromEntries(
    input.texts("topic").map((text) => {
      const match = /^([\w.-]+)(?::(\d+))?$/.exec(text);
      if (match === null || match[2] === "0") throw new UsageError(`--topic ${text}: expected NAME or NAME:PARTITIONS`);
      return [match[1]!, Number(match[2] ?? 1)];
    }),
  );
  const data = input.text("data");
  const broker = await io.startBroker({
    host: input.text("host") ?? "127.0.0.1",
    port: Number(port),
    topics,
    ...(data === undefined ? {} : { data }),
  });
  io.err(
    `broker for development and tests at ${broker.bootstrapServers}, ${
      data === undefined ? "in memory" : `data in ${data}`
    }\n`,
  );
  try {
    if (!io.signal.aborted) {
      await new Promise<void>((resolve) => io.signal.addEventListener("abort", () => resolve(), { once: true }));
    }
  } finally {
    await broker.close();
  }
  io.err("broker stopped\n");
  return 0;
}
