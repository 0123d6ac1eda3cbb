/**
 * DescribeCluster (60), versions 0 to 2. The nodes that run; no authorized operations.
 *
 * @module
 */

import type { Input } from "../../protocol/api.ts";
import {
  type DescribeClusterRequest,
  type DescribeClusterResponse,
  describeClusterServerApi,
} from "../../protocol/describe_cluster.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";

/** Answers DescribeCluster. */
export const describeClusterHandler: Handler = handler(describeClusterServerApi, describeCluster, {
  failed: (errorCode) => ({ errorCode }),
});

function describeCluster(_: DescribeClusterRequest, { broker }: RequestContext): Input<DescribeClusterResponse> {
  return {
    clusterId: broker.clusterId,
    controllerId: broker.nodes[0]?.id ?? -1,
    brokers: broker.nodes.map(({ id: brokerId, host, port }) => ({ brokerId, host, port })),
  };
}
