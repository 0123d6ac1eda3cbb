/**
 * Copies a log: a partition's folder as it is, byte for byte, or a range of offsets as a log of its own that a broker
 * opens. The source may be anything that can be read, such as an archive or a URL.
 *
 * @module
 */

import { throwIfAborted } from "../core/abort_error.ts";
import { StorageError } from "../core/kafka_error.ts";
import type { Codecs } from "../compression/codec.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import type { Batch } from "../records/batch.ts";
import { RebuiltEpochs } from "./rebuilt_epochs.ts";
import type { Log } from "./log.ts";
import { writePartitionMetadata } from "./partition_metadata.ts";
import { type Salvaged, SalvageWriter } from "./salvage_writer.ts";
import { segmentFileName } from "./segment_file_name.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** How a log is copied. */
export interface CopyLogOptions {
  /** Checksum to use; the fastest one here when absent. */
  readonly crc32c?: Crc32c;
  /** Told, every so often, how many bytes were read since it was told last. */
  readonly onProgress?: (bytes: number) => void;
  /** Ends it early, with an `AbortedError`. */
  readonly signal?: AbortSignal;
}

/** How a range of a log is copied. */
export interface CopyLogRangeOptions extends CopyLogOptions {
  /** First offset wanted. Default the log's start. */
  readonly from?: number;
  /** First offset not wanted. Default the log's end. */
  readonly until?: number;
  /** Codecs for compressed messages of the old formats, whose first offset only decoding tells. */
  readonly codecs?: Codecs;
  /** Bytes of batches between two index entries. Default 4096. Kafka: `index.interval.bytes`. */
  readonly indexIntervalBytes?: number;
  /** Most bytes of a batch. Default 100 MiB, the most that a broker takes in one request. */
  readonly maxBatchBytes?: number;
}

/** What {@linkcode copyLogFolder} copied. */
export interface CopiedFolder {
  /** Number of files. */
  readonly files: number;
  /** Their bytes. */
  readonly bytes: number;
}

/** What {@linkcode copyLogRange} copied. */
export interface CopiedRange extends Salvaged {
  /** First offset of the first batch; batches are copied whole, so that it may lie below the one asked for. */
  readonly firstOffset: number;
}

const MIB = 1024 * 1024;
const MAX_BATCH_BYTES = 100 * MIB;

/**
 * Copies all files of `source` into `target`, an empty folder, and reads what was written back to compare it.
 *
 * @throws StorageError; with code `"NOT_EMPTY"` when there are files in `target`, with `"COPY_DIFFERS"` when what was read
 * back is not what was written.
 */
export async function copyLogFolder(
  source: Storage,
  target: Storage,
  options: CopyLogOptions = {},
): Promise<CopiedFolder> {
  await refuseFiles(target);
  const { crc32c = await loadCrc32c() } = options;
  const names = await source.list();
  let bytes = 0;
  for (const name of names) {
    const from = await source.open(name);
    try {
      const read = await copyFile(from, target, name, crc32c, options);
      const written = await checksumOf(target, name, crc32c, options);
      if (written.size !== read.size || written.checksum !== read.checksum) {
        throw new StorageError(
          `${name}: what was written reads differently than what was copied: the disk fails, or somebody writes to it`,
          { code: "COPY_DIFFERS", file: name },
        );
      }
      bytes += read.size;
    } finally {
      await from.close();
    }
  }
  return { files: names.length, bytes };
}

/**
 * Copies the batches of `log` that hold offsets of a range into `target`, an empty folder, under the names of the segments
 * that they come from, and makes what a broker needs beside them: indexes, leader epochs, a snapshot of the producers, the
 * topic's id. Batches are copied whole and every checksum is compared.
 *
 * @param source The folder of `log`, for its leader epochs.
 * @throws CorruptRecordError where the log is damaged; StorageError; with code `"NOT_EMPTY"` when there are files in
 * `target`, with `"NOTHING_TO_COPY"` when the range has no batch.
 */
