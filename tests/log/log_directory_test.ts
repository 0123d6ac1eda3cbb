import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { nodeStorage } from "../../adapters/storage_node.ts";
import { LeaderEpochs } from "../../src/log/leader_epochs.ts";
import {
  markCleanShutdown,
  parsePartitionFolder,
  partitionFolder,
  readMetaProperties,
  readOffsetCheckpoint,
  takeCleanShutdown,
  writeMetaProperties,
  writeOffsetCheckpoint,
} from "../../src/log/log_directory.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { readPartitionMetadata, writePartitionMetadata } from "../../src/log/partition_metadata.ts";
import { replaceFile } from "./batch_of.ts";
import { contentOf, put } from "./storage_contract.ts";

const golden = (set: string) =>
  nodeStorage(fileURLToPath(new URL(`../golden/${set}`, import.meta.url)), { readOnly: true });
const malformed = { name: "StorageError", code: "MALFORMED_FILE" };

describe("partition folders", () => {
  test("the number follows the last hyphen", () => {
    for (
      const [name, topic, partition] of [["orders-0", "orders", 0], ["a-b.c-12", "a-b.c", 12], ["x-1-2", "x-1", 2]]
    ) {
      assert.deepEqual(parsePartitionFolder(name as string), { topic, partition });
      assert.equal(partitionFolder({ topic: topic as string, partition: partition as number }), name);
    }
  });

  test("other folders are none", () => {
    for (
      const name of [
        "orders",
        "orders-",
        "-0",
        "orders-x",
        "remote-log-index-cache",
        "orders-0.0123456789abcdef0123456789abcdef-delete",
        "orders-9999999999",
      ]
    ) assert.equal(parsePartitionFolder(name), undefined, name);
  });
});

describe("checkpoints", () => {
  test("those that a broker wrote are read", async () => {
    assert.deepEqual(await readOffsetCheckpoint(golden("01-plain"), "log-start-offset-checkpoint"), [
      { topic: "delete-records-later", partition: 0, offset: 117 },
      { topic: "delete-records-first", partition: 0, offset: 6 },
    ]);
    assert.deepEqual(await readOffsetCheckpoint(golden("10c-recovered"), "cleaner-offset-checkpoint"), []);
    const recovery = await readOffsetCheckpoint(golden("10c-recovered"), "recovery-point-offset-checkpoint");
    assert.deepEqual(recovery.find((entry) => entry.topic === "crash"), { topic: "crash", partition: 0, offset: 585 });
  });

  test("they are written as a broker writes them", async () => {
    const theirs = golden("01-plain");
    const storage = new MemoryStorage();
    for (const name of ["log-start-offset-checkpoint", "recovery-point-offset-checkpoint"] as const) {
      await writeOffsetCheckpoint(storage, name, await readOffsetCheckpoint(theirs, name));
      assert.equal(await contentOf(storage, name), await contentOf(theirs, name));
    }
    assert.deepEqual(await storage.list(), ["log-start-offset-checkpoint", "recovery-point-offset-checkpoint"]);
  });

  test("a missing file has no entries, CRLF and spaces are accepted", async () => {
    const storage = new MemoryStorage();
    const name = "recovery-point-offset-checkpoint";
    assert.deepEqual(await readOffsetCheckpoint(storage, name), []);
    await put(storage, name, "0\r\n1\r\norders  \t3 17\r\n");
    assert.deepEqual(await readOffsetCheckpoint(storage, name), [{ topic: "orders", partition: 3, offset: 17 }]);
  });

  test("any other form is a typed error that names the file", async () => {
    const storage = new MemoryStorage();
    const name = "replication-offset-checkpoint";
    const texts = ["1\n0\n", "x", "0\n", "0\n2\na 0 1\n", "0\n-1\n", "0\n1\na 0\n", "0\n1\na x 1\n", "0\n1\na 0 1 2\n"];
    for (const text of [...texts, "0\n1\na 0 99999999999999999999\n", "0\n1\na 0 1e3\n"]) {
      await put(storage, name, text);
      await assert.rejects(readOffsetCheckpoint(storage, name), { ...malformed, file: name }, JSON.stringify(text));
    }
    await replaceFile(storage, name, Uint8Array.of(0x30, 0x0a, 0xff));
    await assert.rejects(readOffsetCheckpoint(storage, name), malformed);
  });

  test("writing that fails leaves the old file", async () => {
    const storage = new MemoryStorage();
    const name = "recovery-point-offset-checkpoint";
    const entries = [{ topic: "a", partition: 0, offset: 1 }];
    await writeOffsetCheckpoint(storage, name, entries);
    for (const operation of ["append", "sync", "rename"] as const) {
      storage.fail(operation);
      await assert.rejects(writeOffsetCheckpoint(storage, name, []), { code: "EIO" });
      assert.deepEqual(await readOffsetCheckpoint(storage, name), entries);
      assert.deepEqual(await readOffsetCheckpoint(storage.crash(), name), entries);
    }
    await writeOffsetCheckpoint(storage, name, []);
    assert.deepEqual(await readOffsetCheckpoint(storage, name), []);
  });
});

