/**
 * Counts what is in a log: sizes, codecs and what they save, times, producers, keys. Damage is passed over and counted.
 *
 * @module
 */

import { codecFor, type Codecs, type CompressionType, DEFAULT_DECOMPRESSION_LIMIT } from "../compression/codec.ts";
import { throwIfAborted } from "../core/abort_error.ts";
import { KafkaError } from "../core/kafka_error.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import { HyperLogLog } from "../hash/hyper_log_log.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS as F, RECORD_BATCH_OVERHEAD } from "../records/record_batch.ts";
import { checkFolder, type SegmentFiles } from "./check_folder.ts";
import { markerOf, replayedBatch } from "./producer_check.ts";
import { batchView, recordCountOf, SegmentWalk, type WalkedBatch } from "./segment_walk.ts";
import type { Storage } from "./storage.ts";
import { TimeHistogram } from "./time_histogram.ts";

/** How to count. */
export interface LogStatsOptions {
  /** Codecs; batches of one that is missing are counted without their records. */
  readonly codecs: Codecs;
  /** First visible offset, of which a checkpoint of the log directory tells; what lies below it was deleted. */
  readonly logStartOffset?: number | undefined;
  /** Checksum to use; the fastest one here when absent. */
  readonly crc32c?: Crc32c | undefined;
  /** Most bytes of a batch. Default 100 MiB. */
  readonly maxBatchBytes?: number | undefined;
  /** Told, every so often, how many bytes of the segments were read since it was told last. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Ends it early, with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

/** What batches of one codec take. */
export interface CodecStats {
  /** The codec; `"unknown"` for numbers that Kafka does not know. */
  readonly codec: CompressionType | "unknown";
  /** Batches. */
  batches: number;
  /** Bytes of their records as they are stored. */
  bytes: number;
  /** Bytes of their records when inflated; of those that could not be inflated, as stored. */
  inflatedBytes: number;
}

/** What one producer wrote. */
export interface ProducerStats {
  /** Its id. */
  readonly producerId: number;
  /** Its last epoch. */
  epoch: number;
  /** Batches, without markers. */
  batches: number;
  /** Records in them. */
  records: number;
  /** Whether it used transactions. */
  isTransactional: boolean;
}

/** What is in a log. */
export interface LogStats {
  /** Segments. */
  segments: number;
  /** Bytes of the segments. */
  bytes: number;
  /** Bytes in them that hold no right batch. */
  damagedBytes: number;
  /** First visible offset: what counts begins there. */
  startOffset: number;
  /** Offset behind the last batch. */
  endOffset: number;
  /** Batches. */
  batches: number;
  /** Batches by message format. */
  formats: [v0: number, v1: number, v2: number];
  /** Batches in which compaction left no record. */
  emptyBatches: number;
  /** Batches whose records could not be read. */
  unreadBatches: number;
  /** Records of applications. */
  records: number;
  /** Those that were deleted by moving the log start, and that the files still hold. Counted nowhere else. */
  recordsBelowStart: number;
  /** Records without a value. */
  tombstones: number;
  /** Records without a key. */
  keyless: number;
  /** Headers. */
  headers: number;
  /** Bytes of all keys. */
  keyBytes: number;
  /** Bytes of all values. */
  valueBytes: number;
  /** Bytes of the largest value. */
  largestValue: number;
  /** How many different keys there are, about: within 2 % nearly always. */
  distinctKeys: number;
  /** Control batches that committed a transaction. */
  commits: number;
  /** Control batches that aborted one. */
  aborts: number;
  /** Other control batches. */
  otherControls: number;
  /** Least leader epoch; −1 for none. */
  firstEpoch: number;
  /** Greatest leader epoch; −1 for none. */
  lastEpoch: number;
  /** Least timestamp of an application's record; −1 for none. */
  minTimestamp: number;
  /** Greatest timestamp of an application's record; −1 for none. */
  maxTimestamp: number;
  /** Records over time. */
  times: { from: number; stepMs: number; counts: number[] };
  /** Batches by size: the first number counts those below 128 bytes, each further one twice that. */
  batchSizes: number[];
  /** By codec, most bytes first. */
  codecs: CodecStats[];
  /** Producers with an id. */
  producerCount: number;
  /** Those with the most records. */
  producers: ProducerStats[];
}

/** Least bytes that the second number of {@linkcode LogStats.batchSizes} counts. */
export const BATCH_SIZE_STEP = 128;
/** Producers that are told one by one. */
const TOP_PRODUCERS = 10;
/** Producers that are counted one by one, so that memory stays bounded; of more only their number is told. */
const MAX_PRODUCERS = 100_000;
const MAX_BATCH_BYTES = 100 * 1024 * 1024;
/** Bytes of a message of the old formats around its key and value. */
const LEGACY_OVERHEADS = [26, 34] as const;

/**
 * Counts the log in `storage`.
 *
 * @throws StorageError when a file cannot be read.
 */
export async function collectLogStats(storage: Storage, options: LogStatsOptions): Promise<LogStats> {
  const { segments } = await checkFolder(storage);
  const { crc32c = await loadCrc32c() } = options;
  const counter = new Counter(options.codecs, options.logStartOffset ?? 0);
  for (const segment of segments) await countSegment(storage, segment, counter, { ...options, crc32c });
  return counter.end(segments);
}

async function countSegment(
  storage: Storage,
  segment: SegmentFiles,
  counter: Counter,
  options: LogStatsOptions & { readonly crc32c: Crc32c },
): Promise<void> {
  const file = await storage.open(segment.log);
  try {
    counter.stats.bytes += file.size;
    const walk = new SegmentWalk(file, {
      crc32c: options.crc32c,
      maxBatchBytes: options.maxBatchBytes ?? MAX_BATCH_BYTES,
      baseOffset: segment.baseOffset,
    });
    let reported = 0;
    for (let items = await walk.next(); items !== undefined; items = await walk.next()) {
      for (const item of items) {
        if (item.type === "batch") counter.batch(item);
        else if (item.kind !== "zeros") counter.stats.damagedBytes += item.until - item.from;
      }
      options.onProgress?.(walk.position - reported);
      reported = walk.position;
      throwIfAborted(options.signal);
    }
  } finally {
    await file.close();
  }
}

/** Takes batch by batch. */
class Counter {
  readonly stats: LogStats = {
    segments: 0,
    bytes: 0,
    damagedBytes: 0,
    startOffset: 0,
    endOffset: 0,
    batches: 0,
    formats: [0, 0, 0],
    emptyBatches: 0,
    unreadBatches: 0,
    records: 0,
    recordsBelowStart: 0,
    tombstones: 0,
    keyless: 0,
    headers: 0,
    keyBytes: 0,
    valueBytes: 0,
    largestValue: 0,
    distinctKeys: 0,
    commits: 0,
    aborts: 0,
    otherControls: 0,
    firstEpoch: -1,
    lastEpoch: -1,
    minTimestamp: -1,
    maxTimestamp: -1,
    times: { from: 0, stepMs: 0, counts: [] },
    batchSizes: [],
    codecs: [],
    producerCount: 0,
    producers: [],
  };
  readonly #codecs: Codecs;
  readonly #logStartOffset: number;
  readonly #keys = new HyperLogLog();
  readonly #producerIds = new HyperLogLog();
  readonly #producers = new Map<number, ProducerStats>();
  readonly #times = new TimeHistogram();

