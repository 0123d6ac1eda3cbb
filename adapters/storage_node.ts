/**
 * Files over `node:fs`, for Node.js, Deno and Bun alike.
 *
 * Reads and appends call the synchronous functions: a call takes 1 to 10 µs from the page cache where the asynchronous
 * ones take 20 to 40. What waits for the disk itself (`sync`) is asynchronous.
 *
 * @module
 */

import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
  writevSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { StorageError } from "../src/core/kafka_error.ts";
import { checkFileName } from "../src/log/storage.ts";
import type { Storage, StorageTree, StoredFile } from "../src/log/storage.ts";

export type { Storage, StorageTree, StoredFile } from "../src/log/storage.ts";

/** Options of {@linkcode nodeStorage}. */
export interface NodeStorageOptions {
  /** Opens files for reading alone, so that nothing can be changed by mistake; false when absent. */
  readonly readOnly?: boolean;
}

/** The folder `dir` of the file system. It is made by the first file or folder that is made in it, never by reading. */
export function nodeStorage(dir: string, options: NodeStorageOptions = {}): StorageTree {
  return new NodeStorage(dir, options.readOnly ?? false);
}

// The kernel takes at most this many buffers in one writev.
const MAX_PARTS = 1024;

class NodeFile implements StoredFile {
  readonly #path: string;
  #fd: number;
  #size: number;
  /** The folder that does not yet safely hold this file's name. */
  #unsyncedFolder: string | undefined;
  #syncs = Promise.resolve();

  constructor(path: string, fd: number, unsyncedFolder: string | undefined) {
    this.#path = path;
    this.#fd = fd;
    this.#size = attempt("stat", path, () => fstatSync(fd).size);
    this.#unsyncedFolder = unsyncedFolder;
  }

  get size(): number {
    return this.#size;
  }

