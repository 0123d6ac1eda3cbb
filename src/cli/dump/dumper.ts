/**
 * Takes a partition's folder or single files apart and hands the pieces to a form of output.
 *
 * @module
 */

import { type Codecs, COMPRESSION_TYPES } from "../../compression/codec.ts";
import { KafkaError } from "../../core/kafka_error.ts";
import type { Crc32c } from "../../hash/crc32c.ts";
import { readCheckpointLines } from "../../log/checkpoint_lines.ts";
import { type KafkaFileType, parseKafkaFileName } from "../../log/kafka_file_name.ts";
import { type OffsetCheckpointName, readOffsetCheckpoint } from "../../log/log_directory.ts";
import { readPartitionMetadata } from "../../log/partition_metadata.ts";
import { readProducerSnapshot } from "../../log/producer_snapshot.ts";
import type { Storage, StoredFile } from "../../log/storage.ts";
import type { ByteOutput } from "../byte_output.ts";
import type { OffsetRange } from "../resolve_range.ts";
import type { RecordFilter } from "../record_filter.ts";
import { BatchView, type DecodedRecords } from "./batch_view.ts";
import { BatchWalker, type Damage } from "./batch_walker.ts";
import type { DumpedBatch, DumpedEnd, DumpedFile, DumpFormat } from "./dump_format.ts";
import { addInt64, int64, int64At } from "./int64.ts";
import { readSlots } from "./read_slots.ts";

/** How to dump. */
export interface DumperOptions {
  /** Takes the bytes. */
  readonly out: ByteOutput;
  /** Makes them. */
  readonly format: DumpFormat;
  /** Which records. */
  readonly filter: RecordFilter;
  /** Whether records are shown, or only batches. */
  readonly hasRecords: boolean;
  /** Whether the end of the batches is where Kafka's tool sees it, even when right ones follow. */
  readonly endsAsKafka: boolean;
  /** Codecs. */
  readonly codecs: Codecs;
  /** Checksum. */
  readonly crc32c: Crc32c;
  /** Takes what is wrong with a file. */
  readonly complain: (message: string) => void;
  /** Told how many bytes of batches were passed. */
  readonly advance: (bytes: number) => void;
}

/** Most bytes of a batch that is read whole: the most that a broker takes in one request. */
const MAX_BATCH_BYTES = 100 * 1024 * 1024;
const TXN_ENTRY_BYTES = 34;

/** Dumps files one after the other. */
export class Dumper {
  readonly #options: DumperOptions;
  /** Records that may still be shown. */
  #left: number;
  /** Records of the partition so far. */
  #records = 0;
  #isDamaged = false;
  readonly #missingCodecs = new Set<string>();

  /** Dumps in the way of `options`. */
  constructor(options: DumperOptions) {
    this.#options = options;
    this.#left = options.filter.limit;
  }

  /** Whether something was damaged. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** Whether something could not be read for want of a codec. */
  get isIncomplete(): boolean {
    return this.#missingCodecs.size > 0;
  }

  /** Whether there were as many records as wanted. */
  get isDone(): boolean {
    return this.#left <= 0;
  }

  /** The next files are another partition's. */
  nextPartition(): void {
    this.#records = 0;
  }

  /**
   * Dumps one file; `label` is what to call it. With `range` only records in it, from byte `position` on.
   *
   * @throws StorageError when it cannot be read.
   */
  async dump(storage: Storage, name: string, label: string, range?: OffsetRange, position = 0): Promise<void> {
    const parsed = parseKafkaFileName(name);
    if (parsed === undefined) return;
    const stored = await storage.open(name);
    try {
      const { digits, type } = parsed;
      const file = { label, name, type, baseOffset: int64(BigInt(digits ?? 0)), size: stored.size };
      await this.#contents(storage, stored, file, range, position);
    } catch (error) {
      if (!(error instanceof KafkaError) || !DAMAGES.includes(error.code)) throw error;
      this.#isDamaged = true;
      const { message } = error;
      this.#options.complain(`${label}: ${message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message}`);
    } finally {
      await stored.close();
    }
    await this.#options.out.flush();
  }