describe("meta.properties", () => {
  test("a broker's is read", async () => {
    assert.deepEqual(await readMetaProperties(golden("01-plain")), {
      clusterId: "MkU3OEVBNTcwNTJENDM2Qg",
      nodeId: 1,
      directoryId: "izLB3TEM_tIP8HXv8_suNQ",
    });
  });

  test("what is written is read again; there may be none", async () => {
    const storage = new MemoryStorage();
    assert.equal(await readMetaProperties(storage), undefined);
    const meta = { clusterId: "MkU3OEVBNTcwNTJENDM2Qg", nodeId: 7 };
    await writeMetaProperties(storage, meta);
    assert.deepEqual(await readMetaProperties(storage), meta);
    assert.equal(
      await contentOf(storage, "meta.properties"),
      "version=1\nnode.id=7\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n",
    );
  });

  test("Java's other spellings are read, and what is missing is told", async () => {
    const storage = new MemoryStorage();
    await put(storage, "meta.properties", "! note\r\nversion=0\r\n broker.id : 3\r\ncluster.id=a\\=b\r\n");
    assert.deepEqual(await readMetaProperties(storage), { clusterId: "a=b", nodeId: 3 });
    for (const text of ["version=1\nnode.id=1\n", "cluster.id=x\n", "cluster.id=x\nnode.id=one\n"]) {
      await put(storage, "meta.properties", text);
      await assert.rejects(readMetaProperties(storage), { ...malformed, file: "meta.properties" });
    }
  });
});

describe("the marker of a clean stop", () => {
  test("it is taken once", async () => {
    const storage = new MemoryStorage();
    assert.equal(await takeCleanShutdown(storage), false);
    await markCleanShutdown(storage);
    assert.deepEqual(JSON.parse(await contentOf(storage, ".kafka_cleanshutdown")), { version: 0, brokerEpoch: -1 });
    assert.equal(await takeCleanShutdown(storage), true);
    assert.equal(await takeCleanShutdown(storage), false);
    assert.deepEqual(await storage.list(), []);
  });
});

describe("partition.metadata", () => {
  test("it is read and written as Kafka does, without a last line feed", async () => {
    const theirs = await golden("01-plain").folder("plain.v2-create_time-0");
    const id = await readPartitionMetadata(theirs);
    assert.equal(id, "PBLcTl5GQ_WTmungEAoQ8w");
    const storage = new MemoryStorage();
    assert.equal(await readPartitionMetadata(storage), undefined);
    await writePartitionMetadata(storage, id!);
    assert.equal(await contentOf(storage, "partition.metadata"), await contentOf(theirs, "partition.metadata"));
  });

  test("any other form is a typed error", async () => {
    const storage = new MemoryStorage();
    const texts = ["", "version: 1\ntopic_id: PBLcTl5GQ_WTmungEAoQ8w", "version: 0\n", "version: 0\ntopic_id: short"];
    for (const text of [...texts, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"]) {
      await put(storage, "partition.metadata", text);
      await assert.rejects(readPartitionMetadata(storage), { ...malformed, file: "partition.metadata" });
    }
  });
});

describe("leader epochs", () => {
  const FILE = "leader-epoch-checkpoint";
  const pairs = (epochs: LeaderEpochs) => epochs.entries.map((entry) => [entry.epoch, entry.startOffset]);

  async function epochs(text: string): Promise<[LeaderEpochs, MemoryStorage]> {
    const storage = new MemoryStorage();
    await put(storage, FILE, text);
    return [await LeaderEpochs.load(storage), storage];
  }

  test("a file of Kafka's is read; none and an empty one have none", async () => {
    const folder = await golden("01-plain").folder("plain.v2-create_time-0");
    assert.deepEqual(pairs(await LeaderEpochs.load(folder)), [[0, 0], [2, 528]]);
    assert.deepEqual(pairs(await LeaderEpochs.load(new MemoryStorage())), []);
    assert.deepEqual(pairs((await epochs(""))[0]), []);
  });

  test("an offset belongs to the last epoch that began at or before it", async () => {
    const [some] = await epochs("0\n2\n3 10\n5 20\n");
    assert.deepEqual([9, 10, 19, 20, 99].map((offset) => some.epochFor(offset)), [-1, 3, 3, 5, 5]);
    assert.equal(some.latest, 5);
  });

  test("an epoch is noted once; a lower start or epoch replaces what contradicts it", async () => {
    const [some, storage] = await epochs("0\n2\n3 10\n5 20\n");
    await some.assign(5, 30);
    await some.assign(-1, 40);
    assert.equal(await contentOf(storage, FILE), "0\n2\n3 10\n5 20\n");
    await some.assign(6, 30);
    assert.equal(await contentOf(storage, FILE), "0\n3\n3 10\n5 20\n6 30\n");
    await some.assign(7, 15);
    assert.deepEqual(pairs(some), [[3, 10], [7, 15]]);
    await some.assign(4, 40);
    assert.deepEqual(pairs(some), [[3, 10], [4, 40]]);
    assert.deepEqual(pairs(await LeaderEpochs.load(storage)), pairs(some));
  });

  test("an epoch that could not be written is not known", async () => {
    const [some, storage] = await epochs("0\n1\n3 10\n");
    storage.fail("sync");
    await assert.rejects(some.assign(4, 20), { code: "EIO" });
    assert.deepEqual(pairs(some), [[3, 10]]);
  });

  test("malformed lines are typed errors", async () => {
    for (const line of ["a 1", "1", "-1 5", "1 -5", "1 2 3", "1 99999999999999999999"]) {
      await assert.rejects(epochs(`0\n1\n${line}\n`), { ...malformed, file: FILE }, line);
    }
  });
});
