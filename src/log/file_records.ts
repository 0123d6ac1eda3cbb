/**
 * A range of a `.log` file: what a read answers. It shares the file and holds no bytes, so that a fetch response can take
 * them as they lie, and nothing is decoded unless asked.
 *
 * @module
 */

import type { CorruptRecordError } from "../core/kafka_error.ts";
import type { Batch } from "../records/batch.ts";
import { RecordBatches } from "../records/record_batches.ts";
import { corruptRecord, type RecordContext } from "../records/record_context.ts";
import type { StoredFile } from "./storage.ts";

/** Bytes `[position, position + size)` of a file. It begins at a batch, but may end inside one. */
export class FileRecords {
  /** First byte. */
  readonly position: number;
  /** Number of bytes. */
  readonly size: number;
  readonly #file: StoredFile;
  readonly #context: RecordContext;

  /** Views `size` bytes of `file` from `position` on; `context` names the place in errors. */
  constructor(file: StoredFile, position: number, size: number, context: RecordContext = {}) {
    this.position = position;
    this.size = size;
    this.#file = file;
    this.#context = context;
  }

  /** Reads the bytes into a new buffer. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(this.size);
    const count = await this.#file.readAt(bytes, this.position);
    return count === bytes.length ? bytes : bytes.subarray(0, count);
  }

  /** Reads the bytes and walks the whole batches among them; each is a lazy view of those bytes. */
  async batches(): Promise<RecordBatches> {
    return new RecordBatches(await this.bytes(), { ...this.#context, position: this.position });
  }

  /**
   * Reads the one batch that this range is, unless it is larger than `maxBytes`: a damaged length must not cost memory.
   *
   * @param baseOffset Its offset, for the message.
   * @throws CorruptRecordError
   */
  async batch(maxBytes: number, baseOffset?: number): Promise<Batch> {
    if (this.size > maxBytes) {
      const reason = `a batch of ${this.size} bytes is more than maxBatchBytes=${maxBytes}; raise it if that is right`;
      throw this.#corrupt(baseOffset, reason, "BATCH_TOO_LARGE");
    }
    for (const batch of await this.batches()) return batch;
    throw this.#corrupt(baseOffset, `there is no batch in the ${this.size} bytes`);
  }

  #corrupt(offset: number | undefined, reason: string, code?: string): CorruptRecordError {
    return corruptRecord({ ...this.#context, position: this.position }, 0, offset, reason, code);
  }
}
