/**
 * The configuration of one node.
 *
 * @module
 */
import {
  clusterFiles,
  type ClusterLayout,
  controllerOffset,
  host,
  listenersOf,
  type NodeLayout,
  portOf,
} from "./cluster_layout.ts";
import type { Properties } from "./properties.ts";
import { securityProperties } from "./security.ts";

/** What `server.properties` of `node` says; `settings` win over ours. */
export function serverProperties(
  directory: string,
  layout: ClusterLayout,
  node: NodeLayout,
  settings: Properties = {},
): Properties {
  const listeners = listenersOf(layout.secure);
  const addresses = listeners.map((listener) => `${listener}://${host}:${portOf(node, listener)}`);
  const controller = (other: NodeLayout): string => `${host}:${other.basePort + controllerOffset}`;
  const replicas = Math.min(3, layout.nodes.length);
  const inSync = Math.min(2, layout.nodes.length);
  return {
    "process.roles": "broker,controller",
    "node.id": node.id,
    "controller.quorum.voters": layout.nodes.map((other) => `${other.id}@${controller(other)}`).join(","),
    "controller.listener.names": "CONTROLLER",
    "listeners": [...addresses, `CONTROLLER://${controller(node)}`].join(","),
    "advertised.listeners": addresses.join(","),
    "listener.security.protocol.map":
      "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,MTLS:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.dirs": clusterFiles.nodeData(directory, node.id),
    // A test that creates its topics is repeatable; one whose leaders move back by themselves after five minutes is not.
    "auto.create.topics.enable": false,
    "auto.leader.rebalance.enable": false,
    // Records of a test may be as old as it likes; by default a broker deletes those older than a week, 30 s after its start and every 5 minutes.
    "log.retention.ms": -1,
    "num.partitions": 1,
    "default.replication.factor": replicas,
    "min.insync.replicas": inSync,
    "offsets.topic.replication.factor": replicas,
    "transaction.state.log.replication.factor": replicas,
    "transaction.state.log.min.isr": inSync,
    "share.coordinator.state.topic.replication.factor": replicas,
    "share.coordinator.state.topic.min.isr": inSync,
    // Fifty partitions each, the default, slow the first use of a group or transaction.
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.num.partitions": 4,
    "group.initial.rebalance.delay.ms": 0,
    // The default takes 128 MB of heap.
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "num.network.threads": 2,
    "num.io.threads": 4,
    ...(layout.secure ? securityProperties(clusterFiles.certificates(directory)) : {}),
    ...settings,
  };
}
