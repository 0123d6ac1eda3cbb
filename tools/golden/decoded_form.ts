import { decodeOffsets } from "../../src/log/payloads/decode_offsets.ts";
import type { KeyedPayload } from "../../src/log/payloads/keyed_payload.ts";
import { PAYLOAD_DECODERS, PAYLOAD_NAME_OF_TOPIC } from "../../src/log/payloads/payload_decoders.ts";
import type { Record } from "../../src/records/record.ts";
import type { View } from "./differences.ts";

/** The payload of a record of one of Kafka's own topics, under the name of the class that decodes it there; undefined for other topics. */
export function decodedForm(topic: string, record: Record): View | undefined {
  const name = PAYLOAD_NAME_OF_TOPIC[topic];
  const { offset } = record;
  switch (name) {
    case undefined:
      return undefined;
    case "offsets":
      return { offset, ...groupPayload(decodeOffsets(record, { members: "base64" })) };
    case "transactions":
      return { offset, TransactionLogMessageFormatter: PAYLOAD_DECODERS[name](record) };
    default:
      return { offset, ...PAYLOAD_DECODERS[name](record) };
  }
}

/** Kafka's tools print commits and classic groups; what other records hold is told by the coordinator itself. */
function groupPayload(payload: KeyedPayload): { readonly [name: string]: View } {
  const { key, value } = payload;
  if (key.type <= 1) return { OffsetsMessageFormatter: payload };
  if (key.type === 2) return { GroupMetadataMessageFormatter: payload };
  return {
    GroupCoordinatorRecordSerde: {
      keyType: key.type,
      key: key.data,
      valueVersion: value?.version,
      value: value === null ? null : value.data,
    },
  };
}
