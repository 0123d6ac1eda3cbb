/**
 * Runs each bomb against each implementation and prints a line of JSON with what became of it and how much more memory the process
 * took meanwhile. A process of its own, so that no garbage of other tests hides what is taken.
 */

import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { DEFAULT_DECOMPRESSION_LIMIT } from "../../src/compression/codec.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { MessageSet } from "../../src/records/message_set.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { rawMessage } from "../helpers/raw_batch.ts";
import { bombBatch, bombMessage, bombs } from "./bombs.ts";
import { implementations } from "./implementations.ts";

const MiB = 1024 * 1024;

/** Resident memory, and the most of it since the last call of `forget`, where the system tells (Linux). */
function memory(): { now: number; peak: number } {
  const now = process.memoryUsage().rss;
  try {
    const kilobytes = /VmHWM:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1];
    return { now, peak: Number(kilobytes) * 1024 };
  } catch {
    return { now, peak: now };
  }
}

function forget(): void {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // The peak of before counts then, or only what is left.
  }
}

function report(what: object, run: () => unknown): void {
  forget();
  const before = memory();
  const started = performance.now();
  let outcome = "a result";
  try {
    run();
  } catch (error) {
    outcome = error instanceof KafkaError ? error.code : String(error);
  }
  const milliseconds = Math.round(performance.now() - started);
  const { now, peak } = memory();
  const extra = Math.round((Math.max(now, peak) - before.now) / MiB);
  process.stdout.write(`${JSON.stringify({ ...what, outcome, extra, milliseconds })}\n`);
}

const all = await implementations();
// Whatever is loaded at the first use is no matter of the bomb.
for (const { codec } of all) codec.decompress(codec.compress(new Uint8Array(100_000)), MiB);

const made = bombs().map((make) => make());
// Small limits first, and last what may take much: memory that was given back is not seen to be taken again.
for (const limit of [MiB, 16 * MiB, DEFAULT_DECOMPRESSION_LIMIT]) {
  for (const { bytes, codec: of, isHonest, name, size } of made) {
    for (const { kind, codec } of all.filter((one) => one.name === of)) {
      // A size that does not exceed the limit is no bomb; and fflate takes seconds for as much as the default allows.
      const isSlow = of === "gzip" && kind === "plain" && !isHonest && limit === DEFAULT_DECOMPRESSION_LIMIT;
      if (size <= limit || isSlow) continue;
      report({ name: `${of}, ${kind}: ${name}`, limit, isHonest }, () => codec.decompress(bytes, limit));
    }
  }
}
for (const bomb of made.filter(({ bytes }) => bytes.length < 2 * MiB)) {
  for (const { kind, codec } of all.filter(({ name }) => name === bomb.codec)) {
    const options = { codecs: { [bomb.codec]: codec }, limit: 2 * MiB };
    const what = { limit: 2 * MiB, isHonest: bomb.isHonest };
    const name = `${bomb.codec}, ${kind}: ${bomb.name}`;
    const batch = bombBatch(bomb);
    report({ ...what, name: `${name}, in a batch` }, () => new RecordBatch(batch).records(options));
    if (bomb.codec === "zstd") continue; // which those formats do not have
    for (const magic of [0, 1] as const) {
      const message = bombMessage(bomb, magic);
      const nested = rawMessage({ magic, attributes: message[17]!, value: codec.compress(message) });
      report(
        { ...what, name: `${name}, in a message of format ${magic}` },
        () => new MessageSet(message).records(options),
      );
      report(
        { ...what, name: `${name}, in a message in one of format ${magic}` },
        () => new MessageSet(nested).records(options),
      );
    }
  }
}
