import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { after, describe, test } from "node:test";
import { nativeInflate } from "../../../adapters/inflate_native.ts";
import { blobStorage } from "../../../adapters/storage_blob.ts";
import { nodeStorage } from "../../../adapters/storage_node.ts";
import { type Archive, type ArchiveOptions, openArchive } from "../../../src/log/sources/archive.ts";
import type { Storage, StoredFile } from "../../../src/log/storage.ts";
import { contentOf, describeReading } from "../storage_contract.ts";
import { hasProgram, openPath, PackingPlace, pythonZip } from "./pack.ts";

const place = new PackingPlace();
const opened: Archive[] = [];
after(async () => {
  for (const archive of opened) await archive.close();
  place.remove();
});

async function open(file: string | StoredFile, options?: ArchiveOptions): Promise<Archive> {
  const archive = await openArchive(typeof file === "string" ? await openPath(file) : file, "backup", options);
  opened.push(archive);
  assert.equal(archive.damage, undefined);
  return archive;
}

const ORDERS = "kafka/orders-0";

async function folderOf(file: string | StoredFile, path: string, options?: ArchiveOptions): Promise<Storage> {
  const storage = (await open(file, options)).folders.get(path);
  assert.ok(storage !== undefined, `no folder ${path}`);
  return storage;
}

const letters = { "kafka/orders-0/letters": "abcdefghij", "kafka/orders-0/nothing": "" };
const hasZip = hasProgram("zip");
const hasPython = hasProgram("python3");

/** What makes an archive of the current folder, and whether that can be done here. */
const packers: Readonly<Record<string, { readonly command: string; readonly isThere: boolean }>> = {
  "tar, gnu": { command: "tar --format=gnu -cf OUT .", isThere: true },
  "tar, pax": { command: "tar --format=pax -cf OUT kafka", isThere: true },
  "tar, ustar": { command: "tar --format=ustar -cf OUT kafka", isThere: true },
  "tar, v7": { command: "tar --format=v7 -cf OUT kafka", isThere: true },
  "tar.gz": { command: "tar -czf OUT kafka", isThere: true },
  "zip, stored": { command: "zip -q -0 -r OUT kafka", isThere: hasZip },
  "zip, deflated": { command: "zip -q -r OUT kafka", isThere: hasZip },
  "zip, 64-bit": { command: "zip -q -r -fz OUT kafka", isThere: hasZip },
  "zip, through a pipe": { command: "zip -q -r - kafka | cat > OUT", isThere: hasZip },
  "zip, of Python": { command: pythonZip({ method: "DEFLATED" }), isThere: hasPython },
  "zip, of Python, 64-bit": { command: pythonZip({ method: "STORED", zip64: true }), isThere: hasPython },
  "zip, of Python, sizes behind the data": {
    command: pythonZip({ method: "DEFLATED", stream: true }),
    isThere: hasPython,
  },
};

for (const [kind, { command, isThere }] of Object.entries(packers)) {
  if (!isThere) continue;
  let archive: string | undefined;
  const path = () => archive ??= place.pack(place.folder(letters), kind.startsWith("zip") ? "x.zip" : "x.tar", command);
  describeReading(kind, () => folderOf(path(), ORDERS));
  describeReading(`${kind}, in a Blob`, async () => {
    const blob = await openAsBlob(path());
    return await folderOf(await blobStorage([["backup", blob]]).open("backup"), ORDERS);
  });
}

describeReading("tar.gz, inflated by the runtime into a folder", async () => {
  const path = place.pack(place.folder(letters), "x.tgz", "tar -czf OUT kafka");
  return await folderOf(path, ORDERS, { inflate: nativeInflate, scratch: nodeStorage(place.folder({})) });
});

