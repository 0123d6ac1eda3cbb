#!/usr/bin/env node
/**
 * The `anykafka` command, for Node.js, Deno and Bun.
 *
 * @module
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { CommandIo, StartBrokerOptions, StartedBroker } from "../src/cli/command.ts";
import { runCommand } from "../src/cli/run_command.ts";
import { systemClock } from "../src/core/clock.ts";
import { StorageError } from "../src/core/kafka_error.ts";
import { connect, listen } from "./auto.ts";
import { Kafka, platform } from "./kafka.ts";
import { nodeStorage } from "./storage_node.ts";

const DEMO_DATA = "examples/data/flights-20k.ndjson.gz";

/** The world of a process. */
function processIo(signal: AbortSignal, readerGone: () => void): CommandIo {
  process.stdout.on("error", (error: { code?: string }) => {
    // The reader of a pipe has seen enough (`| head`): end quietly.
    if (error.code === "EPIPE") readerGone();
  });
  return {
    out: (text) =>
      new Promise<void>((resolve) => {
        if (signal.aborted || process.stdout.write(text)) resolve();
        else {
          process.stdout.once("drain", resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        }
      }),
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    lines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
    env: process.env,
    signal,
    clock: systemClock,
    connect,
    kafka: (options) => new Kafka(options),
    codecs: () => platform.codecs(),
    startBroker,
    openFolder: async (path) => {
      if (!existsSync(path)) throw new StorageError(`${path}: there is no such folder`, { code: "ENOENT", file: path });
      const absolute = resolve(path);
      return await nodeStorage(dirname(absolute), { readOnly: true }).folder(basename(absolute));
    },
    // deno-lint-ignore require-await -- a promise, so that a failure is one too
    temporaryFolder: async () => {
      const path = mkdtempSync(join(tmpdir(), "anykafka-"));
      return { path, remove: () => Promise.resolve(rmSync(path, { recursive: true, force: true })) };
    },
    // deno-lint-ignore require-await -- a promise, so that a failure is one too
    readText: async (path) => readFileSync(path, "utf8"),
    demoData: () => Promise.resolve(demoLines()),
  };
}

async function startBroker({ data, ...options }: StartBrokerOptions): Promise<StartedBroker> {
  const { EmbeddedBroker } = await import("../src/broker/embedded_broker.ts");
  return await EmbeddedBroker.start({
    ...options,
    listen,
    codecs: await platform.codecs(),
    ...(data === undefined ? {} : { storage: nodeStorage(data) }),
  });
}

/** The data lies in the tree; in the npm package one folder further up. */
function demoLines(): string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  const file = [join(here, "..", DEMO_DATA), join(here, "..", "..", DEMO_DATA)].find((path) => existsSync(path));
  if (file === undefined) {
    throw new StorageError(`${DEMO_DATA} is not here: the demo runs in the source tree`, { file: DEMO_DATA });
  }
  return new TextDecoder().decode(gunzipSync(readFileSync(file))).trimEnd().split("\n");
}

async function main(): Promise<void> {
  const controller = new AbortController();
  let isReaderGone = false;
  const io = processIo(controller.signal, () => {
    isReaderGone = true;
    controller.abort();
  });
  const interrupt = () => {
    // The second time at once, for one that waits for a broker that does not answer.
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  const code = await runCommand(io, process.argv.slice(2));
  process.exitCode = isReaderGone ? 0 : code;
  process.off("SIGINT", interrupt);
  process.off("SIGTERM", interrupt);
  // An input that nobody reads any more would keep the process.
  process.stdin.destroy();
}

void main();
