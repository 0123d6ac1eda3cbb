/**
 * Few bytes that inflate to very many, put together so that making them takes no memory either.
 */

import { crc32 } from "../../src/hash/crc32.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { rawBatch, rawMessage } from "../helpers/raw_batch.ts";
import type { CodecName } from "./odd_inputs.ts";
import { join } from "./odd_inputs.ts";

/** A bomb. */
export interface Bomb {
  readonly codec: CodecName;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Bytes it inflates to. */
  readonly size: number;
  /** Whether it says its size, or its blocks do, so that no memory need be taken to see that it is too large. */
  readonly isHonest: boolean;
}

const MB = 1_000_000;
const ZEROS = new Uint8Array(65_536);

function little(value: number, bytes = 4): number[] {
  return Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) & 255);
}

/**
 * A gzip member of zeros: one block whose code has a bit for "258 bytes, as before" and a bit for their distance of 1, so that
 * a byte of zeros stands for 1032 of them. That is the most that the format can do.
 */
function gzipBomb(size: number, claimedSize: number | undefined): Uint8Array {
  const bits: number[] = [];
  const put = (value: number, count: number) => {
    for (let i = 0; i < count; i++) bits.push(value >> i & 1);
  };
  const code = (...word: number[]) => bits.push(...word);
  put(1, 1); // the last block,
  put(2, 2); // with a code of its own:
  put(286 - 257, 5);
  put(0, 5);
  put(18 - 4, 4);
  // The lengths of the codes by which code lengths are written: 18 (a run of zeros) has one bit, 2 and 1 have two.
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];
  for (const symbol of order) put(symbol === 18 ? 1 : symbol === 1 || symbol === 2 ? 2 : 0, 3);
  const [one, two, run] = [[1, 0], [1, 1], [0]];
  const zeros = (count: number) => {
    code(...run);
    put(count - 11, 7);
  };
  code(...two); // the literal 0: two bits
  zeros(138);
  zeros(117);
  code(...two); // the end of the block: two bits
  zeros(28);
  code(...one); // a match of 258 bytes: one bit
  code(...one); // a distance of 1: one bit
  code(1, 0); // the literal 0; matches follow, all of them zero bits
  const padding = (8 - bits.length % 8) % 8;
  bits.push(...Array.from({ length: padding }, () => 0));
  const head = Array.from({ length: bits.length / 8 }, (_, byte) => {
    return bits.slice(byte * 8, byte * 8 + 8).reduce((sum, bit, i) => sum | bit << i, 0);
  });
  const zeroBytes = Math.floor(size / 1032);
  const inflated = 1 + (Math.ceil(padding / 2) + zeroBytes * 4) * 258;
  const end = padding % 2 === 0 ? 3 : 6; // the code of the block's end, behind the second bit of a match
  // Nobody gets as far as the checksum, but the test of this builder, at a small size.
  let checksum = 0;
  if (size < 20 * MB) {
    for (let left = inflated; left > 0; left -= 65_536) checksum = crc32(ZEROS.subarray(0, left), checksum);
  }
  return join(
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff],
    head,
    new Uint8Array(zeroBytes),
    [end],
    little(checksum),
    little(claimedSize ?? inflated % 2 ** 32),
  );
}

/** Independent blocks of up to 4 MiB: a literal and a match of distance 1, whose length takes a byte for each 255. */
function lz4Bomb(packedSize: number, claimedSize?: number): { bytes: Uint8Array; size: number } {
  const lengths = 16_440;
  const block = join([0x1f, 0, 1, 0], new Uint8Array(lengths).fill(255), [0, 0x50, 1, 2, 3, 4, 5]);
  const framed = join(little(block.length), block);
  const count = Math.floor(packedSize / framed.length);
  const descriptor = Uint8Array.from([0x60 | (claimedSize === undefined ? 0 : 8), 0x70, ...little(claimedSize ?? 0, 8)])
    .subarray(0, claimedSize === undefined ? 2 : 10);
  const bytes = new Uint8Array(4 + descriptor.length + 1 + count * framed.length + 4);
  bytes.set([0x04, 0x22, 0x4d, 0x18, ...descriptor, (xxhash32(descriptor) >>> 8) & 255]);
  for (let i = 0; i < count; i++) bytes.set(framed, 4 + descriptor.length + 1 + i * framed.length);
  return { bytes, size: count * (1 + 4 + 15 + lengths * 255 + 5) };
}

/** A raw block: a literal, and copies of 64 bytes from one byte before; three bytes each, so at most 21 times as much. */
function snappyBlock(packedSize: number): { bytes: Uint8Array; size: number } {
  const copies = Math.floor((packedSize - 7) / 3);
  const size = 1 + copies * 64;
  const length = Array.from({ length: 5 }, (_, i) => Math.floor(size / 128 ** i) & 127 | (i < 4 ? 128 : 0));
  const bytes = new Uint8Array(7 + copies * 3);
  bytes.set([...length, 0, 65]);
  for (let i = 0; i < copies; i++) bytes.set([63 << 2 | 2, 1, 0], 7 + i * 3);
  return { bytes, size };
}

