import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SourceFile } from "../../tools/source_file.ts";

function parse(text: string): SourceFile {
  return new SourceFile("src/log/log.ts", text);
}

describe("SourceFile", () => {
  test("finds every form of import and resolves relative ones", () => {
    const { imports } = parse(`
import a from "./a.ts";
import type { B } from "../core/b.ts";
import {
  c,
  type D,
} from "pkg";
import "./effect.ts";
export { e } from "./e.ts";
export * from "./f.ts";
export type { G } from "./g.ts";
const lazy = () => import("../../adapters/h.ts");
`);
    assert.deepEqual(
      imports.map(({ specifier, file }) => [specifier, file]).sort(),
      [
        ["./a.ts", "src/log/a.ts"],
        ["../core/b.ts", "src/core/b.ts"],
        ["pkg", undefined],
        ["./effect.ts", "src/log/effect.ts"],
        ["./e.ts", "src/log/e.ts"],
        ["./f.ts", "src/log/f.ts"],
        ["./g.ts", "src/log/g.ts"],
        ["../../adapters/h.ts", "adapters/h.ts"],
      ].sort(),
    );
  });

  test("does not take comments and strings for code", () => {
    const file = parse(`// import "./no.ts"; process.exit()
/** Deno.
 * import { x } from "./no.ts";
 */
const url = "http://process.env"; // Buffer
const quote = 'it\\'s "Deno."';
const template = \`process.\${name + \`Bun.\${deep({ a: "}" })}\` + inner}Buffer.\`;
const pattern = /["'\`]process\\.[/"]/g;
const half = width / 2 / process.uptime();
`);
    assert.deepEqual(file.imports, []);
    assert.deepEqual([...file.bare.matchAll(/process|Deno|Bun|Buffer|inner|deep/g)].map(String), [
      "deep",
      "inner",
      "process",
    ]);
    assert.equal(file.lineOf(/process/), 9);
    assert.equal(file.bare.split("\n").length, file.text.split("\n").length);
  });

  test("lists exports", () => {
    const { exports } = parse(`export class A {}
export abstract class B {}
export async function c() {}
export const d = 1;
export type E = string;
export interface F {}
export function* g() {}
export { h, i as j, type K };
class Hidden {}
`);
    assert.deepEqual(exports, ["A", "B", "c", "d", "E", "F", "g", "h", "j", "K"]);
  });

  test("tells a top-level await from one in a function", () => {
    assert.equal(parse(`async function a() {\n  await b();\n}\n`).topLevelAwait, undefined);
    assert.equal(parse(`const x = 1;\nconst y = await b();\n`).topLevelAwait, 2);
    assert.equal(
      parse(
        `class A {\n  async b() {\n    for await (const c of d) e(\`\${c}\`);\n  }\n}\nfor await (const c of d) e();\n`,
      ).topLevelAwait,
      6,
    );
  });

  test("finds matching brackets in every file of the tree", () => {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    for (const folder of ["src", "adapters", "tools", "tests"]) {
      for (const entry of readdirSync(`${root}/${folder}`, { recursive: true, encoding: "utf8" })) {
        if (!entry.endsWith(".ts")) continue;
        const { bare, path } = SourceFile.read(root, `${folder}/${entry.replaceAll("\\", "/")}`);
        for (const pair of ["()", "[]", "{}"]) {
          const [opening, closing] = [...pair].map((bracket) => bare.split(bracket).length);
          assert.equal(opening, closing, `${path}: ${pair}`);
        }
      }
    }
  });
});
