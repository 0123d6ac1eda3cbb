/**
 * What a cluster consists of: its nodes, their ports and files. Written to `cluster.json` in the cluster's directory, so that another process can
 * use, kill or restart its nodes.
 *
 * @module
 */
import fs from "node:fs";
import path from "node:path";
import { LauncherError } from "./launcher_error.ts";

/** The address everything binds to: nothing of a test cluster is reachable from outside. */
export const host = "127.0.0.1";

/** The listeners for clients, and where in its node's block of ten ports each lies. */
export const listenerOffsets = { PLAINTEXT: 0, SSL: 1, MTLS: 2, SASL_PLAINTEXT: 3, SASL_SSL: 4 } as const;

/** A listener for clients. */
export type Listener = keyof typeof listenerOffsets;

/** Where in its block a node's controller listens. */
export const controllerOffset = 9;

/** Ports a node may use. */
export const portsPerNode = 10;

/** What `cluster.json` holds. */
export interface ClusterLayout {
  /** Apache Kafka's version. */
  readonly kafkaVersion: string;
  /** Whether there are listeners other than PLAINTEXT. */
  readonly secure: boolean;
  /** Whether the directory was made for this run and its data goes with it. */
  readonly temporary: boolean;
  /** Further options of the brokers' JVMs. */
  readonly jvm: readonly string[];
  /** The nodes; each is broker and controller. */
  readonly nodes: readonly NodeLayout[];
}

/** One node. */
export interface NodeLayout {
  /** `node.id`, from 1. */
  readonly id: number;
  /** First of its ten ports. */
  readonly basePort: number;
}

/** Port of one of a node's listeners. */
export function portOf(node: NodeLayout, listener: Listener): number {
  return node.basePort + listenerOffsets[listener];
}

/** The listeners for clients of a cluster. */
export function listenersOf(secure: boolean): Listener[] {
  return secure ? Object.keys(listenerOffsets) as Listener[] : ["PLAINTEXT"];
}

/** `host:port,…` of every node for one listener. */
export function bootstrapOf(nodes: readonly NodeLayout[], listener: Listener): string {
  return nodes.map((node) => `${host}:${portOf(node, listener)}`).join(",");
}

/** The files of a cluster's directory. */
export const clusterFiles = {
  layout: (directory: string): string => path.join(directory, "cluster.json"),
  properties: (directory: string, id: number): string => path.join(directory, `node-${id}.properties`),
  log: (directory: string, id: number): string => path.join(directory, `node-${id}.log`),
  data: (directory: string): string => path.join(directory, "data"),
  nodeData: (directory: string, id: number): string => path.join(directory, "data", `node-${id}`),
  certificates: (directory: string): string => path.join(directory, "certificates"),
  javaServer: (directory: string): string => path.join(directory, "java-server"),
  javaServerLog: (directory: string): string => path.join(directory, "java-server.log"),
  watchdogLog: (directory: string): string => path.join(directory, "watchdog.log"),
} as const;

/** Writes `cluster.json`. */
export function writeLayout(directory: string, layout: ClusterLayout): void {
  fs.writeFileSync(clusterFiles.layout(directory), JSON.stringify(layout, null, 2) + "\n");
}

/** Reads `cluster.json`. */
export function readLayout(directory: string): ClusterLayout {
  const file = clusterFiles.layout(directory);
  if (!fs.existsSync(file)) {
    throw new LauncherError(
      `${directory} holds no cluster (no ${path.basename(file)}): start one with --dir ${directory}`,
    );
  }
  return JSON.parse(fs.readFileSync(file, "utf8")) as ClusterLayout;
}
