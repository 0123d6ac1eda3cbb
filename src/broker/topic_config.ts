/**
 * The configs of a topic. `max.message.bytes`, `message.timestamp.type` and `segment.bytes` are acted on; those about
 * deletion, compaction and replicas are accepted and told back, but a development broker keeps every record.
 *
 * @module
 */

import { refusal } from "./refusal.ts";

/** The configs that the broker acts on. */
export interface TopicConfig {
  /** Largest batch in bytes. Kafka: `max.message.bytes`. */
  readonly maxMessageBytes: number;
  /** Whether the broker stamps its time on records. Kafka: `message.timestamp.type`. */
  readonly timestampType: "CreateTime" | "LogAppendTime";
  /** Bytes of one segment; undefined for the broker's own setting. Kafka: `segment.bytes`. */
  readonly segmentBytes: number | undefined;
  /** What was given, as text. */
  readonly given: ReadonlyMap<string, string>;
}

const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["cleanup.policy", "delete"],
  ["compression.type", "producer"],
  ["max.message.bytes", "1048588"],
  ["message.timestamp.type", "CreateTime"],
  ["min.insync.replicas", "1"],
  ["retention.bytes", "-1"],
  ["retention.ms", "-1"],
  ["segment.bytes", "1073741824"],
]);

/** The configs of a topic that was made without any. */
export const DEFAULT_TOPIC_CONFIG: TopicConfig = {
  maxMessageBytes: 1048588,
  timestampType: "CreateTime",
  segmentBytes: undefined,
  given: new Map(),
};

/**
 * Reads configs given as text; null stands for the default.
 *
 * @throws BrokerError INVALID_CONFIG
 */
export function parseTopicConfig(topic: string, given: ReadonlyMap<string, string | null>): TopicConfig {
  const set = new Map<string, string>();
  for (const [name, value] of given) {
    if (!DEFAULTS.has(name)) {
      throw refusal("INVALID_CONFIG", `topic ${topic}: the embedded broker has no config ${name}`);
    }
    if (value !== null) set.set(name, value);
  }
  const timestampType = set.get("message.timestamp.type") ?? "CreateTime";
  if (timestampType !== "CreateTime" && timestampType !== "LogAppendTime") {
    throw refusal(
      "INVALID_CONFIG",
      `topic ${topic}: message.timestamp.type must be CreateTime or LogAppendTime, not ${timestampType}`,
    );
  }
  return {
    maxMessageBytes: integer(topic, set, "max.message.bytes", 0) ?? DEFAULT_TOPIC_CONFIG.maxMessageBytes,
    timestampType,
    // Kafka's least; below it a segment may not hold one batch.
    segmentBytes: integer(topic, set, "segment.bytes", 1024 * 1024),
    given: set,
  };
}

/** Every config with its value, by name. */
export function describeTopicConfig(
  config: TopicConfig,
): { readonly name: string; readonly value: string; readonly isDefault: boolean }[] {
  return [...DEFAULTS].map(([name, fallback]) => {
    const value = config.given.get(name);
    return { name, value: value ?? fallback, isDefault: value === undefined };
  });
}

function integer(topic: string, given: ReadonlyMap<string, string>, name: string, min: number): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= 0x7fffffff) return value;
  throw refusal("INVALID_CONFIG", `topic ${topic}: ${name} must be an integer from ${min} to 2147483647, not ${text}`);
}
