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
import { type Codec, corruptCompression, decompressionLimit, joined } from "./codec.ts";

/** Level 6 costs four times as much as level 1 here and saves a tenth of the bytes. */
const DEFAULT_LEVEL = 1;
/** Input is given in steps of this size; one inflates to at most 1032 times as much before the limit is looked at. */
const STEP = 8192;
const TRAILER_SIZE = 8;
/** The header of a member. Given behind the input, it makes the inflater say where the last true member ended. */
const SENTINEL = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** The gzip codec. */
export const gzip: Codec = {
  compress(bytes: Uint8Array, level: number = DEFAULT_LEVEL): Uint8Array {
    if (!Number.isInteger(level) || level < -1 || level > 9) {
      throw new CompressionError(`gzip: level must be from 1 to 9, or -1 for the default, not ${level}`);
    }
    return gzipSync(bytes, { level: (level === -1 ? DEFAULT_LEVEL : level) as 0, mtime: 0 });
  },
  decompress(bytes: Uint8Array, limit: number): Uint8Array {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const chunks: Uint8Array[] = [];
    let total = 0;
    let memberSize = 0;
    let memberCrc = 0;
    let membersEnd = 0;
    const inflater = new Gunzip((chunk) => {
      total += chunk.length;
      if (total > limit) throw decompressionLimit("gzip", limit);
      memberCrc = crc32(chunk, memberCrc);
      memberSize += chunk.length;
      if (chunk.length > 0) chunks.push(chunk);
    });
    inflater.onmember = (end) => {
      if (view.getUint32(end - TRAILER_SIZE, true) !== memberCrc) throw corruptCompression("gzip", "wrong checksum");
      if (view.getUint32(end - 4, true) !== memberSize % 2 ** 32) throw corruptCompression("gzip", "wrong length");
      memberSize = memberCrc = 0;
      membersEnd = end;
    };
    try {
      for (let at = 0; at < bytes.length; at += STEP) inflater.push(bytes.subarray(at, at + STEP));
      inflater.push(SENTINEL);
    } catch (cause) {
      if (cause instanceof CompressionError) throw cause;
      throw corruptCompression("gzip", cause instanceof Error ? cause.message : String(cause), cause);
    }
    if (membersEnd !== bytes.length || membersEnd === 0) throw corruptCompression("gzip", "cut short");
    return joined(chunks, total);
  },
};
