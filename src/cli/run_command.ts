/**
 * Runs one call of `anykafka`: finds the command, reads its options, shows help, and turns errors into messages and exit
 * codes: 0 done, 1 failed, 2 wrong usage, 3 the answer is bad, 130 interrupted.
 *
 * @module
 */

import { AbortedError, KafkaError } from "../core/kafka_error.ts";
import { nearest } from "../core/nearest.ts";
import { type Command, type CommandInput, type CommandIo, type CommandOption, UsageError } from "./command.ts";
import { commandTable } from "./command_table.ts";

/** This library's version. */
export const VERSION = "0.1.0";

const INTERRUPTED = 130;

/** Runs the call with these words; answers the exit code. */
export async function runCommand(io: CommandIo, words: readonly string[]): Promise<number> {
  try {
    return await dispatch(io, words);
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`anykafka: ${error.message}\n`);
      return 2;
    }
    if (io.signal.aborted && (error instanceof AbortedError || error === io.signal.reason)) return INTERRUPTED;
    const code = error instanceof KafkaError ? ` [${error.code}]` : "";
    io.err(`anykafka: ${error instanceof Error ? error.message : String(error)}${code}\n`);
    return error instanceof KafkaError && ["INVALID_CONFIG", "UNKNOWN_OPTION"].includes(error.code) ? 2 : 1;
  }
}

async function dispatch(io: CommandIo, words: readonly string[]): Promise<number> {
  const [first, second] = words;
  if (first === undefined || first === "help" || first === "--help" || first === "-h") {
    await io.out(overview());
    return first === undefined ? 2 : 0;
  }
  if (first === "--version") {
    await io.out(`${VERSION}\n`);
    return 0;
  }
  if (first === "--help-json") {
    await io.out(`${JSON.stringify(await wholeTree())}\n`);
    return 0;
  }
  const names = [...commandTable.keys()];
  const name = [first, `${first} ${second ?? ""}`].find((candidate) => commandTable.has(candidate));
  if (name === undefined) {
    const group = names.filter((candidate) => candidate.startsWith(`${first} `));
    if (group.length > 0) {
      if (second === "--help" || second === "-h") {
        await io.out(group.map((line) => `  ${line.padEnd(16)}${commandTable.get(line)!.summary}\n`).join(""));
        return 0;
      }
      throw new UsageError(`${first} what? ${group.map((line) => line.slice(first.length + 1)).join(", ")}`);
    }
    const meant = nearest(first, names.map((line) => line.split(" ")[0]!));
    throw new UsageError(
      `no command ${first}${meant === undefined ? "; see anykafka --help" : `; did you mean ${meant}?`}`,
    );
  }
  const command = await commandTable.get(name)!.load();
  const rest = words.slice(name.split(" ").length);
  if (rest.includes("--help") || rest.includes("-h")) {
    await io.out(helpOf(name, command));
    return 0;
  }
  return await command.run(io, parseInput(name, command, rest));
}

/** Reads the options of a call: `--name value`, `--name=value`, `-n value`; `--` ends them. */
export function parseInput(name: string, command: Command, words: readonly string[]): CommandInput {
  const values = new Map<string, string[]>();
  const rest: string[] = [];
  const byShort = new Map(Object.entries(command.options).flatMap(([long, { short }]) => short ? [[short, long]] : []));
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === "--") {
      rest.push(...words.slice(i + 1));
      break;
    }
    // A negative number is a word, as in `--from -100`, where it is a value anyway.
    if (!word.startsWith("-") || word === "-" || /^-\d/.test(word)) {
      rest.push(word);
      continue;
    }
    const [flag, inline] = splitOnce(word);
    const long = flag.startsWith("--") ? flag.slice(2) : byShort.get(flag.slice(1)) ?? flag.slice(1);
    const option = Object.hasOwn(command.options, long) ? command.options[long] : undefined;
    if (option === undefined) throw unknownFlag(name, flag, command);
    let value = inline;
    if (option.type === "string") {
      value ??= words[++i];
      if (value === undefined) {
        throw new UsageError(`${name}: ${flag} needs a value: ${flag} ${option.value ?? "VALUE"}`);
      }
    } else if (inline !== undefined) throw new UsageError(`${name}: ${flag} takes no value`);
    const given = values.get(long);
    if (given !== undefined && option.multiple !== true) throw new UsageError(`${name}: ${flag} is given twice`);
    values.set(long, [...given ?? [], value ?? "true"]);
  }
  const [least, most] = command.wordCount;
  if (rest.length < least || rest.length > most) {
    throw new UsageError(
      `${name}: expected ${command.words || "no words"}, got ${rest.length}: anykafka ${name} --help`,
    );
  }
  return {
    text: (option) => values.get(option)?.[0],
    texts: (option) => values.get(option) ?? [],
    flag: (option) => values.has(option),
    words: rest,
  };
}

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function unknownFlag(name: string, flag: string, command: Command): UsageError {
  const meant = nearest(flag.replace(/^-+/, ""), Object.keys(command.options));
  return new UsageError(`${name}: no option ${flag}${meant === undefined ? "" : `; did you mean --${meant}?`}`);
}

function overview(): string {
  const lines = [...commandTable].map(([name, { summary }]) => `  ${name.padEnd(16)}${summary}`);
  return [
    "anykafka demo                              # see it work, without a cluster",
    "anykafka produce orders < lines.txt",
    "anykafka consume orders --from start --until end -o json",
    "",
    "Commands:",
    ...lines,
    "",
    "anykafka COMMAND --help shows a command's options; --help-json the whole tree; --version the version.",
    "Where the cluster is: --bootstrap HOST:PORT, or ANYKAFKA_BOOTSTRAP in the environment; localhost:9092 otherwise.",
    "",
  ].join("\n");
}

function helpOf(name: string, command: Command): string {
  const options = Object.entries(command.options).map(([long, option]) => {
    const left = `  ${option.short === undefined ? "   " : `-${option.short},`} --${long} ${option.value ?? ""}`;
    return `${left.padEnd(34)} ${option.help}`;
  });
  return [
    ...command.examples.map((example) => `anykafka ${example}`),
    "",
    `anykafka ${name} ${command.words}: ${commandTable.get(name)!.summary}`,
    "",
    ...options,
    "",
  ].join("\n");
}

async function wholeTree(): Promise<unknown> {
  const commands: Record<string, unknown> = {};
  for (const [name, { summary, load }] of commandTable) {
    const { words, examples, options } = await load();
    commands[name] = { summary, words, examples, options: options as Record<string, CommandOption> };
  }
  return { name: "anykafka", version: VERSION, commands };
}
