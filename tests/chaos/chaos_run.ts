/**
 * One run under a fault: an embedded broker of three nodes and a producer in one process, a network in memory, and a clock
 * that stands still until it is moved, so that a seed gives the same run each time. At the end the segment files say what
 * happened, and the promises must have said the same.
 */

import { Buffer } from "node:buffer";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import type { Clock, Timer } from "../../src/core/clock.ts";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { type Random, randomInt, seededRandom } from "../../src/core/random.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { Producer } from "../../src/producer/producer.ts";
import type { ProducerOptions } from "../../src/producer/producer_options.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { recordsOf } from "./segment_oracle.ts";

/** How a producer is set, and so what it promises. */
export type ChaosMode = "idempotent" | "acks-1" | "acks-0";

/** What a fault can lay hands on. */
export interface ChaosStage {
  readonly broker: EmbeddedBroker;
  readonly network: MemoryNetwork;
  readonly clock: ManualClock;
  readonly random: Random;
  readonly seed: number;
  readonly mode: ChaosMode;
  readonly producer: Producer;
  readonly topic: string;
  /** Hosts and ports of the nodes. */
  readonly addresses: readonly (readonly [host: string, port: number])[];
  /** Kills the broker, waits, and starts one over the same files at the same ports. */
  restart(downMs: number): Promise<void>;
}

/** One kind of fault. */
export interface ChaosFault {
  /** Its number in the project's table of faults. */
  readonly number: number;
  readonly name: string;
  /** Modes that it is run in; all when absent. */
  readonly modes?: readonly ChaosMode[];
  readonly records?: number;
  readonly producer?: ProducerOptions;
  readonly client?: Partial<ClientOptions>;
  /** The producer's clock, made of the stage's. */
  readonly clock?: (clock: ManualClock, random: Random) => Clock;
  /** Called before the first record. */
  before?(stage: ChaosStage): void | Promise<void>;
  /** Called between two groups of records; the group's number counts from 0. */
  between?(stage: ChaosStage, group: number): void | Promise<void>;
  /** Ends the fault, so that what still can arrive does. */
  after?(stage: ChaosStage): void | Promise<void>;
  /** A signal for a send; undefined for none. */
  signal?(stage: ChaosStage): AbortSignal | undefined;
  /** Whether an acknowledgement may come without an offset. */
  readonly mayLackOffset?: boolean;
  /** Whether records may be lost that were acknowledged with acks 1: none but where said. */
  readonly mayLose?: boolean;
  /** Whether every record must be acknowledged in the end, with acks other than 0. */
  readonly allArrive?: boolean;
}

/** What became of a run. */
export interface ChaosReport {
  readonly acked: number;
  readonly failed: number;
  readonly unknown: number;
  readonly stored: number;
  /** Each broken promise in words. */
  readonly violations: readonly string[];
}

interface Fate {
  readonly n: number;
  readonly state: "acked" | "not-written" | "unknown" | "rejected";
  readonly partition: number;
  readonly offset: number;
  readonly error: unknown;
}

const TOPIC = "chaos";
const PARTITIONS = 3;
const MODES: Readonly<Record<ChaosMode, ProducerOptions>> = {
  "idempotent": {},
  "acks-1": { acks: 1, enableIdempotence: false, maxInFlightRequestsPerConnection: 1 },
  "acks-0": { acks: 0, enableIdempotence: false },
};

/** Runs `fault` once. */
export async function chaosRun(fault: ChaosFault, mode: ChaosMode, seed: number): Promise<ChaosReport> {
  const random = seededRandom(seed * 7919 + fault.number * 104729);
  const clock = new ManualClock();
  const network = new MemoryNetwork({ clock });
  const storage = new MemoryStorage();
  const codecs = nativeCodecs();
  const startBroker = (port: number) =>
    EmbeddedBroker.start({
      listen: network.listen,
      storage,
      port,
      nodes: 3,
      topics: { [TOPIC]: PARTITIONS },
      autoCreateTopics: false,
      codecs,
      clock,
      random,
    });
  let broker = await startBroker(0);
  const addresses = broker.bootstrapServers.split(",").map((address) => {
    const [host, port] = address.split(":");
    return [host!, Number(port)] as const;
  });
  const counted = new CountingClock(fault.clock?.(clock, random) ?? clock);
  const context = clientContext(
    {
      bootstrapServers: broker.bootstrapServers,
      clock: counted,
      random,
      requestTimeoutMs: 2000,
      ...fault.client,
    },
    { connect: network.connect, codecs: () => Promise.resolve(codecs) },
  );
  let acknowledgements = 0;
  const producer = new Producer(context, {
    deliveryTimeoutMs: 60_000,
    batchSize: 256 << randomInt(random, 4),
    lingerMs: randomInt(random, 3) * 5,
    compressionType: seed % 4 === 3 ? "gzip" : "none",
    interceptors: [{ onAcknowledgement: () => void acknowledgements++ }],
    ...MODES[mode],
    ...fault.producer,
  });
  const stage: ChaosStage = {
    get broker() {
      return broker;
    },
    network,
    clock,
    random,
    seed,
    mode,
    producer,
    topic: TOPIC,
    addresses,
    restart: async (downMs) => {
      await clock.runUntil(broker.kill());
      await clock.advance(downMs);
      broker = await clock.runUntil(startBroker(addresses[0]![1]));
    },
  };
  await fault.before?.(stage);
  const sends: Promise<Fate>[] = [];
  const total = fault.records ?? 600;
  for (let group = 0; sends.length < total; group++) {
    for (let left = 1 + randomInt(random, 40); left > 0 && sends.length < total; left--) {
      sends.push(send(stage, sends.length, fault.signal?.(stage)));
    }
    await clock.advance(randomInt(random, 4) * 10);
    await fault.between?.(stage, group);
  }
  await fault.after?.(stage);
  const fates = await clock.runUntil(Promise.all(sends));
  await clock.runUntil(producer.close());
  await clock.runUntil(broker.close());
  const violations = await judge(fault, mode, fates, storage);
  if (counted.pending > 0) violations.push(`${counted.pending} timers are left after close`);
  if (acknowledgements !== total) violations.push(`${acknowledgements} acknowledgements of ${total} records`);
  const count = (state: Fate["state"]) => fates.filter((fate) => fate.state === state).length;
  return {
    acked: count("acked"),
    failed: count("not-written") + count("rejected"),
    unknown: count("unknown"),
    stored: fates.length,
    violations,
  };
}

