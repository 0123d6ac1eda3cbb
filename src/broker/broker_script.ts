/**
 * What goes wrong with an embedded broker, written down beforehand: the third Produce is answered with an error although it
 * was carried out, a connection ends in the middle of an answer, a node falls silent. Programs test their fault handling
 * with it, and this library tests its own.
 *
 * @module
 */

import { concatenate } from "../bytes/concatenate.ts";
import { type Clock, sleep } from "../core/clock.ts";
import type { BrokerError } from "../core/kafka_error.ts";
import { refusal } from "./refusal.ts";

/** One fault and the requests that it strikes. Without any effect named, it only counts them. */
export interface BrokerFault {
  /** Kafka's name of the API, `"Produce"`; every API when absent. */
  readonly api?: string;
  /** Only requests to this node. */
  readonly node?: number;
  /** Only requests that name this topic; an `error` then strikes its partitions and no others. */
  readonly topic?: string;
  /** Only requests that name this partition (of `topic`, if that is given). */
  readonly partition?: number;
  /** Any further condition; asked for requests that fit the rest. */
  readonly if?: (request: BrokerRequest) => boolean;
  /** The first request to strike, counting from 1 those that fit. Default 1. */
  readonly nth?: number;
  /** How many from that one on. Default 1. */
  readonly times?: number;
  /** Whether it strikes in place of carrying the request out, or after that. Default `"before"`. */
  readonly when?: "before" | "after";
  /** Kafka's name of the error to answer: `"NOT_ENOUGH_REPLICAS"`. */
  readonly error?: string;
  /** Milliseconds to wait: before the request is carried out, or before it is answered, as `when` says. */
  readonly delayMs?: number;
  /** Ends the connection instead of answering. */
  readonly disconnect?: boolean;
  /** Answers nothing any more on this connection, carries nothing out on it, and leaves it open. */
  readonly silence?: boolean;
  /** Bytes of the answer, its length included, that still go out before the connection ends. */
  readonly cutAt?: number;
  /** Changes the answer's bytes, its length included: one byte, or by a function. */
  readonly corrupt?: { readonly at: number; readonly xor: number } | ((frame: Uint8Array) => Uint8Array);
  /** Milliseconds that the client is told to hold back (KIP-219). */
  readonly throttleMs?: number;
}

/** A request as a fault's condition sees it. */
export interface BrokerRequest {
  /** Kafka's name of the API. */
  readonly api: string;
  /** Version of the request. */
  readonly version: number;
  /** Node that it was sent to. */
  readonly node: number;
  /** Name the client gave itself. */
  readonly clientId: string | null;
  /** The decoded request: the fields of Kafka's message definition, in camelCase. */
  readonly body: unknown;
  /** The partitions that it names. */
  readonly places: readonly RequestPlace[];
}

/** A topic, or one partition of it, in a request. */
export interface RequestPlace {
  /** Topic. */
  readonly topic: string;
  /** Partition; undefined for the topic as a whole. */
  readonly partition?: number;
}

type Effect = "error" | "delayMs" | "disconnect" | "silence" | "cutAt" | "corrupt" | "throttleMs";

/** The faults of one broker, and how many requests each has met. */
export class BrokerScript {
  #lines: { readonly fault: BrokerFault; met: number }[] = [];

  /** Adds faults; each counts from now on. */
  add(faults: readonly BrokerFault[]): void {
    this.#lines.push(...faults.map((fault) => ({ fault, met: 0 })));
  }

  /** Forgets all faults. */
  clear(): void {
    this.#lines = [];
  }

  /** Whether there is nothing to look at. */
  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** What strikes `request`; undefined for nothing. */
  strike(request: BrokerRequest): BrokerStrike | undefined {
    const faults: BrokerFault[] = [];
    for (const line of this.#lines) {
      if (!fits(line.fault, request)) continue;
      const { nth = 1, times = 1 } = line.fault;
      line.met++;
      if (line.met >= nth && line.met < nth + times) faults.push(line.fault);
    }
    return faults.length === 0 ? undefined : new BrokerStrike(faults);
  }
}

function fits(fault: BrokerFault, request: BrokerRequest): boolean {
  if (fault.api !== undefined && fault.api !== request.api) return false;
  if (fault.node !== undefined && fault.node !== request.node) return false;
  if (isPlaced(fault) && !request.places.some((place) => covers(fault, place))) return false;
  return fault.if?.(request) ?? true;
}

function isPlaced(fault: BrokerFault): boolean {
  return fault.topic !== undefined || fault.partition !== undefined;
}

function covers(fault: BrokerFault, { topic, partition }: RequestPlace): boolean {
  return (fault.topic === undefined || fault.topic === topic) &&
    (fault.partition === undefined || fault.partition === partition);
}

/** The faults that strike one request. */
export class BrokerStrike {
  readonly #faults: readonly BrokerFault[];

  /** The given faults, in the order of the script. */
  constructor(faults: readonly BrokerFault[]) {
    this.#faults = faults;
  }

  /** Waits as long as is written for `when`. */
  async wait(when: "before" | "after", clock: Clock, signal: AbortSignal): Promise<void> {
    const ms = this.#value("delayMs", when);
    if (ms !== undefined) await sleep(clock, ms, signal);
  }

  /** What becomes of the connection at this point. */
  at(when: "before" | "after"): { readonly disconnect: boolean; readonly silence: boolean } {
    return {
      disconnect: this.#value("disconnect", when) === true,
      silence: this.#value("silence", when) === true,
    };
  }

  /** The error that is written for a place, or for the request as a whole; undefined for none. */
  error(when: "before" | "after", place?: RequestPlace): BrokerError | undefined {
    for (const fault of this.#faults) {
      if (fault.error === undefined || (fault.when ?? "before") !== when) continue;
      if (isPlaced(fault) && (place === undefined || !covers(fault, place))) continue;
      return refusal(fault.error, "the broker's script says so");
    }
    return undefined;
  }

  /** Milliseconds that the client is told to hold back. */
  get throttleMs(): number | undefined {
    return this.#value("throttleMs");
  }

  /** Whether an answer is cut, and the connection ends behind it. */
  get isCut(): boolean {
    return this.#value("cutAt") !== undefined;
  }

  /** What goes out of an answer. */
  mangle(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    const corrupt = this.#value("corrupt");
    const cutAt = this.#value("cutAt");
    if (corrupt === undefined && cutAt === undefined) return parts;
    let frame = concatenate(parts);
    if (typeof corrupt === "function") frame = corrupt(frame);
    else if (corrupt !== undefined && corrupt.at < frame.length) frame[corrupt.at]! ^= corrupt.xor;
    return [frame.subarray(0, cutAt ?? frame.length)];
  }

  #value<E extends Effect>(effect: E, when?: "before" | "after"): BrokerFault[E] | undefined {
    return this.#faults.find((fault) =>
      fault[effect] !== undefined && (when === undefined || (fault.when ?? "before") === when)
    )?.[effect];
  }
}
