/**
 * `__transaction_state`: the log of the transaction coordinator.
 *
 * @module
 */

import { transactionLogKeySchema } from "../../protocol/records/transaction_log_key.ts";
import { transactionLogValueSchema } from "../../protocol/records/transaction_log_value.ts";
import type { Record } from "../../records/record.ts";
import { keyedMessage, type KeyedPayload, readKeyedPayload } from "./keyed_payload.ts";

const MESSAGES = [keyedMessage(transactionLogKeySchema, transactionLogValueSchema)];

/**
 * Decodes a record of `__transaction_state`: a transactional id and what is known of it.
 *
 * @throws CorruptRecordError when it is damaged, UnsupportedVersionError for a kind or version that is not known.
 */
export function decodeTransactions(record: Record): KeyedPayload {
  return readKeyedPayload(record, MESSAGES);
}
