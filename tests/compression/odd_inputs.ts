/**
 * Compressed bytes that are legal but rare, or not quite legal, put together by hand so that they are the same in every run. What
 * Kafka's own classes make of them stands in `tests/vectors/codecs.json.gz` (`tools/verify_codecs.ts`).
 */

import { crc32 } from "../../src/hash/crc32.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { compressibleBytes, randomBytes, seeded } from "../helpers/seeded.ts";

/** A codec's name. */
export type CodecName = "gzip" | "snappy" | "lz4" | "zstd";

/** One input. */
export interface OddInput {
  readonly codec: CodecName;
  readonly name: string;
  /** The format of the message it stands in: 0 means another LZ4 header checksum. */
  readonly magic: number;
  readonly bytes: Uint8Array;
}

type Bytes = Uint8Array | readonly number[];

/** `parts` in a row. */
export function join(...parts: Bytes[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function little(value: number, bytes = 4): number[] {
  return Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** i) & 255);
}

function big(value: number): number[] {
  return little(value).reverse();
}

function changed(bytes: Uint8Array, at: number, xor = 1): Uint8Array {
  const copy = bytes.slice();
  copy[at < 0 ? bytes.length + at : at]! ^= xor;
  return copy;
}

/** The contents that writers are tried with. */
export function contents(): Readonly<Record<string, Uint8Array>> {
  return {
    nothing: new Uint8Array(0),
    "one byte": Uint8Array.of(65),
    numbers: ascii(Array.from({ length: 300 }, (_, i) => i + 1).join("\n")),
    text: compressibleBytes(seeded(101), 20_000),
    "just a snappy chunk": compressibleBytes(seeded(102), 32_768),
    "just an LZ4 block": compressibleBytes(seeded(103), 65_536),
    "an LZ4 block and a byte": compressibleBytes(seeded(104), 65_537),
    noise: randomBytes(seeded(105), 70_000),
    zeros: new Uint8Array(300_000),
  };
}

// ---- gzip

interface GzipOptions {
  readonly flags?: number;
  readonly fields?: Bytes;
  readonly method?: number;
}

/** A member with its content stored. */
function member(content: Uint8Array, { flags = 0, fields = [], method = 8 }: GzipOptions = {}): Uint8Array {
  return join(
    [0x1f, 0x8b, method, flags, 0, 0, 0, 0, 0, 0xff],
    fields,
    [1, ...little(content.length, 2), ...little(~content.length & 0xffff, 2)],
    content,
    little(crc32(content)),
    little(content.length),
  );
}

function headerChecksum(flags: number): number[] {
  return little(crc32(Uint8Array.of(0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 0xff)) & 0xffff, 2);
}

