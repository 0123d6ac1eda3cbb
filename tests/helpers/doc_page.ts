import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A fenced block of a page that is run. */
export type DocBlock = DocProgram | DocCall;

/** A `ts` block: a program. */
export interface DocProgram {
  readonly type: "program";
  /** Where its code begins in the page. */
  readonly line: number;
  readonly code: string;
  /** Its file, when the first line is a comment that names one; it is then run by a call. */
  readonly name: string | undefined;
}

/** A call in a `console` block, and what the page says that it prints. */
export interface DocCall {
  readonly type: "call";
  /** Its line in the page. */
  readonly line: number;
  /** What follows the `$`. */
  readonly command: string;
  /** What is printed; `…` stands for anything in a line, and alone on a line for any lines. */
  readonly output: string;
}

/**
 * The blocks of a page that are run, in order: those of `ts`, and the calls of those of `console`. Others are none of our
 * business, and neither is `ts no-run`.
 */
export function docBlocks(page: string): DocBlock[] {
  const blocks: DocBlock[] = [];
  const lines = readFileSync(`${ROOT}${page}`, "utf8").split("\n");
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(.*)$/.exec(lines[i]!)?.[1]!;
    if (language === undefined) continue;
    const end = lines.indexOf("```", i + 1);
    if (end < 0) throw new Error(`${page}:${i + 1}: the block does not end`);
    const inside = lines.slice(i + 1, end);
    if (language === "console") blocks.push(...callsOf(inside, i + 2));
    if (language === "ts") {
      const name = /^\/\/ (\w+)\.ts$/.exec(inside[0] ?? "")?.[1];
      blocks.push({ type: "program", line: i + 2, code: `${inside.join("\n")}\n`, name });
    }
    i = end;
  }
  return blocks;
}

/** The calls in the lines of a block: `$ ` and a command, then what it prints. */
function callsOf(lines: readonly string[], firstLine: number): DocCall[] {
  const calls: DocCall[] = [];
  for (let i = 0; i < lines.length;) {
    const line = firstLine + i;
    if (!lines[i]!.startsWith("$ ")) throw new Error(`line ${line}: a console block begins with a call, "$ "`);
    let command = lines[i++]!.slice(2);
    while (command.endsWith("\\")) command = command.slice(0, -1).trimEnd() + ` ${lines[i++]!.trim()}`;
    const output: string[] = [];
    while (i < lines.length && !lines[i]!.startsWith("$ ")) output.push(lines[i++]!);
    calls.push({ type: "call", line, command, output: output.join("\n") });
  }
  return calls;
}

/** Whether `printed` is what the page shows. */
export function isShown(output: string, printed: string): boolean {
  const pattern = output.trimEnd().split("\n").map((line) =>
    line.trim() === "…" ? "(?:.*\n)*" : `${line.split("…").map(escaped).join(".*")}\n`
  );
  return new RegExp(`^${pattern.join("")}$`).test(printed === "" ? "\n" : `${printed.trimEnd()}\n`);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
