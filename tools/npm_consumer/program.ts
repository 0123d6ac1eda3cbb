/**
 * What a user of the npm package writes: `tools/build_npm.ts` compiles and runs it against the packed tarball.
 *
 * @module
 */
import { Kafka, KafkaError } from "@anykafka/kafka";
import { EmbeddedBroker } from "@anykafka/kafka/broker";
import { listen } from "@anykafka/kafka/auto";
import process from "node:process";

const broker = await EmbeddedBroker.start({ listen, topics: { orders: 2 } });
const kafka = new Kafka({ bootstrapServers: broker.bootstrapServers });

const sent = Array.from({ length: 100 }, (_, n) => ({ topic: "orders", key: `user-${n % 7}`, value: `order ${n}` }));
const producer = kafka.producer({ compressionType: "gzip", lingerMs: 5 });
await Promise.all(sent.map((record) => producer.send(record)));
await producer.close();

const read: string[] = [];
const decoder = new TextDecoder();
for await (const record of kafka.consumer({ topics: ["orders"], from: "earliest", until: "end" })) {
  read.push(decoder.decode(record.value ?? new Uint8Array()));
}
const error = await kafka.admin().deleteTopics(["not-there"]).catch((error: unknown) => error);
await broker.close();

const wanted = sent.map(({ value }) => value).sort();
if (JSON.stringify(read.sort()) !== JSON.stringify(wanted)) throw new Error(`sent ${wanted}, read ${read}`);
if (!(error instanceof KafkaError)) throw new Error(`expected a KafkaError, got ${error}`);
process.stdout.write(`${read.length} records sent and read\n`);
