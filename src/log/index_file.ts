/**
 * The entries of one index file, of one size each, in memory as they lie on the disk. The three indexes of a segment are
 * made of it.
 *
 * A live or crashed broker leaves a tail of zeros, since it makes its index files at full length and keeps the used
 * length in memory: the end of the real entries is found here.
 *
 * @module
 */

import { StorageError } from "../core/kafka_error.ts";
import { type Anomaly, damage, note } from "./anomaly.ts";
import type { Storage, StoredFile } from "./storage.ts";

/** How an index is opened. */
export interface IndexOptions {
  /** Whether entries will be added: the file is made when it is not there, and cut to its entries. */
  readonly writable: boolean;
  /** Most bytes of the file (`segment.index.bytes`); the index is full beyond. */
  readonly maxBytes: number;
  /** Most entries that can be genuine, from the size of the log; what follows is not read. */
  readonly plausibleEntries: number;
  /** Bytes of the log, to tell entries that point behind it; absent when that is not known. */
  readonly logSize?: number;
  /** Takes what is odd; with it, all entries are looked at. */
  readonly report?: (anomaly: Anomaly) => void;
}

/** What one kind of index is like. */
export interface IndexForm {
  /** Bytes of an entry. */
  readonly entrySize: number;
  /** Whether the entry at `at` is a slot of the zero tail. */
  isUnused(view: DataView, at: number): boolean;
}

/** An index file that was read. */
export interface LoadedIndex {
  /** Name of the file. */
  readonly name: string;
  /** The file, when entries will be added. */
  readonly file: StoredFile | undefined;
  /** Its entries. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How it was opened. */
  readonly options: IndexOptions;
}

/** Reads the index file `name`; one that is not there has no entries. */
export async function loadIndex(
  storage: Storage,
  name: string,
  form: IndexForm,
  options: IndexOptions,
): Promise<LoadedIndex> {
  const file = await openIfPresent(storage, name, options.writable);
  if (file === undefined) return { name, file, bytes: new Uint8Array(0), options };
  let isKept = false;
  try {
    const slots = Math.min(Math.floor(file.size / form.entrySize), options.plausibleEntries);
    const slotBytes = new Uint8Array(slots * form.entrySize);
    const count = await file.readAt(slotBytes, 0);
    const entries = usedSlots(slotBytes, Math.floor(count / form.entrySize), form);
    const bytes = slotBytes.length === entries * form.entrySize
      ? slotBytes
      : slotBytes.slice(0, entries * form.entrySize);
    reportTail(name, file.size, entries, form.entrySize, options);
    if (options.writable) await file.truncate(bytes.length);
    isKept = options.writable;
    return { name, file: isKept ? file : undefined, bytes, options };
  } finally {
    if (!isKept) await file.close();
  }
}

/** Fixed-size entries, added at the end and cut from the end. */
export abstract class IndexFile {
  /** Name of the file. */
  readonly name: string;
  /** Base offset of the segment. */
  readonly baseOffset: number;
  /** Whether the entries ascend as they must. Where they do not, look-ups answer the segment's start. */
  protected isSound = true;
  /** Entries the file may hold. */
  protected readonly maxEntries: number;
  /** The entries' bytes; another view once entries were added. */
  protected view: DataView;
  readonly #entrySize: number;
  #file: StoredFile | undefined;
  #bytes: Uint8Array<ArrayBuffer>;
  #entries: number;
  /** Entries of those that are in the file. */
  #written: number;

  /** The index of the segment at `baseOffset`, as it was read. */
  protected constructor(baseOffset: number, entrySize: number, { name, file, bytes, options }: LoadedIndex) {
    this.name = name;
    this.baseOffset = baseOffset;
    this.maxEntries = Math.floor(options.maxBytes / entrySize);
    this.view = new DataView(bytes.buffer);
    this.#entrySize = entrySize;
    this.#file = file;
    this.#bytes = bytes;
    this.#entries = bytes.length / entrySize;
    this.#written = this.#entries;
  }

  /** Number of entries. */
  get entries(): number {
    return this.#entries;
  }

  /** Bytes it takes in memory. */
  get byteLength(): number {
    return this.#bytes.length;
  }

  /** Drops every entry with an offset of at least `offset`. */
  truncateTo(offset: number): Promise<void> {
    let keep = this.#entries;
    while (keep > 0 && this.offsetAt(keep - 1) >= offset) keep--;
    return this.truncateEntries(keep);
  }

