/**
 * LZ4 frames. Blocks are inflated by a kernel of WebAssembly; where that is refused, in plain TypeScript.
 *
 * Written as Kafka's Java client does, the only form that all of Kafka reads: independent blocks of 64 KiB, no checksums but
 * the header's. Read is what the frame format has: linked blocks, any block size, stored blocks, checksums, a content size,
 * several frames, skippable frames. Format: lz4/doc/lz4_Frame_format.md and lz4_Block_format.md.
 *
 * @module
 */

import type { CompressionError } from "../core/kafka_error.ts";
import { xxhash32 } from "../hash/xxhash32.ts";
import { type BlockKernel, KERNEL_ROOM, kernelOnce } from "./block_kernel.ts";
import { type Codec, COMPRESSION_LEVELS, compressionLevel, corruptCompression, decompressionLimit } from "./codec.ts";
import {
  BLOCK_SIZE,
  compressLz4Block,
  compressLz4BlockHigh,
  decompressLz4Block,
  sizeOfLz4Block,
  SLACK,
} from "./lz4_block.ts";
import { lz4Kernel } from "./lz4_kernel.ts";

const MAGIC = 0x184d2204;
const SKIPPABLE_MAGIC = 0x184d2a50;
/** Magic, version 1 with independent blocks, blocks of up to 64 KiB, and the checksum of these two bytes. */
const HEADER = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82] as const;
/** The bits of a block's length. The highest one, which makes it negative, says that the bytes are stored as they are. */
const LENGTH_BITS = 0x7fffffff;
/** How far back a match may reach. */
const WINDOW = 64 * 1024;

/** The LZ4 codec. As in Java, level 9 is the quick way and the default; every other one searches, the longer the higher. */
export const lz4: Codec = /* @__PURE__ */ lz4Codec(/* @__PURE__ */ kernelOnce(lz4Kernel));

/** The codec that inflates by the kernel that is answered, and in plain TypeScript where there is none. */
export function lz4Codec(kernel: () => BlockKernel | null): Codec {
  return { compress, decompress: (bytes, limit) => decompress(bytes, limit, kernel()) };
}

function compress(bytes: Uint8Array, level?: number): Uint8Array {
  const checked = compressionLevel("lz4", level);
  const blocks = Math.ceil(bytes.length / BLOCK_SIZE);
  const packed = new Uint8Array(HEADER.length + bytes.length + blocks * 4 + 4);
  const view = new DataView(packed.buffer);
  packed.set(HEADER);
  let to: number = HEADER.length;
  for (let from = 0; from < bytes.length; from += BLOCK_SIZE) {
    const until = Math.min(from + BLOCK_SIZE, bytes.length);
    let end = checked === COMPRESSION_LEVELS.lz4.default
      ? compressLz4Block(bytes, from, until, packed, to + 4)
      : compressLz4BlockHigh(bytes, from, until, packed, to + 4, checked);
    if (end < 0) {
      packed.set(bytes.subarray(from, until), to + 4);
      end = to + 4 + (until - from);
      view.setInt32(to, ~LENGTH_BITS | (until - from), true);
    } else {
      view.setUint32(to, end - to - 4, true);
    }
    to = end;
  }
  return packed.subarray(0, to + 4); // a length of 0 ends the frame
}

function decompress(bytes: Uint8Array, limit: number, kernel: BlockKernel | null): Uint8Array {
  // Twice over the frames: what they inflate to is known, and refused, before any memory is taken for it. That takes less
  // time than a buffer that grows. Nearly always, measuring leaves all of it in the kernel's memory, and once is enough.
  const measured = new FrameReader(bytes, limit, kernel);
  const size = measured.read();
  if (measured.isInKernel) return kernel!.memory.slice(0, size);
  const inflated = new Uint8Array(size + SLACK);
  new FrameReader(bytes, limit, kernel, inflated).read();
  return inflated.subarray(0, size);
}

/** Walks over the frames of one buffer; measures what they inflate to, or inflates them to `into`, which has room for that. */
class FrameReader {
  /** While measuring: whether all bytes so far are in the kernel's memory, from its beginning on. */
  isInKernel: boolean;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #limit: number;
  readonly #kernel: BlockKernel | null;
  readonly #into: Uint8Array | undefined;
  #position = 0;
  #size = 0;
  /** The first wrong checksum; what is wrong with lengths anywhere is told before. */
  #wrongChecksum: CompressionError | undefined;

  constructor(bytes: Uint8Array, limit: number, kernel: BlockKernel | null, into?: Uint8Array) {
    this.isInKernel = kernel !== null && into === undefined;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limit = limit;
    this.#kernel = kernel;
    this.#into = into;
  }

