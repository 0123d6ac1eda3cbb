// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * Figures against a real broker: CPU of this process per record.
 *
 * `RUNTIME tools/bench/bench.ts produce|fetch --bootstrap HOST:PORT [--topic bench] [--records 1000000] [--size 100]
 * [--in-flight 10000] [--set lingerMs=5]… [--rounds 3]`
 *
 * `produce` keeps so many sends under way and takes the CPU after a warm-up of a fifth. `fetch` reads what `produce` left,
 * once over batches and once by `for await` over records. Wants an existing topic; see docs/benchmarks.md.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { Kafka } from "../../mod.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bootstrap: { type: "string", default: "127.0.0.1:9092" },
    topic: { type: "string", default: "bench" },
    records: { type: "string", default: "1000000" },
    size: { type: "string", default: "100" },
    "in-flight": { type: "string", default: "10000" },
    rounds: { type: "string", default: "3" },
    set: { type: "string", multiple: true, default: [] },
  },
});
const records = Number(values.records);
const size = Number(values.size);
const kafka = new Kafka({ bootstrapServers: values.bootstrap });
const runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : `node ${process.version}`;

interface Figures {
  readonly count: number;
  readonly cpu: { user: number; system: number };
  readonly ms: number;
}

function report(what: string, { count, cpu, ms }: Figures): void {
  const perRecord = (cpu.user + cpu.system) / count;
  console.log(
    `${what} (${runtime}, ${size} B): ${perRecord.toFixed(2)} µs CPU a record ` +
      `(user ${(cpu.user / count).toFixed(2)}, system ${(cpu.system / count).toFixed(2)}), ` +
      `${Math.round(count / ms)} k/s, RSS ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
  );
}

function settings(): Record<string, unknown> {
  return Object.fromEntries((values.set as string[]).map((pair) => {
    const [name, text] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    return [name, /^(\d+|true|false)$/.test(text) ? JSON.parse(text) : text];
  }));
}

async function produce(): Promise<Figures> {
  const producer = kafka.producer(settings());
  const value = new Uint8Array(size).map((_, i) => 65 + i % 26);
  const inFlight = Number(values["in-flight"]);
  const warmUp = records / 5;
  let sent = 0;
  let settled = 0;
  let start = { at: 0, cpu: process.cpuUsage(), settled: 0 };
  await new Promise<void>((resolve, reject) => {
    const fill = () => {
      while (sent < records + warmUp && sent - settled < inFlight) {
        sent++;
        producer.send({ topic: values.topic, value }).then(done, reject);
      }
    };
    const done = () => {
      settled++;
      if (settled === warmUp) start = { at: performance.now(), cpu: process.cpuUsage(), settled };
      if (settled === records + warmUp) resolve();
      // Refilled in bursts, as a program that handles many requests at once does.
      else if (sent - settled < inFlight - 500) fill();
    };
    fill();
  });
  const figures = {
    count: settled - start.settled,
    cpu: process.cpuUsage(start.cpu),
    ms: performance.now() - start.at,
  };
  await producer.close();
  return figures;
}

async function fetchBy(how: "batches" | "records"): Promise<Figures> {
  const consumer = kafka.consumer({ topics: values.topic, from: "earliest" });
  let count = 0;
  let bytes = 0;
  const warmUp = records / 5;
  let start = { at: 0, cpu: process.cpuUsage(), count: 0 };
  const begin = () => start = { at: performance.now(), cpu: process.cpuUsage(), count };
  if (how === "batches") {
    for await (const batch of consumer.batches()) {
      const list = batch.records();
      for (let i = 0; i < list.length; i++) bytes += list[i]!.value!.length;
      count += list.length;
      if (start.at === 0 && count >= warmUp) begin();
      if (count >= records) break;
    }
  } else {
    for await (const record of consumer) {
      bytes += record.value!.length;
      count++;
      if (count === warmUp) begin();
      if (count >= records) break;
    }
  }
  const figures = { count: count - start.count, cpu: process.cpuUsage(start.cpu), ms: performance.now() - start.at };
  await consumer.close();
  if (bytes < count * size) throw new Error(`${bytes} bytes in ${count} records of ${size}`);
  return figures;
}

for (let round = 0; round < Number(values.rounds); round++) {
  if (positionals[0] === "produce") report("send", await produce());
  else if (positionals[0] === "fetch") {
    report("fetch over batches", await fetchBy("batches"));
    report("fetch by for await", await fetchBy("records"));
  } else throw new Error("produce or fetch?");
}
