// deno-lint-ignore-file no-console -- the examples print, and what they print is looked at
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { listen } from "../adapters/node.ts";
import { nodeStorage } from "../adapters/storage_node.ts";
import { EmbeddedBroker } from "../src/broker/embedded_broker.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const exportsOf: Record<string, string> = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")).exports;
const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map((match) =>
  match[1]!
);

/** Runs the code of a README block with the package's names, the cluster and the folder replaced; answers what it printed. */
async function runBlock(code: string, number: number, bootstrap: string, data: string): Promise<unknown[][]> {
  const folder = join(root, "tests", ".readme");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `block_${number}_${Date.now()}.ts`);
  const real = code
    .replace(
      /"@anykafka\/kafka(\/[\w-]+)?"/g,
      (_: string, path?: string) =>
        JSON.stringify(join("..", "..", exportsOf[`.${path ?? ""}`]!).replaceAll("\\", "/")),
    )
    .replaceAll('"localhost:9092"', JSON.stringify(bootstrap))
    .replaceAll('"kafka-data"', JSON.stringify(data));
  const printed: unknown[][] = [];
  const log = console.log;
  writeFileSync(file, real);
  try {
    console.log = (...words: unknown[]) => void printed.push(words);
    await import(pathToFileURL(file).href);
  } finally {
    console.log = log;
    rmSync(folder, { recursive: true, force: true });
  }
  return printed;
}

describe("README", () => {
  test("its examples run as they stand: send, read, read the files", { timeout: 60_000 }, async () => {
    assert.equal(blocks.length, 3);
    const data = mkdtempSync(join(tmpdir(), "anykafka-readme-"));
    const broker = await EmbeddedBroker.start({ listen, storage: nodeStorage(data), topics: { orders: 1 } });
    try {
      const [send, read, files] = blocks as [string, string, string];
      const sent = await runBlock(send, 1, broker.bootstrapServers, data);
      assert.deepEqual(sent, [["stored in partition 0 at offset 0"]]);
      const printed = await runBlock(read, 2, broker.bootstrapServers, data);
      assert.deepEqual(printed, [[0, 0, '{"id":1,"total":9.5}']]);
      await broker.close();
      const inFiles = await runBlock(files, 3, broker.bootstrapServers, data);
      assert.deepEqual(inFiles, [["offsets 0 to 1"], [0, 1, "zstd"]]);
    } finally {
      await broker.close();
      rmSync(data, { recursive: true, force: true });
    }
  });
});
