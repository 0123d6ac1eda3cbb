/**
 * The files in a `.tar`, read in place: `ustar`, with the long names and sizes of pax and of GNU tar. Only headers are
 * read; a file is a range of the archive.
 *
 * @module
 */

import { StorageError } from "../../core/kafka_error.ts";
import {
  type ArchiveMember,
  MAX_MEMBERS,
  MAX_NAMES_BYTES,
  memberPath,
  tooManyMembers,
  unsupportedMember,
} from "./archive_member.ts";
import { damagedArchive } from "./inflated_source.ts";
import type { ByteSource } from "./read_only_storage.ts";
import { RangeSource } from "./range_source.ts";

/** What an archive holds. */
export interface TarMembers {
  /** Files in order; a later one of the same path replaces an earlier one, as when they are unpacked. */
  readonly members: readonly ArchiveMember[];
  /** Why the archive ends before its end; what is listed lies before. */
  readonly damage: StorageError | undefined;
}

const BLOCK = 512;
/** Names and attributes in front of a member; more is no name. */
const MAX_EXTENSION = 1024 * 1024;
const TYPES = {
  file: "0",
  oldFile: "\0",
  link: "1",
  contiguous: "7",
  pax: "x",
  paxGlobal: "g",
  longName: "L",
  longLink: "K",
  sparse: "S",
};

/** Reads the headers of the archive `name`. @throws StorageError when it is none, or leads out of itself. */
export async function readTarMembers(source: ByteSource, name: string): Promise<TarMembers> {
  const reader = new TarReader(source, name);
  try {
    await reader.run();
  } catch (error) {
    const isDamage = error instanceof StorageError && error.code === "DAMAGED_ARCHIVE";
    if (!isDamage || reader.members.size === 0) throw error;
    return { members: [...reader.members.values()], damage: error };
  }
  return { members: [...reader.members.values()], damage: undefined };
}

/** Whether `block`, the first 512 bytes, is the header of a tar member. */
export function isTarHeader(block: Uint8Array): boolean {
  return block.length >= BLOCK && block[0] !== 0 && hasChecksum(block);
}

class TarReader {
  readonly members: Map<string, ArchiveMember> = new Map();
  readonly #source: ByteSource;
  readonly #name: string;
  readonly #global = new Map<string, string>();
  #local = new Map<string, string>();
  #count = 0;
  #namesBytes = 0;

  constructor(source: ByteSource, name: string) {
    this.#source = source;
    this.#name = name;
  }

