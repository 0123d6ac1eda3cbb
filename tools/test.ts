/**
 * `npm test`: all checks, then every test that needs no Kafka, in Deno, Bun and Node. Ends in one line, `N passed, N failed`; a check counts as one.
 * With words after `--`, only the test files whose path contains one of them, and no checks.
 *
 * @module
 */
import process from "node:process";
import { checks, filesOf, inTwoLanes, runCheck } from "./checks.ts";
import { runTests } from "./runner.ts";
import type { Runtime } from "./runner.ts";

const words = process.argv.slice(2);
const files = filesOf(["_test.ts"], "tests")
  // A word may ask for one of these by name.
  .filter((file) => words.length > 0 || !/^tests\/kafka(_chaos)?\//.test(file))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
let [passed, failed] = [0, 0];

const jobs = (["node", "deno", "bun"] as Runtime[]).map((runtime) => async () => {
  const result = await runTests({ files, runtimes: [runtime] });
  passed += result.passed;
  failed += result.failed;
});
if (words.length === 0) {
  jobs.push(...checks().map((check) => async () => void (await runCheck(check) ? passed++ : failed++)));
}
await inTwoLanes(jobs);

process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
