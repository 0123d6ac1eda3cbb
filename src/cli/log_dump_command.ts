/**
 * `anykafka log dump`: takes segments, indexes, snapshots and checkpoints apart, without a broker and without Java.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { loadCrc32c } from "../hash/crc32c.ts";
import { type KafkaFileType, parseKafkaFileName } from "../log/kafka_file_name.ts";
import type { Log } from "../log/log.ts";
import { ByteOutput } from "./byte_output.ts";
import { type Command, type CommandInput, type CommandIo, UsageError } from "./command.ts";
import { BytesDump } from "./dump/bytes_dump.ts";
import type { DumpFormat } from "./dump/dump_format.ts";
import { DUMPED_TYPES, Dumper, KAFKA_DUMPED_TYPES } from "./dump/dumper.ts";
import { JsonDump } from "./dump/json_dump.ts";
import { KafkaTextDump, TextDump } from "./dump/text_dump.ts";
import { type OffsetRange, resolveRange } from "./resolve_range.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets } from "./log_target.ts";
import { openTargetLog } from "./open_target_log.ts";
import { decodeOptions, type PayloadView, payloadView } from "./payload_view.ts";
import { rangeOptions, readRange, type WantedRange } from "./position.ts";
import { Progress } from "./progress.ts";
import { RecordFilter, recordFilterOptions } from "./record_filter.ts";
import { segmentBytesOf } from "./segment_bytes.ts";

/** The command. */
export const logDumpCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: [
    "log dump kafka-data/orders-0 -o json",
    "log dump kafka-data/orders-0 --from 350 --limit 10",
    "log dump kafka-data/__consumer_offsets-7 --decode offsets",
    "log dump --dump-log --print-data-log 00000000000000000000.log",
    "log dump --bytes 00000000000000000000.log --from 350 --limit 1",
  ],
  options: {
    output: { type: "string", short: "o", value: "text|json", help: "lines like kafka-dump-log's, or JSON objects" },
    bytes: { type: "boolean", help: "explain every byte of each batch" },
    batches: { type: "boolean", help: "only batches, without their records" },
    ...logTargetOptions,
    ...rangeOptions,
    ...recordFilterOptions,
    limit: { ...recordFilterOptions.limit!, help: "stop after N records, or batches with --batches" },
    ...decodeOptions,
    "dump-log": { type: "boolean", help: "print exactly what kafka-dump-log of Kafka 4.3.1 prints" },
    "deep-iteration": { type: "boolean", help: "with --dump-log: records, without contents" },
    "print-data-log": { type: "boolean", help: "with --dump-log: records with keys and values" },
  },
  run,
};

const MIB = 1024 * 1024;

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const now = io.clock.wallTime();
  const wanted = readRange(input, now);
  const payloads = await payloadView(input);
  const filter = new RecordFilter(input, now, payloads);
  const out = new ByteOutput(io);
  const format = formatOf(input, out, payloads);
  const isKafkas = input.flag("dump-log");
  const codecs = await io.codecs();
  const crc32c = await loadCrc32c();
  const { close, targets } = await openLogTargets(io, input);
  const isShown = io.errIsTerminal && !io.outIsTerminal;
  const progress = new Progress(
    io,
    "MiB",
    isShown ? await segmentBytesOf(targets.filter(isOfBatches)) / MIB : 1,
    isShown,
  );
  const dumper = new Dumper({
    out,
    format,
    filter,
    codecs,
    crc32c,
    hasRecords: isKafkas ? hasContents(input) || input.flag("deep-iteration") : !input.flag("batches"),
    endsAsKafka: isKafkas,
    complain: (message) => progress.tell(`anykafka: ${message}\n`),
    advance: (bytes) => progress.step(bytes / MIB),
  });
  const options = {
    codecs,
    types: isKafkas ? KAFKA_DUMPED_TYPES : DUMPED_TYPES,
    hasOnlyRecords: filter.isSelective || filter.limit < Infinity,
  };
  try {
    for (const target of targets) {
      if (dumper.isDone) break;
      dumper.nextPartition();
      const prefix = targets.length > 1 ? `${target.name}/` : "";
      await dumpTarget(dumper, target, wanted, { ...options, prefix });
    }
    await out.flush();
  } catch (error) {
    await out.flush().catch(() => {}); // the first failure is the one to tell
    throw error;
  } finally {
    progress.end();
    await close();
  }
  return dumper.isIncomplete ? 1 : dumper.isDamaged ? 3 : 0;
}

