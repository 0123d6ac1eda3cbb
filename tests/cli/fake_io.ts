import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import type { CommandIo, OpenedPath } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run_command.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { StorageError } from "../../src/core/kafka_error.ts";
import type { Codecs } from "../../src/compression/codec.ts";
import { gzip } from "../../src/compression/gzip.ts";
import { Kafka } from "../../src/kafka.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { plainInflate } from "../../src/log/sources/inflate.ts";
import type { Storage, StorageTree } from "../../src/log/storage.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";

/** What one call gave. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** How one call differs. */
export interface RunOptions {
  readonly input?: readonly string[];
  readonly signal?: AbortSignal;
  readonly terminal?: boolean;
  /** Whether messages go to a terminal; as the data when absent. */
  readonly errIsTerminal?: boolean;
  readonly env?: Record<string, string>;
  readonly onErr?: (text: string) => void;
  /** Parts of the world that are not this one's. */
  readonly io?: Partial<CommandIo>;
}

/** A world without sockets and files, in which calls of the command run one after the other. */
export class FakeWorld {
  readonly network: MemoryNetwork = new MemoryNetwork();
  readonly folders: Map<string, MemoryStorage> = new Map();
  demo: string[] = [];
  /** Called with the data that a broker of this world closed over, before anyone reads it. */
  tamper: ((storage: MemoryStorage) => Promise<void>) | undefined;
  temporaryFolders = 0;
  codecs: Codecs = { gzip };
  clock: Clock = systemClock;
  /** Answers requests to web servers. */
  fetch: CommandIo["fetch"] = () => Promise.reject(new TypeError("fetch failed"));

  async run(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
    let out = "";
    let err = "";
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const codecs = () => Promise.resolve(this.codecs);
    const io: CommandIo = {
      out: (text) => Promise.resolve(void (out += text)),
      outBytes: (bytes) => Promise.resolve(void (out += decoder.decode(bytes, { stream: true }))),
      err: (text) => {
        err += text;
        options.onErr?.(text);
      },
      outIsTerminal: options.terminal ?? false,
      errIsTerminal: options.errIsTerminal ?? options.terminal ?? false,
      lines: async function* () {
        yield* options.input ?? [];
      },
      env: options.env ?? {},
      signal: options.signal ?? new AbortController().signal,
      clock: this.clock,
      connect: this.network.connect,
      kafka: (client) => new Kafka(client, { connect: this.network.connect, codecs }),
      codecs,
      startBroker: async ({ data, ...settings }) => {
        const storage = new MemoryStorage();
        if (data !== undefined) this.folders.set(data, storage);
        const broker = await EmbeddedBroker.start({ ...settings, storage, listen: this.network.listen });
        let closed: Promise<void> | undefined;
        const close = async () => {
          await broker.close();
          await this.tamper?.(storage);
        };
        return { bootstrapServers: broker.bootstrapServers, close: () => closed ??= close() };
      },
      openFolder: (path) => {
        const at = path.lastIndexOf("/");
        const tree = this.folders.get(path.slice(0, at));
        if (tree !== undefined) return tree.folder(path.slice(at + 1));
        return Promise.reject(new StorageError(`${path}: there is no such folder`, { code: "ENOENT", file: path }));
      },
      openPath: (path) => this.#openPath(path),
      writeFolder: (path) => {
        const tree = this.folders.get(path) ?? new MemoryStorage();
        this.folders.set(path, tree);
        return tree;
      },
      inflate: plainInflate,
      fetch: (url, init) => this.fetch(url, init),
      temporaryFolder: () => {
        this.temporaryFolders++;
        return Promise.resolve({
          path: "/tmp/demo",
          storage: new MemoryStorage(),
          remove: () => Promise.resolve(void this.temporaryFolders--),
        });
      },
      readText: (path) => Promise.reject(new StorageError(`${path}: no such file`, { code: "ENOENT" })),
      demoData: () => Promise.resolve(this.demo),
      ...options.io,
    };
    const code = await runCommand(io, words);
    return { code, out: out + decoder.decode(), err };
  }

  /** A folder of this world, one in it, or a file in either. */
  async #openPath(path: string): Promise<OpenedPath> {
    const parts = path.replace(/\/+$/, "").split("/");
    for (let n = parts.length; n > 0; n--) {
      const tree = this.folders.get(parts.slice(0, n).join("/"));
      if (tree === undefined) continue;
      const [first, second, ...more] = parts.slice(n);
      if (first === undefined) return { kind: "folder", name: parts.at(-1)!, folder: tree };
      if ((await tree.folders()).includes(first)) {
        const folder = await tree.folder(first);
        if (second === undefined) return { kind: "folder", name: first, folder: leaf(folder), above: tree };
        if (more.length === 0 && (await folder.list()).includes(second)) {
          return { kind: "file", name: second, folder: leaf(folder) };
        }
      } else if (second === undefined && (await tree.list()).includes(first)) {
        return { kind: "file", name: first, folder: tree };
      }
      break;
    }
    throw new StorageError(`${path}: there is no such file or folder`, { code: "ENOENT", file: path });
  }
}

/** A folder without folders. */
function leaf(folder: Storage): StorageTree {
  return {
    open: (name, options) => folder.open(name, options),
    list: () => folder.list(),
    rename: (from, to) => folder.rename(from, to),
    remove: (name) => folder.remove(name),
    folder: (name) => Promise.reject(new StorageError(`${name}: there is no such folder`, { code: "ENOENT" })),
    folders: () => Promise.resolve([]),
    removeFolder: () => Promise.resolve(),
  };
}
