/**
 * Backups read in place: `.tar`, `.tar.gz` and `.zip`, over any file that can be read at positions, such as one of a disk,
 * a `Blob` or a URL. Nothing is written but what had to be inflated: into memory, or into a scratch folder that is given in.
 *
 * A tar archive and the stored files of a zip archive are read where they lie. Deflate cannot be sought: a deflated file of
 * a zip archive is inflated as far as it is read, a `.tar.gz` in one pass when it is opened.
 *
 * ```ts no-run
 * import { Log } from "@anykafka/kafka/log";
 * import { openArchive } from "@anykafka/kafka/storage-archive";
 * import { nodeStorage } from "@anykafka/kafka/storage-node";
 *
 * const archive = await openArchive(await nodeStorage("backups").open("monday.tar"), "monday.tar");
 * for (const [path, storage] of archive.folders) {
 *   const log = await Log.open(storage, { mode: "inspect" });
 *   console.log(path, log.logEndOffset);
 *   await log.close();
 * }
 * await archive.close();
 * ```
 *
 * @module
 */

import { throwIfAborted } from "../../core/abort_error.ts";
import { StorageError } from "../../core/kafka_error.ts";
import { MemoryStorage } from "../memory_storage.ts";
import type { Storage, StoredFile } from "../storage.ts";
import type { ArchiveMember } from "./archive_member.ts";
import { type Inflate, piecesOf, plainInflate } from "./inflate.ts";
import { inflateAll, InflationBudget } from "./inflated_source.ts";
import { RangeSource } from "./range_source.ts";
import { type OpenSource, readOnlyStorage } from "./read_only_storage.ts";
import { isTarHeader, readTarMembers } from "./tar_members.ts";
import { readZipMembers } from "./zip_members.ts";

export type { Inflate, InflateFormat } from "./inflate.ts";
export type { Storage, StoredFile } from "../storage.ts";

/** How an archive is read. */
export interface ArchiveOptions {
  /** A folder for what must be inflated, whose files are removed again; memory when absent. */
  readonly scratch?: Storage;
  /**
   * Most bytes that may be inflated, all files together. Default 256 MiB in memory; in a scratch folder 4 GiB, or 30 times
   * the archive where that is more.
   */
  readonly maxInflatedBytes?: number;
  /** Inflates; a plain one when absent. */
  readonly inflate?: Inflate;
  /** Told, while a `.tar.gz` is inflated as a whole, how many of its bytes were read since it was told last. */
  readonly onProgress?: (bytes: number) => void;
  /** Ends that early, with an `AbortedError`. */
  readonly signal?: AbortSignal;
}

/** An open archive. */
export interface Archive {
  /** Folders that hold files, by their paths; `""` is the top. In order of their paths. */
  readonly folders: ReadonlyMap<string, Storage>;
  /** Why the archive ends before its end: it was cut, or is damaged. What `folders` has lies before. */
  readonly damage: StorageError | undefined;
  /** Releases the archive's file and removes what was inflated. */
  close(): Promise<void>;
}

/** What a file is by its first bytes. */
export type ArchiveFormat = "tar" | "gzip" | "zip" | "xz" | "bzip2" | "zstd" | "7z";

