/**
 * A dump as text. `KafkaTextDump` prints what Kafka's own `kafka-dump-log` prints, byte for byte; `TextDump` keeps its shape
 * and adds what that one leaves out: values of headers, and bytes that are no text.
 *
 * @module
 */

import { KafkaError } from "../../core/kafka_error.ts";
import type { OffsetCheckpointEntry } from "../../log/log_directory.ts";
import { controlRecordToJson, decodeControlRecord } from "../../log/payloads/decode_control_record.ts";
import type { ProducerSnapshot } from "../../log/producer_snapshot.ts";
import type { Record as KafkaRecord, TimestampType } from "../../records/record.ts";
import type { ByteOutput } from "../byte_output.ts";
import { Literal } from "../literal.ts";
import { hex, type PayloadView } from "../payload_view.ts";
import type { DecodedRecords } from "./batch_view.ts";
import type { AbortedTransaction, DumpedBatch, DumpedEnd, DumpedFile, DumpFormat, IndexSlot } from "./dump_format.ts";
import type { Int64 } from "./int64.ts";
import { javaUtf8 } from "./java_utf8.ts";
import { firstSequence } from "./json_dump.ts";

/** What Kafka's tool calls the control records that it shows as JSON. */
const CONTROL_NAMES: Readonly<Record<string, string>> = {
  LEADER_CHANGE: "LeaderChange:",
  SNAPSHOT_HEADER: "SnapshotHeader",
  SNAPSHOT_FOOTER: "SnapshotFooter",
  KRAFT_VERSION: "KRaftVersion",
  KRAFT_VOTERS: "KRaftVoters",
};

const OFFSET = new Literal("| offset: ");
const TIMESTAMPS: { readonly [type in TimestampType]: Literal } = {
  CreateTime: new Literal(" CreateTime: "),
  LogAppendTime: new Literal(" LogAppendTime: "),
  NoTimestampType: new Literal(" NoTimestampType: "),
};
const KEY_SIZE = new Literal(" keySize: ");
const VALUE_SIZE = new Literal(" valueSize: ");
const SEQUENCE = new Literal(" sequence: ");
const NO_HEADERS = new Literal(" headerKeys: []");
const KEY = new Literal(" key: ");
const PAYLOAD = new Literal(" payload: ");
const END_OF_LINE = new Literal("\n");

/** The lines that both forms have. */
abstract class CommonTextDump {
  protected readonly out: ByteOutput;
  protected readonly payloads: PayloadView | undefined;

  constructor(out: ByteOutput, payloads: PayloadView | undefined) {
    this.out = out;
    this.payloads = payloads;
  }

  file({ baseOffset, label, name, type }: DumpedFile): void {
    this.out.text(`Dumping ${label}\n`);
    if (type === "log") this.out.ascii(`Log starting offset: ${baseOffset}\n`);
    if (type !== "checkpoint") return;
    const epoch = /^\d+-0*(\d+)/.exec(name)?.[1];
    this.out.ascii(
      epoch === undefined ? "KRaft bootstrap snapshot\n" : `Snapshot end offset: ${baseOffset}, epoch: ${epoch}\n`,
    );
  }

  batch({ isValid, view }: DumpedBatch): void {
    const { batch, codec, maxTimestamp, timestampType } = view;
    let line: string;
    if (view.isV2) {
      const { deleteHorizonMs } = view;
      const horizon = deleteHorizonMs === null ? "OptionalLong.empty" : `OptionalLong[${deleteHorizonMs}]`;
      line = `baseOffset: ${view.baseOffset} lastOffset: ${view.lastOffset} count: ${view.count}` +
        ` baseSequence: ${view.baseSequence} lastSequence: ${view.lastSequence}` +
        ` producerId: ${view.producerId} producerEpoch: ${view.producerEpoch}` +
        ` partitionLeaderEpoch: ${view.partitionLeaderEpoch} isTransactional: ${view.isTransactional}` +
        ` isControl: ${view.isControl} deleteHorizonMs: ${horizon}`;
    } else line = `offset: ${view.lastOffset}`;
    this.out.ascii(
      `${line} position: ${batch.position} ${timestampType}: ${maxTimestamp} size: ${batch.size}` +
        ` magic: ${batch.magic} compresscodec: ${codec} crc: ${batch.crc} isvalid: ${isValid}\n`,
    );
  }

  end({ name }: DumpedFile, { error, trailingBytes }: DumpedEnd): void {
    // Where the bytes are no cut batch, Kafka's tool ends with an exception.
    if (trailingBytes > 0 && error === undefined) {
      this.out.text(`Found ${trailingBytes} invalid bytes at the end of ${name}\n`);
    }
  }

