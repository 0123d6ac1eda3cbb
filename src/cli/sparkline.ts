/**
 * Small charts of characters.
 *
 * @module
 */

const SPARKS = "▁▂▃▄▅▆▇█";
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** One character for each number, as high as it is large; nothing where there is none. */
export function sparkline(numbers: readonly number[]): string {
  const most = Math.max(...numbers, 0);
  return numbers.map((number) =>
    number === 0 ? " " : SPARKS[Math.min(SPARKS.length - 1, Math.floor((number / most) * SPARKS.length))]!
  ).join("");
}

/** A bar for the share that `number` is of `most`; it is never empty for what is not 0. */
export function bar(number: number, most: number, width: number): string {
  if (number <= 0 || most <= 0) return "";
  const eighths = Math.max(1, Math.round((number / most) * width * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}
