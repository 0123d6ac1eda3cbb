/**
 * The launcher's own promises, on clusters of its own: faults do what they say, and nothing survives its owner.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { markPrefix } from "../../tools/kafka/java_runtime.ts";
import { KafkaCluster } from "../../tools/kafka/kafka_cluster.ts";
import { findByArgument } from "../../tools/kafka/processes.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const processesOf = (directory: string): number => findByArgument(`${markPrefix}${directory}${path.sep}`).length;
const describeTopics = ["--bootstrap-server", "@", "--describe"];

test(
  "a node can be paused, resumed, killed and restarted, and its data is there again",
  { timeout: 240_000 },
  async () => {
    // A killed node comes back when its old registration has expired: sooner than after the default 9 s.
    const settings = { "broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500 };
    const cluster = await KafkaCluster.start({ settings });
    try {
      const topics = "org.apache.kafka.tools.TopicCommand";
      const created = await cluster.tool(topics, ["--bootstrap-server", "@", "--create", "--topic", "stays"]);
      assert.deepEqual(created, { code: 0, stdout: "Created topic stays.\n", stderr: "" });

      cluster.pause(1);
      const [paused] = await cluster.status();
      assert.equal(paused!.sees, undefined);
      assert.notEqual(paused!.pid, undefined);
      cluster.resume(1);
      await cluster.waitUntilReady([1]);

      await cluster.kill(1);
      const [killed] = await cluster.status();
      assert.deepEqual([killed!.pid, killed!.sees], [undefined, undefined]);
      await cluster.restart(1);
      const [restarted] = await cluster.status();
      assert.deepEqual(restarted!.sees, [1]);
      assert.notEqual(restarted!.pid, paused!.pid);
      assert.match((await cluster.tool(topics, describeTopics)).stdout, /Topic: stays/);

      const bad = await cluster.tool(topics, ["--bootstrap-server", "@", "--no-such-option"]);
      assert.equal(bad.code, 1);
      assert.match(bad.stderr, /no-such-option is not a recognized option/);

      // A tool that never ends is ended, and the next one runs.
      const endless = ["--bootstrap-server", "@", "--topic", "stays"];
      await assert.rejects(
        cluster.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", endless, { timeoutMs: 3000 }),
        /ConsoleConsumer .* did not end within 3000 ms/,
      );
      assert.equal((await cluster.tool(topics, describeTopics)).code, 0);
    } finally {
      await cluster.stop();
    }
    assert.equal(processesOf(cluster.directory), 0);
    assert.equal(fs.existsSync(cluster.directory), false);
  },
);

test("when the owner is killed, its nodes end, even a paused one", { timeout: 240_000 }, async () => {
  const owner = spawn(
    path.join(project, "node_modules", ".bin", "node"),
    [path.join(project, "tools", "kafka.ts"), "start"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let directory: string | undefined;
  try {
    directory = await new Promise<string>((resolve, reject) => {
      let printed = "";
      owner.stdout.on("data", (chunk: Uint8Array) => {
        printed += Buffer.from(chunk).toString("utf8");
        const match = /^KAFKA_DIR=(.+)$/m.exec(printed);
        if (match !== null) resolve(match[1]!);
      });
      owner.on("close", (code) => reject(new Error(`the owner ended with code ${code}: ${printed}`)));
    });
    assert.equal(processesOf(directory), 1);
    KafkaCluster.attach(directory).pause(1);
  } finally {
    owner.kill("SIGKILL");
  }
  for (let tries = 0; tries < 200 && processesOf(directory) > 0; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(processesOf(directory), 0);
  // What tells why a run died is kept: the logs, not the data. The watchdog looks a second longer before it removes that.
  for (let tries = 0; tries < 200 && fs.existsSync(path.join(directory, "data")); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(fs.existsSync(path.join(directory, "data")), false);
  assert.equal(fs.existsSync(path.join(directory, "node-1.log")), true);
  fs.rmSync(directory, { recursive: true });
});
