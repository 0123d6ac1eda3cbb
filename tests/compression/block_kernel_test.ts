import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type BlockKernel, KERNEL_ROOM, kernelOnce } from "../../src/compression/block_kernel.ts";
import type { Codec } from "../../src/compression/codec.ts";
import { lz4, lz4Codec } from "../../src/compression/lz4.ts";
import { lz4Kernel } from "../../src/compression/lz4_kernel.ts";
import { snappy, snappyCodec } from "../../src/compression/snappy.ts";
import { snappyKernel } from "../../src/compression/snappy_kernel.ts";
import { CompressionError } from "../../src/core/kafka_error.ts";
import { xxhash32 } from "../../src/hash/xxhash32.ts";
import { mutated } from "../fuzz/mutate.ts";
import { compressibleBytes, randomBytes, seeded } from "../helpers/seeded.ts";
import { join, oddInputs } from "./odd_inputs.ts";
import { VECTORS } from "./vectors.ts";

// What other programs and Kafka wrote is read by the kernels in codecs_test.ts and kafka_streams_test.ts.

const MiB = 1024 * 1024;
const PLAIN = { lz4: lz4Codec(() => null), snappy: snappyCodec(() => null) };
const KERNEL = { lz4, snappy };
const NAMES = ["lz4", "snappy"] as const;

/** `count` bytes from `distance` back, by the definition: one by one. */
function repeated(bytes: number[], distance: number, count: number): void {
  for (let i = 0; i < count; i++) bytes.push(bytes[bytes.length - distance]!);
}

/** An LZ4 block, or a Snappy block behind its length: literals, a match and literals; for Snappy at most 60, 64 and 60 bytes. */
function blockOf(name: "lz4" | "snappy", literals: Uint8Array, distance: number, count: number, tail: Uint8Array) {
  const low = [distance & 255, distance >> 8];
  const long = (length: number) =>
    length < 15 ? [] : [...Array<number>(Math.floor((length - 15) / 255)).fill(255), (length - 15) % 255];
  if (name === "snappy") {
    return join(
      ...[[(literals.length - 1) << 2], literals, [((count - 1) << 2) | 2, ...low]],
      ...[[(tail.length - 1) << 2], tail],
    );
  }
  return join(
    ...[[(Math.min(literals.length, 15) << 4) | Math.min(count - 4, 15)], long(literals.length), literals],
    ...[low, long(count - 4), [Math.min(tail.length, 15) << 4], long(tail.length), tail],
  );
}

/** What became of an input: its content, or all that our error says. */
function outcome(codec: Codec, bytes: Uint8Array, limit: number): Uint8Array | string {
  try {
    return codec.decompress(bytes, limit);
  } catch (error) {
    if (error instanceof CompressionError) return `${error.code} ${error.message}`;
    throw error;
  }
}

/** An LZ4 frame of blocks of up to 4 MiB, with a checksum at its end. */
function frame(
  flags: number,
  blocks: readonly { stored: boolean; bytes: Uint8Array }[],
  checksum: number[],
): Uint8Array {
  const little = (value: number) => [value & 255, value >> 8 & 255, value >> 16 & 255, value >>> 24];
  const descriptor = Uint8Array.of(0x40 | flags, 0x70);
  return join(
    ...[[0x04, 0x22, 0x4d, 0x18], descriptor, [xxhash32(descriptor) >>> 8 & 255]],
    ...blocks.flatMap(({ bytes, stored }) => [little(bytes.length | (stored ? 1 << 31 : 0)), bytes]),
    ...[[0, 0, 0, 0], checksum],
  );
}

