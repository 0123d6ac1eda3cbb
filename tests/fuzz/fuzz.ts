/**
 * The harness: feeds damaged inputs to a target and sees that each ends in a result or in an error of our own, soon.
 *
 * The inputs follow from the seed alone, and so does the digest over all that became of them, which must be the same in every
 * runtime.
 */

import { Buffer } from "node:buffer";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { seeded } from "../helpers/seeded.ts";
import { Digest } from "./digest.ts";

/** What is fed. */
export interface FuzzTarget {
  /** Name on the command line and of its folder in the corpus. */
  readonly name: string;
  /** What inputs are made of, where they are made of bytes alone. */
  readonly samples?: () => readonly Uint8Array[];
  /** Makes an input. */
  make(random: () => number): Uint8Array;
  /** Reads an input and adds what it sees to `digest`; may throw a `KafkaError`, and nothing else. */
  run(input: Uint8Array, digest: Digest): void | Promise<void>;
}

/** How much. */
export interface FuzzOptions {
  /** How many inputs. */
  readonly executions: number;
  /** Where they begin. */
  readonly seed: number;
  /** Folder to write failing inputs to, under the target's name. */
  readonly corpus?: string;
  /** Told every thousand inputs. */
  readonly onProgress?: (done: number) => void;
}

/** What became of them. */
export interface FuzzReport {
  /** Over what became of each input. */
  readonly digest: number;
  /** How many ended in an error of our own. */
  readonly refused: number;
  /** What went wrong, each with its input; at most ten. */
  readonly failures: readonly string[];
  /** Milliseconds of the slowest input. */
  readonly slowest: number;
  /** Bytes by which the process grew. */
  readonly growth: number;
}

/** An input may take so long; one that does is tried again, since a machine has other things to do. */
const MOST_MILLISECONDS = 50;
const RETRIES = 4;
const MOST_FAILURES = 10;

/** Runs `target`. */
export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  const { executions, seed, corpus } = options;
  const digest = new Digest();
  const failures: string[] = [];
  let [refused, slowest] = [0, 0];
  const before = process.memoryUsage().rss;
  for (let i = 0; i < executions && failures.length < MOST_FAILURES; i++) {
    const input = target.make(seeded(Math.imul(seed, 0x9e3779b1) + i));
    const { fault: isFaulty, isRefused, milliseconds } = await untraced(() => runOnce(target, input, digest));
    if (isRefused) refused++;
    slowest = Math.max(slowest, milliseconds);
    if (isFaulty !== undefined) {
      const fault = (await runOnce(target, input)).fault ?? isFaulty;
      const where = corpus === undefined ? "" : `, kept as ${keep(corpus, target, input)}`;
      failures.push(`${target.name}, seed ${seed}, input ${i} of ${input.length} bytes${where}: ${fault}`);
    }
    if (i % 1000 === 999) {
      options.onProgress?.(i + 1);
      // Deno gives back what its zlib took only when nothing runs.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  return { digest: digest.value, refused, failures, slowest, growth: process.memoryUsage().rss - before };
}

/** Every prefix of `sample`, and every copy in which one bit is another. */
export function* neighbours(sample: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let length = 0; length < sample.length; length++) yield sample.slice(0, length);
  for (let bit = 0; bit < sample.length * 8; bit++) {
    const flipped = sample.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield flipped;
  }
}

/** Runs `target` on all {@linkcode neighbours} of its shortest samples; answers how many these were, and what went wrong. */
export async function fuzzNeighbours(target: FuzzTarget, count: number): Promise<{ tried: number; faults: string[] }> {
  const samples = [...target.samples?.() ?? []].filter(({ length }) => length > 8).sort((a, b) => a.length - b.length);
  const faults: string[] = [];
  let tried = 0;
  for (const sample of samples.slice(0, count)) {
    for (const input of neighbours(sample)) {
      const { fault } = await untraced(() => runOnce(target, input));
      if (fault !== undefined) faults.push(`${target.name}, ${Buffer.from(input).toString("hex")}: ${fault}`);
      tried++;
    }
  }
  return { tried, faults };
}

/** Runs `work` without stack traces: they are half of what errors cost, and errors are what most inputs end in. */
async function untraced<T>(work: () => Promise<T>): Promise<T> {
  const errors = Error as { stackTraceLimit?: number };
  const limit = errors.stackTraceLimit;
  errors.stackTraceLimit = 0;
  try {
    return await work();
  } finally {
    if (limit !== undefined) errors.stackTraceLimit = limit;
  }
}

/** What became of one input. */
export interface FuzzOutcome {
  /** What went wrong. */
  readonly fault: string | undefined;
  /** Whether it ended in an error of our own. */
  readonly isRefused: boolean;
  /** How long it took. */
  readonly milliseconds: number;
}

/** Runs one input; adds what became of it to `digest`. */
export async function runOnce(
  target: FuzzTarget,
  input: Uint8Array,
  digest: Digest = new Digest(),
): Promise<FuzzOutcome> {
  const original = input.slice();
  let fault: string | undefined;
  let isRefused = false;
  let milliseconds = Infinity;
  for (let attempt = 0; attempt < RETRIES && milliseconds > MOST_MILLISECONDS; attempt++) {
    const started = performance.now();
    try {
      const running = target.run(input, attempt === 0 ? digest : new Digest());
      if (running !== undefined) await running;
    } catch (error) {
      if (error instanceof KafkaError) {
        isRefused = true;
        if (attempt === 0) digest.add(error.code);
      } else fault = `${error instanceof Error ? error.stack : error}`;
    }
    milliseconds = Math.min(milliseconds, performance.now() - started);
  }
  if (milliseconds > MOST_MILLISECONDS) fault ??= `took ${Math.round(milliseconds)} ms`;
  if (crc32c(input) !== crc32c(original)) fault ??= "the input was changed";
  return { fault, isRefused, milliseconds };
}

function keep(corpus: string, { name }: FuzzTarget, input: Uint8Array): string {
  const folder = join(corpus, name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${crc32c(input).toString(16).padStart(8, "0")}.bin`);
  writeFileSync(file, input);
  return file;
}
