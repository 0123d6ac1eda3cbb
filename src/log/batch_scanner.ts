/**
 * Walks a `.log` file by batch headers alone: nothing is decoded, and of large batches only the header is read.
 *
 * The end of whole batches is the end of the walk: a torn batch, fewer bytes than a header, or the zeros of a preallocated
 * file. {@linkcode BatchScanner.position} says where that is.
 *
 * @module
 */

import type { Batch } from "../records/batch.ts";
import {
  LOG_OVERHEAD,
  RECORD_BATCH_ATTRIBUTES as A,
  RECORD_BATCH_FIELDS as F,
  RECORD_BATCH_OVERHEAD,
} from "../records/record_batch.ts";
import { corruptRecord, type RecordContext } from "../records/record_context.ts";
import type { StoredFile } from "./storage.ts";

/** What the first bytes of a batch say. Timestamps and producer ids beyond 2^53 are rounded. */
export interface BatchHeader extends
  Pick<
    Batch,
    | "position"
    | "size"
    | "magic"
    | "lastOffset"
    | "maxTimestamp"
    | "partitionLeaderEpoch"
    | "producerId"
    | "producerEpoch"
    | "baseSequence"
    | "lastSequence"
    | "isTransactional"
    | "isControl"
  > {
  /** Its first offset; of the older formats only the last one is told without decoding, so this is that one. */
  readonly baseOffset: number;
  /**
   * Timestamp of its first record; −1 for none. {@linkcode maxTimestamp} where the header does not tell it: of a compressed
   * message of format 1, and of a batch with a delete horizon, which stands in its place.
   */
  readonly firstTimestamp: number;
  /** Number of its codec; 0 for none. */
  readonly codec: number;
}

/** Kafka tells a batch only when one byte more than the magic is there. */
const HEADER_UP_TO_MAGIC = F.magic + 1;
/** Bytes after which nothing of a header is left to read. */
const HEADER_BYTES = F.recordCount;
/** Least value of a length field: a format 0 message without key and value. */
const MIN_LENGTH = 14;
const MIN_CHUNK = 4 * 1024;
const MAX_CHUNK = 256 * 1024;

/** Reads headers one after the other from `position` on. */
export class BatchScanner {
  /** Where the next batch begins; after the last one, the end of whole batches. */
  position: number;
  readonly #file: StoredFile;
  readonly #end: number;
  readonly #context: RecordContext;
  #chunk = MIN_CHUNK;
  #view = new DataView(new ArrayBuffer(0));
  /** Position in the file of the first byte of the view. */
  #viewStart = 0;

  /** Walks `file` from `position` to `end`; `context` names the file in errors. */
  constructor(file: StoredFile, position: number, end: number, context: RecordContext = {}) {
    this.position = position;
    this.#file = file;
    this.#end = end;
    this.#context = context;
  }

