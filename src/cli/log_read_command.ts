/**
 * `anykafka log read DIR`: prints the records of a partition directory, without a broker.
 *
 * @module
 */

import { Log } from "../log/log.ts";
import { parsePartitionFolder } from "../log/log_directory.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { printRecords, recordOutput, recordOutputOptions } from "./record_output.ts";

/** The command. */
export const logReadCommand: Command = {
  words: "DIR",
  wordCount: [1, 1],
  examples: ["log read kafka-data/orders-0 -o json", "log read kafka-data/orders-0 --from 350 --limit 10"],
  options: {
    ...recordOutputOptions,
    from: { type: "string", value: "OFFSET", help: "first offset" },
    until: { type: "string", value: "OFFSET", help: "first offset not wanted" },
  },
  run,
};

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const path = input.words[0]!;
  const output = recordOutput(input);
  const [from, until] = ["from", "until"].map((name) => {
    const text = input.text(name);
    if (text !== undefined && !/^\d+$/.test(text)) throw new UsageError(`--${name} ${text}: expected an offset`);
    return text === undefined ? undefined : Number(text);
  });
  const place = parsePartitionFolder(path.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1) ?? "");
  const log = await Log.open(await io.openFolder(path), { mode: "inspect", ...place });
  try {
    const range = {
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
      codecs: await io.codecs(),
    };
    await printRecords(io, log.records(range), output);
  } finally {
    await log.close();
  }
  return 0;
}
