import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StorageError } from "../../src/core/kafka_error.ts";
import type { Storage, StorageTree } from "../../src/log/storage.ts";

/** Bytes of text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** All text of the file `name`. */
export async function contentOf(storage: Storage, name: string): Promise<string> {
  const file = await storage.open(name);
  try {
    const bytes = new Uint8Array(file.size);
    assert.equal(await file.readAt(bytes, 0), bytes.length);
    return new TextDecoder().decode(bytes);
  } finally {
    await file.close();
  }
}

/** Makes or replaces the file `name`. */
export async function put(storage: Storage, name: string, text: string): Promise<void> {
  await storage.remove(name);
  const file = await storage.open(name, { create: true });
  await file.append([bytesOf(text)]);
  await file.close();
}

/** Expects a `StorageError` of `code` whose `file` ends in `name`. */
export async function rejectsWith(attempt: Promise<unknown>, code: string, name: string): Promise<void> {
  await assert.rejects(attempt, (error: unknown) => {
    assert.ok(error instanceof StorageError, `not a StorageError: ${error}`);
    assert.equal(error.code, code);
    assert.ok(error.file?.endsWith(name), `${error.file} names ${name}`);
    assert.ok(error.message.includes(name), `the message names ${name}: ${error.message}`);
    return true;
  });
}

/** What any storage must do to read. `make` answers one with the file `letters` = "abcdefghij" and an empty file `nothing`. */
export function describeReading(kind: string, make: () => Promise<Storage>): void {
  describe(`${kind}: reading`, () => {
    test("fills the buffer from a position, short only at the end", async () => {
      const file = await (await make()).open("letters");
      assert.equal(file.size, 10);
      const into = new Uint8Array(4).fill(0x2e);
      assert.equal(await file.readAt(into, 3), 4);
      assert.equal(new TextDecoder().decode(into), "defg");
      assert.equal(await file.readAt(into, 8), 2);
      assert.equal(new TextDecoder().decode(into), "ijfg");
      assert.equal(await file.readAt(into, 10), 0);
      assert.equal(await file.readAt(into, 5_000_000_000), 0);
      assert.equal(await file.readAt(into.subarray(0, 0), 0), 0);
      await file.close();
    });

    test("lists names in order, and an empty file is one", async () => {
      const storage = await make();
      assert.deepEqual(await storage.list(), ["letters", "nothing"]);
      assert.equal(await contentOf(storage, "nothing"), "");
    });

    test("a file that is not there is ENOENT", async () => {
      await rejectsWith((await make()).open("absent"), "ENOENT", "absent");
    });

    test("a closed file is EBADF, and closing twice is fine", async () => {
      const file = await (await make()).open("letters");
      await file.close();
      await file.close();
      await rejectsWith(file.readAt(new Uint8Array(1), 0), "EBADF", "letters");
    });

    for (const name of ["", ".", "..", "../letters", "a/b", "a\\b", "/etc/passwd", "c:letters", "a\0b"]) {
      test(`the name ${JSON.stringify(name)} leads nowhere`, async () => {
        const storage = await make();
        const isEinval = { name: "StorageError", code: "EINVAL" };
        await assert.rejects(storage.open(name), isEinval);
        await assert.rejects(storage.open(name, { create: true }), isEinval);
      });
    }
  });
}

