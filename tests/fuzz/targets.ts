/**
 * What is fuzzed: everything that reads bytes which may come from a damaged disk or a hostile peer.
 */

import { Buffer } from "node:buffer";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { wasmZstd } from "../../adapters/codecs_wasm.ts";
import type { Codec, Codecs } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError, KafkaError } from "../../src/core/kafka_error.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { LeaderEpochs } from "../../src/log/leader_epochs.ts";
import { Log } from "../../src/log/log.ts";
import { readMetaProperties, readOffsetCheckpoint } from "../../src/log/log_directory.ts";
import { OffsetIndex } from "../../src/log/offset_index.ts";
import { readPartitionMetadata } from "../../src/log/partition_metadata.ts";
import { readProducerSnapshot } from "../../src/log/producer_snapshot.ts";
import { TimeIndex } from "../../src/log/time_index.ts";
import { readTransactionIndex } from "../../src/log/transaction_index.ts";
import { verifyLog } from "../../src/log/verify_log.ts";
import type { Batch } from "../../src/records/batch.ts";
import type { Record } from "../../src/records/record.ts";
import { RecordBatches } from "../../src/records/record_batches.ts";
import { type CodecName, oddInputs } from "../compression/odd_inputs.ts";
import { VECTORS } from "../compression/vectors.ts";
import { compressibleBytes, seeded } from "../helpers/seeded.ts";
import type { Digest } from "./digest.ts";
import { type Files, packed, readOnlyFolder, unpacked } from "./folder.ts";
import type { FuzzTarget } from "./fuzz.ts";
import { mutated } from "./mutate.ts";
import { batchesOf, filesEnding, filesOf, OLD_SETS, partitionOf, repairChecksums, V2_SETS } from "./samples.ts";

/** What `npm test` tries of each. */
export const EXECUTIONS = 20_000;
/** From which its inputs follow. */
export const SEED = 1;

/** Most bytes that one input may inflate to. */
const LIMIT = 65_536;

/** What is made the first time it is asked for. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** The codecs with a limit of their own, for where none can be given. */
function limited(codecs: Codecs): Codecs {
  return Object.fromEntries(
    Object.entries(codecs).map(([name, codec]): [string, Codec] => [name, {
      compress: (bytes, level) => codec.compress(bytes, level),
      decompress: (bytes, limit) => codec.decompress(bytes, Math.min(limit, LIMIT)),
    }]),
  );
}

const codecs = limited(plainCodecs);

// ---- batches

function addRecord(record: Record, digest: Digest): void {
  digest.add(record.offset);
  digest.add(record.timestamp);
  digest.add(record.key);
  digest.add(record.value);
  for (const [name, value] of record.headers) {
    digest.add(name);
    digest.add(value);
  }
}

function addBatch(batch: Batch, digest: Digest): void {
  digest.add(batch.size);
  digest.add(batch.hasValidCrc(crc32c));
  // Each on its own, so that a field which cannot be read does not hide the others.
  const fields: readonly (() => Parameters<Digest["add"]>[0])[] = [
    () => batch.baseOffset,
    () => batch.lastOffset,
    () => batch.compression,
    () => batch.timestampType,
    () => batch.maxTimestamp,
    () => batch.producerId,
    () => batch.lastSequence,
    () => batch.deleteHorizonMs,
    () => batch.recordCount,
  ];
  for (const field of fields) digest.add(valueOrCode(field));
  for (const record of batch.records({ codecs, limit: LIMIT })) addRecord(record, digest);
}

function valueOrCode<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof KafkaError) return error.code;
    throw error;
  }
}

function batchTarget(name: string, sets: readonly string[]): FuzzTarget {
  const samples = once(() => batchesOf(sets));
  return {
    name,
    samples,
    make(random) {
      const bytes = mutated(samples(), random);
      if (random() < 0.7) repairChecksums(bytes);
      return bytes;
    },
    run(input, digest) {
      const batches = new RecordBatches(input, { topic: "t", partition: 0 });
      for (const batch of batches) addBatch(batch, digest);
      digest.add(batches.validBytes);
    },
  };
}

// ---- codecs

/** Compressed bytes of all kinds: by others, by hand, by ourselves, out of Kafka's batches. */
function samplesOf(codec: CodecName): Uint8Array[] {
  const random = seeded(7);
  const plain = plainCodecs[codec];
  const sets: { readonly [name in CodecName]: readonly string[] } = {
    gzip: ["02-gzip"],
    snappy: ["03-snappy"],
    lz4: ["04-lz4"],
    zstd: ["05-zstd"],
  };
  return [
    ...VECTORS.filter((vector) => vector.codec === codec && vector.bytes.length < 1500).map(({ bytes }) => bytes),
    ...oddInputs().filter((odd) => odd.codec === codec && odd.bytes.length < 1500).map(({ bytes }) => bytes),
    ...batchesOf(sets[codec], 1500, 6).map((batch) => batch.subarray(61)),
    ...(plain === undefined ? [] : [0, 1, 40, 300].map((size) => plain.compress(compressibleBytes(random, size)))),
  ];
}