  /** Answers how many bytes there are. */
  read(): number {
    let frames = 0;
    while (this.#position < this.#bytes.length) {
      const magic = this.#int32();
      if (magic === MAGIC) {
        this.#frame();
        frames++;
      } else if ((magic & 0xfffffff0) === SKIPPABLE_MAGIC) this.#skip(this.#int32() >>> 0);
      else throw corruptCompression("lz4", `no frame begins at byte ${this.#position - 4}`);
    }
    if (frames === 0) throw corruptCompression("lz4", "no frame in it");
    if (this.isInKernel && this.#wrongChecksum !== undefined) throw this.#wrongChecksum;
    return this.#size;
  }

  #frame(): void {
    const bytes = this.#bytes;
    const descriptor = this.#position;
    this.#skip(2);
    const flags = bytes[descriptor]!;
    const blockSizeCode = (bytes[descriptor + 1]! >>> 4) & 7;
    const hasDictionary = (flags & 0x01) !== 0;
    const hasContentChecksum = (flags & 0x04) !== 0;
    const hasContentSize = (flags & 0x08) !== 0;
    const hasBlockChecksums = (flags & 0x10) !== 0;
    const isLinked = (flags & 0x20) === 0;
    if (flags >>> 6 !== 1 || (flags & 0x02) !== 0 || (bytes[descriptor + 1]! & 0x8f) !== 0 || blockSizeCode < 4) {
      throw corruptCompression("lz4", "the frame's version or flags are unknown");
    }
    if (hasDictionary) throw corruptCompression("lz4", "a dictionary is needed");
    let contentSize = -1;
    if (hasContentSize) {
      const low = this.#int32() >>> 0;
      contentSize = (this.#int32() >>> 0) * 4294967296 + low;
      if (contentSize > this.#limit - this.#size) throw decompressionLimit("lz4", this.#limit);
    }
    this.#checkHeader(descriptor);

    const into = this.#into;
    const start = this.#size;
    const blockSize = 1 << (8 + 2 * blockSizeCode);
    for (let length = this.#int32(); length !== 0; length = this.#int32()) {
      const isStored = length < 0;
      const from = this.#position;
      this.#skip(length & LENGTH_BITS);
      const end = this.#position;
      if (hasBlockChecksums) this.#verify(this.#int32(), bytes, from, end, "a block's checksum is wrong");
      const windowStart = isLinked ? Math.max(start, this.#size - WINDOW) : this.#size;
      if (into === undefined) this.#measure(from, end, isStored, windowStart, blockSize);
      else if (isStored) {
        into.set(bytes.subarray(from, end), this.#size);
        this.#size += end - from;
      } else this.#size = this.#inflate(from, end, into, windowStart, blockSize);
    }
    if (contentSize >= 0 && this.#size - start !== contentSize) {
      throw corruptCompression("lz4", `${this.#size - start} bytes in a frame of ${contentSize}`);
    }
    if (hasContentChecksum) {
      const content = into ?? this.#kernel?.memory ?? bytes;
      this.#verify(this.#int32(), content, start, this.#size, "the content's checksum is wrong");
    }
  }

  #verify(checksum: number, bytes: Uint8Array, start: number, end: number, message: string): void {
    const isMeasuring = this.#into === undefined;
    if (isMeasuring && !this.isInKernel || checksum === (xxhash32(bytes, start, end) | 0)) return;
    const error = corruptCompression("lz4", message);
    if (!isMeasuring) throw error;
    this.#wrongChecksum ??= error;
  }

  #measure(from: number, end: number, isStored: boolean, windowStart: number, blockSize: number): void {
    const bytes = this.#bytes;
    let size = -1;
    if (this.isInKernel) {
      const position = this.#size;
      const limit = Math.min(position + blockSize, this.#limit, KERNEL_ROOM);
      if (!isStored) size = this.#kernel!.inflate(bytes, from, end, position, limit, windowStart) - position;
      else if (end - from <= limit - position) {
        this.#kernel!.memory.set(bytes.subarray(from, end), position);
        size = end - from;
      }
    }
    if (size < 0) {
      // Too much of it, or damaged, of which the plain code tells.
      this.isInKernel = false;
      size = isStored ? end - from : sizeOfLz4Block(bytes, from, end);
    }
    if (size > this.#limit - this.#size) throw decompressionLimit("lz4", this.#limit);
    if (size > blockSize) {
      throw corruptCompression("lz4", `a block of ${size} bytes, of which ${blockSize} are allowed`);
    }
    this.#size += size;
  }

  /** Inflates a block behind what is there; answers the end. */
  #inflate(from: number, end: number, into: Uint8Array, windowStart: number, blockSize: number): number {
    const size = this.#size;
    const window = size - windowStart;
    // Putting the window before a tiny block would take longer than inflating it.
    if (this.#kernel !== null && window <= 64 * (end - from)) {
      const { memory } = this.#kernel;
      if (window > 0) memory.set(into.subarray(windowStart, size));
      const inflated = this.#kernel.inflate(this.#bytes, from, end, window, window + blockSize, 0);
      if (inflated >= 0) {
        into.set(memory.subarray(window, inflated), size);
        return size + inflated - window;
      }
    }
    return decompressLz4Block(this.#bytes, from, end, into, size, windowStart);
  }

  #checkHeader(descriptor: number): void {
    const end = this.#position;
    this.#skip(1);
    const wanted = this.#bytes[end]!;
    const bytes = this.#bytes;
    // Kafka before 0.10 took the magic into the checksum; such frames are still in old logs.
    const isRight = wanted === ((xxhash32(bytes, descriptor, end) >>> 8) & 0xff) ||
      wanted === ((xxhash32(bytes, descriptor - 4, end) >>> 8) & 0xff);
    if (!isRight) throw corruptCompression("lz4", "the header's checksum is wrong");
  }

  #skip(size: number): void {
    if (size > this.#bytes.length - this.#position) throw corruptCompression("lz4", "cut short");
    // JavaScriptCore would take it for a fraction from now on, and be three times as slow in the blocks.
    this.#position = (this.#position + size) | 0;
  }

  #int32(): number {
    const at = this.#position;
    this.#skip(4);
    return this.#view.getInt32(at, true);
  }
}