  // deno-lint-ignore require-await -- async turns what is thrown into a rejection, here and below
  async readAt(into: Uint8Array, position: number): Promise<number> {
    const fd = this.#open("read");
    let count = 0;
    try {
      while (count < into.length) {
        const n = readSync(fd, into, count, into.length - count, position + count);
        if (n === 0) break;
        count += n;
      }
    } catch (cause) {
      throw failure(`read ${into.length} bytes at ${position} of`, this.#path, cause);
    }
    return count;
  }

  // deno-lint-ignore require-await
  async append(parts: readonly Uint8Array[]): Promise<void> {
    const fd = this.#open("append");
    try {
      if (parts.length === 1) this.#write(fd, parts[0]!);
      else for (let at = 0; at < parts.length; at += MAX_PARTS) this.#writeAll(fd, parts.slice(at, at + MAX_PARTS));
    } catch (cause) {
      throw failure("append to", this.#path, cause);
    }
  }

  #write(fd: number, part: Uint8Array): void {
    for (let from = 0; from < part.length;) {
      const n = writeSync(fd, part, from, part.length - from, this.#size);
      from += n;
      this.#size += n;
    }
  }

  #writeAll(fd: number, parts: readonly Uint8Array[]): void {
    let written = writevSync(fd, parts, this.#size);
    this.#size += written;
    // A full disk or a signal makes it short: the rest goes part by part.
    for (const part of parts) {
      if (written < part.length) this.#write(fd, part.subarray(written));
      written = Math.max(0, written - part.length);
    }
  }

  // deno-lint-ignore require-await
  async truncate(size: number): Promise<void> {
    const fd = this.#open("truncate");
    if (size >= this.#size) return;
    attempt("truncate", this.#path, () => ftruncateSync(fd, size));
    this.#size = size;
  }

  sync(): Promise<void> {
    // One after the other, so that close can wait for them: a descriptor must not be closed, and perhaps reused, under one.
    const synced = this.#syncs.then(() => this.#sync());
    this.#syncs = synced.catch(() => {});
    return synced;
  }

  async #sync(): Promise<void> {
    const fd = this.#open("sync");
    await new Promise<void>((resolve, reject) => {
      fdatasync(fd, (cause) => cause ? reject(failure("sync", this.#path, cause)) : resolve());
    });
    if (this.#unsyncedFolder === undefined) return;
    syncFolder(this.#unsyncedFolder);
    this.#unsyncedFolder = undefined;
  }

  async close(): Promise<void> {
    await this.#syncs;
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    attempt("close", this.#path, () => closeSync(fd));
  }

  #open(operation: string): number {
    if (this.#fd >= 0) return this.#fd;
    throw new StorageError(`${operation} ${this.#path}: the file was closed`, { code: "EBADF", file: this.#path });
  }
}

class NodeFolder implements Storage {
  protected readonly dir: string;
  protected readonly readOnly: boolean;
  #made = false;

  constructor(dir: string, readOnly: boolean) {
    this.dir = dir;
    this.readOnly = readOnly;
  }

  // deno-lint-ignore require-await
  async open(name: string, options: { readonly create?: boolean } = {}): Promise<StoredFile> {
    const path = this.path(name);
    if (this.readOnly) {
      return new NodeFile(
        path,
        attempt("open", path, () => openSync(path, constants.O_RDONLY)),
        undefined,
      );
    }
    try {
      return new NodeFile(path, openSync(path, constants.O_RDWR), undefined);
    } catch (cause) {
      const { code } = cause as { code?: string };
      if (code === "ENOENT" && options.create === true) return this.#create(path);
      // A file that may only be read can still be read; writing to it fails when it is tried.
      if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") throw failure("open", path, cause);
    }
    return new NodeFile(path, attempt("open", path, () => openSync(path, constants.O_RDONLY)), undefined);
  }

  #create(path: string): NodeFile {
    this.make();
    const flags = constants.O_RDWR | constants.O_CREAT;
    return new NodeFile(path, attempt("create", path, () => openSync(path, flags)), this.dir);
  }

  /** Makes the folder and those above it. */
  protected make(): void {
    if (this.#made) return;
    if (this.readOnly) throw readOnlyError("create", this.dir);
    if (attempt("create", this.dir, () => mkdirSync(this.dir, { recursive: true })) !== undefined) {
      syncFolder(dirname(this.dir));
    }
    this.#made = true;
  }

  // deno-lint-ignore require-await
  async list(): Promise<string[]> {
    return this.names((entry) => !entry.isDirectory());
  }

  protected names(wanted: (entry: { isDirectory(): boolean }) => boolean): string[] {
    const entries = attempt("list", this.dir, () => readdirSync(this.dir, { withFileTypes: true }));
    return entries.filter(wanted).map((entry) => entry.name).sort();
  }

  // deno-lint-ignore require-await
  async rename(from: string, to: string): Promise<void> {
    const source = this.path(from);
    const target = this.path(to);
    if (this.readOnly) throw readOnlyError("rename", source);
    attempt("rename", source, () => renameSync(source, target));
    syncFolder(this.dir);
  }

  // deno-lint-ignore require-await
  async remove(name: string): Promise<void> {
    const path = this.path(name);
    if (this.readOnly) throw readOnlyError("remove", path);
    attempt("remove", path, () => rmSync(path, { force: true }));
  }

  protected path(name: string): string {
    checkFileName(name);
    return join(this.dir, name);
  }
}

class NodeStorage extends NodeFolder implements StorageTree {
  // deno-lint-ignore require-await
  async folder(name: string): Promise<Storage> {
    const path = this.path(name);
    if (!this.readOnly && attempt("create", path, () => mkdirSync(path, { recursive: true })) !== undefined) {
      syncFolder(this.dir);
    }
    return new NodeFolder(path, this.readOnly);
  }

  // deno-lint-ignore require-await
  async folders(): Promise<string[]> {
    return this.names((entry) => entry.isDirectory());
  }

  // deno-lint-ignore require-await
  async removeFolder(name: string): Promise<void> {
    const path = this.path(name);
    if (this.readOnly) throw readOnlyError("remove", path);
    attempt("remove", path, () => rmSync(path, { recursive: true, force: true }));
  }
}

/** Makes new and changed names in `dir` safe. */
function syncFolder(dir: string): void {
  let fd: number;
  try {
    fd = openSync(dir, constants.O_RDONLY);
  } catch {
    return; // Windows opens no folders, and keeps names safe by itself
  }
  try {
    fsyncSync(fd);
  } catch (cause) {
    // Some network file systems cannot sync a folder; they answer so.
    const { code } = cause as { code?: string };
    if (code !== "EINVAL" && code !== "ENOTSUP" && code !== "EPERM") throw failure("sync the folder", dir, cause);
  } finally {
    closeSync(fd);
  }
}

function attempt<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw failure(what, path, cause);
  }
}

function failure(what: string, path: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(`${what} ${path}: ${reason}`, { file: path, cause });
}

function readOnlyError(what: string, path: string): StorageError {
  return new StorageError(`${what} ${path}: the storage was opened with readOnly`, { code: "EROFS", file: path });
}
