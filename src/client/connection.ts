/**
 * One socket to one node. The connection alone reads and writes it: requests go out in the order of their calls, answers
 * come back in the same order, and {@linkcode Connection.close} or the first fault ends it in one place (`#die`), which
 * answers every waiter.
 *
 * A request that gets no answer in time ends the connection, since after a lost answer nothing that follows could be told
 * apart (producer.md: order on a connection is what correlates).
 *
 * @module
 */

import { Reader } from "../bytes/reader.ts";
import { Writer } from "../bytes/writer.ts";
import { abortError, throwIfAborted } from "../core/abort_error.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { type Deferred, deferred } from "../core/deferred.ts";
import {
  ClosedError,
  ConnectionError,
  type ErrorDetails,
  KafkaError,
  ProtocolError,
  TimeoutError,
} from "../core/kafka_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Metrics, MetricTags } from "../core/metrics.ts";
import { Queue } from "../core/queue.ts";
import type { ClientApi, Input } from "../protocol/api.ts";
import { apiVersionsApi, type ApiVersionsResponse, decodeApiVersionsResponse } from "../protocol/api_versions.ts";
import { brokerError } from "../protocol/broker_error.ts";
import { requestHeaderVersion, responseHeaderVersion } from "../protocol/header_version.ts";
import { FrameReader } from "../transport/frame_reader.ts";
import type { Connect, TlsOptions, Transport } from "../transport/transport.ts";
import { ApiVersions, type VersionRange } from "./api_versions.ts";
import { hostPortText } from "./bootstrap_servers.ts";

/** What a connection needs. */
export interface ConnectionOptions {
  /** The node in messages: `node 1 (localhost:9092)`. */
  readonly node: string;
  /** Kafka's node id, for metrics; negative for a bootstrap server. −1 when absent. */
  readonly nodeId?: number;
  /** Where it listens. */
  readonly host: string;
  /** Where it listens. */
  readonly port: number;
  /** Opens the socket. */
  readonly connect: Connect;
  /** TLS, when wanted. */
  readonly tls: boolean | TlsOptions;
  /** Sent with every request. */
  readonly clientId: string;
  /** Most milliseconds to open the socket. */
  readonly setupTimeoutMs: number;
  /** Most milliseconds to wait for an answer, unless a request says otherwise. */
  readonly requestTimeoutMs: number;
  /** Most milliseconds without a request. */
  readonly maxIdleMs: number;
  /** Largest answer in bytes. */
  readonly maxFrameSize: number;
  /** Version of ApiVersions to begin with; the highest when absent. */
  readonly firstVersion?: number | undefined;
  /** Correlation id of the first request. Default 0. */
  readonly firstCorrelationId?: number;
  /** Time. */
  readonly clock: Clock;
  /** Takes messages. */
  readonly logger: Logger;
  /** Takes figures. */
  readonly metrics: Metrics;
  /** Gives up while the connection is being set up; of no effect once it is there. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, when the connection has ended; `error` is why. */
  readonly onEnd: (connection: Connection, error: KafkaError) => void;
}

/** How one request differs from the usual. */
export interface RequestOptions {
  /** The version to write, when the body depends on it; else the highest that both sides know. */
  readonly version?: number;
  /** Most milliseconds to wait for the answer. */
  readonly timeoutMs?: number;
}

interface Waiter {
  readonly key: number;
  readonly api: string;
  readonly version: number;
  readonly correlationId: number;
  readonly start: number;
  readonly decode: (reader: Reader) => unknown;
  readonly answer: Deferred<unknown>;
  deadline: number;
  written: boolean;
}

interface Outgoing {
  readonly parts: readonly Uint8Array[];
  /** Undefined for a request that is never answered (acks=0); then `sent` tells when it is written. */
  readonly waiter: Waiter | undefined;
  readonly sent: Deferred<void> | undefined;
}

const SOFTWARE_NAME = "anykafka";
const SOFTWARE_VERSION = "0.1.0";
const UNSUPPORTED_VERSION = 35;

const CLOSED = "the broker closed the connection";
const CLOSED_HINT = "a listener for TLS or SASL does so when a client comes without";

/** Largest answer before the peer has shown that it is a broker; Kafka's own limit for what comes before a login. */
const MAX_FIRST_FRAME_SIZE = 512 * 1024;

/** Longest time that a broker can hold this side back: a quota so far exceeded, or a wrong number, must not stop it for days. */
const MAX_THROTTLE_MS = 300_000;