for (const [name, make] of [["lz4", lz4Kernel], ["snappy", snappyKernel]] as const) {
  describe(`the kernel for ${name}`, () => {
    test("copies matches of every distance and length as the format defines them", () => {
      const kernel = make();
      const literals = randomBytes(seeded(1), 50);
      const tail = randomBytes(seeded(2), 20);
      for (let distance = 1; distance <= literals.length; distance++) {
        for (let count = 4; count <= 64; count++) {
          const expected = [...literals];
          repeated(expected, distance, count);
          expected.push(...tail);
          const block = blockOf(name, literals, distance, count, tail);
          const position = 3 * count;
          const limit = position + expected.length;
          kernel.memory.fill(0xee, 0, position);
          assert.equal(kernel.inflate(block, 0, block.length, position, limit, position), limit);
          assert.deepEqual([...kernel.memory.subarray(position, limit)], expected, `${count} from ${distance} back`);
          assert.ok(kernel.memory.subarray(0, position).every((byte) => byte === 0xee));
          // Less room than it needs; and every cut of it.
          assert.equal(kernel.inflate(block, 0, block.length, position, limit - 1, position), -1);
          assert.equal(kernel.inflate(block, 0, block.length, position, position + literals.length + 1, position), -1);
          assert.notEqual(kernel.inflate(block, 0, block.length - 1, position, limit, position), limit);
        }
      }
    });

    test("lets no match reach before the window", () => {
      const kernel = make();
      const literals = randomBytes(seeded(3), 20);
      for (
        const [distance, windowStart, isAllowed] of [[120, 0, true], [121, 0, false], [20, 100, true], [
          21,
          100,
          false,
        ]] as const
      ) {
        const block = blockOf(name, literals, distance, 8, literals);
        assert.equal(
          kernel.inflate(block, 0, block.length, 100, 1000, windowStart),
          isAllowed ? 148 : -1,
          `${distance}`,
        );
      }
      const block = blockOf(name, literals, 0, 8, literals);
      assert.equal(kernel.inflate(block, 0, block.length, 100, 1000, 0), -1, "a distance of 0");
    });

    test("fills its room to the last byte, and takes no block that is longer", () => {
      const kernel = make();
      const literals = randomBytes(seeded(4), 16);
      const block = blockOf(name, literals, 1, 64, literals);
      assert.equal(
        kernel.inflate(block, 0, block.length, KERNEL_ROOM - 96, KERNEL_ROOM, KERNEL_ROOM - 96),
        KERNEL_ROOM,
      );
      assert.equal(kernel.inflate(block, 0, block.length, 0, KERNEL_ROOM + 1, 0), -1);
      assert.equal(kernel.inflate(block, 0, block.length, 10, 9, 0), -1);
      assert.equal(kernel.inflate(new Uint8Array(KERNEL_ROOM + 1), 0, KERNEL_ROOM + 1, 0, 1000, 0), -1);
    });

    test("never takes what an earlier block left behind its end", () => {
      const kernel = make();
      const literals = randomBytes(seeded(7), 300);
      const [few, none] = [literals.subarray(0, 20), new Uint8Array(0)];
      const blocks: Uint8Array[] = name === "lz4"
        ? [blockOf(name, few, 7, 300, few), blockOf(name, literals, 300, 8, literals), blockOf(name, few, 3, 4, none)]
        : [
          join([19 << 2], few, [1, 7]), // copies with their distance in one, two and four bytes
          join([19 << 2], few, [2, 7, 0]),
          join([19 << 2], few, [3, 7, 0, 0, 0]),
          join([60 << 2, 19], few), // literals with their length in one to four bytes
          join([61 << 2, 43, 1], literals),
          join([62 << 2, 43, 1, 0], literals),
          join([63 << 2, 43, 1, 0, 0], literals),
        ];
      for (const block of blocks) {
        const size = kernel.inflate(block, 0, block.length, 0, 1000, 0);
        assert.ok(size > 0);
        for (let length = 0; length < block.length; length++) {
          assert.equal(kernel.inflate(block, 0, block.length, 0, size, 0), size);
          assert.notEqual(kernel.inflate(block, 0, length, 0, size, 0), size, `${length} of ${block.length} bytes`);
        }
      }
    });

    test("is made once, when it is asked for; null is the answer where WebAssembly is refused", () => {
      let made = 0;
      const here = kernelOnce(() => {
        made++;
        return make();
      });
      assert.equal(made, 0);
      const kernel = here();
      assert.ok(kernel !== null, "no kernel in this runtime");
      assert.equal(here(), kernel);
      assert.equal(made, 1);

      const own = globalThis.WebAssembly;
      const replace = (value: unknown) =>
        Object.defineProperty(globalThis, "WebAssembly", {
          value,
          configurable: true,
          writable: true,
          enumerable: false,
        });
      const refused = () => {
        throw new own.CompileError("refused by the content security policy");
      };
      for (const value of [undefined, { Module: refused }]) {
        replace(value);
        try {
          const none = kernelOnce(make);
          assert.equal(none(), null);
          assert.equal(none(), null);
        } finally {
          replace(own);
        }
      }
    });

    test("two of them do not disturb each other", () => {
      const [one, other]: BlockKernel[] = [make(), make()];
      const block = blockOf(name, Uint8Array.of(1, 2, 3), 3, 9, Uint8Array.of(9));
      assert.equal(one!.inflate(block, 0, block.length, 0, 100, 0), 13);
      other!.memory.fill(7, 0, 13);
      assert.deepEqual([...one!.memory.subarray(0, 13)], [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 9]);
    });
  });
}

