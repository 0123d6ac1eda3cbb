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
import type { BrokerState } from "./broker_state.ts";
import type { Handler } from "./handler.ts";
import { supportedApis } from "./handlers/api_versions.ts";

const UNSUPPORTED_VERSION = 35;

/** Serves `transport` until it ends, breaks or `signal` fires. Never rejects. */
export async function serveConnection(
  transport: Transport,
  broker: BrokerState,
  handlers: ReadonlyMap<number, Handler>,
  maxRequestSize: number,
  signal: AbortSignal,
): Promise<void> {
  // A signal that has fired already fires no more.
  if (signal.aborted) return transport.close();
  const close = () => transport.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    const frames = new FrameReader(transport, { peer: "client", maxFrameSize: maxRequestSize });
    for (let frame = await frames.next(); frame !== null; frame = await frames.next()) {
      const answer = await answerTo(frame, broker, handlers, signal);
      if (answer !== undefined) await transport.write(answer);
    }
  } catch (error) {
    // A client that goes away is no news; one that sends what is no request is.
    const news = error instanceof ProtocolError && !signal.aborted;
    broker.logger[news ? "warn" : "debug"](`connection closed: ${(error as Error).message}`, { error });
  } finally {
    signal.removeEventListener("abort", close);
    transport.close();
  }
}

/** The one way of every request: header, handler, answer. */
async function answerTo(
  frame: Uint8Array,
  broker: BrokerState,
  handlers: ReadonlyMap<number, Handler>,
  signal: AbortSignal,
): Promise<Uint8Array[] | undefined> {
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
    if (key === apiVersionsServerApi.key) return tooNewForUs(start.int32(), handlers);
    throw new ProtocolError(
      `${handler.name} v${version} was asked for; the embedded broker has ${handler.minVersion} to ${handler.maxVersion}`,
      { code: "UNSUPPORTED_VERSION" },
    );
  }
  const header = decodeRequestHeader(reader, requestHeaderVersion(handler, version));
  const body = await handler.run(reader, { broker, version, clientId: header.clientId, signal });
  if (body === undefined) return undefined;
  return frameOf(header.correlationId, responseHeaderVersion(handler, version) > 0, body);
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
