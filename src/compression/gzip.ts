/**
 * gzip in plain JavaScript by fflate, for where the runtime has none. fflate by itself believes the size that the last four
 * bytes claim, checks no checksum and reads one member only; so members are inflated in small steps with a running limit,
 * and each one's checksum and length are compared.
 *
 * @module
 */

import { Gunzip, gzipSync } from "fflate";
import { CompressionError } from "../core/kafka_error.ts";
import { crc32 } from "../hash/crc32.ts";
import type { Codec } from "./codec.ts";

/** Level 6 costs four times as much as level 1 here and saves a tenth of the bytes. */
const DEFAULT_LEVEL = 1;
/** Input is given in steps of this size; one can inflate to at most 1032 times as much before the limit is looked at. */
const STEP = 8192;
const MIN_MEMBER_SIZE = 18;
const TRAILER_SIZE = 8;

/** The gzip codec. */
export const gzip: Codec = {
  compress(bytes: Uint8Array, level: number = DEFAULT_LEVEL): Uint8Array {
    if (!Number.isInteger(level) || level < -1 || level > 9) {
      throw new CompressionError(`gzip: level must be from 1 to 9, or -1 for the default, not ${level}`);
    }
    return gzipSync(bytes, { level: (level === -1 ? DEFAULT_LEVEL : level) as 0, mtime: 0 });
  },
  decompress,
};

function decompress(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length < MIN_MEMBER_SIZE || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) {
    throw corrupt("it does not begin like gzip");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: Uint8Array[] = [];
  let total = 0;
  let memberSize = 0;
  let memberCrc = 0;
  const endMember = (end: number) => {
    if (end < MIN_MEMBER_SIZE) throw corrupt("it is cut short");
    if (view.getUint32(end - TRAILER_SIZE, true) !== memberCrc) throw corrupt("its checksum is wrong");
    if (view.getUint32(end - 4, true) !== memberSize % 2 ** 32) throw corrupt("its length is wrong");
    memberSize = memberCrc = 0;
  };
  try {
    const inflater = new Gunzip((chunk) => {
      total += chunk.length;
      if (total > limit) {
        throw new CompressionError(`gzip: inflates to more than ${limit} bytes`, { code: "DECOMPRESSION_LIMIT" });
      }
      memberCrc = crc32(chunk, memberCrc);
      memberSize += chunk.length;
      if (chunk.length > 0) chunks.push(chunk.slice());
    });
    let members = 0;
    inflater.onmember = (start) => {
      if (members++ > 0) endMember(start);
    };
    for (let at = 0; at < bytes.length; at += STEP) {
      inflater.push(bytes.subarray(at, at + STEP), at + STEP >= bytes.length);
    }
    endMember(bytes.length);
  } catch (cause) {
    throw cause instanceof CompressionError
      ? cause
      : corrupt(cause instanceof Error ? cause.message : String(cause), cause);
  }
  const inflated = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    inflated.set(chunk, at);
    at += chunk.length;
  }
  return inflated;
}

function corrupt(reason: string, cause?: unknown): CompressionError {
  return new CompressionError(`gzip: ${reason}`, { code: "CORRUPT_COMPRESSION", cause });
}
