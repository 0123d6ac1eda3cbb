/**
 * Turns the words of a `log` command into what to read: `DIR|FILE|ARCHIVE|URL`.
 *
 * | word                                       | targets                                                              |
 * | ------------------------------------------ | -------------------------------------------------------------------- |
 * | a partition's folder                       | that partition                                                       |
 * | a log directory                            | one for each partition folder in it, sorted                          |
 * | a `.log`                                   | that segment alone, with its indexes where they lie beside it        |
 * | another file of Kafka's                    | that file                                                            |
 * | a `.tar`, `.tar.gz`, `.tgz`, `.zip`        | one for each partition folder in it, at any depth                    |
 * | an archive, `:` (in a URL `#`) and a path   | what lies in it under that path                                      |
 * | a URL of a file or an archive              | as above, read by ranges                                             |
 * | a URL of a folder, ending in `/`           | as above, by the listing that the server gives                       |
 *
 * @module
 */

import { KafkaError, StorageError } from "../core/kafka_error.ts";
import { nearest } from "../core/nearest.ts";
import { isPartitionFile, type KafkaFileName, type KafkaFileType, parseKafkaFileName } from "../log/kafka_file_name.ts";
import {
  parsePartitionFolder,
  type PartitionCheckpoints,
  readPartitionCheckpoints,
  type TopicPartition,
} from "../log/log_directory.ts";
import { type OpenSource, readOnlyStorage } from "../log/sources/read_only_storage.ts";
import { type Archive, archiveFormat, openArchive } from "../log/sources/archive.ts";
import { decodedPart, shownUrl } from "../log/sources/http_request.ts";
import { httpSiblings, httpStorage, lastName, parseUrl } from "../log/sources/http_storage.ts";
import type { Storage, StorageTree, StoredFile } from "../log/storage.ts";
import { type CommandInput, type CommandIo, type CommandOption, type OpenedPath, UsageError } from "./command.ts";
import { Progress } from "./progress.ts";

/** One thing to read. */
export interface LogTarget {
  /** A partition's folder, or one file. */
  readonly kind: "partition" | "file";
  /** What to call it in messages and listings. */
  readonly name: string;
  /** Its files, read-only. Of a `.log` given by itself only the files of its segment, under the names that Kafka gives. */
  readonly storage: Storage;
  /** The partition, as the folder's name tells it. */
  readonly place?: TopicPartition;
  /** The log directory around the partition's folder, where one is there. */
  readonly checkpoints?: PartitionCheckpoints;
  /** The log directory that it lies in, in an archive with its path there; the folder or file itself when it was given. */
  readonly source: string;
  /** For `"file"`: its name in `storage`. */
  readonly file?: string;
  /** For `"file"`: what it is. */
  readonly fileType?: KafkaFileType;
}

/** What the words led to. */
export interface LogTargets {
  /** In the order of the words; within one, topics in order of their names and partitions of their numbers. */
  readonly targets: readonly LogTarget[];
  /** Archives that are cut or damaged; what lies before is among the targets. The person was told. */
  readonly damage: readonly StorageError[];
  /** Releases archives and temporary files. */
  close(): Promise<void>;
}

/**
 * Refuses files that are no segments; `deed` says what the command does with those that are.
 *
 * @throws UsageError
 */
export function requireSegments(targets: readonly LogTarget[], deed: string): void {
  for (const { file, fileType, name } of targets) {
    if (file === undefined || fileType === "log") continue;
    throw new UsageError(`${name}: partitions, log directories and .log files are ${deed}, not such a file alone`);
  }
}

/** Options of every command that takes such words. */
export const logTargetOptions: Readonly<Record<string, CommandOption>> = {
  topic: {
    type: "string",
    multiple: true,
    value: "TOPIC",
    help: "of a log directory: only this topic; may be repeated",
  },
  partition: {
    type: "string",
    multiple: true,
    value: "N",
    help: "of a log directory: only this partition; may be repeated",
  },
};

/** The words of a command's help. */
export const LOG_TARGET_WORDS = "DIR|FILE|ARCHIVE|URL";

/**
 * Opens what the words name.
 *
 * @throws StorageError for what is not there or not Kafka's; UsageError for wrong options.
 */
export async function openLogTargets(
  io: CommandIo,
  input: CommandInput,
  words: readonly string[] = input.words,
): Promise<LogTargets> {
  const opener = new TargetOpener(io, readFilter(input));
  try {
    const targets: LogTarget[] = [];
    for (const word of words) targets.push(...await opener.open(word));
    return { targets, damage: opener.damage, close: () => opener.close() };
  } catch (error) {
    await opener.close();
    throw error;
  }
}

interface Filter {
  readonly topics: readonly string[];
  readonly partitions: readonly number[];
}