  offsetSlot(_file: DumpedFile, { offset }: IndexSlot, position: number): boolean {
    this.out.ascii(`offset: ${offset} position: ${position}\n`);
    return true;
  }

  timeSlot(_file: DumpedFile, { offset }: IndexSlot, timestamp: Int64): boolean {
    this.out.ascii(`timestamp: ${timestamp} offset: ${offset}\n`);
    return true;
  }

  emptyIndex({ label, type }: DumpedFile): void {
    if (type === "index") this.out.text(`${label} is empty.\n`);
  }

  abortedTransaction(_file: DumpedFile, transaction: AbortedTransaction): void {
    const { firstOffset, lastOffset, lastStableOffset, producerId, version } = transaction;
    this.out.ascii(
      `version: ${version} producerId: ${producerId} firstOffset: ${firstOffset}` +
        ` lastOffset: ${lastOffset} lastStableOffset: ${lastStableOffset}\n`,
    );
  }

  snapshot(_file: DumpedFile, { entries }: ProducerSnapshot): void {
    for (const entry of entries) {
      const { coordinatorEpoch, currentTxnFirstOffset, epoch, lastOffset, lastSequence, offsetDelta, producerId } =
        entry;
      const first = currentTxnFirstOffset < 0 ? "OptionalLong.empty" : `OptionalLong[${currentTxnFirstOffset}]`;
      this.out.ascii(
        `producerId: ${producerId} producerEpoch: ${epoch} coordinatorEpoch: ${coordinatorEpoch}` +
          ` currentTxnFirstOffset: ${first} lastTimestamp: ${entry.timestamp}`,
      );
      if (lastOffset >= 0) {
        this.out.ascii(
          ` firstSequence: ${firstSequence(entry)} lastSequence: ${lastSequence} lastOffset: ${lastOffset}` +
            ` offsetDelta: ${offsetDelta} timestamp: ${entry.timestamp}`,
        );
      }
      this.out.ascii("\n");
    }
  }

  leaderEpochs(_file: DumpedFile, epochs: readonly (readonly [epoch: number, startOffset: Int64])[]): void {
    for (const [epoch, startOffset] of epochs) this.out.ascii(`epoch: ${epoch} startOffset: ${startOffset}\n`);
  }

  partitionMetadata(_file: DumpedFile, topicId: string): void {
    this.out.ascii(`topicId: ${topicId}\n`);
  }

  offsetCheckpoint(_file: DumpedFile, { offset, partition, topic }: OffsetCheckpointEntry): void {
    this.out.text(`topic: ${topic} partition: ${partition} offset: ${offset}\n`);
  }

  /** The fields that records of all forms begin with. */
  protected head(batch: DumpedBatch, decoded: DecodedRecords, record: KafkaRecord, n: number): void {
    const { out } = this;
    out.literal(OFFSET);
    out.integer(decoded.offsetOf(record));
    out.literal(TIMESTAMPS[batch.view.timestampType]);
    out.integer(decoded.timestampOf(n));
    out.literal(KEY_SIZE);
    out.integer(record.keyLength);
    out.literal(VALUE_SIZE);
    out.integer(record.valueLength);
    if (batch.view.isV2) {
      out.literal(SEQUENCE);
      out.integer(record.sequence);
    } else {
      const { crc, isValid } = decoded.checksums[n]!;
      out.ascii(` isValid: ${isValid} crc: `);
      out.integer(crc);
    }
  }

  /** Key and value, where they are not null. */
  protected contents(record: KafkaRecord): void {
    const { out } = this;
    if (this.payloads !== undefined) {
      const { key, value } = this.payloads.text(record);
      if (key !== undefined) out.text(` key: ${key}`);
      if (value !== undefined) out.text(` payload: ${value}`);
      return;
    }
    const { key, value } = record;
    if (key !== null) {
      out.literal(KEY);
      this.payload(key);
    }
    if (value !== null) {
      out.literal(PAYLOAD);
      this.payload(value);
    }
  }

  /** A key or value. */
  protected abstract payload(bytes: Uint8Array): void;

  /** What a control record says. */
  protected control(record: KafkaRecord): void {
    try {
      const control = decodeControlRecord(record);
      if ("coordinatorEpoch" in control) {
        this.out.ascii(` endTxnMarker: ${control.type} coordinatorEpoch: ${control.coordinatorEpoch}`);
      } else if (control.type === "UNKNOWN") {
        // Number 7 and above are names of later versions than 4.3.1, which calls them so.
        this.out.ascii(` controlType: UNKNOWN(${control.typeNumber})`);
      } else {this.out.text(
          ` ${CONTROL_NAMES[control.type]} ${JSON.stringify(controlRecordToJson(control).data ?? null)}`,
        );}
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
      this.out.text(` controlType: damaged (${error.message})`);
    }
  }
}

