/**
 * The files in a `.zip`, read in place by its central directory, with 64-bit sizes: stored files are ranges of the archive,
 * deflated ones are inflated as far as they are read.
 *
 * @module
 */

import type { StorageError } from "../../core/kafka_error.ts";
import type { StoredFile } from "../storage.ts";
import {
  type ArchiveMember,
  MAX_MEMBERS,
  MAX_NAMES_BYTES,
  memberPath,
  tooManyMembers,
  unsupportedMember,
} from "./archive_member.ts";
import { type Inflate, piecesOf } from "./inflate.ts";
import { damagedArchive, InflatedSource, type InflationBudget } from "./inflated_source.ts";
import { RangeSource } from "./range_source.ts";
import type { ByteSource } from "./read_only_storage.ts";

/** How deflated files are inflated. */
export interface ZipOptions {
  /** Inflates. */
  readonly inflate: Inflate;
  /** Makes a file for what was inflated, and the function that removes it. */
  readonly scratch: () => Promise<{ readonly file: StoredFile; readonly remove: () => Promise<void> }>;
  /** How much may be inflated. */
  readonly budget: InflationBudget;
}

const END = 0x06054b50;
const END_SIZE = 22;
const END64 = 0x06064b50;
const END64_SIZE = 56;
const LOCATOR64 = 0x07064b50;
const LOCATOR64_SIZE = 20;
const ENTRY = 0x02014b50;
const ENTRY_SIZE = 46;
const LOCAL = 0x04034b50;
const LOCAL_SIZE = 30;
const MAX_COMMENT = 65535;
/** 64-bit sizes, in the extra field of an entry. */
const EXTRA64 = 1;
const [STORED, DEFLATED] = [0, 8];
/** Names of what else there is, for the message. */
const METHODS: Readonly<Record<number, string>> = {
  9: "deflate64",
  12: "bzip2",
  14: "lzma",
  93: "zstd",
  95: "xz",
  98: "PPMd",
};
const MODE_MASK = 0o170000;
const [MODE_FILE, MODE_NONE] = [0o100000, 0];

/**
 * Lists the archive `name`; of two files with the same path the later counts, as when they are unpacked.
 *
 * @throws StorageError when it is no zip archive, is damaged, or leads out of itself.
 */
export async function readZipMembers(source: ByteSource, name: string, options: ZipOptions): Promise<ArchiveMember[]> {
  const directory = await findDirectory(source, name);
  const members = new Map<string, ArchiveMember>();
  for await (const entry of entries(source, name, directory)) {
    const path = memberPath(name, entry.name);
    if (path === undefined || !entry.isFile) continue;
    const open = () => openMember(source, name, path, entry, directory.start, options);
    members.set(path, { path, size: entry.size, open });
  }
  return [...members.values()];
}

/** Where the list of files lies. */
interface Directory {
  readonly start: number;
  readonly size: number;
  readonly count: number;
}

interface Entry {
  readonly name: string;
  readonly isFile: boolean;
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly packed: number;
  readonly size: number;
  readonly local: number;
}

async function findDirectory(source: ByteSource, name: string): Promise<Directory> {
  const start = Math.max(0, source.size - END_SIZE - MAX_COMMENT);
  const tail = await read(source, name, start, source.size - start);
  const view = viewOf(tail);
  let at = tail.length - END_SIZE;
  // The true end is the one whose comment fills the rest.
  while (
    at >= 0 && !(view.getUint32(at, true) === END && at + END_SIZE + view.getUint16(at + 20, true) === tail.length)
  ) {
    at--;
  }
  if (at < 0) throw damagedArchive(name, "the zip archive has no end record; it is cut short, or something follows it");
  const end = start + at;
  const disks = [view.getUint16(at + 4, true), view.getUint16(at + 6, true)];
  let [count, size, position] = [
    view.getUint16(at + 10, true),
    view.getUint32(at + 12, true),
    view.getUint32(at + 16, true),
  ];
  let directoryEnd = end;
  const end64 = await findEnd64(source, name, end);
  if (end64 !== undefined) ({ count, size, position, directoryEnd } = end64);
  else if (disks.some((disk) => disk !== 0 && disk !== 0xffff)) {
    throw unsupportedMember(name, "it", "is one of several parts", "join them first");
  }
  if (position + size > directoryEnd) throw damagedArchive(name, "the zip archive's list of files lies outside of it");
  if (count > MAX_MEMBERS || size > MAX_NAMES_BYTES) throw tooManyMembers(name);
  return { start: position, size, count };
}

async function findEnd64(
  source: ByteSource,
  name: string,
  end: number,
): Promise<{ count: number; size: number; position: number; directoryEnd: number } | undefined> {
  if (end < LOCATOR64_SIZE + END64_SIZE) return undefined;
  const locator = viewOf(await read(source, name, end - LOCATOR64_SIZE, LOCATOR64_SIZE));
  if (locator.getUint32(0, true) !== LOCATOR64) return undefined;
  const at = wide(locator, 8, name);
  const view = at + END64_SIZE > end ? undefined : viewOf(await read(source, name, at, END64_SIZE));
  if (view?.getUint32(0, true) === END64) {
    return {
      count: wide(view, 32, name),
      size: wide(view, 40, name),
      position: wide(view, 48, name),
      directoryEnd: at,
    };
  }
  throw damagedArchive(name, "the zip archive's 64-bit end record is not where it should be");
}