function outcome(codec: Codec, input: Uint8Array): Uint8Array | string {
  try {
    const content = codec.decompress(input, LIMIT);
    if (content.length > LIMIT) throw new RangeError(`${content.length} bytes, ${LIMIT} are allowed`);
    return content;
  } catch (error) {
    if (error instanceof CompressionError) return error.code;
    throw error;
  }
}

function codecTarget(name: string, codec: CodecName, run: FuzzTarget["run"]): FuzzTarget {
  const samples = once(() => samplesOf(codec));
  return { name, samples, make: (random) => mutated(samples(), random), run };
}

function plainTarget(name: "gzip" | "snappy" | "lz4"): FuzzTarget {
  return codecTarget(name, name, (input, digest) => digest.add(outcome(plainCodecs[name]!, input)));
}

/** The runtime's own must come to what the plain one does, whatever zlib is behind it. */
function nativeGzipTarget(): FuzzTarget {
  const native = nativeCodecs().gzip!;
  return codecTarget("gzip-native", "gzip", (input, digest) => {
    const ours = outcome(plainCodecs.gzip!, input);
    const theirs = outcome(native, input);
    const isSame = typeof ours === "string"
      ? ours === theirs
      : typeof theirs !== "string" && Buffer.compare(ours, theirs) === 0;
    if (!isSame) throw new Error(`plain came to ${shown(ours)}, native to ${shown(theirs)}`);
    digest.add(ours);
  });
}

/**
 * The runtime's zstd and the one of the package are the same library in two versions: what one inflates the other may refuse as
 * damaged, but never inflate to something else, and no limit may be passed by one only.
 */
function zstdTarget(zstd: Parameters<typeof wasmZstd>[0]): FuzzTarget {
  const wasm = wasmZstd(zstd);
  const native = nativeCodecs().zstd;
  return codecTarget("zstd", "zstd", (input, digest) => {
    const ours = outcome(wasm, input);
    digest.add(ours); // the same version in every runtime
    if (native === undefined) return; // Node.js 20
    const theirs = outcome(native, input);
    if (typeof ours === "string" || typeof theirs === "string") return;
    if (Buffer.compare(ours, theirs) !== 0) throw new Error(`wasm came to ${shown(ours)}, native to ${shown(theirs)}`);
  });
}

function shown(outcome: Uint8Array | string): string {
  return typeof outcome === "string" ? outcome : `${outcome.length} bytes, CRC-32C ${crc32c(outcome).toString(16)}`;
}

// ---- the files beside a log

/** A target that reads one file, mutated out of those that end so. */
function fileTarget(
  name: string,
  makeSamples: () => Uint8Array[],
  fileName: string,
  run: (storage: ReturnType<typeof readOnlyFolder>, digest: Digest) => Promise<void>,
  repair: (bytes: Uint8Array) => void = () => {},
): FuzzTarget {
  const samples = once(makeSamples);
  return {
    name,
    samples,
    make(random) {
      const bytes = mutated(samples(), random);
      if (random() < 0.7) repair(bytes);
      return bytes;
    },
    run: (input, digest) => run(readOnlyFolder(new Map([[fileName, input]])), digest),
  };
}

const INDEX_SETS = ["01-plain", "07-transactions", "08a-compacted", "13a-beyond-2to31", "14-v1-lz4", "15-odd-v2"];
const indexOptions = { writable: false, maxBytes: 1 << 20, plausibleEntries: 1000, logSize: 20_000 };
/** Offsets to look up: below, in and above what the samples hold. */
const WANTED = [0, 5, 100, 251, 700, 2 ** 31, 2 ** 33, 2 ** 53 - 1];

const offsetIndexTarget = fileTarget(
  "offset-index",
  () => filesEnding(INDEX_SETS, ".index"),
  "00000000000000000100.index",
  async (storage, digest) => {
    for (const report of [undefined, () => digest.add("odd")]) {
      const index = await OffsetIndex.open(storage, "00000000000000000100.index", 100, {
        ...indexOptions,
        ...(report && { report }),
      });
      digest.add(index.entries);
      for (const offset of WANTED) {
        digest.add(valueOrCode(() => index.floor(offset).offset));
        digest.add(valueOrCode(() => index.floor(offset).position));
      }
      for (let n = 0; n < index.entries; n++) digest.add(valueOrCode(() => index.entry(n).offset));
    }
  },
);

