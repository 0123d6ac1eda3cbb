/**
 * One client's connection: requests are carried out and answered one after the other, in the order they came, as Kafka
 * does. What cannot be understood ends this connection and no other.
 *
 * @module
 */

import { Reader } from "../bytes/reader.ts";
import { Writer } from "../bytes/writer.ts";
import { ProtocolError } from "../core/kafka_error.ts";
import { apiVersionsServerApi } from "../protocol/api_versions.ts";
import { requestHeaderVersion, responseHeaderVersion } from "../protocol/header_version.ts";
import { decodeRequestHeader } from "../protocol/request_header.ts";
import { FrameReader } from "../transport/frame_reader.ts";
import type { Transport } from "../transport/transport.ts";
import type { BrokerStrike } from "./broker_script.ts";
import type { BrokerState } from "./broker_state.ts";
import type { Handler } from "./handler.ts";
import { supportedApis } from "./handlers/api_versions.ts";

const UNSUPPORTED_VERSION = 35;

/** Who serves a connection. */
export interface ConnectionServer {
  /** The broker. */
  readonly broker: BrokerState;
  /** The node that was connected to. */
  readonly nodeId: number;
  /** What it can do. */
  readonly handlers: ReadonlyMap<number, Handler>;
  /** Largest request in bytes. */
  readonly maxRequestSize: number;
}

/** Serves `transport` until it ends, breaks or `signal` fires. Never rejects. */
export async function serveConnection(
  transport: Transport,
  server: ConnectionServer,
  signal: AbortSignal,
): Promise<void> {
  // A signal that has fired already fires no more.
  if (signal.aborted) return transport.close();
  const close = () => transport.close();
  signal.addEventListener("abort", close, { once: true });
  const { logger } = server.broker;
  try {
    const frames = new FrameReader(transport, { peer: "client", maxFrameSize: server.maxRequestSize });
    let isSilent = false;
    for (let frame = await frames.next(); frame !== null; frame = await frames.next()) {
      if (isSilent) continue;
      const { parts, then } = await answerTo(frame, server, signal);
      if (parts !== undefined) await transport.write(parts);
      if (then === "hang-up") break;
      isSilent = then === "silence";
    }
  } catch (error) {
    // A client that goes away is no news; one that sends what is no request is.
    const news = error instanceof ProtocolError && !signal.aborted;
    logger[news ? "warn" : "debug"](`connection closed: ${(error as Error).message}`, { error });
  } finally {
    signal.removeEventListener("abort", close);
    transport.close();
  }
}

/** What goes out for a request: nothing when the client wants none, or when the broker's script says so. */
interface Answer {
  readonly parts?: readonly Uint8Array[];
  /** What becomes of the connection behind it; it goes on when absent. */
  readonly then?: "hang-up" | "silence";
}

/** The one way of every request: header, handler, answer. */
async function answerTo(frame: Uint8Array, server: ConnectionServer, signal: AbortSignal): Promise<Answer> {
  const { broker, handlers, nodeId } = server;
  const start = new Reader(frame, "request header");
  const key = start.int16();
  const version = start.int16();
  const handler = handlers.get(key);
  if (handler === undefined) {
    throw new ProtocolError(`request for API ${key} v${version}, which the embedded broker does not have`, {
      code: "UNSUPPORTED_VERSION",
    });
  }
  const reader = new Reader(frame, `${handler.name} v${version} request`);
  if (version < handler.minVersion || version > handler.maxVersion) {
    if (key === apiVersionsServerApi.key) return { parts: tooNewForUs(start.int32(), handlers) };
    throw new ProtocolError(
      `${handler.name} v${version} was asked for; the embedded broker has ${handler.minVersion} to ${handler.maxVersion}`,
      { code: "UNSUPPORTED_VERSION" },
    );
  }
  const { clientId, correlationId } = decodeRequestHeader(reader, requestHeaderVersion(handler, version));
  const request = handler.read(reader, version);
  const strike = broker.script.isEmpty ? undefined : broker.script.strike({
    api: handler.name,
    version,
    node: nodeId,
    clientId,
    body: request.body,
    places: request.places(broker),
  });
  const stopped = await stopsAt("before", strike, server, signal);
  if (stopped !== undefined) return stopped;
  const body = await request.run({ broker, nodeId, signal }, strike);
  const stoppedAfter = await stopsAt("after", strike, server, signal);
  if (stoppedAfter !== undefined) return stoppedAfter;
  if (body === undefined) return {};
  const parts = frameOf(correlationId, responseHeaderVersion(handler, version) > 0, body);
  if (strike === undefined) return { parts };
  return strike.isCut ? { parts: strike.mangle(parts), then: "hang-up" } : { parts: strike.mangle(parts) };
}

/** Waits as the script says at this point; what it makes of the answer if there is to be none. */
async function stopsAt(
  when: "before" | "after",
  strike: BrokerStrike | undefined,
  { broker }: ConnectionServer,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  if (strike === undefined) return undefined;
  await strike.wait(when, broker.clock, signal);
  const { disconnect, silence } = strike.at(when);
  if (disconnect) return { then: "hang-up" };
  return silence ? { then: "silence" } : undefined;
}

/** A client that knows later versions of ApiVersions than this broker gets the list in the first form, and asks again. */
function tooNewForUs(correlationId: number, handlers: ReadonlyMap<number, Handler>): Uint8Array[] {
  const answer = { errorCode: UNSUPPORTED_VERSION, apiKeys: supportedApis(handlers) };
  return frameOf(correlationId, false, (writer) => apiVersionsServerApi.encodeResponse(writer, answer, 0));
}

function frameOf(correlationId: number, tagged: boolean, body: (writer: Writer) => void): Uint8Array[] {
  const writer = new Writer();
  writer.int32(0); // the frame's length, known at the end
  writer.int32(correlationId);
  if (tagged) writer.unsignedVarint(0);
  body(writer);
  const size = writer.size - 4;
  const parts = writer.finish();
  writer.setFirstInt32(size);
  return parts;
}
