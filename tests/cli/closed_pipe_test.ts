import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../adapters/cli.ts", import.meta.url));
const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command in this runtime; with `chunks` its reader goes after so many pieces of output. */
function run(words: readonly string[], chunks = Infinity): Promise<Ended> {
  const isDeno = process.versions["deno"] !== undefined;
  const child = spawn(process.execPath, [...isDeno ? ["run", "-A", "--no-check"] : [], COMMAND, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let [out, err, seen] = ["", "", 0];
    child.stdout.on("data", (data: Uint8Array) => {
      out += new TextDecoder().decode(data);
      if (++seen >= chunks) child.stdout.destroy();
    });
    child.stderr.on("data", (data: Uint8Array) => err += new TextDecoder().decode(data));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

describe("the command as a process", () => {
  test("log dump and log read end quietly when their reader goes", { timeout: 60_000 }, async () => {
    for (const words of [["log", "dump", "-o", "json"], ["log", "read"]]) {
      const ended = await run([...words, `${GOLDEN}02-gzip/codec-gzip-0`], 1);
      assert.deepEqual([ended.code, ended.err], [0, ""], words.join(" "));
      assert.ok(ended.out.length > 0);
    }
  });

  test("all of a large dump arrives", { timeout: 60_000 }, async () => {
    const { code, err, out } = await run(["log", "dump", "-o", "json", `${GOLDEN}02-gzip/codec-gzip-0`]);
    assert.deepEqual([code, err], [0, ""]);
    assert.ok(out.length > 2_000_000, String(out.length));
    for (const line of out.trimEnd().split("\n")) JSON.parse(line);
  });
});
