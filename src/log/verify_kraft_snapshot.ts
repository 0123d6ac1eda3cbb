import type { Crc32c } from "../hash/crc32c.ts";
import { controlRecordOf } from "../records/control_record.ts";
import { KafkaError } from "../core/kafka_error.ts";
import { type Anomaly, damage } from "./anomaly.ts";
import { batchView, SegmentWalk, type WalkedBatch } from "./segment_walk.ts";
import type { Storage } from "./storage.ts";

const MEANING = "A node that starts cannot load its metadata from it.";

/**
 * Checks a snapshot of a KRaft log, `<end offset>-<epoch>.checkpoint`: its batches, and that it begins and ends as a complete one
 * does.
 *
 * @throws StorageError when it cannot be read.
 */
export async function verifyKraftSnapshot(
  storage: Storage,
  name: string,
  options: { readonly crc32c: Crc32c; readonly maxBatchBytes: number },
): Promise<Anomaly[]> {
  const found: Anomaly[] = [];
  const wrong = (message: string, position: number) =>
    found.push(damage("corrupt-checkpoint", name, `${message}. ${MEANING}`, { position }));
  const file = await storage.open(name);
  try {
    const walk = new SegmentWalk(file, { ...options, baseOffset: 0 });
    let batches = 0;
    let lastType: string | undefined;
    for (let items = await walk.next(); items !== undefined; items = await walk.next()) {
      for (const item of items) {
        if (item.type === "damage") wrong(`bytes ${item.from} to ${item.until - 1}: ${item.reason}`, item.from);
        else {
          lastType = controlTypeOf(item, "last");
          const first = batches++ === 0 ? controlTypeOf(item, "first") : "SNAPSHOT_HEADER";
          if (first !== "SNAPSHOT_HEADER") wrong("it does not begin with the header of a snapshot", item.position);
        }
      }
    }
    if (lastType !== "SNAPSHOT_FOOTER") {
      wrong("it does not end with the footer of a snapshot: it is not complete", file.size);
    }
  } finally {
    await file.close();
  }
  return found;
}

/** What the first or last record of a control batch says; undefined for other batches. */
function controlTypeOf(batch: WalkedBatch, which: "first" | "last"): string | undefined {
  try {
    const view = batchView(batch);
    const record = view.isControl ? view.records().at(which === "first" ? 0 : -1) : undefined;
    return record === undefined ? undefined : controlRecordOf(record).type;
  } catch (error) {
    if (error instanceof KafkaError) return undefined;
    throw error;
  }
}
