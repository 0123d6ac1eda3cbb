import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectionError, ProtocolError } from "../../src/core/kafka_error.ts";
import { randomInt, seededRandom } from "../../src/core/random.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import { memoryTransports } from "../../src/transport/memory_transport.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { assertSame, bytes, pattern } from "./contract.ts";
import { join } from "./raw_peer.ts";

const MB = 1024 * 1024;
const peer = "broker:9092";

/** A transport that answers reads with `pieces`, one a read at most, then with the end or with `error`. */
function scripted(pieces: readonly Uint8Array[], error?: Error): Transport & { reads: number; largest: number } {
  let at = 0;
  let offset = 0;
  return {
    reads: 0,
    largest: 0,
    read(into) {
      this.reads++;
      this.largest = Math.max(this.largest, into.length);
      if (into.length === 0) return Promise.reject(new Error("read into nothing"));
      const piece = pieces[at];
      if (piece === undefined) return error === undefined ? Promise.resolve(0) : Promise.reject(error);
      const part = piece.subarray(offset, offset + into.length);
      into.set(part);
      offset += part.length;
      if (offset === piece.length) {
        at++;
        offset = 0;
      }
      return Promise.resolve(part.length);
    },
    write: () => Promise.resolve(),
    close: () => {},
  };
}

/** The bytes of a frame: length as Kafka writes it, then the payload. */
function frame(payload: Uint8Array): Uint8Array {
  const { length } = payload;
  return join([bytes(length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255), payload]);
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function readAll(reader: FrameReader): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = [];
  for (let next = await reader.next(); next !== null; next = await reader.next()) frames.push(next);
  return frames;
}

