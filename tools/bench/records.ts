// deno-lint-ignore-file no-console -- a program that prints figures
/**
 * What records cost: microseconds of CPU to encode one into a batch and to decode it again, the best of several rounds.
 *
 * Run: `node tools/bench/records.ts` (or `deno run -A`, `bun`).
 */

import { loadCrc32c } from "../../src/hash/crc32c.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";

const RECORDS = 150;
const ROUNDS = 7;
const BATCHES = 4000;

const crc32c = await loadCrc32c();
const buffer = new Uint8Array(32 * 1024);
const value = Uint8Array.from({ length: 100 }, (_, i) => 65 + i % 26);
const text = "abcdefghijklmnopqrstuvwxyz".repeat(4).slice(0, 100);
const key = Uint8Array.from({ length: 10 }, (_, i) => 48 + i);
const now = 1700000000000;

function fill(key: Uint8Array | null, value: Uint8Array | string): RecordBatchBuilder {
  const builder = new RecordBatchBuilder(buffer);
  for (let i = 0; i < RECORDS; i++) builder.append(now + i, key, value);
  return builder;
}

// A range of many batches, as a fetch brings it.
const batch = fill(key, value).seal({ crc32c }).slice();
const range = new Uint8Array(batch.length * 64);
for (let i = 0; i < 64; i++) range.set(batch, i * batch.length);

let sink = 0;
function read(withCrc: boolean, touch: "nothing" | "value" | "all"): void {
  for (const batch of new RecordBatches(range, { topic: "bench", partition: 0 })) {
    if (withCrc) batch.verifyCrc(crc32c);
    const records = batch.records();
    for (let i = 0; i < records.length; i++) {
      const record = records[i]!;
      if (touch === "value") sink += record.value!.length;
      else if (touch === "all") {
        sink += record.value!.length + record.key!.length + record.offset + record.timestamp + record.headers.length;
      }
    }
  }
}

function measure(name: string, recordsPerCall: number, run: () => void): void {
  const calls = Math.ceil(BATCHES * RECORDS / recordsPerCall);
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) run();
    best = Math.min(best, performance.now() - start);
  }
  console.log(`${name.padEnd(44)} ${(best * 1000 / (calls * recordsPerCall)).toFixed(3)} µs/record`);
}

measure("append 100 B", RECORDS, () => fill(null, value));
measure("append 10 B key, 100 B value", RECORDS, () => fill(key, value));
measure("append 100 characters", RECORDS, () => fill(null, text));
measure("append 10 B key, 100 B value, and seal", RECORDS, () => fill(key, value).seal({ crc32c }));
measure("decode", 64 * RECORDS, () => read(false, "nothing"));
measure("decode, value taken", 64 * RECORDS, () => read(false, "value"));
measure("decode, value taken, CRC checked", 64 * RECORDS, () => read(true, "value"));
measure("decode, all fields taken, CRC checked", 64 * RECORDS, () => read(true, "all"));
if (sink < 0) throw new Error("unreachable: keeps the work alive");
