/**
 * Two transports that are connected in memory, with switches for what can go wrong on a network. Tests set the switches on
 * either end at any time; each acts on what is done from then on.
 *
 * @module
 */

import { concatenate } from "../bytes/concatenate.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { ConnectionError } from "../core/kafka_error.ts";
import { Queue } from "../core/queue.ts";
import { Inbox } from "./inbox.ts";
import { closedError, overlapError, type Peer, peerClosedError, peerText } from "./stream_error.ts";
import type { Transport } from "./transport.ts";

/** Settings of a pair made by {@linkcode memoryTransports}. */
export interface MemoryTransportOptions {
  /** Measures {@linkcode MemoryTransport.delayMs}. Default: the system's clock. */
  readonly clock?: Clock;
  /** Bytes that may wait for a reader; a write beyond that waits, too. Default 1 MiB. */
  readonly capacity?: number;
  /** Names of the two ends in messages. */
  readonly peers?: readonly [Peer, Peer];
}

/** How a connection breaks: with a clean end of stream, or with an error on both sides. */
export type Break = "end" | "reset";

/** One end of an in-memory connection. */
export class MemoryTransport implements Transport {
  /** Most bytes that one read answers; the rest comes with the next. */
  maxReadSize: number = Infinity;
  /** Milliseconds until bytes written on this end arrive at the other. */
  delayMs: number = 0;
  /** While true, writes on this end succeed and nothing arrives, not even that it closes: a peer that died silently. */
  halfDead: boolean = false;

  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #peer: Peer;
  readonly #inbox: Inbox = new Inbox(() => this.#other.#onPeerRead());
  readonly #transit = new Queue<() => void>();
  #other!: MemoryTransport;
  #transitSize = 0;
  #lastArrival = -Infinity;
  #writing: { resolve: () => void; reject: (error: ConnectionError) => void } | undefined;
  #cut: { left: number; how: Break } | undefined;
  /** Why writes are refused. */
  #broken: ConnectionError | undefined;
  #closed = false;

  private constructor(options: MemoryTransportOptions, peer: Peer) {
    this.#clock = options.clock ?? systemClock;
    this.#capacity = options.capacity ?? 1024 * 1024;
    this.#peer = peer;
  }

  /** Makes two connected ends. */
  static pair(options: MemoryTransportOptions = {}): [MemoryTransport, MemoryTransport] {
    const [first, second] = options.peers ?? [{ host: "memory", port: 1 }, { host: "memory", port: 2 }];
    // Each is told the name of the other.
    const pair: [MemoryTransport, MemoryTransport] = [
      new MemoryTransport(options, second),
      new MemoryTransport(options, first),
    ];
    pair[0].#other = pair[1];
    pair[1].#other = pair[0];
    return pair;
  }

  /** Whether this end was closed or the connection broke. */
  get closed(): boolean {
    return this.#closed || this.#broken !== undefined;
  }

  /** Lets `bytes` more bytes that this end writes arrive, then breaks the connection, in the middle of a write if need be. */
  cutAfter(bytes: number, how: Break = "reset"): void {
    this.#cut = { left: bytes, how };
    if (bytes === 0) this.#breakOff(how);
  }

  /** Breaks the connection now, both ways; bytes under way are lost, those that arrived can still be read. */
  reset(): void {
    for (const end of [this, this.#other]) {
      end.#transit.clear();
      end.#onReset();
    }
  }

  /** See `Transport.read`. */
  read(into: Uint8Array): Promise<number> {
    return this.#inbox.read(into.length > this.maxReadSize ? into.subarray(0, this.maxReadSize) : into);
  }

  /** See `Transport.write`. */
  write(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#closed) return Promise.reject(closedError(this.#peer));
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#writing !== undefined) return Promise.reject(overlapError("write"));
    // A copy, since the parts are the caller's again as soon as the write resolves.
    const bytes = concatenate(parts);
    if (this.halfDead || bytes.length === 0) return Promise.resolve();
    const cut = this.#cut;
    if (cut === undefined || bytes.length < cut.left) {
      if (cut !== undefined) cut.left -= bytes.length;
      this.#send(bytes);
    } else {
      this.#send(bytes.subarray(0, cut.left));
      this.#breakOff(cut.how);
      if (bytes.length > cut.left) return Promise.reject(this.#broken);
    }
    if (this.#waiting <= this.#capacity) return Promise.resolve();
    return new Promise((resolve, reject) => this.#writing = { resolve, reject });
  }

  /** Drops the connection: the other end reads what was written, then the end of the stream. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const error = closedError(this.#peer);
    this.#inbox.close(error);
    this.#refuseWrites(error);
    if (!this.halfDead) this.#carry(() => this.#other.#onPeerClosed());
  }

  /** Bytes written on this end that the other has not read. */
  get #waiting(): number {
    return this.#transitSize + this.#other.#inbox.size;
  }

  #send(bytes: Uint8Array): void {
    this.#transitSize += bytes.length;
    this.#carry(() => {
      this.#transitSize -= bytes.length;
      this.#other.#inbox.push(bytes);
      this.#onPeerRead();
    });
  }

  /** Lets `arrive` happen after the delay, never before what was sent earlier. */
  #carry(arrive: () => void): void {
    const now = this.#clock.now();
    const arrival = Math.max(now + this.delayMs, this.#lastArrival);
    if (arrival <= now && this.#transit.size === 0) return arrive();
    this.#lastArrival = arrival;
    this.#transit.push(arrive);
    this.#clock.setTimer(arrival - now, () => this.#transit.shift()?.());
  }

  #onPeerRead(): void {
    if (this.#writing === undefined || this.#waiting > this.#capacity) return;
    this.#writing.resolve();
    this.#writing = undefined;
  }

  #onPeerClosed(): void {
    this.#inbox.end();
    this.#refuseWrites(peerClosedError(this.#peer));
  }

  #breakOff(how: Break): void {
    if (how === "end") {
      this.#carry(() => this.#other.#onPeerClosed());
      this.#onPeerClosed();
    } else {
      this.#carry(() => this.#other.#onReset());
      this.#onReset();
    }
  }

  #onReset(): void {
    const error = new ConnectionError(`${peerText(this.#peer)}: the peer reset the connection`, {
      ...this.#peer,
      code: "ECONNRESET",
    });
    this.#inbox.fail(error);
    this.#refuseWrites(error);
  }

  #refuseWrites(error: ConnectionError): void {
    this.#broken ??= error;
    this.#writing?.reject(error);
    this.#writing = undefined;
  }
}

/** Makes two transports, each of which reads what the other writes. */
export function memoryTransports(options: MemoryTransportOptions = {}): [MemoryTransport, MemoryTransport] {
  return MemoryTransport.pair(options);
}
