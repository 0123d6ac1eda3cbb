/**
 * Time to write and to read the two messages that carry records.
 *
 * Run: `RUNTIME tools/bench/protocol.ts`. Wants no broker.
 *
 * @module
 */

import process from "node:process";
import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { decodeFetchResponse, encodeFetchRequest, encodeFetchResponse } from "../../src/protocol/fetch.ts";
import { decodeProduceResponse, encodeProduceRequest, encodeProduceResponse } from "../../src/protocol/produce.ts";

const PARTITIONS = 10;
const ROUNDS = 7;
const CALLS = 20_000;

const topicId = "J3c8yEMbQ0mpuCqA1Yx9iw";
const records = new Uint8Array(16_384);
const partitions = Array.from({ length: PARTITIONS }, (_, index) => index);
const produceRequest = {
  acks: -1,
  timeoutMs: 30_000,
  topicData: [{ topicId, name: "flights", partitionData: partitions.map((index) => ({ index, records })) }],
};
const produceResponse = {
  responses: [{
    topicId,
    name: "flights",
    partitionResponses: partitions.map((index) => ({ index, baseOffset: 1_000_000 + index })),
  }],
};
const fetchRequest = {
  maxWaitMs: 500,
  minBytes: 1,
  topics: [{
    topicId,
    topic: "flights",
    partitions: partitions.map((partition) => ({ partition, fetchOffset: 1_000_000, partitionMaxBytes: 1_048_576 })),
  }],
};
const fetchResponse = {
  responses: [{
    topicId,
    topic: "flights",
    partitions: partitions.map((partitionIndex) => ({ partitionIndex, highWatermark: 1_000_000, records })),
  }],
};

function encoded<T>(encode: (w: Writer, m: T, version: number) => void, message: T, version: number): Uint8Array {
  const writer = new Writer();
  encode(writer, message, version);
  return writer.toBytes();
}

/** The best of some rounds, so that other work on the machine counts least. */
function measure(what: string, call: () => unknown): void {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) call();
    best = Math.min(best, performance.now() - start);
  }
  process.stdout.write(`${what}, ${PARTITIONS} partitions: ${(best * 1000 / CALLS).toFixed(2)} µs\n`);
}

for (const version of [8, 12, 13]) {
  measure(`write Produce v${version} request`, () => {
    const writer = new Writer();
    encodeProduceRequest(writer, produceRequest, version);
    return writer.finish();
  });
}
const produceAnswer = encoded(encodeProduceResponse, produceResponse, 13);
measure("read Produce v13 answer", () => decodeProduceResponse(new Reader(produceAnswer), 13));
measure("write Fetch v17 request", () => {
  const writer = new Writer();
  encodeFetchRequest(writer, fetchRequest, 17);
  return writer.finish();
});
const fetchAnswer = encoded(encodeFetchResponse, fetchResponse, 17);
measure("read Fetch v17 answer", () => decodeFetchResponse(new Reader(fetchAnswer), 17));
