/**
 * gzip and zstd by the runtime's own `node:zlib`, which Deno and Bun have, too. zstd is there in Deno, Bun and Node.js from
 * 22.15 on.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 * import { nativeCodecs } from "@anykafka/kafka/codecs-native";
 *
 * // What `Kafka` does by itself where node:zlib is there:
 * new Kafka({ bootstrapServers: "localhost:9092", codecs: nativeCodecs() });
 * ```
 *
 * @module
 */

import * as zlib from "node:zlib";
import type { Codec, Codecs } from "../src/compression/codec.ts";
import { zstdFrames } from "../src/compression/zstd_frames.ts";
import { CompressionError } from "../src/core/kafka_error.ts";

export type { Codec, Codecs };

/** Members of `node:zlib` that not every runtime has. */
interface Zstd {
  zstdCompressSync?(bytes: Uint8Array, options?: { params?: Record<number, number> }): Uint8Array;
  zstdDecompressSync?(bytes: Uint8Array, options?: { maxOutputLength?: number }): Uint8Array;
  constants: { ZSTD_c_compressionLevel?: number };
}

/** The codecs that `node:zlib` has here. */
export function nativeCodecs(): Codecs {
  const { zstdCompressSync, zstdDecompressSync } = zlib as unknown as Zstd;
  const hasZstd = zstdCompressSync !== undefined && zstdDecompressSync !== undefined;
  return hasZstd ? { gzip, zstd } : { gzip };
}

const gzip: Codec = {
  compress(bytes: Uint8Array, level?: number): Uint8Array {
    return guarded("gzip", Infinity, () => zlib.gzipSync(bytes, level === undefined ? {} : { level }));
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    // zlib reads every member and ignores what follows the last; a first one that is no gzip it refuses.
    return guarded("gzip", limit, () => zlib.gunzipSync(bytes, { maxOutputLength: Math.max(limit, 1) }));
  },
};

const zstd: Codec = {
  compress(bytes: Uint8Array, level?: number): Uint8Array {
    const { constants, zstdCompressSync } = zlib as unknown as Required<Zstd>;
    const params = { [constants.ZSTD_c_compressionLevel!]: level ?? 3 };
    return guarded("zstd", Infinity, () => zstdCompressSync(bytes, { params }));
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    const { zstdDecompressSync } = zlib as unknown as Required<Zstd>;
    // Only Bun reads more than the first frame by itself, and only Node.js 24 tells a cut frame from an empty one.
    const parts: Uint8Array[] = [];
    let total = 0;
    for (const { start, end, contentSize, bound } of zstdFrames(bytes)) {
      const left = limit - total;
      if (contentSize !== undefined && contentSize > left) throw pastLimit("zstd", limit);
      const maxOutputLength = Math.max(1, Math.min(left, bound));
      const part = guarded("zstd", limit, () => zstdDecompressSync(bytes.subarray(start, end), { maxOutputLength }));
      if (contentSize !== undefined && part.length !== contentSize) {
        throw new CompressionError(`zstd: a frame of ${contentSize} bytes inflated to ${part.length}`, {
          code: "CORRUPT_COMPRESSION",
        });
      }
      parts.push(part);
      total += part.length;
    }
    return parts.length === 1 ? parts[0]! : concat(parts, total);
  },
};

/** Runs `call` and turns zlib's errors into ours; a result past the limit is one, however the runtime reports it. */
function guarded(name: string, limit: number, call: () => Uint8Array): Uint8Array {
  let result: Uint8Array;
  try {
    result = call();
  } catch (cause) {
    const { code, message } = cause as { code?: string; message: string };
    if (code === "ERR_BUFFER_TOO_LARGE" || /larger than|too large/i.test(message)) throw pastLimit(name, limit, cause);
    throw new CompressionError(`${name}: ${message}`, { code: "CORRUPT_COMPRESSION", cause });
  }
  if (result.length > limit) throw pastLimit(name, limit);
  // A plain Uint8Array, so that no Buffer leaves this file.
  return new Uint8Array(result.buffer, result.byteOffset, result.byteLength);
}

function pastLimit(name: string, limit: number, cause?: unknown): CompressionError {
  return new CompressionError(`${name}: inflates to more than ${limit} bytes`, { code: "DECOMPRESSION_LIMIT", cause });
}

function concat(parts: readonly Uint8Array[], total: number): Uint8Array {
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
