/**
 * Reads Kafka's own messages out of records' keys and values. What cannot be read is an error that says which record.
 *
 * @module
 */

import { Reader } from "../../bytes/reader.ts";
import { CorruptRecordError, ProtocolError, UnsupportedVersionError } from "../../core/kafka_error.ts";
import type { MessageSchema } from "../../protocol/api.ts";
import { type JsonObject, messageToJson } from "../../protocol/message_json.ts";
import type { Record } from "../../records/record.ts";

/** Reads one kind of message and answers it as JSON. */
export interface MessageReader {
  /** Kafka's name of the message. */
  readonly name: string;
  /** Number that tells it from the others it is stored with. */
  readonly type: number;
  /** Reads one in `version`. */
  readonly read: (reader: Reader, version: number) => JsonObject;
}

/** The reader of a generated message. */
export function messageReader<T>(schema: MessageSchema<T>): MessageReader {
  const { name, type } = schema;
  return { name, type, read: (reader, version) => messageToJson(schema, schema.decode(reader, version), version) };
}

/**
 * Reads a record's key or value with `read`.
 *
 * @throws CorruptRecordError when it is null or damaged, UnsupportedVersionError when it is of a kind or version that this
 * library does not know; both name the record.
 */
export function readPart<T>(record: Record, part: "key" | "value", read: (reader: Reader) => T): T {
  const bytes = record[part];
  if (bytes === null) throw damaged(record, `its ${part} is null`);
  try {
    return read(new Reader(bytes, part));
  } catch (cause) {
    if (cause instanceof ProtocolError) throw damaged(record, cause.message, cause);
    if (!(cause instanceof UnsupportedVersionError)) throw cause;
    const message = `${placeOf(record)}: ${cause.message}: a newer Kafka may have written it`;
    throw new UnsupportedVersionError(message, { code: cause.code, cause, ...detailsOf(record) });
  }
}

/** The error for a record that does not hold what it should. */
export function damaged(record: Record, reason: string, cause?: unknown): CorruptRecordError {
  return new CorruptRecordError(`${placeOf(record)}: ${reason}`, {
    code: "CORRUPT_PAYLOAD",
    ...(cause === undefined ? {} : { cause }),
    ...detailsOf(record),
  });
}

function placeOf({ offset, partition, topic }: Record): string {
  return topic === "" ? `offset ${offset}` : `${topic}-${partition}, offset ${offset}`;
}

function detailsOf({ offset, partition, topic }: Record): { offset: number; topic?: string; partition?: number } {
  return topic === "" ? { offset } : { offset, topic, partition };
}
