#!/usr/bin/env node
/**
 * The `anykafka` command, for Node.js, Deno and Bun.
 *
 * @module
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { CommandIo, OpenedPath, StartBrokerOptions, StartedBroker } from "../src/cli/command.ts";
import { runCommand } from "../src/cli/run_command.ts";
import { systemClock } from "../src/core/clock.ts";
import { StorageError } from "../src/core/kafka_error.ts";
import { nearest } from "../src/core/nearest.ts";
import { connect, listen } from "./auto.ts";
import { nativeInflate } from "./inflate_native.ts";
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
    outBytes: (bytes) =>
      new Promise<void>((resolve) => {
        if (signal.aborted) return resolve();
        const done = () => {
          signal.removeEventListener("abort", done);
          resolve();
        };
        signal.addEventListener("abort", done, { once: true });
        process.stdout.write(bytes, done);
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
    openPath: async (path) => openPath(path),
    writeFolder: (path) => nodeStorage(resolve(path)),
    // deno-lint-ignore require-await -- a promise, so that a failure is one too
    temporaryFolder: async () => {
      const path = mkdtempSync(join(tmpdir(), "anykafka-"));
      const remove = () => Promise.resolve(rmSync(path, { recursive: true, force: true }));
      return { path, storage: nodeStorage(path), remove };
    },
    inflate: nativeInflate,
    fetch: (url, init) => fetch(url, init),
    // deno-lint-ignore require-await -- a promise, so that a failure is one too
    readText: async (path) => readFileSync(path, "utf8"),
    demoData: () => Promise.resolve(demoLines()),
  };
}

function openPath(path: string): OpenedPath {
  const absolute = resolve(path);
  const above = dirname(absolute);
  const name = basename(absolute);
  const found = statOf(path);
  if (found === undefined) {
    const meant = existsSync(above) ? nearest(name, readdirSync(above)) : undefined;
    throw new StorageError(
      `${path}: there is no such file or folder${meant === undefined ? "" : `; did you mean ${meant}?`}`,
      { code: "ENOENT", file: path },
    );
  }
  const folder = (dir: string) => nodeStorage(dir, { readOnly: true });
  if (!found.isDirectory()) return { kind: "file", name, folder: folder(above) };
  return { kind: "folder", name, folder: folder(absolute), above: above === absolute ? undefined : folder(above) };
}

function statOf(path: string): { isDirectory(): boolean } | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new StorageError(`open ${path}: ${(cause as Error).message}`, { file: path, cause });
  }
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
