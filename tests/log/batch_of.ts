import { crc32c } from "../../src/hash/crc32c.ts";
import type { Log } from "../../src/log/log.ts";
import type { Storage } from "../../src/log/storage.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";

/** A batch with one record for each of `values`, 1 ms apart from `timestamp` on. */
export function batchOf(values: readonly string[], timestamp = 1_700_000_000_000): Uint8Array {
  const builder = new RecordBatchBuilder(new Uint8Array(1024));
  for (const [i, value] of values.entries()) builder.append(timestamp < 0 ? timestamp : timestamp + i, null, value);
  return builder.seal({ crc32c }).slice();
}

/** Values of all records in `log` from `from` on. */
export async function valuesOf(log: Log, from = 0): Promise<string[]> {
  const values: string[] = [];
  for await (const record of log.records({ from })) values.push(new TextDecoder().decode(record.value!));
  return values;
}

/** All bytes of a file. */
export async function fileBytes(storage: Storage, name: string): Promise<Uint8Array> {
  const file = await storage.open(name);
  try {
    const bytes = new Uint8Array(file.size);
    await file.readAt(bytes, 0);
    return bytes;
  } finally {
    await file.close();
  }
}

/** Puts `bytes` in the place of a file. */
export async function replaceFile(storage: Storage, name: string, bytes: Uint8Array): Promise<void> {
  await storage.remove(name);
  const file = await storage.open(name, { create: true });
  await file.append([bytes]);
  await file.sync();
  await file.close();
}

/** A copy in memory of every file. */
export async function copyFiles(from: Storage, into: Storage): Promise<void> {
  for (const name of await from.list()) await replaceFile(into, name, await fileBytes(from, name));
}
