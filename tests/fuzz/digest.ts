import { crc32c } from "../../src/hash/crc32c.ts";

/** A running hash of whatever is added: the same in every runtime when the same was seen. */
export class Digest {
  #hash = 0x811c9dc5 | 0;

  /** Adds a number, a text, bytes, or nothing at all; each kind in its own way, so that "1" is not 1. */
  add(value: number | string | boolean | Uint8Array | null | undefined): void {
    if (typeof value === "number") {
      const isWhole = Number.isSafeInteger(value);
      this.#mix(isWhole ? 1 : 8);
      this.#mix(value | 0);
      this.#mix(isWhole ? Math.floor(value / 4294967296) | 0 : Math.round((value % 1) * 1e9) | 0);
    } else if (typeof value === "string") {
      this.#mix(2 + value.length);
      for (let i = 0; i < value.length; i++) this.#mix(value.charCodeAt(i));
    } else if (value instanceof Uint8Array) {
      this.#mix(3);
      this.#mix(value.length);
      this.#mix(crc32c(value));
    } else this.#mix(value === null ? 4 : value === undefined ? 5 : value ? 6 : 7);
  }

  /** Unsigned, of 32 bits. */
  get value(): number {
    return this.#hash >>> 0;
  }

  #mix(bits: number): void {
    const mixed = Math.imul(this.#hash ^ bits, 0x9e3779b1);
    this.#hash = mixed ^ (mixed >>> 15);
  }
}
