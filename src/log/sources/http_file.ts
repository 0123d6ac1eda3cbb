/**
 * A file behind a URL, read by ranges.
 *
 * @module
 */

import type { StoredFile } from "../storage.ts";
import { type HttpAnswer, httpError, type HttpRequester, shownUrl } from "./http_request.ts";
import { type ByteSource, readOnlyFile } from "./read_only_storage.ts";
import { type WindowCache, WindowedSource } from "./window_cache.ts";

/** What is read with the first request, which tells the size as well. */
const HEAD_BYTES = 64 * 1024;
const [OK, PARTIAL, UNSATISFIABLE] = [200, 206, 416];

/** Why nothing can be written. */
export const HTTP_WHY = "a file behind a URL is only read";

/** How a file behind a URL is read. */
export interface HttpReading {
  /** Sends the requests. */
  readonly requester: HttpRequester;
  /** Keeps what was read ahead. */
  readonly cache: WindowCache;
  /** Most bytes of a file that is read whole, where the server knows no ranges. */
  readonly maxWholeBytes: number;
}

/** Opens the file at `url`. @throws StorageError, AbortedError. */
export async function openHttpFile(url: URL, reading: HttpReading): Promise<StoredFile> {
  return readOnlyFile(shownUrl(url), await openHttpSource(url, reading), HTTP_WHY);
}

/** Opens the bytes at `url`. @throws StorageError, AbortedError. */
export async function openHttpSource(url: URL, { requester, cache, maxWholeBytes }: HttpReading): Promise<ByteSource> {
  const answer = await requester.get(
    url,
    { range: `bytes=0-${HEAD_BYTES - 1}` },
    [OK, PARTIAL, UNSATISFIABLE],
    (status) => status === OK ? maxWholeBytes : status === PARTIAL ? HEAD_BYTES : 0,
  );
  const range = rangeOf(answer);
  if (answer.status === UNSATISFIABLE) {
    if (range?.total !== 0) throw httpError(url, "HTTP_STATUS", "the server refuses the first bytes of it");
    return new WindowedSource(0, () => Promise.resolve(new Uint8Array(0)), cache);
  }
  if (answer.status === OK) {
    if (answer.isTooLong) {
      throw httpError(
        url,
        "NO_RANGES",
        `the server gives no part of a file, and it is larger than maxWholeBytes=${maxWholeBytes}; ` +
          "raise that, use a server that knows range requests, or download it first",
      );
    }
    return new WholeSource(answer.body);
  }
  if (range === undefined || range.total === undefined || range.start !== 0 || answer.isTooLong) {
    throw httpError(url, "HTTP_RANGE", `the server's content-range is ${answer.headers.get("content-range")}`);
  }
  if ((answer.headers.get("content-encoding") ?? "identity") !== "identity") {
    throw httpError(url, "HTTP_RANGE", "the server gives parts of it compressed, where no byte has its place");
  }
  const file = new HttpFile(url, requester, range.total, answer.headers);
  return new WindowedSource(range.total, (start, end) => file.fetch(start, end), cache, answer.body);
}

class WholeSource implements ByteSource {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  readAt(into: Uint8Array, position: number): Promise<number> {
    const part = this.#bytes.subarray(position, position + into.length);
    into.set(part);
    return Promise.resolve(part.length);
  }
}

/** The file as it was when it was opened. */
class HttpFile {
  readonly #url: URL;
  readonly #requester: HttpRequester;
  readonly #size: number;
  readonly #etag: string | null;
  readonly #condition: Record<string, string>;

  constructor(url: URL, requester: HttpRequester, size: number, headers: Headers) {
    this.#url = url;
    this.#requester = requester;
    this.#size = size;
    this.#etag = headers.get("etag");
    const validator = this.#etag === null || this.#etag.startsWith("W/") ? headers.get("last-modified") : this.#etag;
    this.#condition = validator === null ? {} : { "if-range": validator };
  }

  /** The bytes from `start` to `end`, in more than one request where the server gives less. */
  async fetch(start: number, end: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(end - start);
    let stalled = 0;
    for (let at = start; at < end;) {
      const part = await this.#part(at, end);
      bytes.set(part, at - start);
      at += part.length;
      stalled = part.length === 0 ? stalled + 1 : 0;
      if (stalled > 3) throw httpError(this.#url, "HTTP_RANGE", `the server gives no byte at ${at}`);
    }
    return bytes;
  }

  async #part(start: number, end: number): Promise<Uint8Array> {
    const answer = await this.#requester.get(
      this.#url,
      { range: `bytes=${start}-${end - 1}`, ...this.#condition },
      [OK, PARTIAL, UNSATISFIABLE],
      (status) => status === PARTIAL ? end - start : 0,
    );
    const range = rangeOf(answer);
    const etag = answer.headers.get("etag");
    // With If-Range a part is an answer of the same file; some servers leave the ETag out of it.
    const isSame = answer.status === PARTIAL && range?.total === this.#size && (etag ?? this.#etag) === this.#etag;
    if (!isSame) {
      throw httpError(this.#url, "FILE_CHANGED", "it changed since it was opened; open it again");
    }
    if (range!.start !== start || answer.isTooLong) {
      throw httpError(this.#url, "HTTP_RANGE", `byte ${start} was asked for, and byte ${range!.start} came`);
    }
    return answer.body;
  }
}

interface ContentRange {
  readonly start: number;
  readonly total: number | undefined;
}

function rangeOf(answer: HttpAnswer): ContentRange | undefined {
  const match = /^bytes (?:(\d{1,16})-\d{1,16}|\*)\/(\d{1,16}|\*)$/.exec(answer.headers.get("content-range") ?? "");
  if (match === null) return undefined;
  const total = match[2] === "*" ? undefined : Number(match[2]);
  if (total !== undefined && !Number.isSafeInteger(total)) return undefined;
  return { start: Number(match[1] ?? NaN), total };
}