function isOfBatches({ file, fileType }: LogTarget): boolean {
  return file === undefined || fileType === "log";
}

function formatOf(input: CommandInput, out: ByteOutput, payloads: PayloadView | undefined): DumpFormat {
  const form = input.text("output");
  if (form !== undefined && form !== "text" && form !== "json") {
    throw new UsageError(`-o ${form}: expected text or json`);
  }
  const given = [
    ...form === undefined ? [] : ["-o"],
    ...["bytes", "dump-log"].filter((name) => input.flag(name)).map((name) => `--${name}`),
  ];
  if (given.length > 1) throw new UsageError(`${given.join(" and ")} are different forms of output: take one`);
  if (input.flag("dump-log")) return new KafkaTextDump(out, hasContents(input), payloads);
  for (const name of ["deep-iteration", "print-data-log"]) {
    if (input.flag(name)) throw new UsageError(`--${name} goes with --dump-log; without it records are shown anyway`);
  }
  if (input.flag("bytes")) {
    if (payloads !== undefined) throw new UsageError("--bytes shows the bytes themselves; --decode goes without it");
    return new BytesDump(out);
  }
  return form === "json" ? new JsonDump(out, payloads) : new TextDump(out, payloads);
}

/** In Kafka's tool a decoder implies the contents. */
function hasContents(input: CommandInput): boolean {
  return input.flag("print-data-log") || input.text("decode") !== undefined;
}

interface TargetOptions {
  readonly codecs: Codecs;
  /** What stands before the names of files. */
  readonly prefix: string;
  /** Which files of a folder. */
  readonly types: readonly KafkaFileType[];
  /** Whether files without records are left out. */
  readonly hasOnlyRecords: boolean;
}

async function dumpTarget(
  dumper: Dumper,
  target: LogTarget,
  wanted: WantedRange,
  { codecs, hasOnlyRecords, prefix, types }: TargetOptions,
): Promise<void> {
  const { file, storage } = target;
  const label = (name: string) => file === undefined ? `${prefix}${name}` : target.name;
  const isRange = wanted.from !== undefined || wanted.until !== undefined;
  if (isRange && (file === undefined || target.fileType === "log")) {
    const log = await openTargetLog(target);
    try {
      const range = await resolveRange(log, wanted, codecs);
      for (const { file: name, position } of await segmentsIn(log, range)) {
        if (dumper.isDone) return;
        await dumper.dump(storage, name, label(name), range, position);
      }
    } finally {
      await log.close();
    }
    return;
  }
  if (file !== undefined) return await dumper.dump(storage, file, label(file));
  for (const name of await storage.list()) {
    const parsed = parseKafkaFileName(name);
    if (parsed === undefined || parsed.state !== undefined || !types.includes(parsed.type)) continue;
    if (hasOnlyRecords && parsed.type !== "log") continue;
    if (dumper.isDone) return;
    await dumper.dump(storage, name, label(name));
  }
}

/** The segments with offsets in `range`, and where in them to begin. */
async function segmentsIn(
  { segments }: Log,
  { from, until }: OffsetRange,
): Promise<{ readonly file: string; readonly position: number }[]> {
  const found: { readonly file: string; readonly position: number }[] = [];
  for (const [i, segment] of segments.entries()) {
    if (segment.baseOffset >= until || (segments[i + 1]?.baseOffset ?? Infinity) <= from) continue;
    const first = segment.baseOffset >= from ? 0 : (await segment.find(from))?.position;
    if (first !== undefined) found.push({ file: segment.file, position: first });
  }
  return found;
}
