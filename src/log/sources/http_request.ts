/**
 * One GET of a file behind a URL, with retries, a limit on silence, and errors that say which URL and what came back.
 *
 * @module
 */

import { abortError, throwIfAborted } from "../../core/abort_error.ts";
import { type Clock, sleep, systemClock } from "../../core/clock.ts";
import { AbortedError, KafkaError, StorageError } from "../../core/kafka_error.ts";
import type { Random } from "../../core/random.ts";
import { backoffMs } from "../../core/retry.ts";

/** `fetch` as far as it is needed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How files behind URLs are asked for. */
export interface HttpOptions {
  /** Asks; the runtime's `fetch` when absent. */
  readonly fetch?: Fetch;
  /** Headers for each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends what is under way and refuses what comes later. */
  readonly signal?: AbortSignal;
  /** How often a request is made again that a busy or broken server did not answer well. Default 4. */
  readonly retries?: number;
  /** How long a server may be silent, in milliseconds. Default 30 s. */
  readonly timeoutMs?: number;
  /** Measures silence and the waits between attempts. */
  readonly clock?: Clock;
  /** Varies the waits. */
  readonly random?: Random;
}

/** What a server answered. */
export interface HttpAnswer {
  /** Its status, one of those that were asked for. */
  readonly status: number;
  /** Its headers. */
  readonly headers: Headers;
  /** The URL in the end, after redirections. */
  readonly url: string;
  /** The body, unless it was not wanted. */
  readonly body: Uint8Array;
  /** Whether the body is longer than wanted; `body` is empty then. */
  readonly isTooLong: boolean;
}

/** How much of the body of an answer is wanted: at most so many bytes. */
export type WantedBody = (status: number, headers: Headers) => number;

/** Sends requests. */
export class HttpRequester {
  readonly #options: HttpOptions;
  readonly #clock: Clock;

  /** Checks nothing yet. */
  constructor(options: HttpOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Gets `url`.
   *
   * @param statuses Those that are an answer; any other is an error.
   * @throws StorageError, AbortedError.
   */
  async get(
    url: URL,
    headers: Readonly<Record<string, string>>,
    statuses: readonly number[],
    wanted: WantedBody,
  ): Promise<HttpAnswer> {
    const { retries = 4, random = Math.random, signal } = this.#options;
    for (let failures = 1;; failures++) {
      throwIfAborted(signal);
      try {
        return await this.#attempt(url, headers, statuses, wanted);
      } catch (error) {
        if (signal?.aborted) throw abortError(signal);
        if (!(error instanceof KafkaError) || !error.retriable || failures > retries) throw error;
        await sleep(this.#clock, backoffMs({ initialMs: 200, maxMs: 10_000 }, failures, random), signal);
      }
    }
  }

  async #attempt(
    url: URL,
    headers: Readonly<Record<string, string>>,
    statuses: readonly number[],
    wanted: WantedBody,
  ): Promise<HttpAnswer> {
    const watch = new Watch(this.#clock, this.#options.timeoutMs ?? 30_000, this.#options.signal);
    // Credentials in a URL are what `fetch` refuses.
    const { href, authorization } = withoutCredentials(url);
    try {
      const fetch = this.#options.fetch ?? globalThis.fetch;
      const response = await fetch(href, {
        headers: { ...authorization, "accept-encoding": "identity", ...this.#options.headers, ...headers },
        signal: watch.signal,
      });
      watch.heard();
      if (!statuses.includes(response.status)) {
        await response.body?.cancel().catch(() => {});
        throw statusError(url, response);
      }
      const limit = wanted(response.status, response.headers);
      const body = await readBody(response, limit, watch);
      const { status } = response;
      const isTooLong = body === undefined;
      return {
        status,
        headers: response.headers,
        url: response.url || href,
        body: body ?? new Uint8Array(0),
        isTooLong,
      };
    } catch (cause) {
      if (watch.isSilent) {
        throw httpError(url, "TIMED_OUT", `the server was silent for ${watch.timeoutMs} ms`, {
          retriable: true,
          cause,
        });
      }
      if (cause instanceof KafkaError) throw cause;
      throw httpError(url, networkCode(cause), `no answer: ${reasonOf(cause)}`, { retriable: true, cause });
    } finally {
      watch.end();
    }
  }
}

/** A URL for messages: its query may be a signature, and it may have a password. */
export function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** A part of a URL without its escapes; as it is where they are none. */
export function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The error for a URL: a code and a reason. */
export function httpError(
  url: URL,
  code: string,
  reason: string,
  details: { readonly retriable?: boolean; readonly cause?: unknown } = {},
): StorageError {
  const file = shownUrl(url);
  return new StorageError(`${file}: ${reason} (${code})`, { code, file, ...details });
}

/** Ends a request when nothing comes for a while, or when the caller says so. */
class Watch {
  readonly timeoutMs: number;
  isSilent = false;
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#outer?.reason);
  #timer: { cancel(): void };

  constructor(clock: Clock, timeoutMs: number, outer: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#abort, { once: true });
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.#timer.cancel();
    this.#timer = this.#start();
  }

  end(): void {
    this.#timer.cancel();
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  #start(): { cancel(): void } {
    return this.#clock.setTimer(this.timeoutMs, () => {
      this.isSilent = true;
      this.#controller.abort(new AbortedError("the server is silent"));
    });
  }
}

/** Reads at most `limit` bytes; undefined when there are more, of which no more than that is held. */
async function readBody(response: Response, limit: number, watch: Watch): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array(0);
  const told = response.headers.get("content-length");
  const isEncoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  if (told !== null && !isEncoded && Number(told) > limit) {
    await response.body.cancel().catch(() => {});
    return undefined;
  }
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    watch.heard();
    size += value.length;
    if (size > limit) {
      await reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(value);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function withoutCredentials(url: URL): { href: string; authorization: Record<string, string> } {
  if (url.username === "" && url.password === "") return { href: url.href, authorization: {} };
  const bare = new URL(url);
  bare.username = bare.password = "";
  const text = `${decodedPart(url.username)}:${decodedPart(url.password)}`;
  const bytes = new TextEncoder().encode(text);
  return { href: bare.href, authorization: { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` } };
}

function statusError(url: URL, { status, statusText }: Response): StorageError {
  const said = `the server answered ${status}${statusText === "" ? "" : ` ${statusText}`}`;
  if (status === 404 || status === 410) return httpError(url, "ENOENT", said);
  if (status === 401 || status === 403) {
    return httpError(url, "EACCES", `${said}; give credentials in the URL or in the headers`);
  }
  const retriable = status === 408 || status === 429 || status >= 500;
  return httpError(url, "HTTP_STATUS", said, { retriable });
}

/** What a runtime says of a failed connection; each has it in another place. */
function networkCode(error: unknown): string {
  for (let e = error; e instanceof Error; e = e.cause) {
    const { code } = e as { code?: unknown };
    if (typeof code === "string" && code !== "") return code;
  }
  return "HTTP_FAILED";
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
