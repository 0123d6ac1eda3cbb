// deno-lint-ignore-file no-console -- programs print, and what they print is looked at
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nativeInflate } from "../../adapters/inflate_native.ts";
import { Kafka, platform } from "../../adapters/kafka.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import type { CommandIo, OpenedPath } from "../../src/cli/command.ts";
import { StorageError } from "../../src/core/kafka_error.ts";
import { FakeWorld } from "../cli/fake_io.ts";
import { RangeServer } from "../log/sources/range_server.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const EXPORTS: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8")).exports;
/** What pages call the web server over the golden sets. */
const SITE = "http://localhost:8080";

/** What a command printed. */
interface Printed {
  readonly out: string;
  readonly err: string;
}

/**
 * A terminal for what a page shows: `anykafka` and the page's own programs run in this process, everything else in `sh`, all
 * in a temporary folder, where `tests` leads to the tree's.
 */
export class DocShell {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "anykafka-docs-"));
  /** Takes the place of `localhost:9092` in programs. */
  bootstrapServers = "localhost:9092";
  readonly #programs: ReadonlyMap<string, string>;
  #files = 0;
  #code = 0;
  #site: Promise<RangeServer> | undefined;

  /** `programs` has the page's own by the commands that run them. */
  constructor(programs: ReadonlyMap<string, string> = new Map()) {
    this.#programs = programs;
    symlinkSync(join(ROOT, "tests"), join(this.#folder, "tests"), "dir");
  }

  /** The folder that it is in. */
  get folder(): string {
    return this.#folder;
  }

  /** Removes the folder. */
  async close(): Promise<void> {
    await (await this.#site)?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Runs a command; answers what a terminal shows. */
  async run(command: string): Promise<string> {
    const program = this.#programs.get(command);
    if (program !== undefined) return (await this.runProgram(program)).map((words) => `${words.join(" ")}\n`).join("");
    if (command === "echo $?") return `${this.#code}\n`;
    const stages = command.split(" | ");
    let shown = "";
    let input = "";
    for (const [i, stage] of stages.entries()) {
      const isLast = i === stages.length - 1;
      const { out, err } = stage.startsWith("anykafka ")
        ? await this.#anykafka(stage, input, isLast)
        : this.#sh(stage, input);
      shown += isLast ? err + out : err;
      input = out;
    }
    return shown;
  }

  /** Runs a program; answers the words of each line that it printed. */
  async runProgram(code: string): Promise<unknown[][]> {
    const real = code
      .replace(/"@anykafka\/kafka(\/[\w-]+)?"/g, (specifier: string, path?: string) => {
        const file = EXPORTS[`.${path ?? ""}`];
        if (file === undefined) throw new Error(`${specifier} is no entry point of deno.json`);
        return JSON.stringify(pathToFileURL(join(ROOT, file)).href);
      })
      .replaceAll('"localhost:9092"', JSON.stringify(this.bootstrapServers))
      .replaceAll(SITE, code.includes(SITE) ? (await this.#siteOfSets()).url : SITE);
    // One that was imported is never run again; and .mts is a module whatever lies around.
    const file = join(this.#folder, `program_${this.#files++}.mts`);
    writeFileSync(file, real);
    const printed: unknown[][] = [];
    const log = console.log;
    try {
      console.log = (...words: unknown[]) => void printed.push(words);
      await this.#inFolder(() => import(pathToFileURL(file).href));
    } finally {
      console.log = log;
    }
    return printed;
  }

  /** At the end of a pipe a terminal shows data and messages as they come. */
  async #anykafka(command: string, input: string, isLast: boolean): Promise<Printed> {
    let out = "";
    let err = "";
    const decoder = new TextDecoder();
    const io: Partial<CommandIo> = {
      out: (text) => Promise.resolve(void (out += text)),
      outBytes: (bytes) => Promise.resolve(void (out += decoder.decode(bytes, { stream: true }))),
      err: (text) => {
        if (isLast) out += text;
        else err += text;
      },
      codecs: () => platform.codecs(),
      inflate: nativeInflate,
      fetch: (url, init) => this.#fetch(url, init),
      kafka: (options) => new Kafka({ ...options, bootstrapServers: this.bootstrapServers }),
      openPath: (path) => new Promise((resolve) => resolve(openPath(path))),
      writeFolder: (path) => nodeStorage(resolve(path)),
    };
    // Progress would be drawn over.
    const options = { terminal: isLast, errIsTerminal: false, input: input.split("\n").slice(0, -1), io };
    const { code } = await this.#inFolder(() => new FakeWorld().run(wordsOf(command).slice(1), options));
    this.#code = code;
    return { out, err };
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    if (!url.startsWith(SITE)) throw new TypeError(`${url}: pages know only ${SITE}`);
    const response = await fetch(url.replace(SITE, (await this.#siteOfSets()).url), init);
    // Links on a page count from where it is said to be.
    return Object.defineProperty(response, "url", { value: url });
  }

  #sh(command: string, input: string): Printed {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: this.#folder, input, encoding: "utf8" });
    this.#code = status ?? -1;
    return { out: stdout, err: stderr };
  }

  async #inFolder<T>(run: () => Promise<T>): Promise<T> {
    const before = process.cwd();
    process.chdir(this.#folder);
    try {
      return await run();
    } finally {
      process.chdir(before);
    }
  }

  #siteOfSets(): Promise<RangeServer> {
    return this.#site ??= startSite();
  }
}

/** The words of a command; quotes keep spaces. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replace(/['"]/g, ""));
}

function openPath(path: string): OpenedPath {
  const absolute = resolve(path);
  if (!existsSync(absolute)) throw new StorageError(`${path}: there is no such file or folder`, { code: "ENOENT" });
  const [name, above] = [basename(absolute), dirname(absolute)];
  const folder = (dir: string) => nodeStorage(dir, { readOnly: true });
  if (!statSync(absolute).isDirectory()) return { kind: "file", name, folder: folder(above) };
  return { kind: "folder", name, folder: folder(absolute), above: folder(above) };
}

async function startSite(): Promise<RangeServer> {
  const site = await RangeServer.start(siteFiles(join(ROOT, "tests", "golden"), "/"));
  site.intercept = ({ url }, response) => {
    if (url!.endsWith("/")) response.setHeader("content-type", "text/html");
    return false;
  };
  return site;
}

/** The files below a folder and a listing for each folder, as a web server has them. */
function siteFiles(folder: string, path: string): Record<string, string | Uint8Array> {
  const files: Record<string, string | Uint8Array> = {};
  let listing = "";
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
    listing += `<a href="${encodeURIComponent(entry.name)}${name.slice(entry.name.length)}">${name}</a>\n`;
    if (entry.isDirectory()) Object.assign(files, siteFiles(join(folder, entry.name), `${path}${name}`));
    else files[`${path}${name}`] = readFileSync(join(folder, entry.name));
  }
  files[path] = listing;
  return files;
}
