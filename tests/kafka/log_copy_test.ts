import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runJavaTool } from "../../tools/kafka/java_tool.ts";
import { KafkaDistribution } from "../../tools/kafka/kafka_distribution.ts";
import { expectedOf, worldWith } from "../cli/golden_world.ts";
import { toDisk } from "../helpers/memory_copy.ts";
import { dumpLogSegments } from "./helpers.ts";

const root = mkdtempSync(join(tmpdir(), "anykafka-copy-"));
after(() => rmSync(root, { recursive: true, force: true }));
let made = 0;

/** What Kafka's own UnifiedLog makes of a folder. */
interface Opened {
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly lastStableOffset: number;
  readonly highWatermarkCheckpoint: number;
  readonly segments: readonly (readonly [baseOffset: number, size: number])[];
  readonly offsets: readonly number[];
  readonly abortedTransactions: readonly (readonly [producerId: number, firstOffset: number])[];
}

async function openByKafka(dir: string): Promise<Opened> {
  const { code, stderr, stdout } = await runJavaTool(new KafkaDistribution(), "JavaOpenLog", ["--dir", dir]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** Copies a golden set by the command; answers the partition's folder on the disk. */
async function copied(set: string, words: readonly string[]): Promise<string> {
  const world = await worldWith(set);
  const ran = await world.run(["log", "copy", "/data", ...words, "--out", "/out"]);
  assert.equal(ran.code, 0, ran.err);
  const dir = join(root, String(made++));
  await toDisk(world.folders.get("/out")!, dir);
  return join(dir, expectedOf(set).partition);
}

function withSuffix(dir: string, ...suffixes: string[]): string[] {
  return readdirSync(dir).filter((name) => suffixes.some((suffix) => name.endsWith(suffix))).sort();
}

describe("log copy: what Kafka's own log makes of it", () => {
  const ranges: readonly (readonly [string, readonly string[], number])[] = [
    ["01-plain", ["--from", "123", "--until", "456"], 123],
    ["07-transactions", ["--from", "50", "--until", "255"], 50],
    ["08a-compacted", ["--from", "100", "--until", "600"], 100],
    ["14-mixed", ["--from", "20", "--until", "130"], 20],
    // No batch holds this offset: the log starts with the next one.
    ["13a-beyond-2to31", ["--from", "3000000000"], 4_294_967_302],
  ];
  for (const [set, words, from] of ranges) {
    test(`${set} ${words.join(" ")}`, { timeout: 120_000 }, async () => {
      const dir = await copied(set, words);
      const files = withSuffix(dir, ".log", ".index", ".timeindex", ".txnindex");
      const bytes = new Map(files.map((name) => [name, readFileSync(join(dir, name))]));

      const opened = await openByKafka(dir);
      assert.equal(opened.logStartOffset, from);
      assert.equal(opened.highWatermarkCheckpoint, opened.logEndOffset);
      const { records } = expectedOf(set);
      const offsets = records.map((record: unknown[]) => Number(record[0]));
      assert.deepEqual(
        opened.offsets.filter((offset) => offset >= from),
        offsets.filter((offset: number) => offset >= from && offset < opened.logEndOffset),
      );
      assert.deepEqual(withSuffix(dir, ".log", ".index", ".timeindex", ".txnindex"), files, "no file came or went");
      for (const [name, before] of bytes) assert.deepEqual(readFileSync(join(dir, name)), before, name);

      // Made anew from the batches alone, Kafka's indexes are ours.
      const bare = join(root, String(made++), expectedOf(set).partition);
      cpSync(dir, bare, { recursive: true });
      for (const name of withSuffix(bare, "index", ".snapshot", "-checkpoint")) rmSync(join(bare, name));
      const rebuilt = await openByKafka(bare);
      assert.deepEqual(rebuilt.segments, opened.segments);
      assert.deepEqual(rebuilt.abortedTransactions.filter(([, first]) => first >= from), opened.abortedTransactions);
      assert.equal(rebuilt.lastStableOffset, opened.lastStableOffset);
      for (const [name, ours] of bytes) assert.deepEqual(readFileSync(join(bare, name)), ours, name);
    });
  }

  test("kafka-dump-log finds nothing wrong with batches and indexes", { timeout: 120_000 }, async () => {
    const dir = await copied("07-transactions", ["--from", "50", "--until", "255"]);
    const logs = withSuffix(dir, ".log").map((name) => join(dir, name));
    const dumped = await dumpLogSegments(logs, ["--deep-iteration"]);
    assert.equal(dumped.code, 0, dumped.text);
    assert.doesNotMatch(dumped.text, /isvalid: false/);
    const [first] = /baseOffset: \d+/.exec(dumped.text)!;
    assert.equal(first, "baseOffset: 50");
    const indexes = withSuffix(dir, ".index", ".timeindex").map((name) => join(dir, name));
    const checked = await dumpLogSegments(indexes, ["--verify-index-only"]);
    assert.equal(checked.code, 0, checked.text);
    assert.doesNotMatch(checked.text, /Mismatches|not found|out of order/i);
  });

  test("a whole partition comes out of it as the original does", { timeout: 120_000 }, async () => {
    const { opened: expected } = expectedOf("07-transactions");
    const opened = await openByKafka(await copied("07-transactions", []));
    const { logEndOffset, logStartOffset, lastStableOffsetWithHighWatermarkAtEnd: lastStableOffset } = expected;
    assert.deepEqual(
      { ...opened, offsets: opened.offsets.length },
      {
        ...opened,
        logStartOffset,
        logEndOffset,
        lastStableOffset,
        segments: expected.segments.map((
          { baseOffset, size }: { baseOffset: number; size: number },
        ) => [baseOffset, size]),
        offsets: expectedOf("07-transactions").records.length,
      },
    );
  });
});
