/**
 * Picks the sockets for the runtime the program runs in: `Deno.connect` in Deno, `node:net` in Node.js and Bun. The choice
 * is made on the first call, by dynamic import, so a bundler for the browser never meets `node:net`.
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

/** Opens a TCP or TLS connection with the sockets of the runtime. */
export const connect: Connect = async (
  host: string,
  port: number,
  options: ConnectOptions = {},
): Promise<Transport> => {
  const adapter = await load();
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

function load(): Promise<{ readonly connect: Connect }> {
  switch (runtime()) {
    case "deno":
      return import("./deno.ts");
    case "node":
      return import("./node.ts");
    default:
      return Promise.reject(noSockets("connect"));
  }
}

/**
 * Which sockets there are. Bun counts as Node.js: its own cannot be told to stop connecting, so that one host that does not
 * answer would keep a program from ending for two minutes. See bun.ts.
 */
function runtime(): "deno" | "node" | undefined {
  const { Deno, process } = globalThis as unknown as {
    Deno?: { connect?: unknown };
    process?: { versions?: { node?: unknown } };
  };
  // Deno has a `process`, too, so it comes first. The one that bundlers put into browsers has no versions.
  if (typeof Deno?.connect === "function") return "deno";
  return typeof process?.versions?.node === "string" ? "node" : undefined;
}

function noSockets(option: string): ConfigError {
  return new ConfigError(
    `this runtime has no TCP sockets that anykafka knows: pass your own "${option}" (browsers need a proxy over WebSocket)`,
    { code: "NO_SOCKETS" },
  );
}
