/**
 * Files held in memory, with switches that make them fail: the storage of tests, and of brokers that leave nothing behind.
 *
 * It models what a disk may do: an append that stops half way, a disk that fills up, and a crash that takes away whatever
 * was not synced.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { checkFileName } from "./storage.ts";
import type { Storage, StorageTree, StoredFile } from "./storage.ts";

/** What a {@linkcode MemoryStorage} can be told to fail. */
export type StorageOperation = "open" | "read" | "append" | "truncate" | "sync" | "rename" | "remove" | "list";

/** Which call fails, and how. */
export interface StorageFault {
  /** Only calls on the file of this name; any file when absent. */
  readonly file?: string;
  /** Code of the error; `"EIO"` when absent. */
  readonly code?: string;
  /** Calls that still succeed before the one that fails; 0 when absent. */
  readonly after?: number;
  /** For an append: this many bytes are written before it fails; 0 when absent. */
  readonly tornAfter?: number;
}

/** What a tree and all its folders have in common. */
class Disk {
  readonly faults: { operation: StorageOperation; fault: StorageFault; passes: number }[] = [];
  readOnly = false;
  capacity = Infinity;
  used = 0;

  /** Throws when the next call of `operation` on `file` is to fail. */
  check(operation: StorageOperation, path: string, file: string): void {
    const fault = this.takeFault(operation, file);
    if (fault !== undefined) throw failure(operation, path, fault.code ?? "EIO", "told to fail");
  }

  takeFault(operation: StorageOperation, file: string): StorageFault | undefined {
    const at = this.faults.findIndex((f) =>
      f.operation === operation && (f.fault.file === undefined || f.fault.file === file)
    );
    if (at < 0 || this.faults[at]!.passes-- > 0) return undefined;
    return this.faults.splice(at, 1)[0]!.fault;
  }

  checkWritable(operation: string, path: string): void {
    if (this.readOnly) throw failure(operation, path, "EROFS", "the storage is read-only");
  }
}

function failure(operation: string, file: string, code: string, reason: string): StorageError {
  return new StorageError(`${operation} ${file}: ${reason} (${code})`, { code, file });
}

/** The bytes of one file; its handles share them. */
class Content {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  size = 0;
  /** Whether it was ever synced; a crash removes it otherwise. */
  #onDisk = false;
  /** How many bytes from the start are on the disk as they are here. */
  #syncedSize = 0;
  /** What the disk holds while a truncation below the synced size is not synced itself. */
  #beforeTruncation: Uint8Array | undefined;

