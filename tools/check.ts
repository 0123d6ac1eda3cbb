/**
 * `npm run check`: the checks of `tools/checks.ts` alone; with words after `--`, those whose name contains one of them.
 *
 * @module
 */
import process from "node:process";
import { checks, inTwoLanes, runCheck } from "./checks.ts";

const words = process.argv.slice(2);
let [passed, failed] = [0, 0];
await inTwoLanes(
  checks()
    .filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
    .map((check) => async () => void (await runCheck(check) ? passed++ : failed++)),
);

process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
