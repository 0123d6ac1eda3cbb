/**
 * One Kafka library for every JavaScript runtime.
 *
 * @module
 */
export { KafkaError } from "./src/core/kafka_error.ts";
