/**
 * Serializers for the common types. Those for numbers write what Java's serializers of the same names write: big-endian
 * two's complement and IEEE 754.
 *
 * ```ts no-run
 * import { intSerializer, jsonSerializer, Kafka } from "@anykafka/kafka";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092" });
 * const producer = kafka.producer({ keySerializer: intSerializer, valueSerializer: jsonSerializer<{ total: number }>() });
 * await producer.send({ topic: "orders", key: 42, value: { total: 9.5 } });
 * ```
 *
 * @module
 */

import { ConfigError } from "../core/kafka_error.ts";
import type { Serializer } from "./serializer.ts";

/** Text as UTF-8 (Java's `StringSerializer`). */
export function stringSerializer(text: string): string {
  if (typeof text !== "string") throw wrongType("a string", text);
  return text;
}

/** Bytes as they are (Java's `ByteArraySerializer`). */
export function bytesSerializer(bytes: Uint8Array): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw wrongType("a Uint8Array", bytes);
  return bytes;
}

/** JSON as UTF-8; `replacer` as in `JSON.stringify`. */
export function jsonSerializer<T = unknown>(replacer?: (key: string, value: unknown) => unknown): Serializer<T> {
  return (data) => {
    const text = JSON.stringify(data, replacer) as string | undefined;
    if (text === undefined) throw wrongType("something that JSON can hold", data);
    return text;
  };
}

/** A whole number in 2 bytes (Java's `ShortSerializer`). */
export function shortSerializer(number: number): Uint8Array {
  return written(2, (view) => view.setInt16(0, whole(number, 16)));
}

/** A whole number in 4 bytes (Java's `IntegerSerializer`). */
export function intSerializer(number: number): Uint8Array {
  return written(4, (view) => view.setInt32(0, whole(number, 32)));
}

/** A whole number in 8 bytes (Java's `LongSerializer`); a bigint for those beyond 2^53. */
export function longSerializer(number: number | bigint): Uint8Array {
  const big = typeof number === "number" && Number.isSafeInteger(number) ? BigInt(number) : number;
  if (typeof big !== "bigint" || BigInt.asIntN(64, big) !== big) throw wrongType("an integer within 64 bits", number);
  return written(8, (view) => view.setBigInt64(0, big));
}

/** A number in 4 bytes, rounded (Java's `FloatSerializer`). */
export function floatSerializer(number: number): Uint8Array {
  return written(4, (view) => view.setFloat32(0, real(number)));
}

/** A number in 8 bytes (Java's `DoubleSerializer`). */
export function doubleSerializer(number: number): Uint8Array {
  return written(8, (view) => view.setFloat64(0, real(number)));
}

/** The serializers by the name of the class that Java's `key.serializer` and `value.serializer` take. */
export const javaSerializers: Readonly<Record<string, Serializer<never>>> = {
  StringSerializer: stringSerializer,
  ByteArraySerializer: bytesSerializer,
  ShortSerializer: shortSerializer,
  IntegerSerializer: intSerializer,
  LongSerializer: longSerializer,
  FloatSerializer: floatSerializer,
  DoubleSerializer: doubleSerializer,
};

function written(size: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(size);
  write(new DataView(bytes.buffer));
  return bytes;
}

function whole(number: number, bits: number): number {
  const limit = 2 ** (bits - 1);
  if (Number.isInteger(number) && number >= -limit && number < limit) return number;
  throw wrongType(`an integer within ${bits} bits`, number);
}

function real(number: number): number {
  if (typeof number !== "number") throw wrongType("a number", number);
  return number;
}

function wrongType(expected: string, given: unknown): ConfigError {
  // The data itself may be a secret, so only numbers are shown.
  const shown = typeof given === "number" || typeof given === "bigint"
    ? String(given)
    : `a value of type ${typeof given}`;
  return new ConfigError(`expected ${expected}, not ${shown}`, {
    code: "SERIALIZATION_FAILED",
    outcome: "not-written",
  });
}