  /**
   * The next header; undefined at the end of whole batches.
   *
   * @throws CorruptRecordError when what is there cannot be a batch.
   */
  async next(): Promise<BatchHeader | undefined> {
    const position = this.position;
    const left = this.#end - position;
    if (left <= HEADER_UP_TO_MAGIC) return undefined;
    const wanted = Math.min(HEADER_BYTES, left);
    if (!this.#holds(position, wanted)) {
      await this.#fill(position);
      // The file became shorter under us.
      if (!this.#holds(position, wanted)) return undefined;
    }
    const header = headerAt(this.#view, position - this.#viewStart, position, left, this.#context);
    if (header !== undefined) this.position = position + header.size;
    return header;
  }

  #holds(position: number, size: number): boolean {
    return position >= this.#viewStart && position + size <= this.#viewStart + this.#view.byteLength;
  }

  async #fill(position: number): Promise<void> {
    // Batches larger than the chunk are stepped over: reading more of each would be wasted.
    const sequential = position < this.#viewStart + this.#view.byteLength + this.#chunk;
    this.#chunk = sequential ? Math.min(this.#chunk * 2, MAX_CHUNK) : MIN_CHUNK;
    const bytes = new Uint8Array(Math.min(this.#chunk, this.#end - position));
    const count = await this.#file.readAt(bytes, position);
    this.#view = new DataView(bytes.buffer, 0, count);
    this.#viewStart = position;
  }
}

/**
 * Reads the header at `at` of `view`, where `left` bytes of file are left; undefined when no whole batch is there.
 *
 * @param position Where it lies in the file.
 * @throws CorruptRecordError when what is there cannot be a batch.
 */
export function headerAt(
  view: DataView,
  at: number,
  position: number,
  left: number,
  context: RecordContext = {},
): BatchHeader | undefined {
  if (left <= HEADER_UP_TO_MAGIC) return undefined;
  const length = view.getInt32(at + F.length);
  const offset = view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
  // Preallocated files and files after a power failure end in zeros.
  if (length === 0 && offset === 0) return undefined;
  const fail = (reason: string, code?: string) =>
    corruptRecord(
      { ...context, position },
      0,
      Number.isSafeInteger(offset) ? offset : undefined,
      reason,
      code,
    );
  if (length < MIN_LENGTH) throw fail(`batch length ${length} is less than the least, ${MIN_LENGTH}`);
  const size = LOG_OVERHEAD + length;
  if (size > left) return undefined;
  const magic = view.getInt8(at + F.magic);
  if (magic < 0 || magic > 2) throw fail(`magic ${magic} is none of Kafka's message formats`, "UNSUPPORTED_MAGIC");
  if (magic === 2 && size < RECORD_BATCH_OVERHEAD) {
    throw fail(`batch length ${length} is less than the header of a record batch`);
  }
  const lastOffsetDelta = magic === 2 ? view.getInt32(at + F.lastOffsetDelta) : 0;
  const lastOffset = offset + lastOffsetDelta;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(lastOffset)) {
    throw fail("the offset is beyond ±(2^53−1), which a JavaScript number cannot hold", "UNSAFE_INTEGER");
  }
  if (offset < 0 || lastOffset < offset) throw fail(`offsets ${offset} to ${lastOffset} are impossible`);
  if (magic < 2) {
    // Beyond 2^53 it is rounded; such a value only has to compare as later than any real one.
    const timestamp = magic === 0 ? -1 : int64At(view, at + V1_TIMESTAMP);
    return {
      position,
      size,
      magic,
      baseOffset: offset,
      lastOffset,
      firstTimestamp: timestamp,
      maxTimestamp: timestamp,
      partitionLeaderEpoch: -1,
      codec: view.getInt8(at + V1_ATTRIBUTES) & A.codec,
      producerId: -1,
      producerEpoch: -1,
      baseSequence: -1,
      lastSequence: -1,
      isTransactional: false,
      isControl: false,
    };
  }
  const attributes = view.getInt16(at + F.attributes);
  const baseSequence = view.getInt32(at + F.baseSequence);
  const maxTimestamp = int64At(view, at + F.maxTimestamp);
  return {
    position,
    size,
    magic,
    baseOffset: offset,
    lastOffset,
    firstTimestamp: (attributes & NO_FIRST_TIMESTAMP) === 0 ? int64At(view, at + F.baseTimestamp) : maxTimestamp,
    maxTimestamp,
    partitionLeaderEpoch: view.getInt32(at + F.partitionLeaderEpoch),
    codec: attributes & A.codec,
    producerId: int64At(view, at + F.producerId),
    producerEpoch: view.getInt16(at + F.producerEpoch),
    baseSequence,
    lastSequence: baseSequence < 0 ? -1 : (baseSequence + lastOffsetDelta) % 0x80000000,
    isTransactional: (attributes & A.transactional) !== 0,
    isControl: (attributes & A.control) !== 0,
  };
}

/** With the first all records have the greatest timestamp; with the second something else is in the base timestamp's place. */
const NO_FIRST_TIMESTAMP = A.logAppendTime | A.deleteHorizon;
/** Position of the attributes of a format 0 or 1 message. */
const V1_ATTRIBUTES = 17;
/** Position of the timestamp of a format 1 message. */
const V1_TIMESTAMP = 18;

function int64At(view: DataView, at: number): number {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}
