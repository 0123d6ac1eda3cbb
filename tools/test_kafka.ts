/**
 * `npm run test:kafka`: starts a real Kafka, runs `tests/kafka/` against it in Deno, Bun and Node one after the other, and stops it.
 * Arguments are test files to run instead of all. With `--chaos` it is a cluster of three nodes and `tests/kafka_chaos/`.
 *
 * @module
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { KafkaCluster } from "./kafka/kafka_cluster.ts";
import { requireKcat } from "./kafka/kcat.ts";
import { LauncherError } from "./kafka/launcher_error.ts";
import { root, runTests, type Runtime } from "./runner.ts";

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
    const isChaos = args.includes("--chaos");
    cluster = await KafkaCluster.start({
      javaServer: true,
      onProgress: tell,
      // A dead or frozen node is noticed after 3 s instead of 9.
      ...(isChaos
        ? { nodes: 3, settings: { "broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500 } }
        : {}),
    });
    tell(`Apache Kafka ${cluster.layout.kafkaVersion} at ${cluster.bootstrap}`);
    const named = args.filter((arg) => !arg.startsWith("--"));
    const files = named.length > 0 ? named : testFiles(join(root, "tests", isChaos ? "kafka_chaos" : "kafka"));
    const result = await Promise.race([
      runTests({
        files,
        env: cluster.environment,
        runtimes: runtimesOf(args),
        parallel: false,
        timeoutMs: isChaos ? 300_000 : 120_000,
      }),
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

/** Those named as `--runtime=node`; all when none is. */
function runtimesOf(args: readonly string[]): Runtime[] {
  const all: readonly Runtime[] = ["deno", "bun", "node"];
  const named = all.filter((runtime) => args.includes(`--runtime=${runtime}`));
  return named.length > 0 ? named : [...all];
}

function testFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith("_test.ts")).sort().map((name) => join(folder, name));
}
