import { StorageError } from "../../src/core/kafka_error.ts";
import type { Storage, StoredFile } from "../../src/log/storage.ts";

/** Files of one folder, by name. */
export type Files = Map<string, Uint8Array>;

/** The files as the bytes of one input. */
export function packed(files: Files): Uint8Array {
  const names = [...files].map(([name, bytes]) => ({ name: new TextEncoder().encode(name), bytes }));
  const total = names.reduce((size, { name, bytes }) => size + 1 + name.length + 4 + bytes.length, 0);
  const input = new Uint8Array(total);
  const view = new DataView(input.buffer);
  let at = 0;
  for (const { name, bytes } of names) {
    input[at] = name.length;
    input.set(name, at + 1);
    at += 1 + name.length;
    view.setUint32(at, bytes.length);
    input.set(bytes, at + 4);
    at += 4 + bytes.length;
  }
  return input;
}

/** The files of an input. */
export function unpacked(input: Uint8Array): Files {
  const files: Files = new Map();
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  for (let at = 0; at < input.length;) {
    const name = new TextDecoder().decode(input.subarray(at + 1, at + 1 + input[at]!));
    at += 1 + input[at]!;
    const size = view.getUint32(at);
    files.set(name, input.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return files;
}

/** A folder that can be read. Whoever tries to change it fails with an error that is none of ours. */
export function readOnlyFolder(files: Files): Storage {
  const refuse = (what: string) => Promise.reject(new Error(`${what} in a folder that is only to be read`));
  return {
    open(name, options): Promise<StoredFile> {
      const bytes = files.get(name);
      if (options?.create && bytes === undefined) return refuse(`${name} was made`);
      if (bytes === undefined) {
        return Promise.reject(new StorageError(`${name}: there is no such file`, { code: "ENOENT", file: name }));
      }
      return Promise.resolve({
        size: bytes.length,
        readAt(into, position) {
          const part = bytes.subarray(position, position + into.length);
          into.set(part);
          return Promise.resolve(part.length);
        },
        append: () => refuse(`${name} was written`),
        truncate: () => refuse(`${name} was cut`),
        sync: () => refuse(`${name} was synced`),
        close: () => Promise.resolve(),
      });
    },
    list: () => Promise.resolve([...files.keys()].sort()),
    rename: (from) => refuse(`${from} was renamed`),
    remove: (name) => refuse(`${name} was removed`),
  };
}
