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

/** Name of the file. */
const FILE = "leader-epoch-checkpoint";

/** The leader epochs of one log, ascending. */
export class LeaderEpochs {
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
    const entries = (await readCheckpointLines(storage, FILE)).map((line) => {
      const match = /^\s*(\d+)\s+(\d+)\s*$/.exec(line);
      const [epoch, startOffset] = [Number(match?.[1]), Number(match?.[2])];
      if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(startOffset)) {
        throw malformedFile(FILE, `${quote(line)} is not an epoch and an offset`);
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

  /** The epoch that `offset` was written in; −1 when none is known. */
  epochFor(offset: number): number {
    return this.#entries.findLast((entry) => entry.startOffset <= offset)?.epoch ?? -1;
  }

  /** Notes that `epoch` begins at `startOffset`, which is on the disk when this resolves. */
  async assign(epoch: number, startOffset: number): Promise<void> {
    const last = this.#entries.at(-1);
    if (epoch < 0 || (last !== undefined && last.epoch === epoch && startOffset >= last.startOffset)) return;
    // A later start than the new one belongs to a history that was cut off.
    const kept = this.#entries.filter((entry) => entry.epoch < epoch && entry.startOffset < startOffset);
    await this.#write([...kept, { epoch, startOffset }]);
  }

  /** Drops the epochs that begin at `endOffset` or later; with `persist` on the disk as well. */
  async truncateFromEnd(endOffset: number, persist: boolean): Promise<void> {
    const kept = this.#entries.filter((entry) => entry.startOffset < endOffset);
    if (kept.length === this.#entries.length) return;
    if (persist) await this.#write(kept);
    else this.#entries = kept;
  }

  async #write(entries: LeaderEpoch[]): Promise<void> {
    await writeCheckpointLines(this.#storage, FILE, entries.map((entry) => `${entry.epoch} ${entry.startOffset}`));
    this.#entries = entries;
  }
}
