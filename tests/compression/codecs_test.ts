import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import type { Codec } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { CompressionError } from "../../src/core/kafka_error.ts";
import { crc32 } from "../../src/hash/crc32.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { compressibleBytes, randomBytes, seeded } from "../helpers/seeded.ts";
import { VECTORS } from "./vectors.ts";

const native = nativeCodecs();

/** Every implementation at hand; Node.js 20 has no zstd. */
const CODECS: readonly { name: keyof typeof native; kind: "plain" | "native"; codec: Codec }[] = [
  { name: "gzip", kind: "plain", codec: plainCodecs.gzip! },
  { name: "snappy", kind: "plain", codec: plainCodecs.snappy! },
  { name: "lz4", kind: "plain", codec: plainCodecs.lz4! },
  { name: "gzip", kind: "native", codec: native.gzip! },
  ...(native.zstd === undefined ? [] : [{ name: "zstd" as const, kind: "native" as const, codec: native.zstd }]),
];

const MiB = 1024 * 1024;

function isCorrupt(error: unknown): boolean {
  return error instanceof CompressionError && error.code === "CORRUPT_COMPRESSION";
}

function isPastLimit(error: unknown): boolean {
  return error instanceof CompressionError && error.code === "DECOMPRESSION_LIMIT";
}

/** What became of an input: its content, or the code of our error. Anything else is a failure of the test. */
function outcome(codec: Codec, bytes: Uint8Array, limit: number): Uint8Array | string {
  try {
    const content = codec.decompress(bytes, limit);
    assert.ok(content.length <= limit, "more than the limit");
    return content;
  } catch (error) {
    if (error instanceof CompressionError) return error.code;
    throw error;
  }
}

