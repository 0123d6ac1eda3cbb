import { crc32 } from "../../hash/crc32.ts";
import { damagedArchive } from "./inflated_source.ts";
import type { ByteSource } from "./read_only_storage.ts";

/** What a range may be checked against. */
export interface RangeChecksum {
  /** CRC-32 of all its bytes. */
  readonly crc32: number;
  /** Name for the message. */
  readonly name: string;
}

/**
 * A part of another source, shared and not copied. A checksum is compared by those who read all of it in order; one who
 * only looks at places cannot know.
 */
export class RangeSource implements ByteSource {
  /** Length in bytes. */
  readonly size: number;
  readonly #source: ByteSource;
  readonly #position: number;
  readonly #checksum: RangeChecksum | undefined;
  #crc = 0;
  #checked = 0;

  /** The `size` bytes at `position` of `source`, which stays open. */
  constructor(source: ByteSource, position: number, size: number, checksum?: RangeChecksum) {
    this.#source = source;
    this.#position = position;
    this.size = size;
    this.#checksum = checksum;
  }

  /** Fills `into` from `position`. */
  async readAt(into: Uint8Array, position: number): Promise<number> {
    const wanted = Math.max(0, Math.min(into.length, this.size - position));
    const bytes = into.subarray(0, wanted);
    const count = await this.#source.readAt(bytes, this.#position + position);
    if (this.#checksum !== undefined && position === this.#checked) this.#check(bytes.subarray(0, count));
    return count;
  }

  #check(bytes: Uint8Array): void {
    this.#crc = crc32(bytes, this.#crc);
    this.#checked += bytes.length;
    const { crc32: expected, name } = this.#checksum!;
    if (this.#checked === this.size && this.#crc !== expected) {
      this.#checked = this.#crc = 0;
      throw damagedArchive(name, "its checksum is wrong");
    }
  }
}
