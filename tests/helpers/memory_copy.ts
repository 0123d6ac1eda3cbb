import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";

/** A set of tests/golden in memory: a log directory with one partition. */
export async function goldenCopy(set: string): Promise<MemoryStorage> {
  return await memoryCopy(fileURLToPath(new URL(`../golden/${set}/`, import.meta.url)));
}

/** The folder `dir` of the disk in memory, with the folders in it. */
export async function memoryCopy(dir: string): Promise<MemoryStorage> {
  const tree = new MemoryStorage();
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = `${dir}/${entry.name}`;
    if (!entry.isDirectory()) await putFile(tree, entry.name, new Uint8Array(readFileSync(path)));
    else {
      const folder = await tree.folder(entry.name);
      for (const name of readdirSync(path)) {
        await putFile(folder, name, new Uint8Array(readFileSync(`${path}/${name}`)));
      }
    }
  }
  return tree;
}

/** Makes the file `name`. */
export async function putFile(storage: Storage, name: string, bytes: Uint8Array): Promise<void> {
  const file = await storage.open(name, { create: true });
  await file.append([bytes]);
  await file.close();
}

/** Writes the files and folders of `tree` into the folder `dir` of the disk. */
export async function toDisk(tree: MemoryStorage, dir: string): Promise<void> {
  const write = async (storage: Storage, into: string) => {
    mkdirSync(into, { recursive: true });
    for (const name of await storage.list()) {
      const file = await storage.open(name);
      const bytes = new Uint8Array(file.size);
      await file.readAt(bytes, 0);
      await file.close();
      writeFileSync(`${into}/${name}`, bytes);
    }
  };
  await write(tree, dir);
  for (const folder of await tree.folders()) await write(await tree.folder(folder), `${dir}/${folder}`);
}
