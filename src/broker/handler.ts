/**
 * The shape of a handler: one API, its versions, and what the broker does for a request.
 *
 * @module
 */

import type { Reader } from "../bytes/reader.ts";
import type { Writer } from "../bytes/writer.ts";
import type { Input, ServerApi } from "../protocol/api.ts";
import type { BrokerState } from "./broker_state.ts";

/** What a handler knows of a request beside its body. */
export interface RequestContext {
  /** The broker. */
  readonly broker: BrokerState;
  /** Version of the request. */
  readonly version: number;
  /** Name the client gave itself; may be null. */
  readonly clientId: string | null;
  /** Fires when the broker closes: whoever waits must stop. */
  readonly signal: AbortSignal;
}

/** Answers a request; undefined means that the client wants no answer. */
export type Respond<Req, Res> = (
  request: Req,
  context: RequestContext,
) => Promise<Input<Res> | undefined> | Input<Res> | undefined;

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
  /** Reads the request and carries it out; resolves to what writes the answer's body, undefined for none. */
  run(reader: Reader, context: RequestContext): Promise<((writer: Writer) => void) | undefined>;
}

/** Which versions are served, where not all of the definitions. */
export interface HandlerOptions {
  /** Highest version served. */
  readonly maxVersion?: number;
  /** Lowest version told to clients. */
  readonly advertisedMinVersion?: number;
}

/** Makes a handler of an API's encoder and decoder and of what is to be done. */
export function handler<Req, Res>(
  api: ServerApi<Req, Res>,
  respond: Respond<Req, Res>,
  options: HandlerOptions = {},
): Handler {
  return {
    key: api.key,
    name: api.name,
    minVersion: api.minVersion,
    maxVersion: options.maxVersion ?? api.maxVersion,
    flexibleFrom: api.flexibleFrom,
    advertisedMinVersion: options.advertisedMinVersion ?? api.minVersion,
    async run(reader: Reader, context: RequestContext): Promise<((writer: Writer) => void) | undefined> {
      const answer = await respond(api.decodeRequest(reader, context.version), context);
      return answer === undefined ? undefined : (writer) => api.encodeResponse(writer, answer, context.version);
    },
  };
}
