/**
 * Files that a browser holds: a read-only storage over `Blob`s or `File`s, such as those of a file picker or a drop.
 *
 * A browser takes 1 to 2 ms for any slice up to 64 KB, so reading in large windows pays.
 *
 * @module
 */

import {
  type ByteSource,
  type OpenSource,
  readOnlyStorage,
  storageFailure,
} from "../src/log/sources/read_only_storage.ts";
import { checkFileName } from "../src/log/storage.ts";
import type { Storage } from "../src/log/storage.ts";

export type { Storage, StoredFile } from "../src/log/storage.ts";

/** The given files as one folder, by their names or by the names given with them. The last of equal names counts. */
export function blobStorage(files: Iterable<File | readonly [name: string, blob: Blob]>): Storage {
  const blobs = new Map<string, OpenSource>();
  for (const file of files) {
    const [name, blob] = file instanceof Blob ? [file.name, file] as const : file;
    checkFileName(name);
    blobs.set(name, () => Promise.resolve(new BlobSource(name, blob)));
  }
  return readOnlyStorage(blobs, "files of a browser can only be read");
}

class BlobSource implements ByteSource {
  readonly #name: string;
  readonly #blob: Blob;

  constructor(name: string, blob: Blob) {
    this.#name = name;
    this.#blob = blob;
  }

  get size(): number {
    return this.#blob.size;
  }

  async readAt(into: Uint8Array, position: number): Promise<number> {
    try {
      const bytes = new Uint8Array(await this.#blob.slice(position, position + into.length).arrayBuffer());
      into.set(bytes);
      return bytes.length;
    } catch (cause) {
      // A file that changed or vanished since it was picked ends here.
      throw storageFailure("read", this.#name, "EIO", "the browser could not read it; pick it again", cause);
    }
  }
}
