/**
 * A real Apache Kafka on loopback: one or three KRaft nodes, each broker and controller, in a directory of their own.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  bootstrapOf,
  clusterFiles,
  type ClusterLayout,
  type Listener,
  listenersOf,
  type NodeLayout,
  portOf,
  readLayout,
  writeLayout,
} from "./cluster_layout.ts";
import { freePortBlocks } from "./free_ports.ts";
import { findJavaProgram, jvmArguments, type JvmOptions, markPrefix, requireJava } from "./java_runtime.ts";
import { callJavaServer, readJavaServerAddress, type ToolOptions, type ToolResult } from "./java_server.ts";
import { runJavaTool } from "./java_tool.ts";
import { KafkaDistribution } from "./kafka_distribution.ts";
import { LauncherError } from "./launcher_error.ts";
import { findByArgument, sendSignal } from "./processes.ts";
import { type Properties, propertiesText } from "./properties.ts";
import { scramArguments, writeCertificates, writeClientProperties } from "./security.ts";
import { serverProperties } from "./server_properties.ts";
import { visibleBrokers } from "./visible_brokers.ts";

/** What to start. */
export interface KafkaClusterOptions {
  /** How many nodes: 1 or 3. Default: 1. */
  readonly nodes?: number;
  /** Where data, logs and properties go. Default: a new temporary directory, whose data goes when the cluster stops. */
  readonly directory?: string;
  /** Listeners SSL, MTLS, SASL_PLAINTEXT and SASL_SSL beside PLAINTEXT, users and an authorizer. Default: false. */
  readonly secure?: boolean;
  /** Broker settings that win over the launcher's, on every node. */
  readonly settings?: Properties;
  /** Feature levels to format with, such as `{ "transaction.version": "0" }`. Default: the version's newest. */
  readonly features?: Properties;
  /** Formats with the metadata version and features of this release, such as `"3.9"`. */
  readonly release?: string;
  /** Further options for the brokers' JVMs, such as `["-Xmx1g"]`. */
  readonly jvm?: readonly string[];
  /** Apache Kafka's version. Default: the one the tests run against. */
  readonly version?: string;
  /** Starts the JVM for {@linkcode KafkaCluster.tool} at once, for other processes to use. Default: false, at the owner's first use. */
  readonly javaServer?: boolean;
  /** How long the nodes may take to be ready. Default: 90,000. */
  readonly timeoutMs?: number;
  /** Told what takes long. Default: nobody. */
  readonly onProgress?: (message: string) => void;
}

/** One node as it is now. */
export interface NodeStatus {
  /** Its `node.id`. */
  readonly id: number;
  /** Its process, or undefined when it is down. */
  readonly pid: number | undefined;
  /** The brokers it knows as ready, or undefined when it does not answer. */
  readonly sees: readonly number[] | undefined;
  /** Its port for each listener. */
  readonly ports: Readonly<Partial<Record<Listener, number>>>;
}

/** Any UUID will do. */
const clusterId = "MkU3OEVBNTcwNTJENDM2Qg";

/**
 * A running cluster. {@linkcode KafkaCluster.start} makes one and owns it: when the owner's process is gone, however it died, a watchdog kills the
 * nodes. {@linkcode KafkaCluster.attach} gives another process the same handle without owning it.
 */
export class KafkaCluster {
  /** Where data, logs and properties are. */
  readonly directory: string;
  /** Its nodes, listeners and ports. */
  readonly layout: ClusterLayout;
  readonly #distribution: KafkaDistribution;
  #watchdog: ChildProcess | undefined;
  #javaServer: Promise<void> | undefined;

  private constructor(directory: string, layout: ClusterLayout, distribution: KafkaDistribution) {
    this.directory = directory;
    this.layout = layout;
    this.#distribution = distribution;
  }

