/**
 * `npm run bench -- produce|fetch …`: figures against a real broker. See docs/benchmarks.md, and the head of
 * `bench_produce.ts` and `bench_fetch.ts` for their options.
 *
 * @module
 */

import process from "node:process";

const [what, ...args] = process.argv.slice(2);
if (what === "produce") await (await import("./bench_produce.ts")).benchProduce(args);
else if (what === "fetch") await (await import("./bench_fetch.ts")).benchFetch(args);
else {
  process.stderr.write("usage: npm run bench -- produce|fetch --bootstrap HOST:PORT …\n");
  process.exitCode = 2;
}
