/**
 * `npm run test:browser`: the log layer over the `File`s of a file picker, in the Chromium of the system, headless. Ends in one
 * line, `N passed, N failed`.
 *
 * The comparator of `npm run golden` runs in the page, with the codecs that a browser has. `CHROMIUM_PATH` names the browser
 * where it is not found by itself.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Browser, chromium, type Page } from "playwright-core";
import type { BrowserPage } from "./golden/browser_page.ts";
import { GOLDEN_FOLDER, readExpected } from "./golden/read_golden_set.ts";
import { root, run, tool } from "./runner.ts";

/** Each format, each codec that a browser has, transactions, two leader epochs. */
const SETS = ["01-plain", "07b-transactions-2.8", "14-mixed"];

/** A set in a codec that a browser has only from a library that it is given. */
const ZSTD_SET = "05b-recompressed";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];

/** Names that only a server's runtime has. */
const RUNTIME_GLOBALS = ["process", "Buffer", "Deno", "Bun", "require", "global", "__dirname", "setImmediate"];

const HTML = `<!doctype html><meta charset="utf-8"><title>anykafka</title>
<script>
  // Who asks for one of these, even by typeof, is noted.
  window.asked = [];
  for (const name of ${JSON.stringify(RUNTIME_GLOBALS)}) {
    Object.defineProperty(window, name, { get() { asked.push(name); } });
  }
</script>
<input type="file" id="log-directory" multiple><input type="file" id="partition" multiple>
<script src="/page.js"></script>`;

/** The page's own names, within `evaluate`. */
type Window = { readonly page: BrowserPage; readonly asked: readonly string[] };

function browserPath(): string {
  const given = process.env.CHROMIUM_PATH;
  if (given !== undefined) return given;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      if (existsSync(path)) return path;
    }
  }
  throw new Error(
    `there is none of ${NAMES.join(", ")} in PATH: install one (apt-get install chromium) or set CHROMIUM_PATH`,
  );
}

/** The page's script in one file. */
async function bundle(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "anykafka-browser-"));
  try {
    const outfile = join(folder, "page.js");
    const { code, output } = await run(tool("esbuild"), [
      ...["tools/golden/browser_page.ts", "--bundle", "--format=iife", "--platform=browser", "--target=es2022"],
      `--outfile=${outfile}`,
    ], { cwd: root });
    if (code !== 0) throw new Error(`esbuild ended with code ${code}:\n${output}`);
    return readFileSync(outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Serves the page on a port of its own; answers the address and a way to end. */
async function serve(script: Uint8Array): Promise<{ url: string; close: () => void }> {
  const server = createServer(({ url }, response) => {
    const isScript = url === "/page.js";
    response.writeHead(isScript || url === "/" ? 200 : 404, {
      "content-type": isScript ? "text/javascript; charset=utf-8" : "text/html; charset=utf-8",
    });
    response.end(isScript ? script : HTML);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

/** Puts a set's files into the pickers, as a user would. */
async function pick(page: Page, name: string): Promise<void> {
  const directory = join(GOLDEN_FOLDER, name);
  const paths = (folder: string) =>
    readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) =>
      join(folder, entry.name)
    );
  await page.setInputFiles("#log-directory", paths(directory));
  await page.setInputFiles("#partition", paths(join(directory, readExpected(directory)!.partition)));
}

/** The tests, by name. */
function tests(page: Page): [name: string, test: () => Promise<void>][] {
  return [
    ...SETS.map((name): [string, () => Promise<void>] => [
      `golden set ${name} over File is what Kafka says of it`,
      async () => {
        await pick(page, name);
        const mismatches = await page.evaluate(() => (globalThis as unknown as Window).page.compare());
        assert.equal(mismatches.length, 0, mismatches.slice(0, 20).join("\n"));
      },
    ]),
    ["Log.open reads the files of a file picker", async () => {
      await pick(page, "01-plain");
      const { records, opened } = readExpected(join(GOLDEN_FOLDER, "01-plain"))!;
      assert.deepEqual(await page.evaluate(() => (globalThis as unknown as Window).page.read()), {
        records: records.length,
        valueBytes: valueBytes(records),
        end: opened.logEndOffset,
      });
    }],
    ["a codec that is not there is an error that names it and what to do", async () => {
      await pick(page, ZSTD_SET);
      const read = page.evaluate(() => (globalThis as unknown as Window).page.read());
      await assert.rejects(read, /no zstd codec here.*pass codecs/);
    }],
    ["nothing asked for what only a server's runtime has", async () => {
      assert.deepEqual(await page.evaluate(() => (globalThis as unknown as Window).asked), []);
    }],
  ];
}

/** Bytes of all values, from base64 or from the length that stands for many. */
function valueBytes(records: readonly unknown[]): number {
  return records.reduce<number>((sum, record) => {
    const value = (record as readonly unknown[])[3] as string | null | { readonly length: number };
    if (value === null) return sum;
    return sum + (typeof value === "string" ? Buffer.from(value, "base64").length : value.length);
  }, 0);
}

let [passed, failed] = [0, 0];
let browser: Browser | undefined;
let server: { url: string; close: () => void } | undefined;
try {
  server = await serve(await bundle());
  // A container does not let root have the sandbox.
  browser = await chromium.launch({ executablePath: browserPath(), chromiumSandbox: false });
  process.stdout.write(`Chromium ${browser.version()}\n`);
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(server.url);
  for (const [name, test] of tests(page)) {
    try {
      await test();
      passed++;
      process.stdout.write(`ok      ${name}\n`);
    } catch (error) {
      failed++;
      process.stdout.write(`FAILED  ${name}\n${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  for (const error of errors) process.stdout.write(`in the page: ${error}\n`);
  failed += errors.length;
} catch (error) {
  failed++;
  process.stderr.write(`test:browser: ${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  await browser?.close();
  server?.close();
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
