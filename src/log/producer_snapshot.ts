/**
 * A producer snapshot, `<offset>.snapshot`: what is remembered of each producer up to that offset, so that a log opens
 * without reading all of it again.
 *
 * ```text
 * 0 version (1)   2 crc (CRC-32C of 6 … end)   6 entry count   10 entries of 46 bytes
 * ```
 *
 * @module
 */

import { Reader } from "../bytes/reader.ts";
import { Writer } from "../bytes/writer.ts";
import { KafkaError, StorageError } from "../core/kafka_error.ts";
import { type Crc32c, crc32c as plainCrc32c } from "../hash/crc32c.ts";
import {
  decodeProducerSnapshot as decodeMessage,
  encodeProducerSnapshot as encodeMessage,
} from "../protocol/records/producer_snapshot.ts";
import { readSmallFile } from "./checkpoint_lines.ts";
import { parseKafkaFileName } from "./kafka_file_name.ts";
import type { Storage } from "./storage.ts";

const VERSION = 1;
/** Bytes before the entries: version, checksum, count. */
export const PRODUCER_SNAPSHOT_HEADER_BYTES = 10;
/** Bytes of an entry. */
export const PRODUCER_SNAPSHOT_ENTRY_BYTES = 46;
/** Where the bytes begin that the checksum covers. */
const CHECKED_FROM = 6;
/** Five million producers, in bytes. */
const MAX_BYTES = 256 * 1024 * 1024;

/** What is remembered of one producer. */
export interface ProducerSnapshotEntry {
  /** Id of the producer. */
  readonly producerId: number;
  /** Its epoch; −1 when none is known. */
  readonly epoch: number;
  /** Sequence of its last record; −1 when its epoch has none yet. */
  readonly lastSequence: number;
  /** Offset of its last record; −1 when its epoch has none yet. */
  readonly lastOffset: number;
  /** Last offset of its last batch less the first one. */
  readonly offsetDelta: number;
  /** Greatest timestamp of its last batch, or that of its last marker. */
  readonly timestamp: number;
  /** Epoch of the coordinator that wrote its last marker; −1 for none. */
  readonly coordinatorEpoch: number;
  /** First offset of its open transaction; −1 for none. */
  readonly currentTxnFirstOffset: number;
}

/** A snapshot that was read. The `n`th entry begins at byte 10 + 46 · n. */
export interface ProducerSnapshot {
  /** Name of the file. */
  readonly file: string;
  /** The offset up to which it tells, from the file's name; −1 when the name is no number, or one beyond 2^53−1. */
  readonly offset: number;
  /** Version of the format. */
  readonly version: number;
  /** Checksum it carries, unsigned. */
  readonly crc: number;
  /** The producers, in the order of the file. */
  readonly entries: readonly ProducerSnapshotEntry[];
}

/**
 * Reads a snapshot.
 *
 * @throws StorageError with code `"CORRUPT_SNAPSHOT"`, or the storage's own.
 */
export async function readProducerSnapshot(
  storage: Storage,
  name: string,
  crc32c: Crc32c = plainCrc32c,
): Promise<ProducerSnapshot> {
  const bytes = await readSmallFile(storage, name, MAX_BYTES);
  if (bytes === undefined) {
    throw new StorageError(`${name}: there is no such file`, { code: "ENOENT", file: name });
  }
  return decodeProducerSnapshot(bytes, name, crc32c);
}

/**
 * Decodes the bytes of a snapshot.
 *
 * @throws StorageError with code `"CORRUPT_SNAPSHOT"`.
 */
export function decodeProducerSnapshot(
  bytes: Uint8Array,
  name: string,
  crc32c: Crc32c = plainCrc32c,
): ProducerSnapshot {
  const corrupt = (reason: string, cause?: unknown) =>
    new StorageError(`${name}: ${reason}. Kafka deletes such a snapshot and takes the one before it.`, {
      code: "CORRUPT_SNAPSHOT",
      file: name,
      cause,
    });
  if (bytes.length < PRODUCER_SNAPSHOT_HEADER_BYTES) {
    throw corrupt(`${bytes.length} bytes, where ${PRODUCER_SNAPSHOT_HEADER_BYTES} are the least`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getInt16(0);
  if (version !== VERSION) throw corrupt(`version ${version}, where ${VERSION} is due`);
  const crc = view.getUint32(2);
  const computed = crc32c(bytes.subarray(CHECKED_FROM));
  if (computed !== crc) throw corrupt(`its CRC-32C is ${hex(computed)}, and it says ${hex(crc)}`);
  const count = view.getInt32(CHECKED_FROM);
  const room = Math.floor((bytes.length - PRODUCER_SNAPSHOT_HEADER_BYTES) / PRODUCER_SNAPSHOT_ENTRY_BYTES);
  if (count < 0 || count > room) throw corrupt(`${count} producers announced, and there is room for ${room}`);
  try {
    const { producerEntries: entries } = decodeMessage(new Reader(bytes, name, 2), version);
    const offset = Number(parseKafkaFileName(name)?.digits ?? -1);
    return { file: name, offset: Number.isSafeInteger(offset) ? offset : -1, version, crc, entries };
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error;
    throw corrupt(error.message, error);
  }
}

/** The bytes of a snapshot of `entries`, as Kafka writes them. */
export function encodeProducerSnapshot(
  entries: readonly ProducerSnapshotEntry[],
  crc32c: Crc32c = plainCrc32c,
): Uint8Array {
  const writer = new Writer();
  writer.int16(VERSION);
  encodeMessage(writer, { crc: 0, producerEntries: [...entries] }, VERSION);
  const bytes = writer.toBytes();
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(2, crc32c(bytes.subarray(CHECKED_FROM)));
  return bytes;
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
