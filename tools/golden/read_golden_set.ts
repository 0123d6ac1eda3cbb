/**
 * Golden sets on the disk.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { nodeStorage } from "../../adapters/storage_node.ts";
import type { Codecs } from "../../src/compression/codec.ts";
import { type ExpectedSet, parseExpected } from "./expected_set.ts";
import type { GoldenSet } from "./golden_set.ts";

/** The folder of the sets in this repository. */
export const GOLDEN_FOLDER: string = fileURLToPath(new URL("../../tests/golden", import.meta.url));

const PACKED = "expected.json.gz";

/** Names of the sets in this repository. */
export function goldenSetNames(): string[] {
  return readdirSync(GOLDEN_FOLDER).filter((name) => existsSync(join(GOLDEN_FOLDER, name, PACKED))).sort();
}

/** The set in `directory`; undefined when there is neither `expected.json` nor `expected.json.gz`. */
export async function readGoldenSet(directory: string, codecs: Codecs): Promise<GoldenSet | undefined> {
  const expected = readExpected(directory);
  if (expected === undefined) return undefined;
  const logDirectory = nodeStorage(directory, { readOnly: true });
  return { expected, logDirectory, folder: await logDirectory.folder(expected.partition), codecs };
}

/** What Kafka says of the set in `directory`; undefined when nothing there does. */
export function readExpected(directory: string): ExpectedSet | undefined {
  const [plain, packed] = [join(directory, "expected.json"), join(directory, PACKED)];
  if (existsSync(plain)) return parseExpected(readFileSync(plain, "utf8"));
  if (existsSync(packed)) return parseExpected(new TextDecoder().decode(gunzipSync(readFileSync(packed))));
  return undefined;
}
