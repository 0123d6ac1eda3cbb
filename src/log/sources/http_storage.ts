/**
 * Files behind URLs: a read-only storage over HTTP range requests, in any runtime with `fetch`.
 *
 * A file that changed since it was opened is an error with code `"FILE_CHANGED"`, told by its ETag, date or size. A server
 * that knows no ranges is good for small files alone, which are read whole. What is read ahead is bounded for all files
 * of a storage together.
 *
 * ```ts no-run
 * import { Log } from "@anykafka/kafka/log";
 * import { httpStorage } from "@anykafka/kafka/storage-http";
 *
 * const tree = await httpStorage("https://backups.example/monday/");
 * const log = await Log.open(await tree.folder("orders-0"), { mode: "inspect" });
 * ```
 *
 * @module
 */

import { ConfigError, StorageError } from "../../core/kafka_error.ts";
import { checkFileName, type Storage, type StorageTree, type StoredFile } from "../storage.ts";
import { HTTP_WHY, type HttpReading, openHttpFile, openHttpSource } from "./http_file.ts";
import { decodedPart, httpError, type HttpOptions, HttpRequester } from "./http_request.ts";
import { type OpenSource, readOnlyTree } from "./read_only_storage.ts";
import { WindowCache } from "./window_cache.ts";

export type { Clock, Timer } from "../../core/clock.ts";
export type { Random } from "../../core/random.ts";
export type { Fetch, HttpOptions } from "./http_request.ts";
export type { Storage, StorageTree, StoredFile } from "../storage.ts";

/** How files behind URLs are read. */
export interface HttpStorageOptions extends HttpOptions {
  /** Most bytes that are read ahead and kept, all files together. Default 16 MiB. */
  readonly cacheBytes?: number;
  /** Most bytes of a file that is read whole, where the server knows no range requests. Default 64 MiB. */
  readonly maxWholeBytes?: number;
}

/** How a folder behind a URL is read. */
export interface HttpFolderOptions extends HttpStorageOptions {
  /** Names of the files in it, where they are known, so that no listing is needed; it then has no folders. */
  readonly files?: readonly string[];
}

const MIB = 1024 * 1024;
/** Most bytes of a listing. */
const MAX_LISTING = 16 * MIB;
const OK = 200;

/** The file at `url`. @throws StorageError; ConfigError when it is no URL. */
export async function httpFile(url: string, options: HttpStorageOptions = {}): Promise<StoredFile> {
  return await openHttpFile(parseUrl(url), readingOf(options));
}

/**
 * The folder at `url`.
 *
 * HTTP itself cannot list a folder. Without `files` the page at the URL must do so, as nginx, Apache, Caddy or Python's
 * server make one: names are the links on it that lead into the folder, or the entries of nginx's JSON.
 *
 * @throws StorageError; ConfigError when it is no URL.
 */
export async function httpStorage(url: string, options: HttpFolderOptions = {}): Promise<StorageTree> {
  return await folderAt(asFolder(parseUrl(url)), readingOf(options), options.files);
}

/**
 * The files beside the one at `url` that `names` may be, and that are there; each is asked for.
 *
 * @throws StorageError, also when the one at `url` itself is not there.
 */
export async function httpSiblings(
  url: string,
  names: readonly string[],
  options: HttpStorageOptions = {},
): Promise<StorageTree> {
  const parsed = parseUrl(url);
  const reading = readingOf(options);
  const files = new Map<string, OpenSource>();
  const name = lastName(parsed);
  for (const sibling of [name, ...names]) {
    const place = new URL(parsed);
    place.pathname = place.pathname.replace(/[^/]*$/, encodeURIComponent(sibling));
    const open = () => openHttpSource(place, reading);
    if (sibling === name || await isThere(open)) files.set(sibling, open);
  }
  return readOnlyTree(files, new Map(), HTTP_WHY);
}

/** The last part of the path of a URL, decoded. */
export function lastName(url: URL): string {
  return decodedPart(url.pathname.replace(/\/$/, "").split("/").at(-1)!);
}

/** Reads `text` as the URL of a web server. @throws ConfigError */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new ConfigError(
    `${text.replace(/\?.*/, "")}: it is no URL of a web server, which begins with http:// or https://`,
  );
}