/** What a storage that can be written must do. `make` answers an empty one, of its own each time. */
export function describeWriting(kind: string, make: () => StorageTree): void {
  describe(`${kind}: writing`, () => {
    test("appends parts in order, and the size follows", async () => {
      const storage = make();
      const file = await storage.open("x", { create: true });
      assert.equal(file.size, 0);
      await file.append([bytesOf("ab"), new Uint8Array(0), bytesOf("c")]);
      await file.append([bytesOf("d")]);
      await file.append([]);
      assert.equal(file.size, 4);
      await file.sync();
      await file.close();
      assert.equal(await contentOf(storage, "x"), "abcd");
    });

    test("an opened file goes on at its end", async () => {
      const storage = make();
      await put(storage, "x", "abc");
      const file = await storage.open("x", { create: true });
      assert.equal(file.size, 3);
      await file.append([bytesOf("def")]);
      await file.close();
      assert.equal(await contentOf(storage, "x"), "abcdef");
    });

    test("truncate cuts, never grows, and appends go on there", async () => {
      const storage = make();
      const file = await storage.open("x", { create: true });
      await file.append([bytesOf("abcdef")]);
      await file.truncate(100);
      assert.equal(file.size, 6);
      await file.truncate(2);
      assert.equal(file.size, 2);
      await file.append([bytesOf("z")]);
      const into = new Uint8Array(10);
      assert.equal(await file.readAt(into, 0), 3);
      assert.equal(new TextDecoder().decode(into.subarray(0, 3)), "abz");
      await file.close();
      assert.equal(await contentOf(storage, "x"), "abz");
    });

    test("takes more parts than one system call does, and 9 MiB in one", async () => {
      const storage = make();
      const file = await storage.open("x", { create: true });
      const parts = Array.from({ length: 3000 }, (_, n) => Uint8Array.of(n & 255, n >> 8));
      const big = new Uint8Array(9 * 1024 * 1024).fill(7);
      await file.append([...parts, big]);
      await file.append([big]);
      assert.equal(file.size, 6000 + 2 * big.length);
      const into = new Uint8Array(6002);
      await file.readAt(into, 0);
      for (let n = 0; n < 3000; n++) assert.equal(into[2 * n]! + 256 * into[2 * n + 1]!, n);
      assert.deepEqual([...into.subarray(6000)], [7, 7]);
      assert.equal(await file.readAt(into, file.size - 1), 1);
      assert.equal(into[0], 7);
      await file.close();
    });

    test("views of a larger buffer are written as views", async () => {
      const storage = make();
      const file = await storage.open("x", { create: true });
      const buffer = bytesOf("0123456789");
      await file.append([buffer.subarray(2, 4), buffer.subarray(8)]);
      await file.append([buffer.subarray(5, 6)]);
      await file.close();
      assert.equal(await contentOf(storage, "x"), "23895");
    });

    test("renames over another file", async () => {
      const storage = make();
      await put(storage, "new", "new");
      await put(storage, "old", "old");
      await storage.rename("new", "old");
      assert.deepEqual(await storage.list(), ["old"]);
      assert.equal(await contentOf(storage, "old"), "new");
      await storage.rename("old", "old");
      assert.deepEqual(await storage.list(), ["old"]);
      await rejectsWith(storage.rename("absent", "old"), "ENOENT", "absent");
      await assert.rejects(storage.rename("old", "../old"), { code: "EINVAL" });
    });

    test("removes; what is absent is fine", async () => {
      const storage = make();
      await put(storage, "x", "x");
      await storage.remove("x");
      await storage.remove("x");
      assert.deepEqual(await storage.list(), []);
      await assert.rejects(storage.remove(".."), { code: "EINVAL" });
    });

    test("an open file outlives its name", async () => {
      const storage = make();
      await put(storage, "x", "abc");
      const file = await storage.open("x");
      await storage.remove("x");
      const into = new Uint8Array(3);
      assert.equal(await file.readAt(into, 0), 3);
      await file.close();
    });

    test("a closed file takes nothing more", async () => {
      const file = await make().open("x", { create: true });
      await file.close();
      await rejectsWith(file.append([bytesOf("a")]), "EBADF", "x");
      await rejectsWith(file.truncate(0), "EBADF", "x");
      await rejectsWith(file.sync(), "EBADF", "x");
    });

    test("close waits for a sync under way", async () => {
      const file = await make().open("x", { create: true });
      await file.append([bytesOf("a")]);
      await Promise.all([file.sync(), file.sync(), file.close()]);
    });

    test("folders hold files of their own", async () => {
      const storage = make();
      const folder = await storage.folder("orders-0");
      await put(folder, "x", "in the folder");
      await put(storage, "x", "outside");
      assert.deepEqual(await storage.folders(), ["orders-0"]);
      assert.deepEqual(await storage.list(), ["x"]);
      assert.deepEqual(await (await storage.folder("orders-0")).list(), ["x"]);
      assert.equal(await contentOf(await storage.folder("orders-0"), "x"), "in the folder");
      await storage.removeFolder("orders-0");
      await storage.removeFolder("orders-0");
      assert.deepEqual(await storage.folders(), []);
      assert.equal(await contentOf(storage, "x"), "outside");
      await assert.rejects(storage.folder("../up"), { code: "EINVAL" });
      await assert.rejects(storage.removeFolder(".."), { code: "EINVAL" });
    });
  });
}
