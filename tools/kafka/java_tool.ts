import { findJavaProgram, jvmArguments } from "./java_runtime.ts";
import type { ToolOptions, ToolResult } from "./java_server.ts";
import type { KafkaDistribution } from "./kafka_distribution.ts";
import { runProgram } from "./processes.ts";

/** Runs a class of Kafka's jars or `tools/kafka/java/` in a JVM of its own; needs no cluster. About 2 s. */
export async function runJavaTool(
  distribution: KafkaDistribution,
  className: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  const classPath = [distribution.classPath, await distribution.programs()];
  const jvm = jvmArguments({ logLevel: "error", classPath, archive: distribution.archive });
  const { code, stdout, stderr } = await runProgram(findJavaProgram("java"), [...jvm, className, ...args], {
    timeoutMs: options.timeoutMs ?? 120_000,
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
  });
  return { code, stdout: Buffer.from(stdout).toString("utf8"), stderr };
}