function readFilter(input: CommandInput): Filter {
  const partitions = input.texts("partition").map((text) => {
    if (!/^\d{1,10}$/.test(text)) throw new UsageError(`--partition ${text}: expected a number`);
    return Number(text);
  });
  return { topics: input.texts("topic"), partitions };
}

/** A file, and the path in it that is wanted where it is an archive. */
interface NamedFile {
  readonly source: string;
  readonly name: string;
  readonly inside: string | undefined;
}

/** What a word leads to. */
interface OpenedWord {
  readonly opened: OpenedPath;
  /** The word as messages show it. */
  readonly source: string;
  /** Path in an archive. */
  readonly inside: string | undefined;
}

class TargetOpener {
  readonly #io: CommandIo;
  readonly #filter: Filter;
  readonly damage: StorageError[] = [];
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(io: CommandIo, filter: Filter) {
    this.#io = io;
    this.#filter = filter;
  }

  async open(word: string): Promise<LogTarget[]> {
    const { opened, source, inside } = isUrl(word) ? await this.#openUrl(parseUrl(word)) : await this.#openPath(word);
    const { kind, name, folder, above } = opened;
    const targets = kind === "folder"
      ? await this.#folderTargets(source, name, folder, above)
      : await this.#fileTargets({ source, name, inside }, folder);
    return this.#filtered(source, targets);
  }

  /** A path, behind which a colon and a path in an archive may follow, as listings show it. */
  async #openPath(word: string): Promise<OpenedWord> {
    const source = word.replace(/(.)[/\\]+$/, "$1");
    try {
      return { opened: await this.#io.openPath(word), source, inside: undefined };
    } catch (error) {
      const colon = word.lastIndexOf(":");
      if (!(error instanceof StorageError) || error.code !== "ENOENT" || colon < 1) throw error;
      const path = word.slice(0, colon);
      const opened = await this.#io.openPath(path).catch(() => undefined);
      if (opened?.kind !== "file") throw error;
      return { opened, source: path, inside: trimmed(word.slice(colon + 1)) };
    }
  }

