/**
 * What the fuzz targets begin with: bytes that Kafka wrote, out of the golden sets.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { crc32 } from "../../src/hash/crc32.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import type { Files } from "./folder.ts";

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));

/** The files of a set's log directory, or of its one partition folder. */
export function filesOf(set: string, partition?: string): Files {
  const folder = `${GOLDEN}${set}/${partition ?? ""}`;
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => name);
  // A plain view: a Buffer would hand out Buffers.
  return new Map(names.sort().map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]));
}

/** The name of a set's partition folder. */
export function partitionOf(set: string): string {
  return readdirSync(`${GOLDEN}${set}`, { withFileTypes: true }).find((entry) => entry.isDirectory())!.name;
}

/** Files of that ending in the sets, none longer than `longest`. */
export function filesEnding(sets: readonly string[], ending: string, longest = 600): Uint8Array[] {
  return sets.flatMap((set) =>
    [...filesOf(set), ...filesOf(set, partitionOf(set))]
      .filter(([name, bytes]) => name.endsWith(ending) && bytes.length <= longest)
      .map(([, bytes]) => bytes)
  );
}

/** Batches of the sets, of each kind the first few, none longer than `longest`. */
export function batchesOf(sets: readonly string[], longest = 500, ofAKind = 2): Uint8Array[] {
  return sets.flatMap((set) => {
    const kinds = new Map<string, Uint8Array[]>();
    for (const [name, bytes] of filesOf(set, partitionOf(set))) {
      if (!name.endsWith(".log")) continue;
      for (const batch of new RecordBatches(bytes)) {
        const { compression, isControl, isTransactional, magic, size } = batch;
        const kind = [magic, compression, isControl, isTransactional, size > 150].join();
        const known = kinds.get(kind) ?? [];
        if (size <= longest && known.length < ofAKind) kinds.set(kind, [...known, batch.bytes]);
      }
    }
    return [...kinds.values()].flat();
  });
}

/** Sets in the format of today. */
export const V2_SETS = [
  "01-plain",
  "02-gzip",
  "03-snappy",
  "04-lz4",
  "05-zstd",
  "06-log-append-time",
  "07-transactions",
  "08a-compacted",
  "11a-consumer-offsets",
  "12-cluster-metadata",
  "13a-beyond-2to31",
  "15-odd-v2",
] as const;

/** Sets in the old formats. */
export const OLD_SETS = [
  "14-v0-none",
  "14-v0-gzip",
  "14-v0-snappy",
  "14-v0-lz4",
  "14-v1-none",
  "14-v1-gzip",
  "14-v1-snappy",
  "14-v1-lz4",
  "14-v1-append-time",
  "14-mixed",
  "14-broker-0.9.0.1-old-snappy",
] as const;

/** Makes the checksums of the batches in `bytes` right, as far as it finds batches, so that what is wrong in them is met. */
export function repairChecksums(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 17 < bytes.length;) {
    const end = at + 12 + view.getInt32(at + 8);
    if (end <= at + 17 || end > bytes.length) return;
    if (bytes[at + 16] === 2) {
      if (end >= at + 21) view.setUint32(at + 17, crc32c(bytes.subarray(at + 21, end)));
    } else view.setUint32(at + 12, crc32(bytes.subarray(at + 16, end)));
    at = end;
  }
}
