/**
 * Picks the sockets of the runtime the program runs in: Deno, Bun or Node.js. The choice is made on the first call, by
 * dynamic import, so a bundler for the browser never meets `node:net`.
 *
 * `Kafka` of the main entry point uses it by itself; here it is for programs that wrap it.
 *
 * ```ts no-run
 * import { Kafka } from "@anykafka/kafka";
 * import { connect } from "@anykafka/kafka/auto";
 *
 * const kafka = new Kafka({
 *   bootstrapServers: "broker.internal:9092",
 *   connect: (host, port, options) => connect("localhost", port, options), // through a tunnel
 * });
 * ```
 *
 * @module
 */

import { ConfigError } from "../src/core/kafka_error.ts";
import type { Connect, ConnectOptions, Listen, Listener, TlsOptions, Transport } from "../src/transport/transport.ts";

export type { Connect, ConnectOptions, Listen, Listener, TlsOptions, Transport };

/** Opens a TCP or TLS connection with the runtime's own sockets. */
export const connect: Connect = async (
  host: string,
  port: number,
  options: ConnectOptions = {},
): Promise<Transport> => {
  const adapter = await load("connect");
  return await adapter.connect(host, port, options);
};

/** Listens for TCP connections; `node:net` does it in all three runtimes. */
export const listen: Listen = async (
  host: string,
  port: number,
  accept: (transport: Transport) => void,
): Promise<Listener> => {
  if (runtime() === undefined) throw noSockets("listen");
  const adapter = await import("./node.ts");
  return await adapter.listen(host, port, accept);
};

function load(option: string): Promise<{ readonly connect: Connect }> {
  switch (runtime()) {
    case "deno":
      return import("./deno.ts");
    case "bun":
      return import("./bun.ts");
    case "node":
      return import("./node.ts");
    default:
      return Promise.reject(noSockets(option));
  }
}

function runtime(): "deno" | "bun" | "node" | undefined {
  const { Deno, Bun, process } = globalThis as unknown as {
    Deno?: { connect?: unknown };
    Bun?: { connect?: unknown };
    process?: { versions?: { node?: unknown } };
  };
  // Bundlers put a pretended `process` into browsers; it has no version. Deno and Bun have a real one, so they come first.
  if (typeof Deno?.connect === "function") return "deno";
  if (typeof Bun?.connect === "function") return "bun";
  return typeof process?.versions?.node === "string" ? "node" : undefined;
}

function noSockets(option: string): ConfigError {
  return new ConfigError(
    `this runtime has no TCP sockets that anykafka knows: pass your own "${option}" (browsers need a proxy over WebSocket)`,
    { code: "NO_SOCKETS" },
  );
}
