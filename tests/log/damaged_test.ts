import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import type { Anomaly } from "../../src/log/anomaly.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { salvageLog, type SalvageReport } from "../../src/log/salvage_log.ts";
import type { Storage } from "../../src/log/storage.ts";
import { verifyLog, type VerifyOptions } from "../../src/log/verify_log.ts";
import { concatenated } from "../helpers/raw_batch.ts";
import { seeded } from "../helpers/seeded.ts";
import { fileBytes } from "./batch_of.ts";
import { baseFiles, damageBases, type DamageCase, damagedFiles, type Files, folderOf } from "./damaged_sets.ts";
import { mostInOrder, scanBatches, type ScannedBatch } from "./plain_scanner.ts";

const codecs = { ...plainCodecs, ...nativeCodecs() };

async function findings(storage: Storage, options: VerifyOptions = {}): Promise<Anomaly[]> {
  const found: Anomaly[] = [];
  for await (const anomaly of verifyLog(storage, options)) found.push(anomaly);
  return found;
}

/** Whether Kafka refused the log or cut something off. */
function isMinded({ clean, unclean }: DamageCase): boolean {
  return unclean.error !== undefined || clean.error !== undefined || unclean.bytesCut > 0 || clean.bytesCut > 0;
}

/** The batches with a right checksum in the segments that are in use, in order of the files' names. */
function intactIn(files: Files): ScannedBatch[] {
  const names = [...files.keys()].filter((name) => /^\d{20}\.log$/.test(name)).sort();
  return names.flatMap((name) => scanBatches(files.get(name)!));
}

async function filesOf(storage: Storage): Promise<Files> {
  const files = new Map<string, Uint8Array>();
  for (const name of await storage.list()) files.set(name, await fileBytes(storage, name));
  return files;
}

function identity({ baseOffset, crc, lastOffset }: ScannedBatch): string {
  return `${baseOffset} ${lastOffset} ${crc}`;
}

/** Offsets below the end of the rescued log that are not in it are those that are reported, and no others. */
function checkReport(
  report: SalvageReport,
  undamaged: readonly ScannedBatch[],
  rescued: readonly ScannedBatch[],
): void {
  const has = new Set<number>();
  for (const { baseOffset, lastOffset } of rescued) {
    for (let offset = baseOffset; offset <= lastOffset; offset++) has.add(offset);
  }
  const isReported = (offset: number) =>
    report.lost.some(({ firstOffset, lastOffset = Infinity }) =>
      firstOffset !== undefined && firstOffset <= offset && offset <= lastOffset
    );
  const [first, end] = [rescued[0]?.baseOffset ?? 0, report.logEndOffset];
  for (const { baseOffset, lastOffset } of undamaged) {
    for (let offset = Math.max(baseOffset, first); offset <= lastOffset && offset < end; offset++) {
      assert.equal(has.has(offset), !isReported(offset), `offset ${offset}`);
    }
  }
}

