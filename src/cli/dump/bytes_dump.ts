/**
 * A dump that explains batches byte by byte: where a field is, its bytes, its name, what it says and what that means.
 *
 * @module
 */

import { crc32 } from "../../hash/crc32.ts";
import { crc32c } from "../../hash/crc32c.ts";
import type { Record as KafkaRecord } from "../../records/record.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS as F, RECORD_BATCH_OVERHEAD } from "../../records/record_batch.ts";
import type { ByteOutput } from "../byte_output.ts";
import type { BatchView, DecodedRecords } from "./batch_view.ts";
import type { DumpedBatch } from "./dump_format.ts";
import { type Int64, int64, int64At } from "./int64.ts";
import { escaped, TextDump } from "./text_dump.ts";

const BYTES_A_LINE = 8;
/** Lines of one field; the rest is only counted. */
const MAX_LINES = 8;
const NAME_WIDTH = 21;

/** Explains batches; other files are shown as text. */
export class BytesDump extends TextDump {
  /** The batch whose records come next, and where each of them begins in the bytes they lie in. */
  #current: { readonly decoded: DecodedRecords; readonly starts: readonly number[] } | undefined;

  /** Writes to `out`. */
  constructor(out: ByteOutput) {
    super(out);
  }

  override batch({ decoded, error, file, view }: DumpedBatch): void {
    const { batch } = view;
    this.out.text(`\nbatch at byte ${batch.position} of ${file.label}: ${batch.size} bytes\n`);
    const fields = new Fields(this.out, batch.bytes, batch.position);
    if (view.isV2) this.#header(fields, view, decoded);
    else this.#message(fields, view, decoded);
    if (error !== undefined) this.out.text(`  cannot be decoded: ${error.message}\n`);
    this.#current = decoded === undefined ? undefined : { decoded, starts: startsOf(view, decoded) };
  }

  override record(batch: DumpedBatch, decoded: DecodedRecords, record: KafkaRecord, n: number): void {
    const start = this.#current?.decoded === decoded ? this.#current.starts[n] : undefined;
    if (start === undefined) return;
    const { view } = batch;
    const offset = decoded.offsetOf(record);
    if (!view.isV2) {
      // A message that wraps none was told with its batch.
      if (view.codec === "none") return;
      this.out.text(` message ${n} at byte ${start} of what it inflates to: offset ${offset}\n`);
      this.#message(new Fields(this.out, record.buffer, undefined, start), undefined, decoded);
      return;
    }
    const isInflated = view.codec !== "none";
    const position = isInflated ? undefined : view.batch.position + RECORD_BATCH_OVERHEAD;
    const where = isInflated ? `byte ${start} of what they inflate to` : `byte ${position! + start}`;
    this.out.text(` record ${n} at ${where}: offset ${offset}\n`);
    this.#record(new Fields(this.out, decoded.payload!, position, start), view, decoded, record, n);
  }

