import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFAULT_DECOMPRESSION_LIMIT } from "../../src/compression/codec.ts";
import { type Bomb, bombs } from "./bombs.ts";
import { implementations } from "./implementations.ts";

const MiB = 1024 * 1024;
const CODECS = await implementations();

/** A line of bomb_process.ts. */
interface Outcome {
  readonly name: string;
  readonly limit: number;
  readonly isHonest: boolean;
  readonly outcome: string;
  /** MiB. */
  readonly extra: number;
  readonly milliseconds: number;
}

/** Whether so much more memory was taken as may be. */
function isBounded({ extra, isHonest, limit }: Outcome): boolean {
  // A limit of 128 MiB allows so much to what tells its size to nobody; where it is told, nothing is taken.
  return extra < 61 + (limit === DEFAULT_DECOMPRESSION_LIMIT && !isHonest ? limit / MiB : 0);
}

/** Runs bomb_process.ts in this runtime. */
async function outcomes(): Promise<Outcome[]> {
  const file = fileURLToPath(new URL("bomb_process.ts", import.meta.url));
  const args = "Deno" in globalThis ? ["run", "-A", "--no-check", file] : [file];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => output += chunk);
  child.stderr.on("data", (chunk) => errors += chunk);
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0, errors);
  return output.trim().split("\n").map((line) => JSON.parse(line));
}

describe("bombs", () => {
  // What claims more than it has is refused as damaged.
  const isTried = ({ name, size }: Bomb) => size > 1_000_000 && size < 20_000_000 && !/claims|denies/.test(name);
  for (const small of [...bombs(0.017), ...bombs(0.0015)].map((make) => make()).filter(isTried)) {
    for (const { name, kind, codec } of CODECS.filter(({ name }) => name === small.codec)) {
      test(`a small one is what it says, to ${name}, ${kind}: ${small.name}, by ${small.size}`, () => {
        const inflated = codec.decompress(small.bytes, 2 * small.size);
        assert.ok(Math.abs(inflated.length - small.size) < 2000, `${inflated.length} bytes`);
        assert.ok(inflated.length > small.bytes.length * 20);
      });
    }
  }

  let results: Outcome[] = [];
  before(async () => {
    results = await outcomes();
    // When a collector gives memory back is its own affair: what was too much must be so twice.
    if (!results.every(isBounded)) {
      const again = await outcomes();
      results = results.map((one, i) => ({ ...one, extra: Math.min(one.extra, again[i]!.extra) }));
    }
  });

  test("end in the error of the limit; one in a compressed message is not even inflated", { timeout: 120_000 }, () => {
    assert.ok(results.length >= 60, `${results.length} results`);
    for (const { name, outcome } of results) {
      assert.equal(outcome, name.includes("in a message in one") ? "CORRUPT_RECORD" : "DECOMPRESSION_LIMIT", name);
    }
  });

  test("take less than 64 MB beside what they may inflate to by default", { timeout: 120_000 }, () => {
    for (const one of results) assert.ok(isBounded(one), JSON.stringify(one));
    const whole = results.filter(({ isHonest, limit }) => isHonest && limit === DEFAULT_DECOMPRESSION_LIMIT);
    assert.ok(whole.length >= 8, `${whole.length} measured with the default limit`);
  });
});
