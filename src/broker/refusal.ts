/**
 * How a handler says no: an error with Kafka's name and number, which goes to the client in the answer.
 *
 * @module
 */

import { BrokerError } from "../core/kafka_error.ts";
import { errorCodeOf } from "./error_code.ts";

/** The error called `code`, with a message for people. */
export function refusal(code: string, message: string): BrokerError {
  return new BrokerError(message, errorCodeOf(code), { code });
}
