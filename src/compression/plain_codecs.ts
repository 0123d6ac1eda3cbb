import type { Codecs } from "./codec.ts";
import { gzip } from "./gzip.ts";
import { lz4 } from "./lz4.ts";
import { snappy } from "./snappy.ts";

/** The codecs that run everywhere, in plain JavaScript: all of Kafka's but zstd. */
export const plainCodecs: Codecs = { gzip, snappy, lz4 };
