import { MemoryStorage } from "../../src/log/memory_storage.ts";
import type { Storage } from "../../src/log/storage.ts";

/** A copy in memory of the files of `folder` that `isWanted` names; all when absent. */
export async function copyOf(
  folder: Storage,
  isWanted: (name: string) => boolean = () => true,
): Promise<MemoryStorage> {
  const copy = new MemoryStorage();
  for (const name of (await folder.list()).filter(isWanted)) {
    const file = await copy.open(name, { create: true });
    await file.append([await readBytes(folder, name)]);
    await file.close();
  }
  return copy;
}

/** All bytes of a file. */
export async function readBytes(folder: Storage, name: string): Promise<Uint8Array> {
  const file = await folder.open(name);
  try {
    const bytes = new Uint8Array(file.size);
    return bytes.subarray(0, await file.readAt(bytes, 0));
  } finally {
    await file.close();
  }
}
