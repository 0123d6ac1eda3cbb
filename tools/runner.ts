/**
 * Runs test files in Deno, Bun and Node and counts what they report.
 *
 * Counts come from machine-readable reports, never from a runner's closing prose. Each of these is a failure: a file that ran no test, a runtime that
 * exited non-zero without naming a failed test, and a process that stays alive (in Node a socket or timer left open does that: the leak check).
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { NodeTestLine } from "./node_reporter.ts";

/** The project's folder. */
export const root: string = fileURLToPath(new URL("..", import.meta.url));

/** A JavaScript runtime the tests run in. */
export type Runtime = "deno" | "bun" | "node";

/** What to run. */
export interface RunOptions {
  /** Test files, absolute or relative to `folder`. */
  readonly files: readonly string[];
  /** Where the runtimes run. Default: the project's folder. */
  readonly folder?: string;
  /** The runtimes to run them in. Default: all three. */
  readonly runtimes?: readonly Runtime[];
  /** Added to the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** A process that prints nothing for this long, or runs ten times as long, is ended and counts as a failure. Default: 120,000. */
  readonly timeoutMs?: number;
  /** Whether runtimes may run side by side. Default: true. */
  readonly parallel?: boolean;
}

/** The sum over one runtime. */
export interface RuntimeResult {
  /** Tests that passed. */
  passed: number;
  /** Tests that failed, and whatever else went wrong. */
  failed: number;
  /** Tests marked as skipped or to do. */
  skipped: number;
  /** How long it took. */
  seconds: number;
}

/** The sum over all runtimes. */
export interface RunResult {
  /** Tests that passed. */
  readonly passed: number;
  /** Tests that failed, and whatever else went wrong. */
  readonly failed: number;
  /** Whether nothing failed. */
  readonly ok: boolean;
  /** The same by runtime. */
  readonly perRuntime: Readonly<Partial<Record<Runtime, RuntimeResult>>>;
}

/** How a child process ended. */
export interface Finished {
  /** Its exit code; −1 when a signal or the time-out ended it. */
  readonly code: number;
  /** Standard output and error, in the order they came. */
  readonly output: string;
  /** Why it was ended, if it was. */
  readonly stopped: string | undefined;
  /** How long it took. */
  readonly seconds: number;
}

/** A path of one of the development tools. */
export function tool(name: string): string {
  return join(root, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);
}

/** Ends the children that run now. They are in groups of their own, so a Ctrl-C in the terminal does not reach them by itself. */
const endWithUs = new Set<() => void>();
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function endAll(): void {
  for (const kill of endWithUs) kill();
}

function onSignal(signal: NodeJS.Signals): void {
  endAll();
  // A program with a handler of its own ends when that has cleaned up.
  if (process.listenerCount(signal) === 1) process.exit(1);
}

function addChild(kill: () => void): void {
  endWithUs.add(kill);
  if (endWithUs.size > 1) return;
  process.on("exit", endAll);
  for (const signal of signals) process.on(signal, onSignal);
}

function removeChild(kill: () => void): void {
  endWithUs.delete(kill);
  if (endWithUs.size > 0) return;
  process.off("exit", endAll);
  for (const signal of signals) process.off(signal, onSignal);
}

/** Runs `command` without a shell and collects what it prints; ends its whole process group when it falls silent or runs too long. */
export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly timeoutMs?: number } = {},
): Promise<Finished> {
  const { cwd = root, env = {}, timeoutMs = 120_000 } = options;
  const started = performance.now();
  const path = join(root, "node_modules", ".bin") + delimiter + (process.env["PATH"] ?? "");
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      // A group of its own, so that grandchildren (brokers, Node's workers) end with it.
      detached: process.platform !== "win32",
      env: { ...process.env, PATH: path, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let stopped: string | undefined;
    const kill = (): void => {
      try {
        process.kill(process.platform === "win32" ? child.pid! : -child.pid!, "SIGKILL");
      } catch {
        // Already gone.
      }
    };
    const stop = (why: string): void => {
      stopped = why;
      kill();
    };
    let silence = setTimeout(() => stop(`printed nothing for ${timeoutMs / 1000} s`), timeoutMs);
    const whole = setTimeout(() => stop(`ran longer than ${timeoutMs / 100} s`), 10 * timeoutMs);
    const take = (chunk: string): void => {
      output += chunk;
      clearTimeout(silence);
      silence = setTimeout(() => stop(`printed nothing for ${timeoutMs / 1000} s`), timeoutMs);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    addChild(kill);
    const done = (code: number): void => {
      clearTimeout(silence);
      clearTimeout(whole);
      removeChild(kill);
      resolve({ code, output, stopped, seconds: (performance.now() - started) / 1000 });
    };
    child.on("error", (error) => {
      output += `${error.message}\n`;
      done(-1);
    });
    child.on("close", (code) => done(code ?? -1));
  });
}

