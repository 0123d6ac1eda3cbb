import type { Storage } from "../../src/log/storage.ts";

/** A folder that refuses every change. */
export function unwritable(storage: Storage): Storage {
  const refuse = () => Promise.reject(new Error("a log that is inspected was written to"));
  return {
    list: () => storage.list(),
    rename: refuse,
    remove: refuse,
    open: async (name, options) => {
      if (options?.create) return await refuse();
      const file = await storage.open(name);
      return {
        get size() {
          return file.size;
        },
        readAt: (into, position) => file.readAt(into, position),
        append: refuse,
        truncate: refuse,
        sync: refuse,
        close: () => file.close(),
      };
    },
  };
}
