// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * `npm run bench -- memory [--runtime node|deno|bun]… [--seconds 10] [--delay 50]`: what a producer's process takes at most
 * when the broker is about ten times too slow: an embedded one in this process that answers each Produce request `delay`
 * milliseconds late.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listen } from "../../adapters/node.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { root } from "../runner.ts";
import type { MemoryFigures } from "./memory_client.ts";
import { RUNTIMES } from "./bench_produce.ts";

/** Default of `bufferMemory` in MB. */
const BUFFER_MEMORY = 33.6;

/** Runs it. */
export async function benchMemory(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: { type: "string", multiple: true, default: [] },
      seconds: { type: "string", default: "10" },
      delay: { type: "string", default: "50" },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), "anykafka-memory-"));
  const broker = await EmbeddedBroker.start({ listen, storage: nodeStorage(folder), topics: { slow: 3 } });
  try {
    broker.script({ api: "Produce", times: Infinity, delayMs: Number(values.delay) });
    for (const runtime of values.runtime.length > 0 ? values.runtime : Object.keys(RUNTIMES)) {
      for (const [how, size] of [["writable", 1024], ["writable", 100], ["10000", 100], ["400000", 100]] as const) {
        const { base, peak, records } = await measure(runtime, [
          broker.bootstrapServers,
          "slow",
          how,
          `${size}`,
          values.seconds,
        ]);
        const what = how === "writable" ? how : `${how} sends under way`;
        console.log(
          `${runtime.padEnd(4)} ${`${what}, ${size} B`.padEnd(32)} ${base.toFixed(0)} MB + ${
            (peak - base).toFixed(0)
          } MB = ${((peak - base) / BUFFER_MEMORY).toFixed(1)} × bufferMemory (${
            Math.round(records / Number(values.seconds))
          } records a second)`,
        );
      }
    }
  } finally {
    await broker.close();
    rmSync(folder, { recursive: true });
  }
}

async function measure(runtime: string, args: readonly string[]): Promise<MemoryFigures> {
  const [program, ...flags] = RUNTIMES[runtime]!;
  const client = join(root, "tools", "bench", "memory_client.ts");
  const child = spawn(program!, [...flags, client, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (text) => out += text);
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`the client in ${runtime} ended with code ${code}`);
  return JSON.parse(out);
}
