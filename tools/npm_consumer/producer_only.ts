/**
 * The smallest producer, for the size report of `tools/build_npm.ts`.
 *
 * @module
 */
import { Kafka } from "@anykafka/kafka";

const producer = new Kafka({ bootstrapServers: "localhost:9092" }).producer();
await producer.send({ topic: "orders", key: "u-1", value: "paid" });
await producer.close();
