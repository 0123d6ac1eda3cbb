import type { StoredFile } from "./storage.ts";

const CHUNK_BYTES = 64 * 1024;

/** Reads entries of one size from a file in order, in memory that does not grow with it. */
export class EntryReader {
  readonly #file: StoredFile;
  readonly #entrySize: number;
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** Number of the first entry in the view. */
  #first = 0;
  /** A byte known not to be zero, so that zeros before it are not read again and again. */
  #nonZeroAt = -1;

  /** Reads `file` as entries of `entrySize` bytes. */
  constructor(file: StoredFile, entrySize: number) {
    this.#file = file;
    this.#entrySize = entrySize;
  }

  /** Whole entries in the file. */
  get entries(): number {
    return Math.floor(this.#file.size / this.#entrySize);
  }

  /** Bytes behind the last whole entry. */
  get trailingBytes(): number {
    return this.#file.size % this.#entrySize;
  }

  /** A view of the `n`th entry, from 0; undefined behind the last. Valid until the next call. */
  async entry(n: number): Promise<DataView | undefined> {
    const size = this.#entrySize;
    const held = this.#view.byteLength / size;
    if (n < this.#first || n >= this.#first + held) {
      const bytes = new Uint8Array(Math.max(0, Math.min(Math.floor(CHUNK_BYTES / size), this.entries - n)) * size);
      const count = bytes.length === 0 ? 0 : await this.#file.readAt(bytes, n * size);
      this.#view = new DataView(bytes.buffer, 0, count - count % size);
      this.#first = n;
    }
    const at = (n - this.#first) * size;
    return at + size > this.#view.byteLength ? undefined : new DataView(this.#view.buffer, at, size);
  }

  /** Whether all from entry `n` on is zeros. */
  async isZeroFrom(n: number): Promise<boolean> {
    if (n * this.#entrySize <= this.#nonZeroAt) return false;
    const bytes = new Uint8Array(CHUNK_BYTES);
    for (let at = n * this.#entrySize; at < this.#file.size;) {
      const count = await this.#file.readAt(bytes, at);
      if (count === 0) return true;
      for (let i = 0; i < count; i++) {
        if (bytes[i] === 0) continue;
        this.#nonZeroAt = at + i;
        return false;
      }
      at += count;
    }
    return true;
  }
}
