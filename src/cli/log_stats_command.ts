/**
 * `anykafka log stats`: what is in partitions: sizes, codecs and what they save, times, producers, keys.
 *
 * @module
 */

import { AbortedError, KafkaError } from "../core/kafka_error.ts";
import { BATCH_SIZE_STEP, collectLogStats, type LogStats } from "../log/log_stats.ts";
import { bar, sparkline } from "./sparkline.ts";
import { countText } from "./count_text.ts";
import type { Command, CommandInput, CommandIo } from "./command.ts";
import { LOG_TARGET_WORDS, type LogTarget, logTargetOptions, openLogTargets, requireSegments } from "./log_target.ts";
import { Progress } from "./progress.ts";
import { segmentBytesOf } from "./segment_bytes.ts";
import { sizeText } from "./size_text.ts";
import { textOrJson } from "./text_or_json.ts";

/** The command. */
export const logStatsCommand: Command = {
  words: `${LOG_TARGET_WORDS}…`,
  wordCount: [1, Infinity],
  examples: ["log stats kafka-data/orders-0", "log stats kafka-data --topic orders -o json"],
  options: {
    output: { type: "string", short: "o", value: "text|json", help: "text with charts, or a JSON object a partition" },
    ...logTargetOptions,
  },
  run,
};

const MIB = 1024 * 1024;

async function run(io: CommandIo, input: CommandInput): Promise<number> {
  const form = textOrJson(input);
  const codecs = await io.codecs();
  const { close, damage, targets } = await openLogTargets(io, input);
  try {
    requireSegments(targets, "counted");
    const progress = new Progress(io, "MiB", io.errIsTerminal ? (await segmentBytesOf(targets)) / MIB : 0);
    let unread = damage.length;
    for (const target of targets) {
      try {
        const stats = await collectLogStats(target.storage, {
          codecs,
          logStartOffset: target.checkpoints?.logStartOffset,
          onProgress: (bytes) => progress.step(bytes / MIB),
          signal: io.signal,
        });
        await io.out(form === "json" ? jsonOf(target, stats) : textOf(io, target, stats));
      } catch (error) {
        if (!(error instanceof KafkaError) || error instanceof AbortedError) throw error;
        progress.tell(`${target.name} could not be read: ${error.message} [${error.code}]\n`);
        unread++;
      }
    }
    progress.end();
    return unread > 0 ? 1 : 0;
  } finally {
    await close();
  }
}

function jsonOf({ name, place }: LogTarget, stats: LogStats): string {
  return `${JSON.stringify({ type: "stats", name, ...place, ...stats })}\n`;
}

const BAR_WIDTH = 30;

/** Lines of a name and what is to say of it: with charts for a person, separated by a tab for a program. */
function textOf(io: CommandIo, { name }: LogTarget, stats: LogStats): string {
  const lines: [label: string, text: string, chart?: string][] = [
    ["segments", `${stats.segments}, ${sizeText(stats.bytes)}`],
    ["offsets", stats.endOffset > stats.startOffset ? `${stats.startOffset} to ${stats.endOffset - 1}` : "none"],
    ["batches", batchesText(stats)],
    ["records", recordsText(stats)],
    ...belowStartLines(stats),
    ...controlLines(stats),
    ...damageLines(stats),
    ["keys", keysText(stats)],
    ["values", valuesText(stats)],
    ...timeLines(stats),
    ...codecLines(stats),
    ...batchSizeLines(stats),
    ...producerLines(stats),
  ];
  if (!io.outIsTerminal) {
    return [`partition\t${name}`, ...lines.map(([label, text]) => `${label}\t${text}`), ""].join("\n");
  }
  const [labelWidth, textWidth] = [0, 1].map((i) =>
    Math.max(...lines.map((line) => line[2] === undefined && i === 1 ? 0 : line[i]!.length))
  ) as [number, number];
  const rows = lines.map(([label, text, chart]) =>
    `  ${label.padEnd(labelWidth)}  ${chart === undefined ? text : `${text.padEnd(textWidth)}  ${chart}`}`.trimEnd()
  );
  return [name, ...rows, ""].join("\n");
}

function batchesText({ batches, emptyBatches, formats, records }: LogStats): string {
  const used = formats.map((count, format) => [format, count] as const).filter(([, count]) => count > 0);
  const mean = batches === 0 ? "" : `, ${(records / batches).toFixed(1)} records each`;
  const formatted = used.map((
    [format, count],
  ) => (used.length === 1 ? `format ${format}` : `${count} of format ${format}`));
  const empty = emptyBatches === 0 ? "" : `, ${emptyBatches} emptied by compaction`;
  return `${batches}${mean}${formatted.length === 0 ? "" : `, ${formatted.join(", ")}`}${empty}`;
}

