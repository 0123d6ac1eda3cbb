import { join } from "node:path";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { compareGoldenSet } from "./compare_golden_set.ts";
import { mismatchText } from "./differences.ts";
import { GOLDEN_FOLDER, goldenSetNames, readGoldenSet } from "./read_golden_set.ts";

/**
 * Compares the sets in `directories`, all of the repository when there is none, and says each mismatch and a sum.
 *
 * @returns 0 without any mismatch, 3 with one, 1 when a directory could not be read.
 */
export async function runGolden(directories: readonly string[], say: (line: string) => void): Promise<0 | 1 | 3> {
  const codecs = { ...plainCodecs, ...nativeCodecs() };
  const all = directories.length > 0 ? directories : goldenSetNames().map((name) => join(GOLDEN_FOLDER, name));
  let [mismatches, unreadable] = [0, 0];
  for (const directory of all) {
    try {
      const set = await readGoldenSet(directory, codecs);
      if (set === undefined) throw new Error("no expected.json and no expected.json.gz is in it");
      for await (const mismatch of compareGoldenSet(set)) {
        say(`${directory}: ${mismatchText(mismatch)}`);
        mismatches++;
      }
    } catch (error) {
      say(`${directory}: ${error instanceof Error ? error.message : String(error)}`);
      unreadable++;
    }
  }
  const sets = all.length === 1 ? "1 set" : `${all.length} sets`;
  say(`${sets}, ${mismatches} mismatches${unreadable === 0 ? "" : `, ${unreadable} could not be read`}`);
  return unreadable > 0 ? 1 : mismatches > 0 ? 3 : 0;
}
