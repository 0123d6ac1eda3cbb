/**
 * Walks the batches in a range of bytes: the records of a fetch response, or a slice of a `.log` file.
 *
 * A broker cuts a response at a byte count and a crash cuts a file anywhere, so an unfinished batch at the end is no error:
 * the walk stops before it, and {@linkcode RecordBatches.validBytes} says where.
 *
 * @module
 */

import type { Batch } from "./batch.ts";
import { MessageSet } from "./message_set.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS, RecordBatch } from "./record_batch.ts";
import { corruptRecord, type RecordContext } from "./record_context.ts";

/** Bytes a batch's format can be told from: up to and including the magic. */
const HEADER_UP_TO_MAGIC = RECORD_BATCH_FIELDS.magic + 1;
/** Least value of a length field: a format 0 message without key and value. */
const MIN_LENGTH = 14;

/** The batches in one buffer, in order. Each iteration starts from the front. */
export class RecordBatches implements Iterable<Batch> {
  readonly #buffer: Uint8Array;
  readonly #context: RecordContext;
  readonly #view: DataView;
  #validBytes = 0;

  /** Walks `buffer`; `context` tells where it comes from. */
  constructor(buffer: Uint8Array, context: RecordContext = {}) {
    this.#buffer = buffer;
    this.#context = context;
    this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  }

  /** Bytes of the whole batches handed out so far; after a full walk less than the buffer's length if the tail is cut. */
  get validBytes(): number {
    return this.#validBytes;
  }

  /**
   * Answers one batch after the other, without decoding their records or checking their checksums.
   *
   * @throws CorruptRecordError on an impossible length or a format that this library does not read.
   */
  *[Symbol.iterator](): Generator<Batch, undefined, undefined> {
    this.#validBytes = 0;
    for (let at = 0;;) {
      const batch = this.#batchAt(at);
      if (batch === undefined) return;
      at += batch.size;
      this.#validBytes = at;
      yield batch;
    }
  }

  #batchAt(at: number): Batch | undefined {
    const view = this.#view;
    const end = this.#buffer.length;
    // The same test as Kafka's: one byte more than the magic must be there.
    if (end - at <= HEADER_UP_TO_MAGIC) return undefined;
    const length = view.getInt32(at + RECORD_BATCH_FIELDS.length);
    if (length < MIN_LENGTH) throw this.#corrupt(at, `batch length ${length} is less than the least, ${MIN_LENGTH}`);
    if (at + LOG_OVERHEAD + length > end) return undefined;
    const magic = view.getInt8(at + RECORD_BATCH_FIELDS.magic);
    if (magic === 2) return new RecordBatch(this.#buffer, this.#context, at, view);
    if (magic === 0 || magic === 1) return new MessageSet(this.#buffer, this.#context, at, view);
    throw this.#corrupt(at, `magic ${magic} is none of Kafka's message formats`, "UNSUPPORTED_MAGIC");
  }

  #corrupt(at: number, reason: string, code?: string): Error {
    const offset = this.#view.getInt32(at) * 4294967296 + this.#view.getUint32(at + 4);
    return corruptRecord(this.#context, at, Number.isSafeInteger(offset) ? offset : undefined, reason, code);
  }
}
