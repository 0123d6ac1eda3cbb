import { KafkaError, ProtocolError } from "../core/kafka_error.ts";
import { RECORD_BATCH_FIELDS, RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import { placeText } from "./log_options.ts";

/**
 * Gives the v2 batches in `bytes` offsets from `baseOffset` on and a leader epoch, in place: they lie outside the checksum
 * so that a broker can.
 *
 * @throws CorruptRecordError, ProtocolError for bytes that are not whole batches; KafkaError with code
 * `"OFFSET_TOO_LARGE"`.
 */
export function stampBatches(
  bytes: Uint8Array,
  baseOffset: number,
  leaderEpoch: number,
  context: RecordContext,
): RecordBatch[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const batches: RecordBatch[] = [];
  let next = baseOffset;
  for (let at = 0; at < bytes.length;) {
    const batch = new RecordBatch(bytes, context, at, view);
    view.setInt32(at, Math.floor(next / 4294967296));
    view.setInt32(at + 4, next | 0);
    view.setInt32(at + RECORD_BATCH_FIELDS.partitionLeaderEpoch, leaderEpoch);
    next = batch.lastOffset + 1;
    if (!Number.isSafeInteger(next)) {
      throw new KafkaError(`${placeText(context)}offset ${next} would be beyond 2^53−1`, {
        code: "OFFSET_TOO_LARGE",
        ...context,
      });
    }
    batches.push(batch);
    at += batch.size;
  }
  if (batches.length === 0) throw new ProtocolError("append of no batch", { code: "EMPTY_APPEND", ...context });
  return batches;
}
