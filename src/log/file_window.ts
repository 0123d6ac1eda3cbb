import type { StoredFile } from "./storage.ts";

/** Reads a file in order through one large buffer, for those who look at small pieces of it. */
export class FileWindow {
  readonly #file: StoredFile;
  #buffer: Uint8Array<ArrayBuffer>;
  /** Position in the file of the first byte of the buffer. */
  #start = 0;
  /** Bytes of the buffer that were filled. */
  #filled = 0;

  /** Reads `file` in steps of `windowBytes`. */
  constructor(file: StoredFile, windowBytes: number) {
    this.#file = file;
    this.#buffer = new Uint8Array(Math.min(windowBytes, file.size));
  }

  /** The `size` bytes at `position`, fewer at the end of the file; valid until the next call. */
  async bytes(position: number, size: number): Promise<Uint8Array<ArrayBuffer>> {
    let at = position - this.#start;
    if (at < 0 || at + size > this.#filled) {
      if (size > this.#buffer.length) this.#buffer = new Uint8Array(size);
      this.#filled = 0; // for the case that reading fails
      this.#filled = await this.#file.readAt(this.#buffer, position);
      this.#start = position;
      at = 0;
    }
    return this.#buffer.subarray(at, Math.min(at + size, this.#filled));
  }
}
