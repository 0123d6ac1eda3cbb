/**
 * `anykafka log find`: where in the files a record lies, and how Kafka finds it there.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { throwIfAborted } from "../core/abort_error.ts";
import { KafkaError, StorageError } from "../core/kafka_error.ts";
import type { Log } from "../log/log.ts";
import type { ReadStep } from "../log/read_step.ts";
import { segmentFileName } from "../log/segment_file_name.ts";
import type { Storage } from "../log/storage.ts";
import type { Batch } from "../records/batch.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { explainStep, timeText } from "./explain_step.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets } from "./log_target.ts";
import { openTargetLog } from "./open_target_log.ts";
import { startPosition } from "./position.ts";
import { RecordFilter, recordFilterOptions } from "./record_filter.ts";
import { payloadJson } from "./record_json.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logFindCommand: Command = {
  words: `${LOG_TARGET_WORDS} OFFSET|@TIME`,
  wordCount: [1, 2],
  examples: [
    "log find kafka-data/orders-0 350 --explain",
    "log find kafka-data/orders-0 @2026-11-30T10:00Z",
    "log find kafka-data --topic orders --key u-17",
  ],
  options: {
    explain: { type: "boolean", help: "tell every step of the look-up with its numbers" },
    output: { type: "string", short: "o", value: "text|json", help: "a sentence, or a JSON object a record" },
    key: recordFilterOptions.key!,
    limit: recordFilterOptions.limit!,
    ...logTargetOptions,
  },
  run,
};

const MIB = 1024 * 1024;
/** Most bytes of a batch: the most that a broker takes in one request. */
const MAX_BATCH_BYTES = 100 * MIB;

/** Where a record lies. */
interface Place {
  readonly file: string;
  readonly batch: Batch;
  readonly record: KafkaRecord;
  /** Number of the record in its batch, from 0. */
  readonly index: number;
  readonly records: number;
}

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const [word, where] = input.words as [string, string | undefined];
  const hasKey = input.text("key") !== undefined;
  if (hasKey === (where !== undefined)) {
    throw new UsageError("log find: what? Give one of OFFSET, @TIME and --key KEY");
  }
  const now = io.clock.wallTime();
  const filter = new RecordFilter(input, now);
  const codecs = await io.codecs();
  const finder = new Finder(io, codecs, form, input.flag("explain"));
  const { close, targets } = await openLogTargets(io, input, [word]);
  try {
    for (const target of targets) {
      if (finder.found >= filter.limit) break;
      const log = await openTargetLog(target);
      try {
        const prefix = targets.length > 1 ? `${target.name}: ` : "";
        if (where === undefined) await finder.findKey(log, target, prefix, filter);
        else await finder.findPlace(log, target, prefix, where, now);
      } finally {
        await log.close();
      }
    }
    return finder.found > 0 ? 0 : 3;
  } finally {
    await close();
  }
}

class Finder {
  readonly #io: CommandIo;
  readonly #codecs: Codecs;
  readonly #form: "text" | "json";
  readonly #explains: boolean;
  #found = 0;

  constructor(io: CommandIo, codecs: Codecs, form: "text" | "json", explains: boolean) {
    this.#io = io;
    this.#codecs = codecs;
    this.#form = form;
    this.#explains = explains;
  }

  /** Records found so far. */
  get found(): number {
    return this.#found;
  }

  /** Finds by offset or time. */
  async findPlace(log: Log, target: LogTarget, prefix: string, where: string, now: number): Promise<void> {
    const steps: ReadStep[] = [];
    const trace = (step: ReadStep) => void steps.push(step);
    const asked = startPosition(where, now);
    let offset = log.logStartOffset;
    try {
      if (asked === "latest") offset = log.logEndOffset - 1;
      else if (typeof asked === "number") offset = asked < 0 ? log.logEndOffset + asked : asked;
      else if (typeof asked === "object" && "timestamp" in asked) {
        const found = await log.offsetForTimestamp(asked.timestamp, this.#codecs, { isolation: "log-end", trace });
        if (found === undefined) {
          await this.#tell(target.storage, steps);
          return this.#io.err(`${prefix}no record is as new as ${timeText(asked.timestamp)}\n`);
        }
        offset = found.offset;
      }
      const place = await this.#placeOf(log, offset, trace);
      await this.#tell(target.storage, steps);
      if (place === undefined) return this.#io.err(`${prefix}no record has offset ${offset} or one above it\n`);
      if (place.record.offset !== offset) {
        this.#io.err(
          `${prefix}no record has offset ${offset}: it was compacted away, or was never one; the next is this\n`,
        );
      }
      await this.#print(prefix, target, place);
    } catch (error) {
      if (!(error instanceof KafkaError) || error.code !== "OFFSET_OUT_OF_RANGE") throw error;
      await this.#tell(target.storage, steps);
      this.#io.err(`${error.message}\n`);
    }
  }

