/**
 * The smallest producer, for the size report of `tools/build_npm.ts`.
 *
 * @module
 */
export { KafkaError } from "@anykafka/kafka";
