import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { bytesOf, contentOf, put, rejectsWith } from "./storage_contract.ts";

describe("memory storage: faults", () => {
  test("one call fails, the next goes through", async () => {
    const storage = new MemoryStorage();
    await put(storage, "x", "abc");
    const file = await storage.open("x");
    storage.fail("read");
    await rejectsWith(file.readAt(new Uint8Array(1), 0), "EIO", "x");
    assert.equal(await file.readAt(new Uint8Array(1), 0), 1);
    storage.fail("sync", { code: "ENOSPC" });
    await rejectsWith(file.sync(), "ENOSPC", "x");
    storage.fail("truncate");
    await rejectsWith(file.truncate(0), "EIO", "x");
    storage.fail("rename");
    await rejectsWith(storage.rename("x", "y"), "EIO", "x");
    storage.fail("open");
    await rejectsWith(storage.open("x"), "EIO", "x");
    assert.equal(await contentOf(storage, "x"), "abc");
  });

  test("a fault waits for its file and its turn", async () => {
    const storage = new MemoryStorage();
    const folder = await storage.folder("orders-0");
    const x = await folder.open("x", { create: true });
    const y = await folder.open("y", { create: true });
    storage.fail("append", { file: "y", after: 1 });
    await x.append([bytesOf("a")]);
    await y.append([bytesOf("a")]);
    await x.append([bytesOf("b")]);
    await rejectsWith(y.append([bytesOf("b")]), "EIO", "orders-0/y");
    assert.equal(await contentOf(folder, "x"), "ab");
    assert.equal(await contentOf(folder, "y"), "a");
  });

  test("an append can be torn at any byte, and cut off again", async () => {
    for (let tornAfter = 0; tornAfter <= 6; tornAfter++) {
      const storage = new MemoryStorage();
      const file = await storage.open("x", { create: true });
      await file.append([bytesOf("12")]);
      storage.fail("append", { tornAfter });
      await rejectsWith(file.append([bytesOf("abc"), bytesOf("def")]), "EIO", "x");
      assert.equal(await contentOf(storage, "x"), "12" + "abcdef".slice(0, tornAfter));
      assert.equal(file.size, 2 + tornAfter);
      await file.truncate(2);
      assert.equal(await contentOf(storage, "x"), "12");
    }
  });

  test("a full storage takes what fits, and room comes back", async () => {
    const storage = new MemoryStorage();
    storage.capacity = 5;
    const file = await storage.open("x", { create: true });
    await file.append([bytesOf("abc")]);
    await rejectsWith(file.append([bytesOf("defg")]), "ENOSPC", "x");
    assert.equal(file.size, 5);
    assert.equal(storage.used, 5);
    await file.truncate(1);
    await file.append([bytesOf("1234")]);
    assert.equal(storage.used, 5);
    await storage.remove("x");
    assert.equal(storage.used, 0);
    await put(storage, "y", "12345");
  });

  test("read-only refuses every change and still reads", async () => {
    const storage = new MemoryStorage();
    await put(storage, "x", "abc");
    const file = await storage.open("x");
    storage.readOnly = true;
    await rejectsWith(file.append([bytesOf("d")]), "EROFS", "x");
    await rejectsWith(file.truncate(0), "EROFS", "x");
    await rejectsWith(storage.open("y", { create: true }), "EROFS", "y");
    await rejectsWith(storage.rename("x", "y"), "EROFS", "x");
    await rejectsWith(storage.remove("x"), "EROFS", "x");
    await rejectsWith(storage.folder("f"), "EROFS", "f");
    assert.equal(await contentOf(storage, "x"), "abc");
  });
});

describe("memory storage: crashes", () => {
  test("only what was synced is left", async () => {
    const storage = new MemoryStorage();
    const folder = await storage.folder("orders-0");
    const file = await folder.open("x", { create: true });
    await file.append([bytesOf("abc")]);
    await file.sync();
    await file.append([bytesOf("def")]);
    await put(folder, "never-synced", "gone");
    const left = storage.crash();
    const leftFolder = await left.folder("orders-0");
    assert.deepEqual(await leftFolder.list(), ["x"]);
    assert.equal(await contentOf(leftFolder, "x"), "abc");
    assert.equal(left.used, 3);
    assert.equal(await contentOf(folder, "x"), "abcdef", "the storage itself goes on");
  });

  test("some unsynced bytes may be left", async () => {
    const storage = new MemoryStorage();
    const file = await storage.open("x", { create: true });
    await file.append([bytesOf("abc")]);
    await file.sync();
    await file.append([bytesOf("def")]);
    assert.equal(await contentOf(storage.crash(2), "x"), "abcde");
    assert.equal(await contentOf(storage.crash(20), "x"), "abcdef");
  });

  test("a truncation that was not synced is undone", async () => {
    const storage = new MemoryStorage();
    const file = await storage.open("x", { create: true });
    await file.append([bytesOf("abcdef")]);
    await file.sync();
    await file.truncate(2);
    await file.append([bytesOf("xyz")]);
    assert.equal(await contentOf(storage.crash(), "x"), "abcdef");
    await file.sync();
    assert.equal(await contentOf(storage.crash(), "x"), "abxyz");
  });
});