for (const base of damageBases()) {
  const files = baseFiles(base);
  // In the other sets offsets are missing from the start, or are not told by headers.
  const isDense = /^0[1-79]/.test(base.base);

  describe(`16-damaged, ${base.base}: ${base.cases.length} cases`, () => {
    test("cases 010, 037, 070, 071: whatever Kafka cuts or refuses is found, and nothing is changed", {
      timeout: 120_000,
    }, async () => {
      const before = new Set((await findings(folderOf(files), { codecs })).map(({ message }) => message));
      for (const [i, damaged] of base.cases.entries()) {
        const folder = folderOf(damagedFiles(files, damaged.edits));
        // No case has records that do not decode under a right checksum, and inflating takes most of the time.
        const all = await findings(folder, i % 4 === 0 ? { codecs } : {});
        for (const { message, kind } of all) assert.ok(message !== "" && kind !== undefined, damaged.name);
        const found = all.filter(({ message }) => !before.has(message));
        if (damaged.edits.length === 0) assert.deepEqual(found, [], damaged.name);
        if (!isMinded(damaged)) continue;
        assert.notEqual(found.length, 0, damaged.name);
        // Zeros behind the last batch are what a live or killed broker leaves; nothing is lost with them.
        const isTail = found.every(({ kind }) => kind === "zero-tail");
        const losesNothing = damaged.unclean.batchesRead === base.undamagedUnclean.batchesRead;
        if (isTail && losesNothing) continue;
        assert.ok(found.some(({ level }) => level === "damage"), damaged.name);
      }
    });

    test("a rescue loses no intact batch, says what it lost, and what it writes is sound", {
      timeout: 120_000,
    }, async () => {
      const undamaged = intactIn(files);
      for (const damaged of base.cases) {
        const copy = damagedFiles(files, damaged.edits);
        const target = new MemoryStorage();
        const report = await salvageLog(folderOf(copy), target);
        const rescued = intactIn(await filesOf(target));
        const { name } = damaged;
        assert.equal(rescued.length, report.batches, name);
        for (const [i, batch] of rescued.entries()) {
          assert.ok(i === 0 || batch.baseOffset > rescued[i - 1]!.lastOffset, `${name}: order`);
        }
        const intact = intactIn(copy);
        assert.ok(rescued.length >= mostInOrder(intact), `${name}: ${rescued.length} of ${mostInOrder(intact)}`);
        // Nothing comes from nowhere: each batch is one of the undamaged set or one that was intact.
        const known = new Set([...intact, ...undamaged].map(identity));
        for (const batch of rescued) assert.ok(known.has(identity(batch)), `${name}: ${identity(batch)}`);
        if (isDense) checkReport(report, undamaged, rescued);
        const wrong = (await findings(target)).filter(({ level }) => level === "damage");
        assert.deepEqual(wrong, [], name);
      }
    });

    test("any mess: no foreign error, nothing from nowhere, and what a rescue writes is sound", {
      timeout: 120_000,
    }, async () => {
      const random = seeded(base.cases.length);
      const undamaged = new Set(intactIn(files).map(identity));
      for (let i = 0; i < 25; i++) {
        const messy = mess(files, random);
        const folder = folderOf(messy);
        await findings(folder, { codecs });
        const target = new MemoryStorage();
        const report = await salvageLog(folder, target);
        const rescued = intactIn(await filesOf(target));
        assert.equal(rescued.length, report.batches, `mess ${i}`);
        const known = new Set([...intactIn(messy).map(identity), ...undamaged]);
        for (const batch of rescued) assert.ok(known.has(identity(batch)), `mess ${i}: ${identity(batch)}`);
        const wrong = (await findings(target)).filter(({ level }) => level === "damage");
        assert.deepEqual(wrong, [], `mess ${i}`);
      }
    });
  });
}

/** The files with bytes changed, cut out, doubled, zeroed, and put where they do not belong. */
function mess(files: Files, random: () => number): Files {
  const messy = new Map(files);
  const int = (below: number) => Math.floor(random() * below);
  const pick = () => [...messy.keys()][int(messy.size)]!;
  for (let n = 1 + int(5); n > 0; n--) {
    const name = pick();
    const bytes = messy.get(name)!.slice();
    const at = int(bytes.length + 1);
    const until = at + int(Math.min(3000, bytes.length - at) + 1);
    switch (int(6)) {
      case 0:
        for (let m = 1 + int(20); m > 0 && bytes.length > 0; m--) bytes[int(bytes.length)] = int(256);
        messy.set(name, bytes);
        break;
      case 1:
        messy.set(name, concatenated(bytes.subarray(0, at), bytes.subarray(until)));
        break;
      case 2:
        messy.set(name, concatenated(bytes, bytes.subarray(at)));
        break;
      case 3:
        messy.set(name, bytes.fill(0, at));
        break;
      case 4:
        messy.set(name, concatenated(bytes.subarray(0, at), messy.get(pick())!, bytes.subarray(at)));
        break;
      case 5:
        messy.set(name.replace(/^\d{20}/, String(int(1000)).padStart(20, "0")), bytes);
        break;
    }
  }
  return messy;
}
