import assert from "node:assert/strict";
import { existsSync, mkdtempSync, openAsBlob, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { blobStorage } from "../../adapters/storage_blob.ts";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { bytesOf, contentOf, describeReading, describeWriting, put, rejectsWith } from "./storage_contract.ts";

const root = mkdtempSync(join(tmpdir(), "anykafka-storage-"));
after(() => rmSync(root, { recursive: true }));
let made = 0;

function newDir(): string {
  return join(root, String(made++));
}

async function withLetters<T extends Storage>(storage: T): Promise<T> {
  await put(storage, "letters", "abcdefghij");
  await put(storage, "nothing", "");
  return storage;
}

describeReading("memory", () => withLetters(new MemoryStorage()));
describeReading("a folder in memory", async () => withLetters(await new MemoryStorage().folder("f")));
describeReading("node", () => withLetters(nodeStorage(newDir())));
describeReading("a folder of node", async () => withLetters(await nodeStorage(newDir()).folder("f")));
describeWriting("memory", () => new MemoryStorage());
describeWriting("node", () => nodeStorage(newDir()));

async function readOnlyNode(): Promise<Storage> {
  const dir = newDir();
  await withLetters(nodeStorage(dir));
  return nodeStorage(dir, { readOnly: true });
}

describeReading("node with readOnly", readOnlyNode);
describeReading("blobs by name", () =>
  Promise.resolve(blobStorage([
    ["nothing", new Blob([])],
    ["letters", new Blob(["abc", "defghij"])],
  ])));
describeReading("files of a browser", () =>
  Promise.resolve(blobStorage([
    new File(["abcdefghij"], "letters"),
    new File([], "nothing"),
  ])));
describeReading("blobs of a disk", async () => {
  const dir = newDir();
  await withLetters(nodeStorage(dir));
  return blobStorage([
    ["letters", await openAsBlob(join(dir, "letters"))],
    ["nothing", await openAsBlob(join(dir, "nothing"))],
  ]);
});

describe("storages that only read", () => {
  const kinds: [string, () => Promise<Storage>][] = [
    ["node with readOnly", readOnlyNode],
    ["blobs", () => Promise.resolve(blobStorage([["letters", new Blob(["abcdefghij"])]]))],
  ];
  for (const [kind, make] of kinds) {
    test(`${kind}: every change is a StorageError`, async () => {
      const storage = await make();
      const before = await storage.list();
      const file = await storage.open("letters");
      await assert.rejects(file.append([bytesOf("x")]), { name: "StorageError" });
      await assert.rejects(file.truncate(0), { name: "StorageError" });
      await file.close();
      await assert.rejects(storage.open("new", { create: true }), { name: "StorageError" });
      await rejectsWith(storage.rename("letters", "b"), "EROFS", "letters");
      await rejectsWith(storage.remove("letters"), "EROFS", "letters");
      assert.deepEqual(await storage.list(), before);
      assert.equal(await contentOf(storage, "letters"), "abcdefghij");
    });
  }
});

describe("node storage on the disk", () => {
  test("reading makes no folder; the first file does", async () => {
    const dir = join(newDir(), "deep", "er");
    const storage = nodeStorage(dir);
    await rejectsWith(storage.list(), "ENOENT", "er");
    await rejectsWith(storage.open("x"), "ENOENT", "x");
    assert.equal(existsSync(dir), false);
    await put(storage, "x", "abc");
    assert.deepEqual(readdirSync(dir), ["x"]);
  });

  test("readOnly opens no folder that is not there", async () => {
    const dir = newDir();
    const folder = await nodeStorage(dir, { readOnly: true }).folder("orders-0");
    await rejectsWith(folder.list(), "ENOENT", "orders-0");
    assert.equal(existsSync(dir), false);
  });

  test("a folder in the place of a file is a StorageError", async () => {
    const dir = newDir();
    const storage = nodeStorage(dir);
    await storage.folder("f");
    await assert.rejects(storage.open("f"), { name: "StorageError" });
    writeFileSync(join(dir, "x"), "x");
    assert.deepEqual(await storage.list(), ["x"]);
    await assert.rejects(storage.folder("x"), { name: "StorageError" });
  });

  test("a full disk is told with its code", { skip: !existsSync("/dev/full") }, async () => {
    const file = await nodeStorage("/dev").open("full");
    await rejectsWith(file.append([bytesOf("x")]), "ENOSPC", "full");
    await rejectsWith(file.append([bytesOf("x"), bytesOf("y")]), "ENOSPC", "full");
    await file.close();
  });
});
