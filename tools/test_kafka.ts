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

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const tell = (message: string): boolean => process.stderr.write(`test:kafka: ${message}\n`);
  const stopped = new Promise<undefined>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve(undefined));
  });
  let cluster: KafkaCluster | undefined;
  let ok = false;
  try {
    await requireKcat();
    cluster = await KafkaCluster.start({ javaServer: true, onProgress: tell });
    tell(`Apache Kafka ${cluster.layout.kafkaVersion} at ${cluster.bootstrap}`);
    const files = args.length > 0 ? args : testFiles(join(root, "tests", "kafka"));
    const result = await Promise.race([
      runTests({ files, env: cluster.environment, runtimes: ["deno", "bun", "node"], parallel: false }),
      stopped,
    ]);
    if (result === undefined) return 130;
    ok = result.ok;
    process.stdout.write(`${result.passed} passed, ${result.failed} failed\n`);
    return ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    tell(error.message);
    process.stdout.write("0 passed, 1 failed\n");
    return 1;
  } finally {
    await cluster?.stop({ keepLogs: !ok });
    if (cluster !== undefined && !ok) tell(`the logs of the nodes are in ${cluster.directory}`);
  }
}

function testFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith("_test.ts")).sort().map((name) => join(folder, name));
}
