/**
 * `npm run golden -- DIR…`: compares directories that Kafka wrote with what Kafka's own classes say of them.
 *
 * Each DIR holds a partition's directory, the checkpoint files of the log directory around it, and `expected.json` or
 * `expected.json.gz` (tests/golden/README.md). Without a DIR, all sets of tests/golden. Prints each mismatch and a line that
 * sums up; ends with 0 when there is none, 3 when there is one, 1 when a directory could not be read.
 *
 * @module
 */
import process from "node:process";
import { runGolden } from "./golden/run_golden.ts";

process.exitCode = await runGolden(process.argv.slice(2), (line) => process.stdout.write(`${line}\n`));
