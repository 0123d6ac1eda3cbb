/**
 * The shape of a handler: one API, its versions, and what the broker does for a request.
 *
 * @module
 */

import type { Reader } from "../bytes/reader.ts";
import type { Writer } from "../bytes/writer.ts";
import type { Input, ServerApi } from "../protocol/api.ts";
import type { BrokerStrike, RequestPlace } from "./broker_script.ts";
import type { BrokerState } from "./broker_state.ts";

/** What a handler knows of a request beside its body. */
export interface RequestContext {
  /** The broker. */
  readonly broker: BrokerState;
  /** Node that the request was sent to. */
  readonly nodeId: number;
  /** Version of the request. */
  readonly version: number;
  /** Fires when the broker closes: whoever waits must stop. */
  readonly signal: AbortSignal;
  /**
   * Throws the error that the broker's script has for this place: call it once before the place is dealt with, and once
   * after it was.
   */
  readonly obeyScript: (when: "before" | "after", place?: RequestPlace) => void;
}

/** Answers a request; undefined means that the client wants no answer. */
export type Respond<Req, Res> = (
  request: Req,
  context: RequestContext,
) => Promise<Input<Res> | undefined> | Input<Res> | undefined;

/** One request that was read, and has not been carried out yet. */
export interface ReadRequest {
  /** The decoded request. */
  readonly body: unknown;
  /** The topics and partitions that it names. */
  places(broker: BrokerState): readonly RequestPlace[];
  /** Carries it out; resolves to what writes the answer's body, undefined for none. */
  run(context: Omit<RequestContext, "obeyScript" | "version">, strike: BrokerStrike | undefined): Promise<
    ((writer: Writer) => void) | undefined
  >;
}

/** One API as the broker serves it. */
export interface Handler {
  /** Kafka's number of the API. */
  readonly key: number;
  /** Kafka's name of the API. */
  readonly name: string;
  /** Lowest version served. */
  readonly minVersion: number;
  /** Highest version served. */
  readonly maxVersion: number;
  /** First version with compact lengths and tagged fields. */
  readonly flexibleFrom: number;
  /** Lowest version told to clients, where it must be below what is served. */
  readonly advertisedMinVersion: number;
  /** Reads a request. */
  read(reader: Reader, version: number): ReadRequest;
}

/** How an API is served, where it is not as most are. */
export interface HandlerOptions<Req, Res> {
  /** Highest version served. */
  readonly maxVersion?: number;
  /** Lowest version told to clients. */
  readonly advertisedMinVersion?: number;
  /** The topics and partitions that a request names. */
  readonly places?: (request: Req, broker: BrokerState) => readonly RequestPlace[];
  /** The answer that says no as a whole, for an API that does not say it for each of its places. */
  readonly failed?: (errorCode: number) => Input<Res>;
}

/** Makes a handler of an API's encoder and decoder and of what is to be done. */
export function handler<Req, Res>(
  api: ServerApi<Req, Res>,
  respond: Respond<Req, Res>,
  options: HandlerOptions<Req, Res> = {},
): Handler {
  const { failed } = options;
  return {
    key: api.key,
    name: api.name,
    minVersion: api.minVersion,
    maxVersion: options.maxVersion ?? api.maxVersion,
    flexibleFrom: api.flexibleFrom,
    advertisedMinVersion: options.advertisedMinVersion ?? api.minVersion,
    read(reader: Reader, version: number): ReadRequest {
      const request = api.decodeRequest(reader, version);
      return {
        body: request,
        places: (broker) => options.places?.(request, broker) ?? [],
        async run(context, strike) {
          const obeyScript = (when: "before" | "after", place?: RequestPlace) => {
            const error = strike?.error(when, place);
            if (error !== undefined) throw error;
          };
          const before = failed && strike?.error("before");
          let answer = before === undefined
            ? await respond(request, { ...context, version, obeyScript })
            : failed!(before.errorCode);
          if (answer === undefined) return undefined;
          const after = failed && strike?.error("after");
          if (after !== undefined) answer = failed!(after.errorCode);
          const throttleTimeMs = strike?.throttleMs;
          if (throttleTimeMs !== undefined) answer = { ...answer, throttleTimeMs };
          return (writer) => api.encodeResponse(writer, answer, version);
        },
      };
    },
  };
}
