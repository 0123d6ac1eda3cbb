/**
 * The checks that are not tests: format, lint, types in both compilers, documentation, and the two packages.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root, run, tool } from "./runner.ts";

/** One check: a command that must exit with 0. */
export interface Check {
  /** What is checked. */
  readonly name: string;
  /** A tool of node_modules/.bin and its arguments. */
  readonly command: readonly string[];
  /** Whether to show what it prints when all is well. */
  readonly report?: boolean;
}

/** The entry points of the package, as files. */
function entryPoints(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as {
    exports: string | Record<string, string>;
  };
  return typeof exports === "string" ? [exports] : Object.values(exports);
}

/** Files of the tree that end with one of `endings`, apart from what is generated, fetched or built. */
export function filesOf(endings: readonly string[], folder = ""): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!entry.name.startsWith(".") && !["node_modules", "npm"].includes(entry.name)) {
        files.push(...filesOf(endings, path));
      }
    } else if (endings.some((ending) => path.endsWith(ending))) files.push(path);
  }
  return files.sort();
}

/** All checks; those that take long come first, so that two lanes end at about the same time. */
export function checks(): Check[] {
  return [
    { name: "npm package", command: ["node", "tools/build_npm.ts"], report: true },
    // The same word covers the code blocks of README, docs/ and module docs.
    { name: "types in Deno", command: ["deno", "check", "-q", "--doc", ...filesOf([".ts", ".md"])] },
    { name: "JSR package", command: ["deno", "publish", "--dry-run", "--allow-dirty"] },
    { name: "types in tsc", command: ["tsc", "-p", "tsconfig.json"] },
    { name: "types of the core, without a runtime's", command: ["tsc", "-p", "tsconfig.core.json"] },
    { name: "doc comments", command: ["deno", "doc", "-q", "--lint", ...entryPoints()] },
    { name: "lint", command: ["deno", "lint"] },
    { name: "format", command: ["deno", "fmt", "--check"] },
  ];
}

/** Runs one check, prints a line about it, and everything it said when it failed; says whether it passed. */
export async function runCheck({ name, command: [command, ...args], report }: Check): Promise<boolean> {
  const { code, output, stopped, seconds } = await run(tool(command!), args, { timeoutMs: 240_000 });
  const passed = code === 0;
  const shown = passed && !report ? "" : `${output.trimEnd().replace(/^/gm, "  ")}\n`;
  const outcome = passed ? "ok" : `failed (${stopped ?? `exit code ${code}`})`;
  process.stdout.write(`${name}: ${outcome} (${seconds.toFixed(1)} s)\n${shown}`);
  return passed;
}

/** Runs jobs, two at a time. */
export async function inTwoLanes(jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const waiting = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job();
  };
  await Promise.all([lane(), lane()]);
}
