import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { openAsBlob, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { nativeCodecs } from "../../../adapters/codecs_native.ts";
import { nativeInflate } from "../../../adapters/inflate_native.ts";
import { blobStorage } from "../../../adapters/storage_blob.ts";
import { plainCodecs } from "../../../src/compression/plain_codecs.ts";
import { Log } from "../../../src/log/log.ts";
import { type Archive, type ArchiveOptions, openArchive } from "../../../src/log/sources/archive.ts";
import { httpFile, httpStorage } from "../../../src/log/sources/http_storage.ts";
import type { Storage } from "../../../src/log/storage.ts";
import { hasProgram, openPath, PackingPlace, pythonZip } from "./pack.ts";
import { RangeServer } from "./range_server.ts";

/** Partition directories that Kafka wrote, of several kinds: transactions, compaction, zero-filled indexes, old formats. */
const SETS = ["01-plain", "07-transactions", "08a-compacted", "10a-killed", "14-mixed"];

const place = new PackingPlace();
const cleanups: (() => Promise<void>)[] = [];
after(async () => {
  for (const clean of cleanups) await clean();
  place.remove();
});

const hasZip = hasProgram("zip");

// deno-lint-ignore no-explicit-any -- the file of another program, looked at field by field
type Expected = any;

function readSet(name: string): { directory: string; expected: Expected } {
  const directory = fileURLToPath(new URL(`../../golden/${name}/`, import.meta.url));
  return {
    directory,
    expected: JSON.parse(new TextDecoder().decode(gunzipSync(readFileSync(`${directory}expected.json.gz`)))),
  };
}

async function sha256(storage: Storage, name: string): Promise<{ name: string; size: number; sha256: string }> {
  const file = await storage.open(name);
  const hash = createHash("sha256");
  // Steps that are no power of two meet every kind of boundary.
  const step = new Uint8Array(50_021);
  for (let at = 0; at < file.size;) {
    const count = await file.readAt(step, at);
    hash.update(step.subarray(0, count));
    at += count;
  }
  await file.close();
  return { name, size: file.size, sha256: hash.digest("hex") };
}

async function archived(
  command: string,
  directory: string,
  partition: string,
  options?: ArchiveOptions,
): Promise<Storage> {
  const archive = await openArchive(await openPath(place.pack(directory, "x.zip", command)), "backup", options);
  return inside(archive, partition);
}

function inside(archive: Archive, partition: string): Storage {
  cleanups.push(() => archive.close());
  assert.equal(archive.damage, undefined);
  return archive.folders.get(partition)!;
}

async function served(directory: string, partition: string): Promise<RangeServer> {
  const files = readdirSync(`${directory}${partition}`).map((name) =>
    [`/${partition}/${name}`, new Uint8Array(readFileSync(`${directory}${partition}/${name}`))] as const
  );
  const server = await RangeServer.start(Object.fromEntries(files));
  cleanups.push(() => server.stop());
  return server;
}

type Open = (directory: string, partition: string) => Promise<Storage>;

/** The ways to one partition's folder. */
const sources: Readonly<Record<string, Open | undefined>> = {
  "a tar of GNU": (directory, partition) => archived("tar --format=gnu -cf OUT *", directory, partition),
  "a tar with pax headers": (directory, partition) => archived("tar --format=pax -cf OUT *", directory, partition),
  "a tar.gz": (directory, partition) => archived("tar -czf OUT *", directory, partition),
  "a tar.gz, inflated by the runtime": (directory, partition) =>
    archived("tar -czf OUT *", directory, partition, { inflate: nativeInflate }),
  "a stored zip": hasZip ? (directory, partition) => archived("zip -q -0 -r OUT .", directory, partition) : undefined,
  "a deflated zip": hasZip ? (directory, partition) => archived("zip -q -r OUT .", directory, partition) : undefined,
  "a deflated zip of 64 bits": hasProgram("python3")
    ? (directory, partition) =>
      archived(pythonZip({ method: "DEFLATED", zip64: true }), directory, partition, { inflate: nativeInflate })
    : undefined,
  "a tar in a Blob": async (directory, partition) => {
    const blob = await openAsBlob(place.pack(directory, "x.tar", "tar -cf OUT *"));
    return inside(await openArchive(await blobStorage([["x.tar", blob]]).open("x.tar"), "x.tar"), partition);
  },
  "URLs": async (directory, partition) => {
    const server = await served(directory, partition);
    return await httpStorage(`${server.url}/${partition}/`, { files: readdirSync(`${directory}${partition}`) });
  },
  "a tar behind a URL": async (directory, partition) => {
    const tar = new Uint8Array(readFileSync(place.pack(directory, "x.tar", "tar -cf OUT *")));
    const server = await RangeServer.start({ "/x.tar": tar });
    cleanups.push(() => server.stop());
    return inside(await openArchive(await httpFile(`${server.url}/x.tar`), "x.tar"), partition);
  },
};

for (const [source, open] of Object.entries(sources)) {
  if (open === undefined) continue;
  describe(`what Kafka wrote, out of ${source}`, () => {
    for (const name of SETS) {
      test(name, { timeout: 60_000 }, async () => {
        const { directory, expected } = readSet(name);
        const storage = await open(directory, expected.partition);
        assert.deepEqual(await storage.list(), expected.files.map((file: { name: string }) => file.name));
        for (const file of expected.files) assert.deepEqual(await sha256(storage, file.name), file);

        const { logStartOffset, logEndOffset, segments, leaderEpochs } = expected.opened;
        const log = await Log.open(storage, { mode: "inspect", logStartOffset });
        try {
          assert.equal(log.logEndOffset, logEndOffset);
          assert.deepEqual(log.leaderEpochs.map(({ epoch, startOffset }) => [epoch, startOffset]), leaderEpochs);
          if (name !== "10a-killed") { // whose last segment Kafka cut
            assert.deepEqual(
              log.segments.map(({ baseOffset, size }) => [baseOffset, size]),
              segments.map((segment: { baseOffset: number; size: number }) => [segment.baseOffset, segment.size]),
            );
          }
          let count = 0;
          for await (const _ of log.records({ codecs: { ...plainCodecs, ...nativeCodecs() } })) count++;
          const control = (record: unknown[]) => record.length === 7;
          const visible = expected.records.filter((record: unknown[]) =>
            !control(record) && Number(record[0]) >= logStartOffset
          );
          assert.equal(count, visible.length);
        } finally {
          await log.close();
        }
      });
    }
  });
}
