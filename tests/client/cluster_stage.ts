/**
 * A client's view of embedded brokers, with the network, the names of hosts and time in the test's hands.
 *
 * @module
 */

import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import { type BrokerFault, EmbeddedBroker, type EmbeddedBrokerOptions } from "../../src/broker/embedded_broker.ts";
import { type ClientContext, clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import { Cluster } from "../../src/client/cluster.ts";
import { seededRandom } from "../../src/core/random.ts";
import type { Input } from "../../src/protocol/api.ts";
import { decodeMetadataResponse, encodeMetadataResponse, type MetadataResponse } from "../../src/protocol/metadata.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Connect } from "../../src/transport/transport.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** A host and a port. */
export type Address = readonly [host: string, port: number];

/** A request that a broker got. */
export interface Seen {
  readonly api: string;
  readonly node: number;
  readonly at: number;
  /** Topics that it names. */
  readonly topics: readonly string[];
}

/** The parts of a test. */
export interface ClusterStage {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly broker: EmbeddedBroker;
  readonly context: ClientContext;
  readonly cluster: Cluster;
  /** Requests to the broker, in order. */
  readonly seen: Seen[];
  /** Attempts to connect: address as asked for, and when. */
  readonly attempts: { readonly to: string; readonly at: number }[];
  /** Where names lead; a name that is not here is an address. */
  readonly names: Map<string, Address>;
  /** Where node 1, 2, … listen. */
  readonly addresses: readonly Address[];
  /** When each request of an API came. */
  times(api: string): number[];
  /** Runs time until `promise` settles. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Lets a node, all of them when absent, take connections, refuse or ignore them. */
  reach(how: "open" | "refuse" | "silent", node?: number): void;
  /** Ends what was started, and answers the timers that are left. */
  close(): Promise<number>;
}

/** A client of a broker with the given nodes, known to it by the name `start`, which is node 1. */
export async function clusterStage(
  options: Partial<EmbeddedBrokerOptions> = {},
  client: Partial<ClientOptions> = {},
): Promise<ClusterStage> {
  const clock = new ManualClock();
  const network = new MemoryNetwork({ clock });
  const broker = await startBroker(network, clock, options);
  const addresses = addressesOf(broker);
  const names = new Map<string, Address>([["start", addresses[0]!]]);
  const attempts: { to: string; at: number }[] = [];
  const connect: Connect = (host, port, options) => {
    attempts.push({ to: `${host}:${port}`, at: clock.now() });
    return network.connect(...(names.get(host) ?? [host, port]), options);
  };
  const context = clientContext(
    { bootstrapServers: "start:9092", clock, random: () => 0.5, requestTimeoutMs: 1000, ...client },
    { connect, codecs: () => Promise.resolve({}) },
  );
  const cluster = new Cluster({ client: context.client, connect, allowAutoTopicCreation: false });
  const seen = watch(broker, clock);
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(() => {});
    await clock.runUntil(promise.then(() => {}, () => {}), 10_000_000);
    return await promise;
  };
  return {
    clock,
    network,
    broker,
    context,
    cluster,
    seen,
    attempts,
    names,
    addresses,
    times: (api) => seen.filter((request) => request.api === api).map(({ at }) => at),
    run,
    reach(how, node) {
      const which = node === undefined ? addresses : [addresses[node - 1]!];
      for (const [host, port] of which) {
        network.setReachability(host, port, how);
        if (how !== "open") network.cutAll(host, port);
      }
    },
    async close() {
      cluster.close();
      await run(broker.close());
      await clock.flush();
      return clock.pendingTimers;
    },
  };
}

/** A broker with topic `t`, of one partition. */
export function startBroker(
  network: MemoryNetwork,
  clock: ManualClock,
  options: Partial<EmbeddedBrokerOptions> = {},
): Promise<EmbeddedBroker> {
  return EmbeddedBroker.start({
    listen: network.listen,
    clock,
    topics: { t: 1 },
    autoCreateTopics: false,
    random: seededRandom(5),
    ...options,
  });
}

/** Where its nodes listen. */
export function addressesOf(broker: EmbeddedBroker): Address[] {
  return broker.bootstrapServers.split(",").map((address) => {
    const [host, port] = address.split(":");
    return [host!, Number(port)] as const;
  });
}

/** The requests that `broker` gets from now on. */
export function watch(broker: EmbeddedBroker, clock: ManualClock): Seen[] {
  const seen: Seen[] = [];
  broker.script({
    if: ({ api, node, places }) => {
      seen.push({ api, node, at: clock.now(), topics: places.map(({ topic }) => topic) });
      return false;
    },
  });
  return seen;
}

/** A fault that makes Metadata answers say something else. */
export function metadataSays(edit: (answer: MetadataResponse) => Input<MetadataResponse>): BrokerFault {
  let version = 0;
  return {
    api: "Metadata",
    times: Infinity,
    if: (request) => {
      version = request.version;
      return true;
    },
    corrupt: (frame) => {
      // Length, correlation id, no tags.
      const start = version >= 9 ? 9 : 8;
      const answer = decodeMetadataResponse(new Reader(frame, "answer", start), version);
      const writer = new Writer();
      encodeMetadataResponse(writer, edit(answer), version);
      const body = writer.toBytes();
      const edited = new Uint8Array(start + body.length);
      edited.set(frame.subarray(0, start));
      edited.set(body, start);
      new DataView(edited.buffer).setInt32(0, edited.length - 4);
      return edited;
    },
  };
}
