/** What expected.json of a golden set says of a batch, as far as it is looked at here. */
export interface TimedBatch {
  readonly magic: number;
  readonly codec: string;
  readonly timestampType: string;
  readonly maxTimestamp: number | string;
  readonly deleteHorizonMs?: number | string | null;
  readonly firstRecord: number;
  readonly recordCount: number;
}

/** The time of a batch's first record, which Kafka decoded, where its header tells it; else its greatest one. */
export function firstTimestampOf(
  { codec, deleteHorizonMs = null, firstRecord, magic, maxTimestamp, recordCount, timestampType }: TimedBatch,
  records: readonly (readonly [offset: number, timestamp: number | string, ...rest: readonly unknown[]])[],
): number {
  const isHidden = deleteHorizonMs !== null || (magic === 1 && codec !== "none");
  if (isHidden || timestampType === "LogAppendTime") return Number(maxTimestamp);
  return recordCount === 0 ? -1 : Number(records[firstRecord]![1]);
}