  /** Finds all records with a key. */
  async findKey(log: Log, target: LogTarget, prefix: string, filter: RecordFilter): Promise<void> {
    let batches = 0;
    for await (const batch of log.batches()) {
      batches++;
      throwIfAborted(this.#io.signal);
      if (batch.isControl) continue;
      const records = batch.records({ codecs: this.#codecs });
      for (const [index, record] of records.entries()) {
        if (record.offset < log.logStartOffset || !filter.matches(record)) continue;
        const { segmentBaseOffset } = await log.locate(record.offset);
        const file = segmentFileName(segmentBaseOffset, "log");
        await this.#print(prefix, target, { file, batch, record, index, records: records.length });
        if (this.#found >= filter.limit) return;
      }
    }
    if (this.#explains) {
      await this.#io.out(
        `Keys are in no index: all ${batches} batches of ${log.segments.length} segments were read.\n`,
      );
    }
  }

  /** The record at `offset`, or the next one above it. */
  async #placeOf(log: Log, offset: number, trace: (step: ReadStep) => void): Promise<Place | undefined> {
    let next = offset;
    for (;;) {
      const { records: bytes, segmentBaseOffset } = await log.read(next, {
        isolation: "log-end",
        ...(next === offset ? { trace } : {}),
      });
      if (bytes === undefined) return undefined;
      // Larger than what was asked for is only a single batch, whose length may be damage.
      const batches = bytes.size > MIB ? [await bytes.batch(MAX_BATCH_BYTES)] : await bytes.batches();
      for (const batch of batches) {
        const records = batch.records({ codecs: this.#codecs });
        const index = records.findIndex((record) => record.offset >= offset);
        if (index >= 0) {
          const file = segmentFileName(segmentBaseOffset, "log");
          return { file, batch, record: records[index]!, index, records: records.length };
        }
        next = batch.lastOffset + 1;
      }
    }
  }

  async #tell(storage: Storage, steps: readonly ReadStep[]): Promise<void> {
    if (!this.#explains) return;
    const sizes = new Map<string, number>();
    for (const step of steps) {
      if (step.step !== "index-floor" && step.step !== "time-index-floor") continue;
      const size = await sizeOf(storage, step.file);
      if (size !== undefined) sizes.set(step.file, size);
    }
    const lines = steps.map((step) => explainStep(step, (file) => sizes.get(file)));
    const text = lines.flatMap((line) => line === undefined ? [] : [`${line}\n`]).join("");
    // With JSON the story is no data.
    if (this.#form === "json") this.#io.err(text);
    else await this.#io.out(text);
  }

  async #print(prefix: string, target: LogTarget, { batch, file, index, record, records }: Place): Promise<void> {
    this.#found++;
    const { compression, isControl, lastOffset, position, size } = batch;
    const first = batch.magic < 2 ? records === 1 ? lastOffset : undefined : batch.baseOffset;
    if (this.#form === "json") {
      const place = {
        ...(target.place ?? {}),
        file,
        position,
        size,
        ...(first === undefined ? {} : { baseOffset: first }),
        lastOffset,
        codec: compression,
        control: isControl,
        recordIndex: index,
        recordCount: records,
        offset: record.offset,
        timestamp: record.timestamp,
        ...payloadJson("key", record.key),
      };
      return await this.#io.out(`${JSON.stringify(place)}\n`);
    }
    const offsets = first === undefined ? `to ${lastOffset}` : `${first} to ${lastOffset}`;
    const codec = compression === "none" ? "" : `, ${compression}`;
    await this.#io.out(
      `${prefix}offset ${record.offset}, ${timeText(record.timestamp)}: ${file} at byte ${position}, ` +
        `${isControl ? "control record" : "record"} ${index + 1} of ${records} in the batch of offsets ${offsets} ` +
        `(${size} bytes${codec})\n`,
    );
  }
}

async function sizeOf(storage: Storage, name: string): Promise<number | undefined> {
  try {
    const file = await storage.open(name);
    await file.close();
    return file.size;
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return undefined;
    throw error;
  }
}