function snappyChunks(packedSize: number): { bytes: Uint8Array; size: number } {
  const block = snappyBlock(10_000);
  const count = Math.floor(packedSize / (block.bytes.length + 4));
  const chunk = join(little(block.bytes.length).reverse(), block.bytes);
  const header = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1];
  return { bytes: join(header, ...Array.from({ length: count }, () => chunk)), size: count * block.size };
}

/** Blocks that each say "131,072 times this byte". */
function zstdRle(packedSize: number): { bytes: Uint8Array; size: number } {
  const count = Math.floor((packedSize - 6) / 4);
  const bytes = new Uint8Array(6 + count * 4);
  bytes.set([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]);
  for (let i = 0; i < count; i++) bytes.set([i === count - 1 ? 3 : 2, 0, 0x10, 0], 6 + i * 4);
  return { bytes, size: count * 131_072 };
}

/**
 * Compressed blocks of which nothing but inflating tells that each is 131,072 bytes: one literal by run length, one sequence of
 * literal length 1, match length 131,071 and offset 1 (the repeated one), all codes in RLE mode.
 */
function zstdCompressed(packedSize: number): { bytes: Uint8Array; size: number } {
  // Literals: RLE, one byte of them. Sequences: one; modes RLE for all three: literal length code 1, offset code 0 (which
  // with one literal means the first repeated offset: 1), match length code 52 (65,539 and 16 bits more).
  const literals = [1 << 3 | 1, 65];
  const sequences = [1, 0x54, 1, 0, 52];
  // Bit stream, read backwards: 16 bits of match length, then the end mark.
  const matchBits = 131_071 - 65_539;
  const stream = [matchBits & 255, matchBits >> 8, 1];
  const block = [...literals, ...sequences, ...stream];
  const header = (isLast: boolean) => little(block.length * 8 + 2 * 2 + (isLast ? 1 : 0), 3);
  const count = Math.floor((packedSize - 6) / (block.length + 3));
  const bytes = new Uint8Array(6 + count * (block.length + 3));
  bytes.set([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]);
  for (let i = 0; i < count; i++) bytes.set([...header(i === count - 1), ...block], 6 + i * (block.length + 3));
  return { bytes, size: count * 131_072 };
}

/** All of them, made when they are asked for; in the small size, to try whether each is what it says. */
export function bombs(scale = 1): readonly (() => Bomb)[] {
  const mb = MB * scale;
  const gzip = (name: string, size: number, claimedSize?: number) => (): Bomb => ({
    ...{ codec: "gzip", name, size, isHonest: claimedSize === undefined },
    bytes: gzipBomb(size, claimedSize),
  });
  const honest = (codec: CodecName, name: string, make: () => Pick<Bomb, "bytes" | "size">) => (): Bomb => ({
    ...{ codec, name, isHonest: true },
    ...make(),
  });
  return [
    // A thousandfold is this format's most: 1 GB from 1 MB, and 10 GB from 10.
    gzip("1 MB to 1 GB", 1032 * mb),
    gzip("10 MB to 10 GB", 10_320 * mb),
    gzip("1 MB to 1 GB, which it denies", 1032 * mb, 1000),
    // 21 times is the most.
    honest("snappy", "1 MB to 21 MB", () => snappyBlock(mb)),
    honest("snappy", "100 chunks, 1 MB to 21 MB", () => snappyChunks(mb)),
    // 255 times is the most.
    honest("lz4", "1 MB to 255 MB", () => lz4Bomb(mb)),
    honest("lz4", "40 MB to 10 GB", () => lz4Bomb(40 * mb)),
    honest("lz4", "1 MB that claims 10 GB", () => lz4Bomb(mb, 10_000 * MB)),
    honest("zstd", "1 MB to 33 GB", () => zstdRle(mb)),
    () => ({ codec: "zstd", name: "1 MB to 10 GB, which no header tells", isHonest: false, ...zstdCompressed(mb) }),
  ];
}

const NUMBERS = { gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/** A v2 batch whose records are `bomb`. */
export function bombBatch({ bytes, codec }: Bomb, recordCount = 1): Uint8Array {
  return rawBatch({ attributes: NUMBERS[codec], records: bytes, recordCount });
}

/** A message of format 0 or 1 that wraps `bomb`. */
export function bombMessage({ bytes, codec }: Bomb, magic: 0 | 1): Uint8Array {
  return rawMessage({ magic, attributes: NUMBERS[codec], value: bytes });
}
