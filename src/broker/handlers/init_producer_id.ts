/**
 * InitProducerId (22), versions 0 to 5. Idempotent producers only: a transactional id is refused. A producer that names
 * the id it has keeps it and gets the next epoch.
 *
 * @module
 */

import type { Input } from "../../protocol/api.ts";
import {
  type InitProducerIdRequest,
  type InitProducerIdResponse,
  initProducerIdServerApi,
} from "../../protocol/init_producer_id.ts";
import { errorCodeOf } from "../error_code.ts";
import { type Handler, handler, type RequestContext } from "../handler.ts";

const MAX_EPOCH = 32767;

/** Answers InitProducerId. */
export const initProducerIdHandler: Handler = handler(initProducerIdServerApi, initProducerId, {
  maxVersion: 5,
  failed: (errorCode) => ({ errorCode, producerId: -1, producerEpoch: -1 }),
});

function initProducerId(request: InitProducerIdRequest, { broker }: RequestContext): Input<InitProducerIdResponse> {
  if (request.transactionalId !== null) {
    return { errorCode: errorCodeOf("INVALID_REQUEST"), producerId: -1, producerEpoch: -1 };
  }
  const { producerId, producerEpoch } = request;
  // The last epoch is left alone: after it there is none to fence with.
  if (producerId >= 0 && producerEpoch >= 0 && producerEpoch < MAX_EPOCH - 1) {
    return { producerId, producerEpoch: producerEpoch + 1 };
  }
  return { producerId: broker.nextProducerId(), producerEpoch: 0 };
}
