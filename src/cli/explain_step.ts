import type { ReadStep } from "../log/read_step.ts";
import { countText } from "./count_text.ts";

/** Tells one step of a look-up in words; undefined for one that needs none. `sizeOf` answers the bytes of a file. */
export function explainStep(step: ReadStep, sizeOf: (file: string) => number | undefined): string | undefined {
  switch (step.step) {
    case "offset":
      return `Offset ${step.offset} is asked. The log holds ${step.logStartOffset} to ${step.logEndOffset - 1}` +
        ` (high watermark ${step.highWatermark}); ${
          ISOLATIONS[step.isolation]
        }, so offsets below ${step.bound} may be read.`;
    case "timestamp":
      return `The first record with a timestamp of at least ${timeText(step.timestamp)} is asked, from offset ` +
        `${step.logStartOffset} on.`;
    case "segment":
      return `Of ${countText(step.segments, "segment")}, the last that begins at or below it is ${step.file}` +
        (step.next === undefined ? ": the last one of all." : `: the one after it begins at ${step.next}.`);
    case "segment-timestamp":
      return `${step.file} has timestamps up to ${timeText(step.largestTimestamp)}: ` +
        (step.isChosen ? "it is searched, and no other." : "too old, passed over.");
    case "index-probe":
      return `  entry ${step.entry} is offset ${step.offset} at byte ${step.position}: ` +
        (step.isAtMost ? "not above, look right" : "above, look left");
    case "index-floor":
      return `${step.file}${bytesText(sizeOf(step.file))} has ${countText(step.entries, "entry", "entries")}. ` +
        (step.entry < 0
          ? `None is at or below ${step.wanted}, so the segment's start it is.`
          : `The last at or below ${step.wanted} is entry ${step.entry}: offset ${step.offset} at byte ${step.position}.`) +
        (step.next === undefined ? "" : ` The next is offset ${step.next.offset} at byte ${step.next.position}.`);
    case "time-index-probe":
      return `  entry ${step.entry} is ${timeText(step.timestamp)} at offset ${step.offset}: ` +
        (step.isAtMost ? "not newer, look right" : "newer, look left");
    case "time-index-floor":
      return `${step.file}${bytesText(sizeOf(step.file))} has ${countText(step.entries, "entry", "entries")}. ` +
        (step.entry < 0
          ? `None is at or before ${timeText(step.wanted)}, so the segment's start it is.`
          : `The last at or before ${timeText(step.wanted)} is entry ${step.entry}: ${
            timeText(step.timestamp)
          }, first reached ` +
            `at offset ${step.offset}; anything newer lies behind it.`);
    case "index-distrusted":
      return `What the index says of byte ${step.position} of ${step.file} cannot be (${step.reason}): the segment is read ` +
        `from its start.`;
    case "scan":
      return `Batch headers of ${step.file} are read from byte ${step.position} on.`;
    case "batch":
      return `  byte ${step.position}: ${step.size} bytes, offsets ${
        step.magic < 2 ? "to" : `${step.baseOffset} to`
      } ` +
        `${step.lastOffset}${step.isFound ? ": this one" : ""}`;
    case "scanned":
      return `${countText(step.passed, "batch", "batches")} passed over` + (step.isFound ? "." : ", and none is left.");
    case "record":
      return `Its first record that is not older is offset ${step.offset}, ${timeText(step.timestamp)}.`;
    case "slice":
      return `A fetch of ${step.maxBytes} bytes gets bytes ${step.begin} to ${step.end - 1} of ${step.file}: ` +
        `${step.end - step.begin} bytes, ${ENDS[step.endedBy]}.`;
    case "aborted-transactions":
      return `${countText(step.count, "aborted transaction")} below offset ${step.upperBound}` +
        (step.files.length === 0 ? "." : `, from ${step.files.join(", ")}.`);
    case "empty":
      return `There is nothing to read there: ${EMPTY[step.reason]}.`;
    case "none":
      return "Nothing in the log is as new.";
  }
}

const ISOLATIONS = {
  "log-end": "all of it is read",
  "high-watermark": "what is replicated is read",
  committed: "what is committed is read",
} as const;

const ENDS = {
  "max-bytes": "as many as were asked for",
  "first-batch": "since the first batch alone is larger and is sent whole",
  "segment-end": "up to the end of the segment",
  "log-end": "up to the end of the log",
  "high-watermark": "up to the high watermark",
  committed: "up to the last stable offset",
} as const;

const EMPTY = {
  "at-bound": "it is the offset that the next record gets",
  "beyond-bound": "it is beyond what may be read",
  "no-batch": "no batch is left at or above it",
  "no-bytes": "no bytes were asked for",
} as const;

function bytesText(size: number | undefined): string {
  return size === undefined ? " (not there)" : ` (${countText(size, "byte")})`;
}

/** A timestamp as a number and as a date. */
export function timeText(timestamp: number): string {
  const date = new Date(timestamp);
  return timestamp < 0 || Number.isNaN(date.getTime()) ? String(timestamp) : `${timestamp} (${date.toISOString()})`;
}
