/**
 * What a command is, and what it is given: the outside world as a seam, so that every command runs in a test.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { ClientOptions } from "../client/client_options.ts";
import type { Clock } from "../core/clock.ts";
import type { Kafka } from "../kafka.ts";
import type { Inflate } from "../log/sources/inflate.ts";
import type { Storage, StorageTree } from "../log/storage.ts";
import type { Connect } from "../transport/transport.ts";

/** A broker that a command started. */
export interface StartedBroker {
  /** Where it listens: `host:port`. */
  readonly bootstrapServers: string;
  /** Ends it; its files are complete after. */
  close(): Promise<void>;
}

/** What a command asks of a broker that it starts. */
export interface StartBrokerOptions {
  /** Folder for the log directory; in memory when absent. */
  readonly data?: string;
  /** Host to listen on. */
  readonly host: string;
  /** Port to listen on; 0 for a free one. */
  readonly port: number;
  /** Topics to make, with their partitions. */
  readonly topics: Readonly<Record<string, number>>;
}

/** What lies at a path. */
export interface OpenedPath {
  /** What it is. */
  readonly kind: "folder" | "file";
  /** Last part of the path. */
  readonly name: string;
  /** The folder, or the one that the file is in; for reading alone. */
  readonly folder: StorageTree;
  /** The folder above a folder, such as the log directory around a partition; undefined at the top. */
  readonly above?: Storage | undefined;
}

/** A folder for files that nobody needs later. */
export interface TemporaryFolder {
  /** Where it is. */
  readonly path: string;
  /** The files in it. */
  readonly storage: StorageTree;
  /** Removes it with all that is in it. */
  remove(): Promise<void>;
}

/** The outside world of a command. */
export interface CommandIo {
  /** Writes data; resolves when there is room for more. Nothing but data goes there. */
  out(text: string): Promise<void>;
  /** Writes data; resolves when the bytes are no longer needed, so that their memory may be used again. */
  outBytes(bytes: Uint8Array): Promise<void>;
  /** Writes a message or progress. */
  err(text: string): void;
  /** Whether a person looks at the data. */
  readonly outIsTerminal: boolean;
  /** Whether a person looks at the messages, so that progress may be drawn. */
  readonly errIsTerminal: boolean;
  /** The lines of the input, without their ends. */
  lines(): AsyncIterable<string>;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Fires when the person interrupts or the reader of the data has gone. */
  readonly signal: AbortSignal;
  /** Time. */
  readonly clock: Clock;
  /** Sockets. */
  readonly connect: Connect;
  /** Makes a client of a cluster. */
  kafka(options: ClientOptions): Kafka;
  /** The runtime's codecs. */
  codecs(): Promise<Codecs>;
  /** Starts an embedded broker. */
  startBroker(options: StartBrokerOptions): Promise<StartedBroker>;
  /** Opens a folder for reading alone. */
  openFolder(path: string): Promise<Storage>;
  /**
   * Opens a folder or a file's folder for reading alone.
   *
   * @throws StorageError with code `"ENOENT"` that tells what is there instead.
   */
  openPath(path: string): Promise<OpenedPath>;
  /** A folder to write to; it is made by the first file or folder that is made in it. */
  writeFolder(path: string): StorageTree;
  /** Makes a folder that is removed by `remove`. */
  temporaryFolder(): Promise<TemporaryFolder>;
  /** Inflates archives. */
  readonly inflate: Inflate;
  /** Asks a web server. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Reads a text file. */
  readText(path: string): Promise<string>;
  /** The lines of the demo's data set. */
  demoData(): Promise<string[]>;
}

/** One option of a command. */
export interface CommandOption {
  /** Whether it takes a value. */
  readonly type: "string" | "boolean";
  /** One letter that stands for it. */
  readonly short?: string;
  /** Whether it may be given more than once. */
  readonly multiple?: boolean;
  /** Its value in the help: `HOST:PORT`. */
  readonly value?: string;
  /** What it does. */
  readonly help: string;
}

/** The words of one call. */
export interface CommandInput {
  /** Values of options that take one. */
  text(name: string): string | undefined;
  /** All values of an option that may be repeated. */
  texts(name: string): string[];
  /** Whether a flag is given. */
  flag(name: string): boolean;
  /** The words that are no options. */
  readonly words: readonly string[];
}

/** One command. */
export interface Command {
  /** The words that are no options, for the help: `TOPIC`. */
  readonly words: string;
  /** Number of such words: least and most. */
  readonly wordCount: readonly [number, number];
  /** Example calls, the first one shown at the top. */
  readonly examples: readonly string[];
  /** Options by name. */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Runs; answers the exit code: 0 done, 1 failed, 3 the answer is bad. */
  run(io: CommandIo, input: CommandInput): Promise<number>;
}

/** The call's words are wrong; the exit code is 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}
