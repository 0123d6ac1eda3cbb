/**
 * Makes errors out of the numbers that brokers answer with.
 *
 * @module
 */

import { BrokerError, type ErrorDetails } from "../core/kafka_error.ts";
import { errorOf } from "./error_table.ts";

/** The error for the broker's `errorCode` in answer to `what`, named and classified as Kafka does. */
export function brokerError(errorCode: number, what: string, details: ErrorDetails = {}): BrokerError {
  const { name, retriable } = errorOf(errorCode);
  return new BrokerError(`${what}: ${name} (${errorCode})`, errorCode, { code: name, retriable, ...details });
}
