/**
 * The codec seam. A batch names its codec by a number in its attributes; the bytes behind are made and read by a
 * {@linkcode Codec} that is given in: `node:zlib` where an adapter has it, otherwise a plain one of this library.
 *
 * @module
 */

import { CompressionError } from "../core/kafka_error.ts";

/** Names of Kafka's codecs in the order of their numbers (`compression.type`). */
export const COMPRESSION_TYPES = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

/** Name of a codec (`compression.type`). */
export type CompressionType = typeof COMPRESSION_TYPES[number];

/** Compresses and inflates one batch's records at a time. */
export interface Codec {
  /**
   * Compresses `bytes`; `level` is on the codec's own scale, {@linkcode COMPRESSION_LEVELS}, its default when absent.
   *
   * @throws CompressionError with code `"INVALID_COMPRESSION_LEVEL"` for a level that is none.
   */
  compress(bytes: Uint8Array, level?: number): Uint8Array;
  /**
   * Inflates `bytes` (every member or frame in them) to at most `limit` bytes; the limit holds *while* inflating.
   *
   * @throws CompressionError with code `"DECOMPRESSION_LIMIT"` past the limit, `"CORRUPT_COMPRESSION"` on bad input.
   */
  decompress(bytes: Uint8Array, limit: number): Uint8Array;
}

/** The codecs at hand, by name. */
export type Codecs = { readonly [name in Exclude<CompressionType, "none">]?: Codec };

/** Default for the most bytes one batch may inflate to: 128 MiB, above any sane `max.message.bytes`. */
export const DEFAULT_DECOMPRESSION_LIMIT: number = 128 * 1024 * 1024;

/** The levels of one codec. */
export interface CompressionLevels {
  /** Least level. */
  readonly least: number;
  /** Greatest level. */
  readonly most: number;
  /** Kafka's default. gzip's stands outside the range and means zlib's own, which is 6. */
  readonly default: number;
}

/** The levels that Kafka's producer takes (`compression.gzip.level`, …). Snappy has none. */
export const COMPRESSION_LEVELS: {
  readonly gzip: CompressionLevels;
  readonly lz4: CompressionLevels;
  readonly zstd: CompressionLevels;
} = {
  gzip: { least: 1, most: 9, default: -1 },
  lz4: { least: 1, most: 17, default: 9 },
  zstd: { least: -131072, most: 22, default: 3 },
};

/** Whether `level` is one of the codec's. */
export function isCompressionLevel(type: keyof typeof COMPRESSION_LEVELS, level: number): boolean {
  const levels = COMPRESSION_LEVELS[type];
  return Number.isInteger(level) && (level >= levels.least && level <= levels.most || level === levels.default);
}

/**
 * The level itself, Kafka's default when absent.
 *
 * @throws CompressionError with code `"INVALID_COMPRESSION_LEVEL"` for a level that is none.
 */
export function compressionLevel(type: keyof typeof COMPRESSION_LEVELS, level: number | undefined): number {
  const levels = COMPRESSION_LEVELS[type];
  if (level === undefined) return levels.default;
  if (isCompressionLevel(type, level)) return level;
  throw new CompressionError(
    `${type} has no level ${level}: take one from ${levels.least} to ${levels.most}, or ${levels.default}, the default`,
    { code: "INVALID_COMPRESSION_LEVEL" },
  );
}

const PLAIN_CODECS = "pass plainCodecs of @anykafka/kafka/codecs as codecs";
const WHAT_TO_INJECT: { readonly [name in Exclude<CompressionType, "none">]: string } = {
  gzip: PLAIN_CODECS,
  snappy: PLAIN_CODECS,
  lz4: PLAIN_CODECS,
  zstd:
    "Deno, Bun and Node.js from 22.15 on bring one; elsewhere pass codecs: { zstd: wasmZstd(await Zstd.load()) } with " +
    "wasmZstd of @anykafka/kafka/codecs-wasm and Zstd of the npm package @hpcc-js/wasm-zstd",
};

/**
 * The codec called `type`.
 *
 * @throws CompressionError with code `"UNSUPPORTED_CODEC"` that says what to inject.
 */
export function codecFor(codecs: Codecs, type: Exclude<CompressionType, "none">): Codec {
  const codec = codecs[type];
  if (codec !== undefined) return codec;
  throw new CompressionError(`no ${type} codec here: ${WHAT_TO_INJECT[type]}`, { code: "UNSUPPORTED_CODEC" });
}

/**
 * The name for the codec number in a batch's attributes.
 *
 * @throws CompressionError for numbers that Kafka does not know (5 to 7).
 */
export function compressionTypeOf(attributes: number): CompressionType {
  const type = COMPRESSION_TYPES[attributes & 7];
  if (type !== undefined) return type;
  throw new CompressionError(`codec number ${attributes & 7} is none of Kafka's`, { code: "UNSUPPORTED_CODEC" });
}

/** The error for compressed bytes that are not well-formed. */
export function corruptCompression(codec: string, reason: string, cause?: unknown): CompressionError {
  return new CompressionError(`${codec} data is damaged: ${reason}`, {
    code: "CORRUPT_COMPRESSION",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The error for compressed bytes that inflate to more than allowed. */
export function decompressionLimit(codec: string, limit: number, cause?: unknown): CompressionError {
  return new CompressionError(`${codec} data inflates to more than the limit of ${limit} bytes`, {
    code: "DECOMPRESSION_LIMIT",
    ...(cause === undefined ? {} : { cause }),
  });
}
