/**
 * The Java on this machine: where it is, whether it is new enough, and the options every JVM of the launcher gets.
 *
 * @module
 */
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { LauncherError } from "./launcher_error.ts";
import { type Environment, findExecutable, runProgram } from "./processes.ts";

/** Kafka 4's brokers and tools are compiled for this Java. */
const oldestJava = 17;

/** Path of a program of the JDK (`java`, `javac`, `jar`): from `JAVA_HOME` if that is set, else by `PATH`. */
export function findJavaProgram(name: string, env: Environment = process.env): string {
  const home = env["JAVA_HOME"];
  const fromHome = home === undefined || home === "" ? undefined : path.join(home, "bin", name);
  const file = fromHome !== undefined && fs.existsSync(fromHome) ? fromHome : findExecutable(name, env);
  if (file !== undefined) return file;
  throw new LauncherError(
    `\`${name}\` was not found, neither in JAVA_HOME nor in PATH. A real Apache Kafka needs a JDK, version ${oldestJava} or newer: ` +
      "install one (Debian: apt-get install -y openjdk-17-jdk-headless maven) or point JAVA_HOME at it.",
  );
}

/** The major version in what `java -version` prints, such as 17; undefined when there is none. */
export function parseJavaVersion(text: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(text);
  return match === null ? undefined : Number(match[1]);
}

/** Path of a `java` that is new enough, or an error that says what to install. */
export async function requireJava(env: Environment = process.env): Promise<string> {
  const java = findJavaProgram("java", env);
  const { code, stderr } = await runProgram(java, ["-version"]);
  const version = parseJavaVersion(stderr);
  if (code !== 0 || version === undefined) {
    throw new LauncherError(`${java} -version failed with code ${code}:\n${stderr.trim()}`);
  }
  if (version < oldestJava) {
    throw new LauncherError(
      `${java} is Java ${version}; Apache Kafka needs Java ${oldestJava} or newer. Install one or set JAVA_HOME.`,
    );
  }
  return java;
}

/** What a JVM of the launcher is started with. */
export interface JvmOptions {
  /** Class path, jars before folders. */
  readonly classPath: readonly string[];
  /** Least severe level that is logged: `warn` for brokers, `error` for tools, whose output would drown in it. */
  readonly logLevel: "warn" | "error";
  /** Marks the process as the launcher's, so that it can be found and killed: `-Danykafka.jvm=…`. */
  readonly mark?: string;
  /** Archive of loaded classes that halves the start; left out when the file is not there. */
  readonly archive?: string;
  /** Further options; the last one of a kind wins. */
  readonly extra?: readonly string[];
}

/** The prefix of the argument by which the launcher knows its JVMs. */
export const markPrefix = "-Danykafka.jvm=";

/**
 * Options up to and with the class path; the main class follows. Serial collector and C1 only: the quickest start and the least
 * memory on few cores (5 s instead of 8 s to a ready broker).
 */
export function jvmArguments(options: JvmOptions): string[] {
  const log = "-Dorg.slf4j.simpleLogger.";
  return [
    ...["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true"],
    // The JVM's own warnings, such as that the archive does not fit, would go to standard output, into what a tool prints.
    ...["-Xlog:disable", "-Xlog:all=error:stderr"],
    ...(options.archive !== undefined && fs.existsSync(options.archive)
      ? [`-XX:SharedArchiveFile=${options.archive}`]
      : []),
    ...[`${log}defaultLogLevel=${options.logLevel}`, `${log}showDateTime=true`, `${log}dateTimeFormat=HH:mm:ss.SSS`],
    ...(options.extra ?? []),
    // Right before -cp: where only `ps` tells arguments, this is how the mark's end is known.
    ...(options.mark === undefined ? [] : [`${markPrefix}${options.mark}`]),
    ...["-cp", options.classPath.join(path.delimiter)],
  ];
}
