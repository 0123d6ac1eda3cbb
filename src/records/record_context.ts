import { CompressionError, CorruptRecordError } from "../core/kafka_error.ts";

/** Where record bytes come from; every part that is known goes into records and error messages. */
export interface RecordContext {
  /** Topic of the partition. */
  readonly topic?: string | undefined;
  /** Number of the partition. */
  readonly partition?: number | undefined;
  /** File the bytes were read from. */
  readonly file?: string | undefined;
  /** Position in that file (or fetch response) of the first byte of the buffer; 0 when absent. */
  readonly position?: number | undefined;
}

/** `orders-3, offset 17, 00000000000000000000.log at byte 512`, as far as it is known. */
function placeOf(context: RecordContext, at: number, offset: number | undefined): string {
  const { topic, partition, file, position = 0 } = context;
  const parts: string[] = [];
  if (topic !== undefined) parts.push(partition === undefined ? topic : `${topic}-${partition}`);
  if (offset !== undefined) parts.push(`offset ${offset}`);
  parts.push(`${file === undefined ? "" : `${file} at `}byte ${position + at}`);
  return parts.join(", ");
}

/** The error for damaged bytes at `at` of the buffer; `offset` is that of the batch or record, where it is known. */
export function corruptRecord(
  context: RecordContext,
  at: number,
  offset: number | undefined,
  reason: string,
  code = "CORRUPT_RECORD",
): CorruptRecordError {
  return new CorruptRecordError(`${placeOf(context, at, offset)}: ${reason}`, {
    code,
    ...detailsOf(context, at, offset),
  });
}

/** The error of a codec, with the place of its batch added; a codec's foreign error becomes one of ours. */
export function codecFailure(
  context: RecordContext,
  at: number,
  offset: number | undefined,
  cause: unknown,
): CompressionError {
  const known = cause instanceof CompressionError;
  const reason = known ? cause.message : `the codec failed: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new CompressionError(`${placeOf(context, at, offset)}: ${reason}`, {
    code: known ? cause.code : "CORRUPT_COMPRESSION",
    cause,
    ...detailsOf(context, at, offset),
  });
}

function detailsOf(context: RecordContext, at: number, offset: number | undefined): {
  topic?: string;
  partition?: number;
  file?: string;
  offset?: number;
  position: number;
} {
  const { topic, partition, file, position = 0 } = context;
  return {
    ...(topic === undefined ? {} : { topic }),
    ...(partition === undefined ? {} : { partition }),
    ...(file === undefined ? {} : { file }),
    ...(offset === undefined ? {} : { offset }),
    position: position + at,
  };
}
