import { type Anomaly, damage, note } from "./anomaly.ts";
import type { DamagedRange, WalkedBatch } from "./segment_walk.ts";

/**
 * Tells of bytes of `file` that hold no right batch.
 *
 * @param offset The offset that is due there.
 * @param next The batch behind them; undefined when none follows in the file.
 * @param isAtEnd Whether nothing follows at all, in this or a later file.
 * @param cleanShutdown Whether the broker is known to have stopped in order.
 */
export function damagedRangeAnomaly(
  range: DamagedRange,
  file: string,
  offset: number,
  next: WalkedBatch | undefined,
  isAtEnd: boolean,
  cleanShutdown: boolean | undefined,
): Anomaly {
  const { from, kind, reason, until } = range;
  const details = { position: from, offset, losesData: !isAtEnd };
  const bytes = `bytes ${from} to ${until - 1}`;
  const missing = next === undefined || next.lastOffset <= offset ? 0 : next.baseOffset - offset;
  const lost = next === undefined
    ? ` They may have held records from offset ${offset} on.`
    : missing <= 0
    ? ""
    : missing === 1
    ? ` Offset ${offset} is lost.`
    : ` Offsets ${offset} to ${next.baseOffset - 1} are lost.`;
  const cut = isAtEnd
    ? "A broker that recovers the log cuts them off; no right batch follows them."
    : `A broker that recovers the log cuts the file here and deletes the segments behind it: ` +
      (next === undefined ? "whatever these hold would be lost." : "the right batches that follow would be lost.");
  switch (kind) {
    case "zeros": {
      const refuses = until - from < 18
        ? ""
        : " One that finds the marker of a clean stop refuses to open the log, if it looks at the end.";
      if (isAtEnd && cleanShutdown !== true) {
        const why = "the file was made larger beforehand (preallocate), or a crash left it so.";
        return note(
          "zero-tail",
          file,
          `${bytes} are zeros: ${why} A broker that recovers the log cuts them off.${refuses}`,
          {
            position: from,
            offset,
          },
        );
      }
      return damage("zero-tail", file, `${bytes} are zeros. ${cut}${isAtEnd ? refuses : ""}`, details);
    }
    case "torn":
      return damage("torn-batch", file, `${bytes}: ${reason}.${lost} ${cut}`, details);
    case "unsafe-offset":
      return note("unsafe-integer", file, `${bytes}: ${reason}. This library cannot read the batch; a broker can.`, {
        position: from,
      });
    case "impossible-offset":
      return damage(
        "corrupt-batch",
        file,
        `${bytes}: ${reason}. The checksum does not cover the offset. A broker that recovers the log refuses to start, or ` +
          `takes a wrong end; after a clean stop it may delete every segment.`,
        { ...details, losesData: true },
      );
    case "corrupt":
      return damage("corrupt-batch", file, `${bytes}: ${reason}.${lost} ${cut}`, details);
  }
}
