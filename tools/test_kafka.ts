/**
 * `npm run test:kafka`: starts a real Kafka, runs `tests/kafka/` against it in Deno, Bun and Node one after the other, and stops it.
 * Arguments are test files to run instead of all.
 *
 * @module
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { KafkaCluster } from "./kafka/kafka_cluster.ts";
import { requireKcat } from "./kafka/kcat.ts";
import { LauncherError } from "./kafka/launcher_error.ts";
import { root, runTests } from "./runner.ts";

// Exits, rather than ends: after a signal the runner would go on with the next runtime.
process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const tell = (message: string): boolean => process.stderr.write(`test:kafka: ${message}\n`);
  const stopped = new Promise<undefined>((resolve) => {
    // Not `once`: the runner, which ends its children on a signal, ends us as well when nobody else listens.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve(undefined));
  });
  let cluster: KafkaCluster | undefined;
  // Kept when a test failed: they may tell why.
  let keepLogs = true;
  try {
    await requireKcat();
    cluster = await KafkaCluster.start({ javaServer: true, onProgress: tell });
    tell(`Apache Kafka ${cluster.layout.kafkaVersion} at ${cluster.bootstrap}`);
    const files = args.length > 0 ? args : testFiles(join(root, "tests", "kafka"));
    const result = await Promise.race([
      runTests({ files, env: cluster.environment, runtimes: ["deno", "bun", "node"], parallel: false }),
      stopped,
    ]);
    keepLogs = result !== undefined && !result.ok;
    if (result === undefined) return 130;
    process.stdout.write(`${result.passed} passed, ${result.failed} failed\n`);
    return result.ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    tell(error.message);
    process.stdout.write("0 passed, 1 failed\n");
    return 1;
  } finally {
    await cluster?.stop({ keepLogs });
    if (cluster !== undefined && keepLogs) tell(`the logs of the nodes are in ${cluster.directory}`);
  }
}

function testFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith("_test.ts")).sort().map((name) => join(folder, name));
}
