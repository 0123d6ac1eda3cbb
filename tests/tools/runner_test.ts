import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { run, runTests, tool } from "../../tools/runner.ts";

const good = `import { describe, test } from "node:test";
describe("a > b", () => {
  test("passes", () => {});
  test("has <steps> & \\"quotes\\"", async (t) => {
    await t.test("one", () => {});
  });
  test("is skipped", { skip: true }, () => {});
});
`;
const bad = `import { test } from "node:test";
test("passes", () => {});
test("fails", () => {
  throw new Error("the reason");
});
`;

const files: Record<string, string> = {
  "good_test.ts": good,
  "bad_test.ts": bad,
  "empty_test.ts": "export const nothing = 1;\n",
  "exit_test.ts":
    `import { test } from "node:test";\nimport process from "node:process";\ntest("exits", () => process.exit(0));\n`,
  "load_test.ts": `import "./not_there.ts";\n`,
  "leak_test.ts":
    `import { createServer } from "node:net";\nimport { test } from "node:test";\ntest("leaks", (_, done) => void createServer().listen(0, "127.0.0.1", done));\n`,
};

/** The runner's counts for files in a folder of their own, and what it printed. */
async function count(
  names: readonly string[],
  options: { runtimes?: ("deno" | "bun" | "node")[]; timeoutMs?: number } = {},
): Promise<{ passed: number; failed: number; ok: boolean; printed: string; perRuntime: unknown }> {
  const folder = mkdtempSync(join(tmpdir(), "anykafka-runner-"));
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  for (const name of names) writeFileSync(join(folder, name), files[name]!);
  // In a process of its own, so that what the runner prints can be read.
  const program = `import { runTests } from ${JSON.stringify(new URL("../../tools/runner.ts", import.meta.url).href)};
process.stdout.write("\\nRESULT" + JSON.stringify(await runTests(${
    JSON.stringify({ files: names, folder, ...options })
  })));`;
  try {
    writeFileSync(join(folder, "program.mjs"), program);
    const { output } = await run(tool("node"), ["program.mjs"], { cwd: folder });
    const [printed, result] = output.split("\nRESULT");
    return { ...JSON.parse(result!), printed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("runTests", () => {
  test("counts the same in three runtimes and prints a line for each", { timeout: 60_000 }, async () => {
    const { printed, ...result } = await count(["good_test.ts"]);
    assert.equal(result.ok, true);
    // Bun does not list sub-tests; the test around them counts in their place.
    assert.deepEqual([result.passed, result.failed], [6, 0]);
    assert.match(printed, /^(?:(?:deno|bun|node): 2 passed, 0 failed, 1 skipped \([\d.]+ s\)\n){3}$/);
  });

  test("counts a failed test once and shows why it failed", { timeout: 60_000 }, async () => {
    const { passed, failed, ok, printed } = await count(["good_test.ts", "bad_test.ts"]);
    assert.deepEqual({ passed, failed, ok }, { passed: 9, failed: 3, ok: false });
    assert.ok(printed.split("the reason").length > 3, printed);
  });

  test(
    "takes a file without tests, one that cannot be loaded and one that exits for a failure",
    { timeout: 60_000 },
    async () => {
      for (const name of ["empty_test.ts", "load_test.ts", "exit_test.ts"]) {
        const { passed, failed, printed } = await count([name]);
        assert.equal(passed, 0, name);
        assert.equal(failed, 3, name);
        assert.ok(printed.includes(name), printed);
      }
    },
  );

  test("ends a file that leaves a socket open in Node and names it", { timeout: 60_000 }, async () => {
    const { passed, failed, printed } = await count(["leak_test.ts", "good_test.ts"], {
      runtimes: ["node"],
      timeoutMs: 1500,
    });
    assert.deepEqual([passed, failed], [3, 1]);
    assert.match(printed, /node: leak_test\.ts: ended because it printed nothing for 1\.5 s/);
  });

  test("takes no files and no runtimes for a failure", async () => {
    assert.equal((await runTests({ files: [], runtimes: [] })).ok, false);
  });
});

describe("run", () => {
  test("ends grandchildren together with a child that falls silent", { timeout: 30_000 }, async () => {
    const child = `const { spawn } = require("node:child_process");
      spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" }).unref();`;
    // It resolves only when the pipe that the grandchild holds is closed.
    const { stopped } = await run(tool("node"), ["-e", child], { timeoutMs: 1000 });
    assert.equal(stopped, "printed nothing for 1 s");
  });
});
