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
export { Kafka as CoreKafka } from "./src/kafka.ts";
export {
  Admin,
  type AdminCallOptions,
  type AdminListOffsetsOptions,
  type BrokerListing,
  type ConfigEntry,
  type CreateTopicsOptions,
  type DescribeTopicsOptions,
  type NewTopic,
  type OffsetSpec,
  type PartitionDescription,
  type TopicDescription,
  type TopicListing,
} from "./src/admin/admin.ts";
export type { ClientContext } from "./src/client/client_context.ts";
export type { ClientOptions } from "./src/client/client_options.ts";
export type { PartitionMetadata, TopicMetadata } from "./src/client/cluster.ts";
export type { IsolationLevel, ListedOffset, OffsetQuery } from "./src/client/list_offsets.ts";
export type { Platform } from "./src/client/platform.ts";
export { type Codec, type Codecs, COMPRESSION_TYPES, type CompressionType } from "./src/compression/codec.ts";
export { Consumer, type ConsumerPosition } from "./src/consumer/consumer.ts";
export type { ConsumerBatch } from "./src/consumer/consumer_batch.ts";
export type { ConsumerOptions, EndOffset, PartitionAssignment, StartOffset } from "./src/consumer/consumer_options.ts";
export type { Clock, Timer } from "./src/core/clock.ts";
export * from "./src/core/kafka_error.ts";
export type { LogFields, Logger } from "./src/core/logger.ts";
export type { Metrics, MetricTags } from "./src/core/metrics.ts";
export type { Random } from "./src/core/random.ts";
export type { Resolved } from "./src/core/option_table.ts";
export type { Crc32c } from "./src/hash/crc32c.ts";
export {
  fromProperties,
  propertiesWithoutEffect,
  type PropertyNote,
  type PropertySettings,
} from "./src/producer/from_properties.ts";
export type { Interceptor } from "./src/producer/interceptor.ts";
export type { ClusterView, Partitioner, PartitionFunction, PartitionRequest } from "./src/producer/partitioner.ts";
export { type CloseOptions, Producer, type SendOptions } from "./src/producer/producer.ts";
export type { Metric } from "./src/producer/producer_metrics.ts";
export type { Acks, ProducerOptions } from "./src/producer/producer_options.ts";
export { type Payload, type ProducerRecord, RecordMetadata } from "./src/producer/record_metadata.ts";
export { roundRobin } from "./src/producer/round_robin.ts";
export { SendAllError } from "./src/producer/send_group.ts";
export type { Serializer, SerializerContext } from "./src/producer/serializer.ts";
export {
  bytesSerializer,
  doubleSerializer,
  floatSerializer,
  intSerializer,
  javaSerializers,
  jsonSerializer,
  longSerializer,
  shortSerializer,
  stringSerializer,
} from "./src/producer/serializers.ts";
export type { TopicRecord } from "./src/producer/topic_sink.ts";
export { uniformSticky } from "./src/producer/uniform_sticky.ts";
export type { Header, Record, RecordOrigin, TimestampType } from "./src/records/record.ts";
export type { Connect, ConnectOptions, TlsOptions, Transport } from "./src/transport/transport.ts";
