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
import { type Codec, type Codecs, compressionLevel, decompressionLimit } from "../src/compression/codec.ts";
import { checkGzipClaim, gzip as plainGzip, lastMemberSize } from "../src/compression/gzip.ts";
import { zstdCodec } from "../src/compression/zstd.ts";
import { CompressionError } from "../src/core/kafka_error.ts";

export type { Codec, Codecs };

/** Members of `node:zlib` that not every runtime has. */
interface Zstd {
  zstdCompressSync?(
    bytes: Uint8Array,
    options: { params: { [parameter: number]: number }; pledgedSrcSize: number },
  ): Uint8Array;
  zstdDecompressSync?(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
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
    const checked = compressionLevel("gzip", level);
    try {
      return plain(zlib.gzipSync(bytes, { level: checked }));
    } catch (cause) {
      throw new CompressionError(`gzip could not compress ${bytes.length} bytes with level ${checked}`, { cause });
    }
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    checkGzipClaim(bytes, limit);
    const content = singleMember(bytes, limit);
    if (content === undefined) throw decompressionLimit("gzip", limit);
    return content ?? plainGzip.decompress(bytes, limit);
  },
};

/**
 * What the one member in `bytes` inflates to; undefined when that is more than `limit`. Null for whatever else there is, to
 * be judged by the plain codec: damage, and several members or bytes behind them, on which the runtimes disagree.
 */
function singleMember(bytes: Uint8Array, limit: number): Uint8Array | null | undefined {
  let content: Uint8Array | undefined;
  try {
    content = inflated(limit, (options) => zlib.gunzipSync(bytes, options));
  } catch {
    return null;
  }
  if (content === undefined) return undefined;
  return lastMemberSize(bytes) === content.length ? content : null;
}

const zstd: Codec = zstdCodec({
  compress(bytes: Uint8Array, level: number): Uint8Array {
    const { constants, zstdCompressSync } = zlib as unknown as Required<Zstd>;
    // Told the size, the library takes tables for that and not for gigabytes: 4 ms instead of 940 for 16 KB at level 22.
    const options = { params: { [constants.ZSTD_c_compressionLevel!]: level }, pledgedSrcSize: bytes.length };
    return plain(zstdCompressSync(bytes, options));
  },
  inflate(frame: Uint8Array, capacity: number): Uint8Array | undefined {
    const { zstdDecompressSync } = zlib as unknown as Required<Zstd>;
    return inflated(capacity, (options) => zstdDecompressSync(frame, options));
  },
});

/** What `inflate` gives as a plain Uint8Array; undefined when that is more than `limit`. */
function inflated(
  limit: number,
  inflate: (options: { maxOutputLength: number }) => Uint8Array,
): Uint8Array | undefined {
  try {
    // zlib's limits begin at 1; beyond 2^31−1 not every runtime takes one.
    const bytes = inflate({ maxOutputLength: Math.min(Math.max(limit, 1), 0x7fffffff) });
    return bytes.length > limit ? undefined : plain(bytes);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error;
  }
}

/** The same bytes as a plain Uint8Array, so that no Buffer leaves this file. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
