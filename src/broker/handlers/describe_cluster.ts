/**
 * DescribeCluster (60), versions 0 to 2. One node; no authorized operations.
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
export const describeClusterHandler: Handler = handler(describeClusterServerApi, describeCluster);

function describeCluster(_: DescribeClusterRequest, { broker }: RequestContext): Input<DescribeClusterResponse> {
  return {
    clusterId: broker.clusterId,
    controllerId: broker.nodeId,
    brokers: [{ brokerId: broker.nodeId, host: broker.host, port: broker.port }],
  };
}
