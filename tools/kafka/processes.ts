/**
 * Running and finding other programs, the few ways the launcher needs. Works in Node, Deno and Bun.
 *
 * @module
 */
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { LauncherError } from "./launcher_error.ts";

/** Environment variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a program left behind. */
export interface ProgramResult {
  /** Exit code; 128 when a signal ended it. */
  readonly code: number;
  /** Everything it wrote to standard output. */
  readonly stdout: Uint8Array;
  /** Everything it wrote to standard error. */
  readonly stderr: string;
}

/** How to run a program. */
export interface ProgramOptions {
  /** Working directory. */
  readonly cwd?: string;
  /** Environment instead of our own. */
  readonly env?: Environment;
  /** Bytes for its standard input; nothing when left out. */
  readonly stdin?: Uint8Array | string;
  /** Kills it and fails after this time. No limit when left out. */
  readonly timeoutMs?: number;
}

/** Path of the program `name` by `PATH`, or undefined. Our own search: the runtimes' `spawn` differ in whose `PATH` they take. */
export function findExecutable(name: string, env: Environment = process.env): string | undefined {
  for (const folder of (env["PATH"] ?? "").split(path.delimiter)) {
    if (folder === "") continue;
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile()) return file;
    } catch {
      // Not here, or not ours to run: the next folder.
    }
  }
  return undefined;
}

/** Runs a program to its end and collects what it wrote. A code other than 0 is a result, not an error. */
export function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, [...args], {
      stdio: ["pipe", "pipe", "pipe"],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: { ...options.env } }),
    });
    const out: Uint8Array[] = [];
    const err: Uint8Array[] = [];
    let late = false;
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, options.timeoutMs);
    child.stdout.on("data", (chunk: Uint8Array) => out.push(chunk));
    child.stderr.on("data", (chunk: Uint8Array) => err.push(chunk));
    child.on("error", (cause) => {
      clearTimeout(timer);
      reject(new LauncherError(`could not run ${file}: ${cause.message}`, { cause }));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const stderr = Buffer.concat(err).toString("utf8");
      if (late) {
        const what = [path.basename(file), ...args].join(" ").slice(0, 200);
        reject(new LauncherError(`${what} did not end within ${options.timeoutMs} ms and was killed\n${stderr}`));
      } else {
        resolve({ code: code ?? 128, stdout: new Uint8Array(Buffer.concat(out)), stderr });
      }
    });
    // A program may end without reading its input (EPIPE); its exit code tells the story.
    child.stdin.on("error", () => {});
    child.stdin.end(options.stdin ?? "");
  });
}

/** A running process and its arguments. */
export interface FoundProcess {
  /** Process id. */
  readonly pid: number;
  /** The argument that matched. */
  readonly argument: string;
}

/**
 * The running processes one of whose arguments is `prefix` plus something. The launcher marks every JVM with a `-D` argument that
 * names the cluster's directory, so this finds exactly its own, whoever started them and however often a pid was reused.
 */
export function findByArgument(prefix: string): FoundProcess[] {
  return fs.existsSync("/proc/self/cmdline") ? findInProc(prefix) : findWithPs(prefix);
}

function findInProc(prefix: string): FoundProcess[] {
  const found: FoundProcess[] = [];
  for (const entry of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    let line: string;
    try {
      line = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8");
    } catch {
      continue; // it ended while we looked
    }
    const argument = line.split("\0").find((arg) => arg.startsWith(prefix));
    if (argument !== undefined) found.push({ pid: Number(entry), argument });
  }
  return found;
}

/** Where there is no /proc (macOS). `ps` joins arguments with spaces, so the match is the text up to ` -cp`, which follows the mark. */
function findWithPs(prefix: string): FoundProcess[] {
  const result = spawnSync("ps", ["-axww", "-o", "pid=,command="], { encoding: "utf8" });
  const found: FoundProcess[] = [];
  for (const line of (result.stdout ?? "").split("\n")) {
    const start = line.indexOf(` ${prefix}`);
    const end = line.indexOf(" -cp ", start);
    if (start >= 0 && end > start) {
      found.push({ pid: Number.parseInt(line, 10), argument: line.slice(start + 1, end) });
    }
  }
  return found;
}

/** Sends a signal; a process that is gone already is no error. */
export function sendSignal(pid: number, signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: it ended by itself.
  }
}
