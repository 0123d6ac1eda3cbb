/**
 * A real Apache Kafka on loopback, from the command line: `npx node tools/kafka.ts --help`. In code: `kafka/kafka_cluster.ts`.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { writeClassArchive } from "./kafka/class_archive.ts";
import { listenersOf } from "./kafka/cluster_layout.ts";
import { type CommandLine, type CommandOptions, parseCommandLine, usage } from "./kafka/command_line.ts";
import { KafkaCluster, type KafkaClusterOptions } from "./kafka/kafka_cluster.ts";
import { KafkaDistribution } from "./kafka/kafka_distribution.ts";
import { LauncherError } from "./kafka/launcher_error.ts";

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const tell = (line: string): boolean => process.stderr.write(`kafka: ${line}\n`);

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === "--help" || args[0] === "help") {
    print(usage.trimEnd());
    return 0;
  }
  let line: CommandLine;
  try {
    line = parseCommandLine(args);
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    tell(error.message);
    return 2;
  }
  try {
    return await execute(line);
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    tell(error.message);
    return 1;
  }
}

async function execute({ command, options, rest }: CommandLine): Promise<number> {
  switch (command) {
    case "fetch": {
      const distribution = new KafkaDistribution({ ...pick(options), onProgress: tell });
      await distribution.fetch();
      print(distribution.libs);
      return 0;
    }
    case "archive":
      print(await writeClassArchive(options.version));
      return 0;
    case "start":
      return await start(options);
    case "run":
      return await run(options, rest);
    case "tool": {
      const [className, ...args] = rest;
      const result = await find(options).tool(className!, args, {
        ...(options.stdin ? { stdin: await readStdin() } : {}),
        // A person has Ctrl-C.
        timeoutMs: 2 ** 31 - 1,
      });
      process.stdout.write(result.stdout);
      process.stderr.write(result.stderr);
      return result.code;
    }
    case "status":
      for (const { id, pid, sees, ports } of await find(options).status()) {
        const state = pid === undefined ? "down" : `pid ${pid}, ${sees ? `sees ${sees.join(",")}` : "does not answer"}`;
        print(`node ${id}: ${state}; ${Object.entries(ports).map(([name, port]) => `${name} ${port}`).join(", ")}`);
      }
      return 0;
    case "log":
      print(find(options).log(options.node!));
      return 0;
    case "kill":
    case "pause":
    case "resume":
    case "restart":
      await find(options)[command](options.node!);
      return 0;
  }
}

/** Starts a cluster and stops it when a signal comes. */
async function start(options: CommandOptions): Promise<number> {
  const stopping = nextSignal();
  const cluster = await KafkaCluster.start(startOptions(options));
  for (const listener of listenersOf(cluster.layout.secure)) print(`${listener} ${cluster.bootstrapFor(listener)}`);
  print(`KAFKA_DIR=${cluster.directory}`);
  tell("ready; Ctrl-C stops it");
  // Listening for signals keeps no event loop alive.
  const alive = setInterval(() => {}, 60_000);
  await stopping;
  clearInterval(alive);
  await cluster.stop();
  return 0;
}

/** Starts a cluster for one command. */
async function run(options: CommandOptions, [file, ...args]: readonly string[]): Promise<number> {
  const stopping = nextSignal();
  const cluster = await KafkaCluster.start({ ...startOptions(options), javaServer: true });
  const child = spawn(file!, args, { stdio: "inherit", env: { ...process.env, ...cluster.environment } });
  stopping.then(() => child.kill("SIGTERM"));
  const code = await new Promise<number>((resolve) => {
    child.on("error", (error) => {
      tell(`could not run ${file}: ${error.message}`);
      resolve(127);
    });
    child.on("close", (status, signal) => resolve(status ?? 128 + constants.signals[signal ?? "SIGKILL"]));
  });
  await cluster.stop({ keepLogs: code !== 0 });
  if (code !== 0) tell(`the command ended with code ${code}; the nodes' logs are in ${cluster.directory}`);
  return code;
}

/** The first signal that asks us to stop. A second one ends us at once, and the watchdog cleans up. */
function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    const onSignal = (): void => {
      for (const signal of signals) process.off(signal, onSignal);
      resolve();
    };
    for (const signal of signals) process.on(signal, onSignal);
  });
}

function find(options: CommandOptions): KafkaCluster {
  const directory = options.dir ?? process.env["KAFKA_DIR"];
  if (directory === undefined) throw new LauncherError("which cluster? --dir D, or KAFKA_DIR in the environment");
  return KafkaCluster.attach(directory);
}

function startOptions(options: CommandOptions): KafkaClusterOptions {
  const { dir, nodes, secure, set, feature, release, jvm } = options;
  return {
    onProgress: tell,
    ...pick(options),
    ...(dir === undefined ? {} : { directory: dir }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(secure === undefined ? {} : { secure }),
    ...(set === undefined ? {} : { settings: set }),
    ...(feature === undefined ? {} : { features: feature }),
    ...(release === undefined ? {} : { release }),
    ...(jvm === undefined ? {} : { jvm }),
  };
}

function pick({ version }: CommandOptions): { version?: string } {
  return version === undefined ? {} : { version };
}

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}