const timeIndexTarget = fileTarget(
  "time-index",
  () => filesEnding(INDEX_SETS, ".timeindex"),
  "00000000000000000100.timeindex",
  async (storage, digest) => {
    for (const report of [undefined, () => digest.add("odd")]) {
      const index = await TimeIndex.open(storage, "00000000000000000100.timeindex", 100, {
        ...indexOptions,
        ...(report && { report }),
      });
      digest.add(index.entries);
      for (const timestamp of [-1, 0, 1_699_999_999_999, 1_700_000_000_000, 1_700_000_100_000, 2 ** 53 - 1]) {
        digest.add(valueOrCode(() => index.floor(timestamp).offset));
        digest.add(valueOrCode(() => index.floor(timestamp).timestamp));
      }
      for (let n = 0; n < index.entries; n++) digest.add(valueOrCode(() => index.entry(n).timestamp));
    }
  },
);

const transactionIndexTarget = fileTarget(
  "transaction-index",
  () => filesEnding(["07-transactions", "08a-compacted", "14-mixed", "15-odd-v2"], ".txnindex"),
  "00000000000000000100.txnindex",
  async (storage, digest) => {
    const index = await readTransactionIndex(storage, 100);
    digest.add(index.entries);
    digest.add(valueOrCode(() => index.check()) ?? "sound");
    for (const from of [0, 100, 200]) {
      for (const until of [150, 300, 2 ** 53 - 1]) {
        digest.add(valueOrCode(() => index.collect(from, until).transactions.length));
        digest.add(valueOrCode(() => index.collect(from, until).isComplete));
      }
    }
    for (let n = 0; n < index.entries; n++) digest.add(valueOrCode(() => index.entry(n).firstOffset));
  },
);

const snapshotTarget = fileTarget(
  "producer-snapshot",
  () => filesEnding(["01-plain", "07-transactions", "08a-compacted", "15-odd-v2"], ".snapshot"),
  "00000000000000000251.snapshot",
  async (storage, digest) => {
    const { crc, entries, offset } = await readProducerSnapshot(storage, "00000000000000000251.snapshot", crc32c);
    digest.add(crc);
    digest.add(offset);
    for (const entry of entries) for (const value of Object.values(entry)) digest.add(value);
  },
  (bytes) => {
    if (bytes.length >= 6) new DataView(bytes.buffer, bytes.byteOffset).setUint32(2, crc32c(bytes.subarray(6)));
  },
);

const leaderEpochsTarget = fileTarget(
  "leader-epoch-checkpoint",
  () => filesEnding(V2_SETS, "leader-epoch-checkpoint"),
  "leader-epoch-checkpoint",
  async (storage, digest) => {
    const epochs = await LeaderEpochs.load(storage);
    for (const { epoch, startOffset } of epochs.entries) {
      digest.add(epoch);
      digest.add(startOffset);
    }
    for (const n of [-1, 0, 1, 5, 2 ** 31]) {
      digest.add(epochs.endOffsetFor(n, 1000)?.endOffset);
      digest.add(epochs.epochFor(n));
    }
  },
);

const offsetCheckpointTarget = fileTarget(
  "offset-checkpoint",
  () => filesEnding(["01-plain", "10a-killed", "14-v0-gzip"], "-offset-checkpoint"),
  "recovery-point-offset-checkpoint",
  async (storage, digest) => {
    for (const entry of await readOffsetCheckpoint(storage, "recovery-point-offset-checkpoint")) {
      digest.add(entry.topic);
      digest.add(entry.partition);
      digest.add(entry.offset);
    }
  },
);

const metadataTarget = fileTarget(
  "partition-metadata",
  () => [
    ...filesEnding(["01-plain"], "partition.metadata"),
    ...filesEnding(["01-plain", "14-mixed"], "meta.properties"),
  ],
  "partition.metadata",
  async (storage, digest) => digest.add(await readPartitionMetadata(storage)),
);

const metaPropertiesTarget = fileTarget(
  "meta-properties",
  () => filesEnding(["01-plain", "14-mixed"], "meta.properties"),
  "meta.properties",
  async (storage, digest) => digest.add(JSON.stringify(await readMetaProperties(storage))),
);

// ---- whole folders

