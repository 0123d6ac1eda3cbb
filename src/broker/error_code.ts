/**
 * Kafka's numbers of errors by their names.
 *
 * @module
 */

import { errorTable } from "../protocol/error_table.ts";

/** Kafka's number of an error; 0 for none. */
export type ErrorCode = number;

/** The number of the error called `name`; that of UNKNOWN_SERVER_ERROR for a name that Kafka does not have. */
export function errorCodeOf(name: string): ErrorCode {
  for (const info of errorTable().values()) if (info.name === name) return info.code;
  return -1;
}
