import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { type Codec, codecFor, COMPRESSION_LEVELS, isCompressionLevel } from "../../src/compression/codec.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { zstdCodec } from "../../src/compression/zstd.ts";
import { CompressionError } from "../../src/core/kafka_error.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { compressibleBytes, randomBytes, seeded } from "../helpers/seeded.ts";
import { implementations } from "./implementations.ts";
import { join } from "./odd_inputs.ts";
import { VECTORS } from "./vectors.ts";

const native = nativeCodecs();
const CODECS = await implementations();

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

    test("reads several streams one behind the other, each within the limit", () => {
      const content = compressibleBytes(seeded(8), 900);
      const packed = codec.compress(content);
      const many = codec.decompress(join(packed, codec.compress(new Uint8Array(0)), packed, packed), MiB);
      assert.deepEqual(many, join(content, content, content));
      assert.throws(() => codec.decompress(join(packed, packed), content.length * 2 - 1), isPastLimit);
    });

    test("passes over or refuses what follows the end, as Java or stricter", () => {
      const content = compressibleBytes(seeded(8), 900);
      const packed = codec.compress(content);
      for (
        const garbage of [[0], [0, 0, 0, 0, 0], [1, 2, 3, 4], [0x1f, 0x8b], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], [255]]
      ) {
        const bytes = join(packed, garbage);
        if (name === "gzip") assert.deepEqual(codec.decompress(bytes, MiB), content, String(garbage));
        else assert.throws(() => codec.decompress(bytes, MiB), isCorrupt, String(garbage));
      }
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
  const content = compressibleBytes(seeded(11), 50_000);
  const sizes = (codec: Codec, levels: readonly (number | undefined)[]) =>
    levels.map((level) => {
      const packed = codec.compress(content, level);
      assert.deepEqual(codec.decompress(packed, MiB), content, `level ${level}`);
      return packed.length;
    });

  for (const { name, kind, codec } of CODECS) {
    if (name === "snappy") continue;
    const { least, most, default: usual } = COMPRESSION_LEVELS[name];

    test(`of ${name}, ${kind}: Kafka's range and default; a higher one makes it smaller`, () => {
      const [byDefault, named, quick, best] = sizes(codec, [undefined, usual, least, most]);
      assert.equal(byDefault, named);
      assert.ok(best! < quick!, `${best} bytes, ${quick} bytes`);
    });

    test(`of ${name}, ${kind}: one that is none is our error, which names the range`, () => {
      for (const level of [least - 1, most + 1, 1.5, Number.NaN, Infinity, ...(name === "gzip" ? [-2] : [])]) {
        if (level === usual) continue;
        assert.ok(name === "gzip" && level === 0 || !isCompressionLevel(name, level));
        assert.throws(() => codec.compress(content, level), (error) => {
          assert.ok(error instanceof CompressionError);
          assert.equal(error.code, "INVALID_COMPRESSION_LEVEL");
          assert.match(error.message, new RegExp(`^${name} has no level ${level}: take one from ${least} to ${most}`));
          return true;
        });
      }
    });
  }

  test("of LZ4: 9 is Java's quick compressor, the others search, the longer the higher", () => {
    const [quick, usual, ...rising] = sizes(plainCodecs.lz4!, [9, undefined, 1, 2, 4, 8, 17]);
    assert.equal(quick, usual);
    for (let i = 1; i < rising.length; i++) assert.ok(rising[i]! <= rising[i - 1]!, String(rising));
    assert.ok(rising[0]! < quick!);
  });

  test("of LZ4: the highest is quick on what repeats itself", () => {
    for (const period of [1, 5, 3001]) {
      const bytes = Uint8Array.from({ length: 200_000 }, (_, i) => (i % period) * 7);
      const packed = plainCodecs.lz4!.compress(bytes, 17);
      assert.ok(packed.length < 14_000, `${packed.length} bytes`);
      assert.deepEqual(plainCodecs.lz4!.decompress(packed, bytes.length), bytes);
    }
  });

  test("snappy has none and takes any", () => {
    assert.deepEqual(plainCodecs.snappy!.compress(content, 99), plainCodecs.snappy!.compress(content));
  });

  test("of zstd: the highest takes tables for the bytes there are", () => {
    if (native.zstd === undefined) return;
    // Deno's took a second for these, until it was told how many there are.
    const packed = native.zstd.compress(content, 22);
    // The frame says its size, and needs no window of its own.
    assert.equal(packed[4]! & 0xe0, 0x60);
  });
});

