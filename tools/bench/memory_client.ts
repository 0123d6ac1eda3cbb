// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * A program that sends as fast as it is let for some seconds, and prints one line of JSON: what its process takes before
 * and at most, in MB. `memory_client.ts BOOTSTRAP TOPIC HOW SIZE SECONDS`; started by `bench.ts memory`.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import process from "node:process";
import { Kafka } from "../../mod.ts";

/** What a process took, in MB. */
export interface MemoryFigures {
  /** Connected, with nothing sent but a few records. */
  readonly base: number;
  /** The most that was seen while it sent. */
  readonly peak: number;
  /** Records that were sent. */
  readonly records: number;
}

const [bootstrap, topic, how, size, seconds] = process.argv.slice(2) as [string, string, string, string, string];
const megabytes = () => process.memoryUsage.rss() / 1e6;
const producer = new Kafka({ bootstrapServers: bootstrap }).producer();
const value = Buffer.alloc(Number(size), "x");
const end = performance.now() + 2000 + Number(seconds) * 1000;
let records = 0;

for (let i = 0; i < 20; i++) await producer.send({ topic, value });
await new Promise((resolve) => setTimeout(resolve, 1000));
const base = megabytes();
let peak = base;
const watch = setInterval(() => peak = Math.max(peak, megabytes()), 20);
if (how === "writable") await write();
else await send(Number(how));
clearInterval(watch);
const figures: MemoryFigures = { base, peak, records };
console.log(JSON.stringify(figures));
process.exit(0); // what is not acknowledged yet does not matter here

/** Through a stream, which holds the program back when memory is used up. */
async function write(): Promise<void> {
  const writer = producer.writable(topic).getWriter();
  while (performance.now() < end) {
    await writer.ready;
    writer.write({ value }).catch(() => {});
    records++;
  }
}

/** With so many sends under way. */
async function send(inFlight: number): Promise<void> {
  let open = 0;
  await new Promise<void>((resolve) => {
    const fill = () => {
      for (; open < inFlight; open++, records++) producer.send({ topic, value }).then(settled, settled);
    };
    const settled = () => {
      open--;
      if (performance.now() >= end) resolve();
      else if (open <= inFlight * 0.95) fill();
    };
    fill();
  });
}
