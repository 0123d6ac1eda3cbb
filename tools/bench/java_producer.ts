/**
 * Kafka's own `ProducerPerformance` under one of the loads, with the CPU of its process once it is warm.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { KafkaDistribution } from "../kafka/kafka_distribution.ts";
import { findJavaProgram } from "../kafka/java_runtime.ts";
import type { ProduceFigures } from "./produce_client.ts";
import type { Workload } from "./workloads.ts";

/** Ticks of /proc/PID/stat in a second, on Linux. */
const TICKS = 100;

/** Runs it; the first third is left out. Undefined for a load that the tool does not have. */
export async function measureJava(
  bootstrap: string,
  topic: string,
  workload: Workload,
): Promise<ProduceFigures | undefined> {
  if (workload.how !== "pipelined" || workload.keys > 0) return undefined;
  const distribution = new KafkaDistribution();
  const records = workload.records * 1.5;
  const options = Object.entries({
    "bootstrap.servers": bootstrap,
    acks: "all",
    "compression.type": workload.compression,
    ...(workload.options?.["batchSize"] === undefined ? {} : { "batch.size": workload.options["batchSize"] }),
  }).map(([key, value]) => `${key}=${value}`);
  const child = spawn(findJavaProgram("java"), [
    ...[
      "-Xmx512m",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
      "-cp",
      distribution.classPath,
      "org.apache.kafka.tools.ProducerPerformance",
      "--topic",
      topic,
    ],
    ...["--num-records", `${records}`, "--record-size", `${workload.size}`, "--throughput", "-1"],
    ...["--reporting-interval", "500", "--command-property", ...options],
  ], { stdio: ["ignore", "pipe", "inherit"] });
  const points: { readonly sent: number; readonly cpu: number; readonly rss: number; readonly at: number }[] = [];
  let sent = 0;
  let tail = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    const lines = (tail + text).split("\n");
    tail = lines.pop()!;
    for (const line of lines) {
      const count = /^(\d+) records sent, .* max latency\.?$/.exec(line.trim())?.[1];
      if (count === undefined) continue;
      sent += Number(count);
      const usage = usageOf(child.pid!);
      if (usage !== undefined) points.push({ sent, at: performance.now(), ...usage });
    }
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`ProducerPerformance ended with code ${code}`);
  const first = points.find((point) => point.sent >= records / 3);
  const last = points.at(-1);
  if (first === undefined || last === undefined || last === first) return undefined;
  const count = last.sent - first.sent;
  return {
    cpuMicros: (last.cpu - first.cpu) * 1e6 / count,
    perSecond: count / (last.at - first.at) * 1000,
    rssMegabytes: Math.max(...points.map(({ rss }) => rss)) / 1e6,
  };
}

/** Seconds of CPU and bytes in memory of a process; undefined where it cannot be told. */
function usageOf(pid: number): { readonly cpu: number; readonly rss: number } | undefined {
  try {
    // The second field, the name, may hold blanks.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return { cpu: (Number(fields[11]) + Number(fields[12])) / TICKS, rss: Number(fields[21]) * 4096 };
  } catch {
    return undefined;
  }
}
