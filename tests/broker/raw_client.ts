import { Reader } from "../../src/bytes/reader.ts";
import { Writer } from "../../src/bytes/writer.ts";
import type { ClientApi, Input } from "../../src/protocol/api.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** Speaks the protocol request by request, in whatever version a test wants. */
export class RawClient {
  readonly transport: Transport;
  readonly #frames: FrameReader;
  #correlationId = 0;

  constructor(transport: Transport) {
    this.transport = transport;
    this.#frames = new FrameReader(transport, { peer: "broker" });
  }

  /** Sends a request and reads the answer. */
  async call<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, version: number = api.maxVersion): Promise<Res> {
    const correlationId = await this.post(api, body, version);
    const reader = await this.answer(correlationId);
    if (version >= api.flexibleFrom && api.key !== 18) reader.skipTags();
    const answer = api.decodeResponse(reader, version);
    if (reader.remaining !== 0) throw new Error(`${api.name} v${version}: ${reader.remaining} bytes left over`);
    return answer;
  }

  /** Sends a request only; answers its correlation id. */
  async post<Req, Res>(api: ClientApi<Req, Res>, body: Input<Req>, version: number = api.maxVersion): Promise<number> {
    const correlationId = ++this.#correlationId;
    const writer = new Writer();
    writer.int32(0);
    writer.int16(api.key);
    writer.int16(version);
    writer.int32(correlationId);
    writer.text("raw", false);
    if (version >= api.flexibleFrom) writer.unsignedVarint(0);
    api.encodeRequest(writer, body, version);
    const size = writer.size - 4;
    const parts = writer.finish();
    writer.setFirstInt32(size);
    await this.transport.write(parts);
    return correlationId;
  }

  /** Reads the next answer, which must be that to `correlationId`. */
  async answer(correlationId: number): Promise<Reader> {
    const frame = await this.#frames.next();
    if (frame === null) throw new Error("the broker closed the connection");
    const reader = new Reader(frame, "answer");
    const got = reader.int32();
    if (got !== correlationId) throw new Error(`answer to ${got} where ${correlationId} was due`);
    return reader;
  }

  /** Resolves when the broker has closed the connection; rejects when it answers instead. */
  async closed(): Promise<void> {
    const frame = await this.#frames.next().catch(() => null);
    if (frame !== null) throw new Error("the broker answered");
  }
}
