// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * `npm run bench -- steps --bootstrap HOST:PORT [--workload 100B]…`: what each step of sending costs, by the profiler of
 * Node.js: one line a step, in µs of the main thread a record. Run `bench.ts produce` before: it makes the topics.
 *
 * The profiler slows things down by a few percent, and time in functions of the engine counts for who called them.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "../runner.ts";
import type { ProduceFigures } from "./produce_client.ts";
import { WORKLOADS } from "./workloads.ts";

/** A profile as V8 writes it, as far as it is used. */
interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  /** Microseconds between two samples. */
  readonly timeDeltas: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
}

/** The steps in the order of a record's way; the first that fits counts. */
const STEPS: readonly (readonly [step: string, files: readonly string[], functions?: RegExp])[] = [
  ["the program that sends", ["/tools/bench/"]],
  ["metrics", ["metrics"]],
  ["settle: a promise and a RecordMetadata each", ["producer_batch", "record_metadata", "send_group"]],
  ["send: check, measure, choose the partition", ["producer/producer.ts", "sticky_", "utf8", "murmur2", "random"]],
  ["append: bytes into the batch", ["accumulator", "buffer_pool", "varint"], /^(append|copy)$/],
  ["seal: codec, header, checksum", ["record_batch_builder", "hash/", "compression/", "zlib"], /^wasm/],
  ["choose what leaves, take its answer", ["sender", "partition_queue", "client/cluster", "broker_node", "core/queue"]],
  ["request and answer in bytes", ["connection", "protocol/", "bytes/", "frame_reader", "transport/"]],
  ["socket and timers of the runtime", ["adapters/", "node:", "core/clock"], /^(writ|read)/],
  ["garbage collector", [], /^\(garbage collector\)$/],
  ["microtasks, the rest of the engine", [""]],
];

/** Runs it. */
export function benchSteps(args: readonly string[]): void {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bootstrap: { type: "string", default: "127.0.0.1:9092" },
      workload: { type: "string", multiple: true, default: [] },
    },
  });
  for (const name of values.workload.length > 0 ? values.workload : ["100B"]) {
    const workload = WORKLOADS[name];
    if (workload === undefined) throw new Error(`no workload ${name}: ${Object.keys(WORKLOADS).join(", ")}`);
    const { figures, profile } = profiled(name, values.bootstrap, `bench-${workload.partitions}`);
    report(name, figures, profile, workload.records);
  }
}

function profiled(workload: string, bootstrap: string, topic: string): { figures: ProduceFigures; profile: Profile } {
  const folder = mkdtempSync(join(tmpdir(), "anykafka-steps-"));
  try {
    const client = join(root, "tools", "bench", "produce_client.ts");
    const flags = ["--cpu-prof", "--cpu-prof-interval=200", `--cpu-prof-dir=${folder}`];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...flags, client, "anykafka", workload, bootstrap, topic, "1", folder],
      { encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`the client ended with code ${status}: ${stderr}`);
    const [file] = readdirSync(folder);
    const profile: Profile = JSON.parse(readFileSync(join(folder, file!), "utf8"));
    return { figures: JSON.parse(stdout.trim()), profile };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function report(name: string, figures: ProduceFigures, profile: Profile, records: number): void {
  const { nodes, samples, timeDeltas } = profile;
  const stepOf = new Map(nodes.map(({ id, callFrame }) => [id, stepName(callFrame)]));
  const micros = new Map<string, number>(STEPS.map(([step]) => [step, 0]));
  // From the end: what was measured comes last, after the start and what warms up.
  let left = records / figures.perSecond * 1e6;
  for (let i = samples.length - 1; i >= 0 && left > 0; i--) {
    const step = stepOf.get(samples[i]!);
    if (step !== undefined) micros.set(step, micros.get(step)! + timeDeltas[i]!);
    left -= timeDeltas[i]!;
  }
  const total = [...micros.values()].reduce((sum, value) => sum + value, 0);
  console.log(
    `\n${name}: ${figures.cpuMicros.toFixed(2)} µs CPU a record in all threads, of it in the main one:`,
  );
  for (const [step, value] of micros) {
    console.log(
      `  ${step.padEnd(44)} ${(value / records).toFixed(3)} µs ${(100 * value / total).toFixed(0).padStart(3)} %`,
    );
  }
}

/** The step a function belongs to; undefined for no work at all. */
function stepName({ functionName, url }: CallFrame): string | undefined {
  if (functionName === "(idle)") return undefined;
  const [step] = STEPS.find(([, files, functions]) =>
    functions?.test(functionName) || files.some((part) => url.includes(part))
  )!;
  return step;
}