const MAGIC: readonly (readonly [ArchiveFormat, readonly number[]])[] = [
  ["zip", [0x50, 0x4b, 3, 4]],
  ["zip", [0x50, 0x4b, 5, 6]],
  ["gzip", [0x1f, 0x8b, 8]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["7z", [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
];
const MIB = 1024 * 1024;
const WHY = "an archive is only read";
const SCRATCH = "anykafka-inflated-";

/** What `file` is by its first bytes; undefined when it is no archive. */
export async function archiveFormat(file: StoredFile): Promise<ArchiveFormat | undefined> {
  const head = new Uint8Array(512);
  const bytes = head.subarray(0, await file.readAt(head, 0));
  const found = MAGIC.find(([, magic]) => magic.every((byte, i) => bytes[i] === byte));
  return found?.[0] ?? (isTarHeader(bytes) ? "tar" : undefined);
}

/**
 * Opens the archive in `file`, which it closes in the end, also when this fails.
 *
 * @param name What to call it in messages; the name of a gzipped file that is no tar archive is this one without `.gz`.
 * @throws StorageError with code `"NOT_AN_ARCHIVE"`, `"UNSUPPORTED_ARCHIVE"`, `"DAMAGED_ARCHIVE"`, `"UNSAFE_ARCHIVE"` or
 * `"ARCHIVE_TOO_LARGE"`.
 */
export async function openArchive(file: StoredFile, name: string, options: ArchiveOptions = {}): Promise<Archive> {
  const opening = new Opening(file, name, options);
  try {
    return await opening.archive();
  } catch (error) {
    await opening.close();
    throw error;
  }
}

class Opening {
  readonly #file: StoredFile;
  readonly #name: string;
  readonly #options: ArchiveOptions;
  readonly #inflate: Inflate;
  readonly #budget: InflationBudget;
  readonly #scratch: Storage;
  /** Scratch files that are there. */
  readonly #inflated = new Map<string, StoredFile>();
  #made = 0;

  constructor(file: StoredFile, name: string, options: ArchiveOptions) {
    const { scratch, inflate = plainInflate } = options;
    const usual = scratch === undefined ? 256 * MIB : Math.max(4096 * MIB, 30 * file.size);
    this.#file = file;
    this.#name = name;
    this.#options = options;
    this.#inflate = inflate;
    this.#budget = new InflationBudget(options.maxInflatedBytes ?? usual);
    this.#scratch = scratch ?? new MemoryStorage();
  }

  async archive(): Promise<Archive> {
    const format = await archiveFormat(this.#file);
    switch (format) {
      case "tar": {
        const { members, damage } = await readTarMembers(this.#file, this.#name);
        return this.#archive(members, damage);
      }
      case "zip": {
        const scratch = () => this.#makeScratch();
        const options = { inflate: this.#inflate, scratch, budget: this.#budget };
        return this.#archive(await readZipMembers(this.#file, this.#name, options), undefined);
      }
      case "gzip":
        return await this.#gunzipped();
      case undefined:
        throw this.#refusal("NOT_AN_ARCHIVE", "it is no tar, tar.gz or zip archive");
      default:
        throw this.#refusal(
          "UNSUPPORTED_ARCHIVE",
          `it is compressed with ${format}, which is not read here; unpack it first`,
        );
    }
  }

  async close(): Promise<void> {
    for (const [name, file] of this.#inflated) {
      await file.close();
      await this.#scratch.remove(name);
    }
    await this.#file.close();
  }

  async #gunzipped(): Promise<Archive> {
    const { file } = await this.#makeScratch();
    const inflated = this.#inflate("gzip", this.#watched(piecesOf(this.#file)));
    const { damage } = await inflateAll(this.#name, inflated, file, this.#budget);
    if (await archiveFormat(file) !== "tar") {
      if (damage !== undefined && file.size === 0) throw damage;
      const path = this.#name.split(/[/\\]/).at(-1)!.replace(/\.gz$/i, "");
      const content = new RangeSource(file, 0, file.size);
      return this.#archive([{ path, size: file.size, open: () => Promise.resolve(content) }], damage);
    }
    const tar = await readTarMembers(file, this.#name);
    return this.#archive(tar.members, damage ?? tar.damage);
  }

  async *#watched(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const { onProgress, signal } = this.#options;
    for await (const piece of pieces) {
      throwIfAborted(signal);
      yield piece;
      onProgress?.(piece.length);
    }
  }

  #archive(members: readonly ArchiveMember[], damage: StorageError | undefined): Archive {
    const folders = new Map<string, Map<string, OpenSource>>();
    for (const { path, open } of members) {
      const slash = path.lastIndexOf("/");
      const folder = path.slice(0, Math.max(0, slash));
      const files = folders.get(folder) ?? new Map();
      folders.set(folder, files.set(path.slice(slash + 1), open));
    }
    const sorted = [...folders].sort(([a], [b]) => a < b ? -1 : 1);
    return {
      folders: new Map(sorted.map(([path, files]) => [path, readOnlyStorage(files, WHY)])),
      damage,
      close: () => this.close(),
    };
  }

  async #makeScratch(): Promise<{ file: StoredFile; remove: () => Promise<void> }> {
    const name = `${SCRATCH}${this.#made++}`;
    const file = await this.#scratch.open(name, { create: true });
    this.#inflated.set(name, file);
    const remove = async () => {
      this.#inflated.delete(name);
      await this.#scratch.remove(name);
    };
    return { file, remove };
  }

  #refusal(code: string, reason: string): StorageError {
    return new StorageError(`${this.#name}: ${reason}`, { code, file: this.#name });
  }
}