  async #contents(
    storage: Storage,
    stored: StoredFile,
    file: DumpedFile,
    range: OffsetRange | undefined,
    position: number,
  ): Promise<void> {
    const { crc32c, format } = this.#options;
    switch (file.type) {
      case "log":
      case "checkpoint":
        return await this.#batches(storage, stored, file, range, position);
      case "index":
        return await this.#offsetIndex(stored, file);
      case "timeindex":
        return await this.#timeIndex(stored, file);
      case "txnindex":
        return await this.#transactionIndex(stored, file);
      case "snapshot":
        format.file(file);
        return format.snapshot(file, await readProducerSnapshot(storage, file.name, crc32c));
      case "leader-epoch-checkpoint":
        return await this.#leaderEpochs(storage, file);
      case "partition.metadata": {
        format.file(file);
        const topicId = await readPartitionMetadata(storage);
        if (topicId !== undefined) format.partitionMetadata(file, topicId);
        return;
      }
      case "offset-checkpoint":
        format.file(file);
        for (const entry of await readOffsetCheckpoint(storage, file.name as OffsetCheckpointName)) {
          format.offsetCheckpoint(file, entry);
        }
        return;
      default:
        return;
    }
  }

  async #batches(
    storage: Storage,
    stored: StoredFile,
    file: DumpedFile,
    range: OffsetRange | undefined,
    position: number,
  ): Promise<void> {
    const { crc32c, format } = this.#options;
    format.file(file);
    const context = { file: file.label };
    const walk = { position, end: stored.size, maxBatchBytes: MAX_BATCH_BYTES, crc32c, context };
    const walker = new BatchWalker(stored, walk);
    // A snapshot of KRaft's counts from 0, beside the log.
    const before = this.#records;
    if (file.type === "checkpoint") this.#records = 0;
    const last = await this.#walk(walker, file, range);
    if (file.type === "checkpoint") this.#records = before;
    // Of records that were picked there is no whole to sum up.
    const isWhole = range === undefined && !this.#options.filter.isSelective && !this.isDone;
    if (isWhole) format.end(file, await this.#end(storage, file, walker.validBytes, last));
  }

  /** Shows the batches one after the other; answers the bytes behind the last one, where they are no batch. */
  async #walk(walker: BatchWalker, file: DumpedFile, range: OffsetRange | undefined): Promise<Damage | undefined> {
    const { advance, endsAsKafka } = this.#options;
    for (let part = await walker.next(); part !== undefined; part = await walker.next()) {
      if ("kind" in part) {
        advance(part.bytes);
        if (part.nextOffset !== undefined || part.kind === "corrupt") this.#tellDamage(part);
        if (part.nextOffset === undefined || (endsAsKafka && part.kind === "torn")) return part;
        continue;
      }
      for (const batch of part) {
        if (!await this.#batch(file, new BatchView(batch, { file: file.label }), range)) return undefined;
        advance(batch.size);
      }
    }
    return undefined;
  }

  /** Shows a batch if it is wanted; answers whether those behind it may be. */
  async #batch(file: DumpedFile, view: BatchView, range: OffsetRange | undefined): Promise<boolean> {
    const { crc32c, filter, format, hasRecords, out } = this.#options;
    if (range !== undefined) {
      if (view.lastOffset < range.from) return true;
      // Of the older formats the first offset is not known here, but it is above the last one of the batch before.
      if (view.isV2 && view.baseOffset >= range.until) return false;
    }
    const isValid = view.isValid(crc32c);
    if (!isValid) this.#tellChecksum(file, view);
    let decoded: DecodedRecords | undefined;
    let error: KafkaError | undefined;
    if (hasRecords || filter.isSelective) {
      try {
        decoded = view.decode(this.#options.codecs);
      } catch (cause) {
        if (!(cause instanceof KafkaError)) throw cause;
        error = cause;
        this.#tellUndecodable(view, cause);
      }
    }
    const batch: DumpedBatch = {
      file,
      view,
      isValid,
      isControl: view.isControl,
      decoded,
      error,
      firstRecord: this.#records,
    };
    const wanted = this.#wanted(decoded, range);
    if (wanted?.length === 0) return range === undefined || view.lastOffset < range.until;
    format.batch(batch);
    if (decoded !== undefined && hasRecords) {
      const { records } = decoded;
      const count = wanted?.length ?? records.length;
      for (let i = 0; i < count; i++) {
        const n = wanted === undefined ? i : wanted[i]!;
        format.record(batch, decoded, records[n]!, n);
        if (out.isFull) await out.flush();
      }
      this.#left -= count;
    } else if (!hasRecords) this.#left--; // then the limit is one of batches
    this.#records += decoded?.records.length ?? 0;
    if (out.isFull) await out.flush();
    return this.#left > 0 && (range === undefined || view.lastOffset < range.until);
  }

  /** The numbers of the records that are wanted; undefined for all. */
  #wanted(decoded: DecodedRecords | undefined, range: OffsetRange | undefined): number[] | undefined {
    const { filter } = this.#options;
    if (decoded === undefined) return filter.isSelective ? [] : undefined;
    const { records } = decoded;
    if (range === undefined && !filter.isSelective && records.length <= this.#left) return undefined;
    const wanted: number[] = [];
    for (const [n, record] of records.entries()) {
      if (wanted.length >= this.#left) break;
      const offset = decoded.offsetOf(record);
      if (range !== undefined && !(offset >= range.from && offset < range.until)) continue;
      if (filter.matches(record)) wanted.push(n);
    }
    return wanted;
  }

  async #end(
    storage: Storage,
    file: DumpedFile,
    validBytes: number,
    last: Damage | undefined,
  ): Promise<DumpedEnd> {
    const slots = async (suffix: string, bytes: number) => {
      const name = file.name.replace(/\.log$/, suffix);
      if (file.type !== "log" || !(await storage.list()).includes(name)) return undefined;
      const index = await storage.open(name);
      await index.close();
      return index.size === 0 ? undefined : Math.floor(index.size / bytes);
    };
    return {
      validBytes,
      trailingBytes: file.size - validBytes,
      error: last === undefined || last.kind === "torn" ? undefined : last.reason,
      offsetIndexSlots: await slots(".index", 8),
      timeIndexSlots: await slots(".timeindex", 12),
    };
  }

  async #offsetIndex(stored: StoredFile, file: DumpedFile): Promise<void> {
    const { format, out } = this.#options;
    format.file(file);
    if (file.size < 8) return format.emptyIndex(file);
    let number = 0;
    for await (const { at, view } of readSlots(stored, 8)) {
      const position = view.getInt32(at + 4);
      const slot = {
        number: number++,
        offset: addInt64(file.baseOffset, view.getInt32(at)),
        // A genuine entry never points at position 0: the first append to a segment is not indexed.
        isUnused: position === 0,
      };
      if (!format.offsetSlot(file, slot, position)) return;
      if (out.isFull) await out.flush();
    }
  }

  async #timeIndex(stored: StoredFile, file: DumpedFile): Promise<void> {
    const { format, out } = this.#options;
    format.file(file);
    if (file.size < 12) return format.emptyIndex(file);
    let number = 0;
    for await (const { at, view } of readSlots(stored, 12)) {
      const timestamp = int64At(view, at);
      const relative = view.getInt32(at + 8);
      const slot = {
        number: number++,
        offset: addInt64(file.baseOffset, relative),
        isUnused: timestamp === 0 && relative === 0,
      };
      if (!format.timeSlot(file, slot, timestamp)) return;
      if (out.isFull) await out.flush();
    }
  }

  async #transactionIndex(stored: StoredFile, file: DumpedFile): Promise<void> {
    const { format, out } = this.#options;
    format.file(file);
    for await (const { at, view } of readSlots(stored, TXN_ENTRY_BYTES)) {
      format.abortedTransaction(file, {
        version: view.getInt16(at),
        producerId: int64At(view, at + 2),
        firstOffset: int64At(view, at + 10),
        lastOffset: int64At(view, at + 18),
        lastStableOffset: int64At(view, at + 26),
      });
      if (out.isFull) await out.flush();
    }
  }

  async #leaderEpochs(storage: Storage, file: DumpedFile): Promise<void> {
    const { format } = this.#options;
    format.file(file);
    const epochs = (await readCheckpointLines(storage, file.name)).map((line) => {
      const match = /^\s*(\d+)\s+(\d+)\s*$/.exec(line);
      if (match === null) {
        throw new KafkaError(`${JSON.stringify(line)} is not an epoch and an offset`, { code: "MALFORMED_FILE" });
      }
      return [Number(match[1]), int64(BigInt(match[2]!))] as const;
    });
    format.leaderEpochs(file, epochs);
  }

  #tellDamage({ bytes, nextOffset, reason }: Damage): void {
    this.#isDamaged = true;
    const next = nextOffset === undefined
      ? `nothing right follows in the ${bytes} bytes to the end`
      : `${bytes} bytes are passed over, up to the next right batch, with offset ${nextOffset}`;
    this.#options.complain(`${reason}; ${next}`);
  }

  #tellChecksum({ label }: DumpedFile, { baseOffset, batch }: BatchView): void {
    this.#isDamaged = true;
    this.#options.complain(
      `offset ${baseOffset}, ${label} at byte ${batch.position}: the checksum is wrong, so bytes of the batch were changed`,
    );
  }

  #tellUndecodable({ codec }: BatchView, error: KafkaError): void {
    const isMissing = error.code === "UNSUPPORTED_CODEC" && (COMPRESSION_TYPES as readonly string[]).includes(codec);
    if (!isMissing) this.#isDamaged = true;
    else {
      // Every batch would say so.
      if (this.#missingCodecs.has(codec)) return;
      this.#missingCodecs.add(codec);
    }
    this.#options.complain(error.message);
  }
}

/** Codes of errors about what is in a file, after which the next file is dumped. */
const DAMAGES: readonly string[] = ["CORRUPT_SNAPSHOT", "MALFORMED_FILE", "CORRUPT_RECORD", "UNSAFE_INTEGER"];

/** Kinds of files that a dump shows, in the folder of a partition. */
export const DUMPED_TYPES: readonly KafkaFileType[] = [
  "log",
  "checkpoint",
  "index",
  "timeindex",
  "txnindex",
  "snapshot",
  "leader-epoch-checkpoint",
  "partition.metadata",
];
/** Those that Kafka's own tool knows. */
export const KAFKA_DUMPED_TYPES: readonly KafkaFileType[] = DUMPED_TYPES.slice(0, 6);
