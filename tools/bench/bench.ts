/**
 * `npm run bench -- produce|fetch|steps|memory …`: figures against a real broker. See docs/benchmarks.md, and the head of
 * `bench_produce.ts`, `bench_fetch.ts`, `bench_steps.ts` and `bench_memory.ts` for their options.
 *
 * @module
 */

import process from "node:process";

const [what, ...args] = process.argv.slice(2);
if (what === "produce") await (await import("./bench_produce.ts")).benchProduce(args);
else if (what === "fetch") await (await import("./bench_fetch.ts")).benchFetch(args);
else if (what === "steps") (await import("./bench_steps.ts")).benchSteps(args);
else if (what === "memory") await (await import("./bench_memory.ts")).benchMemory(args);
else {
  process.stderr.write("usage: npm run bench -- produce|fetch|steps|memory --bootstrap HOST:PORT …\n");
  process.exitCode = 2;
}
