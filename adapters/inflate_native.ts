/**
 * Inflates archives by the runtime's own `node:zlib`, which Deno and Bun have, too: two to ten times as fast as the plain
 * one.
 *
 * @module
 */

import { createGunzip, createInflateRaw } from "node:zlib";
import { Readable } from "node:stream";
import { corruptCompression } from "../src/compression/codec.ts";
import { KafkaError } from "../src/core/kafka_error.ts";
import type { InflateFormat } from "../src/log/sources/inflate.ts";

export type { Inflate, InflateFormat } from "../src/log/sources/inflate.ts";

/** Inflates by `node:zlib`. */
export async function* nativeInflate(
  format: InflateFormat,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const inflater = format === "gzip" ? createGunzip() : createInflateRaw();
  const input = Readable.from(pieces, { objectMode: false });
  // What reading fails with must not be taken for damage of the compressed bytes.
  let failure: unknown;
  input.on("error", (error) => {
    failure = error;
    inflater.destroy(error);
  });
  try {
    for await (const chunk of input.pipe(inflater)) {
      const { buffer, byteLength, byteOffset } = chunk as Uint8Array<ArrayBuffer>;
      yield new Uint8Array(buffer, byteOffset, byteLength);
    }
  } catch (cause) {
    if (failure instanceof KafkaError) throw failure;
    throw corruptCompression(format === "gzip" ? "gzip" : "deflate", (cause as Error).message, cause);
  } finally {
    input.destroy();
    inflater.destroy();
  }
}
