import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { salvageLog, type SalvageReport } from "../../src/log/salvage_log.ts";
import { runJavaTool } from "../../tools/kafka/java_tool.ts";
import { KafkaDistribution } from "../../tools/kafka/kafka_distribution.ts";
import { seeded } from "../helpers/seeded.ts";
import { baseFiles, damageBases, damagedFiles } from "../log/damaged_sets.ts";
import { cluster, dumpLogSegments } from "./helpers.ts";

/** What Kafka's own classes made of a folder. */
interface Opened {
  readonly error?: string;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly segments: readonly (readonly [baseOffset: number, size: number])[];
  readonly batches: number;
  readonly leaderEpochs: readonly (readonly [epoch: number, startOffset: number])[];
}

interface Rescued {
  readonly name: string;
  /** The partition's folder. */
  readonly folder: string;
  /** A copy of it, for Kafka to open without the marker of a clean stop. */
  readonly copy: string;
  readonly report: SalvageReport;
}

const SAMPLE = 60;

/** Another one gives another sample. */
const seed = Number(process.env["SALVAGE_SEED"] ?? 16);

describe(`what a rescue writes, opened by Kafka (SALVAGE_SEED=${seed})`, () => {
  let directory = "";
  const rescues: Rescued[] = [];

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), "anykafka-salvage-"));
    const random = seeded(seed);
    const all = damageBases().flatMap((base) => base.cases.map((damaged) => ({ base, damaged })));
    for (let i = 0; i < SAMPLE; i++) {
      const { base, damaged } = all[Math.floor(random() * all.length)]!;
      const source = join(directory, `source-${i}`);
      mkdirSync(source);
      for (const [name, bytes] of damagedFiles(baseFiles(base), damaged.edits)) {
        writeFileSync(join(source, name), bytes);
      }
      const folder = join(directory, `rescued-${i}`);
      const report = await salvageLog(
        await nodeStorage(directory, { readOnly: true }).folder(`source-${i}`),
        nodeStorage(folder),
      );
      const copy = join(directory, `copy-${i}`);
      cpSync(folder, copy, { recursive: true });
      rescues.push({ name: `${base.base}, ${damaged.name}`, folder, copy, report });
    }
  });

  after(() => rmSync(directory, { recursive: true, force: true }));

  async function open(lines: readonly string[]): Promise<Opened[]> {
    const options = { stdin: lines.map((line) => `${line}\n`).join("") };
    const { code, stderr, stdout } = process.env["KAFKA_DIR"] === undefined
      ? await runJavaTool(new KafkaDistribution(), "JavaOpenLogs", [], options)
      : await cluster().tool("JavaOpenLogs", [], options);
    assert.equal(code, 0, stderr);
    return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  }

  test("DumpLogSegments finds nothing to complain of", { timeout: 120_000 }, async () => {
    const files = rescues.flatMap(({ folder }) =>
      readdirSync(folder).filter((name) => /\.(log|index|timeindex|txnindex|snapshot)$/.test(name))
        .map((name) => join(folder, name))
    );
    const { text } = await dumpLogSegments(files);
    // A log that does not begin at offset 0 is always reported so, and offsets that were lost, truly, are not consecutive.
    const complaints = text.split("\n").filter((line) =>
      /Mismatches in|Found timestamp|invalid bytes|isvalid: false/.test(line)
    );
    assert.deepEqual(complaints, []);
  });

  test("a broker that stopped in order opens it, and reads every batch", { timeout: 120_000 }, async () => {
    const opened = await open(rescues.map(({ folder }) => `clean ${folder}`));
    for (const [i, { name, report }] of rescues.entries()) check(opened[i]!, report, name);
  });

  test(
    "a broker that did not recovers it: nothing is cut, and its indexes are ours",
    { timeout: 120_000 },
    async () => {
      const before = rescues.map(({ copy }) => filesOf(copy));
      const opened = await open(rescues.map(({ copy }) => `unclean ${copy}`));
      for (const [i, { copy, name, report }] of rescues.entries()) {
        check(opened[i]!, report, name);
        const after = filesOf(copy);
        for (const [file, bytes] of before[i]!) assert.equal(after.get(file), bytes, `${name}: ${file}`);
      }
    },
  );
});

function check(opened: Opened, report: SalvageReport, name: string): void {
  assert.equal(opened.error, undefined, name);
  assert.deepEqual(
    {
      start: opened.logStartOffset,
      end: opened.logEndOffset,
      segments: opened.segments,
      batches: opened.batches,
    },
    {
      start: report.logStartOffset,
      end: report.logEndOffset,
      segments: report.segments.map(({ baseOffset, size }) => [baseOffset, size]),
      batches: report.batches,
    },
    name,
  );
}

/** Segments, indexes and epochs in a folder, as text to compare. */
function filesOf(folder: string): Map<string, string> {
  const names = readdirSync(folder).filter((name) => /\.(log|index|timeindex|txnindex)$|^leader-epoch/.test(name));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name)).toString("hex")]));
}
