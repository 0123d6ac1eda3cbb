import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listen } from "../adapters/node.ts";
import { nodeStorage } from "../adapters/storage_node.ts";
import { EmbeddedBroker } from "../src/broker/embedded_broker.ts";
import { type DocBlock, docBlocks, isShown } from "./helpers/doc_page.ts";
import { DocShell } from "./helpers/doc_shell.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const pages = ["README.md", ...readdirSync(join(root, "docs")).sort().map((name) => `docs/${name}`)]
  .filter((page) => page.endsWith(".md"));

/** What the programs of pages print that do not say it themselves. */
const printedBy: Readonly<Record<string, unknown[][]>> = {
  "README.md": [
    ["stored in partition 0 at offset 0"],
    [0, 0, '{"id":1,"total":9.5}'],
    ["offsets 0 to 1"],
    [0, 1, "zstd"],
  ],
};

for (const page of pages) {
  const blocks = docBlocks(page);
  if (blocks.length > 0 || page in printedBy) describePage(page, blocks);
}

function describePage(page: string, blocks: readonly DocBlock[]): void {
  describe(page, () => {
    const programs = new Map<string, string>();
    const printed: unknown[][] = [];
    let shell: DocShell;
    let broker: EmbeddedBroker;

    before(async () => {
      shell = new DocShell(programs);
      const storage = nodeStorage(join(shell.folder, "kafka-data"));
      broker = await EmbeddedBroker.start({ listen, storage, topics: { orders: 1 } });
      shell.bootstrapServers = broker.bootstrapServers;
    });
    after(async () => {
      await broker.close();
      await shell.close();
    });

    for (const block of blocks) {
      if (block.type === "call") {
        const { command, line, output } = block;
        test(`line ${line}: ${command}`, { timeout: 30_000 }, async () => {
          const shown = await shell.run(command);
          assert.ok(isShown(output, shown), `${page}:${line} shows\n${output}\n--- it prints\n${shown}`);
        });
      } else if (block.name === undefined) {
        test(`line ${block.line}: the program runs`, { timeout: 30_000 }, async () => {
          printed.push(...await shell.runProgram(block.code));
        });
      } else programs.set(`node ${block.name}.ts`, block.code);
    }
    test("its programs print what they should", () => assert.deepEqual(printed, printedBy[page] ?? []));
    test("programs with a name are run by a call", () => {
      const commands = blocks.map((block) => block.type === "call" ? block.command : "");
      assert.deepEqual([...programs.keys()].filter((call) => !commands.includes(call)), []);
    });
  });
}

describe("what a page shows", () => {
  const cases: readonly (readonly [shown: string, printed: string, is: boolean])[] = [
    ["a\nb", "a\nb\n", true],
    ["a\nb", "a\nc\n", false],
    ["a", "a\nb\n", false],
    ["a\n…", "a\nb\nc\n", true],
    ["a\n…\nc", "a\nb\nb\nc\n", true],
    ["a\n…\nc", "a\nb\n", false],
    ['{"a":1,…}', '{"a":1,"b":[2]}\n', true],
    ["a…c", "ab\nc\n", false],
    ["a.c (1)", "abc (1)\n", false],
    ["", "", true],
    ["", "a\n", false],
  ];
  for (const [shown, printed, is] of cases) {
    test(`${JSON.stringify(shown)} is ${is ? "" : "not "}what prints ${JSON.stringify(printed)}`, () => {
      assert.equal(isShown(shown, printed), is);
    });
  }
});
