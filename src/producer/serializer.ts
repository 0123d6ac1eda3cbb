/**
 * Turns keys and values of a program's own types into bytes.
 *
 * @module
 */

import type { Payload } from "./record_metadata.ts";

/** What a serializer is told beside the data. */
export interface SerializerContext {
  /** Where the record goes. */
  readonly topic: string;
  /** Which part of the record is being serialized. */
  readonly part: "key" | "value";
  /** The record's headers; a serializer may add some (the id of a schema). Frozen once the record is serialized. */
  readonly headers: [name: string, value: Payload | null][];
}

/**
 * Answers the bytes of `data`, or text to be sent as UTF-8; a promise of them serves as well. Null is never given to it:
 * a null key is no key and a null value is a tombstone. It may answer null itself.
 */
export type Serializer<T> = (
  data: T,
  context: SerializerContext,
) => Payload | null | PromiseLike<Payload | null>;
