/**
 * What a record's key and value say, by `--decode`.
 *
 * @module
 */

import { KafkaError } from "../core/kafka_error.ts";
import type { PayloadDecoder, PayloadName } from "../log/payloads/payload_decoders.ts";
import type { Record as KafkaRecord } from "../records/record.ts";
import { type CommandInput, type CommandOption, UsageError } from "./command.ts";

/** The option. */
export const decodeOptions: Readonly<Record<string, CommandOption>> = {
  decode: {
    type: "string",
    value: "AS",
    help: "show keys and values as utf8, json or hex, or as what Kafka's own topics hold: offsets, transactions, " +
      "cluster-metadata, share-group-state, remote-log-metadata",
  },
};

/** Key and value as text; undefined where null. */
export interface PayloadText {
  /** Key. */
  readonly key: string | undefined;
  /** Value. */
  readonly value: string | undefined;
}

/** Shows keys and values. */
export interface PayloadView {
  /** Whether records are of one of Kafka's own topics. */
  readonly isKafkas: boolean;
  /** JSON text of an object with what the record says. */
  json(record: KafkaRecord): string;
  /** Both for a line of text. */
  text(record: KafkaRecord): PayloadText;
}

const KAFKAS: readonly PayloadName[] = [
  "offsets",
  "transactions",
  "cluster-metadata",
  "share-group-state",
  "remote-log-metadata",
];
const PLAIN = ["utf8", "json", "hex"] as const;

/**
 * The view that `--decode` asks for; undefined without it.
 *
 * @throws UsageError
 */
export async function payloadView(input: CommandInput): Promise<PayloadView | undefined> {
  const name = input.text("decode");
  if (name === undefined) return undefined;
  const kafkas = KAFKAS.find((known) => known === name);
  if (kafkas !== undefined) {
    // Sixty messages, which a start without them need not load.
    const { PAYLOAD_DECODERS } = await import("../log/payloads/payload_decoders.ts");
    return new KafkasView(PAYLOAD_DECODERS[kafkas]);
  }
  const plain = PLAIN.find((known) => known === name);
  if (plain !== undefined) return new PlainView(plain);
  throw new UsageError(`--decode ${name}: expected ${[...PLAIN, ...KAFKAS].join(", ")}`);
}

/** Bytes as text; without UTF-8 in them, as hex digits. */
class PlainView implements PayloadView {
  readonly isKafkas = false;
  readonly #form: typeof PLAIN[number];
  readonly #strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #lenient = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(form: typeof PLAIN[number]) {
    this.#form = form;
  }

  json({ key, value }: KafkaRecord): string {
    return `{"key":${this.#jsonOf(key)},"value":${this.#jsonOf(value)}}`;
  }

  text({ key, value }: KafkaRecord): PayloadText {
    return { key: this.#textOf(key), value: this.#textOf(value) };
  }

  /** A document in it stays as it is written, so that no number in it is rounded. */
  #jsonOf(bytes: Uint8Array | null): string {
    if (bytes === null) return "null";
    const text = this.#textOf(bytes)!;
    return this.#form === "json" && isJson(text) ? text.replace(/[\r\n]+\s*/g, "") : JSON.stringify(text);
  }

  #textOf(bytes: Uint8Array | null): string | undefined {
    if (bytes === null) return undefined;
    if (this.#form === "hex") return hex(bytes);
    if (this.#form === "utf8") return this.#lenient.decode(bytes);
    try {
      return this.#strict.decode(bytes);
    } catch {
      return hex(bytes);
    }
  }
}

/** Records of Kafka's own topics, in the form of its own tool. */
class KafkasView implements PayloadView {
  readonly isKafkas = true;
  readonly #decode: PayloadDecoder;

  constructor(decode: PayloadDecoder) {
    this.#decode = decode;
  }

  json(record: KafkaRecord): string {
    try {
      return JSON.stringify(this.#decode(record));
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
      return JSON.stringify({ error: error.message });
    }
  }

  text(record: KafkaRecord): PayloadText {
    try {
      const decoded = this.#decode(record);
      if ("key" in decoded) return keyedText(decoded);
      const { data, type, version } = decoded;
      return { key: undefined, value: JSON.stringify({ type, version, data }) };
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
      const text = `Error at offset ${record.offset}, skipping. ${error.message}`;
      return { key: text, value: undefined };
    }
  }
}

/** Kafka's tool puts numbers that tell kinds and versions into quotes, and says of a null value what it means. */
function keyedText(decoded: ReturnType<PayloadDecoder>): PayloadText {
  const key = decoded.key as { readonly type: number; readonly data: unknown };
  const value = decoded.value as { readonly version: number; readonly data: unknown } | null;
  return {
    key: JSON.stringify({ type: String(key.type), data: key.data }),
    value: value === null
      ? "<DELETE>"
      : withNumbers(JSON.stringify({ version: String(value.version), data: value.data })),
  };
}

/** Kafka's tool prints numbers as they are; the hash of a group's topics is the one that JavaScript's seldom hold. */
function withNumbers(json: string): string {
  return json.replace(/"metadataHash":"(-?\d+)"/g, '"metadataHash":$1');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Two digits a byte. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