async function* entries(
  source: ByteSource,
  name: string,
  directory: Directory,
): AsyncGenerator<Entry, void, undefined> {
  const end = directory.start + directory.size;
  const window = new Window(source, name, end);
  let at = directory.start;
  for (let n = 0; n < directory.count; n++) {
    const view = await window.view(at, ENTRY_SIZE);
    if (view.getUint32(0, true) !== ENTRY) throw damagedArchive(name, `no entry of the zip archive is at byte ${at}`);
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((field) => view.getUint16(field, true)) as [
      number,
      number,
      number,
    ];
    const rest = await window.view(at + ENTRY_SIZE, nameSize + extraSize);
    const bytes = new Uint8Array(rest.buffer, rest.byteOffset, rest.byteLength);
    yield entryOf(
      view,
      new TextDecoder().decode(bytes.subarray(0, nameSize)),
      bytes.subarray(nameSize),
      name,
    );
    at += ENTRY_SIZE + nameSize + extraSize + commentSize;
  }
}

function entryOf(view: DataView, path: string, extra: Uint8Array, archive: string): Entry {
  const told = [view.getUint32(24, true), view.getUint32(20, true), view.getUint32(42, true)] as [
    number,
    number,
    number,
  ];
  const [size, packed, local] = withExtra64(told, extra, archive);
  const mode = (view.getUint32(38, true) >>> 16) & MODE_MASK;
  return {
    name: path,
    isFile: !path.endsWith("/") && (mode === MODE_FILE || mode === MODE_NONE),
    flags: view.getUint16(8, true),
    method: view.getUint16(10, true),
    crc32: view.getUint32(16, true),
    packed,
    size,
    local,
  };
}

/** Sizes that do not fit 32 bits stand in the extra field instead, in order. */
function withExtra64(told: [number, number, number], extra: Uint8Array, archive: string): [number, number, number] {
  if (!told.includes(0xffffffff)) return told;
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length;) {
    const size = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === EXTRA64) {
      let field = at + 4;
      return told.map((value) => {
        if (value !== 0xffffffff) return value;
        if (field + 8 > Math.min(extra.length, at + 4 + size)) {
          throw damagedArchive(archive, "a 64-bit size is missing");
        }
        field += 8;
        return wide(view, field - 8, archive);
      }) as [number, number, number];
    }
    at += 4 + size;
  }
  return told; // exactly 4 GiB − 1, as it says
}

async function openMember(
  source: ByteSource,
  archive: string,
  path: string,
  entry: Entry,
  limit: number,
  options: ZipOptions,
): Promise<ByteSource> {
  const { crc32, flags, method, packed, size } = entry;
  if ((flags & 0x2041) !== 0) {
    throw unsupportedMember(archive, path, "is encrypted", "unpack it with its password first");
  }
  if (method !== STORED && method !== DEFLATED) {
    const called = METHODS[method] ?? `method ${method}`;
    throw unsupportedMember(archive, path, `is compressed with ${called}`, "unpack it first");
  }
  const header = viewOf(await read(source, archive, entry.local, LOCAL_SIZE));
  if (header.getUint32(0, true) !== LOCAL) {
    throw damagedArchive(archive, `${path} is not at byte ${entry.local}, where the zip archive's list has it`);
  }
  const position = entry.local + LOCAL_SIZE + header.getUint16(26, true) + header.getUint16(28, true);
  if (position + packed > limit || (method === STORED && packed !== size)) {
    throw damagedArchive(archive, `${path} does not lie where the zip archive's list has it`);
  }
  const name = `${archive}: ${path}`;
  if (method === STORED) return new RangeSource(source, position, size, { crc32, name });
  const { file: scratch, remove } = await options.scratch();
  const inflated = options.inflate("deflate-raw", piecesOf(new RangeSource(source, position, packed)));
  return new InflatedSource({ name, inflated, size, crc32, scratch, remove, budget: options.budget });
}

/** Reads the list of files in order. */
class Window {
  readonly #source: ByteSource;
  readonly #name: string;
  readonly #end: number;
  #bytes = new Uint8Array(0);
  #start = 0;

  constructor(source: ByteSource, name: string, end: number) {
    this.#source = source;
    this.#name = name;
    this.#end = end;
  }

  async view(position: number, size: number): Promise<DataView> {
    if (position + size > this.#end) throw damagedArchive(this.#name, "the zip archive's list of files is cut short");
    if (position < this.#start || position + size > this.#start + this.#bytes.length) {
      this.#bytes = await read(this.#source, this.#name, position, Math.min(WINDOW, this.#end - position));
      this.#start = position;
    }
    return new DataView(this.#bytes.buffer, position - this.#start, size);
  }
}

/** More than a name and an extra field may take. */
const WINDOW = 256 * 1024;

async function read(
  source: ByteSource,
  name: string,
  position: number,
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  if (position + size > source.size || await source.readAt(bytes, position) < size) throw cut(name);
  return bytes;
}

function cut(name: string): StorageError {
  return damagedArchive(name, "the zip archive is cut short");
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function wide(view: DataView, at: number, name: string): number {
  const value = view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  if (Number.isSafeInteger(value)) return value;
  throw damagedArchive(name, "a size or position in the zip archive is beyond 2^53");
}