/** Runs the same files in each runtime; prints one line a runtime that passed, and all about what failed. */
export async function runTests(options: RunOptions): Promise<RunResult> {
  const folder = options.folder ?? root;
  const files = options.files.map((file) => relative(folder, resolve(folder, file)).split(sep).join("/"));
  const runtimes = options.runtimes ?? ["deno", "node", "bun"];
  const perRuntime: Partial<Record<Runtime, RuntimeResult>> = {};
  const waiting = [...runtimes];
  const lane = async (): Promise<void> => {
    for (let runtime = waiting.shift(); runtime !== undefined; runtime = waiting.shift()) {
      const report = await runOne(runtime, files, options);
      const { passed, failed, skipped, seconds } = report;
      perRuntime[runtime] = { passed, failed, skipped, seconds };
      // Written at once, so that runtimes side by side do not mix.
      process.stdout.write(describeReport(runtime, report));
    }
  };
  const lanes = options.parallel === false ? 1 : Math.min(runtimes.length, availableParallelism());
  await Promise.all(Array.from({ length: lanes }, lane));
  let passed = 0;
  let failed = 0;
  for (const result of Object.values(perRuntime)) {
    passed += result.passed;
    failed += result.failed;
  }
  if (runtimes.length === 0 || files.length === 0) failed += 1;
  return { passed, failed, ok: failed === 0, perRuntime };
}

/** One runtime's counts, with what to show of its failures. */
interface Report extends RuntimeResult {
  /** Output of processes in which something failed. */
  readonly output: string;
  /** Failures that no test reported: silence, a crash, an empty file. */
  readonly problems: readonly string[];
}

function describeReport(runtime: Runtime, report: Report): string {
  const skipped = report.skipped > 0 ? `, ${report.skipped} skipped` : "";
  const line = `${runtime}: ${report.passed} passed, ${report.failed} failed${skipped} (${
    report.seconds.toFixed(1)
  } s)\n`;
  if (report.failed === 0) return line;
  const shown = report.output.split("\n").filter((text) => !passedLine.test(text)).join("\n").trim();
  const problems = report.problems.map((problem) => `${runtime}: ${problem}\n`).join("");
  return `\n===== ${runtime} =====\n${shown}\n${problems}${line}\n`;
}

/** Lines that tell of a passed or skipped test in Deno's, Bun's and Node's human output. */
const passedLine = /^\s*(?:.* \.\.\. (?:ok|ignored)(?: \(.*\))?$|\((?:pass|skip|todo)\) |[✔﹣] )/u;