  /** HTTP does not tell a folder from a file: one ends in a slash, or is named like a partition. */
  async #openUrl(url: URL): Promise<OpenedWord> {
    const source = shownUrl(url).replace(/(.)\/+$/, "$1");
    const inside = url.hash === "" ? undefined : trimmed(decodedPart(url.hash.slice(1)));
    const { clock, fetch, signal } = this.#io;
    const options = { clock, fetch, signal };
    const name = lastName(url);
    if (url.pathname.endsWith("/") || parsePartitionFolder(name) !== undefined) {
      return { opened: { kind: "folder", name, folder: await httpStorage(url.href, options) }, source, inside };
    }
    const file = parseKafkaFileName(name);
    const indexes = file?.type === "log"
      ? ["index", "timeindex", "txnindex"].map((type) => `${file.digits}.${type}`)
      : [];
    return { opened: { kind: "file", name, folder: await httpSiblings(url.href, indexes, options) }, source, inside };
  }

  async close(): Promise<void> {
    const closed: PromiseSettledResult<void>[] = [];
    for (const close of this.#closing.splice(0).reverse()) closed.push(...await Promise.allSettled([close()]));
    for (const result of closed) if (result.status === "rejected") throw result.reason;
  }

  async #folderTargets(
    source: string,
    name: string,
    tree: StorageTree,
    above: Storage | undefined,
  ): Promise<LogTarget[]> {
    const place = placeOf(name);
    if ((await tree.list()).some(isPartitionFile)) {
      return [this.#partition(source, source, tree, place, await this.#checkpointsIn(above))];
    }
    const folders = await tree.folders();
    const partitions = folders.filter((folder) => parsePartitionFolder(folder) !== undefined);
    if (partitions.length === 0) {
      if (place !== undefined && folders.length === 0) {
        return [this.#partition(source, source, tree, place, await this.#checkpointsIn(above))];
      }
      throw await this.#notKafkas(source, folders);
    }
    const passed = folders.filter(isLeaving);
    if (passed.length > 0) {
      this.#io.err(
        `${source}: ${passed.length} folders on their way out are passed over, such as ${passed[0]}; ` +
          `name one to read it\n`,
      );
    }
    const checkpoints = await this.#checkpointsIn(tree);
    const targets: LogTarget[] = [];
    for (const folder of partitions) {
      const target = parsePartitionFolder(folder)!;
      targets.push(
        this.#partition(source, `${source}/${folder}`, await tree.folder(folder), target, checkpoints),
      );
    }
    return targets.sort(byPlace);
  }

  #partition(
    source: string,
    name: string,
    storage: Storage,
    place: TopicPartition | undefined,
    checkpointsOf: (place: TopicPartition) => PartitionCheckpoints | undefined,
  ): LogTarget {
    const checkpoints = place === undefined ? undefined : checkpointsOf(place);
    return {
      kind: "partition",
      name,
      storage,
      source,
      ...(place === undefined ? {} : { place }),
      ...(checkpoints === undefined ? {} : { checkpoints }),
    };
  }

  async #fileTargets({ inside, name, source }: NamedFile, folder: Storage): Promise<LogTarget[]> {
    const known = parseKafkaFileName(name);
    if (known !== undefined && inside === undefined) return [await this.#file(source, name, folder, known)];
    const file = await folder.open(name);
    if (await archiveFormat(file) === undefined) {
      await file.close();
      const meant = nearest(name, (await folder.list()).filter((other) => parseKafkaFileName(other) !== undefined));
      const hint = meant !== undefined
        ? `; did you mean ${meant}?`
        : isUrl(source)
        ? "; the URL of a folder ends in a slash"
        : "";
      throw new StorageError(
        `${source}: its name is none that Kafka gives, and it is no archive${hint}`,
        { code: "NOT_A_LOG", file: source },
      );
    }
    return await this.#archiveTargets({ inside, name, source }, file);
  }

  async #file(source: string, name: string, folder: Storage, file: KafkaFileName): Promise<LogTarget> {
    const storage = file.type === "log" ? await segmentAlone(folder, name, file.digits!) : folder;
    const shown = file.type === "log" ? `${file.digits}.log` : name;
    return { kind: "file", name: source, storage, source, file: shown, fileType: file.type };
  }

  async #archiveTargets({ inside, name, source }: NamedFile, file: StoredFile): Promise<LogTarget[]> {
    const { folders } = await this.#openArchive(source, file);
    const mark = isUrl(source) ? "#" : ":";
    const shown = (path: string) => path === "" ? source : `${source}${mark}${path}`;
    const targets: LogTarget[] = [];
    for (const [path, storage] of folders) {
      const [above, folder] = splitPath(path);
      if (!isInside(path, inside) || (isLeaving(folder) && path !== inside)) continue;
      if (!(await storage.list()).some(isPartitionFile)) continue;
      // At the top lie the files of one that was packed from inside; then the archive is called like it.
      const place = placeOf(path === "" ? name.replace(/\.(?:tar|tgz|zip|tar\.gz)$/i, "") : folder);
      const checkpoints = await this.#checkpointsIn(path === "" ? undefined : folders.get(above));
      targets.push(this.#partition(shown(above), shown(path), storage, place, checkpoints));
    }
    if (targets.length > 0) {
      return targets.sort((a, b) => a.source === b.source ? byPlace(a, b) : a.source < b.source ? -1 : 1);
    }
    // A file that was asked for, or the only one in a gzipped file.
    const [path, single] = splitPath(inside ?? "");
    const folder = folders.get(path);
    const names = (await folder?.list() ?? []).filter((inner) => parseKafkaFileName(inner) !== undefined);
    const found = names.find((inner) => single === "" || inner === single);
    if (folder !== undefined && found !== undefined) {
      return [
        await this.#file(shown(path === "" ? found : `${path}/${found}`), found, folder, parseKafkaFileName(found)!),
      ];
    }
    const meant = inside === undefined ? undefined : nearest(inside, folders.keys());
    throw notALog(shown(inside ?? ""), meant === undefined ? "" : `; did you mean ${shown(meant)}?`);
  }

  async #openArchive(source: string, file: StoredFile): Promise<Archive> {
    const scratch = await this.#io.temporaryFolder();
    this.#closing.push(() => scratch.remove());
    const maxInflatedBytes = this.#maxInflatedBytes();
    const progress = new Progress(this.#io, "MiB to inflate", file.size / MIB);
    let isInflated = false;
    const archive = await openArchive(file, source, {
      scratch: scratch.storage,
      inflate: this.#io.inflate,
      signal: this.#io.signal,
      onProgress: (bytes) => {
        isInflated = true;
        progress.step(bytes / MIB);
      },
      ...(maxInflatedBytes === undefined ? {} : { maxInflatedBytes }),
    });
    this.#closing.push(() => archive.close());
    if (isInflated) progress.end();
    if (archive.damage !== undefined) {
      this.damage.push(archive.damage);
      this.#io.err(`${archive.damage.message}; what lies before is read\n`);
    }
    return archive;
  }

  #maxInflatedBytes(): number | undefined {
    const text = this.#io.env["ANYKAFKA_MAX_INFLATED_BYTES"];
    if (text === undefined || text === "") return undefined;
    if (!/^\d{1,15}$/.test(text)) {
      throw new UsageError(`ANYKAFKA_MAX_INFLATED_BYTES=${text}: expected a number of bytes`);
    }
    return Number(text);
  }

  /** What a log directory says of its partitions; undefined where there is none around. */
  async #checkpointsIn(
    directory: Storage | undefined,
  ): Promise<(place: TopicPartition) => PartitionCheckpoints | undefined> {
    // The folder above may be any folder, and one that must not be looked into.
    const names = directory === undefined ? [] : await directory.list().catch(() => []);
    if (directory === undefined || !names.some((name) => DIRECTORY_TYPES.includes(parseKafkaFileName(name)?.type))) {
      return () => undefined;
    }
    try {
      return await readPartitionCheckpoints(directory, ({ file, message }) => this.#io.err(`${file}: ${message}\n`));
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.#io.err(`the checkpoints of the log directory are not used: ${error.message}\n`);
      return () => undefined;
    }
  }

  #filtered(source: string, targets: readonly LogTarget[]): LogTarget[] {
    const { topics, partitions } = this.#filter;
    if (topics.length === 0 && partitions.length === 0) return [...targets];
    const found = targets.filter(({ place }) =>
      place !== undefined && (topics.length === 0 || topics.includes(place.topic)) &&
      (partitions.length === 0 || partitions.includes(place.partition))
    );
    if (found.length > 0) return found;
    const known = [...new Set(targets.flatMap(({ place }) => place === undefined ? [] : [place.topic]))];
    const unknown = topics.find((topic) => !known.includes(topic));
    const meant = unknown === undefined ? undefined : nearest(unknown, known);
    throw new KafkaError(
      `${source}: no partition in it is one of those asked for; ` +
        (meant === undefined ? `it has ${known.slice(0, 10).join(", ") || "none"}` : `did you mean --topic ${meant}?`),
      { code: "UNKNOWN_TOPIC_OR_PARTITION" },
    );
  }

  async #notKafkas(source: string, folders: readonly string[]): Promise<StorageError> {
    for (const folder of folders.slice(0, 100)) {
      const inner = await this.#io.openPath(`${source}/${folder}`).catch(() => undefined);
      if (inner === undefined) continue;
      const isLog = (await inner.folder.list()).some(isPartitionFile) ||
        (await inner.folder.folders()).some((name) => parsePartitionFolder(name) !== undefined);
      if (isLog) return notALog(source, `; did you mean ${source}/${folder}?`);
    }
    return notALog(source, "");
  }
}

