import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SourceFile } from "../tools/source_file.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Lowest first. A file may import from its own folder and from lower lines; folders on one line do not know each other. */
const floors = [
  ["src/core"],
  ["src/bytes", "src/hash"],
  ["src/compression"],
  ["src/records"],
  ["src/protocol", "src/transport"],
  ["src/log"],
  ["src/client"],
  ["src/producer", "src/consumer", "src/admin"],
  ["src/kafka.ts"],
  ["src/broker"],
  ["src/console"],
  ["src/cli"],
  ["adapters"],
  ["mod.ts"],
];

function read(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}

function json(path: string): Record<string, Record<string, string>> {
  return JSON.parse(read(path));
}

function filesUnder(folder: string, ending = ".ts"): string[] {
  if (!existsSync(`${root}/${folder}`)) return [];
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path, ending) : path.endsWith(ending) ? [path] : [];
  });
}

function parse(paths: readonly string[]): SourceFile[] {
  return paths.map((path) => SourceFile.read(root, path));
}

/** The member of `floors` that a file belongs to. */
function homeOf(path: string): string {
  const home = floors.flat().find((name) => path === name || path.startsWith(`${name}/`));
  assert.ok(
    home !== undefined,
    `${path} belongs to no floor: name its folder in tests/architecture_test.ts and docs/architecture.md`,
  );
  return home;
}

function floorOf(path: string): number {
  return floors.findIndex((names) => names.includes(homeOf(path)));
}

const core = parse(filesUnder("src"));
const adapters = parse(filesUnder("adapters"));
const face = parse(["mod.ts"]);
const library = [...face, ...adapters, ...core];
const byPath = new Map(library.map((file) => [file.path, file]));
const tests = parse(filesUnder("tests", "_test.ts"));
const tools = parse([...filesUnder("tools"), ...filesUnder("examples")]);

/** Fails with every offender at once, not only the first. */
function assertNone(offenders: readonly string[], rule: string): void {
  assert.equal(offenders.length, 0, `${rule}:\n  ${offenders.join("\n  ")}`);
}