function gzipInputs(): Record<string, Uint8Array> {
  const [a, b] = [member(ascii("hello, ")), member(ascii("world"))];
  return {
    "nothing at all": new Uint8Array(0),
    "one member": a,
    "case 019: two members": join(a, b),
    "an empty member between two": join(a, member(new Uint8Array(0)), b),
    "a hundred members": join(...Array.from({ length: 100 }, (_, i) => member(ascii(`${i},`)))),
    "case 019: three bytes behind": join(a, [1, 2, 3]),
    "case 019: eight zeros behind": join(a, new Uint8Array(8)),
    "zeros, then a member": join(a, new Uint8Array(8), b),
    "100 bytes behind": join(a, new Uint8Array(100).fill(255)),
    "30 bytes of noise behind": join(a, randomBytes(seeded(1), 30)),
    "the first byte of a member behind": join(a, [0x1f]),
    "two bytes of a member behind": join(a, [0x1f, 0x8b]),
    "three bytes of a member behind": join(a, [0x1f, 0x8b, 8]),
    "all but a byte of a header behind": join(a, b.subarray(0, 9)),
    "a header behind": join(a, b.subarray(0, 10)),
    "a header and a byte behind": join(a, b.subarray(0, 11)),
    "a second member without its trailer": join(a, b.subarray(0, -8)),
    "a second member without its last byte": join(a, b.subarray(0, -1)),
    "a second member with a wrong checksum": join(a, changed(b, -8)),
    "a second member with a wrong length": join(a, changed(b, -4)),
    "a second member of another method": join(a, member(ascii("world"), { method: 7 })),
    "a second member with a reserved flag": join(a, member(ascii("world"), { flags: 0x20 })),
    "a second member with a wrong header checksum": join(
      a,
      member(ascii("world"), { flags: 2, fields: [0, 0] }),
      new Uint8Array(30),
    ),
    "a second member with a name that does not end": join(a, [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0xff], ascii("name")),
    "a wrong checksum": changed(a, -8),
    "a wrong length": changed(a, -4),
    "a wrong checksum, and bytes behind": join(changed(a, -8), new Uint8Array(20)),
    "case 019: without its last four bytes": a.subarray(0, -4),
    "without its trailer": a.subarray(0, -8),
    "cut in the content": a.subarray(0, -10),
    "cut in the header": a.subarray(0, 7),
    "an extra field, a name and a comment": member(ascii("hello"), {
      flags: 0x1c,
      fields: join([3, 0, 9, 9, 9], ascii("name\0comment\0")),
    }),
    "a header checksum": member(ascii("hello"), { flags: 2, fields: headerChecksum(2) }),
    "a wrong header checksum": member(ascii("hello"), { flags: 2, fields: [0, 0] }),
    "a reserved flag": member(ascii("hello"), { flags: 0x20 }),
    "another method": member(ascii("hello"), { method: 7 }),
    "no gzip": ascii("this is no gzip\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    "a stored block whose lengths disagree": changed(a, 13),
  };
}

// ---- snappy

const SNAPPY_HEADER = join([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0], big(1), big(1));

/** A raw block of one literal. */
function block(content: Uint8Array): Uint8Array {
  return content.length === 0 ? Uint8Array.of(0) : join([content.length, (content.length - 1) << 2], content);
}

function chunk(raw: Bytes): Uint8Array {
  return join(big(raw.length), raw);
}

function snappyInputs(): Record<string, Uint8Array> {
  const [a, b] = [block(ascii("hello, ")), block(ascii("world"))];
  const header = (version: Bytes, compatible: Bytes) => join(SNAPPY_HEADER.subarray(0, 8), version, compatible);
  return {
    "nothing at all": new Uint8Array(0),
    "case 040: a raw block": a,
    "case 040: one chunk": join(SNAPPY_HEADER, chunk(a)),
    "case 040: two chunks": join(SNAPPY_HEADER, chunk(a), chunk(b)),
    "case 040: little-endian versions": join(header(little(1), little(1)), chunk(a)),
    "version 0": join(header(big(0), big(0)), chunk(a)),
    "version −1": join(header(big(2 ** 32 - 1), big(1)), chunk(a)),
    "a header only": SNAPPY_HEADER,
    "a cut header": SNAPPY_HEADER.subarray(0, 12),
    "the magic only": SNAPPY_HEADER.subarray(0, 8),
    "a chunk of an empty block": join(SNAPPY_HEADER, chunk([0])),
    "an empty block between two": join(SNAPPY_HEADER, chunk(a), chunk([0]), chunk(b)),
    "an empty raw block": Uint8Array.of(0),
    "case 089: an empty chunk first": join(SNAPPY_HEADER, big(0), chunk(a)),
    "an empty chunk last": join(SNAPPY_HEADER, chunk(a), big(0)),
    "case 089: a chunk of −1 bytes": join(SNAPPY_HEADER, big(2 ** 32 - 1)),
    "a chunk longer than what is there": join(SNAPPY_HEADER, big(a.length + 1), a),
    "a chunk's length cut": join(SNAPPY_HEADER, chunk(a), [0, 0, 0]),
    "two streams": join(SNAPPY_HEADER, chunk(a), SNAPPY_HEADER, chunk(b)),
    "case 089: a block that claims 4 GiB": Uint8Array.of(255, 255, 255, 255, 15, 0, 97),
    "a chunk that claims 4 GiB": join(SNAPPY_HEADER, chunk([255, 255, 255, 255, 15, 0, 97])),
    "a block that claims 2 GiB": Uint8Array.of(255, 255, 255, 255, 7, 0, 97),
    "case 089: fifteen bytes": join([0, 4, 0, 0], ascii("dNlqy world")),
    "a length of six bytes": Uint8Array.of(0x81, 0x80, 0x80, 0x80, 0x80, 0, 0, 97),
    "a length of five bytes for one": Uint8Array.of(0x81, 0x80, 0x80, 0x80, 0, 0, 97),
    "a block that declares too little": join([a.length - 3], a.subarray(1)),
    "a block that declares too much": join([a.length + 3], a.subarray(1)),
    "a byte behind a raw block": join(a, [0]),
    "every kind of copy": join([10], [0, 65], [0x01, 1], [0x0a, 1, 0], [0x07, 1, 0, 0, 0]),
    "a copy from before the begin": Uint8Array.of(5, 0, 65, 0x01, 2),
    "a copy of distance 0": Uint8Array.of(5, 0, 65, 0x01, 0),
    "a copy of distance 2^31": Uint8Array.of(2, 0, 65, 0x03, 0, 0, 0, 0x80),
    "a literal's length in two bytes": join([0xac, 0x02], [61 << 2, 0x2b, 0x01], new Uint8Array(300).fill(66)),
    "a literal's length in four bytes": join([0xac, 0x02], [63 << 2, 0x2b, 1, 0, 0], new Uint8Array(300).fill(66)),
    "a literal of 4 GiB": Uint8Array.of(5, 63 << 2, 255, 255, 255, 255, 65),
    "a copy across chunks": join(SNAPPY_HEADER, chunk(a), chunk([4, 0x01, 4])),
  };
}

// ---- LZ4

interface Lz4Options {
  readonly flags?: number;
  readonly blockSizeCode?: number;
  readonly fields?: Bytes;
  /** Whether the header's checksum covers the magic, as Kafka before 0.10 had it. */
  readonly isLegacy?: boolean;
  /** What stands behind the blocks; 0 as an end mark unless told. */
  readonly end?: Bytes;
}

const LZ4_MAGIC = [0x04, 0x22, 0x4d, 0x18];

function frame(blocks: readonly Bytes[], options: Lz4Options = {}): Uint8Array {
  const { flags = 0x60, blockSizeCode = 4, fields = [], isLegacy = false, end = little(0) } = options;
  const descriptor = join([flags, blockSizeCode << 4], fields);
  const checksum = xxhash32(isLegacy ? join(LZ4_MAGIC, descriptor) : descriptor);
  return join(LZ4_MAGIC, descriptor, [(checksum >>> 8) & 255], ...blocks, end);
}

function stored(content: Uint8Array): Uint8Array {
  return join(little(content.length + 0x80000000), content);
}

function packed(raw: Bytes): Uint8Array {
  return join(little(raw.length), raw);
}

function checked(blockBytes: Uint8Array): Uint8Array {
  return join(blockBytes, little(xxhash32(blockBytes, 4)));
}

function lz4Inputs(): Record<string, Uint8Array> {
  const [a, b] = [ascii("hello, "), ascii("world")];
  const skippable = join(little(0x184d2a53), little(5), [1, 2, 3, 4, 5]);
  // A literal "ab", a match of 10 bytes 2 back, the literals "cdefg".
  const matching = [0x26, 97, 98, 2, 0, 0x50, 99, 100, 101, 102, 103];
  // A match of 8 bytes 7 back, into what the block before gave, and five literals.
  const linked = [0x04, 7, 0, 0x50, 99, 100, 101, 102, 103];
  const ab = join(a, b);
  return {
    "nothing at all": new Uint8Array(0),
    "case 091: a stored block": frame([stored(a)]),
    "a block with a match": frame([packed(matching)]),
    "two blocks": frame([stored(a), packed(matching)]),
    "case 091: linked blocks, stored": frame([stored(a), stored(b)], { flags: 0x40 }),
    "linked blocks": frame([stored(a), packed(linked)], { flags: 0x40 }),
    "a match out of an independent block": frame([stored(a), packed(linked)]),
    "no block": frame([]),
    "an empty stored block": frame([little(0x80000000), stored(a)]),
    "case 091: content size": frame([stored(a)], { flags: 0x68, fields: little(a.length, 8) }),
    "content size too large": frame([stored(a)], { flags: 0x68, fields: little(a.length + 1, 8) }),
    "content size too small": frame([stored(a)], { flags: 0x68, fields: little(a.length - 1, 8) }),
    "case 091: content checksum": frame([stored(a)], { flags: 0x64, end: join(little(0), little(xxhash32(a))) }),
    "case 091: a wrong content checksum": frame([stored(a)], {
      flags: 0x64,
      end: join(little(0), little(xxhash32(a) ^ 1)),
    }),
    "content checksum over two blocks": frame([stored(a), stored(b)], {
      flags: 0x64,
      end: join(little(0), little(xxhash32(ab))),
    }),
    "content checksum cut": frame([stored(a)], { flags: 0x64, end: little(0) }),
    "block checksums": frame([checked(stored(a)), checked(packed(matching))], { flags: 0x70 }),
    "a wrong block checksum": frame([checked(stored(a)), changed(checked(packed(matching)), -1)], { flags: 0x70 }),
    "case 091: no end mark": frame([stored(a)], { end: [] }),
    "case 091: two frames": join(frame([stored(a)]), frame([stored(b)])),
    "a skippable frame first": join(skippable, frame([stored(a)])),
    "a skippable frame last": join(frame([stored(a)]), skippable),
    "a skippable frame between two": join(frame([stored(a)]), skippable, frame([stored(b)])),
    "three bytes behind": join(frame([stored(a)]), [1, 2, 3]),
    "ten bytes behind": join(frame([stored(a)]), randomBytes(seeded(2), 10)),
    "a wrong header checksum": changed(frame([stored(a)]), 6),
    "the old header checksum": frame([stored(a)], { isLegacy: true }),
    "blocks of 256 KiB": frame([stored(a)], { blockSizeCode: 5 }),
    "blocks of 1 MiB": frame([stored(a)], { blockSizeCode: 6 }),
    "blocks of 4 MiB": frame([stored(a)], { blockSizeCode: 7 }),
    "a block size that is none": frame([stored(a)], { blockSizeCode: 3 }),
    "a reserved bit in the block size": frame([stored(a)], { blockSizeCode: 12 }),
    "version 2": frame([stored(a)], { flags: 0xa0 }),
    "a reserved flag": frame([stored(a)], { flags: 0x62 }),
    "a dictionary": frame([stored(a)], { flags: 0x61, fields: little(7) }),
    "a stored block beyond the block size": frame([stored(new Uint8Array(65_537))]),
    "a block that inflates beyond the block size": frame([
      packed(join([0x1f, 0, 1, 0], new Uint8Array(258).fill(255), [0, 0x50, 1, 2, 3, 4, 5])),
    ]),
    "a block cut in its literals": frame([packed([0x50, 97, 98])]),
    "a match of distance 0": frame([packed([0x26, 97, 98, 0, 0, 0x50, 99, 100, 101, 102, 103])]),
    "a match from before the begin": frame([packed([0x26, 97, 98, 3, 0, 0x50, 99, 100, 101, 102, 103])]),
    "a match at the very end": frame([packed([0x26, 97, 98, 2, 0])]),
    "a block, no frame": Uint8Array.from(matching),
    "cut in the header": frame([stored(a)]).subarray(0, 6),
    "cut in a block": frame([stored(a)]).subarray(0, 13),
  };
}

// ---- zstd

const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
const [RAW, RLE] = [0, 1];

function zstdBlock(type: number, size: number, content: Bytes, isLast = true): Uint8Array {
  return join(little(size * 8 + type * 2 + (isLast ? 1 : 0), 3), content);
}

function zstdInputs(): Record<string, Uint8Array> {
  const [a, b] = [ascii("hello, "), ascii("world")];
  const zstdFrame = (header: readonly number[], ...blocks: Bytes[]) => join(ZSTD_MAGIC, header, ...blocks);
  const window = [0x00, 0x38]; // no content size, a window of 128 KiB
  const first = zstdFrame(window, zstdBlock(RAW, a.length, a));
  const second = zstdFrame(window, zstdBlock(RAW, b.length, b));
  const skippable = join(little(0x184d2a57), little(5), [1, 2, 3, 4, 5]);
  return {
    "nothing at all": new Uint8Array(0),
    "a raw block": first,
    "two blocks": zstdFrame(window, zstdBlock(RAW, a.length, a, false), zstdBlock(RLE, 1000, [65])),
    "an empty block": zstdFrame(window, zstdBlock(RAW, 0, [])),
    "content size": zstdFrame([0x20, a.length], zstdBlock(RAW, a.length, a)),
    "content size too large": zstdFrame([0x20, a.length + 1], zstdBlock(RAW, a.length, a)),
    "content size too small": zstdFrame([0x20, a.length - 1], zstdBlock(RAW, a.length, a)),
    "content size 2^60": zstdFrame([0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10], zstdBlock(RAW, 0, [])),
    "two frames": join(first, second),
    "a skippable frame first": join(skippable, first),
    "a skippable frame last": join(first, skippable),
    "a skippable frame between two": join(first, skippable, second),
    "a skippable frame only": skippable,
    "three bytes behind": join(first, [1, 2, 3]),
    "ten bytes behind": join(first, randomBytes(seeded(3), 10)),
    "cut in the second frame": join(first, second.subarray(0, -1)),
    "cut in the block": first.subarray(0, -1),
    "cut in the header": first.subarray(0, 5),
    "a checksum that is wrong": zstdFrame([0x04, 0x38], zstdBlock(RAW, a.length, a), little(1)),
    "a dictionary": zstdFrame([0x03, 0x38, 1, 2, 3, 4], zstdBlock(RAW, a.length, a)),
    "a dictionary with number 0": zstdFrame([0x01, 0x38, 0], zstdBlock(RAW, a.length, a)),
    "a reserved bit": zstdFrame([0x08, 0x38], zstdBlock(RAW, a.length, a)),
    "an unused bit": zstdFrame([0x10, 0x38], zstdBlock(RAW, a.length, a)),
    "a window of 128 MiB": zstdFrame([0x00, 0x88], zstdBlock(RAW, a.length, a)),
    "a window of 256 MiB": zstdFrame([0x00, 0x90], zstdBlock(RAW, a.length, a)),
    "a reserved block type": zstdFrame(window, zstdBlock(3, a.length, a)),
    "a raw block beyond 128 KiB": zstdFrame([0x00, 0x58], zstdBlock(RAW, 131_073, new Uint8Array(131_073))),
    "an RLE block beyond 128 KiB": zstdFrame([0x00, 0x58], zstdBlock(RLE, 131_073, [65])),
    "an RLE block beyond the window": zstdFrame([0x00, 0x00], zstdBlock(RLE, 2000, [65])),
    "a compressed block of nothing": zstdFrame(window, zstdBlock(2, 0, [])),
    "a compressed block of zeros": zstdFrame(window, zstdBlock(2, 10, new Uint8Array(10))),
  };
}

/** All of them. */
export function oddInputs(): OddInput[] {
  const list: OddInput[] = [];
  const inputs = { gzip: gzipInputs(), snappy: snappyInputs(), lz4: lz4Inputs(), zstd: zstdInputs() };
  for (const [codec, named] of Object.entries(inputs) as [CodecName, Record<string, Uint8Array>][]) {
    for (const [name, bytes] of Object.entries(named)) list.push({ codec, name, magic: 2, bytes });
  }
  for (const name of ["case 091: a stored block", "the old header checksum", "a wrong header checksum"]) {
    list.push({ codec: "lz4", name, magic: 0, bytes: inputs.lz4[name]! });
  }
  return list;
}
