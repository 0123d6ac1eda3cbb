// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * `npm run bench -- produce --bootstrap HOST:PORT [--peer NAME]… [--workload NAME]… [--rounds 3] [--set lingerMs=5]…
 * [--runtime node|deno|bun]`: ours and the peers under the same loads, one after the other in each round, each in a process of
 * its own. Peers: kafkajs, platformatic, kafka-ts, rdkafka (npm packages, installed under `.cache/peers` when asked for; the
 * last over the system's librdkafka-dev) and java (Kafka's ProducerPerformance). Makes the topics it needs.
 *
 * @module
 */

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { Kafka } from "../../mod.ts";
import { root } from "../runner.ts";
import { measureJava } from "./java_producer.ts";
import type { ProduceFigures } from "./produce_client.ts";
import { PEER_PACKAGES } from "./producers.ts";
import { type Workload, WORKLOADS } from "./workloads.ts";

/** How the runtimes start the client. */
export const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  node: ["node"],
  deno: ["deno", "run", "-A", "--no-check"],
  bun: ["bun"],
};
/** Share of the records that a client gets which is tens to hundreds of times slower. */
const SHARES: Readonly<Record<string, number>> = {
  kafkajs: 0.015,
  platformatic: 0.015,
  "kafka-ts": 0.15,
  rdkafka: 0.25,
};
const PEERS = join(root, ".cache", "peers");

/** Runs it. */
export async function benchProduce(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bootstrap: { type: "string", default: "127.0.0.1:9092" },
      peer: { type: "string", multiple: true, default: [] },
      workload: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "3" },
      runtime: { type: "string", multiple: true, default: [] },
      set: { type: "string", multiple: true, default: [] },
    },
  });
  const names = values.workload.length > 0 ? values.workload : Object.keys(WORKLOADS);
  const runtimes = values.runtime.length > 0 ? values.runtime : ["node"];
  const options = JSON.stringify(settings(values.set));
  installPeers(values.peer);
  for (const name of names) {
    const workload = WORKLOADS[name];
    if (workload === undefined) throw new Error(`no workload ${name}: ${Object.keys(WORKLOADS).join(", ")}`);
    const topic = await topicFor(values.bootstrap, workload);
    const clients = [...runtimes.map((runtime) => ({ label: `anykafka (${runtime})`, name: "anykafka", runtime }))];
    for (const peer of values.peer) clients.push({ label: peer, name: peer, runtime: "node" });
    const figures = new Map<string, ProduceFigures[]>(clients.map(({ label }) => [label, []]));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const { label, name: client, runtime } of clients) {
        const figure = client === "java"
          ? await measureJava(values.bootstrap, topic, workload)
          : await measure(runtime, [client, name, values.bootstrap, topic, `${SHARES[client] ?? 1}`, PEERS, options]);
        if (figure !== undefined) figures.get(label)!.push(figure);
      }
    }
    report(name, figures);
  }
}

function report(name: string, figures: ReadonlyMap<string, readonly ProduceFigures[]>): void {
  console.log(`\n${name}`);
  let ours: number | undefined;
  for (const [label, rounds] of figures) {
    if (rounds.length === 0) {
      console.log(`  ${label.padEnd(18)} cannot`);
      continue;
    }
    const cpu = median(rounds.map(({ cpuMicros }) => cpuMicros));
    ours ??= cpu;
    const latency = rounds[0]!.latency === undefined
      ? ""
      : `, p50 ${median(rounds.map(({ latency }) => latency!.p50)).toFixed(3)} ms, p99 ${
        median(rounds.map(({ latency }) => latency!.p99)).toFixed(3)
      } ms`;
    const stalls = rounds.flatMap(({ stallMs }) => stallMs ?? []);
    const stall = stalls.length === 0 ? "" : `, longest stall ${median(stalls).toFixed(1)} ms`;
    const spread = rounds.map(({ cpuMicros }) => cpuMicros.toFixed(2)).join(" ");
    console.log(
      `  ${label.padEnd(18)} ${cpu.toFixed(2)} µs CPU a record (${spread}), ${
        Math.round(median(rounds.map(({ perSecond }) => perSecond)) / 1000)
      } k/s, RSS ${Math.round(median(rounds.map(({ rssMegabytes }) => rssMegabytes)))} MB, × ${
        (cpu / ours).toFixed(2)
      }${latency}${stall}`,
    );
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** A client's figures; undefined when it cannot carry the load. */
async function measure(runtime: string, args: readonly string[]): Promise<ProduceFigures | undefined> {
  const [program, ...flags] = RUNTIMES[runtime] ?? [];
  if (program === undefined) throw new Error(`no runtime ${runtime}: ${Object.keys(RUNTIMES).join(", ")}`);
  const tools = join(root, "node_modules", ".bin");
  // A peer with native code was built for the Node that npm runs on, which may be too old for TypeScript.
  const isNative = args[0] === "rdkafka";
  const path = isNative ? process.env["PATH"]!.replaceAll(`${tools}:`, "") : `${tools}:${process.env["PATH"]}`;
  const script = join(root, "tools", "bench", "produce_client.ts");
  const child = spawn(program, [...flags, isNative ? await bundled(script) : script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: path },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text) => out += text);
  child.stderr.on("data", (text) => err += text);
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code === 0) return JSON.parse(out.trim().split("\n").at(-1)!);
  console.log(`  ${args[0]}: ${err.split("\n").find((line) => line.includes("Error")) ?? `ended with code ${code}`}`);
  return undefined;
}

/** The script as one file of plain JavaScript. */
async function bundled(script: string): Promise<string> {
  const outfile = join(PEERS, "produce_client.mjs");
  await build({ entryPoints: [script], bundle: true, platform: "node", format: "esm", outfile, logLevel: "error" });
  return outfile;
}

async function topicFor(bootstrap: string, { partitions }: Workload): Promise<string> {
  const topic = `bench-${partitions}`;
  const admin = new Kafka({ bootstrapServers: bootstrap }).admin();
  try {
    await admin.createTopics([{
      topic,
      partitions,
      configs: { "retention.bytes": "268435456", "segment.bytes": "67108864" },
    }]);
  } catch (error) {
    if ((error as { code?: string }).code !== "TOPIC_ALREADY_EXISTS") throw error;
  } finally {
    await admin.close();
  }
  return topic;
}

function installPeers(peers: readonly string[]): void {
  const missing = peers.flatMap((peer) => {
    const name = PEER_PACKAGES[peer];
    return name === undefined || existsSync(join(PEERS, "node_modules", name)) ? [] : [name];
  });
  if (missing.length === 0) return;
  mkdirSync(PEERS, { recursive: true });
  if (!existsSync(join(PEERS, "package.json"))) writeFileSync(join(PEERS, "package.json"), '{ "private": true }\n');
  const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund", ...missing], {
    cwd: PEERS,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, BUILD_LIBRDKAFKA: "0" },
  });
  if (status !== 0) throw new Error(`npm could not install ${missing.join(", ")}`);
}

function settings(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map((pair) => {
    const [name, text] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    return [name, /^(\d+|true|false)$/.test(text) ? JSON.parse(text) : text];
  }));
}