  /** Drops all but the first `entries`. */
  async truncateEntries(entries: number): Promise<void> {
    this.#entries = Math.min(this.#entries, entries);
    this.#written = Math.min(this.#written, this.#entries);
    // A failed append may have left part of an entry, so the file is cut even when nothing is dropped here.
    await this.#writable().truncate(this.#written * this.#entrySize);
  }

  /** Appends the entries that were added to the file. One call at a time. */
  async write(): Promise<void> {
    if (this.#written === this.#entries) return;
    const file = this.#writable();
    const until = this.#entries;
    await file.append([this.#bytes.subarray(this.#written * this.#entrySize, until * this.#entrySize)]);
    this.#written = until;
  }

  /** Resolves once the entries that were written are on the disk. It writes none, so it may run beside {@linkcode write}. */
  async sync(): Promise<void> {
    await this.#file?.sync();
  }

  /** Releases the file; look-ups still work. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  /** What the entries are sorted by, of entry `n`. */
  protected abstract keyAt(n: number): number;

  /** The offset in entry `n`; rounded beyond 2^53. */
  protected abstract offsetAt(n: number): number;

  /** Refuses an entry that is not there. */
  protected checkEntry(n: number): void {
    if (n >= 0 && n < this.#entries) return;
    throw new StorageError(`${this.name}: there is no entry ${n}, it has ${this.#entries}`, {
      code: "NO_SUCH_ENTRY",
      file: this.name,
    });
  }

  /** The offset in entry `n`, never rounded. */
  protected safeOffset(n: number): number {
    this.checkEntry(n);
    const offset = this.offsetAt(n);
    if (Number.isSafeInteger(offset)) return offset;
    const position = n * this.#entrySize;
    throw new StorageError(
      `${this.name} at byte ${position}: the offset of entry ${n} is beyond 2^53−1, which a JavaScript number cannot hold`,
      { code: "UNSAFE_INTEGER", file: this.name, position },
    );
  }

  /** The last entry whose key is at most `wanted`; −1 when all are above. `probe` is told of each entry looked at. */
  protected floorEntry(wanted: number, probe?: (n: number, isAtMost: boolean) => void): number {
    if (!this.isSound) return -1;
    let low = 0;
    let high = this.#entries;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const isAtMost = this.keyAt(middle) <= wanted;
      probe?.(middle, isAtMost);
      if (isAtMost) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Makes room for one entry more and answers where to write it into {@linkcode view}. It is on the disk after {@linkcode write}. */
  protected addEntry(): number {
    const at = this.#entries * this.#entrySize;
    if (at + this.#entrySize > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, 16 * this.#entrySize));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    this.#entries++;
    return at;
  }

  #writable(): StoredFile {
    if (this.#file !== undefined) return this.#file;
    throw new StorageError(`write ${this.name}: the index was opened for reading`, { code: "EBADF", file: this.name });
  }
}

/** Slots before the first unused one. From there to the end all are unused, so a binary search finds it. */
function usedSlots(bytes: Uint8Array<ArrayBuffer>, slots: number, { entrySize, isUnused }: IndexForm): number {
  const view = new DataView(bytes.buffer);
  // Slot 0 of a time index may be all zeros and real (timestamp 0 at the base offset), so the search begins behind it.
  let low = Math.min(1, slots);
  let high = slots;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isUnused(view, middle * entrySize)) high = middle;
    else low = middle + 1;
  }
  return low === 1 && isUnused(view, 0) ? 0 : low;
}

/** Reports what lies behind the entries. */
function reportTail(name: string, fileSize: number, entries: number, entrySize: number, options: IndexOptions): void {
  const position = entries * entrySize;
  if (options.report === undefined || position === fileSize) return;
  const left = fileSize - position;
  if (left < entrySize) {
    options.report(damage(
      "index-size",
      name,
      `${left} bytes behind the last entry are no whole one; a broker takes them for nothing, or builds the index anew`,
      { position },
    ));
  } else if (entries < options.plausibleEntries) {
    options.report(note(
      "index-zero-tail",
      name,
      `${left} bytes behind the last entry are unused: the index was live when it was copied, or its broker crashed. ` +
        `A broker takes them for entries unless it recovers the segment`,
      { position },
    ));
  } else {
    options.report(damage(
      "index-entry",
      name,
      `${left} bytes follow more entries than the segment has room for batches`,
      { position },
    ));
  }
}

async function openIfPresent(storage: Storage, name: string, create: boolean): Promise<StoredFile | undefined> {
  try {
    return await storage.open(name, { create });
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return undefined;
    throw error;
  }
}
