/**
 * Rows in columns for a person, separated by tabs for a program.
 *
 * @module
 */

import type { CommandIo } from "./command.ts";

/** The text of a table with these columns. */
export function table(io: CommandIo, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (!io.outIsTerminal) return [columns, ...rows].map((row) => `${row.join("\t")}\n`).join("");
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) => `${row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd()}\n`;
  return [columns, ...rows].map(line).join("");
}