function recordsText({ endOffset, headers, records, startOffset, tombstones }: LogStats): string {
  const offsets = endOffset - startOffset;
  return [
    `${records}`,
    ...(offsets > 0 && records > 0 ? [`${percent(records, offsets)} of the offsets`] : []),
    ...(tombstones > 0 ? [countText(tombstones, "tombstone")] : []),
    ...(headers > 0 ? [countText(headers, "header")] : []),
  ].join(", ");
}

function belowStartLines({ recordsBelowStart, startOffset }: LogStats): [string, string][] {
  if (recordsBelowStart === 0) return [];
  return [["deleted", `${countText(recordsBelowStart, "record")} below offset ${startOffset}, still in the files`]];
}

function controlLines({ aborts, commits, otherControls }: LogStats): [string, string][] {
  const kinds = [
    ...(commits > 0 ? [countText(commits, "commit")] : []),
    ...(aborts > 0 ? [countText(aborts, "abort")] : []),
    ...(otherControls > 0 ? [countText(otherControls, "other")] : []),
  ];
  return kinds.length === 0 ? [] : [["markers", kinds.join(", ")]];
}

function damageLines({ damagedBytes, unreadBatches }: LogStats): [string, string][] {
  return [
    ...(damagedBytes > 0 ? [["damaged", `${sizeText(damagedBytes)}; log verify says more`] as [string, string]] : []),
    ...(unreadBatches > 0
      ? [
        ["unread", `${countText(unreadBatches, "batch", "batches")} whose records do not decode here`] as [
          string,
          string,
        ],
      ]
      : []),
  ];
}

function keysText({ distinctKeys, keyBytes, keyless, records }: LogStats): string {
  const keyed = records - keyless;
  if (keyed <= 0) return "none";
  const without = keyless > 0 ? `, ${countText(keyless, "record")} without` : "";
  return `about ${distinctKeys} different, ${sizeText(keyBytes)}, ${
    sizeText(Math.round(keyBytes / keyed))
  } each${without}`;
}

function valuesText({ largestValue, records, tombstones, valueBytes }: LogStats): string {
  const valued = records - tombstones;
  if (valued <= 0) return "none";
  return `${sizeText(valueBytes)}, ${sizeText(Math.round(valueBytes / valued))} each, the largest ${
    sizeText(largestValue)
  }`;
}

function timeLines({ maxTimestamp, minTimestamp, times }: LogStats): [string, string, string?][] {
  if (minTimestamp < 0) return [];
  const span = `${timeText(minTimestamp)} to ${timeText(maxTimestamp)}`;
  return [
    ["times", span],
    [
      "over time",
      `${durationText(times.stepMs)} a step, at most ${Math.max(...times.counts)}`,
      sparkline(times.counts),
    ],
  ];
}

function codecLines({ codecs }: LogStats): [string, string, string?][] {
  const all = codecs.reduce((sum, { bytes }) => sum + bytes, 0);
  return codecs.map(({ batches, bytes, codec, inflatedBytes }) => {
    const ratio = bytes > 0 && codec !== "none" ? `, ${(inflatedBytes / bytes).toFixed(2)} to 1` : "";
    return [codec, `${countText(batches, "batch", "batches")}, ${sizeText(bytes)}${ratio}`, bar(bytes, all, BAR_WIDTH)];
  });
}

function batchSizeLines({ batchSizes }: LogStats): [string, string, string?][] {
  const most = Math.max(...batchSizes, 0);
  const first = batchSizes.findIndex((count) => count > 0);
  return batchSizes.slice(Math.max(0, first)).map((count, i) => {
    const below = BATCH_SIZE_STEP * 2 ** (Math.max(0, first) + i);
    return [`< ${sizeText(below)}`, countText(count, "batch", "batches"), bar(count, most, BAR_WIDTH)];
  });
}

function producerLines({ producerCount, producers }: LogStats): [string, string, string?][] {
  if (producerCount === 0) return [];
  const most = Math.max(...producers.map(({ records }) => records));
  return [
    ["producers", `${producerCount} with an id`],
    ...producers.map(({ batches, epoch, isTransactional, producerId, records }): [string, string, string] => [
      `id ${producerId}`,
      `epoch ${epoch}, ${countText(batches, "batch", "batches")}, ${countText(records, "record")}${
        isTransactional ? ", transactional" : ""
      }`,
      bar(records, most, BAR_WIDTH),
    ]),
  ];
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(part === whole ? 0 : 1)} %`;
}

function timeText(timestamp: number): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? String(timestamp) : date.toISOString();
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["days", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

function durationText(ms: number): string {
  const [name, unit] = UNITS.find(([, unit]) => ms >= unit) ?? UNITS.at(-1)!;
  return `${Number((ms / unit).toFixed(1))} ${name}`;
}
