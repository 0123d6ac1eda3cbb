/**
 * The seam that inflates archives piece by piece, and a plain one by fflate, for where the runtime's own is not given in.
 *
 * `DecompressionStream` is everywhere, but not the same everywhere: Deno refuses a second gzip member, Bun zeros behind the
 * last, and Node.js knows `deflate-raw` only from 20.12 on. `node:zlib` does all of it in the three runtimes, two to ten
 * times as fast as fflate; an adapter brings it.
 *
 * @module
 */

import { Gunzip, Inflate as RawInflate } from "fflate";
import { concatenate } from "../../bytes/concatenate.ts";
import { corruptCompression } from "../../compression/codec.ts";
import { CompressionError } from "../../core/kafka_error.ts";
import { crc32 } from "../../hash/crc32.ts";
import type { ByteSource } from "./read_only_storage.ts";

/** What archives compress with. A gzip file may have several members. */
export type InflateFormat = "gzip" | "deflate-raw";

/**
 * Inflates `pieces`, in order, no further than the caller asks for.
 *
 * @throws CompressionError with code `"CORRUPT_COMPRESSION"`, perhaps after some output.
 */
export type Inflate = (format: InflateFormat, pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Input is given to fflate in steps of this size; one inflates to at most 1032 times as much. */
const STEP = 8192;
/** Input that is kept: the header of a gzip member, which tells where the one before ended, may be about 64 KB long. */
const KEPT = 160 * 1024;
const TRAILER_SIZE = 8;
/** The header of a member. Given behind the input, it makes the inflater say where the last true member ended. */
const SENTINEL = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** Inflates by fflate. */
export const plainInflate: Inflate = (format, pieces) => format === "gzip" ? gunzip(pieces) : inflateRaw(pieces);

async function* inflateRaw(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks: Uint8Array[] = [];
  const inflater = new RawInflate((chunk) => void (chunk.length > 0 && chunks.push(chunk)));
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP) {
      attempt("deflate", () => inflater.push(piece.subarray(at, at + STEP)));
      yield* chunks.splice(0);
    }
  }
  attempt("deflate", () => inflater.push(new Uint8Array(0), true));
  yield* chunks.splice(0);
}

async function* gunzip(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const kept = new Tail();
  let chunks: Uint8Array[] = [];
  let memberSize = 0;
  let memberCrc = 0;
  let membersEnd = 0;
  const inflater = new Gunzip((chunk) => {
    if (chunk.length === 0) return;
    memberCrc = crc32(chunk, memberCrc);
    memberSize += chunk.length;
    chunks.push(chunk);
  });
  inflater.onmember = (end) => {
    const trailer = kept.before(end, TRAILER_SIZE);
    if (trailer.getUint32(0, true) !== memberCrc) throw corruptCompression("gzip", "wrong checksum");
    if (trailer.getUint32(4, true) !== memberSize % 2 ** 32) throw corruptCompression("gzip", "wrong length");
    memberSize = memberCrc = 0;
    membersEnd = end;
  };
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += STEP) {
      const step = piece.subarray(at, at + STEP);
      kept.push(step);
      attempt("gzip", () => inflater.push(step));
      yield* chunks;
      chunks = [];
    }
  }
  const size = kept.end;
  attempt("gzip", () => inflater.push(SENTINEL));
  yield* chunks;
  if (membersEnd !== size || size === 0) throw corruptCompression("gzip", "cut short");
}

function attempt(codec: string, run: () => void): void {
  try {
    run();
  } catch (cause) {
    if (cause instanceof CompressionError) throw cause;
    throw corruptCompression(codec, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** The last bytes of what was pushed. */
class Tail {
  end = 0;
  #kept = 0;
  readonly #pieces: Uint8Array[] = [];

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.end += piece.length;
    this.#kept += piece.length;
    while (this.#kept - this.#pieces[0]!.length >= KEPT) this.#kept -= this.#pieces.shift()!.length;
  }

  /** The `size` bytes before `end`. */
  before(end: number, size: number): DataView {
    const bytes = concatenate(this.#pieces);
    const at = this.#kept - (this.end - end) - size;
    if (at < 0) throw corruptCompression("gzip", "a member has no end");
    return new DataView(bytes.buffer, bytes.byteOffset + at, size);
  }
}

/** The bytes of `source` in pieces. */
export async function* piecesOf(
  source: ByteSource,
  pieceBytes: number = 64 * 1024,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let position = 0; position < source.size;) {
    const piece = new Uint8Array(Math.min(pieceBytes, source.size - position));
    const count = await source.readAt(piece, position);
    if (count === 0) return;
    yield piece.subarray(0, count);
    position += count;
  }
}