  constructor(codecs: Codecs, logStartOffset: number) {
    this.#codecs = codecs;
    this.#logStartOffset = logStartOffset;
  }

  batch(batch: WalkedBatch): void {
    const { stats } = this;
    const { lastOffset, magic, partitionLeaderEpoch: epoch, size } = batch;
    if (lastOffset < this.#logStartOffset) {
      this.#belowStart(batch);
      return;
    }
    stats.batches++;
    stats.formats[magic as 0 | 1 | 2]++;
    const step = Math.max(0, Math.floor(Math.log2(size / BATCH_SIZE_STEP)) + 1);
    stats.batchSizes[step] = (stats.batchSizes[step] ?? 0) + 1;
    if (lastOffset >= stats.endOffset) stats.endOffset = lastOffset + 1;
    if (epoch >= 0) {
      stats.firstEpoch = stats.firstEpoch < 0 ? epoch : Math.min(stats.firstEpoch, epoch);
      stats.lastEpoch = Math.max(stats.lastEpoch, epoch);
    }
    if (magic === 2 && batchView(batch).isControl) {
      this.#control(batch);
      return;
    }
    let count = magic === 2 ? Math.max(0, recordCountOf(batch)) : 0;
    try {
      const all = this.#inflated(batch);
      if (all.length === 0) stats.emptyBatches++;
      const records = this.#fromStart(all);
      count = records.length;
      this.#records(records);
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
      stats.unreadBatches++;
    }
    stats.records += count;
    if (magic === 2) this.#producer(batch, count);
  }