  #header(fields: Fields, view: BatchView, decoded: DecodedRecords | undefined): void {
    const { attributes, batch } = view;
    const all = `${batch.size - LOG_OVERHEAD} bytes from here on, ${batch.size} in all`;
    fields.next(8, "baseOffset", view.baseOffset, "offset of the first record, or a lower bound after compaction");
    fields.next(4, "batchLength", batch.size - LOG_OVERHEAD, all);
    fields.next(
      4,
      "partitionLeaderEpoch",
      view.partitionLeaderEpoch,
      "epoch of the leader that took it; not checksummed",
    );
    fields.next(1, "magic", batch.magic, "message format 2, of Kafka 0.11 and later");
    const computed = crc32c(batch.bytes.subarray(F.attributes));
    fields.next(
      4,
      "crc",
      batch.crc,
      checksumText(`CRC-32C of all from byte ${F.attributes} of the batch`, computed, batch.crc),
    );
    const flags = [
      view.codec === "none" ? "not compressed" : `compressed with ${view.codec}`,
      view.timestampType,
      view.isTransactional ? "of a transaction" : "of no transaction",
      ...view.isControl ? ["control records"] : [],
      ...view.deleteHorizonMs === null ? [] : ["the base timestamp is a delete horizon"],
    ];
    fields.next(2, "attributes", attributes, flags.join(", "));
    fields.next(4, "lastOffsetDelta", view.lastOffsetDelta, `last offset ${view.lastOffset}`);
    const horizon = "when the cleaner may drop tombstones or markers; deltas count from it too: ";
    fields.next(
      8,
      "baseTimestamp",
      view.baseTimestamp,
      `${view.deleteHorizonMs === null ? "" : horizon}${timeText(view.baseTimestamp)}`,
    );
    fields.next(8, "maxTimestamp", view.maxTimestamp, timeText(view.maxTimestamp));
    fields.next(8, "producerId", view.producerId, view.producerId === -1 ? "none: not idempotent" : "");
    fields.next(2, "producerEpoch", view.producerEpoch, view.producerEpoch === -1 ? "none" : "");
    const sequences = view.baseSequence === -1 ? "none" : `sequences ${view.baseSequence} to ${view.lastSequence}`;
    fields.next(4, "baseSequence", view.baseSequence, sequences);
    const kept = view.count === view.lastOffsetDelta + 1
      ? ""
      : `for ${view.lastOffsetDelta + 1} offsets: some are gone`;
    fields.next(4, "recordCount", view.count, kept);
    if (view.codec === "none") return;
    const inflated = decoded?.payload === undefined ? "" : `inflate to ${decoded.payload.length}`;
    fields.next(batch.size - RECORD_BATCH_OVERHEAD, "records", `${batch.size - RECORD_BATCH_OVERHEAD} bytes`, inflated);
  }

  #record(fields: Fields, view: BatchView, decoded: DecodedRecords, record: KafkaRecord, n: number): void {
    fields.varint("length", (length) => [length, "bytes that follow"]);
    fields.next(1, "attributes", fields.byte, "unused");
    const timestamp = decoded.timestampOf(n);
    const meaning = view.timestampType === "LogAppendTime" ? "ignored: the batch's greatest timestamp counts" : "";
    fields.varint(
      "timestampDelta",
      (delta) => [delta, meaning === "" ? `${timestamp}: ${timeText(timestamp)}` : meaning],
    );
    fields.varint("offsetDelta", (delta) => [delta, `offset ${decoded.offsetOf(record)}`]);
    fields.varint("keyLength", (length) => [length, length === -1 ? "null: no key" : ""]);
    if (record.keyLength > 0) fields.text(record.keyLength, "key");
    fields.varint("valueLength", (length) => [length, length === -1 ? "null: a tombstone" : ""]);
    if (record.valueLength > 0) fields.text(record.valueLength, "value");
    const { headers } = record;
    fields.varint("headerCount", (count) => [count, ""]);
    for (let i = 0; i < headers.length; i++) {
      const key = fields.varint("headerKeyLength", (length) => [length, ""]);
      if (key > 0) fields.text(key, "headerKey");
      const value = fields.varint("headerValueLength", (length) => [length, length === -1 ? "null" : ""]);
      if (value > 0) fields.text(value, "headerValue");
    }
  }

  /** A message of the older formats; `view` is that of the outer one. */
  #message(fields: Fields, view: BatchView | undefined, decoded: DecodedRecords | undefined): void {
    const start = fields.at;
    const bytes = fields.rest;
    const message = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const offset = int64At(message, 0);
    const size = message.getInt32(8);
    const magic = message.getInt8(16);
    const attributes = message.getUint8(17);
    const isWrapper = view !== undefined && view.codec !== "none";
    const meaning = isWrapper
      ? "offset of the last message that it wraps"
      : view === undefined
      ? "within what wraps it, or absolute in format 0"
      : "";
    fields.next(8, "offset", offset, meaning);
    fields.next(4, "messageSize", size, `bytes from here on, ${size + LOG_OVERHEAD} in all`);
    const crc = message.getUint32(LOG_OVERHEAD);
    const computed = crc32(bytes.subarray(16, LOG_OVERHEAD + size));
    fields.next(4, "crc", crc, checksumText("CRC-32 of all from byte 16 of the message", computed, crc));
    fields.next(1, "magic", magic, `message format ${magic}, of Kafka before 0.11`);
    const codec = view?.codec ?? "none";
    const type = magic === 0 ? "" : (attributes & 8) === 0 ? ", CreateTime" : ", LogAppendTime";
    fields.next(
      1,
      "attributes",
      attributes,
      `${codec === "none" ? "not compressed" : `compressed with ${codec}`}${type}`,
    );
    if (magic === 1) fields.next(8, "timestamp", int64At(message, 18), timeText(int64At(message, 18)));
    const keyLength = message.getInt32(fields.at - start);
    fields.next(4, "keyLength", keyLength, keyLength === -1 ? "null: no key" : "");
    if (keyLength > 0) fields.text(keyLength, "key");
    const valueLength = message.getInt32(fields.at - start);
    fields.next(4, "valueLength", valueLength, valueLength === -1 ? "null: a tombstone" : "");
    if (valueLength <= 0) return;
    if (!isWrapper) return fields.text(valueLength, "value");
    fields.next(valueLength, "value", `${valueLength} bytes`, `${decoded?.records.length ?? "?"} messages`);
  }
}

