/** The kinds of faults, by their numbers in the project's table, each with what it does at random. */

import type { BrokerFault } from "../../src/broker/embedded_broker.ts";
import { type Random, randomInt } from "../../src/core/random.ts";
import type { ChaosFault, ChaosStage } from "./chaos_run.ts";

/** Errors after which the same batch may be sent again, told before anything was stored. */
const RETRIABLE = [
  "NOT_LEADER_OR_FOLLOWER",
  "LEADER_NOT_AVAILABLE",
  "NOT_ENOUGH_REPLICAS",
  "UNKNOWN_TOPIC_OR_PARTITION",
  "KAFKA_STORAGE_ERROR",
  "CORRUPT_MESSAGE",
  "NETWORK_EXCEPTION",
  "REQUEST_TIMED_OUT",
  "UNKNOWN_TOPIC_ID",
  "THROTTLING_QUOTA_EXCEEDED",
] as const;

/** A fault that strikes each Produce with this probability. */
function often({ broker, random }: ChaosStage, probability: number, fault: BrokerFault): void {
  broker.script({ api: "Produce", times: Infinity, if: () => random() < probability, ...fault });
}

const pick = <T>(random: Random, values: readonly T[]): T => values[randomInt(random, values.length)]!;

/** Every kind of fault that concerns a producer without transactions. */
export const CHAOS_FAULTS: readonly ChaosFault[] = [
  {
    number: 1,
    name: "the connection is closed before the append",
    allArrive: true,
    before: (stage) => often(stage, 0.15, { disconnect: true }),
  },
  {
    number: 2,
    name: "the connection is closed after the append, or in the middle of the answer",
    allArrive: true,
    before(stage) {
      often(stage, 0.1, { when: "after", disconnect: true });
      often(stage, 0.1, { cutAt: randomInt(stage.random, 40) });
    },
  },
  {
    number: 3,
    name: "the answer comes after the request timed out",
    allArrive: true,
    before: (stage) => often(stage, 0.08, { when: "after", delayMs: 2000 + randomInt(stage.random, 4000) }),
  },
  {
    number: 4,
    name: "one retriable error at one of the requests in flight",
    allArrive: true,
    before({ broker, seed }) {
      const error = RETRIABLE[seed % RETRIABLE.length]!;
      const position = 1 + (Math.floor(seed / RETRIABLE.length) % 5);
      for (let n = 0; n < 12; n++) broker.script({ api: "Produce", nth: 1 + n * 7 + position, error });
    },
  },
  {
    number: 5,
    name: "errors two in a row, and every other request",
    allArrive: true,
    before({ broker, random }) {
      for (let nth = 3; nth < 40; nth += 9) {
        broker.script({ api: "Produce", nth, times: 2, error: pick(random, RETRIABLE) });
      }
      for (let nth = 41; nth < 80; nth += 2) broker.script({ api: "Produce", nth, error: pick(random, RETRIABLE) });
    },
  },
  {
    number: 6,
    name: "the first of several in flight fails, so that those behind it are out of order",
    allArrive: true,
    producer: { batchSize: 64, lingerMs: 0 },
    before({ broker, random }) {
      for (const partition of [0, 1, 2]) {
        for (let nth = 2; nth < 100; nth += 5 + randomInt(random, 10)) {
          broker.script({ api: "Produce", partition, nth, error: pick(random, RETRIABLE) });
        }
      }
    },
  },
  {
    number: 7,
    name: "a batch that was stored is answered with DUPLICATE_SEQUENCE_NUMBER",
    modes: ["idempotent"],
    allArrive: true,
    mayLackOffset: true,
    before: (stage) => often(stage, 0.15, { when: "after", error: "DUPLICATE_SEQUENCE_NUMBER" }),
  },
  {
    number: 8,
    name: "errors that are told after the append",
    allArrive: true,
    before(stage) {
      often(stage, 0.1, { when: "after", error: "NOT_ENOUGH_REPLICAS_AFTER_APPEND" });
      often(stage, 0.1, { when: "after", error: "REQUEST_TIMED_OUT" });
    },
  },
  {
    number: 9,
    name: "the delivery time-out, with requests that were sent and some that were not",
    producer: { deliveryTimeoutMs: 4000 },
    before: (stage) => often(stage, 0.1, { when: pick(stage.random, ["before", "after"]), silence: true }),
    async between(stage, group) {
      if (group % 9 !== 4) return;
      for (const [host, port] of stage.addresses) {
        stage.network.setReachability(host, port, "refuse");
        stage.network.cutAll(host, port);
      }
      await stage.clock.advance(1000 + randomInt(stage.random, 8000));
      for (const [host, port] of stage.addresses) stage.network.setReachability(host, port, "open");
    },
  },
  {
    number: 10,
    name: "leaders move, an old one answers, and there is none for a while",
    allArrive: true,
    before: (stage) => often(stage, 0.03, { error: "NOT_LEADER_OR_FOLLOWER" }),
    async between({ broker, clock, random, topic }, group) {
      broker.moveLeader(topic, randomInt(random, 3), pick(random, group % 6 === 5 ? [-1] : [1, 2, 3]));
      if (group % 6 !== 5) return;
      await clock.advance(randomInt(random, 10_000));
      for (const partition of [0, 1, 2]) {
        if (broker.leaderOf(topic, partition) === -1) broker.moveLeader(topic, partition, 1 + randomInt(random, 3));
      }
    },
    after({ broker, topic }) {
      for (const partition of [0, 1, 2]) broker.moveLeader(topic, partition, 1 + partition);
    },
  },
  {
    number: 11,
    name: "the topic is missing in metadata for a while",
    allArrive: true,
    before({ broker, random }) {
      broker.script({ api: "Metadata", nth: 1, times: 3, error: "UNKNOWN_TOPIC_OR_PARTITION", topic: "chaos" });
      broker.script({
        api: "Metadata",
        times: Infinity,
        topic: "chaos",
        error: "LEADER_NOT_AVAILABLE",
        if: () => random() < 0.3,
      });
      broker.script({
        api: "Produce",
        times: Infinity,
        error: "UNKNOWN_TOPIC_OR_PARTITION",
        if: () => random() < 0.1,
      });
    },
  },
  {
    number: 11,
    name: "the topic is deleted, and made again after a while",
    allArrive: true,
    // What was stored before is gone with the topic.
    mayLose: true,
    async between({ broker, clock, random, topic }, group) {
      if (group % 8 !== 3) return;
      await clock.runUntil(broker.deleteTopic(topic));
      await clock.advance(randomInt(random, 3000));
      await clock.runUntil(broker.createTopic(topic, 3));
    },
  },
  {
    number: 13,
    name: "the broker is killed and started again over its files",
    allArrive: true,
    before: (stage) => often(stage, 0.05, { when: "after", disconnect: true }),
    async between(stage, group) {
      if (group % 6 === 2) await stage.restart(randomInt(stage.random, 3000));
    },
  },
  {
    number: 15,
    name: "no connection lives longer than 500 to 1500 ms",
    allArrive: true,
    before({ clock, network, random }) {
      network.onConnect = ({ server }) => {
        clock.setTimer(500 + randomInt(random, 1000), () => random() < 0.5 ? server.reset() : server.close());
      };
    },
    between: ({ clock, random }) => clock.advance(randomInt(random, 200)),
    async after({ clock, network }) {
      network.onConnect = undefined;
      await clock.advance(2000);
    },
  },
  {
    number: 16,
    name: "what a node sends is lost without a word, and nodes stand still for 30 s",
    allArrive: true,
    // A connection begun while a node stands still is never made here, and up to 30 s pass before the next attempt.
    producer: { deliveryTimeoutMs: 120_000 },
    async between({ addresses, clock, network, random }, group) {
      if (group % 7 !== 3) return;
      const [host, port] = pick(random, addresses);
      for (const { client, server } of network.connections(host, port)) {
        server.halfDead = true;
        if (random() < 0.5) client.halfDead = true;
      }
      if (group % 14 === 3) return;
      network.setReachability(host, port, "silent");
      await clock.advance(30_000);
      network.setReachability(host, port, "open");
    },
  },
  {
    number: 17,
    name: "100 ms of latency give or take 100, and one answer in a hundred is a reset",
    allArrive: true,
    before(stage) {
      const { network, random } = stage;
      network.onConnect = ({ client, server }) => {
        client.delayMs = randomInt(random, 200);
        server.delayMs = randomInt(random, 200);
      };
      often(stage, 0.01, { when: "after", disconnect: true });
    },
    between: ({ network, random, addresses }) => {
      const [host, port] = pick(random, addresses);
      for (const { client, server } of network.connections(host, port)) {
        client.delayMs = randomInt(random, 200);
        server.delayMs = randomInt(random, 200);
      }
    },
    after: ({ network }) => void (network.onConnect = undefined),
  },
  {
    number: 18,
    name: "reads of one byte, and answers that are cut at every byte",
    allArrive: true,
    records: 300,
    before({ broker, network, seed }) {
      network.onConnect = ({ client, server }) => {
        client.maxReadSize = 1;
        server.maxReadSize = 997;
      };
      for (let n = 0; n < 10; n++) broker.script({ api: "Produce", nth: 2 + n * 4, cutAt: (seed * 3 + n * 7) % 71 });
    },
    after: ({ network }) => void (network.onConnect = undefined),
  },
  {
    number: 19,
    name: "the broker asks to hold back for 1 ms up to 2^31−1",
    // With the largest throttle a node gets nothing more for 24 days: what waits for it runs out of time, unsent.
    before({ broker, random, seed }) {
      for (let nth = 2; nth < 60; nth += 6) {
        broker.script({ api: "Produce", nth, throttleMs: pick(random, [1, 10, 100, 1000, 5000]) });
      }
      if (seed % 4 === 0) broker.script({ api: "Produce", nth: 20, node: 2, throttleMs: 2 ** 31 - 1 });
    },
  },
  {
    number: 20,
    name: "the wall clock steps by an hour, and timers are late by up to 5 s",
    allArrive: true,
    clock: (clock, random) => ({
      now: () => clock.now(),
      wallTime: () => clock.wallTime() + randomInt(random, 7_200_000) - 3_600_000,
      nextTurn: (run) => clock.nextTurn(run),
      setTimer: (ms, run) => clock.setTimer(ms + (random() < 0.1 ? randomInt(random, 5000) : 0), run),
    }),
    before: (stage) => often(stage, 0.1, { when: "after", disconnect: true }),
  },
  {
    number: 21,
    name: "little memory, and a broker ten times too slow",
    allArrive: true,
    producer: { bufferMemory: 4096, batchSize: 512, maxBlockMs: 3_000_000, deliveryTimeoutMs: 3_000_000 },
    before: (stage) => often(stage, 1, { delayMs: 100 }),
  },
  {
    number: 22,
    name: "sends are aborted and the producer is closed while connections end",
    before(stage) {
      often(stage, 0.1, { when: "after", disconnect: true });
      often(stage, 0.1, { disconnect: true });
      often(stage, 0.05, { silence: true });
    },
    signal({ clock, random }) {
      if (random() > 0.2) return undefined;
      const controller = new AbortController();
      clock.setTimer(randomInt(random, 40), () => controller.abort());
      return controller.signal;
    },
    after({ producer, random, seed }) {
      void producer.close(seed % 3 === 0 ? { timeoutMs: 0 } : { timeoutMs: randomInt(random, 5000) });
    },
  },
  {
    number: 23,
    name: "the producer's epoch is about to run out",
    modes: ["idempotent"],
    before(stage) {
      // 4 of length, 4 of correlation id, 1 of tags, 4 of throttle time, 2 of error, 8 of producer id: then the epoch.
      const lastEpochs = (frame: Uint8Array) => {
        new DataView(frame.buffer, frame.byteOffset).setInt16(23, 32765);
        return frame;
      };
      stage.broker.script({ api: "InitProducerId", corrupt: lastEpochs });
      // A batch refused for good takes an epoch, and those behind it begin a new one.
      often(stage, 0.05, { error: "INVALID_RECORD" });
    },
  },
  {
    number: 24,
    name: "answers that are no answers",
    allArrive: true,
    before(stage) {
      const { random } = stage;
      often(stage, 0.04, {
        corrupt: (frame) => (frame[4 + randomInt(random, 4)]! ^= 1 + randomInt(random, 255), frame),
      });
      often(stage, 0.04, { corrupt: (frame) => frame.fill(0xff, 0, 4) });
      often(stage, 0.04, { corrupt: (frame) => frame.subarray(0, 8).fill(0x41) });
      often(stage, 0.04, {
        corrupt: (frame) => {
          const cut = frame.slice(0, 9 + randomInt(random, frame.length - 9));
          new DataView(cut.buffer).setInt32(0, cut.length - 4);
          return cut;
        },
      });
    },
  },
];
