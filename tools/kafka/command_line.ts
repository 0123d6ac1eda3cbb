/**
 * What the command line of `tools/kafka.ts` says, before anything is done.
 *
 * @module
 */
import { LauncherError } from "./launcher_error.ts";

/** A parsed command line. */
export interface CommandLine {
  /** The first word. */
  readonly command: Command;
  /** Options that were given. */
  readonly options: Readonly<CommandOptions>;
  /** What follows the options: the command of `run`, class and arguments of `tool`. */
  readonly rest: readonly string[];
}

/** All options there are. */
export interface CommandOptions {
  /** `--dir D` */
  dir?: string;
  /** `--nodes 3` */
  nodes?: number;
  /** `--secure` */
  secure?: boolean;
  /** `--set key=value`, repeated */
  set?: Record<string, string>;
  /** `--feature name=level`, repeated */
  feature?: Record<string, string>;
  /** `--release 3.9` */
  release?: string;
  /** `--jvm OPTION`, repeated */
  jvm?: string[];
  /** `--version 4.3.1` */
  version?: string;
  /** `--stdin` */
  stdin?: boolean;
  /** `--node N` */
  node?: number;
}

type OptionName = keyof CommandOptions;

const startOptions: readonly OptionName[] = ["dir", "nodes", "secure", "set", "feature", "release", "jvm", "version"];

/** A command's name. */
export type Command =
  | "fetch"
  | "archive"
  | "start"
  | "run"
  | "status"
  | "log"
  | "kill"
  | "pause"
  | "resume"
  | "restart"
  | "tool";

/** What a command takes: options, and what must follow them, if anything may. */
interface CommandForm {
  readonly options: readonly OptionName[];
  readonly rest?: string;
}

const commands: Readonly<Record<Command, CommandForm>> = {
  fetch: { options: ["version"] },
  archive: { options: ["version"] },
  start: { options: startOptions },
  run: { options: startOptions, rest: "-- COMMAND [ARGUMENT…]" },
  status: { options: ["dir"] },
  log: { options: ["dir", "node"] },
  kill: { options: ["dir", "node"] },
  pause: { options: ["dir", "node"] },
  resume: { options: ["dir", "node"] },
  restart: { options: ["dir", "node"] },
  tool: { options: ["dir", "stdin"], rest: "CLASS [ARGUMENT…]" },
};

/** What `--help` prints. */
export const usage =
  `A real Apache Kafka on loopback, for tests. Needs Java 17 or newer (a JDK); Maven once, for the jars.

  npx node tools/kafka.ts COMMAND [OPTION…]

  fetch                  fetch the jars into .cache/kafka (start and run do it by themselves)
  archive                make an archive of loaded classes, once: later starts take half the time
  start                  start a cluster; Ctrl-C stops it
  run -- COMMAND…        start, run COMMAND with KAFKA_BOOTSTRAP, KAFKA_DIR and KAFKA_LIBS set, stop; ends with COMMAND's exit code
  status                 what each node knows
  log --node N           the end of what a node logged
  kill --node N          kill -9
  pause, resume --node N freeze a node (SIGSTOP), let it go on
  restart --node N       clean shutdown, or nothing if it is down, and a new start
  tool CLASS [ARG…]      run a Java class of Kafka's jars or tools/kafka/java; an argument @ becomes the bootstrap list;
                         tool --stdin CLASS passes standard input on

For start and run:
  --nodes 1|3            how many nodes, each broker and controller (default 1)
  --dir D                keep everything in D (default: a temporary directory); a stopped cluster in D comes back
  --secure               SSL, MTLS, SASL_PLAINTEXT and SASL_SSL beside PLAINTEXT; users alice (alice-secret) and admin (admin-secret)
  --set KEY=VALUE        a broker setting; repeatable
  --feature NAME=LEVEL   a feature level to format with; repeatable
  --release 3.9          metadata version and features of an older release
  --jvm OPTION           a further option for the brokers' JVMs, such as --jvm -Xmx1g; repeatable
  --version V            version of Apache Kafka

Commands for a running cluster find it by --dir D or, within run, by KAFKA_DIR.
`;

/** Parses arguments; what is wrong with them is a {@linkcode LauncherError}. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const [command, ...words] = args;
  if (command === undefined) throw new LauncherError("a command is needed; --help lists them");
  if (!isCommand(command)) throw new LauncherError(`there is no command ${command}; --help lists them`);
  const { options: allowed, rest: restForm } = commands[command];
  const options: CommandOptions = {};
  while (words[0]?.startsWith("--") && words[0] !== "--") {
    const word = words.shift()!;
    const equals = word.indexOf("=");
    const name = word.slice(2, equals < 0 ? undefined : equals) as OptionName;
    if (!allowed.includes(name)) {
      throw new LauncherError(
        `${command} has no option --${name}; it takes ${allowed.map((other) => `--${other}`).join(", ")}`,
      );
    }
    if (name === "secure" || name === "stdin") {
      if (equals >= 0) throw new LauncherError(`--${name} takes no value`);
      options[name] = true;
      continue;
    }
    const value = equals < 0 ? words.shift() : word.slice(equals + 1);
    if (value === undefined) throw new LauncherError(`--${name} needs a value`);
    setOption(options, name, value);
  }
  if (words[0] === "--") words.shift();
  if (restForm !== undefined && words.length === 0) throw new LauncherError(`${command} needs ${restForm}`);
  if (restForm === undefined && words.length > 0) {
    throw new LauncherError(`${command} does not take ${words.join(" ")}`);
  }
  if (allowed.includes("node") && options.node === undefined) throw new LauncherError(`${command} needs --node N`);
  return { command, options, rest: words };
}

function isCommand(word: string): word is Command {
  return Object.hasOwn(commands, word);
}

function setOption(options: CommandOptions, name: Exclude<OptionName, "secure" | "stdin">, value: string): void {
  switch (name) {
    case "nodes":
    case "node":
      if (!/^[1-9]\d?$/.test(value)) throw new LauncherError(`--${name} needs a number from 1, not ${value}`);
      options[name] = Number(value);
      break;
    case "set":
    case "feature": {
      const equals = value.indexOf("=");
      if (equals < 1) throw new LauncherError(`--${name} needs NAME=VALUE, not ${value}`);
      (options[name] ??= {})[value.slice(0, equals)] = value.slice(equals + 1);
      break;
    }
    case "jvm":
      (options.jvm ??= []).push(value);
      break;
    default:
      options[name] = value;
  }
}