export async function copyLogRange(
  log: Log,
  source: Storage,
  target: Storage,
  options: CopyLogRangeOptions = {},
): Promise<CopiedRange> {
  await refuseFiles(target);
  const { codecs, crc32c = await loadCrc32c(), indexIntervalBytes = 4096, maxBatchBytes = MAX_BATCH_BYTES } = options;
  const writer = new SalvageWriter(target, {
    startOffset: startOf(log, options.from),
    segmentBytes: Math.max(1, ...log.segments.map(({ size }) => size)),
    // The segments keep their names, whatever is missing between them.
    isCompacted: true,
    epochs: await RebuiltEpochs.begin(source),
    crc32c,
    indexIntervalBytes,
    maxBatchBytes,
    onRepaired: () => {},
  });
  const range = { ...wanted("from", options.from), ...wanted("until", options.until) };
  const sources = log.segments.map(({ baseOffset }) => ({
    source: { name: segmentFileName(baseOffset, "log"), baseOffset, rank: 0 },
  }));
  let at = -1;
  let firstOffset: number | undefined;
  let unreported = 0;
  try {
    for await (const batch of log.batches(range)) {
      batch.verifyCrc(crc32c);
      const before = at;
      while (at + 1 < sources.length && sources[at + 1]!.source.baseOffset <= batch.lastOffset) at++;
      // A name must not lie above what is in the file.
      const first = at > before ? batch.exactBaseOffset(codecs === undefined ? {} : { codecs }) : batch.baseOffset;
      firstOffset ??= first;
      await writer.add({ batch: walked(batch), firstOffset: first, run: sources[Math.max(0, at)]! });
      if ((unreported += batch.size) < MIB) continue;
      options.onProgress?.(unreported);
      unreported = 0;
      throwIfAborted(options.signal);
    }
    if (firstOffset === undefined) {
      throw new StorageError("there is no batch in the range that was asked for", { code: "NOTHING_TO_COPY" });
    }
    const written = await writer.end(undefined);
    options.onProgress?.(unreported);
    if (log.topicId !== undefined) await writePartitionMetadata(target, log.topicId);
    return { ...written, firstOffset };
  } finally {
    await writer.close();
  }
}

/** The base offset of a segment that is copied from its start, and else that of the first batch, whatever that is. */
function startOf({ logStartOffset, segments }: Log, from = 0): number {
  const start = Math.max(from, logStartOffset);
  const isBase = segments.some(({ baseOffset }) => baseOffset === start);
  return isBase ? start : Infinity;
}

async function refuseFiles(target: Storage): Promise<void> {
  let names: string[];
  try {
    names = await target.list();
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return;
    throw error;
  }
  if (names.length === 0) return;
  throw new StorageError(`the folder to copy to is not empty, there is ${names[0]}: take a new one`, {
    code: "NOT_EMPTY",
    file: names[0],
  });
}

interface Checksum {
  readonly size: number;
  readonly checksum: number;
}

async function copyFile(
  from: StoredFile,
  target: Storage,
  name: string,
  crc32c: Crc32c,
  options: CopyLogOptions,
): Promise<Checksum> {
  const into = await target.open(name, { create: true });
  try {
    const copied = await eachPiece(from, crc32c, options, (piece) => into.append([piece]));
    await into.sync();
    return copied;
  } finally {
    await into.close();
  }
}

async function checksumOf(storage: Storage, name: string, crc32c: Crc32c, options: CopyLogOptions): Promise<Checksum> {
  const file = await storage.open(name);
  try {
    return await eachPiece(file, crc32c, { ...wanted("signal", options.signal) }, () => Promise.resolve());
  } finally {
    await file.close();
  }
}

async function eachPiece(
  file: StoredFile,
  crc32c: Crc32c,
  options: CopyLogOptions,
  take: (piece: Uint8Array) => Promise<void>,
): Promise<Checksum> {
  const buffer = new Uint8Array(Math.min(MIB, file.size));
  let checksum = 0;
  let size = 0;
  while (size < file.size) {
    throwIfAborted(options.signal);
    const piece = buffer.subarray(0, await file.readAt(buffer, size));
    if (piece.length === 0) break;
    // Of each piece by itself, folded: the checksum given in has no seed.
    checksum = Math.imul(checksum, 31) + crc32c(piece) | 0;
    size += piece.length;
    await take(piece);
    options.onProgress?.(piece.length);
  }
  return { size, checksum };
}

/** The batch as it is written. */
function walked(batch: Batch): WalkedBatch {
  const { bytes, lastOffset, magic, maxTimestamp, partitionLeaderEpoch, position, size } = batch;
  const baseOffset = magic === 2 ? batch.baseOffset : lastOffset;
  return { type: "batch", bytes, position, size, magic, baseOffset, lastOffset, maxTimestamp, partitionLeaderEpoch };
}

/** An option where it is set. */
function wanted<K extends string, V>(name: K, value: V | undefined): { readonly [name in K]?: V } {
  return value === undefined ? {} : { [name]: value } as { readonly [name in K]?: V };
}
