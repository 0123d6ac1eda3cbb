/**
 * What every client of one `Kafka` is given: checked options and the runtime's side, with the caller's own parts first.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import { resolveOptions } from "../core/option_table.ts";
import type { Resolved } from "../core/option_table.ts";
import { type Crc32c, loadCrc32c } from "../hash/crc32c.ts";
import type { Connect } from "../transport/transport.ts";
import { bootstrapServers } from "./bootstrap_servers.ts";
import { type ClientOptions, clientOptionTable } from "./client_options.ts";
import type { Platform } from "./platform.ts";

/** Options and seams of a client. */
export interface ClientContext {
  /** The options, checked and with defaults. */
  readonly client: Resolved<ClientOptions>;
  /** Opens sockets. */
  readonly connect: Connect;
  /** Resolves to the codecs: the caller's before the runtime's. */
  readonly codecs: () => Promise<Codecs>;
  /** Resolves to the checksum of record batches. */
  readonly crc32c: () => Promise<Crc32c>;
}

/**
 * Checks `options` and fills in what `platform` brings.
 *
 * @throws ConfigError
 */
export function clientContext(options: ClientOptions, platform: Platform): ClientContext {
  const client = withBackoffs(options, resolveOptions("Kafka", clientOptionTable, options));
  bootstrapServers(client.bootstrapServers);
  let codecs: Promise<Codecs> | undefined;
  let crc32c: Promise<Crc32c> | undefined;
  return {
    client,
    connect: client.connect ?? platform.connect,
    codecs: () => codecs ??= platform.codecs().then((native) => ({ ...native, ...client.codecs })),
    crc32c: () => crc32c ??= loadCrc32c(),
  };
}

/** Java's rules for waits whose limit is not given, or lower than what it limits. */
function withBackoffs(given: ClientOptions, resolved: Resolved<ClientOptions>): Resolved<ClientOptions> {
  const { logger, reconnectBackoffMs } = resolved;
  const isConstant = given.reconnectBackoffMs !== undefined && given.reconnectBackoffMaxMs === undefined;
  const client = isConstant ? { ...resolved, reconnectBackoffMaxMs: reconnectBackoffMs } : resolved;
  if (isConstant) {
    logger.warn(
      `reconnectBackoffMs is given without reconnectBackoffMaxMs: the wait is ${reconnectBackoffMs} ms each time`,
    );
  }
  for (
    const [name, limit] of [
      ["reconnectBackoffMs", "reconnectBackoffMaxMs"],
      ["retryBackoffMs", "retryBackoffMaxMs"],
      ["socketConnectionSetupTimeoutMs", "socketConnectionSetupTimeoutMaxMs"],
    ] as const
  ) {
    if (client[name] <= client[limit]) continue;
    logger.warn(`${name}=${client[name]} is above ${limit}=${client[limit]}, which is used each time`);
  }
  return client;
}
