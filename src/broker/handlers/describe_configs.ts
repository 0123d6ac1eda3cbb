/**
 * DescribeConfigs (32), versions 1 to 4, for topics: the configs of `topic_config.ts`. A broker has none to tell.
 *
 * @module
 */

import { BrokerError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import {
  type DescribeConfigsRequest,
  type DescribeConfigsRequestDescribeConfigsResource,
  type DescribeConfigsResponse,
  type DescribeConfigsResponseDescribeConfigsResult,
  describeConfigsServerApi,
} from "../../protocol/describe_configs.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";
import { describeTopicConfig } from "../topic_config.ts";

const TOPIC = 2;
const SOURCE_TOPIC = 1;
const SOURCE_DEFAULT = 5;

/** Answers DescribeConfigs. */
export const describeConfigsHandler: Handler = handler(describeConfigsServerApi, describeConfigs, {
  places: ({ resources }) => resources.map(({ resourceName }) => ({ topic: resourceName })),
});

function describeConfigs(request: DescribeConfigsRequest, context: RequestContext): Input<DescribeConfigsResponse> {
  return { results: request.resources.map((resource) => describe(resource, context)) };
}

function describe(
  { resourceType, resourceName, configurationKeys }: DescribeConfigsRequestDescribeConfigsResource,
  { broker, obeyScript }: RequestContext,
): Input<DescribeConfigsResponseDescribeConfigsResult> {
  try {
    obeyScript("before", { topic: resourceName });
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    return { resourceType, resourceName, errorCode: error.errorCode };
  }
  if (resourceType !== TOPIC) return { resourceType, resourceName };
  const topic = broker.topics.get(resourceName);
  if (topic === undefined) {
    return { resourceType, resourceName, errorCode: errorCodeOf("UNKNOWN_TOPIC_OR_PARTITION") };
  }
  const configs = describeTopicConfig(topic.config)
    .filter(({ name }) => configurationKeys === null || configurationKeys.includes(name))
    .map(({ name, value, isDefault }) => ({
      name,
      value,
      configSource: isDefault ? SOURCE_DEFAULT : SOURCE_TOPIC,
    }));
  return { resourceType, resourceName, configs };
}
