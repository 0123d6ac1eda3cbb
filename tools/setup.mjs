/**
 * Installs the development tools when one is missing or has another version than package.json says, and else does nothing. Every npm script starts
 * with it.
 *
 * Plain JavaScript, since it runs before the right Node is there: in a fresh clone, on whatever Node (18 or newer) the user has.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const commands = ["deno", "bun", "node", "tsc", "esbuild"];

/** What package.json asks for and node_modules lacks. */
function missing() {
  const { dependencies, devDependencies } = readJson(join(root, "package.json"));
  const packages = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([name, version]) => readJson(join(modules, name, "package.json")).version !== version)
    .map(([name, version]) => `${name}@${version}`);
  // An npm that blocks install scripts leaves a link to nothing behind.
  const broken = commands.filter((name) =>
    !existsSync(join(modules, ".bin", process.platform === "win32" ? `${name}.cmd` : name))
  );
  return [...packages, ...broken.map((name) => `the command ${name}`)];
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** Installs with npm; says how that ended. */
function install() {
  // The tools' own folder is about to be replaced, so nothing may run from it.
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.endsWith(`node_modules${sep}.bin`));
  const { error, status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: root,
    env: { ...process.env, PATH: path.join(delimiter) },
    shell: process.platform === "win32",
    // Standard output belongs to the command that the user asked for.
    stdio: ["ignore", 2, 2],
  });
  return error === undefined
    ? `npm ci ended with code ${status}`
    : `npm did not start (${error.message}); Node 18 or newer with npm is needed`;
}

if (missing().length > 0) {
  process.stderr.write(
    "setup: installing the development tools (Deno, Bun, Node 24, TypeScript, esbuild: about 400 MB, once)\n",
  );
  const ending = install();
  const rest = missing();
  if (rest.length > 0) {
    process.stderr.write(`setup: ${ending}; still missing: ${rest.join(", ")}\n`);
    process.exit(1);
  }
}
