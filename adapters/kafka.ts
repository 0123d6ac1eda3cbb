/**
 * `Kafka` with the runtime's own sockets and codecs, so that the same line works in Deno, Bun and Node.js.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092" });
 * ```
 *
 * @module
 */

import type { ClientOptions } from "../src/client/client_options.ts";
import type { Platform } from "../src/client/platform.ts";
import type { Codecs } from "../src/compression/codec.ts";
import { Kafka as CoreKafka } from "../src/kafka.ts";
import { connect } from "./auto.ts";

/** Sockets and codecs of the runtime the program runs in. */
export const platform: Platform = {
  connect,
  async codecs(): Promise<Codecs> {
    // Loaded when the first compressed batch is written or read, since most programs use one codec or none.
    const { plainCodecs } = await import("../src/compression/plain_codecs.ts");
    try {
      const { nativeCodecs } = await import("./codecs_native.ts");
      return { ...plainCodecs, ...nativeCodecs() };
    } catch {
      return plainCodecs; // no node:zlib, as in a browser
    }
  },
};

/** A Kafka cluster as seen from here. `connect` and `codecs` given as options win over the runtime's. */
export class Kafka extends CoreKafka {
  /**
   * Takes the options; nothing is connected.
   *
   * @throws ConfigError
   */
  constructor(options: ClientOptions) {
    super(options, platform);
  }
}
