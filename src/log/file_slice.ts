/**
 * A bounded piece of a file, shared and not copied: what a read of a log answers, and what a fetch response sends.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import type { StoredFile } from "./storage.ts";

/** `size` bytes of a file from `position` on. */
export class FileSlice {
  /** Where it begins in the file. */
  readonly position: number;
  /** Bytes. */
  readonly size: number;
  readonly #file: StoredFile;
  readonly #name: string;

  /** A piece of `file`, called `name` in messages. */
  constructor(file: StoredFile, name: string, position: number, size: number) {
    this.#file = file;
    this.#name = name;
    this.position = position;
    this.size = size;
  }

  /**
   * Reads it whole.
   *
   * @throws StorageError
   */
  async bytes(): Promise<Uint8Array> {
    const bytes = new Uint8Array(this.size);
    const read = await this.#file.readAt(bytes, this.position);
    if (read === this.size) return bytes;
    throw new StorageError(
      `${this.#name}: ${read} of ${this.size} bytes at position ${this.position}: the file was cut`,
      {
        code: "SHORT_READ",
        file: this.#name,
        position: this.position,
      },
    );
  }
}
