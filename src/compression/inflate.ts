/**
 * DEFLATE, as it stands in gzip members: RFC 1951. A hostile stream costs no more than what the limit allows, and where a stream
 * ends is known to the byte. What zlib refuses is refused.
 *
 * @module
 */

import { corruptCompression, decompressionLimit } from "./codec.ts";

const LAST_BLOCK = 1;
const [STORED, FIXED, DYNAMIC] = [0, 1, 2] as const;
const END_OF_BLOCK = 256;
const MAX_LITERALS = 286;
const MAX_DISTANCES = 30;
const MAX_CODE_LENGTH = 15;
/** Bits by which most codes are looked up at once. */
const LOOK_UP_BITS = 10;
const LONGEST_MATCH = 258;
/** Copies go four bytes a step, and may overwrite up to three behind their end. */
const STEP = 4;
/** Room behind what is inflated, so that a match need not be measured as long as there is that much. */
const SPARE = LONGEST_MATCH + STEP;

const LENGTH_BASE = [
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  11,
  13,
  15,
  17,
  19,
  23,
  27,
  31,
  35,
  43,
  51,
  59,
  67,
  83,
  99,
  115,
  131,
  163,
  195,
  227,
  258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Inflates streams out of one buffer into another one. */
export class Inflater {
  readonly #bytes: Uint8Array;
  readonly #limit: number;
  #inflated: Uint8Array;
  #size = 0;
  /** Where the next byte is taken, and bits of earlier ones that are not used yet. */
  #position = 0;
  #bits = 0;
  #bitCount = 0;
  readonly #literals = new Code(MAX_LITERALS + 2);
  readonly #distances = new Code(MAX_DISTANCES + 2);
  readonly #codeLengths = new Code(CODE_LENGTH_ORDER.length);
  readonly #lengths = new Uint8Array(MAX_LITERALS + MAX_DISTANCES);

  /** Takes the buffer, the most bytes that it may inflate to, and a guess how many these are. */
  constructor(bytes: Uint8Array, limit: number, guess: number) {
    this.#bytes = bytes;
    this.#limit = limit;
    this.#inflated = new Uint8Array(Math.min(guess, limit) + SPARE);
  }

  /** All that was inflated. */
  get content(): Uint8Array {
    return this.#inflated.subarray(0, this.#size);
  }

  /**
   * Inflates the stream that begins at `start`; answers where it ends.
   *
   * @throws CompressionError
   */
  inflate(start: number): number {
    this.#position = start;
    this.#bits = this.#bitCount = 0;
    const begin = this.#size;
    for (let isLast = false; !isLast;) {
      isLast = this.#take(1) === LAST_BLOCK;
      const kind = this.#take(2);
      if (kind === STORED) this.#copyStored();
      else if (kind === FIXED) {
        this.#fixCodes();
        this.#inflateBlock(begin);
      } else if (kind === DYNAMIC) {
        this.#readCodes();
        this.#inflateBlock(begin);
      } else throw corrupt("a block of an unknown kind");
    }
    return this.#position - (this.#bitCount >>> 3);
  }

  #copyStored(): void {
    this.#position -= this.#bitCount >>> 3;
    this.#bits = this.#bitCount = 0;
    const length = this.#take(16);
    if (length !== (~this.#take(16) & 0xffff)) throw corrupt("a stored block's lengths disagree");
    const { length: end } = this.#bytes;
    if (length > end - this.#position) throw cut();
    this.#reserve(length);
    this.#inflated.set(this.#bytes.subarray(this.#position, this.#position + length), this.#size);
    this.#position += length;
    this.#size += length;
  }

  #fixCodes(): void {
    const lengths = Uint8Array.from({ length: 288 }, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    this.#literals.assign(lengths, 0, 288, false);
    this.#distances.assign(new Uint8Array(32).fill(5), 0, 32, false);
  }

  #readCodes(): void {
    const lengths = this.#lengths;
    const literals = 257 + this.#take(5);
    const distances = 1 + this.#take(5);
    if (literals > MAX_LITERALS || distances > MAX_DISTANCES) throw corrupt("too many codes");
    const count = 4 + this.#take(4);
    lengths.fill(0, 0, CODE_LENGTH_ORDER.length);
    for (let i = 0; i < count; i++) lengths[CODE_LENGTH_ORDER[i]!] = this.#take(3);
    this.#codeLengths.assign(lengths, 0, CODE_LENGTH_ORDER.length, false);

    for (let i = 0; i < literals + distances;) {
      const symbol = this.#symbol(this.#codeLengths);
      if (symbol < 16) {
        lengths[i++] = symbol;
        continue;
      }
      if (symbol === 16 && i === 0) throw corrupt("no code length to repeat");
      const repeated = symbol === 16 ? lengths[i - 1]! : 0;
      const times = symbol === 16 ? 3 + this.#take(2) : symbol === 17 ? 3 + this.#take(3) : 11 + this.#take(7);
      if (i + times > literals + distances) throw corrupt("too many code lengths");
      lengths.fill(repeated, i, i += times);
    }
    if (lengths[END_OF_BLOCK] === 0) throw corrupt("a block without an end");
    this.#literals.assign(lengths, 0, literals, true);
    this.#distances.assign(lengths, literals, literals + distances, true);
  }

  #inflateBlock(begin: number): void {
    // Hot: 70 to 240 MB/s on a busy machine where fflate did 10 to 50; by locals, and without a call for each symbol.
    const bytes = this.#bytes;
    const end = bytes.length;
    const { longer: longLiterals, table: literals } = this.#literals;
    const { longer: longDistances, table: distances } = this.#distances;
    let position = this.#position;
    let bits = this.#bits;
    let count = this.#bitCount;
    let inflated = this.#inflated;
    let view = new DataView(inflated.buffer);
    /** As long as the size is not above it, nothing can get beyond the buffer or the limit. */
    let safeSize = Math.min(inflated.length - SPARE, this.#limit - LONGEST_MATCH);
    let size = this.#size;
    for (;;) {
      // Zeros stand for what is missing at the end, until they are used.
      for (; count < MAX_CODE_LENGTH; count += 8) bits |= (position < end ? bytes[position]! : 0) << count, position++;
      let entry = literals[bits & ((1 << LOOK_UP_BITS) - 1)]!;
      if (entry === 0) entry = longLiterals(bits);
      bits >>>= entry & 15;
      count -= entry & 15;
      if (position > end && count < (position - end) << 3) throw cut();
      const symbol = entry >>> 4;
      if (symbol < END_OF_BLOCK) {
        if (size > safeSize) {
          this.#size = size;
          if (this.#reserve(1)) {
            inflated = this.#inflated;
            view = new DataView(inflated.buffer);
            safeSize = Math.min(inflated.length - SPARE, this.#limit - LONGEST_MATCH);
          }
        }
        inflated[size++] = symbol;
        continue;
      }
      if (symbol === END_OF_BLOCK) break;
      if (symbol > 285) throw corrupt("a length that is none");
      for (; count < MAX_CODE_LENGTH + 5; count += 8) {
        bits |= (position < end ? bytes[position]! : 0) << count, position++;
      }
      let extra = LENGTH_BITS[symbol - 257]!;
      const length = LENGTH_BASE[symbol - 257]! + (bits & ((1 << extra) - 1));
      bits >>>= extra;
      count -= extra;
      entry = distances[bits & ((1 << LOOK_UP_BITS) - 1)]!;
      if (entry === 0) entry = longDistances(bits);
      bits >>>= entry & 15;
      count -= entry & 15;
      if (entry >>> 4 >= MAX_DISTANCES) throw corrupt("a distance that is none");
      for (; count < 13; count += 8) bits |= (position < end ? bytes[position]! : 0) << count, position++;
      const code = entry >>> 4;
      extra = code < 2 ? 0 : (code >>> 1) - 1;
      const distance = (code < 2 ? code : (2 | code & 1) << extra) + 1 + (bits & ((1 << extra) - 1));
      bits >>>= extra;
      count -= extra;
      if (position > end && count < (position - end) << 3) throw cut();
      if (distance > size - begin) throw corrupt(`a match ${distance} bytes back, ${size - begin} are there`);
      if (size > safeSize) {
        this.#size = size;
        if (this.#reserve(length)) {
          inflated = this.#inflated;
          view = new DataView(inflated.buffer);
          safeSize = Math.min(inflated.length - SPARE, this.#limit - LONGEST_MATCH);
        }
      }
      const from = size - distance;
      if (distance >= STEP) {
        for (let i = 0; i < length; i += STEP) view.setInt32(size + i, view.getInt32(from + i, true), true);
      } else {
        for (let i = 0; i < length; i++) inflated[size + i] = inflated[from + i]!;
      }
      size += length;
    }
    this.#position = position;
    this.#bits = bits;
    this.#bitCount = count;
    this.#size = size;
  }

  /** Makes room for `count` bytes more; says whether that took another buffer. */
  #reserve(count: number): boolean {
    const needed = this.#size + count;
    if (needed > this.#limit) throw decompressionLimit("gzip", this.#limit);
    const capacity = this.#inflated.length - SPARE;
    if (needed <= capacity + LONGEST_MATCH) return false;
    const grown = new Uint8Array(Math.min(this.#limit, Math.max(needed, capacity * 2)) + SPARE);
    grown.set(this.content);
    this.#inflated = grown;
    return true;
  }

  /** The next symbol of `code`. */
  #symbol(code: Code): number {
    this.#fill(MAX_CODE_LENGTH);
    const entry = code.table[this.#bits & ((1 << LOOK_UP_BITS) - 1)]! || code.longer(this.#bits);
    this.#drop(entry & 15);
    return entry >>> 4;
  }

  #take(count: number): number {
    this.#fill(count);
    const value = this.#bits & ((1 << count) - 1);
    this.#drop(count);
    return value;
  }

  #fill(count: number): void {
    for (; this.#bitCount < count; this.#bitCount += 8) {
      this.#bits |= (this.#bytes[this.#position] ?? 0) << this.#bitCount;
      this.#position++;
    }
  }

  #drop(count: number): void {
    this.#bits >>>= count;
    this.#bitCount -= count;
    const beyond = this.#position - this.#bytes.length;
    if (beyond > 0 && this.#bitCount < beyond * 8) throw cut();
  }
}

/** A Huffman code. An entry is a symbol and, in its lowest four bits, the length of its code. */
class Code {
  /** Entries of codes that are not longer than the table's index, by the bits as they come; 0 where none begins so. */
  readonly table = new Uint16Array(1 << LOOK_UP_BITS);
  /** How many codes there are of each length. */
  readonly #counts = new Uint16Array(MAX_CODE_LENGTH + 1);
  /** Symbols in order of their codes. */
  readonly #symbols: Uint16Array;

  constructor(symbols: number) {
    this.#symbols = new Uint16Array(symbols);
  }

  /**
   * Makes the code in which the symbols from 0 on have the lengths `lengths[start, end)`. All combinations of bits must be used,
   * and only once; but where zlib allows it, there may be no symbol, or a single one of one bit.
   */
  assign(lengths: Uint8Array, start: number, end: number, mayBeIncomplete: boolean): void {
    const counts = this.#counts.fill(0);
    for (let i = start; i < end; i++) counts[lengths[i]!]!++;
    counts[0] = 0;
    const offsets = new Uint16Array(MAX_CODE_LENGTH + 2);
    let [left, longest] = [1, 0];
    for (let length = 1; length <= MAX_CODE_LENGTH; length++) {
      left = left * 2 - counts[length]!;
      if (left < 0) throw corrupt("codes that overlap");
      if (counts[length]! > 0) longest = length;
      offsets[length + 1] = offsets[length]! + counts[length]!;
    }
    if (left > 0 && (longest > 1 || !mayBeIncomplete)) throw corrupt("codes that leave bits unused");

    this.table.fill(0);
    const next = new Uint16Array(MAX_CODE_LENGTH + 2);
    for (let length = 1; length <= MAX_CODE_LENGTH; length++) next[length + 1] = (next[length]! + counts[length]!) << 1;
    for (let i = start; i < end; i++) {
      const length = lengths[i]!;
      if (length === 0) continue;
      this.#symbols[offsets[length]!++] = i - start;
      const code = next[length]!++;
      if (length > LOOK_UP_BITS) continue;
      const step = 1 << length;
      for (let at = reversed(code, length); at < this.table.length; at += step) {
        this.table[at] = (i - start) << 4 | length;
      }
    }
  }

  /** The entry of a code that is longer than the table's index, bit by bit. */
  readonly longer = (bits: number): number => {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length <= MAX_CODE_LENGTH; length++) {
      code |= bits >>> (length - 1) & 1;
      const count = this.#counts[length]!;
      if (code - first < count) return this.#symbols[index + code - first]! << 4 | length;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw corrupt("bits that are no code");
  };
}

function reversed(code: number, length: number): number {
  let bits = 0;
  for (let i = 0; i < length; i++) bits |= (code >>> i & 1) << (length - 1 - i);
  return bits;
}

function corrupt(reason: string): Error {
  return corruptCompression("gzip", reason);
}

function cut(): Error {
  return corrupt("cut short");
}
