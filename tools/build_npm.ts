/**
 * Builds the npm package into npm/ and checks it as a user would meet it: packed, installed elsewhere, type-checked, run on the newest and on the oldest
 * Node it claims, and bundled for the size report.
 *
 * @module
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { root, run, tool } from "./runner.ts";

/** The oldest Node the package claims to run on: the first long-term release of Node 20. The check runs on exactly this one. */
const oldestNode = "20.9.0";

/** What a producer alone loads, bundled, minified and compressed, must stay below this many bytes. */
const sizeLimit = 45_000;

/** Folders of which nothing may come along with a producer. */
const foreignToProducer = ["cli", "console", "broker", "log"];

interface DenoJson {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: string | Readonly<Record<string, string>>;
}

interface PackageJson {
  readonly description: string;
  readonly keywords: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const denoJson = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as DenoJson;
const packageJson = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as PackageJson;
const entries = typeof denoJson.exports === "string" ? { ".": denoJson.exports } : denoJson.exports;
const output = join(root, "npm");

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a command; its output matters only when it fails. */
async function must(command: string, args: readonly string[], cwd: string = root): Promise<string> {
  const { code, output, stopped } = await run(command, args, { cwd });
  if (code === 0) return output;
  throw new Error(`${command} ${args.join(" ")}\nin ${cwd} ${stopped ?? `ended with code ${code}`}:\n${output}`);
}

async function build(): Promise<void> {
  rmSync(output, { recursive: true, force: true });
  await must(tool("tsc"), ["-p", "tsconfig.npm.json"]);
  for (const name of ["README.md", "LICENSE", "NOTICE", "CHANGELOG.md"]) {
    copyFileSync(join(root, name), join(output, name));
  }
  chmodSync(join(output, "adapters", "cli.js"), 0o755);
  const manifest = {
    name: denoJson.name,
    version: denoJson.version,
    description: packageJson.description,
    keywords: packageJson.keywords,
    license: denoJson.license,
    type: "module",
    // "default" instead of "import": a Node that can require() modules then finds the entry as well.
    exports: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [
        name,
        { types: file.replace(/\.ts$/, ".d.ts"), default: file.replace(/\.ts$/, ".js") },
      ]),
    ),
    bin: { anykafka: "adapters/cli.js" },
    engines: { node: `>=${oldestNode}` },
    sideEffects: false,
    dependencies: packageJson.dependencies,
  };
  writeFileSync(join(output, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Packs npm/ and installs the tarball, with its dependencies, in a folder from which the project's node_modules cannot be seen. */
async function install(scratch: string): Promise<void> {
  const packed = await must("npm", ["pack", "--json", "--pack-destination", scratch], output);
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(packed.slice(packed.indexOf("["))) as [
    { filename: string; size: number; unpackedSize: number; entryCount: number },
  ];
  say(`package: ${entryCount} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`);
  cpSync(join(root, "tools", "npm_consumer"), scratch, { recursive: true });
  // Written here: a package.json among the sources would hide the project's own from TypeScript.
  writeFileSync(join(scratch, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await must(
    "npm",
    [
      ...["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"],
      ...[`./${filename}`, `@types/node@${packageJson.devDependencies["@types/node"]}`],
    ],
    scratch,
  );
}

/** Type-checks the consumer's program under both ways of resolving modules, then runs it and every entry point on both Nodes. */
async function consume(scratch: string): Promise<void> {
  await must(tool("tsc"), ["-p", "tsconfig.bundler.json"], scratch);
  await must(tool("tsc"), ["-p", "tsconfig.json"], scratch);
  const names = Object.keys(entries).map((name) => denoJson.name + name.slice(1));
  writeFileSync(join(scratch, "entries.js"), names.map((name) => `import ${JSON.stringify(name)};\n`).join(""));
  // Works as long as nothing in the package awaits at top level.
  writeFileSync(join(scratch, "require.cjs"), names.map((name) => `require(${JSON.stringify(name)});\n`).join(""));
  const oldest = await nodeOf(oldestNode);
  for (const node of [tool("node"), oldest]) {
    await must(node, ["entries.js"], scratch);
    await must(node, ["out/program.js"], scratch);
    await must(node, ["node_modules/.bin/anykafka", "--help"], scratch);
  }
  await must(tool("node"), ["require.cjs"], scratch);
  const version = (await must(tool("node"), ["--version"])).trim();
  say(
    `consumer: type-checked with nodenext and bundler, ran on Node ${version} and v${oldestNode}; ${names.length} entry points`,
  );
}

/** The path of Node `version`, which npm brings into the cache once. */
async function nodeOf(version: string): Promise<string> {
  const folder = join(root, ".cache", `node-${version}`);
  const path = join(folder, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");
  if (!existsSync(path)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }));
    await must(
      "npm",
      ["install", "--prefer-offline", "--no-audit", "--no-fund", "--save-exact", `node@${version}`],
      folder,
    );
  }
  return path;
}

/** What esbuild writes about one output file. */
interface Bundled {
  readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
}

/** Bundles the program that only produces, as for a browser or a function in the cloud; returns the output files by their path in `folder`. */
async function bundle(scratch: string, folder: string, ...options: string[]): Promise<Map<string, Bundled>> {
  await must(tool("esbuild"), [
    ...["producer_only.ts", "--bundle", "--minify", "--format=esm", "--platform=neutral", "--main-fields=module,main"],
    ...["--target=es2022", "--external:node:*", `--outdir=${folder}`, "--metafile=meta.json", ...options],
  ], scratch);
  const { outputs } = JSON.parse(readFileSync(join(scratch, "meta.json"), "utf8")) as {
    outputs: Record<string, Bundled>;
  };
  return new Map(Object.entries(outputs));
}

/** Says what a producer alone weighs, and fails when it is too much or brings along what it does not need. */
async function measure(scratch: string): Promise<void> {
  const compressed = (path: string): number => gzipSync(readFileSync(join(scratch, path)), { level: 9 }).length;

  const entry = "whole/producer_only.js";
  const whole = await bundle(scratch, "whole");
  const inputs = Object.entries(whole.get(entry)!.inputs)
    .map(([path, { bytesInOutput }]) => ({
      path: path.replace(/^.*node_modules\//, "").replace(`${denoJson.name}/`, ""),
      bytes: bytesInOutput,
    }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const size = compressed(entry);

  // A bundler that splits leaves what is imported on demand (a runtime's sockets, a codec) in files of their own.
  const split = await bundle(scratch, "split", "--splitting");
  const atStart = new Set(["split/producer_only.js"]);
  for (const path of atStart) {
    for (const { path: imported, kind } of split.get(path)?.imports ?? []) {
      if (kind === "import-statement" && split.has(imported)) atStart.add(imported);
    }
  }
  const sizeAtStart = [...atStart].reduce((sum, path) => sum + compressed(path), 0);

  say(
    `size: a producer alone loads ${kilobytes(sizeAtStart)} with gzip (limit ${kilobytes(sizeLimit)}), ` +
      `${kilobytes(size)} in one file that holds what is loaded on demand too; largest parts, minified:`,
  );
  for (const { path, bytes } of inputs.slice(0, 12)) say(`  ${kilobytes(bytes).padStart(9)}  ${path}`);
  const foreign = inputs.filter(({ path }) => foreignToProducer.some((folder) => path.startsWith(`src/${folder}/`)));
  if (foreign.length > 0) {
    throw new Error(
      `a program that only produces brings along ${foreign.map(({ path }) => path).join(", ")}: something imports it`,
    );
  }
  if (sizeAtStart > sizeLimit) {
    throw new Error(`a producer alone loads ${sizeAtStart} bytes with gzip; the limit is ${sizeLimit}`);
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}

const scratch = mkdtempSync(join(tmpdir(), "anykafka-npm-"));
try {
  await build();
  await install(scratch);
  await consume(scratch);
  await measure(scratch);
} catch (error) {
  say(`build: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
