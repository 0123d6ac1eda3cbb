import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { listen } from "../../adapters/node.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { Kafka } from "../../mod.ts";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { dumpLogSegments, javaTool } from "./helpers.ts";

/** Runs kcat against the embedded broker and answers what it printed. */
function kcat(args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      "kcat",
      args as string[],
      { timeout: 20_000, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (error !== null) reject(new Error(`kcat ${args.join(" ")}: ${stderr}`, { cause: error }));
        else resolve(stdout);
      },
    );
    child.stdin!.end(input);
  });
}

describe("the embedded broker", () => {
  test(
    "kcat and Java's tools write to it and read from it, and Kafka reads its files",
    { timeout: 120_000 },
    async () => {
      const data = mkdtempSync(join(tmpdir(), "anykafka-broker-"));
      const broker = await EmbeddedBroker.start({
        listen,
        storage: nodeStorage(data),
        topics: { t: 1 },
        indexIntervalBytes: 500,
      });
      const at = broker.bootstrapServers;
      const expected: string[] = [];
      try {
        assert.match(await kcat(["-b", at, "-L"]), /topic "t" with 1 partitions/);
        for (const codec of ["none", "gzip", "zstd", "snappy", "lz4"]) {
          const lines = Array.from({ length: 200 }, (_, i) => `${codec} ${i}`);
          await kcat(["-b", at, "-P", "-t", "t", "-z", codec], lines.join("\n") + "\n");
          expected.push(...lines);
        }
        const producer = new Kafka({ bootstrapServers: at }).producer({ compressionType: "gzip" });
        for (let i = 0; i < 200; i++) {
          expected.push(`ours ${i}`);
          producer.send({ topic: "t", value: `ours ${i}` }).catch((error) => assert.fail(error));
        }
        await producer.close();
        const lines = Array.from({ length: 100 }, (_, i) => `java ${i}`);
        await javaTool("org.apache.kafka.tools.ConsoleProducer", ["--bootstrap-server", at, "--topic", "t"], {
          stdin: lines.join("\n") + "\n",
        });
        expected.push(...lines);

        assert.deepEqual((await kcat(["-b", at, "-C", "-t", "t", "-e", "-q"])).trimEnd().split("\n"), expected);
        const java = await javaTool("org.apache.kafka.tools.consumer.ConsoleConsumer", [
          ...["--bootstrap-server", at, "--topic", "t", "--partition", "0", "--offset", "earliest"],
          ...["--max-messages", String(expected.length), "--timeout-ms", "20000"],
        ]);
        assert.deepEqual(
          java.split("\n").filter((line) => /^(none|gzip|zstd|snappy|lz4|ours|java) \d+$/.test(line)),
          expected,
        );
      } finally {
        await broker.close();
      }
      const folder = join(data, "t-0");
      const files = readdirSync(folder).filter((name) => /\.(log|index|timeindex)$/.test(name)).map((name) =>
        join(folder, name)
      );
      assert.ok(files.length >= 3, files.join());
      const { code, text } = await dumpLogSegments(files);
      assert.equal(code, 0, text);
      assert.doesNotMatch(text, /isvalid: false|mismatch|Exception|corrupt/i);
      assert.equal(text.match(/\| offset: \d+/g)?.length, expected.length);
      rmSync(data, { recursive: true });
    },
  );
});
