import { StorageError } from "../core/kafka_error.ts";
import { type LeaderEpoch, LeaderEpochs } from "./leader_epochs.ts";
import type { Storage } from "./storage.ts";

/** Finds out the leader epochs of a log from its batches, with what is left of its `leader-epoch-checkpoint`. */
export class RebuiltEpochs {
  /** The file, where it can be believed. */
  readonly #known: readonly LeaderEpoch[];
  readonly #reigns: LeaderEpoch[] = [];

  private constructor(known: readonly LeaderEpoch[]) {
    this.#known = known;
  }

  /** Begins with the file in `storage`. */
  static async begin(storage: Storage): Promise<RebuiltEpochs> {
    try {
      const { entries } = await LeaderEpochs.load(storage);
      const rises = entries.every((entry, i) => i === 0 || entry.startOffset > entries[i - 1]!.startOffset);
      return new RebuiltEpochs(rises ? entries : []);
    } catch (error) {
      if (error instanceof StorageError && error.code === "MALFORMED_FILE") return new RebuiltEpochs([]);
      throw error;
    }
  }

  /**
   * The epoch that a batch at `offset` with `epoch` must have, if it cannot be that one; `before` and `after` are those of its
   * neighbours, −1 where there is none. Epochs never fall, and one is in the file before its first batch is in the log.
   */
  correct(offset: number, epoch: number, before: number, after: number): number | undefined {
    if (epoch < 0) return undefined;
    if (before >= 0 && before === after) return epoch === before ? undefined : before;
    // Where the next batch has it, too, it is the file that is not of this log's time.
    if (after >= epoch) return undefined;
    const known = this.#known.findLast((entry) => entry.startOffset <= offset)?.epoch;
    return known !== undefined && known < epoch && known >= before && (after < 0 || known <= after) ? known : undefined;
  }

  /** Takes the next batch. One that falls below an epoch before begins none, as in Kafka. */
  add(offset: number, epoch: number): void {
    const last = this.#reigns.at(-1);
    if (epoch >= 0 && (last === undefined || epoch > last.epoch)) this.#reigns.push({ epoch, startOffset: offset });
  }

  /** Whether the file says the same. */
  #agrees({ epoch, startOffset }: LeaderEpoch): boolean {
    return this.#known.findLast((entry) => entry.startOffset <= startOffset)?.epoch === epoch;
  }

  /** The epochs of a log from `startOffset` to `endOffset`. */
  entries(startOffset: number, endOffset: number): LeaderEpoch[] {
    const all = this.#reigns.every((reign) => this.#agrees(reign)) ? this.#known : this.#reigns;
    const kept = all.filter((entry) => entry.startOffset < endOffset);
    const first = kept.findLastIndex((entry) => entry.startOffset <= startOffset);
    return kept.slice(Math.max(0, first)).map(({ epoch, startOffset: from }, i) => ({
      epoch,
      startOffset: i === 0 && first >= 0 ? Math.max(from, startOffset) : from,
    }));
  }
}