describe("the floors", () => {
  test("imports go to the own folder or to lower floors", () => {
    const offenders: string[] = [];
    for (const { path, imports } of library) {
      const [home, floor] = [homeOf(path), floorOf(path)];
      for (const { file } of imports) {
        if (file === undefined) continue;
        if (!byPath.has(file)) offenders.push(`${path} imports ${file}, which is not there`);
        else if (homeOf(file) !== home && floorOf(file) >= floor) offenders.push(`${path} imports ${file}`);
      }
    }
    assertNone(offenders, "not on the own or a lower floor");
  });

  test("no file imports itself by way of others", () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) {
        cycles.push([...way.slice(way.indexOf(path)), path].join(" → "));
        return;
      }
      if (done.has(path)) return;
      for (const { file } of byPath.get(path)?.imports ?? []) if (file !== undefined) visit(file, [...way, path]);
      done.add(path);
    };
    for (const { path } of library) visit(path, []);
    assertNone(cycles, "import cycles");
  });

  test("mod.ts only re-exports", () => {
    const rest = face[0]!.code.replace(/^export\s+(?:type\s+)?(?:\{[^}]*\}|\*)\s+from\s+"[^"]+";$/gm, "").trim();
    assert.equal(rest, "");
  });

  test("only adapters name a runtime", () => {
    const offenders: string[] = [];
    for (const file of [...core, ...face]) {
      // As a global only: a property or a member of one's own of that name is no runtime.
      const line = file.lineOf(
        /(?<![.#\w$]|\b(?:const|let|function|interface|type|class) )(?:Deno|Bun|Buffer|process|require)\b\s*[.([]|\b__dirname\b/,
      );
      if (line !== undefined) offenders.push(`${file.path}:${line}`);
      for (const { specifier } of file.imports) {
        if (/^(?:node|bun|npm|jsr|https?):/.test(specifier)) offenders.push(`${file.path} imports ${specifier}`);
      }
    }
    assertNone(offenders, "names a runtime");
  });

  test("packages are imported only if package.json depends on them", () => {
    const packages = Object.keys(json("package.json")["dependencies"]!);
    const offenders = library.flatMap(({ path, imports }) =>
      imports.filter(({ file, specifier }) =>
        file === undefined && !specifier.startsWith("node:") && !packages.includes(specifier)
      )
        .map(({ specifier }) => `${path} imports ${specifier}`)
    );
    assertNone(offenders, "not a dependency");
  });

  test("docs/architecture.md names every folder of src", () => {
    const text = read("docs/architecture.md");
    const folders = readdirSync(`${root}/src`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    assertNone(
      folders.map(({ name }) => `src/${name}/`).filter((name) => !text.includes(name)),
      "not in docs/architecture.md",
    );
  });
});

describe("a source file", () => {
  test("is named after its main export, or in the words of one of several", () => {
    const offenders = core
      .filter(({ text, path, exports }) => {
        if (text.startsWith("// Generated by ")) return false;
        const name = path.replace(/^.*\//, "").replace(/\.ts$/, "");
        // `handlers/produce.ts` may hold `produceHandler`, and `record_json.ts` both `recordToJson` and `recordFromJson`.
        const words = new RegExp(name.replaceAll("_", ".*"), "i");
        return !/^[a-z0-9_]+$/.test(name) || !exports.some((exported) => words.test(exported));
      })
      .map(({ path, exports }) => `${path} exports ${exports.join(", ")}`);
    assertNone(offenders, "no export of the file's name");
  });

  test("is loaded and read by every runtime we claim", () => {
    const offenders: string[] = [];
    for (const file of library) {
      const { path } = file;
      const line = file.topLevelAwait;
      if (line !== undefined) {
        offenders.push(`${path}:${line}: await at top level (require() of the package would fail)`);
      }
      const using = file.lineOf(/^\s*(?:await )?using \w+ =/m);
      if (using !== undefined) offenders.push(`${path}:${using}: using (Node 20 and 22 cannot parse it)`);
      const byDefault = file.lineOf(/^export default\b/m);
      if (byDefault !== undefined) offenders.push(`${path}:${byDefault}: default export`);
    }
    assertNone(offenders, "must go");
  });

  test("leaves nothing for later", () => {
    const words = new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b`);
    assertNone(
      [...library, ...tests, ...tools].filter(({ text }) => words.test(text)).map(({ path }) => path),
      "unfinished",
    );
  });
});

describe("the packages", () => {
  const entries = Object.entries(json("deno.json")["exports"]!);

  test("every entry point opens with a module doc", () => {
    const offenders = entries.map(([, file]) => file).filter((file) =>
      !/^(?:#!.*\n)?\/\*\*(?:(?!\*\/)[\s\S])*@module\b/.test(read(file))
    );
    assertNone(offenders, "no module doc");
  });

  test("deno.json and package.json agree", () => {
    const [deno, node] = [json("deno.json"), json("package.json")];
    for (const field of ["name", "version", "license", "exports"]) assert.deepEqual(deno[field], node[field], field);
    const imports = Object.entries(node["dependencies"]!).map(([name, version]) => [name, `npm:${name}@${version}`]);
    assert.deepEqual(deno["imports"], Object.fromEntries(imports));
  });

  test("package.json and package-lock.json agree, and the lock file names no registry", () => {
    const [{ dependencies, devDependencies, version }, lock] = [json("package.json"), json("package-lock.json")];
    const locked = lock["packages"]![""] as unknown as Record<string, unknown>;
    assert.deepEqual(
      { dependencies: locked["dependencies"], devDependencies: locked["devDependencies"], version: locked["version"] },
      { dependencies, devDependencies, version },
    );
    assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
  });
});

describe("a test file", () => {
  test("keeps the rules under which it runs unchanged in three runtimes", () => {
    const offenders: string[] = [];
    const rules: [RegExp, string][] = [
      [/\bdescribe\("", (?:\{[^}]*\}, )?async\b/, "describe with an async body (Deno drops its tests silently)"],
      [/(?<!await |return )\bt\.test\(/, "t.test without await (fails in Deno)"],
      [/\bconcurrency:/, "concurrency (fails in Deno)"],
      [/^\s*(?:await )?using \w+ =/m, "using (Node 20 and 22 cannot parse it)"],
      [/\b(?:test|it|describe)\.only\(/, "only"],
      [/\bDeno\.test\(/, "Deno.test"],
    ];
    for (const file of tests) {
      for (const [pattern, what] of rules) {
        const line = file.lineOf(pattern);
        if (line !== undefined) offenders.push(`${file.path}:${line}: ${what}`);
      }
      if (!file.imports.some(({ specifier }) => specifier === "node:test")) {
        offenders.push(`${file.path}: no import of node:test`);
      }
    }
    assertNone(offenders, "rules of docs/testing.md");
  });
});
