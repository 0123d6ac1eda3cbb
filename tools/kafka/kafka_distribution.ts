/**
 * Apache Kafka's jars and what is derived from them, in the project's git-ignored `.cache/kafka/VERSION`.
 *
 * @module
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findJavaProgram } from "./java_runtime.ts";
import { LauncherError } from "./launcher_error.ts";
import { type Environment, findExecutable, runProgram } from "./processes.ts";

/** The version tests run against. */
export const defaultKafkaVersion = "4.3.1";

/** Where to look for things instead of the usual places. */
export interface DistributionOptions {
  /** Apache Kafka's version. Default: {@linkcode defaultKafkaVersion}. */
  readonly version?: string;
  /** The cache folder. Default: `.cache/kafka` of the project. */
  readonly cache?: string;
  /** Environment to find Java and Maven by. Default: ours. */
  readonly env?: Environment;
  /** Told what takes long. Default: nobody. */
  readonly onProgress?: (message: string) => void;
}

/**
 * One version of Apache Kafka on this machine.
 *
 * All files come to their final name by a rename of something complete, so two processes may fetch at once, and what is there is
 * whole.
 */
export class KafkaDistribution {
  /** Apache Kafka's version. */
  readonly version: string;
  /** Folder of this version in the cache. */
  readonly folder: string;
  readonly #env: Environment;
  readonly #onProgress: (message: string) => void;

  constructor(options: DistributionOptions = {}) {
    this.version = options.version ?? defaultKafkaVersion;
    const cache = options.cache ?? fileURLToPath(new URL("../../.cache/kafka", import.meta.url));
    this.folder = path.join(cache, this.version);
    this.#env = options.env ?? process.env;
    this.#onProgress = options.onProgress ?? (() => {});
  }

  /** Folder of the jars. */
  get libs(): string {
    return path.join(this.folder, "libs");
  }

  /** The jars as a class path. The JVM expands the asterisk. */
  get classPath(): string {
    return path.join(this.libs, "*");
  }

  /** Where the archive of loaded classes lies, if one was made: `npx node tools/kafka.ts archive`. */
  get archive(): string {
    return path.join(this.folder, "classes.jsa");
  }

  /** Whether the jars are there. */
  isComplete(): boolean {
    const needed = [`kafka_2.13-${this.version}.jar`, `kafka-clients-${this.version}.jar`, "slf4j-simple-1.7.36.jar"];
    return needed.every((jar) => fs.existsSync(path.join(this.libs, jar)));
  }

  /** Fetches the jars with Maven unless they are there. */
  async fetch(): Promise<void> {
    if (this.isComplete()) return;
    const maven = findMaven(this.#env);
    this.#onProgress(`fetching the jars of Apache Kafka ${this.version} with Maven (56 MB, once)`);
    fs.mkdirSync(this.folder, { recursive: true });
    const staging = fs.mkdtempSync(path.join(this.folder, "fetch-"));
    try {
      const pom = path.join(staging, "pom.xml");
      const jars = path.join(staging, "libs");
      fs.writeFileSync(pom, pomText(this.version));
      const { code, stdout, stderr } = await runProgram(maven, [
        ...["-q", "-B", "-ntp", "-f", pom, "dependency:copy-dependencies"],
        ...[`-DoutputDirectory=${jars}`, "-DincludeScope=runtime"],
      ], { env: this.#env });
      if (code !== 0) throw mavenFailed(this.version, code, Buffer.from(stdout).toString("utf8") + stderr);
      this.#publish(jars);
    } finally {
      fs.rmSync(staging, { recursive: true, force: true });
    }
  }

  #publish(jars: string): void {
    try {
      fs.renameSync(jars, this.libs);
    } catch (cause) {
      // Another process was quicker, and its jars are as good.
      if (this.isComplete()) return;
      // Left over from something interrupted that did not come from here.
      if (!fs.existsSync(this.libs)) throw cause;
      fs.rmSync(this.libs, { recursive: true });
      fs.renameSync(jars, this.libs);
    }
    if (!this.isComplete()) {
      throw new LauncherError(
        `Maven succeeded, but ${this.libs} lacks Kafka ${this.version}'s jars: ${fs.readdirSync(this.libs).join(", ")}`,
      );
    }
  }

  /**
   * A jar with the programs of `tools/kafka/java/`, compiled when their source changed. It is a jar, not a folder, because a JVM refuses
   * an archive of loaded classes when there are folders in the class path.
   */
  async programs(): Promise<string> {
    await this.fetch();
    const sources = fileURLToPath(new URL("java/", import.meta.url));
    const files = fs.readdirSync(sources).filter((name) => name.endsWith(".java")).sort();
    const hash = createHash("sha256");
    for (const file of files) hash.update(fs.readFileSync(path.join(sources, file)));
    const jar = path.join(this.folder, `programs-${hash.digest("hex").slice(0, 16)}.jar`);
    if (fs.existsSync(jar)) return jar;

    const staging = fs.mkdtempSync(path.join(this.folder, "compile-"));
    try {
      const classes = path.join(staging, "classes");
      await this.#jdk("javac", [
        ...["-J-XX:TieredStopAtLevel=1", "--release", "17", "-cp", this.classPath, "-d", classes],
        ...files.map((file) => path.join(sources, file)),
      ]);
      await this.#jdk("jar", ["--create", "--file", path.join(staging, "programs.jar"), "-C", classes, "."]);
      fs.renameSync(path.join(staging, "programs.jar"), jar);
    } finally {
      fs.rmSync(staging, { recursive: true, force: true });
    }
    return jar;
  }

  async #jdk(program: string, args: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await runProgram(findJavaProgram(program, this.#env), args);
    if (code === 0) return;
    throw new LauncherError(
      `${program} failed with code ${code} on tools/kafka/java:\n${Buffer.from(stdout).toString("utf8")}${stderr}`,
    );
  }
}

/** The project Maven resolves. slf4j-simple, since without a binding a broker logs nothing, not even why it died. */
export function pomText(version: string): string {
  const dependency = (group: string, artifact: string, release: string): string =>
    `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${release}</version></dependency>\n`;
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">\n  <modelVersion>4.0.0</modelVersion>\n` +
    `  <groupId>local</groupId><artifactId>kafka-libs</artifactId><version>1</version><packaging>pom</packaging>\n  <dependencies>\n` +
    dependency("org.apache.kafka", "kafka_2.13", version) +
    dependency("org.apache.kafka", "kafka-tools", version) +
    dependency("org.slf4j", "slf4j-simple", "1.7.36") +
    `  </dependencies>\n</project>\n`;
}

function findMaven(env: Environment): string {
  const maven = findExecutable("mvn", env);
  if (maven !== undefined) return maven;
  throw new LauncherError(
    "`mvn` was not found in PATH. Apache Maven is needed once, to fetch the jars of Apache Kafka: install it (Debian: apt-get install -y maven).",
  );
}

function mavenFailed(version: string, code: number, output: string): LauncherError {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return new LauncherError(
    `Maven could not fetch Apache Kafka ${version} (code ${code}). Is the network there, or a mirror in Maven's settings.xml? It said:\n` +
      lines.slice(0, 12).join("\n"),
  );
}
