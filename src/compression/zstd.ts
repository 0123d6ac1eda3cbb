/**
 * zstd by a library that is given in, one frame at a time: what decoders differ in, or get wrong, is done here.
 *
 * @module
 */

import { concatenate } from "../bytes/concatenate.ts";
import { CompressionError } from "../core/kafka_error.ts";
import { type Codec, compressionLevel, corruptCompression, decompressionLimit } from "./codec.ts";
import { zstdFrames } from "./zstd_frames.ts";

/** What of a zstd library is needed. */
export interface ZstdLibrary {
  /** Compresses `bytes` to one frame. */
  compress(bytes: Uint8Array, level: number): Uint8Array;
  /**
   * Inflates one whole frame; undefined when that gives more than `capacity` bytes, for which no memory may be taken.
   * Throws, whatever it likes, when the frame is damaged.
   */
  inflate(frame: Uint8Array, capacity: number): Uint8Array | undefined;
}

/** A codec by `library`. */
export function zstdCodec(library: ZstdLibrary): Codec {
  return {
    compress(bytes: Uint8Array, level?: number): Uint8Array {
      const checked = compressionLevel("zstd", level);
      try {
        return library.compress(bytes, checked);
      } catch (cause) {
        throw new CompressionError(`zstd could not compress ${bytes.length} bytes with level ${checked}`, { cause });
      }
    },
    decompress(bytes: Uint8Array, limit: number): Uint8Array {
      const parts: Uint8Array[] = [];
      let total = 0;
      for (const { start, end, least, most } of zstdFrames(bytes, limit)) {
        const left = limit - total;
        if (least > left) throw decompressionLimit("zstd", limit);
        if (most === 0) continue;
        const part = inflated(library, bytes.subarray(start, end), Math.min(most, left));
        if (part === undefined && most > left) throw decompressionLimit("zstd", limit);
        if (part === undefined || part.length < least) {
          throw corruptCompression("zstd", `${part?.length ?? "more"} bytes in a frame of ${least} to ${most}`);
        }
        parts.push(part);
        total += part.length;
      }
      return parts.length === 1 ? parts[0]! : concatenate(parts);
    },
  };
}

function inflated(library: ZstdLibrary, frame: Uint8Array, capacity: number): Uint8Array | undefined {
  let part: Uint8Array | undefined;
  try {
    part = library.inflate(frame, capacity);
  } catch (cause) {
    throw corruptCompression("zstd", cause instanceof Error ? cause.message : String(cause), cause);
  }
  return part !== undefined && part.length > capacity ? undefined : part;
}
