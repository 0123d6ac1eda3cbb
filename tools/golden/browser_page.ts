/**
 * What runs in the browser for `npm run test:browser`: the comparator, and a log read from the files of a file picker.
 *
 * The page has two pickers, `#log-directory` for `expected.json.gz` and the checkpoint files, and `#partition` for the files of
 * the partition's directory.
 *
 * @module
 */

import { blobStorage } from "../../adapters/storage_blob.ts";
import { gzip } from "../../src/compression/gzip.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { Log } from "../../src/log/log.ts";
import { compareGoldenSet } from "./compare_golden_set.ts";
import { mismatchText } from "./differences.ts";
import { parseExpected } from "./expected_set.ts";

/** What the page offers to the test. */
export interface BrowserPage {
  /** Compares the set in both pickers; answers the mismatches. */
  compare(): Promise<string[]>;
  /** Reads the log in the partition's picker; answers how many records there are, and the bytes of all values. */
  read(): Promise<{ readonly records: number; readonly valueBytes: number; readonly end: number }>;
}

function filesOf(picker: string): File[] {
  return [...(document.querySelector(picker) as HTMLInputElement).files!];
}

/** Far more than any of the files has. */
const MAX_EXPECTED_BYTES = 64 * 1024 * 1024;

const page: BrowserPage = {
  async compare() {
    const files = filesOf("#log-directory");
    const packed = files.find((file) => file.name === "expected.json.gz")!;
    const json = gzip.decompress(new Uint8Array(await packed.arrayBuffer()), MAX_EXPECTED_BYTES);
    const set = {
      expected: parseExpected(new TextDecoder().decode(json)),
      folder: blobStorage(filesOf("#partition")),
      logDirectory: blobStorage(files),
      codecs: plainCodecs,
    };
    const mismatches: string[] = [];
    for await (const mismatch of compareGoldenSet(set)) mismatches.push(mismatchText(mismatch));
    return mismatches;
  },

  async read() {
    const log = await Log.open(blobStorage(filesOf("#partition")), { mode: "inspect" });
    try {
      let [records, valueBytes] = [0, 0];
      for await (const { value } of log.records({ codecs: plainCodecs })) {
        records++;
        valueBytes += value?.length ?? 0;
      }
      return { records, valueBytes, end: log.logEndOffset };
    } finally {
      await log.close();
    }
  },
};

(globalThis as unknown as { page: BrowserPage }).page = page;