function join(...parts: (Uint8Array | readonly number[])[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

for (const { name, kind, codec } of CODECS) {
  describe(`${name}, ${kind}`, () => {
    for (const vector of VECTORS.filter((vector) => vector.codec === name)) {
      test(`reads what another program wrote: ${vector.name}`, () => {
        assert.deepEqual(codec.decompress(vector.bytes, vector.content.length), vector.content);
      });
    }

    test("gives back what it took, and no Buffer", () => {
      const random = seeded(3);
      for (let i = 0; i < 45; i++) {
        const size = i < 20 ? i : Math.floor(random() ** 3 * 200_000);
        const content = i % 3 === 0 ? randomBytes(random, size) : compressibleBytes(random, size);
        const packed = codec.compress(content);
        assert.equal(Object.getPrototypeOf(packed), Uint8Array.prototype);
        const inflated = codec.decompress(packed, size);
        assert.equal(Object.getPrototypeOf(inflated), Uint8Array.prototype);
        assert.deepEqual(inflated, content, `${size} bytes`);
      }
    });

    test("makes text smaller", () => {
      const content = compressibleBytes(seeded(4), 100_000);
      const { length } = codec.compress(content);
      assert.ok(length < 60_000, `${length} bytes`);
    });

    test("takes exactly the limit and refuses one byte less", () => {
      const content = compressibleBytes(seeded(5), 70_000);
      const packed = codec.compress(content);
      assert.equal(codec.decompress(packed, content.length).length, content.length);
      for (const limit of [content.length - 1, 1000, 1, 0]) {
        assert.throws(() => codec.decompress(packed, limit), isPastLimit, `limit ${limit}`);
      }
      assert.equal(codec.decompress(codec.compress(new Uint8Array(0)), 0).length, 0);
    });

    test("reads a view in the middle of a larger buffer", () => {
      const content = compressibleBytes(seeded(6), 5000);
      const packed = codec.compress(content);
      const buffer = join([1, 2, 3], packed, [4, 5]);
      assert.deepEqual(codec.decompress(buffer.subarray(3, 3 + packed.length), 5000), content);
    });

    test("says of each truncation that it is damaged", () => {
      const packed = codec.compress(compressibleBytes(seeded(7), 700));
      // Snappy's framing has no end mark: where a chunk ends is an end, here after the header.
      const ends = name === "snappy" ? [16] : [];
      for (let length = 0; length < packed.length; length++) {
        if (ends.includes(length)) assert.equal(codec.decompress(packed.subarray(0, length), MiB).length, 0);
        else assert.throws(() => codec.decompress(packed.subarray(0, length), MiB), isCorrupt, `${length} bytes`);
      }
    });

    test("refuses what follows the end, but reads several streams one behind the other", () => {
      const content = compressibleBytes(seeded(8), 900);
      const packed = codec.compress(content);
      for (
        const garbage of [[0], [0, 0, 0, 0, 0], [1, 2, 3, 4], [0x1f, 0x8b], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], [255]]
      ) {
        assert.throws(() => codec.decompress(join(packed, garbage), MiB), isCorrupt, String(garbage));
      }
      const many = codec.decompress(join(packed, codec.compress(new Uint8Array(0)), packed, packed), MiB);
      assert.deepEqual(many, join(content, content, content));
      assert.throws(() => codec.decompress(join(packed, packed), content.length * 2 - 1), isPastLimit);
    });

    test("refuses empty input and other codecs' bytes", () => {
      assert.throws(() => codec.decompress(new Uint8Array(0), MiB), isCorrupt);
      for (const other of CODECS.filter((other) => other.name !== name)) {
        const packed = other.codec.compress(compressibleBytes(seeded(9), 300));
        assert.equal(outcome(codec, packed, MiB), "CORRUPT_COMPRESSION", other.name);
      }
    });

    test("answers bit flips with our error or a result within the limit, and works on", { timeout: 60_000 }, () => {
      const random = seeded(10);
      const content = compressibleBytes(random, 600);
      const packed = codec.compress(content);
      let refused = 0;
      for (let bit = 0; bit < packed.length * 8; bit++) {
        const damaged = packed.slice();
        damaged[bit >> 3]! ^= 1 << (bit & 7);
        const result = outcome(codec, damaged, 4096);
        if (typeof result === "string") refused++;
        // gzip has a checksum: what it lets pass is untouched content, the flip was in a field like the time.
        else if (name === "gzip") assert.deepEqual(result, content);
      }
      assert.ok(refused > 0);
      assert.deepEqual(codec.decompress(packed, 4096), content);
    });
  });
}

describe("levels", () => {
  test("a higher level makes it smaller, a level that is none is our error", () => {
    const content = compressibleBytes(seeded(11), 50_000);
    for (const { codec, kind, name } of CODECS.filter(({ name }) => name === "gzip" || name === "zstd")) {
      assert.ok(codec.compress(content, 9).length < codec.compress(content, 1).length, `${name}, ${kind}`);
      assert.deepEqual(codec.decompress(codec.compress(content, 9), MiB), content);
    }
    for (const codec of [plainCodecs.gzip!, native.gzip!]) {
      assert.throws(
        () => codec.compress(content, 77),
        (error) => error instanceof CompressionError && !isCorrupt(error),
      );
    }
  });

  test("gzip of both kinds reads the other's", () => {
    const content = compressibleBytes(seeded(12), 200_000);
    assert.deepEqual(plainCodecs.gzip!.decompress(native.gzip!.compress(content), MiB), content);
    assert.deepEqual(native.gzip!.decompress(plainCodecs.gzip!.compress(content), MiB), content);
  });

  test("the same content gives the same bytes, whatever the time", () => {
    const content = compressibleBytes(seeded(13), 1000);
    for (const { codec } of CODECS) assert.deepEqual(codec.compress(content), codec.compress(content));
    // The time in gzip's header stays 0.
    assert.deepEqual([...plainCodecs.gzip!.compress(content).subarray(4, 8)], [0, 0, 0, 0]);
  });
});

describe("hostile input", () => {
  /** Runs what must end in an error of `code`, quickly enough for the test's time and without taking much memory. */
  function refusedCheaply(codec: Codec, bytes: Uint8Array, limit: number, code: string): void {
    const before = process.memoryUsage().rss;
    assert.equal(outcome(codec, bytes, limit), code);
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 64 * MiB, `memory grew by ${Math.round(grown / MiB)} MiB`);
  }

  const gzipBomb = () => {
    const member = native.gzip!.compress(new Uint8Array(16 * MiB), 9);
    return join(...Array.from({ length: Math.floor(MiB / member.length) }, () => member));
  };

  test("a gzip bomb of 1 MB to 1 GB ends at the limit", { timeout: 30_000 }, () => {
    const bomb = gzipBomb();
    for (const { gzip } of [plainCodecs, native]) refusedCheaply(gzip!, bomb, MiB, "DECOMPRESSION_LIMIT");
  });

  test("a gzip member that claims 4 GB takes no memory for them", () => {
    const packed = native.gzip!.compress(compressibleBytes(seeded(14), 20_000));
    packed.fill(0xff, packed.length - 4);
    for (const { gzip } of [plainCodecs, native]) refusedCheaply(gzip!, packed, 4 * 1024 * MiB, "CORRUPT_COMPRESSION");
    packed.fill(0, packed.length - 4);
    packed[packed.length - 4] = 16;
    for (const { gzip } of [plainCodecs, native]) refusedCheaply(gzip!, packed, MiB, "CORRUPT_COMPRESSION");
  });

  test("a gzip member with a wrong checksum is refused", () => {
    const packed = native.gzip!.compress(compressibleBytes(seeded(15), 100));
    packed[packed.length - 5]! ^= 1;
    for (const { gzip } of [plainCodecs, native]) assert.throws(() => gzip!.decompress(packed, MiB), isCorrupt);
  });

  test("an LZ4 bomb of 1 MB to 255 MB ends at the limit", () => {
    // Independent blocks of 4 MiB: a literal, then a match of distance 1 and as long as 16 KiB of length bytes make it.
    const lengths = 16_400;
    const block = join([0x1f, 0, 1, 0], new Uint8Array(lengths).fill(255), [0, 0x10, 0]);
    const header = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73];
    const size = [block.length & 255, block.length >> 8, 0, 0];
    const bomb = join(header, ...Array.from({ length: 63 }, () => join(size, block)), [0, 0, 0, 0]);
    assert.equal((outcome(plainCodecs.lz4!, bomb, 300 * MiB) as Uint8Array).length, 63 * (1 + 19 + 255 * lengths + 1));
    refusedCheaply(plainCodecs.lz4!, bomb, MiB, "DECOMPRESSION_LIMIT");
  });

  test("an LZ4 frame that claims 2^60 bytes, or more than its blocks hold, is refused", () => {
    const claim = (...size: number[]) => {
      const descriptor = Uint8Array.of(0x68, 0x40, ...size);
      return join([0x04, 0x22, 0x4d, 0x18], descriptor, [(xxhash32(descriptor) >>> 8) & 255, 0, 0, 0, 0]);
    };
    refusedCheaply(plainCodecs.lz4!, claim(0, 0, 0, 0, 0, 0, 0, 0x10), MiB, "DECOMPRESSION_LIMIT");
    refusedCheaply(plainCodecs.lz4!, claim(5, 0, 0, 0, 0, 0, 0, 0), MiB, "CORRUPT_COMPRESSION");
    assert.equal(plainCodecs.lz4!.decompress(claim(0, 0, 0, 0, 0, 0, 0, 0), MiB).length, 0);
  });

  test("snappy bytes that claim 4 GB are refused, raw and framed", () => {
    const claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 65];
    refusedCheaply(plainCodecs.snappy!, Uint8Array.from(claim), 8 * 1024 * MiB, "CORRUPT_COMPRESSION");
    refusedCheaply(plainCodecs.snappy!, Uint8Array.from(claim), MiB, "CORRUPT_COMPRESSION");
    const header = plainCodecs.snappy!.compress(new Uint8Array(0));
    refusedCheaply(plainCodecs.snappy!, join(header, [0, 0, 0, 7], claim), MiB, "CORRUPT_COMPRESSION");
    refusedCheaply(plainCodecs.snappy!, join(header, [0x7f, 0xff, 0xff, 0xff], claim), MiB, "CORRUPT_COMPRESSION");
    refusedCheaply(plainCodecs.snappy!, join(header, [0xff, 0xff, 0xff, 0xff], claim), MiB, "CORRUPT_COMPRESSION");
  });

  test("snappy: copies from before the block's begin, or past its end, are refused", () => {
    // Length 4, then: a copy of distance 1 with nothing before; a literal of one byte and copies of distance 0 and 2.
    for (const elements of [[0x01, 1], [0, 65, 0x01, 0], [0, 65, 0x01, 2], [0, 65, 0x05, 1], [0x0c, 65, 65]]) {
      assert.throws(() => plainCodecs.snappy!.decompress(join([4], elements), MiB), isCorrupt, String(elements));
    }
    // Every kind of copy: 1 + 4 + 3 + 2 bytes of "A".
    const all = join([10], [0, 65], [0x01, 1], [0x0a, 1, 0], [0x07, 1, 0, 0, 0]);
    assert.equal(new TextDecoder().decode(plainCodecs.snappy!.decompress(all, MiB)), "AAAAAAAAAA");
    // A literal whose length takes two bytes.
    const literal = join([0xac, 0x02], [61 << 2, 0x2b, 0x01], new Uint8Array(300).fill(66));
    assert.deepEqual(plainCodecs.snappy!.decompress(literal, MiB), new Uint8Array(300).fill(66));
  });

  test("a zstd bomb of 1 MB to 32 GB in RLE blocks ends at the limit", () => {
    if (native.zstd === undefined) return;
    const block = (131072 << 3) | (1 << 1);
    const blocks = new DataView(new ArrayBuffer(MiB));
    for (let at = 0; at < MiB; at += 4) blocks.setUint32(at, block, true);
    blocks.setUint32(MiB - 4, block | 1, true);
    const bomb = join([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38], new Uint8Array(blocks.buffer));
    refusedCheaply(native.zstd, bomb, MiB, "DECOMPRESSION_LIMIT");
  });

  test("a zstd bomb in compressed blocks ends at the limit", () => {
    if (native.zstd === undefined) return;
    refusedCheaply(native.zstd, native.zstd.compress(new Uint8Array(64 * MiB)), MiB, "DECOMPRESSION_LIMIT");
  });

  test("zstd: skippable frames are passed over, wherever they stand; a dictionary or a forged size is refused", () => {
    if (native.zstd === undefined) return;
    const content = compressibleBytes(seeded(16), 500);
    const packed = native.zstd.compress(content);
    const skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    assert.deepEqual(native.zstd.decompress(join(skippable, packed, skippable, packed), MiB), join(content, content));
    const bad = [
      skippable, // no frame at all
      join(packed, skippable.slice(0, -1)),
      [0x28, 0xb5, 0x2f, 0xfd, 0x03, 0x38, 1, 2, 3, 4, 1, 0, 0], // dictionary 0x04030201
      [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0], // 2^60 bytes from an empty block
      [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38, 7, 0, 0], // reserved block type
      [0x28, 0xb5, 0x2f, 0xfd, 0x08, 0x38, 1, 0, 0], // reserved bit
    ];
    for (const bytes of bad) {
      assert.equal(outcome(native.zstd, Uint8Array.from(bytes), MiB), "CORRUPT_COMPRESSION", String(bytes));
    }
  });

  // The digest is over all outcomes; the plain codecs must come to the same in each runtime. fflate takes 128 KiB for each
  // step, however small, and so a hundred times as long.
  const FUZZ = [["gzip", 4_000, 59667175], ["snappy", 20_000, 2170344737], ["lz4", 20_000, 2927295648]] as const;
  for (const [name, count, digest] of FUZZ) {
    test(
      `${count} mutilated inputs of ${name}: a result or our error, the same in each runtime`,
      { timeout: 120_000 },
      () => {
        const codec = plainCodecs[name]!;
        const random = seeded(name.length * 1000 + 1);
        const samples = [0, 1, 40, 300, 1500].map((size) => codec.compress(compressibleBytes(random, size)));
        samples.push(...VECTORS.filter((vector) => vector.codec === name).map(({ bytes }) => bytes));
        let sum = 0;
        for (let i = 0; i < count; i++) {
          const result = outcome(codec, mutilated(samples[Math.floor(random() * samples.length)]!, random), 200_000);
          sum = crc32(typeof result === "string" ? new TextEncoder().encode(result) : result, sum);
        }
        assert.equal(sum, digest);
      },
    );
  }
});

/** A copy with a few bits flipped, bytes set, removed, doubled or cut off. */
function mutilated(bytes: Uint8Array, random: () => number): Uint8Array {
  const damaged = bytes.slice();
  const at = () => Math.floor(random() * damaged.length);
  for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
    const kind = Math.floor(random() * 6);
    if (kind === 0) return damaged.slice(0, at());
    // Headers matter most.
    const place = random() < 0.4 ? Math.min(damaged.length - 1, Math.floor(random() * 24)) : at();
    if (kind === 1) damaged[place] = random() < 0.5 ? 255 : 0;
    else if (kind === 2) damaged.copyWithin(place, at());
    else damaged[place]! ^= 1 << Math.floor(random() * 8);
  }
  return damaged;
}