describe("the two gzips", () => {
  test("each reads the other's", () => {
    const content = compressibleBytes(seeded(12), 200_000);
    assert.deepEqual(plainCodecs.gzip!.decompress(native.gzip!.compress(content), MiB), content);
    assert.deepEqual(native.gzip!.decompress(plainCodecs.gzip!.compress(content), MiB), content);
  });

  test("read members without number, each checked", () => {
    const member = native.gzip!.compress(Uint8Array.of(1));
    const many = join(...Array.from({ length: 3000 }, () => member));
    for (const { gzip } of [plainCodecs, native]) {
      assert.equal(gzip!.decompress(many, MiB).length, 3000);
      const damaged = many.slice();
      damaged[member.length * 2999 - 8]! ^= 1;
      assert.throws(() => gzip!.decompress(damaged, MiB), isCorrupt);
    }
  });

  test("read what zlib makes with every level, memory and strategy", () => {
    const random = seeded(14);
    for (let i = 0; i < 135; i++) {
      const size = Math.floor(random() ** 3 * 60_000);
      const content = i % 4 === 0 ? randomBytes(random, size) : compressibleBytes(random, size);
      const packed = gzipSync(content, { level: 1 + i % 9, memLevel: 1 + (i >> 2) % 9, strategy: i % 5 });
      for (const { gzip } of [plainCodecs, native]) assert.deepEqual(gzip!.decompress(packed, size), content, `${i}`);
    }
  });

  test("a header that ends beyond the buffer is none", () => {
    const content = compressibleBytes(seeded(13), 100);
    const packed = plainCodecs.gzip!.compress(content);
    // An extra field of 65,535 bytes; a name without end; behind an empty member, whose trailer is eight zeros.
    for (
      const header of [[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 255, 255], [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3, 65, 65]]
    ) {
      const behind = join(header, new Uint8Array(10).fill(65));
      for (const { gzip } of [plainCodecs, native]) {
        assert.deepEqual(gzip!.decompress(join(packed, behind), MiB), content);
        assert.throws(() => gzip!.decompress(behind, MiB), isCorrupt);
      }
    }
  });

  test("a cut member of zeros is not taken for an empty one", () => {
    // Stored: eight of its zeros look like the trailer of a member without content.
    const header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    const stored = join(header, [1, 100, 0, 155, 255], new Uint8Array(50));
    for (const { gzip } of [plainCodecs, native]) assert.throws(() => gzip!.decompress(stored, MiB), isCorrupt);
  });
});

test("the same content gives the same bytes, whatever the time", () => {
  const content = compressibleBytes(seeded(13), 1000);
  for (const { codec } of CODECS) assert.deepEqual(codec.compress(content), codec.compress(content));
  // The time in gzip's header stays 0.
  assert.deepEqual([...plainCodecs.gzip!.compress(content).subarray(4, 8)], [0, 0, 0, 0]);
});

