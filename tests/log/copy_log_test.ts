import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AbortedError } from "../../src/core/kafka_error.ts";
import { copyLogFolder, copyLogRange } from "../../src/log/copy_log.ts";
import { Log } from "../../src/log/log.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";
import { goldenCopy, putFile } from "../helpers/memory_copy.ts";

async function transactions(): Promise<Storage> {
  return await (await goldenCopy("07-transactions")).folder("txn-0");
}

describe("copying a log", () => {
  test("a folder with files is refused, before anything is read", async () => {
    const source = await transactions();
    const target = new MemoryStorage();
    await putFile(target, "00000000000000000000.log", new Uint8Array(0));
    const refusal = { name: "StorageError", code: "NOT_EMPTY", message: /not empty, there is 0+\.log/ };
    await assert.rejects(copyLogFolder(source, target), refusal);
    const log = await Log.open(source, { mode: "inspect" });
    await assert.rejects(copyLogRange(log, source, target), refusal);
    await log.close();
    assert.deepEqual(await target.list(), ["00000000000000000000.log"]);
  });

  test("what reads differently than it was written is an error", async () => {
    const source = await transactions();
    const target = new MemoryStorage();
    // A disk that flips a bit of one file on its way back.
    const lying: Storage = {
      list: () => target.list(),
      remove: (name) => target.remove(name),
      rename: (from, to) => target.rename(from, to),
      open: async (name, options) => {
        const file = await target.open(name, options);
        if (!name.endsWith("339.log") || options?.create === true) return file;
        const readAt = async (into: Uint8Array, position: number) => {
          const count = await file.readAt(into, position);
          into[count - 1]! ^= 1;
          return count;
        };
        return {
          size: file.size,
          readAt,
          append: (parts) => file.append(parts),
          truncate: (size) => file.truncate(size),
          sync: () => file.sync(),
          close: () => file.close(),
        };
      },
    };
    await assert.rejects(copyLogFolder(source, lying), { code: "COPY_DIFFERS", file: "00000000000000000339.log" });
  });

  test("bytes are counted as they are read, and a signal ends it", async () => {
    const source = await transactions();
    let bytes = 0;
    const copied = await copyLogFolder(source, new MemoryStorage(), { onProgress: (read) => void (bytes += read) });
    assert.equal(bytes, copied.bytes);
    const controller = new AbortController();
    const aborted = copyLogFolder(source, new MemoryStorage(), {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await assert.rejects(aborted, AbortedError);
  });

  test("without a range all of it is copied, under the names of its segments", async () => {
    const source = await transactions();
    const target = new MemoryStorage();
    const log = await Log.open(source, { mode: "inspect" });
    const { batches, firstOffset, logEndOffset, segments } = await copyLogRange(log, source, target);
    assert.deepEqual([firstOffset, logEndOffset, batches], [0, 375, 162]);
    assert.deepEqual(
      segments.map(({ baseOffset, size }) => [baseOffset, size]),
      log.segments.map(({ baseOffset, size }) => [baseOffset, size]),
    );
    const copy = await Log.open(target, { mode: "inspect" });
    assert.equal(copy.topicId, log.topicId);
    assert.deepEqual(copy.leaderEpochs, log.leaderEpochs);
    assert.deepEqual(copy.anomalies.filter(({ level }) => level === "damage"), []);
    await copy.close();
    await log.close();
  });
});
