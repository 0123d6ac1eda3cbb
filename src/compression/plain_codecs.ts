/**
 * Codecs that run everywhere, in plain JavaScript: all of Kafka's but zstd. `Kafka` has them by itself, and the runtime's own
 * in their place where it has some; here they are for programs that read logs without it.
 *
 * ```ts no-run
 * import { plainCodecs } from "@anykafka/kafka/codecs";
 * import { Log } from "@anykafka/kafka/log";
 * import { blobStorage } from "@anykafka/kafka/storage-blob";
 *
 * declare const files: File[]; // of a partition's folder, as a file chooser gives them
 * const log = await Log.open(blobStorage(files));
 * for await (const record of log.records({ codecs: plainCodecs })) console.log(record.offset, record.value);
 * ```
 *
 * @module
 */

import type { Codec, Codecs } from "./codec.ts";
import { gzip } from "./gzip.ts";
import { lz4 } from "./lz4.ts";
import { snappy } from "./snappy.ts";

export type { Codec, Codecs };

/** gzip, snappy and lz4. */
export const plainCodecs: Codecs = { gzip, snappy, lz4 };