  async run(): Promise<void> {
    const block = new Uint8Array(BLOCK);
    let position = 0;
    while (position < this.#source.size) {
      if (await this.#source.readAt(block, position) < BLOCK) throw this.#damaged(position, "it is cut short");
      if (block.every((byte) => byte === 0)) return;
      if (!hasChecksum(block)) throw this.#damaged(position, "no header of a member is there");
      if (++this.#count > MAX_MEMBERS) throw tooManyMembers(this.#name);
      position = await this.#member(block, position);
    }
    throw this.#damaged(this.#source.size, "its end mark is missing: it is cut short");
  }

  /** Takes the member with this header; answers where the next one begins. */
  async #member(header: Uint8Array, position: number): Promise<number> {
    const type = String.fromCharCode(header[156]!);
    const data = position + BLOCK;
    const isExtension = ([TYPES.pax, TYPES.paxGlobal, TYPES.longName, TYPES.longLink] as string[]).includes(type);
    const attribute = (key: string) => this.#local.get(key) ?? this.#global.get(key);
    const size = this.#size(isExtension ? undefined : attribute("size"), header, position);
    const next = data + Math.ceil(size / BLOCK) * BLOCK;
    switch (type) {
      case TYPES.pax:
        this.#local = await this.#attributes(data, size, this.#local);
        return next;
      case TYPES.paxGlobal:
        await this.#attributes(data, size, this.#global);
        return next;
      case TYPES.longName:
        this.#local.set("path", textIn(await this.#extension(data, size)));
        return next;
      case TYPES.longLink:
        this.#local.set("linkpath", textIn(await this.#extension(data, size)));
        return next;
    }
    const name = attribute("GNU.sparse.name") ?? attribute("path") ?? nameIn(header);
    const isFile = ([TYPES.file, TYPES.oldFile, TYPES.contiguous] as string[]).includes(type) && !name.endsWith("/");
    if ((this.#namesBytes += name.length) > MAX_NAMES_BYTES) throw tooManyMembers(this.#name);
    let end = next;
    if (type === TYPES.sparse) {
      this.#addSparse(name);
      end += await this.#sparseMapBytes(header, data);
    } else if (isFile && [...this.#local.keys()].some((key) => key.startsWith("GNU.sparse."))) {
      this.#addSparse(name);
    } else if (isFile) {
      this.#addFile(name, data, size);
      if (data + size > this.#source.size) {
        throw this.#damaged(
          position,
          `it is cut short: ${name} is there with ${this.#source.size - data} of ${size} bytes`,
        );
      }
    } else if (type === TYPES.link) this.#addLink(name, attribute("linkpath") ?? textIn(header.subarray(157, 257)));
    this.#local = new Map();
    // Links, devices and folders have no data, whatever their size says.
    return /[1-6]/.test(type) ? data : end;
  }

  #addFile(name: string, position: number, size: number): void {
    const path = memberPath(this.#name, name);
    if (path === undefined) return;
    const range = new RangeSource(this.#source, position, Math.max(0, Math.min(size, this.#source.size - position)));
    this.members.set(path, { path, size: range.size, open: () => Promise.resolve(range) });
  }

  /** A second name of a file that came before. */
  #addLink(name: string, target: string): void {
    const path = memberPath(this.#name, name);
    const linked = this.members.get(memberPath(this.#name, target) ?? "");
    if (path !== undefined && linked !== undefined) this.members.set(path, { ...linked, path });
  }

  #addSparse(name: string): void {
    const path = memberPath(this.#name, name);
    if (path === undefined) return;
    const refusal = unsupportedMember(this.#name, path, "is stored as a sparse file", "pack it without --sparse");
    this.members.set(path, { path, size: 0, open: () => Promise.reject(refusal) });
  }

  /** Bytes of the map of a sparse file that did not go into its header. */
  async #sparseMapBytes(header: Uint8Array, position: number): Promise<number> {
    const block = new Uint8Array(BLOCK);
    let size = 0;
    for (let isMore = header[482] !== 0; isMore; isMore = block[504] !== 0) {
      if (await this.#source.readAt(block, position + size) < BLOCK) throw this.#damaged(position, "it is cut short");
      size += BLOCK;
    }
    return size;
  }

  /** Reads `length key=value` lines into `into`. */
  async #attributes(position: number, size: number, into: Map<string, string>): Promise<Map<string, string>> {
    const bytes = await this.#extension(position, size);
    for (let at = 0; at < bytes.length && bytes[at] !== 0;) {
      const space = bytes.indexOf(0x20, at);
      const digits = space < 0 ? "" : latin1(bytes.subarray(at, space));
      const length = Number(digits);
      const line = bytes.subarray(space + 1, at + length - 1);
      const equals = line.indexOf(0x3d);
      if (!/^\d{1,7}$/.test(digits) || at + length > bytes.length || bytes[at + length - 1] !== 0x0a || equals < 1) {
        throw this.#damaged(position, "an extended header has a line that is no attribute");
      }
      into.set(utf8(line.subarray(0, equals)), utf8(line.subarray(equals + 1)));
      at += length;
    }
    return into;
  }

  async #extension(position: number, size: number): Promise<Uint8Array> {
    if (size > MAX_EXTENSION) throw this.#damaged(position, `an extended header of ${size} bytes makes no sense`);
    const bytes = new Uint8Array(size);
    if (await this.#source.readAt(bytes, position) < size) throw this.#damaged(position, "it is cut short");
    return bytes;
  }

  #size(attribute: string | undefined, header: Uint8Array, position: number): number {
    const size = attribute === undefined ? numberIn(header.subarray(124, 136)) : Number(attribute);
    if (Number.isSafeInteger(size) && (attribute === undefined || /^\d+$/.test(attribute))) return size;
    throw this.#damaged(position, "the size of a member is no number");
  }

  #damaged(position: number, reason: string): StorageError {
    return damagedArchive(this.#name, `at byte ${position} of the tar archive ${reason}`);
  }
}

function hasChecksum(header: Uint8Array): boolean {
  const checksum = header.subarray(148, 156);
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= 148 && i < 156 ? 0x20 : header[i]!;
    unsigned += byte;
    signed += byte << 24 >> 24; // what some old programs summed
  }
  const expected = numberIn(checksum);
  return expected === unsigned || expected === signed;
}

/** A number in octal digits, or in base 256 where they would not do; NaN for anything else. */
function numberIn(field: Uint8Array): number {
  if (field[0]! >= 0x80) {
    if (field[0] !== 0x80) return NaN; // negative, or too large for any file
    return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
  }
  const digits = textIn(field).trim();
  return /^[0-7]*$/.test(digits) ? parseInt(digits || "0", 8) : NaN;
}

function nameIn(header: Uint8Array): string {
  const name = textIn(header.subarray(0, 100));
  // GNU's own form ends in a blank, and keeps other things where the prefix is.
  const isUstar = latin1(header.subarray(257, 263)) === "ustar\0";
  const prefix = isUstar ? textIn(header.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Text up to the first zero. */
function textIn(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return utf8(end < 0 ? bytes : bytes.subarray(0, end));
}

function utf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