function readingOf(options: HttpStorageOptions): HttpReading {
  return {
    requester: new HttpRequester(options),
    cache: new WindowCache(options.cacheBytes ?? 16 * MIB),
    maxWholeBytes: options.maxWholeBytes ?? 64 * MIB,
  };
}

async function folderAt(url: URL, reading: HttpReading, known?: readonly string[]): Promise<StorageTree> {
  const { base, names } = known === undefined ? await listing(url, reading) : { base: url, names: known };
  const files = new Map<string, OpenSource>();
  const folders = new Map<string, () => Promise<Storage>>();
  for (const name of names) {
    if (name.endsWith("/")) {
      const folder = name.slice(0, -1);
      folders.set(folder, () => folderAt(asFolder(within(base, folder)), reading));
    } else {
      checkFileName(name);
      files.set(name, () => openHttpSource(within(base, name), reading));
    }
  }
  return readOnlyTree(files, folders, HTTP_WHY);
}

async function isThere(open: OpenSource): Promise<boolean> {
  try {
    await (await open()).close?.();
    return true;
  } catch (error) {
    // Stores that may not be listed answer 403 for what is not there.
    if (error instanceof StorageError && (error.code === "ENOENT" || error.code === "EACCES")) return false;
    throw error;
  }
}

/** The names on the page at `url`, those of folders with a slash behind, and where they lie. */
async function listing(url: URL, { requester }: HttpReading): Promise<{ base: URL; names: string[] }> {
  const answer = await requester.get(url, { accept: "text/html,application/json" }, [OK], () => MAX_LISTING);
  const type = answer.headers.get("content-type") ?? "";
  if (answer.isTooLong) throw httpError(url, "NO_LISTING", `the listing is longer than ${MAX_LISTING} bytes`);
  const text = new TextDecoder().decode(answer.body);
  const base = asFolder(new URL(answer.url));
  const names = /json/.test(type) ? namesInJson(text) : /html/.test(type) ? namesInHtml(text, base) : undefined;
  if (names !== undefined) return { base, names };
  throw httpError(
    url,
    "NO_LISTING",
    `the server lists no folder there, it gives ${type === "" ? "something of no type" : type}; ` +
      "name single files or an archive, or download the folder first",
  );
}

/** Entries as nginx and Caddy write them: `[{"name":"orders-0","type":"directory"}, …]`. */
function namesInJson(text: string): string[] | undefined {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(entries)) return undefined;
  const names = new Set<string>();
  for (const entry of entries as unknown[]) {
    if (typeof entry !== "object" || entry === null) continue;
    const { name, type, is_dir } = entry as { name?: unknown; type?: unknown; is_dir?: unknown };
    if (typeof name !== "string") continue;
    const plain = name.replace(/\/$/, "");
    if (isFileName(plain)) names.add(type === "directory" || is_dir === true ? `${plain}/` : plain);
  }
  return [...names];
}

// Neither can run over the next tag, so that a page of nothing but `<a` takes no more than its length.
const LINK = /<a\s([^<>]{1,4000})>/gi;
const HREF = /(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i;

/** Links that lead one step into the folder at `base`. */
function namesInHtml(text: string, base: URL): string[] {
  const names = new Set<string>();
  for (const [, attributes] of text.matchAll(LINK)) {
    const [, double, single, bare] = HREF.exec(attributes!) ?? [];
    const href = (double ?? single ?? bare ?? "").replaceAll("&amp;", "&");
    if (!URL.canParse(href, base.href)) continue;
    const { origin, pathname } = new URL(href, base.href);
    if (origin !== base.origin || !pathname.startsWith(base.pathname)) continue;
    const rest = pathname.slice(base.pathname.length);
    const name = decodedPart(rest.replace(/\/$/, ""));
    if (isFileName(name)) names.add(rest.endsWith("/") ? `${name}/` : name);
  }
  return [...names];
}

function isFileName(name: string): boolean {
  try {
    checkFileName(name);
    return true;
  } catch {
    return false;
  }
}

function within(base: URL, name: string): URL {
  const url = new URL(base);
  url.pathname += encodeURIComponent(name);
  return url;
}

function asFolder(url: URL): URL {
  const folder = new URL(url);
  if (!folder.pathname.endsWith("/")) folder.pathname += "/";
  return folder;
}
