/**
 * A producer before a {@linkcode ScriptedBroker}, with time in the test's hands.
 *
 * @module
 */

import assert from "node:assert/strict";
import { clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { seededRandom } from "../../src/core/random.ts";
import { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import type { Payload } from "../../src/producer/record_metadata.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { testGzip } from "./fake_cluster.ts";
import { ManualClock } from "./manual_clock.ts";
import { type BrokerScript, ScriptedBroker } from "./scripted_broker.ts";

/** The parts of a test. */
export interface Stage<K = Payload, V = Payload> {
  readonly producer: Producer<K, V>;
  readonly broker: ScriptedBroker;
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  /** Runs time until `promise` settles, and answers what became of it. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Runs time until `promise` is rejected, and answers why. */
  failure(promise: Promise<unknown>): Promise<KafkaError>;
}

/** Sets a stage. The broker has topic `t` with one partition, unless the script says otherwise. */
export async function stage<K = Payload, V = Payload>(
  script: Partial<BrokerScript> = {},
  options: ProducerOptions<K, V> = {},
  client: Partial<ClientOptions> = {},
): Promise<Stage<K, V>> {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const broker = new ScriptedBroker({ topics: { t: 1 }, ...script });
  await broker.listen(network);
  const context = clientContext(
    {
      bootstrapServers: broker.bootstrapServers,
      clock,
      random: seededRandom(7),
      codecs: { gzip: testGzip },
      ...client,
    },
    { connect: network.connect, codecs: () => Promise.resolve({}) },
  );
  const producer = new Producer<K, V>(context, options);
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(() => {});
    await clock.runUntil(promise.then(() => {}, () => {}), 1_000_000);
    return await promise;
  };
  const failure = async (promise: Promise<unknown>): Promise<KafkaError> => {
    const outcome = await run(promise.then(() => "it did not fail", (error: unknown) => error));
    assert.ok(outcome instanceof KafkaError, String(outcome));
    return outcome;
  };
  return { producer, broker, clock, network, run, failure };
}

/** The numbers from 0 to `n` − 1. */
export function range(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}

/** The text of bytes; null stays null. */
export function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