test("what claims gigabytes gets no memory for them, however high the limit", () => {
  const limit = 8 * 1024 * MiB;
  const gzip = native.gzip!.compress(compressibleBytes(seeded(15), 20_000));
  gzip.fill(0xff, gzip.length - 4);
  for (const codecs of [plainCodecs, native]) assert.equal(outcome(codecs.gzip!, gzip, limit), "CORRUPT_COMPRESSION");
  const snappy = Uint8Array.of(255, 255, 255, 255, 15, 0, 65);
  assert.equal(outcome(plainCodecs.snappy!, snappy, limit), "CORRUPT_COMPRESSION");
  const descriptor = Uint8Array.of(0x68, 0x40, 0, 0, 0, 0, 1, 0, 0, 0);
  const lz4 = join([0x04, 0x22, 0x4d, 0x18], descriptor, [(xxhash32(descriptor) >>> 8) & 255, 0, 0, 0, 0]);
  assert.equal(outcome(plainCodecs.lz4!, lz4, limit), "CORRUPT_COMPRESSION");
  const zstd = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0);
  for (const { codec, name } of CODECS) {
    if (name === "zstd") assert.equal(outcome(codec, zstd, limit), "CORRUPT_COMPRESSION");
  }
});

describe("a codec that is not there", () => {
  test("is our error, which names it and says what to inject", () => {
    const missing = (type: "gzip" | "snappy" | "lz4" | "zstd", message: RegExp) =>
      assert.throws(() => codecFor({}, type), (error) => {
        assert.ok(error instanceof CompressionError);
        assert.equal(error.code, "UNSUPPORTED_CODEC");
        assert.match(error.message, message);
        return true;
      });
    missing("gzip", /^no gzip codec here: pass plainCodecs of @anykafka\/kafka\/codecs/);
    missing("snappy", /^no snappy codec here: pass plainCodecs/);
    missing("lz4", /^no lz4 codec here: pass plainCodecs/);
    missing("zstd", /^no zstd codec here: .*22\.15.*wasmZstd of @anykafka\/kafka\/codecs-wasm.*@hpcc-js\/wasm-zstd/);
  });
});

describe("zstd by a library", () => {
  const frame = join([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58], [0x05, 0, 0, 1, 2, 3, 4, 5]); // a compressed block of 5 bytes
  const failing = (): never => {
    throw new RangeError("out of memory");
  };

  test("that fails, answers too much or too little, or is asked for nothing: always our error", () => {
    const error = (inflate: (frame: Uint8Array, capacity: number) => Uint8Array | undefined, limit = MiB) =>
      outcome(zstdCodec({ compress: failing, inflate }), frame, limit);
    frame[6] = (5 << 3) | (2 << 1) | 1;
    assert.equal(error(failing), "CORRUPT_COMPRESSION");
    assert.equal(error(() => undefined), "CORRUPT_COMPRESSION"); // more than a block can hold
    assert.equal(error(() => undefined, 1000), "DECOMPRESSION_LIMIT");
    assert.equal(error((_, capacity) => new Uint8Array(capacity + 1), 1000), "DECOMPRESSION_LIMIT");
    assert.equal(error((_, capacity) => new Uint8Array(capacity + 1)), "CORRUPT_COMPRESSION");
    assert.deepEqual(error((_, capacity) => new Uint8Array(capacity), 1000), new Uint8Array(1000));
    assert.throws(() => zstdCodec({ compress: failing, inflate: failing }).compress(frame), (error) => {
      assert.ok(error instanceof CompressionError && error.cause instanceof RangeError);
      assert.equal(error.code, "COMPRESSION_FAILED");
      return true;
    });
  });

  test("is given one frame at a time, and at most a thousand", () => {
    const seen: number[] = [];
    const codec = zstdCodec({
      compress: failing,
      inflate(part, capacity) {
        seen.push(part.length, capacity);
        return Uint8Array.of(7);
      },
    });
    const skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    assert.deepEqual(codec.decompress(join(skippable, frame, frame, skippable), 100), Uint8Array.of(7, 7));
    assert.deepEqual(seen, [frame.length, 100, frame.length, 99]);
    assert.throws(() => codec.decompress(join(...Array.from({ length: 1025 }, () => frame)), MiB), isCorrupt);
  });
});
