/**
 * One file in an archive, and the names that archives may give it.
 *
 * @module
 */

import { StorageError } from "../../core/kafka_error.ts";
import type { OpenSource } from "./read_only_storage.ts";

/** One file in an archive. */
export interface ArchiveMember {
  /** Path in the archive: plain components between slashes. */
  readonly path: string;
  /** Length in bytes. */
  readonly size: number;
  /** Opens it. */
  readonly open: OpenSource;
}

/** Most members of an archive; a log directory of 100,000 partitions has about as many files. */
export const MAX_MEMBERS = 500_000;
/** Most bytes of their names together, and of a zip archive's list: both are held in memory. */
export const MAX_NAMES_BYTES: number = 64 * 1024 * 1024;

/**
 * The path of a member without what means nothing; undefined when nothing is left, as of the folder `./`.
 *
 * @throws StorageError with code `"UNSAFE_ARCHIVE"` for a name that leads out of the archive.
 */
export function memberPath(archive: string, name: string): string | undefined {
  // Absolute names are what `tar -P` writes; like tar itself we read them below the top.
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..") || /[\\\0]/.test(name) || /^[A-Za-z]:/.test(name)) {
    throw new StorageError(
      `${archive}: the name ${
        JSON.stringify(name.slice(0, 200))
      } in it leads out of the archive, so nothing of it is read`,
      { code: "UNSAFE_ARCHIVE", file: archive },
    );
  }
  return parts.length === 0 ? undefined : parts.join("/");
}

/** The error for an archive with more members than make sense. */
export function tooManyMembers(archive: string): StorageError {
  const limits = `${MAX_MEMBERS} members or ${MAX_NAMES_BYTES} bytes of names`;
  return new StorageError(`${archive}: it has more than ${limits}; unpack it first`, {
    code: "ARCHIVE_TOO_LARGE",
    file: archive,
  });
}

/** The error for what an archive may hold but we do not read. */
export function unsupportedMember(archive: string, member: string, what: string, instead: string): StorageError {
  return new StorageError(`${archive}: ${member} ${what}, which is not read here; ${instead}`, {
    code: "UNSUPPORTED_ARCHIVE",
    file: archive,
  });
}
