import { StorageError } from "../core/kafka_error.ts";
import { type Anomaly, damage, note } from "./anomaly.ts";
import { type LeaderEpoch, LeaderEpochs } from "./leader_epochs.ts";
import type { WalkedBatch } from "./segment_walk.ts";
import type { Storage } from "./storage.ts";

const FILE = "leader-epoch-checkpoint";

/** Checks `leader-epoch-checkpoint` against the epochs that the batches carry, as these are walked. */
export class LeaderEpochCheck {
  readonly #entries: readonly LeaderEpoch[] | undefined;
  readonly #found: Anomaly[] = [];
  /** Number of the entry that the last batch belongs to. */
  #at = -1;
  #latest = -1;
  #wrong = 0;
  #first: Anomaly | undefined;

  private constructor(entries: readonly LeaderEpoch[] | undefined) {
    this.#entries = entries;
  }

  /** Reads the file. */
  static async begin(storage: Storage): Promise<LeaderEpochCheck> {
    try {
      const { entries } = await LeaderEpochs.load(storage);
      const check = new LeaderEpochCheck(entries);
      check.#checkOrder(entries);
      return check;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const check = new LeaderEpochCheck(undefined);
      check.#found.push(damage(
        "leader-epochs-unreadable",
        FILE,
        `${error.message}. A broker refuses to open the log with such a file; without the file it opens it.`,
      ));
      return check;
    }
  }

  /** Takes the next batch, which lies in `file`. */
  batch(batch: WalkedBatch, file: string): void {
    const { baseOffset, partitionLeaderEpoch: epoch, position } = batch;
    if (epoch < 0) return;
    if (epoch < this.#latest) {
      const what = `the batch has leader epoch ${epoch}, those before it ${this.#latest}`;
      this.#fault(note, file, position, baseOffset, what);
    }
    this.#latest = epoch;
    if (this.#entries === undefined) return;
    while (this.#at + 1 < this.#entries.length && this.#entries[this.#at + 1]!.startOffset <= baseOffset) this.#at++;
    // Below the first entry: what was written there is no longer visible.
    const expected = this.#entries[this.#at]?.epoch;
    if (expected === undefined || expected === epoch) return;
    // An epoch is on the disk before its first batch is. A broker that recovers the log takes a higher one from a batch.
    const make = epoch > expected ? damage : note;
    this.#fault(make, file, position, baseOffset, `the batch has leader epoch ${epoch}, by ${FILE} it is ${expected}`);
  }

  /** What was found, once the log is walked from `startOffset`, that of its first segment, to its end. */
  end(startOffset: number, endOffset: number): Anomaly[] {
    if (this.#first !== undefined) {
      const more = this.#wrong === 1 ? "" : `, and ${this.#wrong - 1} more batches differ`;
      this.#found.push({
        ...this.#first,
        message:
          `${this.#first.message}${more}. Followers and consumers find out by epochs where two histories part; the ` +
          `field lies outside of the checksum, and a broker does not check it.`,
      });
    }
    if (this.#entries?.length === 0 && this.#latest >= 0) {
      this.#found.push(note(
        "leader-epochs-content",
        FILE,
        `no epoch is in it, and the log has batches of epoch ${this.#latest}: a broker that opens the log after a clean stop ` +
          `knows of none, so that a follower may have to copy more than it must.`,
      ));
    }
    const first = this.#entries?.[0];
    if (first !== undefined && first.startOffset < startOffset) {
      this.#found.push(note(
        "offset-gap",
        FILE,
        `epoch ${first.epoch} begins at offset ${first.startOffset}, and the first segment at ${startOffset}: a broker that ` +
          `deletes segments moves the epoch. Unless older segments are in tiered storage, or the broker was killed just then, ` +
          `they were lost.`,
        { offset: first.startOffset },
      ));
    }
    const beyond = this.#entries?.findLast((entry) => entry.startOffset > endOffset);
    if (beyond !== undefined) {
      this.#found.push(note(
        "leader-epochs-content",
        FILE,
        `epoch ${beyond.epoch} begins at offset ${beyond.startOffset}, and the log ends at ${endOffset}: a broker drops it. ` +
          `The end of the log may have been lost.`,
        { offset: beyond.startOffset },
      ));
    }
    return this.#found;
  }

  #checkOrder(entries: readonly LeaderEpoch[]): void {
    for (const [i, { epoch, startOffset }] of entries.entries()) {
      const before = entries[i - 1];
      if (before === undefined || (epoch > before.epoch && startOffset > before.startOffset)) continue;
      this.#found.push(damage(
        "leader-epochs-content",
        FILE,
        `epoch ${epoch} begins at offset ${startOffset}, and epoch ${before.epoch} at ${before.startOffset}: both must rise.`,
        { offset: startOffset },
      ));
      return;
    }
  }

  #fault(make: typeof damage, file: string, position: number, offset: number, message: string): void {
    this.#wrong++;
    const found = make("leader-epochs-content", file, message, { position, offset });
    if (this.#first === undefined || (this.#first.level === "note" && found.level === "damage")) this.#first = found;
  }
}
