import type { IndexFile } from "./index_file.ts";

/**
 * Indexes that were read for look-ups, up to a number of bytes: those that were not used for longest go first. A directory
 * of many segments would else hold the indexes of all of them in memory.
 */
export class IndexCache {
  readonly #maxBytes: number;
  /** By file name; the one that was used last stands last. */
  readonly #indexes = new Map<string, IndexFile>();
  #bytes = 0;

  /** Keeps at most `maxBytes`, but always the index that was used last. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The index in the file `name`, if it is kept. */
  get(name: string): IndexFile | undefined {
    const index = this.#indexes.get(name);
    if (index === undefined) return undefined;
    this.#indexes.delete(name);
    this.#indexes.set(name, index);
    return index;
  }

  /** Keeps `index`. */
  set(index: IndexFile): void {
    const { name } = index;
    this.#bytes += index.byteLength - (this.#indexes.get(name)?.byteLength ?? 0);
    this.#indexes.delete(name);
    this.#indexes.set(name, index);
    for (const [oldest, { byteLength }] of this.#indexes) {
      if (this.#bytes <= this.#maxBytes || oldest === name) return;
      this.#indexes.delete(oldest);
      this.#bytes -= byteLength;
    }
  }
}
