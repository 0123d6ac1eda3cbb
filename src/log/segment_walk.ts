/**
 * Walks a `.log` file batch by batch with all checksums, and goes on behind damage: what a check and a rescue are made of.
 *
 * Where no right batch is, it looks at every byte behind for the next one. What it passes over is answered as damage with
 * its exact bytes. Two fields lie outside of the checksum and are put right where the checksum proves them: the magic of a
 * v2 batch, and a length.
 *
 * @module
 */

import { crc32 } from "../hash/crc32.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Batch } from "../records/batch.ts";
import { MessageSet } from "../records/message_set.ts";
import { LOG_OVERHEAD, RECORD_BATCH_FIELDS as F, RECORD_BATCH_OVERHEAD, RecordBatch } from "../records/record_batch.ts";
import type { RecordContext } from "../records/record_context.ts";
import type { BatchHeader } from "./batch_scanner.ts";
import { FileWindow } from "./file_window.ts";
import type { StoredFile } from "./storage.ts";

/** A batch that is whole, with a checksum that is right. */
export interface WalkedBatch extends
  Pick<
    BatchHeader,
    "position" | "size" | "magic" | "baseOffset" | "lastOffset" | "maxTimestamp" | "partitionLeaderEpoch"
  > {
  /** Tells it from damage. */
  readonly type: "batch";
  /** Its bytes, put right where they had to be; valid until the next step of the walk. */
  readonly bytes: Uint8Array;
  /** The field that was put right, and how. */
  readonly repaired?: BatchRepair;
}

/** A field outside of the checksum that was damaged, and that the checksum proves. */
export interface BatchRepair {
  /** Which one. */
  readonly field: "magic" | "length";
  /** What the file says. */
  readonly stored: number;
  /** What it must be. */
  readonly actual: number;
}

/** Bytes that hold no right batch. */
export interface DamagedRange {
  /** Tells it from a batch. */
  readonly type: "damage";
  /**
   * `"zeros"`: nothing but zeros up to the end of the file. `"torn"`: the file ends within a batch. `"impossible-offset"` and
   * `"unsafe-offset"`: one batch with a right checksum, but with an offset that no batch can have, or that a JavaScript number
   * cannot hold. `"corrupt"`: anything else.
   */
  readonly kind: "zeros" | "torn" | "impossible-offset" | "unsafe-offset" | "corrupt";
  /** First byte. */
  readonly from: number;
  /** First byte behind it: where the next batch begins, or the end of the file. */
  readonly until: number;
  /** What is wrong with what is at {@linkcode from}. */
  readonly reason: string;
}

/** How to walk. */
export interface SegmentWalkOptions {
  /** Checksum to use. */
  readonly crc32c: Crc32c;
  /** Most bytes of one batch; a length beyond is damage. */
  readonly maxBatchBytes: number;
  /** Least offset of a batch behind damage: the number in the file's name. */
  readonly baseOffset: number;
  /** First byte to look at; the start of the file when absent. */
  readonly from?: number;
  /** First byte not to look at; the present end of the file when absent. */
  readonly until?: number;
}

/** Position of the checksum in the formats before v2; it covers all from the magic on. */
const LEGACY_CRC = 12;
/** Position of the timestamp of a format 1 message. */
const V1_TIMESTAMP = 18;
/** Least bytes of a batch by format. */
const MIN_SIZES = [26, 34, RECORD_BATCH_OVERHEAD] as const;
/** Bytes in which Kafka sees a batch; with fewer left it stops. */
const MIN_LEFT = F.magic + 2;
/** Least length that Kafka takes for one. */
const MIN_LENGTH = 14;
const WINDOW_BYTES = 1024 * 1024;
/**
 * Bytes that may be hashed in vain for each byte of the file. Only a file made to look like batches everywhere comes near; its
 * largest claims are then passed over, so that it does not take for ever.
 */