  append(part: Uint8Array): void {
    const end = this.size + part.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.bytes.length * 2, 1024));
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    }
    this.bytes.set(part, this.size);
    this.size = end;
  }

  truncate(size: number): void {
    if (size < this.#syncedSize) {
      this.#beforeTruncation ??= this.bytes.slice(0, this.#syncedSize);
      this.#syncedSize = size;
    }
    this.size = size;
  }

  sync(): void {
    this.#onDisk = true;
    this.#syncedSize = this.size;
    this.#beforeTruncation = undefined;
  }

  /** The file as the disk has it, with up to `unsynced` bytes more; undefined when the disk has not heard of it. */
  afterCrash(unsynced: number): Content | undefined {
    if (!this.#onDisk && unsynced === 0) return undefined;
    const left = new Content();
    left.append(this.#beforeTruncation ?? this.bytes.subarray(0, Math.min(this.size, this.#syncedSize + unsynced)));
    left.sync();
    return left;
  }
}

class MemoryFile implements StoredFile {
  readonly #disk: Disk;
  readonly #content: Content;
  readonly #name: string;
  readonly #path: string;
  #closed = false;

  constructor(disk: Disk, content: Content, name: string, path: string) {
    this.#disk = disk;
    this.#content = content;
    this.#name = name;
    this.#path = path;
  }

  get size(): number {
    return this.#content.size;
  }

  // deno-lint-ignore require-await -- async turns what is thrown into a rejection, here and below
  async readAt(into: Uint8Array, position: number): Promise<number> {
    this.#begin("read");
    this.#disk.check("read", this.#path, this.#name);
    const { bytes, size } = this.#content;
    const count = Math.max(0, Math.min(into.length, size - position));
    if (count > 0) into.set(bytes.subarray(position, position + count));
    return count;
  }

  // deno-lint-ignore require-await
  async append(parts: readonly Uint8Array[]): Promise<void> {
    this.#begin("append");
    const disk = this.#disk;
    disk.checkWritable("append", this.#path);
    let wanted = 0;
    for (const part of parts) wanted += part.length;
    const fault = disk.takeFault("append", this.#name);
    let left = Math.min(wanted, disk.capacity - disk.used, fault === undefined ? Infinity : fault.tornAfter ?? 0);
    const taken = Math.max(left, 0);
    for (const part of parts) {
      if (left <= 0) break;
      this.#content.append(left < part.length ? part.subarray(0, left) : part);
      left -= part.length;
    }
    disk.used += taken;
    if (fault !== undefined) throw failure("append", this.#path, fault.code ?? "EIO", "told to fail");
    if (taken < wanted) {
      throw failure("append", this.#path, "ENOSPC", `the storage is full, ${taken} of ${wanted} bytes written`);
    }
  }

  // deno-lint-ignore require-await
  async truncate(size: number): Promise<void> {
    this.#begin("truncate");
    this.#disk.checkWritable("truncate", this.#path);
    this.#disk.check("truncate", this.#path, this.#name);
    if (size >= this.#content.size) return;
    this.#disk.used -= this.#content.size - size;
    this.#content.truncate(size);
  }

  // deno-lint-ignore require-await
  async sync(): Promise<void> {
    this.#begin("sync");
    this.#disk.check("sync", this.#path, this.#name);
    this.#content.sync();
  }

  // deno-lint-ignore require-await
  async close(): Promise<void> {
    this.#closed = true;
  }

  #begin(operation: string): void {
    if (this.#closed) throw failure(operation, this.#path, "EBADF", "the file was closed");
  }
}

type Files = Map<string, Content>;

class MemoryFolder implements Storage {
  readonly #disk: Disk;
  readonly #prefix: string;
  readonly #files: Files;

  constructor(disk: Disk, prefix: string, files: Files) {
    this.#disk = disk;
    this.#prefix = prefix;
    this.#files = files;
  }

  // deno-lint-ignore require-await
  async open(name: string, options: { readonly create?: boolean } = {}): Promise<StoredFile> {
    checkFileName(name);
    const path = this.#prefix + name;
    this.#disk.check("open", path, name);
    let content = this.#files.get(name);
    if (content === undefined) {
      if (options.create !== true) throw failure("open", path, "ENOENT", "no such file");
      this.#disk.checkWritable("create", path);
      this.#files.set(name, content = new Content());
    }
    return new MemoryFile(this.#disk, content, name, path);
  }

  // deno-lint-ignore require-await
  async list(): Promise<string[]> {
    this.#disk.check("list", this.#prefix, "");
    return [...this.#files.keys()].sort();
  }

  // deno-lint-ignore require-await
  async rename(from: string, to: string): Promise<void> {
    checkFileName(from);
    checkFileName(to);
    const path = this.#prefix + from;
    this.#disk.checkWritable("rename", path);
    this.#disk.check("rename", path, from);
    const content = this.#files.get(from);
    if (content === undefined) throw failure("rename", path, "ENOENT", "no such file");
    if (from === to) return;
    this.#disk.used -= this.#files.get(to)?.size ?? 0;
    this.#files.delete(from);
    this.#files.set(to, content);
  }

  // deno-lint-ignore require-await
  async remove(name: string): Promise<void> {
    checkFileName(name);
    this.#disk.checkWritable("remove", this.#prefix + name);
    this.#disk.check("remove", this.#prefix + name, name);
    this.#disk.used -= this.#files.get(name)?.size ?? 0;
    this.#files.delete(name);
  }
}

/** A tree of folders and files in memory. */
export class MemoryStorage implements StorageTree {
  readonly #disk = new Disk();
  readonly #files: Files = new Map();
  readonly #folders = new Map<string, Files>();
  readonly #root: Storage = new MemoryFolder(this.#disk, "", this.#files);

  /** Whether every call that would change something fails with code `"EROFS"`. */
  get readOnly(): boolean {
    return this.#disk.readOnly;
  }

  set readOnly(value: boolean) {
    this.#disk.readOnly = value;
  }

  /** Bytes the whole tree may hold; what goes beyond fails with code `"ENOSPC"`. Unlimited at first. */
  get capacity(): number {
    return this.#disk.capacity;
  }

  set capacity(value: number) {
    this.#disk.capacity = value;
  }

  /** Bytes the whole tree holds. */
  get used(): number {
    return this.#disk.used;
  }

  /** Makes one later call of `operation`, here or in any folder, fail with a `StorageError`. */
  fail(operation: StorageOperation, fault: StorageFault = {}): void {
    this.#disk.faults.push({ operation, fault, passes: fault.after ?? 0 });
  }

  /**
   * What a machine that lost power now would find: synced content and names of synced files, of each file at most
   * `unsynced` bytes more. This tree stays as it is.
   */
  crash(unsynced = 0): MemoryStorage {
    const left = new MemoryStorage();
    left.#keep(this.#files, left.#files, unsynced);
    for (const [name, files] of this.#folders) {
      const kept: Files = new Map();
      left.#keep(files, kept, unsynced);
      left.#folders.set(name, kept);
    }
    return left;
  }

  /** Opens `name`; makes it when `create` is set. */
  open(name: string, options: { readonly create?: boolean } = {}): Promise<StoredFile> {
    return this.#root.open(name, options);
  }

  /** Names of the files present, sorted. */
  list(): Promise<string[]> {
    return this.#root.list();
  }

  /** Renames, replacing any file at `to`. */
  rename(from: string, to: string): Promise<void> {
    return this.#root.rename(from, to);
  }

  /** Removes `name`; absent is fine. */
  remove(name: string): Promise<void> {
    return this.#root.remove(name);
  }

  /** The folder `name`, made when it is not there. */
  // deno-lint-ignore require-await
  async folder(name: string): Promise<Storage> {
    checkFileName(name);
    let files = this.#folders.get(name);
    if (files === undefined) {
      this.#disk.checkWritable("create", name);
      this.#folders.set(name, files = new Map());
    }
    return new MemoryFolder(this.#disk, `${name}/`, files);
  }

  /** Names of the folders present, sorted. */
  // deno-lint-ignore require-await
  async folders(): Promise<string[]> {
    return [...this.#folders.keys()].sort();
  }

  /** Removes the folder `name` and the files in it; absent is fine. */
  // deno-lint-ignore require-await
  async removeFolder(name: string): Promise<void> {
    checkFileName(name);
    this.#disk.checkWritable("remove", name);
    for (const content of this.#folders.get(name)?.values() ?? []) this.#disk.used -= content.size;
    this.#folders.delete(name);
  }

  #keep(from: Files, into: Files, unsynced: number): void {
    for (const [name, content] of from) {
      const left = content.afterCrash(unsynced);
      if (left === undefined) continue;
      into.set(name, left);
      this.#disk.used += left.size;
    }
  }
}
