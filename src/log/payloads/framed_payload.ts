import { UnsupportedVersionError } from "../../core/kafka_error.ts";
import type { JsonObject } from "../../protocol/message_json.ts";
import type { Record } from "../../records/record.ts";
import { type MessageReader, readPart } from "./message_reader.ts";

/**
 * What a record says whose value is framed: the version of the frame, the number of the message and its version, then the
 * message.
 */
export type FramedPayload = {
  /** Number of the message. */
  readonly apiKey: number;
  /** Name of the message as Kafka's tools have it: `PARTITION_CHANGE_RECORD`. */
  readonly type: string;
  /** Version of the message. */
  readonly version: number;
  /** Its fields. */
  readonly data: JsonObject;
};

const FRAME_VERSION = 1;

/**
 * Reads a record's value as one of `messages`.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function readFramedPayload(record: Record, messages: readonly MessageReader[]): FramedPayload {
  return readPart(record, "value", (reader) => {
    const frame = reader.unsignedVarint();
    if (frame !== FRAME_VERSION) {
      throw new UnsupportedVersionError(`its value has frame version ${frame}, not ${FRAME_VERSION}`);
    }
    const apiKey = reader.unsignedVarint();
    const version = reader.unsignedVarint();
    const message = messages.find(({ type }) => type === apiKey);
    if (message === undefined) {
      throw new UnsupportedVersionError(`its value is of type ${apiKey}, which is not known`, {
        code: "UNKNOWN_RECORD_TYPE",
      });
    }
    const data = message.read(reader, version);
    if (reader.remaining > 0) throw reader.error(`${reader.remaining} bytes behind the ${message.name}`);
    return { apiKey, type: typeName(message.name), version, data };
  });
}

/** `PartitionChangeRecord` → `PARTITION_CHANGE_RECORD`. */
function typeName(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
}
