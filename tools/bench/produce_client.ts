// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * One client under one load, in a process of its own: `produce_client.ts NAME WORKLOAD BOOTSTRAP TOPIC SHARE PEERS [OPTIONS]`
 * prints one line of JSON. Started by `bench.ts produce`.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { startProducer } from "./producers.ts";
import { WORKLOADS } from "./workloads.ts";

/** What a client needed. */
export interface ProduceFigures {
  /** CPU of the process for a record, user and system, in µs. */
  readonly cpuMicros: number;
  /** Records a second. */
  readonly perSecond: number;
  /** Greatest resident set that was seen, in MB. */
  readonly rssMegabytes: number;
  /** Longest time in ms that a timer waited for the event loop; told of Node.js. */
  readonly stallMs?: number;
  /** Time from a send to its acknowledgement in ms: median and the slowest hundredth; for awaited sends. */
  readonly latency?: { readonly p50: number; readonly p99: number };
}

const LIST = 1000;
const [name, workloadName, bootstrap, topic, share, peers, options] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
  string?,
];
const workload = WORKLOADS[workloadName]!;
const records = Math.ceil(workload.records * Number(share));
const require = createRequire(`${peers}/package.json`);
const producer = await startProducer(name, {
  bootstrap,
  topic,
  workload,
  options: JSON.parse(options ?? "{}"),
  load: (name) => require(name),
});
const value = Buffer.alloc(workload.size).map((_, i) => 32 + (i * 7919 + (i >> 3)) % 90);
const keys = Array.from({ length: Math.max(1, workload.keys) }, (_, i) => workload.keys === 0 ? null : `key-${i}`);

let rss = 0;
const watch = setInterval(() => rss = Math.max(rss, process.memoryUsage.rss()), 50);
const delays = monitorEventLoopDelay({ resolution: 1 });
const latencies: number[] = [];
await run(records / 2);
latencies.length = 0;
delays.enable();
setTimeout(() => delays.reset(), 100).unref(); // the first thousands of sends, in one go, are the load's own doing
const [cpu, at] = [process.cpuUsage(), performance.now()];
await run(records);
const used = process.cpuUsage(cpu);
const ms = performance.now() - at;
clearInterval(watch);
delays.disable();
await producer.close();
latencies.sort((a, b) => a - b);
const figures: ProduceFigures = {
  cpuMicros: (used.user + used.system) / records,
  perSecond: records / ms * 1000,
  rssMegabytes: rss / 1e6,
  ...(delays.max > 0 && Number.isFinite(delays.max) ? { stallMs: delays.max / 1e6 } : {}),
  ...(latencies.length === 0
    ? {}
    : { latency: { p50: latencies[latencies.length >> 1]!, p99: latencies[Math.floor(latencies.length * 0.99)]! } }),
};
console.log(JSON.stringify(figures));
process.exit(0); // some peers leave a handle open

async function run(count: number): Promise<void> {
  if (workload.how === "awaited") return await runAwaited(count);
  const step = workload.how === "lists" ? LIST : 1;
  const list = Array.from({ length: LIST }, (_, i) => keys[i % keys.length]!);
  const next = (n: number): Promise<unknown> =>
    step === 1 ? producer.send(keys[n % keys.length]!, value) : producer.sendAll(list, value);
  let sent = 0;
  let settled = 0;
  await new Promise<void>((resolve, reject) => {
    const fill = () => {
      for (; sent < count && sent - settled < workload.inFlight * step; sent += step) next(sent).then(done, reject);
    };
    const done = () => {
      settled += step;
      if (settled >= count) resolve();
      // Refilled in bursts, as a program that handles many requests at once does.
      else if (sent - settled <= workload.inFlight * step * 0.95) fill();
    };
    fill();
  });
}

async function runAwaited(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const start = performance.now();
    await producer.send(keys[n % keys.length]!, value);
    latencies.push(performance.now() - start);
  }
}
