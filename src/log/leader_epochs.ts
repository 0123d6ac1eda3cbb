/**
 * Where each leader's reign began: what a replica compares with its leader, and a consumer with its fetches, to find out
 * where two histories part. Kept in `leader-epoch-checkpoint`.
 *
 * @module
 */

import { malformedFile, quote, readCheckpointLines, writeCheckpointLines } from "./checkpoint_lines.ts";
import type { Storage } from "./storage.ts";

/** One epoch and the offset it began at. */
export interface LeaderEpoch {
  /** Epoch. */
  readonly epoch: number;
  /** First offset of it. */
  readonly startOffset: number;
}

/** Where an epoch ends. */
export interface EpochEndOffset {
  /** The epoch that was asked for, or the greatest known one before it. */
  readonly epoch: number;
  /** The offset behind its last record. */
  readonly endOffset: number;
}

/** The leader epochs of one log, ascending. */
export class LeaderEpochs {
  /** Name of the file. */
  static readonly FILE: string = "leader-epoch-checkpoint";
  readonly #storage: Storage;
  #entries: LeaderEpoch[];

  private constructor(storage: Storage, entries: LeaderEpoch[]) {
    this.#storage = storage;
    this.#entries = entries;
  }

  /** No epochs, yet. */
  static empty(storage: Storage): LeaderEpochs {
    return new LeaderEpochs(storage, []);
  }

  /**
   * Reads the file of a partition's folder.
   *
   * @throws StorageError with code `"MALFORMED_FILE"`.
   */
  static async load(storage: Storage): Promise<LeaderEpochs> {
    const entries = (await readCheckpointLines(storage, LeaderEpochs.FILE)).map((line) => {
      const match = /^\s*(\d+)\s+(\d+)\s*$/.exec(line);
      const [epoch, startOffset] = [Number(match?.[1]), Number(match?.[2])];
      if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(startOffset)) {
        throw malformedFile(LeaderEpochs.FILE, `${quote(line)} is not an epoch and an offset`);
      }
      return { epoch, startOffset };
    });
    return new LeaderEpochs(storage, entries.sort((a, b) => a.epoch - b.epoch));
  }

  /** All of them. */
  get entries(): readonly LeaderEpoch[] {
    return this.#entries;
  }

  /** The latest epoch; −1 when none is known. */
  get latest(): number {
    return this.#entries.at(-1)?.epoch ?? -1;
  }

  /** The first epoch that is known, if it began at `logStartOffset` or before; else −1. */
  earliestAt(logStartOffset: number): number {
    const first = this.#entries[0];
    return first !== undefined && first.startOffset <= logStartOffset ? first.epoch : -1;
  }

  /** The epoch that `offset` was written in; −1 when none is known. */
  epochFor(offset: number): number {
    return this.#entries.findLast((entry) => entry.startOffset <= offset)?.epoch ?? -1;
  }

  /**
   * Where the records of `epoch` end, as a replica or a consumer asks its leader: the epoch that is known, which is `epoch`
   * or one before it, and the offset that the next one begins at. Undefined when nothing is known of it.
   */
  endOffsetFor(epoch: number, logEndOffset: number): EpochEndOffset | undefined {
    if (epoch < 0) return undefined;
    if (epoch === this.latest) return { epoch, endOffset: logEndOffset };
    const next = this.#entries.findIndex((entry) => entry.epoch > epoch);
    if (next < 0) return undefined; // newer than any known
    return { epoch: this.#entries[next - 1]?.epoch ?? epoch, endOffset: this.#entries[next]!.startOffset };
  }

  /** Notes that `epoch` begins at `startOffset`; with `persist` that is on the disk when this resolves. */
  async assign(epoch: number, startOffset: number, persist: boolean = true): Promise<void> {
    const last = this.#entries.at(-1);
    if (epoch < 0 || (last !== undefined && last.epoch === epoch && startOffset >= last.startOffset)) return;
    // A later start than the new one belongs to a history that was cut off.
    const kept = this.#entries.filter((entry) => entry.epoch < epoch && entry.startOffset < startOffset);
    await this.#set([...kept, { epoch, startOffset }], persist);
  }

  /** Drops the epochs that begin at `endOffset` or later; with `persist` on the disk as well. */
  async truncateFromEnd(endOffset: number, persist: boolean): Promise<void> {
    const kept = this.#entries.filter((entry) => entry.startOffset < endOffset);
    if (kept.length === this.#entries.length) return;
    await this.#set(kept, persist);
  }

  /** Drops the epochs that ended at `startOffset` or before; the one that goes on begins there. */
  async truncateFromStart(startOffset: number, persist: boolean): Promise<void> {
    const current = this.#entries.findLastIndex((entry) => entry.startOffset <= startOffset);
    if (current < 0 || (current === 0 && this.#entries[0]!.startOffset === startOffset)) return;
    const kept = [{ epoch: this.#entries[current]!.epoch, startOffset }, ...this.#entries.slice(current + 1)];
    await this.#set(kept, persist);
  }

  async #set(entries: LeaderEpoch[], persist: boolean): Promise<void> {
    if (persist) {
      const lines = entries.map((entry) => `${entry.epoch} ${entry.startOffset}`);
      await writeCheckpointLines(this.#storage, LeaderEpochs.FILE, lines);
    }
    this.#entries = entries;
  }
}