const WASTED_PER_BYTE = 32;
/** Batches of the greatest size that may be hashed in vain wherever they are. */
const WASTED_CLAIMS = 64;
const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;

/** One walk through a file. */
export class SegmentWalk {
  readonly #file: StoredFile;
  readonly #options: SegmentWalkOptions;
  readonly #window: FileWindow;
  readonly #end: number;
  #position: number;
  /** Offset of the last right batch. */
  #lastOffset = -1;
  /** Least offset to believe in behind damage. */
  #minOffset: number;
  /** Bytes that were hashed and proved to be no batch. */
  #wasted = 0;
  /** Where the last batch was that the checksum proved to be none. */
  #disproved = -1;
  /** Why there was no batch where {@linkcode SegmentWalk.#judge} looked last. */
  #reason = "";

  /** Walks `file`. */
  constructor(file: StoredFile, options: SegmentWalkOptions) {
    const { from = 0, until = file.size } = options;
    this.#file = file;
    this.#options = options;
    this.#position = from;
    this.#end = Math.min(until, file.size);
    this.#window = new FileWindow(file, Math.min(WINDOW_BYTES, this.#end - from));
    this.#minOffset = options.baseOffset;
  }

  /** Bytes walked so far. */
  get position(): number {
    return this.#position;
  }

  /** Some batches in order, or one damaged range; undefined at the end. */
  async next(): Promise<readonly (WalkedBatch | DamagedRange)[] | undefined> {
    if (this.#position >= this.#end) return undefined;
    const items: WalkedBatch[] = [];
    const start = this.#position;
    let bytes = await this.#window.bytes(start, Math.min(WINDOW_BYTES, this.#end - start));
    let view = viewOf(bytes);
    while (this.#position < this.#end) {
      const at = this.#position - start;
      const judged = this.#judge(bytes, view, at, this.#position);
      if (typeof judged === "number") {
        // The batch reaches beyond what was read: the next step begins with it.
        if (items.length > 0) return items;
        bytes = await this.#window.bytes(start, judged);
        view = viewOf(bytes);
        // The file became shorter under us.
        if (bytes.length < judged) return [this.#pass("torn", this.#end, "the file became shorter while it was read")];
      } else if (judged !== undefined) {
        items.push(judged);
        this.#take(judged);
      } else {
        // Told by itself, since looking behind it reads over the bytes of the batches before.
        if (items.length > 0) return items;
        return [await this.#behindDamage(this.#reason)];
      }
    }
    return items;
  }

  #take(batch: WalkedBatch): void {
    this.#position = batch.position + batch.size;
    this.#lastOffset = batch.lastOffset;
    if (batch.lastOffset < this.#minOffset) this.#minOffset = batch.baseOffset;
  }

  #pass(kind: DamagedRange["kind"], until: number, reason: string): DamagedRange {
    const from = this.#position;
    this.#position = until;
    return { type: "damage", kind, from, until, reason };
  }

  /**
   * The batch at `at` of `bytes`; how many bytes are needed from the start of `bytes` to tell; or undefined when there is
   * none, with the reason in {@linkcode SegmentWalk.#reason}.
   */
  #judge(bytes: Uint8Array, view: DataView, at: number, position: number): WalkedBatch | number | undefined {
    const left = this.#end - position;
    if (left < MIN_LEFT) return this.#no(`${left} bytes are too few for a batch`);
    if (bytes.length - at < MIN_LEFT) return at + Math.min(left, RECORD_BATCH_OVERHEAD);
    const length = view.getInt32(at + F.length);
    if (length < MIN_LENGTH) return this.#no(`a batch length of ${length} is impossible, the least is ${MIN_LENGTH}`);
    const size = LOG_OVERHEAD + length;
    if (size > left) return this.#no(`a batch of ${size} bytes begins, and ${left} are left in the file`);
    if (size > this.#options.maxBatchBytes) {
      return this.#no(`a batch of ${size} bytes is more than maxBatchBytes=${this.#options.maxBatchBytes}`);
    }
    if (!this.#mayHash(size, position)) {
      return this.#no(`a batch of ${size} bytes begins, as in too many places before that were none`);
    }
    if (bytes.length - at < size) return at + size;
    const stored = view.getInt8(at + F.magic);
    const body = bytes.subarray(at, at + size);
    const magic = this.#prove(body, stored);
    if (magic === undefined) {
      this.#disproved = position;
      return this.#no(
        stored < 0 || stored > 2
          ? `magic ${stored} is none of Kafka's message formats`
          : size < MIN_SIZES[stored]!
          ? `${size} bytes are too few for a batch of format ${stored}`
          : `its checksum is wrong: bytes of it were changed`,
      );
    }
    const repaired = magic === stored ? undefined : { field: "magic" as const, stored, actual: magic };
    const batch = batchOf(repaired === undefined ? body : withMagic(body, magic), position, size, magic, repaired);
    return offsetFault(batch) ? this.#no(this.#offsetReason(batch)) : batch;
  }