for (const name of NAMES) {
  describe(`${name} with and without the kernel`, () => {
    test("has the same results and the same words for damage", { timeout: 60_000 }, () => {
      const random = seeded(5);
      const packed = [60, 900, 70_000].map((size) => PLAIN[name].compress(compressibleBytes(random, size)));
      const samples = [
        ...packed,
        ...VECTORS.filter(({ codec }) => codec === name).map(({ bytes }) => bytes),
        ...oddInputs().filter(({ codec }) => codec === name).map(({ bytes }) => bytes),
      ];
      const outcomes = new Set<string>();
      const compare = (bytes: Uint8Array, limit: number) => {
        const expected = outcome(PLAIN[name], bytes, limit);
        const actual = outcome(KERNEL[name], bytes, limit);
        outcomes.add(typeof expected === "string" ? expected.replace(/\d+/g, "N") : "read");
        if (typeof expected === "string" || typeof actual === "string") assert.equal(actual, expected);
        else assert.ok(actual.length === expected.length && actual.every((byte, i) => byte === expected[i]));
      };
      for (const sample of samples) for (const limit of [-1, 0, 100, 4096, MiB]) compare(sample, limit);
      for (let i = 0; i < 6000; i++) compare(mutated(samples, random), i % 3 === 0 ? 4096 : MiB);
      assert.ok(outcomes.size >= 8, [...outcomes].join("; "));
    });
  });
}

describe("more than the kernel has room for", () => {
  const random = seeded(6);
  const block = compressibleBytes(random, 65_536);
  const content = join(...Array.from({ length: 70 }, (_, i) => (block[i] = i, block.slice())));
  const isContent = (bytes: Uint8Array) =>
    bytes.length === content.length && bytes.every((byte, i) => byte === content[i]);
  assert.ok(content.length > KERNEL_ROOM);

  test("is read block by block", () => {
    for (const name of NAMES) {
      const packed = PLAIN[name].compress(content);
      assert.ok(isContent(KERNEL[name].decompress(packed, content.length)), name);
      for (const limit of [content.length - 1, KERNEL_ROOM, KERNEL_ROOM - 1]) {
        assert.equal(outcome(KERNEL[name], packed, limit), outcome(PLAIN[name], packed, limit));
      }
      packed[packed.length - 3000]! ^= 0x55;
      assert.deepEqual(outcome(KERNEL[name], packed, MiB * 8), outcome(PLAIN[name], packed, MiB * 8));
    }
  });

  test("is read with matches that reach into the block before, long and tiny ones", () => {
    const stored = Array.from(
      { length: 70 },
      (_, i) => ({ stored: true, bytes: content.subarray(i << 16, (i + 1) << 16) }),
    );
    const match = { stored: false, bytes: blockOf("lz4", Uint8Array.of(5, 6), 65_000, 60, Uint8Array.of(7)) };
    // Long enough for the kernel.
    const noise = randomBytes(random, 1100);
    const long = { stored: false, bytes: blockOf("lz4", noise, 65_000, 60, Uint8Array.of(7)) };
    const expected = [...content.subarray(-65_536)];
    const many = Array.from({ length: 5 }, (_, i) => i % 2 === 0 ? match : long);
    for (const { stored: _, bytes } of many) {
      expected.push(...(bytes === match.bytes ? [5, 6] : noise));
      repeated(expected, 65_000, 60);
      expected.push(7);
    }
    const checksum = (bytes: Uint8Array) => {
      const value = xxhash32(bytes);
      return [value & 255, value >> 8 & 255, value >> 16 & 255, value >>> 24];
    };
    const whole = join(content, expected.slice(65_536));
    const packed = frame(0x04, [...stored, ...many], checksum(whole));
    for (const codec of [PLAIN.lz4, KERNEL.lz4]) {
      assert.deepEqual(codec.decompress(packed, whole.length).subarray(content.length), whole.subarray(content.length));
    }
    // Without the link there is nothing before the block.
    const independent = frame(0x24, [...stored, ...many], checksum(whole));
    assert.match(String(outcome(KERNEL.lz4, independent, 8 * MiB)), /a match 65000 bytes back, 2 are there/);
    packed[packed.length - 1]! ^= 1;
    assert.match(String(outcome(KERNEL.lz4, packed, 8 * MiB)), /the content's checksum is wrong/);
  });

  test("is read when it is one Snappy block", () => {
    const length = content.length;
    const literal = [(62 << 2) | 0, length - 1 & 255, length - 1 >> 8 & 255, length - 1 >> 16 & 255];
    const size = [length & 127 | 128, length >> 7 & 127 | 128, length >> 14 & 127 | 128, length >> 21];
    assert.ok(isContent(KERNEL.snappy.decompress(join(size, literal, content), length)));
  });
});
