/**
 * Compressed bytes as a file that can be read at any position. Deflate cannot be sought, so what was inflated is kept in a
 * scratch file, as far as somebody read: a look at the first batch of a segment costs its first bytes alone.
 *
 * @module
 */

import { CompressionError, StorageError } from "../../core/kafka_error.ts";
import { crc32 } from "../../hash/crc32.ts";
import type { StoredFile } from "../storage.ts";
import type { ByteSource } from "./read_only_storage.ts";

/** How many bytes an archive may still inflate to, all its files together. */
export class InflationBudget {
  #left: number;
  readonly #limit: number;

  /** Allows `limit` bytes. */
  constructor(limit: number) {
    this.#left = this.#limit = limit;
  }

  /** Takes `bytes`. */
  take(bytes: number, name: string): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw new StorageError(
      `${name}: inflating it takes more than maxInflatedBytes=${this.#limit}; unpack it first, or raise that ` +
        `(of the command: ANYKAFKA_MAX_INFLATED_BYTES)`,
      { code: "ARCHIVE_TOO_LARGE", file: name },
    );
  }
}

/** What is known of compressed bytes. */
export interface InflatedOptions {
  /** Name, for messages. */
  readonly name: string;
  /** What comes out, in order. */
  readonly inflated: AsyncIterable<Uint8Array>;
  /** The number of bytes that must come out. */
  readonly size: number;
  /** Their CRC-32. */
  readonly crc32: number;
  /** Where they are kept; closed with the source. */
  readonly scratch: StoredFile;
  /** Removes the scratch file. */
  readonly remove: () => Promise<void>;
  /** How much may come out of all files together. */
  readonly budget: InflationBudget;
}

/** Inflated bytes of known number and checksum. */
export class InflatedSource implements ByteSource {
  readonly #options: InflatedOptions;
  readonly #inflated: AsyncIterator<Uint8Array>;
  #crc = 0;
  #reaching: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  #ended = false;

  /** Inflates nothing yet. */
  constructor(options: InflatedOptions) {
    this.#options = options;
    this.#inflated = options.inflated[Symbol.asyncIterator]();
  }

  /** Length in bytes, inflated. */
  get size(): number {
    return this.#options.size;
  }

  /** Fills `into` from `position`, inflating up to there. */
  async readAt(into: Uint8Array, position: number): Promise<number> {
    const end = Math.min(position + into.length, this.size);
    const reached = this.#reaching.then(() => this.#reach(end));
    this.#reaching = reached.catch(() => {}); // told to whoever reads
    await reached;
    return await this.#options.scratch.readAt(into, position);
  }

  /** Releases and removes the scratch file. */
  async close(): Promise<void> {
    await this.#reaching;
    await this.#inflated.return?.();
    await this.#options.scratch.close();
    await this.#options.remove();
  }

  async #reach(end: number): Promise<void> {
    const { name, scratch } = this.#options;
    // With the last byte the checksum is due, too.
    const isReached = () => scratch.size >= end && (end < this.size || this.#ended);
    if (this.#failure !== undefined && !isReached()) throw this.#failure.error;
    try {
      while (!isReached()) await this.#step();
    } catch (cause) {
      const error = cause instanceof CompressionError ? damagedArchive(name, cause.message, cause) : cause;
      this.#failure = { error };
      throw error;
    }
  }

  async #step(): Promise<void> {
    const { budget, name, scratch, size } = this.#options;
    const next = await this.#inflated.next();
    if (next.done === true) {
      if (scratch.size < size) throw this.#damaged(`it ends after ${scratch.size} of ${size} bytes`);
      if (this.#crc !== this.#options.crc32) throw this.#damaged("its checksum is wrong");
      this.#ended = true;
      return;
    }
    const chunk = next.value;
    if (scratch.size + chunk.length > size) throw this.#damaged(`more than the ${size} bytes that are due come out`);
    budget.take(chunk.length, name);
    this.#crc = crc32(chunk, this.#crc);
    await scratch.append([chunk]);
  }

  #damaged(reason: string): StorageError {
    return damagedArchive(this.#options.name, reason);
  }
}

/** What {@linkcode inflateAll} came to. */
export interface InflatedAll {
  /** Why it did not come to the end. */
  readonly damage: StorageError | undefined;
}

/** Inflates everything into `scratch`; what comes before damage is kept. */
export async function inflateAll(
  name: string,
  inflated: AsyncIterable<Uint8Array>,
  scratch: StoredFile,
  budget: InflationBudget,
): Promise<InflatedAll> {
  try {
    for await (const chunk of inflated) {
      budget.take(chunk.length, name);
      await scratch.append([chunk]);
    }
  } catch (error) {
    if (!(error instanceof CompressionError)) throw error;
    return {
      damage: damagedArchive(name, `it breaks off after ${scratch.size} bytes inflated: ${error.message}`, error),
    };
  }
  return { damage: undefined };
}

/** The error for an archive whose bytes are not what they should be. */
export function damagedArchive(name: string, reason: string, cause?: unknown): StorageError {
  return new StorageError(`${name}: ${reason}`, { code: "DAMAGED_ARCHIVE", file: name, cause });
}
