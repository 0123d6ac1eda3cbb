/**
 * Fuzzes what reads bytes from disks and peers, for longer than `npm test` does, and with other seeds.
 *
 * Run: `npm run fuzz -- [TARGET…] [--executions 1000000] [--seed 2] [--list]`; in another runtime `deno run -A tools/fuzz.ts` or
 * `bun tools/fuzz.ts`. An input that fails is kept in `tests/fuzz/corpus/`, where `npm test` tries it from then on. With `--write`
 * it runs what `npm test` does, and keeps the digests that this must come to in every runtime, as `tests/fuzz/digests.json`.
 *
 * @module
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fuzz } from "../tests/fuzz/fuzz.ts";
import { EXECUTIONS, fuzzTargets, SEED } from "../tests/fuzz/targets.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    executions: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    list: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const targets = await fuzzTargets();
const unknown = positionals.filter((word) => !targets.some(({ name }) => name === word));
const executions = options.write ? EXECUTIONS : Number(options.executions);
const seed = options.write ? SEED : Number(options.seed);
if (unknown.length > 0 || options.list || !Number.isSafeInteger(executions) || !Number.isSafeInteger(seed)) {
  process.stdout.write(`targets: ${targets.map(({ name }) => name).join(", ")}\n`);
  process.exit(options.list ? 0 : 2);
}

const file = fileURLToPath(new URL("../tests/fuzz/digests.json", import.meta.url));
const digests: { [target: string]: number } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
let failed = 0;
for (const target of targets.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const started = performance.now();
  const { digest, failures, growth, refused, slowest } = await fuzz(target, {
    executions,
    seed,
    corpus: fileURLToPath(new URL("../tests/fuzz/corpus", import.meta.url)),
    onProgress(done) {
      if (process.stderr.isTTY) process.stderr.write(`\r${target.name}: ${done} of ${executions}\x1b[K`);
    },
  });
  const seconds = (performance.now() - started) / 1000;
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  process.stdout.write(
    `${target.name}: ${executions} inputs in ${seconds.toFixed(1)} s, ${refused} refused, slowest ${
      slowest.toFixed(1)
    } ms, ` +
      `${Math.round(growth / 1e6)} MB grown, digest ${digest}\n`,
  );
  for (const failure of failures) process.stdout.write(`  ${failure}\n`);
  failed += failures.length;
  digests[target.name] = digest;
}
if (options.write && failed === 0) {
  const known = targets.filter(({ name }) => name in digests).map(({ name }) => [name, digests[name]]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}
process.stdout.write(`${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