describe("archives: what is in them", () => {
  const long = `${"a/".repeat(60)}${"orders-".repeat(12)}0`;
  const files = {
    "x-0/00000000000000000000.log": "first",
    "x-0/00000000000000000005.log": "second",
    "top.txt": "t",
    [`${long}/00000000000000000000.log`]: "deep",
    "grüße-0/00000000000000000000.log": "umlaut",
  };

  for (const format of ["gnu", "pax"]) {
    test(`folders by path, long and other names, ${format}`, async () => {
      const { folders, damage } = await open(place.pack(place.folder(files), "x", `tar --format=${format} -cf OUT *`));
      assert.equal(damage, undefined);
      assert.deepEqual([...folders.keys()], ["", long, "grüße-0", "x-0"].sort());
      assert.deepEqual(await folders.get("x-0")!.list(), ["00000000000000000000.log", "00000000000000000005.log"]);
      assert.equal(await contentOf(folders.get(long)!, "00000000000000000000.log"), "deep");
      assert.equal(await contentOf(folders.get("grüße-0")!, "00000000000000000000.log"), "umlaut");
      assert.equal(await contentOf(folders.get("")!, "top.txt"), "t");
    });
  }

  test("the same names in a zip", { skip: !hasZip }, async () => {
    const { folders } = await open(place.pack(place.folder(files), "x.zip", "zip -q -r OUT ."));
    assert.deepEqual([...folders.keys()], ["", long, "grüße-0", "x-0"].sort());
    assert.equal(await contentOf(folders.get("grüße-0")!, "00000000000000000000.log"), "umlaut");
  });

  test("a prefix of ustar joins its name", async () => {
    const deep = `${"d/".repeat(60)}x-0`;
    const path = place.pack(place.folder({ [`${deep}/f`]: "x" }), "x.tar", "tar --format=ustar -cf OUT d");
    assert.equal(await contentOf(await folderOf(path, deep), "f"), "x");
  });

  test("absolute names are read below the top, a hard link is its file, other members are passed over", async () => {
    const folder = place.folder({ "x-0/a": "content" });
    const path = place.pack(
      folder,
      "x.tar",
      `ln x-0/a x-0/b && ln -s a x-0/c && mkfifo x-0/d && tar -cPf OUT ${folder}/x-0`,
    );
    const storage = await folderOf(path, `${folder.slice(1)}/x-0`);
    assert.deepEqual(await storage.list(), ["a", "b"]);
    assert.equal(await contentOf(storage, "a"), "content");
    assert.equal(await contentOf(storage, "b"), "content");
  });

  test("of two files with one name the later counts", async () => {
    const folder = place.folder({ "x-0/a": "old" });
    const path = place.pack(folder, "x.tar", "tar -cf OUT x-0 && printf newer > x-0/a && tar -rf OUT x-0/a");
    assert.equal(await contentOf(await folderOf(path, "x-0"), "a"), "newer");
  });

  test("several gzip members, and a gzipped file that is no archive", { timeout: 30_000 }, async () => {
    const big = new Uint8Array(300_000).map((_, i) => (i * i) >> 7);
    const folder = place.folder({ "x-0/a": big });
    const path = place.pack(
      folder,
      "x.tgz",
      "tar -cf t x-0 && head -c 100000 t | gzip > OUT && tail -c +100001 t | gzip >> OUT",
    );
    for (const inflate of [undefined, nativeInflate]) {
      const file = await (await folderOf(path, "x-0", inflate === undefined ? {} : { inflate })).open("a");
      const bytes = new Uint8Array(big.length);
      assert.equal(await file.readAt(bytes, 0), big.length);
      assert.deepEqual(bytes, big);
      await file.close();
    }
    const single = await openArchive(
      await openPath(place.pack(folder, "f.gz", "gzip -c x-0/a > OUT")),
      "dir/00.log.gz",
    );
    opened.push(single);
    assert.deepEqual(await single.folders.get("")!.list(), ["00.log"]);
  });

  test("a zip with a comment", { skip: !hasZip }, async () => {
    const path = place.pack(place.folder({ "x-0/a": "content" }), "x.zip", "echo a comment | zip -q -z -r OUT x-0");
    assert.equal(await contentOf(await folderOf(path, "x-0"), "a"), "content");
  });
});
