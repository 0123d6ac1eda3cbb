import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { wasmZstd } from "../../adapters/codecs_wasm.ts";
import { CompressionError, ConfigError } from "../../src/core/kafka_error.ts";
import { compressibleBytes, seeded } from "../helpers/seeded.ts";
import { implementations } from "./implementations.ts";

// What all codecs have in common is tested of this one, too, in the other files of this folder.
const codec = (await implementations()).find(({ kind }) => kind === "wasm")!.codec;

describe("zstd by WebAssembly", () => {
  test("inflates more than fits into the room it takes at first", () => {
    const content = new Uint8Array(40 * 1024 * 1024);
    for (let at = 0; at < content.length; at += 1000) content[at] = at;
    const native = nativeCodecs().zstd ?? codec;
    const packed = native.compress(content);
    const inflated = codec.decompress(packed, content.length);
    assert.ok(inflated.length === content.length && inflated.every((byte, i) => byte === content[i]));
    assert.throws(
      () => codec.decompress(packed, content.length - 1),
      (error) => error instanceof CompressionError && error.code === "DECOMPRESSION_LIMIT",
    );
  });

  test("works on after ten thousand failures, in the memory it had", () => {
    const content = compressibleBytes(seeded(1), 5000);
    const packed = codec.compress(content);
    const damaged = packed.slice();
    damaged[30]! ^= 0x55;
    let refused = 0;
    for (let i = 0; i < 10_000; i++) {
      damaged[20 + i % (packed.length - 20)]! ^= 1 << (i % 8);
      try {
        codec.decompress(damaged, 100_000);
      } catch (error) {
        assert.ok(error instanceof CompressionError);
        refused++;
      }
    }
    assert.ok(refused > 5000, `${refused} of 10,000 refused`);
    assert.deepEqual(codec.decompress(packed, 5000), content);
  });

  test("of anything but the package it is made for is our error, which says what to install", () => {
    for (const other of [{}, { version: () => "1.5.7" }, { _zstdClass: {}, _mainModule: { _module: {} } }]) {
      assert.throws(
        () => wasmZstd(other as { version(): string }),
        (error) => error instanceof ConfigError && /@hpcc-js\/wasm-zstd.*1\.12\.5/.test(error.message),
      );
    }
  });
});
