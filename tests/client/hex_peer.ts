/**
 * A connection before a peer that answers in hexadecimal, so that a test says every byte that comes, right or wrong.
 *
 * @module
 */

import { Connection, type ConnectionOptions } from "../../src/client/connection.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { fromHex } from "../helpers/hex.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** ApiVersions v4 answer: error 0; Metadata 0 to 1 and ApiVersions 0 to 4; throttle 0; no tags. */
export const VERSIONS: string = "0000" + "03" + "0003" + "0000" + "0001" + "00" + "0012" + "0000" + "0004" + "00" +
  "00000000" +
  "00";
/** ApiVersions v0 answer: error 0; Metadata 0 to 1. */
export const VERSIONS_0: string = "0000" + "00000001" + "0003" + "0000" + "0001";
/** Metadata v1 answer: no brokers, controller −1, no topics. */
export const METADATA: string = "00000000" + "ffffffff" + "00000000";

/** The answer to a request, without length and correlation id; undefined for none. */
export type HexHandler = (request: DataView, transport: Transport) => string | undefined;

/** A peer that a connection can be opened to. */
export interface HexStage {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  /** Why each connection ended, in order. */
  readonly ended: KafkaError[];
  open(options?: Partial<ConnectionOptions>): Promise<Connection>;
  /** Runs time until `promise` settles. */
  run<T>(promise: Promise<T>): Promise<T>;
}

/** `n` as four bytes. */
export function int32(n: number): string {
  return (n >>> 0).toString(16).padStart(8, "0");
}

/** Bytes of a frame around `body`. */
export function frame(body: string): Uint8Array {
  return fromHex(int32(body.length / 2) + body);
}

/** Whether `request` asks for versions. */
export function isVersions(request: DataView): boolean {
  return request.getInt16(0) === 18;
}

/** Answers as a broker that works. */
export const usual: HexHandler = (request) => {
  if (!isVersions(request)) return METADATA;
  return request.getInt16(2) === 0 ? VERSIONS_0 : VERSIONS;
};

/** A peer at broker:1 that answers each request with the hex that `handler` gives, behind its correlation id. */
export async function hexStage(handler: HexHandler): Promise<HexStage> {
  const clock = new ManualClock();
  const network = new MemoryNetwork({ clock });
  const ended: KafkaError[] = [];
  await network.listen("broker", 1, (transport) => void serve(transport, handler));
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(() => {});
    await clock.runUntil(promise.then(() => {}, () => {}), 1_000_000);
    return await promise;
  };
  const open = (options: Partial<ConnectionOptions> = {}) =>
    run(Connection.open({
      node: "node 1 (broker:1)",
      host: "broker",
      port: 1,
      connect: network.connect,
      tls: false,
      clientId: "test",
      setupTimeoutMs: 1000,
      requestTimeoutMs: 500,
      maxIdleMs: 60_000,
      maxFrameSize: 1_000_000,
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      onEnd: (_, error) => ended.push(error),
      ...options,
    }));
  return { clock, network, ended, open, run };
}

async function serve(transport: Transport, handler: HexHandler): Promise<void> {
  const frames = new FrameReader(transport, { peer: "client" });
  try {
    for (let bytes = await frames.next(); bytes !== null; bytes = await frames.next()) {
      const request = new DataView(bytes.buffer);
      const answer = handler(request, transport);
      if (answer !== undefined) await transport.write([frame(int32(request.getInt32(4)) + answer)]);
    }
  } catch {
    // The client is gone.
  }
}