/** A small partition folder: of each segment the first batches. */
function smallFolder(set: string, baseOffsets: readonly number[], longest = 350): Files {
  const files: Files = new Map();
  for (const [name, bytes] of filesOf(set, partitionOf(set))) {
    const baseOffset = Number(/^\d{20}/.exec(name)?.[0]);
    if (Number.isNaN(baseOffset)) {
      files.set(name, bytes);
      continue;
    }
    if (!baseOffsets.includes(baseOffset)) continue;
    if (name.endsWith(".log")) {
      let end = 0;
      for (const batch of new RecordBatches(bytes)) {
        if (end + batch.size > longest) break;
        end += batch.size;
      }
      files.set(name, bytes.slice(0, end));
    } else if (bytes.length < 300) files.set(name, bytes);
  }
  return files;
}

// Small ones: each input is opened and read in full, twenty thousand times.
const folders = once((): Files[] => [
  smallFolder("07-transactions", [0, 251]),
  smallFolder("01-plain", [0, 196], 200),
  smallFolder("13a-beyond-2to31", [0, 2147483642]),
  smallFolder("14-mixed", [136, 139]),
  smallFolder("04-lz4", [0]),
  smallFolder("03-snappy", [0]),
  smallFolder("15-odd-v2", [0]),
]);

function mutatedFolder(random: () => number): Files {
  const all = folders();
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const files = new Map(pick(all));
  for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
    const names = [...files.keys()];
    if (names.length === 0) break;
    const name = pick(names);
    switch (Math.floor(random() * 12)) {
      case 0: // gone
        files.delete(name);
        break;
      case 1: // empty
        files.set(name, new Uint8Array(0));
        break;
      case 2: // under another offset
        files.set(name.replace(/^\d{20}/, String(Math.floor(random() * 1000)).padStart(20, "0")), files.get(name)!);
        break;
      case 3: // of another log
        files.set(name, pick([...pick(all).values()]));
        break;
      case 4: // a name with something behind it, as Kafka has it while it works
        files.set(`${name}${pick([".deleted", ".cleaned", ".swap", ".tmp"])}`, files.get(name)!);
        break;
      default: {
        const bytes = mutated([files.get(name)!], random);
        if (name.endsWith(".log") && random() < 0.7) repairChecksums(bytes);
        files.set(name, bytes);
      }
    }
  }
  return files;
}

function folderTarget(
  name: string,
  run: (storage: ReturnType<typeof readOnlyFolder>, digest: Digest) => Promise<void>,
): FuzzTarget {
  return {
    name,
    make: (random) => packed(mutatedFolder(random)),
    run: (input, digest) => run(readOnlyFolder(unpacked(input)), digest),
  };
}

async function settled<T>(read: Promise<T>): Promise<T | string> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof KafkaError) return error.code;
    throw error;
  }
}

/** Few, since each input is opened and read in full. */
const MOST_RECORDS = 200;

const logTarget = folderTarget("log-inspect", async (storage, digest) => {
  const log = await Log.open(storage, { topic: "t", partition: 0, maxBatchBytes: 1 << 20 });
  try {
    digest.add(log.logStartOffset);
    digest.add(log.logEndOffset);
    const walk = async () => {
      let count = 0;
      for await (const record of log.records({ codecs })) {
        addRecord(record, digest);
        if (++count === MOST_RECORDS) break;
      }
    };
    digest.add(await settled(walk()) ?? "all");
    const middle = Math.floor((log.logStartOffset + log.logEndOffset) / 2);
    const read = await settled(log.read(middle, { maxBytes: 500 }));
    digest.add(typeof read === "string" ? read : read.records?.size);
    const found = await settled(log.offsetForTimestamp(1_700_000_000_500, codecs));
    digest.add(typeof found === "object" ? found.offset : found);
    digest.add(await settled(log.lastStableOffset()));
    digest.add(log.endOffsetForEpoch(1)?.endOffset);
    for (const { file, kind } of log.anomalies) digest.add(`${kind} ${file}`);
  } finally {
    await log.close();
  }
});

const verifyTarget = folderTarget("log-verify", async (storage, digest) => {
  for await (const { file, kind, position } of verifyLog(storage, { topic: "t", codecs, maxBatchBytes: 1 << 20 })) {
    digest.add(`${kind} ${file} ${position}`);
  }
});

/** All of them. */
export async function fuzzTargets(): Promise<FuzzTarget[]> {
  const { Zstd } = await import("@hpcc-js/wasm-zstd");
  return [
    batchTarget("batches", V2_SETS),
    batchTarget("message-sets", OLD_SETS),
    plainTarget("gzip"),
    plainTarget("snappy"),
    plainTarget("lz4"),
    nativeGzipTarget(),
    zstdTarget(await Zstd.load()),
    offsetIndexTarget,
    timeIndexTarget,
    transactionIndexTarget,
    snapshotTarget,
    leaderEpochsTarget,
    offsetCheckpointTarget,
    metadataTarget,
    metaPropertiesTarget,
    logTarget,
    verifyTarget,
  ];
}
