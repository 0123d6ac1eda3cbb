import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import type { CommandIo } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run_command.ts";
import { systemClock } from "../../src/core/clock.ts";
import { StorageError } from "../../src/core/kafka_error.ts";
import { gzip } from "../../src/compression/gzip.ts";
import { Kafka } from "../../src/kafka.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
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
  readonly env?: Record<string, string>;
  readonly onErr?: (text: string) => void;
}

/** A world without sockets and files, in which calls of the command run one after the other. */
export class FakeWorld {
  readonly network: MemoryNetwork = new MemoryNetwork();
  readonly folders: Map<string, MemoryStorage> = new Map();
  demo: string[] = [];
  /** Called with the data that a broker of this world closed over, before anyone reads it. */
  tamper: ((storage: MemoryStorage) => Promise<void>) | undefined;
  temporaryFolders = 0;

  async run(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
    let out = "";
    let err = "";
    const codecs = () => Promise.resolve({ gzip });
    const io: CommandIo = {
      out: (text) => Promise.resolve(void (out += text)),
      err: (text) => {
        err += text;
        options.onErr?.(text);
      },
      outIsTerminal: options.terminal ?? false,
      errIsTerminal: options.terminal ?? false,
      lines: async function* () {
        yield* options.input ?? [];
      },
      env: options.env ?? {},
      signal: options.signal ?? new AbortController().signal,
      clock: systemClock,
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
      temporaryFolder: () => {
        this.temporaryFolders++;
        return Promise.resolve({
          path: "/tmp/demo",
          remove: () => Promise.resolve(void this.temporaryFolders--),
        });
      },
      readText: (path) => Promise.reject(new StorageError(`${path}: no such file`, { code: "ENOENT" })),
      demoData: () => Promise.resolve(this.demo),
    };
    const code = await runCommand(io, words);
    return { code, out, err };
  }
}