  end(segments: readonly SegmentFiles[]): LogStats {
    const { stats } = this;
    stats.segments = segments.length;
    stats.startOffset = Math.max(segments[0]?.baseOffset ?? 0, this.#logStartOffset);
    stats.endOffset = Math.max(stats.endOffset, stats.startOffset, segments.at(-1)?.baseOffset ?? 0);
    stats.distinctKeys = this.#keys.estimate();
    stats.times = this.#times.result();
    stats.batchSizes = Array.from(stats.batchSizes, (count) => count ?? 0);
    stats.codecs.sort((a, b) => b.bytes - a.bytes);
    const isExact = this.#producers.size < MAX_PRODUCERS;
    stats.producerCount = isExact ? this.#producers.size : this.#producerIds.estimate();
    stats.producers = [...this.#producers.values()].sort((a, b) => b.records - a.records).slice(0, TOP_PRODUCERS);
    return stats;
  }

  #control(batch: WalkedBatch): void {
    const type = markerOf(batch)?.type;
    if (type === "COMMIT") this.stats.commits++;
    else if (type === "ABORT") this.stats.aborts++;
    else this.stats.otherControls++;
  }

  #belowStart(batch: WalkedBatch): void {
    const view = batchView(batch);
    if (view.isControl) return;
    try {
      this.stats.recordsBelowStart += batch.magic === 2
        ? Math.max(0, recordCountOf(batch))
        : view.records({ codecs: this.#codecs }).length;
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
    }
  }

  /** Without those below the log start, which may lie inside a batch. */
  #fromStart(records: readonly KafkaRecord[]): readonly KafkaRecord[] {
    const start = this.#logStartOffset;
    if (records.length === 0 || records[0]!.offset >= start) return records;
    const visible = records.filter(({ offset }) => offset >= start);
    this.stats.recordsBelowStart += records.length - visible.length;
    return visible;
  }

  #producer(batch: WalkedBatch, records: number): void {
    const replayed = replayedBatch(batch);
    if (replayed === undefined) return;
    const { isTransactional, producerEpoch, producerId } = replayed;
    let producer = this.#producers.get(producerId);
    if (producer === undefined) {
      this.#producerIds.add(new TextEncoder().encode(String(producerId)));
      if (this.#producers.size >= MAX_PRODUCERS) return;
      producer = { producerId, epoch: producerEpoch, batches: 0, records: 0, isTransactional };
      this.#producers.set(producerId, producer);
    }
    producer.epoch = producerEpoch;
    producer.batches++;
    producer.records += records;
    if (isTransactional) producer.isTransactional = true;
  }

  /** The records of a batch, whose sizes are counted on the way: inflated once. */
  #inflated(batch: WalkedBatch): readonly KafkaRecord[] {
    const view = batchView(batch);
    const { compression } = view;
    const bytes = batch.magic === 2 ? batch.size - RECORD_BATCH_OVERHEAD : batch.size;
    if (compression === "none") {
      this.#codec(compression, bytes, bytes);
      return view.records();
    }
    try {
      if (batch.magic < 2) {
        const records = view.records({ codecs: this.#codecs });
        const overhead = LEGACY_OVERHEADS[batch.magic as 0 | 1];
        let inflated = 0;
        for (const { keyLength, valueLength } of records) {
          inflated += overhead + Math.max(0, keyLength) + Math.max(0, valueLength);
        }
        this.#codec(compression, bytes, inflated);
        return records;
      }
      const payload = batch.bytes.subarray(RECORD_BATCH_OVERHEAD);
      const inflated = recordCountOf(batch) === 0
        ? payload
        : codecFor(this.#codecs, compression).decompress(payload, DEFAULT_DECOMPRESSION_LIMIT);
      this.#codec(compression, bytes, inflated.length);
      return batchView(uncompressed(batch, inflated)).records();
    } catch (error) {
      this.#codec(compression, bytes, bytes);
      throw error;
    }
  }

  #codec(codec: CodecStats["codec"], bytes: number, inflatedBytes: number): void {
    let stats = this.stats.codecs.find((other) => other.codec === codec);
    if (stats === undefined) this.stats.codecs.push(stats = { codec, batches: 0, bytes: 0, inflatedBytes: 0 });
    stats.batches++;
    stats.bytes += bytes;
    stats.inflatedBytes += inflatedBytes;
  }

  #records(records: readonly KafkaRecord[]): void {
    const { stats } = this;
    for (const record of records) {
      const { keyLength, valueLength } = record;
      if (keyLength < 0) stats.keyless++;
      else {
        stats.keyBytes += keyLength;
        this.#keys.add(record.buffer, record.keyStart, record.keyStart + keyLength);
      }
      if (valueLength < 0) stats.tombstones++;
      else {
        stats.valueBytes += valueLength;
        if (valueLength > stats.largestValue) stats.largestValue = valueLength;
      }
      stats.headers += record.headers.length;
      const timestamp = timestampOf(record);
      if (timestamp < 0) continue;
      if (stats.minTimestamp < 0 || timestamp < stats.minTimestamp) stats.minTimestamp = timestamp;
      if (timestamp > stats.maxTimestamp) stats.maxTimestamp = timestamp;
      this.#times.add(timestamp);
    }
  }
}

/** The record's timestamp; −1 for none, and for one that no number holds. */
function timestampOf(record: KafkaRecord): number {
  try {
    return record.timestamp;
  } catch (error) {
    if (error instanceof KafkaError) return -1;
    throw error;
  }
}

/** The same batch with its records inflated. */
function uncompressed(batch: WalkedBatch, records: Uint8Array): WalkedBatch {
  const bytes = new Uint8Array(RECORD_BATCH_OVERHEAD + records.length);
  bytes.set(batch.bytes.subarray(0, RECORD_BATCH_OVERHEAD));
  bytes.set(records, RECORD_BATCH_OVERHEAD);
  const view = new DataView(bytes.buffer);
  view.setInt32(F.length, bytes.length - LOG_OVERHEAD);
  view.setInt16(F.attributes, view.getInt16(F.attributes) & ~7);
  return { ...batch, bytes, size: bytes.length };
}
