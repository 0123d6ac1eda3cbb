/**
 * One Kafka library for every JavaScript runtime: producer, consumer and admin client.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 *
 * const kafka = new Kafka({ bootstrapServers: "localhost:9092" });
 * const producer = kafka.producer();
 * const { partition, offset } = await producer.send({ topic: "orders", key: "u-1", value: "hello" });
 * await producer.close();
 * ```
 *
 * Partition directories are read by `@anykafka/kafka/log`; a broker for tests and demos is in `@anykafka/kafka/broker`.
 *
 * @module
 */

export { Kafka } from "./adapters/kafka.ts";
export type { ClientOptions } from "./src/client/client_options.ts";
export type { Platform } from "./src/client/platform.ts";
export type { PartitionMetadata, TopicMetadata } from "./src/client/cluster.ts";
export type { Codec, Codecs, CompressionType } from "./src/compression/codec.ts";
export type { Clock, Timer } from "./src/core/clock.ts";
export * from "./src/core/kafka_error.ts";
export type { LogFields, Logger } from "./src/core/logger.ts";
export type { Metrics, MetricTags } from "./src/core/metrics.ts";
export type { Random } from "./src/core/random.ts";
export { type CloseOptions, Producer } from "./src/producer/producer.ts";
export type { Acks, ProducerOptions } from "./src/producer/producer_options.ts";
export { type Payload, type ProducerRecord, RecordMetadata } from "./src/producer/record_metadata.ts";
export type { Connect, ConnectOptions, TlsOptions, Transport } from "./src/transport/transport.ts";
