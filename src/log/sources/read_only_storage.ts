/**
 * A folder that can only be read, over anything that gives bytes at a position: members of an archive, files behind a URL,
 * a browser's `Blob`s.
 *
 * @module
 */

import { StorageError } from "../../core/kafka_error.ts";
import { checkFileName, type Storage, type StorageTree, type StoredFile } from "../storage.ts";

/** Bytes of known number that can be read at any position; every {@linkcode StoredFile} is one. */
export interface ByteSource {
  /** Length in bytes. */
  readonly size: number;
  /** Fills `into` from `position`; resolves to the count, short only at the end. */
  readAt(into: Uint8Array, position: number): Promise<number>;
  /** Releases what it holds. */
  close?(): Promise<void>;
}

/** A file that opens when it is asked for. */
export type OpenSource = () => Promise<ByteSource>;

/**
 * The folder of `files`, by name.
 *
 * @param why Why nothing can be written: `"an archive is only read"`.
 */
export function readOnlyStorage(files: ReadonlyMap<string, OpenSource>, why: string): Storage {
  return new ReadOnlyStorage(files, why);
}

/** The folder of `files` and of `folders`, by name. */
export function readOnlyTree(
  files: ReadonlyMap<string, OpenSource>,
  folders: ReadonlyMap<string, () => Promise<Storage>>,
  why: string,
): StorageTree {
  return new ReadOnlyTree(files, folders, why);
}

/** `source` as a file called `name`. */
export function readOnlyFile(name: string, source: ByteSource, why: string): StoredFile {
  return new ReadOnlyFile(name, source, why);
}

class ReadOnlyFile implements StoredFile {
  readonly #name: string;
  readonly #source: ByteSource;
  readonly #why: string;
  #closed = false;

  constructor(name: string, source: ByteSource, why: string) {
    this.#name = name;
    this.#source = source;
    this.#why = why;
  }

  get size(): number {
    return this.#source.size;
  }

  async readAt(into: Uint8Array, position: number): Promise<number> {
    if (this.#closed) throw storageFailure("read", this.#name, "EBADF", "the file was closed");
    const left = this.#source.size - position;
    if (left <= 0 || into.length === 0) return 0;
    return await this.#source.readAt(into.length > left ? into.subarray(0, left) : into, position);
  }

  append(): Promise<void> {
    return Promise.reject(this.#refusal("append to"));
  }

  truncate(): Promise<void> {
    return Promise.reject(this.#refusal("truncate"));
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#source.close?.();
  }

  #refusal(what: string): StorageError {
    return storageFailure(what, this.#name, "EROFS", this.#why);
  }
}

class ReadOnlyStorage implements Storage {
  readonly #files: ReadonlyMap<string, OpenSource>;
  protected readonly why: string;

  constructor(files: ReadonlyMap<string, OpenSource>, why: string) {
    this.#files = files;
    this.why = why;
  }

  async open(name: string, options: { readonly create?: boolean } = {}): Promise<StoredFile> {
    checkFileName(name);
    const open = this.#files.get(name);
    if (open !== undefined) return new ReadOnlyFile(name, await open(), this.why);
    if (options.create === true) throw storageFailure("create", name, "EROFS", this.why);
    throw storageFailure("open", name, "ENOENT", "there is no such file");
  }

  list(): Promise<string[]> {
    return Promise.resolve([...this.#files.keys()].sort());
  }

  rename(from: string): Promise<void> {
    return Promise.reject(storageFailure("rename", from, "EROFS", this.why));
  }

  remove(name: string): Promise<void> {
    return Promise.reject(storageFailure("remove", name, "EROFS", this.why));
  }
}

class ReadOnlyTree extends ReadOnlyStorage implements StorageTree {
  readonly #folders: ReadonlyMap<string, () => Promise<Storage>>;

  constructor(
    files: ReadonlyMap<string, OpenSource>,
    folders: ReadonlyMap<string, () => Promise<Storage>>,
    why: string,
  ) {
    super(files, why);
    this.#folders = folders;
  }

  async folder(name: string): Promise<Storage> {
    checkFileName(name);
    const open = this.#folders.get(name);
    if (open === undefined) throw storageFailure("open", name, "ENOENT", "there is no such folder");
    return await open();
  }

  folders(): Promise<string[]> {
    return Promise.resolve([...this.#folders.keys()].sort());
  }

  removeFolder(name: string): Promise<void> {
    return Promise.reject(storageFailure("remove", name, "EROFS", this.why));
  }
}

/** The error of a storage: what was tried, on which file, the code, and why. */
export function storageFailure(
  what: string,
  file: string,
  code: string,
  reason: string,
  cause?: unknown,
): StorageError {
  return new StorageError(`${what} ${file}: ${reason} (${code})`, { code, file, cause });
}
