/**
 * Files that a browser holds: a read-only storage over `Blob`s or `File`s, such as those of a file picker or a drop.
 *
 * A browser takes 1 to 2 ms for any slice up to 64 KB, so reading in large windows pays.
 *
 * @module
 */

import { StorageError } from "../src/core/kafka_error.ts";
import { checkFileName } from "../src/log/storage.ts";
import type { Storage, StoredFile } from "../src/log/storage.ts";

export type { Storage, StoredFile } from "../src/log/storage.ts";

/** The given files as one folder, by their names or by the names given with them. The last of equal names counts. */
export function blobStorage(files: Iterable<File | readonly [name: string, blob: Blob]>): Storage {
  const blobs = new Map<string, Blob>();
  for (const file of files) {
    const [name, blob] = file instanceof Blob ? [file.name, file] as const : file;
    checkFileName(name);
    blobs.set(name, blob);
  }
  return new BlobStorage(blobs);
}

class BlobFile implements StoredFile {
  readonly #name: string;
  readonly #blob: Blob;
  #closed = false;

  constructor(name: string, blob: Blob) {
    this.#name = name;
    this.#blob = blob;
  }

  get size(): number {
    return this.#blob.size;
  }

  async readAt(into: Uint8Array, position: number): Promise<number> {
    if (this.#closed) throw failure("read", this.#name, "EBADF", "the file was closed");
    if (position >= this.#blob.size) return 0;
    try {
      const bytes = new Uint8Array(await this.#blob.slice(position, position + into.length).arrayBuffer());
      into.set(bytes);
      return bytes.length;
    } catch (cause) {
      // A file that changed or vanished since it was picked ends here.
      throw failure("read", this.#name, "EIO", "the browser could not read it; pick it again", cause);
    }
  }

  append(): Promise<void> {
    return Promise.reject(readOnlyError("append to", this.#name));
  }

  truncate(): Promise<void> {
    return Promise.reject(readOnlyError("truncate", this.#name));
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }
}

class BlobStorage implements Storage {
  readonly #blobs: ReadonlyMap<string, Blob>;

  constructor(blobs: ReadonlyMap<string, Blob>) {
    this.#blobs = blobs;
  }

  // deno-lint-ignore require-await -- async turns what is thrown into a rejection
  async open(name: string, options: { readonly create?: boolean } = {}): Promise<StoredFile> {
    checkFileName(name);
    const blob = this.#blobs.get(name);
    if (blob !== undefined) return new BlobFile(name, blob);
    if (options.create === true) throw readOnlyError("create", name);
    throw failure("open", name, "ENOENT", "not among the files given");
  }

  list(): Promise<string[]> {
    return Promise.resolve([...this.#blobs.keys()].sort());
  }

  rename(from: string): Promise<void> {
    return Promise.reject(readOnlyError("rename", from));
  }

  remove(name: string): Promise<void> {
    return Promise.reject(readOnlyError("remove", name));
  }
}

function readOnlyError(what: string, name: string): StorageError {
  return failure(what, name, "EROFS", "files of a browser can only be read");
}

function failure(what: string, name: string, code: string, reason: string, cause?: unknown): StorageError {
  return new StorageError(`${what} ${name}: ${reason} (${code})`, { code, file: name, cause });
}
