// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * `npm run bench -- fetch --bootstrap HOST:PORT [--topic bench-3] [--records 1000000] [--rounds 3]`: CPU of this process for
 * reading what `produce` left, once over batches and once by `for await` over records. Any runtime runs `bench.ts`.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { Kafka } from "../../mod.ts";

/** Runs it. */
export async function benchFetch(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bootstrap: { type: "string", default: "127.0.0.1:9092" },
      topic: { type: "string", default: "bench-3" },
      records: { type: "string", default: "1000000" },
      rounds: { type: "string", default: "3" },
    },
  });
  const runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : `node ${process.version}`;
  const kafka = new Kafka({ bootstrapServers: values.bootstrap });
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const how of ["batches", "records"] as const) {
      const { count, cpu, ms, bytes } = await read(kafka, values.topic, Number(values.records), how);
      console.log(
        `fetch over ${how} (${runtime}, ${Math.round(bytes / count)} B): ` +
          `${((cpu.user + cpu.system) / count).toFixed(2)} µs CPU a record, ${Math.round(count / ms)} k/s, ` +
          `RSS ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
      );
    }
  }
}

interface Figures {
  readonly count: number;
  readonly bytes: number;
  readonly cpu: { readonly user: number; readonly system: number };
  readonly ms: number;
}

async function read(kafka: Kafka, topics: string, records: number, how: "batches" | "records"): Promise<Figures> {
  const consumer = kafka.consumer({ topics, from: "earliest" });
  const warmUp = records / 5;
  let count = 0;
  let bytes = 0;
  let start: { at: number; cpu: { user: number; system: number }; count: number; bytes: number } | undefined;
  /** Whether it is enough. */
  const step = (): boolean => {
    if (start === undefined && count >= warmUp) {
      start = { at: performance.now(), cpu: process.cpuUsage(), count, bytes };
    }
    return count >= records + warmUp;
  };
  if (how === "batches") {
    for await (const batch of consumer.batches()) {
      const list = batch.records();
      for (let i = 0; i < list.length; i++) bytes += list[i]!.value!.length;
      count += list.length;
      if (step()) break;
    }
  } else {
    for await (const record of consumer) {
      bytes += record.value!.length;
      count++;
      if (step()) break;
    }
  }
  const figures = {
    count: count - start!.count,
    bytes: bytes - start!.bytes,
    cpu: process.cpuUsage(start!.cpu),
    ms: performance.now() - start!.at,
  };
  await consumer.close();
  return figures;
}
