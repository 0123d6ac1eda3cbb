/**
 * A line that says how far a command is: drawn on a terminal, at most ten times a second, and gone without a trace in a pipe.
 *
 * @module
 */

import type { CommandIo } from "./command.ts";

const REDRAW_MS = 100;
const BAR_WIDTH = 24;

/** Progress towards a known number. */
export class Progress {
  readonly #io: CommandIo;
  readonly #what: string;
  readonly #total: number;
  readonly #start: number;
  readonly #isShown: boolean;
  #drawn = -Infinity;
  #done = 0;
  #steps = 0;

  /** Counts up to `total` of `what`; on a terminal it is shown, unless `isShown` says otherwise. */
  constructor(io: CommandIo, what: string, total: number, isShown: boolean = io.errIsTerminal) {
    this.#io = io;
    this.#isShown = isShown;
    this.#what = what;
    this.#total = total;
    this.#start = io.clock.now();
  }

  /** One more is done, or `count` more. */
  step(count = 1): void {
    this.#done += count;
    if (!this.#isShown || (count === 1 && ++this.#steps % 64 !== 0)) return;
    const now = this.#io.clock.now();
    if (now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    this.#draw(now);
  }

  /** Says something in a line of its own. */
  tell(text: string): void {
    this.#io.err(this.#drawn > -Infinity ? `\r\x1b[2K${text}` : text);
  }

  /** Ends it; answers how many a second it was. */
  end(): number {
    const now = this.#io.clock.now();
    if (this.#isShown) {
      this.#draw(now);
      this.#io.err("\r\x1b[2K");
    }
    return Math.round((this.#done * 1000) / Math.max(1, now - this.#start));
  }

  #draw(now: number): void {
    const share = Math.min(1, this.#done / Math.max(1, this.#total));
    const filled = Math.round(share * BAR_WIDTH);
    const rate = Math.round((this.#done * 1000) / Math.max(1, now - this.#start));
    const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
    const [done, total] = [this.#done, this.#total].map(Math.round);
    this.#io.err(`\r\x1b[2K  ${bar} ${done} of ${total} ${this.#what}, ${rate}/s`);
  }
}