function send({ producer, random }: ChaosStage, n: number, signal: AbortSignal | undefined): Promise<Fate> {
  const where = random() < 0.5 ? { partition: n % PARTITIONS } : random() < 0.5 ? { key: `${n % 17}` } : {};
  const value = `${n}`.padEnd(8 + randomInt(random, 120), ".");
  return producer.send({ topic: TOPIC, value, ...where }, signal === undefined ? {} : { signal }).then(
    ({ partition, offset }) => ({ n, state: "acked", partition, offset, error: undefined }),
    (error: unknown) => {
      const outcome = error instanceof KafkaError ? error.outcome : undefined;
      return { n, state: outcome ?? "unknown", partition: -1, offset: -1, error };
    },
  );
}

/** Counts the timers of whoever it is given to. */
class CountingClock implements Clock {
  pending = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  wallTime(): number {
    return this.#clock.wallTime();
  }

  nextTurn(run: () => void): void {
    this.#clock.nextTurn(run);
  }

  setTimer(ms: number, run: () => void): Timer {
    this.pending++;
    let isSet = true;
    const end = () => {
      if (isSet) this.pending--;
      isSet = false;
    };
    const timer = this.#clock.setTimer(ms, () => {
      end();
      run();
    });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }
}

/** Holds what the promises said against what lies in the files. */
async function judge(
  fault: ChaosFault,
  mode: ChaosMode,
  fates: readonly Fate[],
  storage: MemoryStorage,
): Promise<string[]> {
  const violations: string[] = [];
  const places = new Map<number, { partition: number; offsets: number[] }>();
  for (let partition = 0; partition < PARTITIONS; partition++) {
    let highest = -1;
    for (const { offset, value } of recordsOf(await logOf(storage, `${TOPIC}-${partition}`))) {
      const n = Number.parseInt(value, 10);
      const known = places.get(n);
      if (known === undefined) {
        places.set(n, { partition, offsets: [offset] });
        if (n < highest) violations.push(`order: record ${n} is stored behind ${highest} in partition ${partition}`);
        highest = Math.max(highest, n);
      } else {
        known.offsets.push(offset);
        if (mode !== "acks-1") violations.push(`doubled: record ${n} at ${known.offsets} of partition ${partition}`);
      }
    }
  }
  for (const { n, state, partition, offset, error } of fates) {
    const place = places.get(n);
    if (state === "acked" && place === undefined && mode !== "acks-0" && fault.mayLose !== true) {
      violations.push(`lost: record ${n} was acknowledged at ${partition}:${offset}`);
    }
    if (state === "acked" && place !== undefined && mode !== "acks-0") {
      const isThere = place.partition === partition && place.offsets.includes(offset);
      if (!isThere && !(fault.mayLackOffset === true && offset === -1)) {
        violations.push(
          `offset: record ${n} lies at ${place.partition}:${place.offsets}, told was ${partition}:${offset}`,
        );
      }
    }
    if ((state === "not-written" || state === "rejected") && place !== undefined) {
      violations.push(`ghost: record ${n} is stored, and was said to be ${state}: ${error}`);
    }
    if (!(error instanceof KafkaError) && state !== "acked") violations.push(`foreign error of record ${n}: ${error}`);
    if (fault.allArrive === true && mode !== "acks-0" && state !== "acked") {
      violations.push(`record ${n} did not arrive: ${state}, ${error}`);
    }
  }
  return violations;
}

/** All bytes of a partition's segments, in order. */
async function logOf(storage: MemoryStorage, folder: string): Promise<Uint8Array> {
  const partition = await storage.folder(folder);
  const parts: Uint8Array[] = [];
  for (const name of (await partition.list()).filter((name) => name.endsWith(".log"))) {
    const file = await partition.open(name);
    const bytes = new Uint8Array(file.size);
    await file.readAt(bytes, 0);
    parts.push(bytes);
    await file.close();
  }
  return Buffer.concat(parts);
}
