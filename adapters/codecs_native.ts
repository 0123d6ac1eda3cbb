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
import { type Codec, type Codecs, corruptCompression, decompressionLimit, joined } from "../src/compression/codec.ts";
import { gzip as plainGzip } from "../src/compression/gzip.ts";
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
    return compressed("gzip", level, () => zlib.gzipSync(bytes, level === undefined ? {} : { level }));
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    const content = inflated("gzip", limit, () => zlib.gunzipSync(bytes, { maxOutputLength: zlibLimit(limit) }));
    // zlib lets zeros follow the last member. Where the last four bytes are not the whole length, there are either zeros or
    // several members: rare, and the plain codec tells which.
    return lastMemberSize(bytes) === content.length ? content : plainGzip.decompress(bytes, limit);
  },
};

const zstd: Codec = {
  compress(bytes: Uint8Array, level?: number): Uint8Array {
    const { constants, zstdCompressSync } = zlib as unknown as Required<Zstd>;
    const options = level === undefined ? {} : { params: { [constants.ZSTD_c_compressionLevel!]: level } };
    return compressed("zstd", level, () => zstdCompressSync(bytes, options));
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    const { zstdDecompressSync } = zlib as unknown as Required<Zstd>;
    const parts: Uint8Array[] = [];
    let total = 0;
    // Only Bun reads more than the first frame by itself, and only Node.js 24 tells a cut frame from an empty one.
    for (const { start, end, least, most } of zstdFrames(bytes)) {
      const left = limit - total;
      if (least > left) throw decompressionLimit("zstd", limit);
      if (most === 0) continue;
      const maxOutputLength = zlibLimit(left);
      const part = inflated("zstd", limit, () => zstdDecompressSync(bytes.subarray(start, end), { maxOutputLength }));
      if (part.length < least || part.length > most) {
        throw corruptCompression("zstd", `${part.length} bytes in a frame of ${least} to ${most}`);
      }
      parts.push(part);
      total += part.length;
      if (total > limit) throw decompressionLimit("zstd", limit);
    }
    return joined(parts, total);
  },
};

function compressed(codec: string, level: number | undefined, compress: () => Uint8Array): Uint8Array {
  try {
    return plain(compress());
  } catch (cause) {
    const { message } = cause as { message: string };
    throw new CompressionError(`${codec} with level ${level ?? "by default"}: ${message}`, { cause });
  }
}

function inflated(codec: string, limit: number, inflate: () => Uint8Array): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = inflate();
  } catch (cause) {
    const { code, message } = cause as { code?: string; message: string };
    if (code === "ERR_BUFFER_TOO_LARGE") throw decompressionLimit(codec, limit, cause);
    throw corruptCompression(codec, message, cause);
  }
  if (bytes.length > limit) throw decompressionLimit(codec, limit);
  return plain(bytes);
}

/** zlib's limits begin at 1; beyond 2^31−1 not every runtime takes one. */
function zlibLimit(limit: number): number {
  return Math.min(Math.max(limit, 1), 0x7fffffff);
}

/** The same bytes as a plain Uint8Array, so that no Buffer leaves this file. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What the last member says it inflates to. */
function lastMemberSize(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0, true);
}