/** Where each record begins in the bytes that hold them. */
function startsOf(view: BatchView, decoded: DecodedRecords): number[] {
  const starts: number[] = [];
  if (!view.isV2) {
    const buffer = decoded.records[0]?.buffer;
    if (buffer === undefined || view.codec === "none") return [0];
    const messages = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    for (let at = 0; at < buffer.length; at += LOG_OVERHEAD + messages.getInt32(at + 8)) starts.push(at);
    return starts;
  }
  const payload = decoded.payload ?? new Uint8Array(0);
  for (let at = 0; at < payload.length;) {
    starts.push(at);
    const { length, value } = varintAt(payload, at);
    at += length + Number(value);
  }
  return starts;
}

/** Writes fields one after the other. */
class Fields {
  readonly #out: ByteOutput;
  readonly #bytes: Uint8Array;
  /** Position in the file of the first byte; undefined where the bytes are not in it as they are. */
  readonly #position: number | undefined;
  #at: number;

  constructor(out: ByteOutput, bytes: Uint8Array, position: number | undefined, at = 0) {
    this.#out = out;
    this.#bytes = bytes;
    this.#position = position;
    this.#at = at;
  }

  /** Where the next field begins. */
  get at(): number {
    return this.#at;
  }

  /** The bytes from there on. */
  get rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  /** The next byte. */
  get byte(): number {
    return this.#bytes[this.#at]!;
  }

  /** A field of `size` bytes. */
  next(size: number, name: string, value: Int64 | string, meaning: string): void {
    const bytes = this.#bytes.subarray(this.#at, this.#at + size);
    for (let line = 0; line === 0 || line * BYTES_A_LINE < bytes.length; line++) {
      if (line === MAX_LINES) {
        this.#out.text(`${" ".repeat(13)}… ${bytes.length - line * BYTES_A_LINE} bytes more\n`);
        break;
      }
      const at = this.#at + line * BYTES_A_LINE;
      const place = this.#position === undefined ? `+${at}` : String(this.#position + at);
      const hex = Array.from(
        bytes.subarray(line * BYTES_A_LINE, (line + 1) * BYTES_A_LINE),
        (byte) => byte.toString(16).padStart(2, "0"),
      ).join(" ");
      const said = line > 0
        ? ""
        : `${name.padEnd(NAME_WIDTH)}  ${String(value).padEnd(meaning === "" ? 0 : 14)}  ${meaning}`;
      this.#out.text(`${`${place.padStart(11)}  ${hex.padEnd(3 * BYTES_A_LINE)} ${said}`.trimEnd()}\n`);
    }
    this.#at += size;
  }

  /** A varint; `tell` answers its value and what it means. */
  varint(name: string, tell: (value: Int64) => readonly [value: Int64, meaning: string]): number {
    const { length, value } = varintAt(this.#bytes, this.#at);
    this.next(length, name, ...tell(int64(value)));
    return Number(value);
  }

  /** Bytes that may be text. */
  text(size: number, name: string): void {
    const bytes = this.#bytes.subarray(this.#at, this.#at + size);
    let text: string;
    try {
      text = `"${escaped(strict.decode(bytes))}"`;
    } catch {
      text = `${size} bytes`;
    }
    this.next(size, name, text.length > 60 ? `${text.slice(0, 60)}…` : text, "");
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A zig-zag varint of up to ten bytes, which was decoded before and so is well-formed. */
function varintAt(bytes: Uint8Array, at: number): { readonly length: number; readonly value: bigint } {
  let z = 0n;
  for (let length = 1;; length++) {
    const byte = bytes[at + length - 1]!;
    z |= BigInt(byte & 0x7f) << BigInt(7 * (length - 1));
    if (byte < 0x80 || length === 10) return { length, value: BigInt.asIntN(64, (z >> 1n) ^ -(z & 1n)) };
  }
}

function checksumText(what: string, computed: number, crc: number): string {
  return computed === crc ? `${what} on: right` : `${what} on: WRONG, the bytes give ${computed}`;
}

function timeText(timestamp: Int64): string {
  if (timestamp === -1) return "none";
  const date = new Date(Number(timestamp));
  return Number.isNaN(date.getTime()) ? "beyond any date" : date.toISOString();
}
