/**
 * The APIs of the embedded broker by number. Only what stands here is told to clients.
 *
 * @module
 */

import type { Handler } from "./handler.ts";
import { apiVersionsHandler } from "./handlers/api_versions.ts";
import { createTopicsHandler } from "./handlers/create_topics.ts";
import { deleteTopicsHandler } from "./handlers/delete_topics.ts";
import { describeClusterHandler } from "./handlers/describe_cluster.ts";
import { describeConfigsHandler } from "./handlers/describe_configs.ts";
import { fetchHandler } from "./handlers/fetch.ts";
import { initProducerIdHandler } from "./handlers/init_producer_id.ts";
import { listOffsetsHandler } from "./handlers/list_offsets.ts";
import { metadataHandler } from "./handlers/metadata.ts";
import { produceHandler } from "./handlers/produce.ts";

/** Makes the table. */
export function handlerTable(): ReadonlyMap<number, Handler> {
  const table = new Map<number, Handler>();
  const handlers = [
    produceHandler,
    fetchHandler,
    listOffsetsHandler,
    metadataHandler,
    createTopicsHandler,
    deleteTopicsHandler,
    initProducerIdHandler,
    describeConfigsHandler,
    describeClusterHandler,
    apiVersionsHandler(table),
  ];
  for (const handler of handlers) table.set(handler.key, handler);
  return table;
}
