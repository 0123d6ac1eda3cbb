/**
 * gzip in plain JavaScript, for where the runtime has none: written by fflate, read by an inflater of our own. fflate's believes
 * the size that the last four bytes claim, checks no checksum, does not tell where a member ends, and is bounded only when
 * it is fed a little at a time, which makes it several times slower.
 *
 * Several members are one content, and what stands behind them but is no member's header is passed over: so Java's
 * `GZIPInputStream` has it, by which brokers and other clients read.
 *
 * @module
 */

import { gzipSync } from "fflate";
import { crc32 } from "../hash/crc32.ts";
import { type Codec, compressionLevel, corruptCompression, decompressionLimit } from "./codec.ts";
import { Inflater } from "./inflate.ts";

/** zlib's meaning of level −1. */
const DEFAULT_LEVEL = 6;
const HEADER_SIZE = 10;
const TRAILER_SIZE = 8;
/** Java does not look at so few bytes behind a member, of which none can be. */
const TOO_FEW = 18;
/** Two bits can stand for 258 bytes. */
const MAX_EXPANSION = 1032;

/** The gzip codec. */
export const gzip: Codec = { compress, decompress };

function compress(bytes: Uint8Array, level?: number): Uint8Array {
  const checked = compressionLevel("gzip", level);
  return gzipSync(bytes, { level: (checked === -1 ? DEFAULT_LEVEL : checked) as 6, mtime: 0 });
}

function decompress(bytes: Uint8Array, limit: number): Uint8Array {
  checkGzipClaim(bytes, limit);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const claimed = lastMemberSize(bytes);
  const inflater = new Inflater(bytes, limit, claimed <= bytes.length * MAX_EXPANSION ? claimed : bytes.length * 4);
  for (let start: number | undefined = headerEnd(bytes, 0); start !== undefined;) {
    const sizeBefore = inflater.content.length;
    const end = inflater.inflate(start);
    if (bytes.length - end < TRAILER_SIZE) throw corruptCompression("gzip", "cut short");
    const member = inflater.content.subarray(sizeBefore);
    if (view.getUint32(end, true) !== crc32(member)) throw corruptCompression("gzip", "wrong checksum");
    if (view.getUint32(end + 4, true) !== member.length) throw corruptCompression("gzip", "wrong length");
    start = bytes.length - end - TRAILER_SIZE > TOO_FEW ? headerEnd(bytes, end + TRAILER_SIZE) : undefined;
  }
  return inflater.content;
}

/**
 * Refuses bytes that are no gzip, and those whose last member says that it holds more than `limit`: for that no memory need be
 * taken. What it says may be too little, and the limit must hold while inflating, too.
 *
 * @throws CompressionError
 */
export function checkGzipClaim(bytes: Uint8Array, limit: number): void {
  if (headerEnd(bytes, 0) === undefined) throw corruptCompression("gzip", "no member's header at its begin");
  const claimed = lastMemberSize(bytes);
  // What so few bytes cannot hold is damage, or stands behind the last member.
  if (claimed > limit && claimed <= bytes.length * MAX_EXPANSION) throw decompressionLimit("gzip", limit);
}

/** What the last four bytes say the last member inflates to, modulo 2^32. */
export function lastMemberSize(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0, true);
}

/** Where the header that begins at `start` ends; undefined when none does, by Java's rules. */
function headerEnd(bytes: Uint8Array, start: number): number | undefined {
  if (bytes.length - start < HEADER_SIZE) return undefined;
  if (bytes[start] !== 0x1f || bytes[start + 1] !== 0x8b || bytes[start + 2] !== 8) return undefined;
  const flags = bytes[start + 3]!;
  let at = start + HEADER_SIZE;
  if ((flags & 0x04) !== 0) at += 2 + (bytes[at]! | (bytes[at + 1]! << 8)); // a field of its own length
  for (const text of [0x08, 0x10]) { // a file name, a comment
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  if ((flags & 0x02) !== 0) { // a checksum of the header
    const checksum = bytes[at]! | (bytes[at + 1]! << 8);
    if (at + 2 > bytes.length || checksum !== (crc32(bytes.subarray(start, at)) & 0xffff)) return undefined;
    at += 2;
  }
  return at <= bytes.length ? at : undefined;
}
