/**
 * Reads `bootstrap.servers`.
 *
 * @module
 */

import { ConfigError } from "../core/kafka_error.ts";

/** Where a broker listens. */
export interface HostPort {
  /** Name or address; an IPv6 address without brackets. */
  readonly host: string;
  /** Port, 1 to 65535. */
  readonly port: number;
}

/**
 * The servers in `list`: `host:port` items, also comma-separated within one string, IPv6 addresses in brackets.
 *
 * @throws ConfigError that quotes the item that is not one, or says that there is none.
 */
export function bootstrapServers(list: string | readonly string[] | undefined): HostPort[] {
  const items = (typeof list === "string" ? [list] : list ?? []).flatMap((item) => item.split(","));
  const servers = new Map<string, HostPort>();
  for (const item of items.map((text) => text.trim())) {
    if (item === "") continue;
    const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([^\s:/\[\]@]+)):(\d{1,5})$/.exec(item);
    const port = Number(match?.[3]);
    if (match === null || port < 1 || port > 65535) {
      throw new ConfigError(`bootstrapServers (bootstrap.servers): "${item}" is not host:port: ${mistakeIn(item)}`);
    }
    const server = { host: (match[1] ?? match[2])!, port };
    servers.set(hostPortText(server), server);
  }
  if (servers.size === 0) {
    throw new ConfigError('bootstrapServers (bootstrap.servers) is needed: one or more "host:port"');
  }
  return [...servers.values()];
}

/** What is wrong with an item, and what to do. */
function mistakeIn(item: string): string {
  if (item.includes("://")) return "leave out the protocol, which is the option securityProtocol";
  const [, host, port] = /^(.*?)(?::([^:\]]*))?$/.exec(item)!;
  if (host!.replace(/^\[.*\]$/, "").includes(":")) return "an IPv6 address goes in brackets, as in [::1]:9092";
  if (port === undefined || port === "") return `the port is missing, as in ${host === "" ? "localhost" : host}:9092`;
  if (!/^\d+$/.test(port)) return `the port is "${port}"`;
  if (Number(port) < 1 || Number(port) > 65535) return "a port is a number from 1 to 65535";
  return host === "" ? "the host is missing" : "no host has such a name";
}

/** `host:port`, with an IPv6 address in brackets. */
export function hostPortText({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
