/**
 * The file seam. One {@linkcode Storage} is one flat folder, a partition's log; a {@linkcode StorageTree} is the folder
 * above it, Kafka's `log.dirs` entry. Adapters make them from a runtime's files, from memory or from a browser's `File`s.
 *
 * Every failure is a `StorageError` that names the file.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";

/** A file read at positions and written at its end. */
export interface StoredFile {
  /** Length in bytes. */
  readonly size: number;
  /** Fills `into` from `position`; resolves to the count, short only at the end of the file. */
  readAt(into: Uint8Array, position: number): Promise<number>;
  /**
   * Adds every part at the end, in order; the parts are only borrowed. A failed append may leave a torn tail, which
   * `size` then counts and `truncate` cuts off.
   */
  append(parts: readonly Uint8Array[]): Promise<void>;
  /** Cuts the file to `size` bytes; it never grows. */
  truncate(size: number): Promise<void>;
  /** Resolves once the bytes are on the disk, and so is the name of a file that was made. */
  sync(): Promise<void>;
  /** Releases the file; any later use of it is a `StorageError` with code `"EBADF"`. Safe to repeat. */
  close(): Promise<void>;
}

/** A folder of flat names. One writer at a time: a second handle on a file need not see what the first appends. */
export interface Storage {
  /** Opens `name`; makes it when `create` is set, else a missing file is a `StorageError` with code `"ENOENT"`. */
  open(name: string, options?: { readonly create?: boolean }): Promise<StoredFile>;
  /** Names of the files present, sorted. */
  list(): Promise<string[]>;
  /** Renames, replacing any file at `to`; the folder is synced. */
  rename(from: string, to: string): Promise<void>;
  /** Removes `name`; absent is fine. */
  remove(name: string): Promise<void>;
}

/** A folder of files and of folders one level deep. */
export interface StorageTree extends Storage {
  /** The folder `name`, made when it is not there. */
  folder(name: string): Promise<Storage>;
  /** Names of the folders present, sorted. */
  folders(): Promise<string[]>;
  /** Removes the folder `name` and the files in it; absent is fine. */
  removeFolder(name: string): Promise<void>;
}

/**
 * Refuses a name that is not one plain path component, so that no name read from a file or a request leads out of the folder.
 *
 * @throws StorageError with code `"EINVAL"`.
 */
export function checkFileName(name: string): void {
  // Windows takes both separators and the colon of a stream or drive.
  if (name === "" || name === "." || name === ".." || /[/\\:\0]/.test(name)) {
    throw new StorageError(`${JSON.stringify(name)} is no file name: it must be one plain path component`, {
      code: "EINVAL",
      file: name,
    });
  }
}
