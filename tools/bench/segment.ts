// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * How fast a whole segment is read: MB/s over 512 MiB in the page cache, for the headers with the checksum of every batch,
 * and for every record on top.
 *
 * Run: `node tools/bench/segment.ts FOLDER [--codec lz4] [--rounds 5] [--mib 512]`. The first run writes the segment into
 * FOLDER: batches of 1 to 200 records of 0 to 399 bytes, the same in every run. With `--mib 512` and no codec it is, byte for
 * byte, the one that Kafka's own reader was measured with.
 *
 * @module
 */

import { closeSync, existsSync, openSync, readSync, renameSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { loadCrc32c } from "../../src/hash/crc32c.ts";
import type { Batch } from "../../src/records/batch.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    codec: { type: "string", default: "none" },
    rounds: { type: "string", default: "5" },
    mib: { type: "string", default: "512" },
  },
});
const folder = positionals[0] ?? ".";
const CHUNK = 4 * 1024 * 1024;
const codecs = { ...plainCodecs, ...nativeCodecs() };
const crc32c = await loadCrc32c();

/** Java's generator of random numbers, whose sequence makes the segment. */
class JavaRandom {
  #seed: bigint;

  constructor(seed: bigint) {
    this.#seed = (seed ^ 0x5deece66dn) & 0xffffffffffffn;
  }

  /** Fills `bytes`. */
  fill(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += 4) view.setInt32(at, this.#next(32n), true);
  }

  /** A number below `bound`, which is no power of two. */
  below(bound: number): number {
    for (;;) {
      const bits = this.#next(31n);
      const value = bits % bound;
      if (bits - value + bound - 1 < 2 ** 31) return value;
    }
  }

  #next(bits: bigint): number {
    this.#seed = (this.#seed * 0x5deece66dn + 0xbn) & 0xffffffffffffn;
    return Number(this.#seed >> (48n - bits));
  }
}

/** Writes the segment, and answers its path. */
function segment(): string {
  const { codec, mib } = options;
  const path = join(folder, `segment-${mib}-${codec}.log`);
  if (existsSync(path)) return path;
  const random = new JavaRandom(512n);
  const words = new Uint8Array(4096);
  random.fill(words);
  const compression = codec === "none" ? undefined : { type: codec as "lz4", codec: codecs[codec as "lz4"]! };
  const buffer = new Uint8Array(1 << 20);
  const file = openSync(`${path}.tmp`, "w");
  let timestamp = 1_700_000_000_000;
  let baseOffset = 0;
  for (let size = 0; size < Number(mib) * 1024 * 1024;) {
    const builder = new RecordBatchBuilder(buffer);
    for (let n = 1 + random.below(200); n > 0; n--) {
      const length = random.below(400);
      const start = random.below(3600);
      timestamp += random.below(3);
      builder.append(timestamp, `key-${random.below(100_000)}`, words.subarray(start, start + length));
    }
    size += writeSync(file, builder.seal({ crc32c, compression, baseOffset, partitionLeaderEpoch: 0 }));
    baseOffset += builder.recordCount;
  }
  closeSync(file);
  renameSync(`${path}.tmp`, path);
  return path;
}

/** Walks the batches of a file in chunks, as whoever reads a whole log does. */
function walk(path: string, visit: (batch: Batch) => void): void {
  const file = openSync(path, "r");
  const chunk = new Uint8Array(CHUNK);
  let position = 0;
  for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk, 0, CHUNK, position)) {
    const batches = new RecordBatches(chunk.subarray(0, read), { position });
    for (const batch of batches) visit(batch);
    position += batches.validBytes;
  }
  closeSync(file);
}

function measure(name: string, path: string, visit: (batch: Batch) => void): void {
  const size = statSync(path).size;
  const speeds: number[] = [];
  const ofCpu: number[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    walk(path, visit);
    const { system, user } = process.cpuUsage(cpu);
    speeds.push(size / 1000 / (performance.now() - start));
    ofCpu.push(size / (system + user));
  }
  const [best, first, cpu] = [Math.max(...speeds), speeds[0]!, Math.max(...ofCpu)].map(Math.round);
  console.log(`${name.padEnd(44)} ${best} MB/s (first round ${first}), ${cpu} MB per second of CPU`);
}

const path = segment();
let sink = 0;
measure("headers", path, (batch) => {
  sink += batch.lastOffset;
});
measure("headers and checksums", path, (batch) => {
  batch.verifyCrc(crc32c);
  sink += batch.lastOffset;
});
measure("checksums and records", path, (batch) => {
  batch.verifyCrc(crc32c);
  sink += batch.records({ codecs }).length;
});
measure("checksums and records, fields but no bytes", path, (batch) => {
  batch.verifyCrc(crc32c);
  const records = batch.records({ codecs });
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    sink += record.offset + record.timestamp + record.keyLength + record.valueLength;
  }
});
measure("checksums and records, key and value taken", path, (batch) => {
  batch.verifyCrc(crc32c);
  const records = batch.records({ codecs });
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    sink += record.offset + record.timestamp + record.key!.length + record.value!.length;
  }
});
if (sink < 0) process.exitCode = 1; // keeps the work alive