/** The text of Kafka 4.3.1's `kafka-dump-log`, of `--deep-iteration` or `--print-data-log`. */
export class KafkaTextDump extends CommonTextDump implements DumpFormat {
  readonly #hasContents: boolean;

  /** Writes to `out`; `hasContents` prints keys and values, `payloads` decodes them. */
  constructor(out: ByteOutput, hasContents: boolean, payloads?: PayloadView) {
    super(out, payloads);
    this.#hasContents = hasContents;
  }

  record(batch: DumpedBatch, decoded: DecodedRecords, record: KafkaRecord, n: number): void {
    const { out } = this;
    this.head(batch, decoded, record, n);
    if (batch.view.isV2) {
      const { headers } = record;
      if (headers.length === 0) out.literal(NO_HEADERS);
      else out.text(` headerKeys: [${headers.map(([name]) => name).join(",")}]`);
    }
    if (batch.isControl) this.control(record);
    else if (this.#hasContents) this.contents(record);
    out.literal(END_OF_LINE);
  }

  protected override payload(bytes: Uint8Array): void {
    if (!this.out.bytesWithin(bytes, 0, 0x7f)) this.out.text(javaUtf8(bytes));
  }

  /** The tool takes every slot up to the first that looks unused, but the first one always. */
  override offsetSlot(file: DumpedFile, slot: IndexSlot, position: number): boolean {
    return !isTail(file, slot) && super.offsetSlot(file, slot, position);
  }

  override timeSlot(file: DumpedFile, slot: IndexSlot, timestamp: Int64): boolean {
    return !isTail(file, slot) && super.timeSlot(file, slot, timestamp);
  }
}

function isTail({ baseOffset }: DumpedFile, { number, offset }: IndexSlot): boolean {
  return number > 0 && offset === baseOffset;
}

/** Text for people: Kafka's lines, with the values of headers, and bytes that are no text in hex. */
export class TextDump extends CommonTextDump implements DumpFormat {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** Writes to `out`; `payloads` decodes keys and values. */
  constructor(out: ByteOutput, payloads?: PayloadView) {
    super(out, payloads);
  }

  override batch(batch: DumpedBatch): void {
    super.batch(batch);
    if (batch.error !== undefined) this.out.text(`| cannot be decoded: ${batch.error.message}\n`);
  }

  record(batch: DumpedBatch, decoded: DecodedRecords, record: KafkaRecord, n: number): void {
    const { out } = this;
    this.head(batch, decoded, record, n);
    if (batch.view.isV2) {
      const { headers } = record;
      if (headers.length === 0) out.literal(NO_HEADERS);
      else {
        const values = headers.map(([, value]) => this.#quoted(value));
        out.text(
          ` headerKeys: [${headers.map(([name]) => escaped(name)).join(",")}] headerValues: [${values.join(",")}]`,
        );
      }
    }
    if (batch.isControl) this.control(record);
    else this.contents(record);
    out.literal(END_OF_LINE);
  }

  /** Text with its control characters escaped, so that a record stays on its line; hex where it is no UTF-8. */
  protected override payload(bytes: Uint8Array): void {
    const { out } = this;
    if (out.bytesWithin(bytes, 0x20, 0x7e)) return;
    let text: string;
    try {
      text = escaped(this.#decoder.decode(bytes));
    } catch {
      text = `0x${hex(bytes)}`;
    }
    out.text(text);
  }

  override end(file: DumpedFile, end: DumpedEnd): void {
    super.end(file, end);
    if (end.error !== undefined) {
      this.out.text(`Found ${end.trailingBytes} bytes at the end of ${file.name}: ${end.error}\n`);
    }
  }

  override offsetSlot(file: DumpedFile, slot: IndexSlot, position: number): boolean {
    return !slot.isUnused && super.offsetSlot(file, slot, position);
  }

  override timeSlot(file: DumpedFile, slot: IndexSlot, timestamp: Int64): boolean {
    return !slot.isUnused && super.timeSlot(file, slot, timestamp);
  }

  #quoted(bytes: Uint8Array | null): string {
    if (bytes === null) return "null";
    try {
      return JSON.stringify(this.#decoder.decode(bytes));
    } catch {
      return `0x${hex(bytes)}`;
    }
  }
}

/** Ends of lines and what a terminal would obey. */
// deno-lint-ignore no-control-regex -- control characters are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** `text` with its control characters escaped. */
export function escaped(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code === 10 ? "\\n" : code === 13 ? "\\r" : code === 9 ? "\\t" : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