describe("FrameReader", () => {
  test("reads a request of Kafka's documented form", async () => {
    // An ApiVersions v0 request: length 10, key 18, version 0, correlation id 7, null client id.
    const stream = bytes(0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff);
    const frames = await readAll(new FrameReader(scripted([stream]), { peer }));
    assert.deepEqual(frames.map((f) => [...f]), [[0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]]);
  });

  test("scenario 43: does not care where the stream is cut", async () => {
    const payloads = [bytes(1, 2, 3, 4), bytes(5, 6, 7, 8, 9), bytes(0, 0, 0, 4), bytes(10, 11, 12, 13, 14, 15)];
    const stream = join(payloads.map(frame));
    for (let first = 1; first < stream.length; first++) {
      for (let second = first + 1; second <= stream.length; second++) {
        const pieces = [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)];
        const transport = scripted(pieces.filter((piece) => piece.length > 0));
        assert.deepEqual(await readAll(new FrameReader(transport, { peer })), payloads);
      }
    }
  });

  test("reads frames around the size of its buffer, in pieces of any size", async () => {
    const random = seededRandom(3);
    for (const size of [16_379, 16_380, 16_381, 16_383, 16_384, 16_385, 16_388, 20_000, 32_768, 70_000]) {
      const payloads = [pattern(100), pattern(size), pattern(4), pattern(size), pattern(16_384), pattern(5)];
      const stream = join(payloads.map(frame));
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < stream.length;) {
        const step = 1 + randomInt(random, 20_000);
        pieces.push(stream.subarray(at, at + step));
        at += step;
      }
      const frames = await readAll(new FrameReader(scripted(pieces), { peer }));
      assert.equal(frames.length, payloads.length);
      frames.forEach((got, i) => assertSame(got, payloads[i]!));
    }
  });

  test("scenario 43: takes many small frames with one read", async () => {
    const transport = scripted([join(Array.from({ length: 100 }, (_, i) => frame(bytes(i, 0, 0, 0))))]);
    const frames = await readAll(new FrameReader(transport, { peer }));
    assert.deepEqual(frames.map(([value]) => value), Array.from({ length: 100 }, (_, i) => i));
    assert.equal(transport.reads, 2); // the bytes, and the end
  });

  test("case 100: reads the bulk of a large frame straight into its place", async () => {
    const payload = pattern(4 * MB);
    const transport = scripted([frame(payload)]);
    const [got] = await readAll(new FrameReader(transport, { peer }));
    assertSame(got!, payload);
    assert.equal(transport.reads, 3); // the beginning, the rest, the end
    assert.ok(transport.largest > 3 * MB);
  });

  test("gives each frame a buffer of its own, which stays as it is", async () => {
    const payloads = Array.from({ length: 50 }, (_, i) => pattern(1000 + i * 700));
    const frames = await readAll(new FrameReader(scripted([join(payloads.map(frame))]), { peer }));
    assert.equal(new Set(frames.map((f) => f.buffer)).size, 50);
    frames.forEach((got, i) => {
      assertSame(got, payloads[i]!);
      assert.equal(got.byteOffset, 0);
      assert.equal(got.buffer.byteLength, got.length);
    });
  });

  test("answers null after a clean end, again and again", async () => {
    const reader = new FrameReader(scripted([frame(bytes(1, 2, 3, 4))]), { peer });
    assert.deepEqual([...(await reader.next())!], [1, 2, 3, 4]);
    assert.equal(await reader.next(), null);
    assert.equal(await reader.next(), null);
  });

  test("says how much of a frame had come when the stream ended", async () => {
    for (
      const [stream, message] of [
        [frame(pattern(10)).subarray(0, 9), /^broker:9092: the connection ended after 5 of 10 bytes of a frame$/],
        [frame(pattern(10)).subarray(0, 4), /after 0 of 10 bytes of a frame$/],
        [frame(pattern(50_000)).subarray(0, 40_004), /after 40000 of 50000 bytes of a frame$/],
        [bytes(0, 0, 0), /after 3 of 4 bytes of a frame's length$/],
        [join([frame(bytes(1, 2, 3, 4)), bytes(0)]), /after 1 of 4 bytes of a frame's length$/],
      ] as const
    ) {
      const reader = new FrameReader(scripted([stream]), { peer });
      await assert.rejects(readAll(reader), (error: unknown) => {
        assert.ok(error instanceof ConnectionError);
        assert.match(error.message, message);
        assert.equal(error.code, "TRUNCATED_FRAME");
        assert.equal(error.retriable, true);
        return true;
      });
      await assert.rejects(reader.next(), ConnectionError);
    }
  });

  test("refuses a length over the limit before it asks for memory, and stays refusing", async () => {
    const reader = new FrameReader(scripted([join([frame(pattern(4)), bytes(0, 0, 3, 0xe9), pattern(1001)])]), {
      peer,
      maxFrameSize: 1000,
    });
    assert.equal((await reader.next())!.length, 4);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(reader.next(), (error: unknown) => {
        assert.ok(error instanceof ProtocolError);
        assert.match(error.message, /^broker:9092: a frame of 1001 bytes is larger than the limit of 1000/);
        assert.equal(error.code, "FRAME_TOO_LARGE");
        return true;
      });
    }
    const fits = new FrameReader(scripted([frame(pattern(1000))]), { peer, maxFrameSize: 1000 });
    assert.equal((await fits.next())!.length, 1000);
  });

  test("has a limit of 100 MiB unless told otherwise, also later", async () => {
    const over = new FrameReader(scripted([bytes(0x06, 0x40, 0x00, 0x01)]), { peer });
    await assert.rejects(over.next(), { code: "FRAME_TOO_LARGE", message: /104857601 bytes .* limit of 104857600/ });
    const raised = new FrameReader(scripted([join([frame(pattern(10)), frame(pattern(11))])]), {
      peer,
      maxFrameSize: 10,
    });
    assert.equal((await raised.next())!.length, 10);
    raised.maxFrameSize = 11;
    assert.equal((await raised.next())!.length, 11);
  });

  test("scenario 43, case 065: refuses a length below 4 at once, whatever follows", async () => {
    for (const length of [[0xff, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]]) {
      // Nothing more would ever come: an error must not wait for it.
      const transport = scripted([bytes(...length)], new Error("read on"));
      await assert.rejects(new FrameReader(transport, { peer }).next(), {
        name: "ProtocolError",
        code: "INVALID_FRAME_SIZE",
        message: /length is (-\d+|0|3);/,
      });
      assert.equal(transport.reads, 1);
    }
  });

  test(
    "case 100: an answer in thousands of pieces is copied once, not with each of them",
    { timeout: 60_000 },
    async () => {
      for (const [size, piece] of [[100 * MB, 16 * 1024], [MB, 1]] as const) {
        const length = frame(new Uint8Array(0));
        new DataView(length.buffer).setUint32(0, size);
        let given = 0;
        const filled = new Set<ArrayBufferLike>();
        const transport: Transport = {
          read(into) {
            if (given < 4) return Promise.resolve(into.set(length.subarray(given, given += 4)) ?? 4);
            const count = Math.min(piece, into.length, size + 4 - given);
            into.fill(given % 251, 0, count);
            given += count;
            filled.add(into.buffer);
            return Promise.resolve(count);
          },
          write: () => Promise.resolve(),
          close: () => {},
        };
        const got = (await new FrameReader(transport, { peer }).next())!;
        assert.equal(got.length, size);
        assert.equal(got[size - 1], (size + 4 - Math.min(piece, size)) % 251);
        // The frame itself, and the reader's own buffer for its beginning: a third one would be a copy of what came before.
        assert.ok(filled.size <= 2 && filled.has(got.buffer), `${filled.size}`);
      }
    },
  );

  test("scenario 43, case 065: recognises other protocols by what they send first", async () => {
    for (
      const [stream, message] of [
        [ascii("HTTP/1.1 400 Bad Request\r\n\r\n"), /answered in HTTP: .* give the port of a Kafka listener/],
        [ascii("GET / HTTP/1.1\r\n\r\n"), /sent an HTTP request/],
        [ascii("POST /topics HTTP/1.1\r\n\r\n"), /sent an HTTP request/],
        [ascii("PRI * HTTP/2.0\r\n\r\n"), /sent an HTTP request/],
        // A fatal alert, protocol_version, of TLS 1.2; a client hello of TLS 1.0 to 1.3.
        [bytes(0x15, 3, 3, 0, 2, 2, 70), /TLS alert: .* set securityProtocol to SSL/],
        [bytes(0x16, 3, 1, 0, 200, 1, 0, 0, 196), /TLS handshake on a plaintext port/],
        [ascii("SSH-2.0-OpenSSH_9.9\r\n"), /text that begins with "SSH-".* check host and port/],
      ] as const
    ) {
      for (const pieces of [[stream], [...stream].map((byte) => bytes(byte))]) {
        const reader = new FrameReader(scripted(pieces), { peer });
        await assert.rejects(reader.next(), (error: unknown) => {
          assert.ok(error instanceof ProtocolError);
          assert.match(error.message, /^broker:9092: /);
          assert.match(error.message, message);
          assert.equal(error.code, "WRONG_PROTOCOL");
          assert.equal(error.retriable, false);
          return true;
        });
      }
    }
  });

  test("passes the transport's own errors on, and wraps foreign ones", async () => {
    const mine = new ConnectionError("broker:9092: the peer reset the connection", { code: "ECONNRESET" });
    const reader = new FrameReader(scripted([frame(pattern(4)), bytes(0, 0)], mine), { peer });
    await reader.next();
    await assert.rejects(reader.next(), (error: unknown) => error === mine);

    const foreign = new FrameReader(scripted([], new TypeError("odd")), { peer });
    await assert.rejects(foreign.next(), { name: "ConnectionError", message: "broker:9092: odd" });
  });

  test("waits for a frame that comes later", async () => {
    const [near, far] = memoryTransports();
    const reader = new FrameReader(near, { peer });
    const pending = reader.next();
    const stream = frame(pattern(60_000));
    await far.write([stream.subarray(0, 2)]);
    await far.write([stream.subarray(2, 30_000)]);
    await far.write([stream.subarray(30_000)]);
    assertSame((await pending)!, pattern(60_000));
    const last = reader.next();
    far.close();
    assert.equal(await last, null);
    near.close();
  });
});
