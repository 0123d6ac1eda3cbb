/**
 * Walks the batches of a `.log` or `.checkpoint` file from its first byte to its last, through one buffer, and goes on
 * behind damage.
 *
 * @module
 */

import { CorruptRecordError } from "../../core/kafka_error.ts";
import type { Crc32c } from "../../hash/crc32c.ts";
import { findIntactBatch } from "../../log/intact_batch.ts";
import type { StoredFile } from "../../log/storage.ts";
import type { Batch } from "../../records/batch.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS as F } from "../../records/record_batch.ts";
import { RecordBatches } from "../../records/record_batches.ts";
import type { RecordContext } from "../../records/record_context.ts";
import { BatchView } from "./batch_view.ts";

/** Bytes that are no batch. */
export interface Damage {
  /** Where they begin. */
  readonly position: number;
  /** Number of them, up to the next batch that is whole and right, or to the end. */
  readonly bytes: number;
  /** Where it is and what is wrong. */
  readonly reason: string;
  /**
   * What it looks like: a batch that the end of the file cuts, the zeros of a preallocated file, or neither. The first two
   * are what a crash leaves, if nothing follows.
   */
  readonly kind: "torn" | "zeros" | "corrupt";
  /** The offset that follows them; undefined when nothing right does. */
  readonly nextOffset: number | undefined;
}

/** What a walk needs. */
export interface WalkOptions {
  /** Where to begin. */
  readonly position: number;
  /** Where to end. */
  readonly end: number;
  /** Most bytes of a batch; a length beyond is damage. */
  readonly maxBatchBytes: number;
  /** Checksum, to tell a right batch behind damage. */
  readonly crc32c: Crc32c;
  /** Names the file in errors. */
  readonly context: RecordContext;
}

/** Bytes read at a time. */
const WINDOW_BYTES = 1024 * 1024;
/** Offsets that one segment can hold. */
const MAX_SEGMENT_OFFSETS = 2 ** 31;
/** Bytes of which Kafka tells a batch at least. */
const MIN_LEFT = F.magic + 2;

/** Reads the batches of one file. */
export class BatchWalker {
  readonly #file: StoredFile;
  readonly #options: WalkOptions;
  #buffer: Uint8Array<ArrayBuffer>;
  #position: number;
  #validBytes = 0;
  #nextOffset = 0;

  /** Walks `file`. */
  constructor(file: StoredFile, options: WalkOptions) {
    this.#file = file;
    this.#options = options;
    this.#position = options.position;
    this.#buffer = new Uint8Array(Math.max(0, Math.min(WINDOW_BYTES, options.end - options.position)));
  }

  /** Bytes of the whole batches so far. */
  get validBytes(): number {
    return this.#validBytes;
  }

  /**
   * The next batches, or damage in their place; undefined at the end. Batches are views of memory that the next call
   * overwrites.
   */
  async next(): Promise<readonly Batch[] | Damage | undefined> {
    const { context, end, maxBatchBytes } = this.#options;
    const position = this.#position;
    if (position >= end) return undefined;
    const window = await this.#window(Math.min(WINDOW_BYTES, end - position));
    const batches: Batch[] = [];
    try {
      for (const batch of new RecordBatches(window, { ...context, position })) batches.push(batch);
    } catch (error) {
      if (!(error instanceof CorruptRecordError)) throw error;
      if (batches.length === 0) return await this.#damage(isZero(window) ? "zeros" : "corrupt", error.message);
    }
    if (batches.length > 0) return this.#pass(batches);
    const left = end - position;
    const size = sizeOf(window);
    if (size === undefined || size > left) {
      const need = size === undefined ? "too few for a batch" : `the batch that begins here takes ${size}`;
      return await this.#damage("torn", this.#at(`${left} bytes are left, ${need}`));
    }
    if (size > maxBatchBytes) {
      return await this.#damage(
        "corrupt",
        this.#at(`a batch of ${size} bytes, more than the ${maxBatchBytes} that are read`),
      );
    }
    for (const batch of new RecordBatches(await this.#window(size), { ...context, position })) batches.push(batch);
    if (batches.length === 0) return await this.#damage("torn", this.#at("the file became shorter"));
    return this.#pass(batches);
  }

  #at(reason: string): string {
    return `${this.#options.context.file} at byte ${this.#position}: ${reason}`;
  }

  #pass(batches: readonly Batch[]): readonly Batch[] {
    const last = batches[batches.length - 1]!;
    const size = last.position + last.size - this.#position;
    this.#position += size;
    this.#validBytes += size;
    this.#nextOffset = Number(new BatchView(last).lastOffset) + 1;
    return batches;
  }

  /** What lies at the position up to the next right batch, where the walk goes on. */
  async #damage(kind: Damage["kind"], reason: string): Promise<Damage> {
    const { crc32c, end, maxBatchBytes } = this.#options;
    const position = this.#position;
    const range = {
      from: position + 1,
      until: end,
      minOffset: this.#nextOffset,
      maxOffset: this.#nextOffset + MAX_SEGMENT_OFFSETS,
    };
    const found = await findIntactBatch(this.#file, range, maxBatchBytes, crc32c);
    this.#position = found?.position ?? end;
    return { position, bytes: this.#position - position, reason, kind, nextOffset: found?.offset };
  }

  /** The next `size` bytes of the file, fewer where it became shorter. */
  async #window(size: number): Promise<Uint8Array> {
    if (this.#buffer.length < size) this.#buffer = new Uint8Array(size);
    const window = this.#buffer.subarray(0, size);
    const count = await this.#file.readAt(window, this.#position);
    return count === size ? window : window.subarray(0, count);
  }
}

/** The size that a batch at the front of `bytes` says it has. */
function sizeOf(bytes: Uint8Array): number | undefined {
  if (bytes.length < MIN_LEFT) return undefined;
  return LOG_OVERHEAD + new DataView(bytes.buffer, bytes.byteOffset).getInt32(F.length);
}

/** Whether offset and length at the front of `bytes` are zeros. */
function isZero(bytes: Uint8Array): boolean {
  return bytes.subarray(0, LOG_OVERHEAD).every((byte) => byte === 0);
}
