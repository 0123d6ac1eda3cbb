import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../../src/core/clock.ts";

/** A file that a {@linkcode RangeServer} has. */
export interface ServedFile {
  bytes: Uint8Array;
  etag?: string;
  lastModified?: string;
}

/** A web server with files in memory that answers ranges as RFC 9110 says, until it is told otherwise. */
export class RangeServer {
  readonly files: Map<string, ServedFile> = new Map();
  /** Each request: its path and range. */
  readonly requests: string[] = [];
  readonly headers: IncomingMessage["headers"][] = [];
  /** Answers in place of the server; true when it did. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  static async start(files: Readonly<Record<string, string | Uint8Array>>): Promise<RangeServer> {
    const server = new RangeServer();
    for (const [path, content] of Object.entries(files)) {
      server.files.set(path, { bytes: typeof content === "string" ? new TextEncoder().encode(content) : content });
    }
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { range, "if-range": ifRange } = request.headers as { range?: string; "if-range"?: string };
    const path = decodeURIComponent(request.url!.replace(/\?.*$/, ""));
    this.requests.push(`${path} ${range ?? "whole"}`);
    this.headers.push(request.headers);
    if (this.intercept(request, response)) return;
    const file = this.files.get(path);
    if (file === undefined) return void response.writeHead(404).end();
    const { bytes, etag, lastModified } = file;
    if (etag !== undefined) response.setHeader("etag", etag);
    if (lastModified !== undefined) response.setHeader("last-modified", lastModified);
    const match = /^bytes=(\d+)-(\d+)$/.exec(range ?? "");
    if (match === null || (ifRange !== undefined && ifRange !== etag && ifRange !== lastModified)) {
      return void response.writeHead(200, { "content-length": bytes.length }).end(bytes);
    }
    const start = Number(match[1]);
    const end = Math.min(bytes.length, Number(match[2]) + 1);
    if (start >= bytes.length) {
      return void response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    }
    const part = bytes.subarray(start, end);
    const contentRange = `bytes ${start}-${end - 1}/${bytes.length}`;
    response.writeHead(206, { "content-range": contentRange, "content-length": part.length }).end(part);
  }
}

/** A clock on which waits between attempts take no time, and silence only what is real. `waits` tells how long they were. */
export function hastyClock(waits: number[] = []): Clock {
  return {
    now: () => performance.now(),
    wallTime: () => Date.now(),
    nextTurn: (run) => void setTimeout(run, 0),
    setTimer: (ms, run) => {
      const isWait = ms <= 10_000;
      if (isWait) waits.push(ms);
      const id = setTimeout(run, isWait ? 0 : ms);
      return { cancel: () => clearTimeout(id) };
    },
  };
}
