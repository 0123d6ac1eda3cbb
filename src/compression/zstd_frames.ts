/**
 * Finds the frames in zstd data before any decoder sees it. Decoders differ: some read only the first frame, some answer
 * nothing for a cut one. Walking the block headers catches every cut, bounds what a frame can inflate to, and so lets the
 * limit hold before memory is taken. Layout: RFC 8878.
 *
 * @module
 */

import { corruptCompression, decompressionLimit } from "./codec.ts";

/** One frame. */
export interface ZstdFrame {
  /** Where it begins. */
  readonly start: number;
  /** First position behind it. */
  readonly end: number;
  /** Bytes it inflates to; undefined when it does not say. */
  readonly contentSize: number | undefined;
  /** Least bytes it inflates to, as far as its block headers tell. */
  readonly least: number;
  /** Most bytes it can inflate to. */
  readonly most: number;
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const MAX_BLOCK_SIZE = 128 * 1024;
/** As far back as a frame may refer for Kafka's Java clients and by default for every zstd library. */
const MAX_WINDOW = 128 * 1024 * 1024;
/** Of the frames of one batch, of which writers make one: each is a call that takes 20 µs, however small it is. */
const MOST_FRAMES = 1024;
const RLE_BLOCK = 1;
const COMPRESSED_BLOCK = 2;
const RESERVED_BLOCK = 3;

/**
 * The frames in `bytes`; skippable ones are left out.
 *
 * @throws CompressionError with code `"CORRUPT_COMPRESSION"` for anything but whole frames, `"DECOMPRESSION_LIMIT"` as soon as
 * they are known to hold more than `limit` bytes.
 */
export function zstdFrames(bytes: Uint8Array, limit: number): ZstdFrame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: ZstdFrame[] = [];
  let at = 0;
  let left = limit;
  const need = (size: number) => {
    if (at + size > bytes.length) throw corruptCompression("zstd", "cut short");
  };
  while (at < bytes.length) {
    need(4);
    const magic = view.getUint32(at, true);
    if ((magic & 0xfffffff0) === SKIPPABLE_MAGIC) {
      need(8);
      at += 8 + view.getUint32(at + 4, true);
      need(0);
      continue;
    }
    if (magic !== MAGIC) throw corruptCompression("zstd", `no frame begins at byte ${at}`);
    const start = at;
    at += 4;
    need(1);
    const descriptor = bytes[at++]!;
    const isSingleSegment = (descriptor & 0x20) !== 0;
    if ((descriptor & 0x08) !== 0) throw corruptCompression("zstd", "a reserved bit is set");
    let window = 0;
    if (!isSingleSegment) {
      need(1);
      const byte = bytes[at++]!;
      const base = 2 ** (10 + (byte >>> 3));
      window = base + (base / 8) * (byte & 7);
      if (window > MAX_WINDOW) {
        throw corruptCompression("zstd", `a window of ${window} bytes, of which Kafka takes ${MAX_WINDOW}`);
      }
    }
    const dictionarySize = [0, 1, 2, 4][descriptor & 3]!;
    need(dictionarySize);
    if (bytes.subarray(at, at + dictionarySize).some((byte) => byte !== 0)) {
      throw corruptCompression("zstd", "a dictionary is needed");
    }
    at += dictionarySize;
    const sizeFlag = descriptor >>> 6;
    const sizeLength = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 1 << sizeFlag;
    need(sizeLength);
    let contentSize: number | undefined;
    if (sizeLength > 0) {
      contentSize = sizeLength === 2 ? 256 : 0;
      for (let i = 0; i < sizeLength; i++) contentSize += bytes[at + i]! * 2 ** (8 * i);
    }
    at += sizeLength;
    if (contentSize !== undefined && contentSize > left) throw decompressionLimit("zstd", limit);
    const blockLimit = Math.min(isSingleSegment ? contentSize! : window, MAX_BLOCK_SIZE);
    let least = 0;
    let most = 0;
    for (let isLast = false; !isLast;) {
      need(3);
      const header = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
      at += 3;
      isLast = (header & 1) !== 0;
      const type = (header >>> 1) & 3;
      const size = header >>> 3;
      // A compressed block has two headers of its own; decoders disagree on one without.
      if (type === RESERVED_BLOCK || size > Math.max(blockLimit, 1) || (type === COMPRESSED_BLOCK && size < 2)) {
        throw corruptCompression("zstd", `a block of ${size} bytes cannot be`);
      }
      least += type === COMPRESSED_BLOCK ? 0 : size;
      if (least > left) throw decompressionLimit("zstd", limit);
      most += type === COMPRESSED_BLOCK ? blockLimit : size;
      at += type === RLE_BLOCK ? 1 : size;
      need(0);
    }
    if ((descriptor & 0x04) !== 0) at += 4;
    need(0);
    if (contentSize !== undefined && (contentSize < least || contentSize > most)) {
      throw corruptCompression("zstd", "the content size cannot be");
    }
    if (frames.length === MOST_FRAMES) throw corruptCompression("zstd", `more than ${MOST_FRAMES} frames`);
    left -= contentSize ?? least;
    frames.push({ start, end: at, contentSize, least: contentSize ?? least, most: contentSize ?? most });
  }
  if (frames.length === 0) throw corruptCompression("zstd", "no frame in it");
  return frames;
}
