/**
 * zstd by WebAssembly, for where the runtime has none: browsers, and Node.js before 22.15. It wants the npm package
 * `@hpcc-js/wasm-zstd` (zstd itself, compiled; tried with 1.12.5), which is installed and loaded by whoever needs it.
 *
 * ```ts no-run
 * import { Zstd } from "@hpcc-js/wasm-zstd";
 * import { Kafka } from "@anykafka/kafka";
 * import { wasmZstd } from "@anykafka/kafka/codecs-wasm";
 *
 * new Kafka({ bootstrapServers: "localhost:9092", codecs: { zstd: wasmZstd(await Zstd.load()) } });
 * ```
 *
 * @module
 */

import type { Codec } from "../src/compression/codec.ts";
import { zstdCodec, type ZstdLibrary } from "../src/compression/zstd.ts";
import { ConfigError } from "../src/core/kafka_error.ts";

export type { Codec };

/** What `Zstd.load()` of `@hpcc-js/wasm-zstd` resolves to. */
export interface WasmZstd {
  /** The version of zstd itself. */
  version(): string;
}

/**
 * The package's module and memory, which its types keep private. Its public methods will not do: they copy results byte by
 * byte, 10 to 50 times as slow, and a frame that does not say its size inflates to 20 times its own at most.
 */
interface Internals {
  readonly _mainModule?: { readonly _module?: { readonly HEAPU8?: Uint8Array } };
  readonly _zstdClass?: ZstdFunctions;
}

/** Functions of zstd's C interface; addresses and sizes are numbers. */
interface ZstdFunctions {
  malloc(size: number): number;
  free(address: number): void;
  compress(to: number, capacity: number, from: number, size: number, level: number): number;
  decompress(to: number, capacity: number, from: number, size: number): number;
  compressBound(size: number): number;
  isError(code: number): number | boolean;
  getErrorName(code: number): string;
}

const FUNCTIONS = ["malloc", "free", "compress", "decompress", "compressBound", "isError", "getErrorName"] as const;
/** Room for what a frame inflates to, as long as nothing tells that it needs more: whatever zeros it holds, memory is bounded. */
const FIRST_CAPACITY = 8 * 1024 * 1024;

/**
 * The zstd codec by what `Zstd.load()` of `@hpcc-js/wasm-zstd` resolved to.
 *
 * @throws ConfigError for anything else.
 */
export function wasmZstd(zstd: WasmZstd): Codec {
  const { _mainModule: { _module: memory } = {}, _zstdClass: functions } = zstd as WasmZstd & Internals;
  if (!(memory?.HEAPU8 instanceof Uint8Array) || FUNCTIONS.some((name) => typeof functions?.[name] !== "function")) {
    throw new ConfigError(
      "wasmZstd takes what Zstd.load() of the npm package @hpcc-js/wasm-zstd resolves to, and does not find its module as 1.12.5 " +
        "has it: install that version",
      { code: "INVALID_CODEC" },
    );
  }
  return zstdCodec(new HeapZstd(functions!, memory as { readonly HEAPU8: Uint8Array }));
}

/** Works on the module's own memory. */
class HeapZstd implements ZstdLibrary {
  readonly #zstd: ZstdFunctions;
  readonly #memory: { readonly HEAPU8: Uint8Array };

  constructor(functions: ZstdFunctions, memory: { readonly HEAPU8: Uint8Array }) {
    this.#zstd = functions;
    this.#memory = memory;
  }

  compress(bytes: Uint8Array, level: number): Uint8Array {
    return this.#with(bytes, (from) => {
      const capacity = this.#zstd.compressBound(bytes.length);
      return this.#allocated(capacity, (to) => {
        const size = this.#zstd.compress(to, capacity, from, bytes.length, level);
        if (this.#zstd.isError(size)) throw new Error(this.#zstd.getErrorName(size));
        return this.#memory.HEAPU8.slice(to, to + size);
      });
    });
  }

  inflate(frame: Uint8Array, capacity: number): Uint8Array | undefined {
    return this.#with(frame, (from) => {
      let room = Math.min(capacity, FIRST_CAPACITY);
      for (;; room = Math.min(capacity, room * 2)) {
        const part = this.#allocated(room, (to) => {
          const size = this.#zstd.decompress(to, room, from, frame.length);
          if (!this.#zstd.isError(size)) return this.#memory.HEAPU8.slice(to, to + size);
          const reason = this.#zstd.getErrorName(size);
          if (reason !== "Destination buffer is too small") throw new Error(reason);
          return undefined;
        });
        if (part !== undefined || room === capacity) return part;
      }
    });
  }

  #with<T>(bytes: Uint8Array, work: (address: number) => T): T {
    return this.#allocated(bytes.length, (address) => {
      this.#memory.HEAPU8.set(bytes, address); // looked up each time: it is another view once the memory has grown
      return work(address);
    });
  }

  #allocated<T>(size: number, work: (address: number) => T): T {
    const address = this.#zstd.malloc(Math.max(size, 1));
    if (address === 0) throw new Error(`no memory for ${size} bytes`);
    try {
      return work(address);
    } finally {
      this.#zstd.free(address);
    }
  }
}
