import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { GOLDEN_FOLDER, readExpected } from "../../tools/golden/read_golden_set.ts";
import { runGolden } from "../../tools/golden/run_golden.ts";

const SET = join(GOLDEN_FOLDER, "05b-recompressed");

/** A copy of a set, with what Kafka says of it changed by `change`, unpacked. */
function copyOf(set: string, change: (text: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), "anykafka-golden-"));
  cpSync(set, folder, { recursive: true });
  rmSync(join(folder, "expected.json.gz"));
  writeFileSync(join(folder, "expected.json"), change(JSON.stringify(readExpected(set))));
  return folder;
}

async function run(...directories: string[]): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  return { code: await runGolden(directories, (line) => lines.push(line)), lines };
}

describe("npm run golden", () => {
  test("sums up and ends with 0 where nothing differs", async () => {
    assert.deepEqual(await run(SET), { code: 0, lines: ["1 set, 0 mismatches"] });
  });

  test("prints each mismatch of an unpacked expected.json and ends with 3", async () => {
    const { crc } = readExpected(SET)!.batches[0] as unknown as { readonly crc: number };
    const folder = copyOf(SET, (text) => text.replace(`"crc":${crc}`, '"crc":1'));
    try {
      assert.deepEqual(await run(folder, SET), {
        code: 3,
        lines: [`${folder}: batches[0].crc: Kafka has 1; we have ${crc}`, "2 sets, 1 mismatches"],
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("a file that is missing is a mismatch, not an end", async () => {
    const folder = copyOf(SET, (text) => text);
    try {
      const { partition } = readExpected(SET)!;
      const name = readdirSync(join(folder, partition)).find((name) => name.endsWith(".timeindex"))!;
      rmSync(join(folder, partition, name));
      const { code, lines } = await run(folder);
      assert.equal(code, 3);
      assert.ok(lines.some((line) => line.includes(`: files[`)), lines.join("\n"));
      assert.ok(lines.some((line) => line.includes(`: segments[0].timeIndex`)), lines.join("\n"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("a directory without expected.json is said, and ends with 1", async () => {
    const folder = mkdtempSync(join(tmpdir(), "anykafka-golden-"));
    try {
      const { code, lines } = await run(folder);
      assert.equal(code, 1);
      assert.deepEqual(lines, [
        `${folder}: no expected.json and no expected.json.gz is in it`,
        "1 set, 0 mismatches, 1 could not be read",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