  #offsetReason({ baseOffset, lastOffset }: WalkedBatch): string {
    const range = `its checksum is right, but its offsets are ${baseOffset} to ${lastOffset}`;
    const isUnsafe = lastOffset > Number.MAX_SAFE_INTEGER && this.#isPlausible(lastOffset);
    return isUnsafe ? `${range}, beyond 2^53−1, which a JavaScript number cannot hold` : range;
  }

  #no(reason: string): undefined {
    this.#reason = reason;
    return undefined;
  }

  /** Steps over what cannot be a batch. */
  async #behindDamage(reason: string): Promise<WalkedBatch | DamagedRange> {
    const from = this.#position;
    const claimed = await this.#claimedSize(from);
    const isTried = claimed !== undefined && from !== this.#disproved && this.#mayHash(claimed, from);
    const whole = isTried ? await this.#read(from, claimed) : undefined;
    const magic = whole && this.#prove(whole, whole[F.magic]! << 24 >> 24);
    if (whole !== undefined && magic !== undefined) {
      // A right checksum, so it was only the offset that could not be believed.
      const { lastOffset } = batchOf(whole, from, whole.length, magic, undefined);
      const isUnsafe = lastOffset > Number.MAX_SAFE_INTEGER && this.#isPlausible(lastOffset);
      return this.#pass(isUnsafe ? "unsafe-offset" : "impossible-offset", from + whole.length, reason);
    }
    const next = await this.#find(from, claimed);
    const until = next ?? this.#end;
    const repaired = await this.#withLength(from, until);
    if (repaired !== undefined) {
      this.#take(repaired);
      return repaired;
    }
    if (next !== undefined) return this.#pass("corrupt", until, reason);
    if (await this.#isZero(from)) return this.#pass("zeros", until, reason);
    const isTorn = claimed === undefined && await this.#beginsBatch(from);
    return this.#pass(isTorn ? "torn" : "corrupt", until, reason);
  }

  /** What the length at `from` says the batch takes, if the file has that many bytes. */
  async #claimedSize(from: number): Promise<number | undefined> {
    const header = await this.#window.bytes(from, Math.min(MIN_LEFT, this.#end - from));
    if (header.length < MIN_LEFT) return undefined;
    const length = viewOf(header).getInt32(F.length);
    const size = LOG_OVERHEAD + length;
    return length >= MIN_LENGTH && size <= this.#end - from && size <= this.#options.maxBatchBytes ? size : undefined;
  }

  /** Whether a batch begins at `from` that the file is too short for, as far as that can be told. */
  async #beginsBatch(from: number): Promise<boolean> {
    const header = await this.#window.bytes(from, Math.min(MIN_LEFT, this.#end - from));
    if (header.length < MIN_LEFT) return true;
    const magic = header[F.magic]!;
    const length = viewOf(header).getInt32(F.length);
    const offset = int64(viewOf(header), 0);
    return magic <= 2 && length >= MIN_LENGTH && this.#isPlausible(offset);
  }

  #mayHash(size: number, position: number): boolean {
    const slack = WASTED_CLAIMS * Math.min(this.#options.maxBatchBytes, this.#file.size);
    return this.#wasted + size <= slack + WASTED_PER_BYTE * position;
  }

  #prove(bytes: Uint8Array, stored: number): 0 | 1 | 2 | undefined {
    const magic = provedMagic(bytes, stored, this.#options.crc32c);
    if (magic === undefined) this.#wasted += bytes.length;
    return magic;
  }

  #isPlausible(offset: number): boolean {
    return offset >= this.#minOffset && offset <= this.#options.baseOffset + MAX_RELATIVE_OFFSET;
  }

  /**
   * Where the next right batch begins behind `from`.
   *
   * A value may hold batches itself. So where the damaged batch seems to end at another right one, a batch within it counts
   * only if it and those behind it lead there; and elsewhere one with an offset that was passed already counts only if
   * another follows, or nothing.
   */
  async #find(from: number, claimed: number | undefined): Promise<number | undefined> {
    const landing = claimed === undefined ? undefined : from + claimed;
    const lands = landing !== undefined && (landing === this.#end || await this.#batchAt(landing, true) !== undefined);
    const until = lands ? landing : this.#end;
    const least = MIN_SIZES[0];
    for (let start = from + 1; until - start >= least;) {
      // A window of its own: trying a candidate reads elsewhere.
      const bytes = new Uint8Array(Math.min(WINDOW_BYTES / 4, until - start));
      const count = await this.#file.readAt(bytes, start);
      if (count < least) break;
      const view = new DataView(bytes.buffer, 0, count);
      const last = count - least;
      for (let at = 0; at <= last; at++) {
        // Hot: 1 ns a byte, since hardly any passes the first two tests.
        const magic = bytes[at + F.magic]!;
        if (magic > 2) continue;
        const length = view.getInt32(at + F.length);
        const size = LOG_OVERHEAD + length;
        if (size < MIN_SIZES[magic]! || size > until - start - at || size > this.#options.maxBatchBytes) continue;
        const position = start + at;
        if (!this.#isPlausible(int64(view, at)) || !this.#mayHash(size, position)) continue;
        const batch = await this.#batchAt(position, false);
        if (batch === undefined) continue;
        const end = position + batch.size;
        if (lands ? await this.#leadsTo(end, until) : batch.lastOffset > this.#lastOffset) return position;
        if (!lands && (end === this.#end || await this.#batchAt(end, false) !== undefined)) return position;
      }
      start += last + 1;
    }
    return lands && landing < this.#end ? landing : undefined;
  }

  /** Whether right batches lie from `position` to exactly `until`. */
  async #leadsTo(position: number, until: number): Promise<boolean> {
    while (position < until) {
      const batch = await this.#batchAt(position, false);
      if (batch === undefined) return false;
      position += batch.size;
    }
    return position === until;
  }

  /** The right batch at `position`; with `isLater` only one whose offset is above all before. */
  async #batchAt(position: number, isLater: boolean): Promise<WalkedBatch | undefined> {
    const size = await this.#claimedSize(position);
    const bytes = size === undefined ? undefined : await this.#read(position, size);
    if (bytes === undefined) return undefined;
    const judged = this.#judge(bytes, viewOf(bytes), 0, position);
    if (typeof judged !== "object") return undefined;
    return isLater && judged.lastOffset <= this.#lastOffset ? undefined : judged;
  }

  /** The bytes between two right batches as one batch with a damaged length, if its checksum agrees. */
  async #withLength(from: number, until: number): Promise<WalkedBatch | undefined> {
    const size = until - from;
    if (size < MIN_SIZES[0] || size > this.#options.maxBatchBytes || !this.#mayHash(size, from)) return undefined;
    const stored = await this.#read(from, size);
    if (stored === undefined) return undefined;
    const magic = stored[F.magic]!;
    const length = viewOf(stored).getInt32(F.length);
    if (magic > 2 || length === size - LOG_OVERHEAD) return undefined;
    if (this.#prove(stored, magic) !== magic) return undefined;
    const bytes = stored.slice();
    viewOf(bytes).setInt32(F.length, size - LOG_OVERHEAD);
    const repaired = { field: "length" as const, stored: length, actual: size - LOG_OVERHEAD };
    const batch = batchOf(bytes, from, size, magic, repaired);
    return !offsetFault(batch) && this.#isPlausible(batch.baseOffset) ? batch : undefined;
  }

  async #read(position: number, size: number): Promise<Uint8Array | undefined> {
    const bytes = await this.#window.bytes(position, size);
    return bytes.length < size ? undefined : bytes;
  }

  async #isZero(from: number): Promise<boolean> {
    for (let at = from; at < this.#end;) {
      const bytes = await this.#window.bytes(at, Math.min(WINDOW_BYTES, this.#end - at));
      if (bytes.length === 0) return true;
      if (bytes.some((byte) => byte !== 0)) return false;
      at += bytes.length;
    }
    return true;
  }
}

/** A view of a batch's records. */
export function batchView(batch: WalkedBatch, context: RecordContext = {}): Batch {
  const at = { ...context, position: batch.position };
  return batch.magic === 2 ? new RecordBatch(batch.bytes, at) : new MessageSet(batch.bytes, at);
}

/** The number of records that a v2 batch declares. */
export function recordCountOf(batch: WalkedBatch): number {
  return viewOf(batch.bytes).getInt32(F.recordCount);
}

/** The format that the checksum of `bytes`, one batch, proves; undefined when it is wrong in each. */
function provedMagic(bytes: Uint8Array, stored: number, crc32c: Crc32c): 0 | 1 | 2 | undefined {
  const view = viewOf(bytes);
  if (stored === 0 || stored === 1) {
    const isLegacy = bytes.length >= MIN_SIZES[stored] && crc32(bytes.subarray(F.magic)) === view.getUint32(LEGACY_CRC);
    if (isLegacy) return stored;
  }
  // That of v2 begins behind the magic, and so tells the format whatever the magic says.
  if (bytes.length < RECORD_BATCH_OVERHEAD) return undefined;
  return crc32c(bytes.subarray(F.attributes)) === view.getUint32(F.crc) ? 2 : undefined;
}

function batchOf(
  bytes: Uint8Array,
  position: number,
  size: number,
  magic: number,
  repaired: BatchRepair | undefined,
): WalkedBatch {
  const view = viewOf(bytes);
  const baseOffset = int64(view, F.baseOffset);
  const lastOffset = magic === 2 ? baseOffset + view.getInt32(F.lastOffsetDelta) : baseOffset;
  return {
    type: "batch",
    position,
    size,
    magic,
    baseOffset,
    lastOffset,
    maxTimestamp: magic === 0 ? -1 : int64(view, magic === 1 ? V1_TIMESTAMP : F.maxTimestamp),
    partitionLeaderEpoch: magic === 2 ? view.getInt32(F.partitionLeaderEpoch) : -1,
    bytes,
    ...(repaired === undefined ? {} : { repaired }),
  };
}

/** Whether no batch can have these offsets, or no number hold them. */
function offsetFault({ baseOffset, lastOffset }: WalkedBatch): boolean {
  return baseOffset < 0 || lastOffset < baseOffset || !Number.isSafeInteger(lastOffset);
}

function withMagic(bytes: Uint8Array, magic: number): Uint8Array {
  const copy = bytes.slice();
  copy[F.magic] = magic;
  return copy;
}

/** Beyond 2^53 it is rounded; the caller compares only. */
function int64(view: DataView, at: number): number {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
