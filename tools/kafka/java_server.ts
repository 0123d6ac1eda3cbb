/**
 * The caller's side of `java/JavaServer.java`: one connection a run.
 *
 * @module
 */
import fs from "node:fs";
import net from "node:net";
import { host } from "./cluster_layout.ts";
import { LauncherError } from "./launcher_error.ts";

/** What a Java tool left behind. */
export interface ToolResult {
  /** Its exit code. */
  readonly code: number;
  /** Everything it printed to standard output. */
  readonly stdout: string;
  /** Everything it printed to standard error. */
  readonly stderr: string;
}

/** How to run a Java tool. */
export interface ToolOptions {
  /** Its standard input; empty when left out. */
  readonly stdin?: Uint8Array | string;
  /** Fails after this time. Default: 120,000. */
  readonly timeoutMs?: number;
}

/** Where a Java server listens. */
export interface JavaServerAddress {
  /** Its port on loopback. */
  readonly port: number;
  /** Proof that the caller may read the cluster's directory. */
  readonly token: string;
}

/** The address a Java server wrote into `file`, or undefined when there is none. */
export function readJavaServerAddress(file: string): JavaServerAddress | undefined {
  try {
    const [port, token] = fs.readFileSync(file, "utf8").split(" ");
    return { port: Number(port), token: token! };
  } catch {
    return undefined;
  }
}

/** Runs one tool; undefined when no server answers there (any more), so that nothing was run. */
export function callJavaServer(
  address: JavaServerAddress,
  className: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult | undefined> {
  return new Promise((resolve, reject) => {
    const what = [className, ...args].join(" ").slice(0, 200);
    const { timeoutMs = 120_000 } = options;
    const answer = new AnswerFrames();
    let connected = false;
    let done = false;
    const socket = net.connect(address.port, host);
    const end = (settle: () => void): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      socket.destroy();
      settle();
    };
    const timer = setTimeout(() => {
      end(() =>
        reject(
          new LauncherError(`${what} did not end within ${timeoutMs} ms; until then it printed:\n${answer.text()}`),
        )
      );
    }, timeoutMs);
    socket.on("connect", () => {
      connected = true;
      const request = Buffer.from(JSON.stringify({ token: address.token, class: className, arguments: args }));
      const stdin = Buffer.from(options.stdin ?? "");
      socket.write(Buffer.concat([int32(request.length), request, int32(stdin.length), stdin]));
    });
    socket.on("data", (chunk: Uint8Array) => {
      const result = answer.add(chunk);
      if (result !== undefined) end(() => resolve(result));
    });
    socket.on("error", (cause) => {
      if (!connected) end(() => resolve(undefined));
      else {end(() =>
          reject(new LauncherError(`${what}: the connection to the Java server failed: ${cause.message}`, { cause }))
        );}
    });
    socket.on("close", () => {
      end(() =>
        reject(new LauncherError(`${what} ended the Java server, or its token is wrong; it printed:\n${answer.text()}`))
      );
    });
  });
}

/** Puts the frames of an answer together. */
class AnswerFrames {
  #pending: Buffer[] = [];
  #size = 0;
  /** Bytes that are needed before looking again, so that a frame in many chunks is joined once. */
  #needed = 5;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];

  add(chunk: Uint8Array): ToolResult | undefined {
    this.#pending.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#size += chunk.byteLength;
    while (this.#size >= this.#needed) {
      const bytes = Buffer.concat(this.#pending);
      const length = bytes.readInt32BE(1);
      if (bytes.length < 5 + length) {
        this.#pending = [bytes];
        this.#needed = 5 + length;
        return undefined;
      }
      const body = bytes.subarray(5, 5 + length);
      const kind = String.fromCharCode(bytes[0]!);
      if (kind === "x") return { code: body.readInt32BE(0), stdout: text(this.#stdout), stderr: text(this.#stderr) };
      (kind === "o" ? this.#stdout : this.#stderr).push(body);
      this.#pending = [bytes.subarray(5 + length)];
      this.#size = bytes.length - 5 - length;
      this.#needed = 5;
    }
    return undefined;
  }

  text(): string {
    return text(this.#stdout) + text(this.#stderr);
  }
}

function text(parts: readonly Buffer[]): string {
  return Buffer.concat(parts).toString("utf8");
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