  /** Starts a cluster, or the stopped one of `directory`; resolves when every broker answers and knows all others. */
  static async start(options: KafkaClusterOptions = {}): Promise<KafkaCluster> {
    const count = options.nodes ?? 1;
    if (count !== 1 && count !== 3) throw new LauncherError(`a cluster has 1 or 3 nodes, not ${count}`);
    const given = options.directory === undefined ? undefined : path.resolve(options.directory);
    const stopped = given !== undefined && fs.existsSync(clusterFiles.layout(given))
      ? oldLayout(given, options)
      : undefined;
    const version = stopped?.kafkaVersion ?? options.version;
    const distribution = new KafkaDistribution({
      ...(version === undefined ? {} : { version }),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    });
    await requireJava();
    await distribution.fetch();
    const layout = stopped ?? await newLayout(options, distribution.version);
    const directory = given ?? fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "anykafka-cluster-"));
    const isNew = stopped === undefined;
    const cluster = new KafkaCluster(directory, layout, distribution);
    try {
      if (isNew) await cluster.#prepare(options);
      cluster.#startWatchdog();
      if (isNew) await cluster.#format(options);
      const ids = layout.nodes.map((node) => node.id);
      for (const id of ids) cluster.#launch(id);
      await Promise.all([
        cluster.waitUntilReady(ids, options.timeoutMs),
        options.javaServer ? cluster.startJavaServer() : undefined,
      ]);
    } catch (error) {
      await cluster.stop({ keepLogs: true });
      throw error;
    }
    return cluster;
  }

  /** A handle on the cluster that another process started in `directory`. */
  static attach(directory: string): KafkaCluster {
    const absolute = path.resolve(directory);
    const layout = readLayout(absolute);
    return new KafkaCluster(absolute, layout, new KafkaDistribution({ version: layout.kafkaVersion }));
  }

  /** `host:port,…` of all nodes for clients without TLS and login. */
  get bootstrap(): string {
    return this.bootstrapFor("PLAINTEXT");
  }

  /** `host:port,…` of all nodes for one listener. */
  bootstrapFor(listener: Listener): string {
    if (!listenersOf(this.layout.secure).includes(listener)) {
      throw new LauncherError(`there is no listener ${listener}: the cluster was not started with secure (--secure)`);
    }
    return bootstrapOf(this.layout.nodes, listener);
  }

  /** What a command needs to find the cluster. */
  get environment(): Record<string, string> {
    return { KAFKA_BOOTSTRAP: this.bootstrap, KAFKA_DIR: this.directory, KAFKA_LIBS: this.#distribution.libs };
  }

  /** The folder with `ca.pem`, `client.pem`, `client.key`, … of a secure cluster. */
  get certificates(): string {
    return clusterFiles.certificates(this.directory);
  }

  /** The directory of one partition's segment files on a node. */
  partitionDirectory(topic: string, partition: number, node = 1): string {
    return path.join(clusterFiles.nodeData(this.directory, node), `${topic}-${partition}`);
  }

  /** The last lines of what a node logged. */
  log(id: number, lines = 40): string {
    return tail(clusterFiles.log(this.directory, this.#node(id).id), lines);
  }

  /** Asks every node how it is. */
  status(): Promise<NodeStatus[]> {
    const listeners = listenersOf(this.layout.secure);
    return Promise.all(this.layout.nodes.map(async (node) => ({
      id: node.id,
      pid: this.#pid(node.id),
      sees: await visibleBrokers(portOf(node, "PLAINTEXT")),
      ports: Object.fromEntries(listeners.map((listener) => [listener, portOf(node, listener)])),
    })));
  }

  /** Kills a node, as `kill -9` does, and waits until it is gone. */
  async kill(id: number): Promise<void> {
    this.#signal(id, "SIGKILL");
    await this.#waitUntilGone(id, 10_000);
  }

  /** Freezes a node: its connections stay open and nothing answers. */
  pause(id: number): void {
    if (!this.#signal(id, "SIGSTOP")) throw new LauncherError(`node ${id} is down and cannot be paused`);
  }

  /** Lets a frozen node go on. */
  resume(id: number): void {
    if (!this.#signal(id, "SIGCONT")) throw new LauncherError(`node ${id} is down and cannot go on`);
  }

  /** Shuts a node down cleanly, its leaders move first; kills it if that takes longer than `graceMs`. */
  async stopNode(id: number, graceMs = 30_000): Promise<void> {
    this.#signal(id, "SIGTERM");
    // A frozen process sees the signal only when it goes on.
    this.#signal(id, "SIGCONT");
    if (await this.#waitUntilGone(id, graceMs)) return;
    await this.kill(id);
  }

  /** Starts a node that is down; resolves when it answers as an unfenced broker. After {@linkcode kill} that takes the session time-out (9 s) longer. */
  async startNode(id: number, timeoutMs?: number): Promise<void> {
    if (this.#pid(this.#node(id).id) !== undefined) throw new LauncherError(`node ${id} runs already`);
    this.#launch(id);
    await this.waitUntilReady([id], timeoutMs);
  }

  /** Shuts a node down, unless it is down, and starts it again on the same data and ports. */
  async restart(id: number, timeoutMs?: number): Promise<void> {
    await this.stopNode(id);
    await this.startNode(id, timeoutMs);
  }

  /** Resolves when each of these nodes answers and knows all of them as ready; rejects when one dies or time is up. */
  async waitUntilReady(ids: readonly number[], timeoutMs = 90_000): Promise<void> {
    const nodes = ids.map((id) => this.#node(id));
    const lastSeen = new Map(ids.map((id) => [id, Date.now()]));
    for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(100)) {
      for (const { id } of nodes) {
        // Between fork and exec a process does not have its own arguments yet, by which it is known; on a busy machine that lasts.
        if (this.#pid(id) !== undefined) lastSeen.set(id, Date.now());
        else if (Date.now() - lastSeen.get(id)! > DEATH_IS_CERTAIN_MS) {
          throw new LauncherError(`node ${id} died while it started; the end of its log:\n${this.log(id)}`);
        }
      }
      const seen = await Promise.all(nodes.map((node) => visibleBrokers(portOf(node, "PLAINTEXT"))));
      if (seen.every((brokers) => brokers !== undefined && ids.every((id) => brokers.includes(id)))) return;
    }
    const logs = ids.map((id) => `--- node ${id}\n${this.log(id, 15)}`).join("\n");
    throw new LauncherError(
      `nodes ${ids.join(", ")} were not ready within ${timeoutMs} ms; the ends of their logs:\n${logs}`,
    );
  }

  /**
   * Runs the main method of a class in Kafka's jars or `tools/kafka/java/`, such as `org.apache.kafka.tools.TopicCommand`; an argument that is
   * exactly `@` becomes the bootstrap list. The owner keeps a JVM for it, in which a tool costs 0.1 s; other processes use that one if it is
   * there, else a JVM of its own (2 s).
   */
  async tool(className: string, args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
    const replaced = args.map((arg) => arg === "@" ? this.bootstrap : arg);
    if (this.#watchdog !== undefined) await this.startJavaServer();
    const address = readJavaServerAddress(clusterFiles.javaServer(this.directory));
    const result = address === undefined ? undefined : await callJavaServer(address, className, replaced, options);
    return result ?? await runJavaTool(this.#distribution, className, replaced, options);
  }

  /** Starts the JVM for {@linkcode tool} ahead of its first use. */
  startJavaServer(): Promise<void> {
    return this.#javaServer ??= this.#launchJavaServer();
  }

  /**
   * Stops everything. A temporary directory is removed, but for its logs and properties with `keepLogs`. Nodes whose data is kept get `graceMs`
   * (default 5,000) for a clean shutdown: combined nodes that all go at once lose their quorum, and the last ones would wait for it for ever.
   */
  async stop(options: { readonly keepLogs?: boolean; readonly graceMs?: number } = {}): Promise<void> {
    const { temporary, nodes } = this.layout;
    const graceMs = options.graceMs ?? (temporary ? 0 : 5_000);
    await Promise.all(nodes.map(({ id }) => graceMs > 0 ? this.stopNode(id, graceMs) : this.kill(id)));
    // Thrice none, since one that has only just been forked is not seen (waitUntilReady).
    for (let quiet = 0; quiet < 3; quiet++) {
      for (const { pid } of findByArgument(`${markPrefix}${this.directory}${path.sep}`)) {
        sendSignal(pid, "SIGKILL");
        quiet = 0;
      }
      await sleep(50);
    }
    this.#watchdog?.stdin?.end("stopped\n");
    this.#watchdog = undefined;
    this.#javaServer = undefined;
    fs.rmSync(clusterFiles.javaServer(this.directory), { force: true });
    if (!temporary) return;
    fs.rmSync(options.keepLogs ? clusterFiles.data(this.directory) : this.directory, { recursive: true, force: true });
  }

  async #prepare(options: KafkaClusterOptions): Promise<void> {
    const { directory, layout } = this;
    fs.mkdirSync(clusterFiles.data(directory), { recursive: true });
    if (layout.secure) {
      await writeCertificates(this.certificates);
      writeClientProperties(directory, layout);
    }
    for (const node of layout.nodes) {
      const text = propertiesText(serverProperties(directory, layout, node, options.settings));
      fs.writeFileSync(clusterFiles.properties(directory, node.id), text);
    }
    writeLayout(directory, layout);
  }

  /** Writes the nodes' first metadata. A JVM start for each, so all at once. */
  async #format(options: KafkaClusterOptions): Promise<void> {
    const features = Object.entries(options.features ?? {}).flatMap((
      [name, level],
    ) => ["--feature", `${name}=${level}`]);
    await Promise.all(this.layout.nodes.map(async ({ id }) => {
      const { code, stdout, stderr } = await runJavaTool(this.#distribution, "kafka.tools.StorageTool", [
        ...["format", "-t", clusterId, "-c", clusterFiles.properties(this.directory, id), ...features],
        ...(options.release === undefined ? [] : ["--release-version", options.release]),
        ...(this.layout.secure ? scramArguments() : []),
      ]);
      if (code !== 0) throw new LauncherError(`formatting node ${id} failed with code ${code}:\n${stdout}${stderr}`);
    }));
  }

  #launch(id: number): void {
    const file = clusterFiles.properties(this.directory, id);
    this.#spawnJava(`node-${id}`, clusterFiles.log(this.directory, id), {
      logLevel: "warn",
      classPath: [this.#distribution.classPath],
      extra: this.layout.jvm,
    }, ["kafka.Kafka", file]);
  }

  async #launchJavaServer(): Promise<void> {
    const file = clusterFiles.javaServer(this.directory);
    const log = clusterFiles.javaServerLog(this.directory);
    // What a dead one left behind.
    fs.rmSync(file, { force: true });
    const programs = await this.#distribution.programs();
    const child = this.#spawnJava("java-server", log, {
      logLevel: "error",
      classPath: [this.#distribution.classPath, programs],
    }, ["JavaServer", file]);
    const end = Date.now() + 60_000;
    while (readJavaServerAddress(file) === undefined) {
      if (child.exitCode !== null || Date.now() > end) {
        throw new LauncherError(`the JVM for tools did not start:\n${tail(log, 40)}`);
      }
      await sleep(50);
    }
  }

  /** Detached, so that a Ctrl-C in the terminal reaches only us, and unreferenced, so that it keeps no event loop alive. */
  #spawnJava(
    name: string,
    log: string,
    jvm: Pick<JvmOptions, "classPath" | "logLevel" | "extra">,
    args: readonly string[],
  ): ChildProcess {
    const output = fs.openSync(log, "a");
    try {
      const mark = path.join(this.directory, name);
      const options = jvmArguments({ ...jvm, mark, archive: this.#distribution.archive });
      const child = spawn(findJavaProgram("java"), [...options, ...args], {
        detached: true,
        stdio: ["ignore", output, output],
      });
      child.on("error", () => {}); // seen as a process that is not there
      child.unref();
      return child;
    } finally {
      fs.closeSync(output);
    }
  }

  #startWatchdog(): void {
    const script = fileURLToPath(new URL("watchdog.ts", import.meta.url));
    const run = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
    const args = [...run, script, this.directory, this.layout.temporary ? "temporary" : "kept"];
    const log = fs.openSync(clusterFiles.watchdogLog(this.directory), "a");
    const child = spawn(process.execPath, args, { detached: true, stdio: ["pipe", log, log] });
    fs.closeSync(log);
    child.stdin?.on("error", () => {}); // it ended before us
    child.unref();
    (child.stdin as unknown as { unref?: () => void }).unref?.();
    this.#watchdog = child;
  }

  #node(id: number): NodeLayout {
    const node = this.layout.nodes.find((other) => other.id === id);
    if (node !== undefined) return node;
    throw new LauncherError(
      `there is no node ${id}; the cluster has ${this.layout.nodes.map((other) => other.id).join(", ")}`,
    );
  }

  #pid(id: number): number | undefined {
    const mark = `${markPrefix}${path.join(this.directory, `node-${id}`)}`;
    return findByArgument(mark).find(({ argument }) => argument === mark)?.pid;
  }

  #signal(id: number, signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): boolean {
    const pid = this.#pid(this.#node(id).id);
    if (pid !== undefined) sendSignal(pid, signal);
    return pid !== undefined;
  }

  async #waitUntilGone(id: number, timeoutMs: number): Promise<boolean> {
    for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(50)) {
      if (this.#pid(id) === undefined) return true;
    }
    return this.#pid(id) === undefined;
  }
}