const MIB = 1024 * 1024;

/** Files that make a folder a log directory. */
const DIRECTORY_TYPES: readonly (KafkaFileType | undefined)[] = ["offset-checkpoint", "clean-shutdown"];

/** The files of one segment, with `name` under the name that a segment in use has. */
async function segmentAlone(folder: Storage, name: string, digits: string): Promise<Storage> {
  const files = new Map<string, OpenSource>();
  for (const other of await folder.list()) {
    if (other.startsWith(`${digits}.`) && other !== name) files.set(other, () => folder.open(other));
  }
  files.set(`${digits}.log`, () => folder.open(name));
  return readOnlyStorage(files, "a segment given by itself is only read");
}

/** How Kafka names a folder that it deletes or replaces: `orders-0.<32 hex>-delete`. */
const LEAVING = /\.[0-9a-f]{32}-(?:delete|future|stray)$/;

function isLeaving(folder: string): boolean {
  return LEAVING.test(folder);
}

/** The partition of a folder, also of one on its way out. */
function placeOf(folder: string): TopicPartition | undefined {
  return parsePartitionFolder(folder.replace(LEAVING, ""));
}

function isUrl(word: string): boolean {
  return /^https?:/i.test(word);
}

/** A path in an archive without slashes around it. */
function trimmed(path: string): string {
  return path.split("/").filter((part) => part !== "").join("/");
}

/** A path in an archive as the folder and the name in it. */
function splitPath(path: string): [folder: string, name: string] {
  const slash = path.lastIndexOf("/");
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
}

function isInside(path: string, folder: string | undefined): boolean {
  return folder === undefined || folder === "" || path === folder || path.startsWith(`${folder}/`);
}

function notALog(source: string, hint: string): StorageError {
  return new StorageError(
    `${source}: it holds neither segments, such as 00000000000000000000.log, nor partition folders, such as orders-0${hint}`,
    { code: "NOT_A_LOG", file: source },
  );
}

function byPlace({ place: a, name: nameA }: LogTarget, { place: b, name: nameB }: LogTarget): number {
  if (a === undefined || b === undefined || a.topic !== b.topic) {
    return (a?.topic ?? nameA) < (b?.topic ?? nameB) ? -1 : 1;
  }
  return a.partition - b.partition;
}