/**
 * From which version on a throttled answer means that the client must hold back (KIP-219); before, the broker did the
 * waiting. By API key; those up to DeleteGroups (42) that are not here from version 1 on, later ones always.
 */
const THROTTLES_FROM: ReadonlyMap<number, number> = new Map([
  [0, 6], // Produce
  [1, 8], // Fetch
  [2, 3], // ListOffsets
  [3, 6], // Metadata
  [8, 4], // OffsetCommit
  [9, 4], // OffsetFetch
  [10, 2], // FindCoordinator
  [11, 3], // JoinGroup
  [12, 2], // Heartbeat
  [13, 2], // LeaveGroup
  [14, 2], // SyncGroup
  [15, 2], // DescribeGroups
  [16, 2], // ListGroups
  [18, 2], // ApiVersions
  [19, 3], // CreateTopics
  [20, 2], // DeleteTopics
  [23, 2], // OffsetForLeaderEpoch
  [32, 2], // DescribeConfigs
]);
const LAST_UNTHROTTLED = 42;

/** One open connection, versions negotiated. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #transport: Transport;
  readonly #frames: FrameReader;
  readonly #tags: MetricTags;
  readonly #waiting = new Queue<Waiter>();
  readonly #outgoing = new Queue<Outgoing>();
  #versions: ApiVersions;
  #correlationId: number;
  /** Whether the peer has answered as Kafka does. */
  #isKafka = false;
  #writing = false;
  /** When the system must have taken what is being written, on the clock's scale. */
  #writeDeadline = Infinity;
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #lastUsed: number;
  #throttledUntil = 0;
  #throttleTimer: Timer | undefined;
  #ended: KafkaError | undefined;

  private constructor(options: ConnectionOptions, transport: Transport) {
    this.#options = options;
    this.#transport = transport;
    this.#frames = new FrameReader(transport, {
      maxFrameSize: Math.min(options.maxFrameSize, MAX_FIRST_FRAME_SIZE),
      peer: hostPortText(options),
    });
    this.#correlationId = options.firstCorrelationId ?? 0;
    this.#tags = { "client-id": options.clientId, "node-id": `node-${options.nodeId ?? -1}` };
    this.#lastUsed = options.clock.now();
    this.#versions = new ApiVersions(options.node, new Map(), new Map());
    void this.#readLoop();
    this.#watch(this.#lastUsed + options.maxIdleMs);
  }

  /**
   * Connects and asks the node for its versions.
   *
   * @throws ConnectionError or TimeoutError (retriable); ProtocolError when the peer is no Kafka broker.
   */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options, await openTransport(options));
    options.metrics.count("connection-creation-total", 1, connection.#tags);
    const { signal } = options;
    const abort = () => connection.#die(abortError(signal!));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      throwIfAborted(signal);
      await connection.#negotiate();
    } catch (cause) {
      connection.#die(asKafkaError(cause, options));
      throw cause;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    return connection;
  }

  /** What the node can speak. */
  get versions(): ApiVersions {
    return this.#versions;
  }

  /** Requests sent or queued and not answered. */
  get inFlight(): number {
    return this.#waiting.size;
  }

  /** Why the connection ended; undefined while it lives. */
  get ended(): KafkaError | undefined {
    return this.#ended;
  }

  /** When the broker allows the next request, on the clock's scale (KIP-219). */
  get throttledUntil(): number {
    return this.#throttledUntil;
  }

  /**
   * Sends a request and resolves to its answer.
   *
   * @throws UnsupportedVersionError before anything is sent; TimeoutError, ConnectionError or ClosedError with an outcome.
   */
  async request<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, options: RequestOptions = {}): Promise<Res> {
    const version = options.version ?? this.#versions.pick(api);
    return await this.#call(api, body, version, (reader) => api.decodeResponse(reader, version), options.timeoutMs);
  }

  /** Sends a request that is never answered (Produce with acks=0); resolves when the socket has taken it. */
  async post<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, options: RequestOptions = {}): Promise<void> {
    const version = options.version ?? this.#versions.pick(api);
    this.#throwIfEnded();
    const parts = this.#encode(api, body, version, this.#nextCorrelationId());
    const sent = deferred<void>();
    this.#send({ parts, waiter: undefined, sent }, sizeOf(parts));
    await sent.promise;
  }

  /** Ends the connection; what waits is rejected with a ClosedError, or with `reason`. Safe to repeat. */
  close(reason?: KafkaError): void {
    this.#die(reason ?? new ClosedError(`${this.#options.node}: connection closed by the client`));
  }

  #call<Req, Res>(
    api: ClientApi<Req, Res>,
    body: Input<Req>,
    version: number,
    decode: (reader: Reader) => Res,
    timeoutMs = this.#options.requestTimeoutMs,
  ): Promise<Res> {
    this.#throwIfEnded();
    const now = this.#options.clock.now();
    const correlationId = this.#nextCorrelationId();
    const parts = this.#encode(api, body, version, correlationId);
    const waiter: Waiter = {
      key: api.key,
      api: api.name,
      version,
      correlationId,
      start: now,
      decode: (reader) => {
        if (responseHeaderVersion(api, version) > 0) reader.skipTags();
        return decode(reader);
      },
      answer: deferred<unknown>(),
      deadline: Math.max(now, this.#throttledUntil) + timeoutMs,
      written: false,
    };
    this.#waiting.push(waiter);
    this.#watch(waiter.deadline);
    this.#send({ parts, waiter, sent: undefined }, sizeOf(parts));
    return waiter.answer.promise as Promise<Res>;
  }

  #encode<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, version: number, correlationId: number): Uint8Array[] {
    const writer = new Writer();
    writer.int32(0); // the frame's length, known at the end
    writer.int16(api.key);
    writer.int16(version);
    writer.int32(correlationId);
    writer.text(this.#options.clientId, false);
    if (requestHeaderVersion(api, version) > 1) writer.unsignedVarint(0); // no tagged fields
    api.encodeRequest(writer, body, version);
    const size = writer.size - 4;
    const parts = writer.finish();
    writer.setFirstInt32(size);
    return parts;
  }

  #nextCorrelationId(): number {
    const id = this.#correlationId;
    this.#correlationId = (id + 1) & 0x7fffffff;
    return id;
  }

  #send(outgoing: Outgoing, size: number): void {
    const { clock, metrics } = this.#options;
    this.#lastUsed = clock.now();
    metrics.count("request-total", 1, this.#tags);
    metrics.observe("request-size", size, this.#tags);
    metrics.count("outgoing-byte-total", size, this.#tags);
    this.#outgoing.push(outgoing);
    if (!this.#writing) void this.#writeLoop();
  }

  /** Writes what waits, all of it in one call to the transport: requests that come while it writes go together. */
  async #writeLoop(): Promise<void> {
    this.#writing = true;
    try {
      while (this.#outgoing.size > 0 && this.#ended === undefined) {
        const wait = this.#throttledUntil - this.#options.clock.now();
        if (wait > 0) {
          this.#throttleTimer = this.#options.clock.setTimer(wait, () => void this.#writeLoop());
          return;
        }
        const group: Outgoing[] = [];
        const parts: Uint8Array[] = [];
        for (let next = this.#outgoing.shift(); next !== undefined; next = this.#outgoing.shift()) {
          if (next.waiter !== undefined) next.waiter.written = true;
          group.push(next);
          for (const part of next.parts) parts.push(part);
        }
        // Requests that want no answer have no deadline of their own, and a peer that does not read must not hold them for ever.
        this.#writeDeadline = this.#options.clock.now() + group.length * this.#options.requestTimeoutMs;
        this.#watch(this.#writeDeadline);
        try {
          await this.#transport.write(parts);
          this.#writeDeadline = Infinity;
        } catch (cause) {
          const error = asKafkaError(cause, this.#options);
          for (const { sent } of group) sent?.reject(this.#withOutcome(error, "a request", true));
          throw cause;
        }
        for (const { sent } of group) sent?.resolve();
      }
      this.#writing = false;
    } catch (cause) {
      this.#writing = false;
      this.#die(asKafkaError(cause, this.#options));
    }
  }

  async #readLoop(): Promise<void> {
    try {
      for (;;) {
        const frame = await this.#frames.next();
        if (frame === null) throw this.#error(this.#isKafka ? CLOSED : `${CLOSED} before it answered; ${CLOSED_HINT}`);
        this.#take(frame);
      }
    } catch (cause) {
      this.#die(asKafkaError(this.#isKafka ? asGarbled(cause) : cause, this.#options));
    }
  }

  #take(frame: Uint8Array): void {
    const waiter = this.#waiting.shift();
    const reader = new Reader(frame, waiter === undefined ? "answer" : `${waiter.api} v${waiter.version} answer`);
    const correlationId = reader.int32();
    if (waiter === undefined || waiter.correlationId !== correlationId) {
      if (waiter !== undefined) this.#waiting.unshift(waiter);
      const expected = waiter === undefined ? "none" : String(waiter.correlationId);
      throw this.#protocolError(`answer with correlation id ${correlationId} where ${expected} was due`);
    }
    let answer: unknown;
    try {
      answer = waiter.decode(reader);
    } catch (cause) {
      this.#waiting.unshift(waiter);
      throw cause instanceof KafkaError
        ? this.#protocolError(cause.message, { cause })
        : this.#protocolError(`${waiter.api} v${waiter.version} answer could not be read`, { cause });
    }
    const now = this.#options.clock.now();
    this.#throttle(waiter, answer, now);
    const { metrics } = this.#options;
    metrics.count("response-total", 1, this.#tags);
    metrics.count("incoming-byte-total", frame.length + 4, this.#tags);
    metrics.observe("request-latency", now - waiter.start, this.#tags);
    this.#isKafka = true;
    waiter.answer.resolve(answer);
  }

  /** Holds further requests back for as long as the answer says, and gives those in flight that much more time. */
  #throttle({ key, version }: Waiter, answer: unknown, now: number): void {
    const { throttleTimeMs } = answer as { throttleTimeMs?: unknown };
    if (typeof throttleTimeMs !== "number" || throttleTimeMs <= 0) return;
    if (version < (THROTTLES_FROM.get(key) ?? (key <= LAST_UNTHROTTLED ? 1 : 0))) return;
    const ms = Math.min(throttleTimeMs, MAX_THROTTLE_MS);
    for (const other of this.#waiting) other.deadline += ms;
    this.#throttledUntil = Math.max(this.#throttledUntil, now + ms);
  }

  async #negotiate(): Promise<void> {
    let version = this.#options.firstVersion ?? apiVersionsApi.maxVersion;
    for (;;) {
      const answer = await this.#askVersions(version);
      if (answer.errorCode === 0) {
        const ranges = new Map(answer.apiKeys.map((api) => [api.apiKey, { min: api.minVersion, max: api.maxVersion }]));
        const features = new Map((answer.finalizedFeatures ?? []).map((f) => [f.name, f.maxVersionLevel]));
        this.#versions = new ApiVersions(this.#options.node, ranges, features);
        this.#frames.maxFrameSize = this.#options.maxFrameSize;
        return;
      }
      const lower = fallbackVersion(answer, version);
      if (lower === undefined) throw brokerError(answer.errorCode, `${this.#options.node}: ApiVersions v${version}`);
      version = lower;
    }
  }

  #askVersions(version: number): Promise<ApiVersionsResponse> {
    return this.#call(
      apiVersionsApi,
      { clientSoftwareName: SOFTWARE_NAME, clientSoftwareVersion: SOFTWARE_VERSION },
      version,
      (reader) => {
        // A broker that does not know the version answers in the form of version 0, whatever was asked.
        const start = reader.position;
        const unknown = reader.int16() === UNSUPPORTED_VERSION;
        reader.position = start;
        return decodeApiVersionsResponse(reader, unknown ? 0 : version);
      },
    );
  }

  /** Makes sure that the timer fires by `at`. It is left alone when it fires earlier: then it is set anew. */
  #watch(at: number): void {
    if (at >= this.#timerAt || this.#ended !== undefined) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#options.clock.setTimer(at - this.#options.clock.now(), () => {
      // After a blocked event loop timers run before the sockets are read: what has arrived meanwhile counts.
      this.#options.clock.nextTurn(() => this.#check());
    });
  }

  #check(): void {
    if (this.#ended !== undefined) return;
    const now = this.#options.clock.now();
    let next = Infinity;
    for (const waiter of this.#waiting) {
      if (waiter.deadline <= now) {
        const ms = Math.round(now - waiter.start);
        return this.#die(this.#timeout(`no answer to ${waiter.api} v${waiter.version} within ${ms} ms`));
      }
      next = Math.min(next, waiter.deadline);
    }
    if (this.#writeDeadline <= now) {
      return this.#die(this.#timeout(`the broker took no requests for ${this.#options.requestTimeoutMs} ms or more`));
    }
    const isIdle = this.#waiting.size === 0 && this.#outgoing.size === 0 && this.#writeDeadline === Infinity;
    const idleEnd = this.#lastUsed + this.#options.maxIdleMs;
    if (isIdle && idleEnd <= now) {
      return this.#die(this.#error("closed after being idle", { code: "CONNECTION_IDLE" }));
    }
    this.#timerAt = Infinity;
    this.#watch(isIdle ? idleEnd : Math.min(next, this.#writeDeadline));
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#withOutcome(this.#ended, "a request", false);
  }

  /** The only place where a connection ends. */
  #die(error: KafkaError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#timer?.cancel();
    this.#throttleTimer?.cancel();
    this.#transport.close();
    for (const { waiter, sent } of this.#outgoing) {
      if (waiter === undefined) sent!.reject(this.#withOutcome(error, "a request", false));
    }
    this.#outgoing.clear();
    for (let waiter = this.#waiting.shift(); waiter !== undefined; waiter = this.#waiting.shift()) {
      waiter.answer.reject(this.#withOutcome(error, waiter.api, waiter.written));
    }
    this.#options.metrics.count("connection-close-total", 1, this.#tags);
    this.#options.logger.debug(`${this.#options.node}: connection ended: ${error.message}`, { code: error.code });
    this.#options.onEnd(this, error);
  }

  /** `error` as one waiter sees it: with what is known of its own request. */
  #withOutcome(error: KafkaError, api: string, written: boolean): KafkaError {
    const Kind = [TimeoutError, ClosedError, ProtocolError].find((kind) => error instanceof kind) ?? ConnectionError;
    const fate = written ? "was sent and not answered" : "was not sent";
    return new Kind(`${error.message} (${api} ${fate})`, {
      code: error.code,
      retriable: error.retriable,
      outcome: written ? "unknown" : "not-written",
      host: this.#options.host,
      port: this.#options.port,
      cause: error,
    });
  }

  #error(reason: string, details: ErrorDetails = {}): ConnectionError {
    const { node, host, port } = this.#options;
    return new ConnectionError(`${node}: ${reason}`, { code: "CONNECTION_CLOSED", host, port, ...details });
  }

  #timeout(reason: string): TimeoutError {
    const { node, host, port } = this.#options;
    return new TimeoutError(`${node}: ${reason}`, { code: "REQUEST_TIMED_OUT", host, port });
  }

  #protocolError(reason: string, details: ErrorDetails = {}): ProtocolError {
    const { node, host, port } = this.#options;
    // Retriable: a garbled answer says nothing about what the next connection will bring.
    return new ProtocolError(`${node}: ${reason}`, { host, port, retriable: true, ...details });
  }
}

