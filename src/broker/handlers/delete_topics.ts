/**
 * DeleteTopics (20), versions 1 to 6. The files are removed before the answer.
 *
 * @module
 */

import { BrokerError } from "../../core/kafka_error.ts";
import type { Input } from "../../protocol/api.ts";
import { ZERO_UUID } from "../../protocol/api.ts";
import {
  type DeleteTopicsRequest,
  type DeleteTopicsResponse,
  type DeleteTopicsResponseDeletableTopicResult,
  deleteTopicsServerApi,
} from "../../protocol/delete_topics.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";

/** Answers DeleteTopics. */
export const deleteTopicsHandler: Handler = handler(deleteTopicsServerApi, deleteTopics, {
  places: ({ topics, topicNames }) =>
    [...topicNames, ...topics.map(({ name }) => name)].flatMap((topic) => topic === null ? [] : { topic }),
});

async function deleteTopics(
  request: DeleteTopicsRequest,
  { broker, obeyScript, version }: RequestContext,
): Promise<Input<DeleteTopicsResponse>> {
  const wanted = version >= 6
    ? request.topics
    : request.topicNames.map((name): { name: string | null; topicId: string } => ({ name, topicId: ZERO_UUID }));
  const responses: Input<DeleteTopicsResponseDeletableTopicResult>[] = [];
  for (const { name, topicId } of wanted) {
    const topic = name === null ? broker.topics.byId(topicId) : broker.topics.get(name);
    if (topic === undefined) {
      const error = name === null ? "UNKNOWN_TOPIC_ID" : "UNKNOWN_TOPIC_OR_PARTITION";
      responses.push({ name, ...(version >= 6 ? { topicId } : {}), errorCode: errorCodeOf(error) });
      continue;
    }
    const answer = { name: topic.name, ...(version >= 6 ? { topicId: topic.id } : {}) };
    try {
      obeyScript("before", { topic: topic.name });
      await broker.topics.delete(topic.name);
      obeyScript("after", { topic: topic.name });
      responses.push(answer);
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      responses.push({ ...answer, errorCode: error.errorCode });
    }
  }
  return { responses };
}
