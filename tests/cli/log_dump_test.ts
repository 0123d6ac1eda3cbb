import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bytesForm, dumpOf, expectedOf, GOLDEN_SETS, jsonLines, worldWith } from "./golden_world.ts";

/** What a set's records are decoded as. */
function decoderOf(set: string): string | undefined {
  if (set.startsWith("11a")) return "offsets";
  if (set.startsWith("11b")) return "transactions";
  return set.startsWith("12") ? "cluster-metadata" : undefined;
}

/** Lines of one type, without it. */
// deno-lint-ignore no-explicit-any -- lines of JSON, looked at field by field
function ofType(lines: readonly any[], type: string): any[] {
  return lines.filter((line) => line.type === type).map(({ type: _, ...rest }) => rest);
}

/** A record as expected.json has it. */
// deno-lint-ignore no-explicit-any -- a line of JSON
function recordForm({ control, headers, key, offset, sequence, timestamp, value }: any): unknown {
  const form = [
    offset,
    timestamp,
    bytesForm(key),
    bytesForm(value),
    headers.map(([name, bytes]: [string, string | null]) => [name, bytesForm(bytes)]),
    sequence,
  ];
  return control === undefined ? form : [...form, control];
}

/** What a record of Kafka's own topics says, as expected.json has it: under the name of the class that said it. */
// deno-lint-ignore no-explicit-any -- a line of JSON
function decodedForm({ decoded, offset }: any): unknown {
  const { key, value } = decoded;
  if (key === undefined) return { offset, ...decoded };
  if ("transactionalId" in key.data) return { offset, TransactionLogMessageFormatter: decoded };
  if (key.type <= 1) return { offset, OffsetsMessageFormatter: decoded };
  if (key.type === 2) return withoutMemberFields({ offset, GroupMetadataMessageFormatter: decoded });
  const serde = { keyType: key.type, key: key.data };
  return {
    offset,
    GroupCoordinatorRecordSerde: value === null
      ? { ...serde, value }
      : { ...serde, valueVersion: value.version, value: value.data },
  };
}

/** Two fields of a group's members are bytes to the formatter; we show, as the tool does, what is in them. */
// deno-lint-ignore no-explicit-any -- a line of JSON
function withoutMemberFields(entry: any): unknown {
  const members = entry.GroupMetadataMessageFormatter?.value?.data?.members;
  for (const member of members ?? []) member.subscription = member.assignment = undefined;
  return entry;
}

for (const set of GOLDEN_SETS) {
  const expected = expectedOf(set);
  const decode = decoderOf(set);
  const words = ["log", "dump", `/data/${expected.partition}`, ...decode === undefined ? [] : ["--decode", decode]];

  describe(`log dump of ${set}`, () => {
    test("JSON lines say what Kafka's classes say", { timeout: 30_000 }, async () => {
      const ran = await (await worldWith(set)).run([...words, "-o", "json"]);
      assert.equal(ran.code, 0);
      assert.equal(ran.err, "");
      const lines = jsonLines(ran);
      const isOfCheckpoint = ({ file }: { file: string }) => file.endsWith(".checkpoint");

      const batches = ofType(lines, "batch");
      assert.deepEqual(batches.filter((batch) => !isOfCheckpoint(batch)), expected.batches);
      let inCheckpoint = false;
      const records: unknown[] = [];
      const decoded: unknown[] = [];
      const ofCheckpoint = { records: [] as unknown[], decoded: [] as unknown[] };
      for (const line of lines) {
        if (line.type === "batch") inCheckpoint = isOfCheckpoint(line);
        if (line.type !== "record") continue;
        (inCheckpoint ? ofCheckpoint.records : records).push(recordForm(line));
        if (line.decoded !== undefined) (inCheckpoint ? ofCheckpoint.decoded : decoded).push(decodedForm(line));
      }
      assert.deepEqual(records, expected.records);
      assert.deepEqual(decoded, (expected.decoded ?? []).map(withoutMemberFields));

      const segments = ofType(lines, "segment");
      for (const [n, theirs] of expected.segments.entries()) {
        const {
          error,
          offsetIndex = [],
          offsetIndexLookups: _1,
          timeIndex = [],
          timeIndexLookups: _2,
          transactionIndex = [],
          ...fields
        } = theirs;
        const { error: ourError, ...ours } = segments[n];
        assert.deepEqual(ours, fields);
        assert.equal(ourError === undefined, error === undefined);
        const entries = (type: string) =>
          ofType(lines, type).filter(({ file }) => file === theirs.file.replace("log", type));
        assert.deepEqual(entries("index").map(({ offset, position }) => [offset, position]), offsetIndex);
        assert.deepEqual(entries("timeindex").map(({ offset, timestamp }) => [timestamp, offset]), timeIndex);
        assert.deepEqual(entries("txnindex").map(({ file: _, ...entry }) => entry), transactionIndex);
      }
      assert.equal(segments.length, expected.segments.length);

      assert.deepEqual(ofType(lines, "snapshot"), expected.producerSnapshots);
      assert.deepEqual(ofType(lines, "epochs")[0]?.leaderEpochCheckpoint, expected.leaderEpochCheckpoint);
      const metadata = ofType(lines, "metadata").map(({ file: _, ...rest }) => rest);
      assert.deepEqual(metadata[0], expected.partitionMetadata);

      for (
        const [n, { batches: theirs, decoded: theirDecoded, records: theirRecords, ...fields }]
          of (expected.checkpoints ?? [])
            .entries()
      ) {
        const { size: __, ...ours } = ofType(lines, "checkpoint")[n];
        assert.deepEqual(ours, fields);
        assert.deepEqual(batches.filter(isOfCheckpoint), theirs);
        assert.deepEqual(ofCheckpoint.records, theirRecords);
        assert.deepEqual(ofCheckpoint.decoded, theirDecoded);
      }
    });

    test("--dump-log prints what Kafka's tool prints", { timeout: 30_000 }, async () => {
      const theirs = dumpOf(set);
      const isDeep = theirs.includes("\n| ") && !/\n\| .* (?:key|payload): /.test(theirs);
      const ran = await (await worldWith(set)).run([
        ...words,
        "--dump-log",
        isDeep ? "--deep-iteration" : "--print-data-log",
      ]);
      assert.equal(ran.code, 0);
      let { out } = ran;
      // Whoever made the sets left out empty files.
      for (const { name, size } of expected.files) {
        if (size > 0) continue;
        out = out.replace(
          `Dumping ${name}\n${
            name.endsWith(".index")
              ? `${name} is empty.\n`
              : name.endsWith(".log")
              ? `Log starting offset: ${Number(name.slice(0, 20))}\n`
              : ""
          }`,
          "",
        );
      }
      // Where the tool ended with an exception, we go on.
      if (expected.dumpToolError !== undefined) out = out.slice(0, theirs.length);
      assert.equal(out, theirs);
    });
  });
}
