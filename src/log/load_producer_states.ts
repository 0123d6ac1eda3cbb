/**
 * Brings back what is known of a log's producers: the newest snapshot that can be read, and the batches after it.
 *
 * @module
 */

import { CorruptRecordError, StorageError } from "../core/kafka_error.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Batch } from "../records/batch.ts";
import { controlRecordOf } from "../records/control_record.ts";
import { type Anomaly, damage } from "./anomaly.ts";
import { parseKafkaFileName } from "./kafka_file_name.ts";
import type { LogSegment } from "./log_segment.ts";
import { type ProducerSnapshot, readProducerSnapshot } from "./producer_snapshot.ts";
import { type CompletedTransaction, ProducerStates } from "./producer_states.ts";
import type { Storage } from "./storage.ts";

/** Where to look. */
export interface ProducerSource {
  /** The partition's folder. */
  readonly storage: Storage;
  /** The segments in order. */
  readonly segments: readonly LogSegment[];
  /** First visible offset. */
  readonly logStartOffset: number;
  /** First offset that is not replicated: transactions that were ended above are not over yet. */
  readonly highWatermark: number;
  /** The end of the log. */
  readonly logEndOffset: number;
  /** Whether to pass the snapshots over, so that every transaction that was ended is told. */
  readonly fromStart: boolean;
  /** Checksum of snapshots. */
  readonly crc32c: Crc32c;
  /** Takes what is odd. */
  readonly report: (anomaly: Anomaly) => void;
}

/** What was found. */
export interface LoadedProducers {
  /** The producers at the end of the log. */
  readonly states: ProducerStates;
  /** The transactions whose markers were read, in order of the markers. */
  readonly completed: readonly CompletedTransaction[];
}

/** Loads the producers of a log. */
export async function loadProducerStates(source: ProducerSource): Promise<LoadedProducers> {
  const { segments, logStartOffset, logEndOffset, highWatermark } = source;
  const snapshot = source.fromStart ? undefined : await newestSnapshot(source);
  const start = snapshot?.offset ?? logStartOffset;
  const states = new ProducerStates(start, snapshot?.entries, highWatermark);
  const completed: CompletedTransaction[] = [];
  for (const [i, segment] of segments.entries()) {
    const next = segments[i + 1];
    if (next !== undefined && next.baseOffset <= start) continue;
    const first = await segment.find(start);
    if (first === undefined) continue;
    const batches = segment.scan(first.position);
    for (let header = await batches.next(); header !== undefined; header = await batches.next()) {
      if (header.baseOffset >= logEndOffset) break;
      if (!header.isControl) {
        if (states.replay(header)) continue;
        source.report(damage(
          "transaction-marker",
          segment.file,
          `the batch of producer ${header.producerId} belongs to no transaction, and that producer has one open: ` +
            `a broker refuses to open such a log`,
          { position: header.position, offset: header.baseOffset },
        ));
        continue;
      }
      if (header.producerId < 0) continue;
      try {
        const transaction = replayBatch(states, await segment.batch(header));
        if (transaction !== undefined) completed.push(transaction);
      } catch (error) {
        if (!(error instanceof CorruptRecordError)) throw error;
        source.report(damage(
          "transaction-marker",
          segment.file,
          `the marker cannot be read, so its transaction counts as open: ${error.message}`,
          { position: header.position, offset: header.baseOffset },
        ));
      }
    }
  }
  return { states, completed };
}

/**
 * Replays a whole batch of any kind.
 *
 * @throws CorruptRecordError when it is a marker that cannot be read.
 */
export function replayBatch(states: ProducerStates, batch: Batch): CompletedTransaction | undefined {
  if (!batch.isControl) {
    states.replay(batch);
    return undefined;
  }
  const record = batch.producerId < 0 ? undefined : batch.records().at(0);
  if (record === undefined) return states.replayMarker(batch, undefined);
  const { type, coordinatorEpoch } = controlRecordOf(record);
  return states.replayMarker(batch, { type, coordinatorEpoch, timestamp: record.timestamp });
}

/** The newest snapshot that can be read; one beyond the high watermark has forgotten what is not replicated. */
async function newestSnapshot(source: ProducerSource): Promise<ProducerSnapshot | undefined> {
  const { storage, logStartOffset, highWatermark, logEndOffset, crc32c, report } = source;
  const names = (await storage.list()).filter((name) => {
    const file = parseKafkaFileName(name);
    if (file?.type !== "snapshot" || file.state !== undefined) return false;
    const offset = Number(file.digits);
    return offset > logStartOffset && offset <= Math.min(highWatermark, logEndOffset);
  });
  for (const name of names.sort().reverse()) {
    try {
      return await readProducerSnapshot(storage, name, crc32c);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      report(damage("corrupt-snapshot", name, `${error.message} The one before it is used`));
    }
  }
  return undefined;
}