async function runOne(runtime: Runtime, files: readonly string[], options: RunOptions): Promise<Report> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "anykafka-tests-"));
  const report = { passed: 0, failed: 0, skipped: 0, output: "", problems: [] as string[] };
  try {
    // Node takes a process a file anyway; started here, each has its own time limit, and the one that hangs is known by name.
    const groups = runtime === "node" ? files.map((file) => [file]) : [files];
    for (const [index, group] of groups.entries()) {
      const reportFile = join(folder, `${index}`);
      const [command, ...args] = commandFor[runtime](group, reportFile);
      const finished = await run(tool(command!), args, {
        cwd: options.folder ?? root,
        timeoutMs: options.timeoutMs ?? 120_000,
        ...(options.env === undefined ? {} : { env: options.env }),
      });
      const counted = count(runtime, reportFile);
      const problems = problemsOf(runtime, group, finished, counted);
      report.passed += counted.passed;
      report.failed += counted.failed + problems.length;
      report.skipped += counted.skipped;
      report.problems.push(...problems);
      if (counted.failed + problems.length > 0) report.output += `${finished.output}\n`;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { ...report, seconds: (performance.now() - started) / 1000 };
}

const commandFor: Record<Runtime, (files: readonly string[], reportFile: string) => string[]> = {
  deno: (files, reportFile) => ["deno", "test", "-A", "--no-check", `--junit-path=${reportFile}`, ...files],
  bun: (files, reportFile) => [
    ...["bun", "test", "--timeout", "30000", "--reporter=junit", `--reporter-outfile=${reportFile}`],
    ...files.map((file) => `./${file}`),
  ],
  node: (files, reportFile) => [
    ...["node", "--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...[`--test-reporter=${new URL("node_reporter.ts", import.meta.url)}`, `--test-reporter-destination=${reportFile}`],
    ...files,
  ],
};

/** What a machine-readable report says. */
interface Counted {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The files that ran a test, as the report names them; undefined where there is no report. */
  readonly files: ReadonlySet<string> | undefined;
}

function count(runtime: Runtime, reportFile: string): Counted {
  let text: string;
  try {
    text = readFileSync(reportFile, "utf8");
  } catch {
    return { passed: 0, failed: 0, skipped: 0, files: undefined };
  }
  return runtime === "node" ? countLines(text) : countJunit(text);
}

function countLines(text: string): Counted {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const line of text.split("\n")) {
    // A process that was killed may leave half a line.
    if (line.endsWith("}")) counts[(JSON.parse(line) as NodeTestLine).result] += 1;
  }
  return { ...counts, files: undefined };
}

function countJunit(text: string): Counted {
  const cases = [...text.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map((
    [, attributes = "", body = ""],
  ) => ({
    name: /\bname="([^"]*)"/.exec(attributes)?.[1] ?? "",
    file: (/\bfile="([^"]*)"/.exec(attributes) ?? /\bclassname="([^"]*)"/.exec(attributes))?.[1] ?? "",
    failed: /<(?:failure|error)\b/.test(body),
    skipped: body.includes("<skipped"),
  }));
  // Deno lists a describe beside its tests, and a test beside its steps, as "parent > child"; Bun lists only the leaves, by bare name.
  const parents = new Set<string>();
  const failedParents = new Set<string>();
  const nested = text.includes('<testsuites name="deno test"');
  for (const { name, failed } of nested ? cases : []) {
    for (let at = name.lastIndexOf(" &gt; "); at > 0; at = name.lastIndexOf(" &gt; ", at - 1)) {
      parents.add(name.slice(0, at));
      if (failed) failedParents.add(name.slice(0, at));
    }
  }
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, failed, skipped } of cases) {
    if (failed) counts.failed += failedParents.has(name) ? 0 : 1;
    else if (!parents.has(name)) counts[skipped ? "skipped" : "passed"] += 1;
  }
  return { ...counts, files: new Set(cases.map(({ file }) => file.replace(/^\.\//, ""))) };
}

function problemsOf(runtime: Runtime, files: readonly string[], finished: Finished, counted: Counted): string[] {
  if (finished.stopped !== undefined) {
    const last = runtime === "node" ? files[0] : lastFileIn(finished.output) ?? files[0];
    return [`${last}: ended because it ${finished.stopped}; something it opened is still open, or a test never ends`];
  }
  const problems: string[] = [];
  if (finished.code !== 0 && counted.failed === 0) {
    const where = files.length === 1 ? files[0] : "the run";
    problems.push(`${where}: exit code ${finished.code} although no test was reported as failed`);
  }
  if (finished.code !== 0) return problems;
  if (runtime === "node") {
    if (counted.passed + counted.skipped === 0) problems.push(`${files[0]}: ran no test`);
  } else {
    for (const file of files) if (!counted.files?.has(file)) problems.push(`${file}: ran no test`);
  }
  return problems;
}

/** The file that was running when Deno or Bun was ended, by their headings. */
function lastFileIn(output: string): string | undefined {
  return [...output.matchAll(/^(?:running \d+ tests? from \.\/(.*)|(\S+_test\.ts):)$/gm)].map((match) =>
    match[1] ?? match[2]
  ).pop();
}
