import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { wasmZstd } from "../../adapters/codecs_wasm.ts";
import type { Codec, Codecs } from "../../src/compression/codec.ts";
import { lz4Codec } from "../../src/compression/lz4.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { snappyCodec } from "../../src/compression/snappy.ts";

/** One way to read and write a codec. */
export interface Implementation {
  readonly name: keyof Codecs;
  readonly kind: "plain" | "kernel" | "native" | "wasm";
  readonly codec: Codec;
}

/** Every implementation there is in this runtime; Node.js 20 has no zstd of its own. */
export async function implementations(): Promise<Implementation[]> {
  const list = (kind: Implementation["kind"], codecs: Codecs): Implementation[] =>
    Object.entries(codecs).map(([name, codec]) => ({ name: name as keyof Codecs, kind, codec }));
  const { Zstd } = await import("@hpcc-js/wasm-zstd");
  return [
    ...list("plain", { ...plainCodecs, lz4: lz4Codec(() => null), snappy: snappyCodec(() => null) }),
    ...list("kernel", { lz4: plainCodecs.lz4!, snappy: plainCodecs.snappy! }),
    ...list("native", nativeCodecs()),
    ...list("wasm", { zstd: wasmZstd(await Zstd.load()) }),
  ];
}