/** A node not seen among the processes for so long is dead. */
const DEATH_IS_CERTAIN_MS = 3000;

async function newLayout(options: KafkaClusterOptions, kafkaVersion: string): Promise<ClusterLayout> {
  const ports = await freePortBlocks(options.nodes ?? 1);
  return {
    kafkaVersion,
    secure: options.secure ?? false,
    temporary: options.directory === undefined,
    jvm: options.jvm ?? [],
    nodes: ports.map((basePort, index) => ({ id: index + 1, basePort })),
  };
}

/** A stopped cluster comes back as it was, so nothing may be asked of it that only a new one can have. */
function oldLayout(directory: string, options: KafkaClusterOptions): ClusterLayout {
  if (findByArgument(`${markPrefix}${directory}${path.sep}`).length > 0) {
    throw new LauncherError(`a cluster runs in ${directory} already`);
  }
  const fixed = (["nodes", "secure", "settings", "features", "release", "jvm", "version"] as const)
    .filter((name) => options[name] !== undefined);
  if (fixed.length === 0) return readLayout(directory);
  throw new LauncherError(
    `${directory} holds a stopped cluster, which comes back as it was: leave out ${
      fixed.join(", ")
    }, or remove the directory to begin anew`,
  );
}

function tail(file: string, lines: number): string {
  if (!fs.existsSync(file)) return "(no log)";
  return fs.readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
