import type { MessageSchema } from "../../protocol/api.ts";
import { UnsupportedVersionError } from "../../core/kafka_error.ts";
import type { JsonObject } from "../../protocol/message_json.ts";
import type { Record } from "../../records/record.ts";
import { type MessageReader, messageReader, readPart } from "./message_reader.ts";

/**
 * What a record of a coordinator's topic says. In the key an int16 tells the kind of message; the value begins with its
 * version. Names and encodings are those of Kafka's `kafka-dump-log`, but that its two numbers are text there.
 */
export type KeyedPayload = {
  /** The key: what the record is about. */
  readonly key: {
    /** Kind of the message. */
    readonly type: number;
    /** Its fields. */
    readonly data: JsonObject;
  };
  /** The value: what holds from here on. Null: it was deleted. */
  readonly value: {
    /** Version of the message. */
    readonly version: number;
    /** Its fields. */
    readonly data: JsonObject;
  } | null;
};

/** The readers for a kind of record: its key's and its value's. */
export interface KeyedMessage {
  /** Reads the key. */
  readonly key: MessageReader;
  /** Reads the value. */
  readonly value: MessageReader;
}

/** The readers for a kind of record. */
export function keyedMessage<K, V>(key: MessageSchema<K>, value: MessageSchema<V>): KeyedMessage {
  return { key: messageReader(key), value: messageReader(value) };
}

/**
 * Reads a record as one of `messages`.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function readKeyedPayload(record: Record, messages: readonly KeyedMessage[]): KeyedPayload {
  const { message, data } = readPart(record, "key", (reader) => {
    const type = reader.int16();
    const message = messages.find(({ key }) => key.type === type);
    if (message === undefined) {
      throw new UnsupportedVersionError(`its key is of type ${type}, which is not known`, {
        code: "UNKNOWN_RECORD_TYPE",
      });
    }
    // What follows has but one version: the type tells its layout.
    return { message, data: message.key.read(reader, 0) };
  });
  const key = { type: message.key.type, data };
  if (record.valueLength < 0) return { key, value: null };
  return {
    key,
    value: readPart(record, "value", (reader) => {
      const version = reader.int16();
      return { version, data: message.value.read(reader, version) };
    }),
  };
}