/** What is wrong with a frame of a peer that spoke Kafka before: the next connection may well be right. */
function asGarbled(cause: unknown): unknown {
  if (!(cause instanceof ProtocolError) || cause.retriable) return cause;
  const { code, host, port, message } = cause;
  return new ProtocolError(message, { code, host, port, retriable: true, cause });
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

async function openTransport(options: ConnectionOptions): Promise<Transport> {
  const { node, host, port, clock, setupTimeoutMs, tls } = options;
  const controller = new AbortController();
  const timer = clock.setTimer(setupTimeoutMs, () => {
    controller.abort(
      new TimeoutError(`${node}: no connection within ${setupTimeoutMs} ms`, {
        code: "CONNECTION_SETUP_TIMED_OUT",
        host,
        port,
      }),
    );
  });
  try {
    return await options.connect(host, port, { signal: controller.signal, tls });
  } catch (cause) {
    throw controller.signal.aborted ? controller.signal.reason : asKafkaError(cause, options);
  } finally {
    timer.cancel();
  }
}

/** The version of ApiVersions to try after the broker refused `asked`; undefined when there is none left. */
function fallbackVersion(answer: ApiVersionsResponse, asked: number): number | undefined {
  if (answer.errorCode !== UNSUPPORTED_VERSION || asked === 0) return undefined;
  const range: VersionRange | undefined = answer.apiKeys
    .map((api) => ({ key: api.apiKey, min: api.minVersion, max: api.maxVersion }))
    .find((api) => api.key === apiVersionsApi.key);
  // Kafka 2.4 and later list what they know; older ones list nothing and know version 0.
  return range !== undefined && range.max < asked ? range.max : 0;
}

function asKafkaError(cause: unknown, { node, host, port }: ConnectionOptions): KafkaError {
  if (cause instanceof KafkaError) return cause;
  return new ConnectionError(`${node}: ${cause instanceof Error ? cause.message : cause}`, { cause, host, port });
}
