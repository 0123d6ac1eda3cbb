import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import type { ClusterLayout } from "../../tools/kafka/cluster_layout.ts";
import { bootstrapOf } from "../../tools/kafka/cluster_layout.ts";
import { parseCommandLine } from "../../tools/kafka/command_line.ts";
import { freePortBlocks } from "../../tools/kafka/free_ports.ts";
import { findJavaProgram, jvmArguments, parseJavaVersion, requireJava } from "../../tools/kafka/java_runtime.ts";
import { KafkaCluster } from "../../tools/kafka/kafka_cluster.ts";
import { KafkaDistribution, pomText } from "../../tools/kafka/kafka_distribution.ts";
import { requireKcat } from "../../tools/kafka/kcat.ts";
import { findByArgument, runProgram } from "../../tools/kafka/processes.ts";
import { propertiesText } from "../../tools/kafka/properties.ts";
import { clientProperties, scramArguments } from "../../tools/kafka/security.ts";
import { serverProperties } from "../../tools/kafka/server_properties.ts";

/** Runs `body` with a folder that is there only for it. (Deno does not call `t.after` of a test in a `describe`.) */
async function withFolder(body: (folder: string) => unknown): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "anykafka-launcher-"));
  try {
    await body(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder with programs that are shell scripts. */
function programs(folder: string, scripts: Readonly<Record<string, string>>): string {
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(scripts)) {
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return bin;
}

const layout: ClusterLayout = {
  kafkaVersion: "4.3.1",
  secure: false,
  temporary: true,
  jvm: [],
  nodes: [{ id: 1, basePort: 21000 }, { id: 2, basePort: 21010 }, { id: 3, basePort: 21020 }],
};

describe("the launcher's command line", () => {
  test("takes options in both spellings and leaves the command alone", () => {
    const line = parseCommandLine([
      ...["run", "--nodes", "3", "--secure", "--set", "a.b=c=d", "--set=e=", "--feature=group.version=0"],
      ...["--jvm", "-Xmx1g", "--dir=/d", "--", "node", "--test", "--nodes=7"],
    ]);
    assert.deepEqual(line, {
      command: "run",
      options: {
        nodes: 3,
        secure: true,
        set: { "a.b": "c=d", "e": "" },
        feature: { "group.version": "0" },
        jvm: ["-Xmx1g"],
        dir: "/d",
      },
      rest: ["node", "--test", "--nodes=7"],
    });
  });

  test("gives a tool all that follows its class", () => {
    const { options, rest } = parseCommandLine(["tool", "--stdin", "a.B", "--topic", "t", "--", "@"]);
    assert.deepEqual(options, { stdin: true });
    assert.deepEqual(rest, ["a.B", "--topic", "t", "--", "@"]);
  });

  for (
    const [words, message] of [
      ["", /a command is needed/],
      ["launch", /no command launch/],
      ["toString", /no command toString/],
      ["start --nodes", /--nodes needs a value/],
      ["start --nodes three", /--nodes needs a number from 1, not three/],
      ["start --node 1", /start has no option --node; it takes --dir, --nodes/],
      ["start --secure=yes", /--secure takes no value/],
      ["start --set key", /--set needs NAME=VALUE, not key/],
      ["start again", /start does not take again/],
      ["run --nodes 1", /run needs -- COMMAND/],
      ["run --", /run needs -- COMMAND/],
      ["kill", /kill needs --node N/],
      ["tool", /tool needs CLASS/],
    ] as const
  ) {
    test(`refuses \`${words}\``, () => {
      assert.throws(() => parseCommandLine(words.split(" ").filter(Boolean)), { name: "LauncherError", message });
    });
  }
});

describe("a node's properties", () => {
  test("three nodes share a quorum, differ in id and ports, and replicate three times", () => {
    const second = serverProperties("/c", layout, layout.nodes[1]!, { "num.partitions": 5 });
    assert.equal(second["node.id"], 2);
    assert.equal(second["controller.quorum.voters"], "1@127.0.0.1:21009,2@127.0.0.1:21019,3@127.0.0.1:21029");
    assert.equal(second["listeners"], "PLAINTEXT://127.0.0.1:21010,CONTROLLER://127.0.0.1:21019");
    assert.equal(second["advertised.listeners"], "PLAINTEXT://127.0.0.1:21010");
    assert.equal(second["log.dirs"], path.join("/c", "data", "node-2"));
    assert.equal(second["default.replication.factor"], 3);
    assert.equal(second["min.insync.replicas"], 2);
    assert.equal(second["num.partitions"], 5);
    assert.equal(second["authorizer.class.name"], undefined);
    assert.equal(bootstrapOf(layout.nodes, "PLAINTEXT"), "127.0.0.1:21000,127.0.0.1:21010,127.0.0.1:21020");
  });

  test("one node replicates once", () => {
    const alone = { ...layout, nodes: layout.nodes.slice(0, 1) };
    const only = serverProperties("/c", alone, alone.nodes[0]!);
    assert.equal(only["offsets.topic.replication.factor"], 1);
    assert.equal(only["transaction.state.log.min.isr"], 1);
  });

  test("a secure node listens on every way in and knows its users", () => {
    const secure = { ...layout, secure: true };
    const first = serverProperties("/c", secure, secure.nodes[0]!);
    assert.equal(
      first["advertised.listeners"],
      "PLAINTEXT://127.0.0.1:21000,SSL://127.0.0.1:21001,MTLS://127.0.0.1:21002,SASL_PLAINTEXT://127.0.0.1:21003,SASL_SSL://127.0.0.1:21004",
    );
    assert.equal(first["ssl.keystore.location"], path.join("/c", "certificates", "server.store.pem"));
    assert.equal(first["listener.name.mtls.ssl.client.auth"], "required");
    assert.equal(
      first["listener.name.sasl_ssl.plain.sasl.jaas.config"],
      'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret" user_admin="admin-secret";',
    );
    assert.equal(
      first["listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config"],
      "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    );
    assert.deepEqual(scramArguments().slice(0, 2), ["--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret]"]);
    const ways = clientProperties("/c/certificates", secure);
    assert.equal(Object.keys(ways).length, 10);
    assert.equal(ways["sasl_ssl-plain"]!["bootstrap.servers"], bootstrapOf(secure.nodes, "SASL_SSL"));
  });

  test("are written as Java reads them", () => {
    // java.util.Properties.load of this text gives these keys and values back (tried with Java 17).
    assert.equal(
      propertiesText({ "plain.key": "RULE:^CN=([^,]+).*$/$1/,DEFAULT", "a b=c": " two\\three\nfour ", "ü": "€" }),
      "plain.key=RULE:^CN=([^,]+).*$/$1/,DEFAULT\na\\ b\\=c=\\ two\\\\three\\nfour \n\\u00fc=\\u20ac\n",
    );
  });
});

describe("what is missing is said", () => {
  test("no Java", async () => {
    const message = /`java` was not found, neither in JAVA_HOME nor in PATH.*install/;
    await assert.rejects(requireJava({ PATH: "/nowhere" }), { name: "LauncherError", message });
    await assert.rejects(requireJava({}), { name: "LauncherError", message });
    assert.throws(() => findJavaProgram("javac", { PATH: "/nowhere", JAVA_HOME: "/nowhere" }), /`javac` was not found/);
  });

  test("an old Java, and one that does not start", () =>
    withFolder(async (folder) => {
      const old = programs(folder, { java: `echo 'openjdk version "11.0.2" 2019-01-15' >&2` });
      await assert.rejects(requireJava({ PATH: old }), { message: /is Java 11; Apache Kafka needs Java 17 or newer/ });
      const broken = programs(folder, { java: "echo no such library >&2; exit 3" });
      await assert.rejects(requireJava({ PATH: broken }), { message: /failed with code 3:\nno such library/ });
      assert.equal(parseJavaVersion('java version "1.8.0_202"'), 8);
      assert.equal(parseJavaVersion('openjdk version "21" 2023-09-19'), 21);
      assert.equal(parseJavaVersion("java: not found"), undefined);
    }));

  test("JAVA_HOME wins over PATH", () =>
    withFolder((home) => {
      programs(home, { java: "exit 0" });
      assert.equal(findJavaProgram("java", { PATH: "/nowhere", JAVA_HOME: home }), path.join(home, "bin", "java"));
    }));

  test("no Maven, and a Maven that fails", () =>
    withFolder(async (cache) => {
      await assert.rejects(new KafkaDistribution({ cache, env: { PATH: "/nowhere" } }).fetch(), {
        name: "LauncherError",
        message: /`mvn` was not found in PATH.*install/,
      });
      const bin = programs(cache, { mvn: "echo '[ERROR] Could not transfer artifact'; exit 1" });
      await assert.rejects(new KafkaDistribution({ cache, version: "9.9.9", env: { PATH: bin } }).fetch(), {
        name: "LauncherError",
        message: /Maven could not fetch Apache Kafka 9\.9\.9 \(code 1\)[^]*\[ERROR\] Could not transfer artifact/,
      });
      assert.deepEqual(fs.readdirSync(path.join(cache, "9.9.9")), [], "nothing half-done stays");
    }));

  test("no kcat where nothing may be installed", async () => {
    await assert.rejects(requireKcat({ PATH: "/nowhere" }), { message: /`kcat` was not found in PATH.*Install it/ });
  });

  test("a directory without a cluster", () =>
    withFolder((folder) => {
      assert.throws(() => KafkaCluster.attach(folder), { name: "LauncherError", message: /holds no cluster/ });
    }));
});

describe("fetching", () => {
  /** A Maven that leaves empty jars where it is told to, and counts how often it was asked. */
  const fakeMaven = `for arg; do case $arg in -DoutputDirectory=*) out=\${arg#*=};; esac; done
mkdir -p "$out"; echo run >> "$(dirname "$0")/runs"
for jar in kafka_2.13-4.3.1 kafka-clients-4.3.1 slf4j-simple-1.7.36; do : > "$out/$jar.jar"; done`;

  test("happens once, also for two at once, and leaves nothing but the jars", () =>
    withFolder(async (cache) => {
      const bin = programs(cache, { mvn: fakeMaven });
      const env = { PATH: `${bin}${path.delimiter}${process.env["PATH"]}` };
      const make = () => new KafkaDistribution({ cache, env });
      await Promise.all([make().fetch(), make().fetch()]);
      assert.equal(make().isComplete(), true);
      assert.deepEqual(fs.readdirSync(make().folder), ["libs"]);
      const runs = fs.readFileSync(path.join(bin, "runs"), "utf8");
      await make().fetch();
      assert.equal(fs.readFileSync(path.join(bin, "runs"), "utf8"), runs, "Maven is not asked when all is there");
    }));

  test("replaces jars that are not complete", () =>
    withFolder(async (cache) => {
      const bin = programs(cache, { mvn: fakeMaven });
      const distribution = new KafkaDistribution({
        cache,
        env: { PATH: `${bin}${path.delimiter}${process.env["PATH"]}` },
      });
      fs.mkdirSync(distribution.libs, { recursive: true });
      fs.writeFileSync(path.join(distribution.libs, "half.jar"), "");
      await distribution.fetch();
      assert.equal(distribution.isComplete(), true);
      assert.equal(fs.existsSync(path.join(distribution.libs, "half.jar")), false);
    }));

  test("asks Maven for Kafka, its tools and a logger", () => {
    const pom = pomText("4.3.1");
    assert.match(pom, /<artifactId>kafka_2.13<\/artifactId><version>4.3.1<\/version>/);
    assert.match(pom, /<artifactId>kafka-tools<\/artifactId><version>4.3.1<\/version>/);
    assert.match(pom, /<artifactId>slf4j-simple<\/artifactId>/);
  });
});

describe("processes", () => {
  test(
    "kcat is installed where that may be done",
    { skip: process.getuid?.() !== 0 },
    () =>
      withFolder(async (folder) => {
        const bin = path.join(folder, "bin");
        programs(folder, {
          "apt-get": `echo "$1" >> '${bin}/asked'
[ "$1" = update ] || { printf '#!/bin/sh\\n' > '${bin}/kcat'; /bin/chmod +x '${bin}/kcat'; }`,
        });
        assert.equal(await requireKcat({ PATH: bin }), path.join(bin, "kcat"));
        assert.equal(fs.readFileSync(path.join(bin, "asked"), "utf8"), "update\ninstall\n");
      }),
  );

  test("a program's output, code and time limit", () =>
    withFolder(async (folder) => {
      const bin = programs(folder, { talk: "cat; echo err >&2; exit 4", hang: "exec sleep 60" });
      const result = await runProgram(path.join(bin, "talk"), [], { stdin: "in" });
      assert.deepEqual(
        { ...result, stdout: Buffer.from(result.stdout).toString("utf8") },
        { code: 4, stdout: "in", stderr: "err\n" },
      );
      await assert.rejects(runProgram(path.join(bin, "hang"), ["arg"], { timeoutMs: 100 }), {
        message: /hang arg did not end within 100 ms and was killed/,
      });
      await assert.rejects(runProgram("/nowhere/program", []), { message: /could not run \/nowhere\/program/ });
    }));

  test("are found by an argument of theirs, whoever started them", async () => {
    const mark = `-Danykafka.probe=${process.pid}.${Date.now()}/`;
    const child = spawn("/bin/sh", ["-c", "echo; read line", "sh", `${mark}node-1`, "-cp", "x"]);
    // Until it says something it may still be the copy of this process that becomes the shell.
    await new Promise((resolve) => child.stdout.once("data", resolve));
    try {
      assert.deepEqual(findByArgument(mark), [{ pid: child.pid, argument: `${mark}node-1` }]);
    } finally {
      const gone = new Promise((resolve) => child.on("close", resolve));
      child.kill("SIGKILL");
      await gone;
    }
    assert.deepEqual(findByArgument(mark), []);
  });

  test("free ports lie below those of outgoing connections, in blocks of ten", async () => {
    const [first, second, third] = await freePortBlocks(3, () => 0.5);
    assert.deepEqual([second, third], [first! + 10, first! + 20]);
    assert.ok(first! >= 20_000 && third! + 9 < 32_768);
    const last = await freePortBlocks(3, () => 0.999_999);
    assert.ok(last.every((port) => port + 9 < 32_768));
  });

  test("a JVM gets its mark right before the class path, and only an archive that exists", () => {
    const args = jvmArguments({
      logLevel: "error",
      classPath: ["a/*", "b.jar"],
      mark: "/d/node-1",
      archive: "/nowhere/x.jsa",
      extra: ["-Xmx1g"],
    });
    assert.deepEqual(args.slice(-4), [
      "-Xmx1g",
      "-Danykafka.jvm=/d/node-1",
      "-cp",
      ["a/*", "b.jar"].join(path.delimiter),
    ]);
    assert.equal(args.some((arg) => arg.includes("SharedArchiveFile")), false);
  });
});
