import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Connection, type ConnectionOptions } from "../../src/client/connection.ts";
import type { KafkaError } from "../../src/core/kafka_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { noMetrics } from "../../src/core/metrics.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** Bytes of a frame around `body`. */
function frame(body: Uint8Array | string): Uint8Array {
  const bytes = typeof body === "string" ? Uint8Array.from(body.match(/../g)!, (hex) => parseInt(hex, 16)) : body;
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setInt32(0, bytes.length);
  framed.set(bytes, 4);
  return framed;
}

const int32 = (n: number) => n.toString(16).padStart(8, "0");
// ApiVersions v4 answer: error 0; Metadata 0 to 1 and ApiVersions 0 to 4; throttle 0; no tags.
const VERSIONS = "0000" + "03" + "0003" + "0000" + "0001" + "00" + "0012" + "0000" + "0004" + "00" + "00000000" + "00";
// Metadata v1 answer: no brokers, controller −1, no topics.
const METADATA = "00000000" + "ffffffff" + "00000000";

type Handler = (request: DataView, transport: Transport) => string | undefined;

interface Stage {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly ended: KafkaError[];
  open(options?: Partial<ConnectionOptions>): Promise<Connection>;
}

/** A peer at broker:1 that answers each request with the hex that `handler` gives, behind its correlation id. */
async function stage(handler: Handler): Promise<Stage> {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const ended: KafkaError[] = [];
  await network.listen("broker", 1, (transport) => {
    void (async () => {
      const buffer = new Uint8Array(65536);
      let held = 0;
      for (;;) {
        const n = await transport.read(buffer.subarray(held)).catch(() => 0);
        if (n === 0) return;
        held += n;
        for (;;) {
          const size = new DataView(buffer.buffer).getInt32(0);
          if (held < 4 || held < 4 + size) break;
          const request = new DataView(buffer.slice(4, 4 + size).buffer);
          buffer.copyWithin(0, 4 + size, held);
          held -= 4 + size;
          const answer = handler(request, transport);
          if (answer !== undefined) await transport.write([frame(int32(request.getInt32(4)) + answer)]).catch(() => {});
        }
      }
    })();
  });
  const open = async (options: Partial<ConnectionOptions> = {}) => {
    const opening = Connection.open({
      node: "node 1 (broker:1)",
      host: "broker",
      port: 1,
      connect: network.connect,
      tls: false,
      clientId: "test",
      setupTimeoutMs: 1000,
      requestTimeoutMs: 500,
      maxIdleMs: 60_000,
      maxFrameSize: 1_000_000,
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      onEnd: (_, error) => ended.push(error),
      ...options,
    });
    opening.catch(() => {});
    await clock.runUntil(opening.then(() => {}, () => {}), 100_000);
    return await opening;
  };
  return { clock, network, ended, open };
}

const isVersions = (request: DataView) => request.getInt16(0) === 18;
const usual: Handler = (request) => isVersions(request) ? VERSIONS : METADATA;

describe("Connection", () => {
  test("asks for versions first, with the software's name, in the highest version it knows", async () => {
    let first: DataView | undefined;
    const { open } = await stage((request) => {
      first ??= request;
      return VERSIONS;
    });
    const connection = await open();
    const bytes = new Uint8Array(first!.buffer);
    assert.deepEqual([first!.getInt16(0), first!.getInt16(2)], [18, 4]);
    // Client id "test", no tags, then the compact strings "anykafka" and a version, no tags (KIP-511).
    const header = String.fromCharCode(...bytes.subarray(8, 24));
    assert.equal(header, "\0\x04test\0\x09anykafka");
    assert.deepEqual(connection.versions.range(3), { min: 0, max: 1 });
    connection.close();
  });

  test("scenario 40: a broker that does not know the version gets the one it names, or version 0", async () => {
    for (const [hint, then] of [["00000001" + "0012" + "0000" + "0002", 2], ["00000000", 0]] as const) {
      const asked: number[] = [];
      const { open } = await stage((request) => {
        asked.push(request.getInt16(2));
        if (asked.length === 1) return "0023" + hint;
        return "0000" + "00000001" + "0003" + "0000" + "0001" + (then === 2 ? "00000000" : "");
      });
      const connection = await open();
      assert.deepEqual(asked, [4, then]);
      assert.equal(connection.versions.pick(metadataApi), 1);
      connection.close();
    }
  });

  test("scenario 40: any other error to ApiVersions is told, and the connection is gone", async () => {
    const { open, ended } = await stage(() => "002a" + "01" + "00000000" + "00");
    await assert.rejects(open(), { code: "INVALID_REQUEST", message: /node 1 \(broker:1\): ApiVersions v4/ });
    assert.equal(ended.length, 1);
  });

  test("answers many requests in the order in which they were sent", async () => {
    const { open } = await stage(usual);
    const connection = await open();
    const answers = await Promise.all([1, 2, 3, 4].map(() => connection.request(metadataApi, { topics: null })));
    assert.deepEqual(answers.map((answer) => answer.controllerId), [-1, -1, -1, -1]);
    connection.close();
  });

  test("scenario 40: a request that is not answered in time ends the connection, and everything that waits", async () => {
    const { open, clock, ended } = await stage((request) => isVersions(request) ? VERSIONS : undefined);
    const connection = await open();
    const start = clock.now();
    const sent = [1, 2].map(() => connection.request(metadataApi, { topics: null }));
    for (const request of sent) request.catch(() => {});
    await clock.runUntil(Promise.allSettled(sent).then(() => {}), 10_000);
    assert.equal(clock.now() - start, 500);
    for (const request of sent) {
      await assert.rejects(request, {
        name: "TimeoutError",
        code: "REQUEST_TIMED_OUT",
        outcome: "unknown",
        host: "broker",
        port: 1,
        message: /no answer to Metadata v1 within 500 ms/,
      });
    }
    assert.equal(ended.length, 1);
    await assert.rejects(connection.request(metadataApi, { topics: null }), { outcome: "not-written" });
  });

  test("an answer that no request waits for, or another one waits for, ends the connection", async () => {
    const { open, clock } = await stage((request, transport) => {
      if (isVersions(request)) return VERSIONS;
      void transport.write([frame(int32(4711) + METADATA)]);
      return undefined;
    });
    const connection = await open();
    const sent = connection.request(metadataApi, { topics: null });
    sent.catch(() => {});
    await clock.runUntil(sent.then(() => {}, () => {}), 10_000);
    await assert.rejects(sent, { name: "ProtocolError", message: /correlation id 4711 where 1 was due/ });
  });

  test("a cut or garbled answer is a ProtocolError that names the message", async () => {
    for (const bad of ["", "0000", "7fffffff", "00000001" + "00000001" + "7fff"]) {
      const { open, clock } = await stage((request) => isVersions(request) ? VERSIONS : bad);
      const connection = await open();
      const sent = connection.request(metadataApi, { topics: null });
      sent.catch(() => {});
      await clock.runUntil(sent.then(() => {}, () => {}), 10_000);
      await assert.rejects(sent, { name: "ProtocolError", message: /Metadata v1 answer: / }, bad);
    }
  });

  test("a broker that goes away in the middle of an answer is told as such", async () => {
    const { open, clock } = await stage((request, transport) => {
      if (isVersions(request)) return VERSIONS;
      void transport.write([frame("00000001" + METADATA).subarray(0, 9)]).then(() => transport.close());
      return undefined;
    });
    const connection = await open();
    const sent = connection.request(metadataApi, { topics: null });
    sent.catch(() => {});
    await clock.runUntil(sent.then(() => {}, () => {}), 10_000);
    await assert.rejects(sent, { name: "ConnectionError", outcome: "unknown", retriable: true });
  });

  test("a peer that speaks HTTP is recognised", async () => {
    const network = new MemoryNetwork();
    await network.listen("web", 80, (transport) => {
      void transport.write([new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n")]);
    });
    const { open } = await stage(usual);
    await assert.rejects(open({ node: "bootstrap server web:80", host: "web", port: 80, connect: network.connect }), {
      name: "ProtocolError",
      message: /HTTP/,
    });
  });

  test("no connection within the set-up time is an error with host and port", async () => {
    const { open, network, clock } = await stage(usual);
    network.setReachability("broker", 1, "silent");
    await assert.rejects(open(), { code: "CONNECTION_SETUP_TIMED_OUT", host: "broker", port: 1 });
    assert.equal(clock.now(), 1000);
  });

  test("scenario 41: a throttled answer holds the next request back and gives those in flight more time", async () => {
    // ApiVersions 0 to 4 and Metadata 0 to 8; a Metadata v8 answer that asks for 2000 ms.
    const versions = VERSIONS.replace("0003" + "0000" + "0001", "0003" + "0000" + "0008");
    const throttled = "000007d0" + "00000000" + "ffff" + "ffffffff" + "00000000" + "00000000";
    let answered = 0;
    const { open, clock } = await stage((request) => {
      if (isVersions(request)) return versions;
      return answered++ === 0 ? throttled : "00000000" + throttled.slice(8);
    });
    const connection = await open();
    const start = clock.now();
    await connection.request(metadataApi, { topics: null });
    assert.equal(connection.throttledUntil, start + 2000);
    const next = connection.request(metadataApi, { topics: null });
    await clock.runUntil(next.then(() => {}), 10_000);
    assert.equal(clock.now() - start, 2000);
    connection.close();
  });

  test("an unused connection is closed after its idle time, and a closed one leaves no timer", async () => {
    const { open, clock, ended } = await stage(usual);
    await open();
    await clock.advance(60_000);
    assert.deepEqual(ended.map((error) => error.code), ["CONNECTION_IDLE"]);
    assert.equal(clock.pendingTimers, 0);
    const connection = await open();
    connection.close();
    connection.close();
    assert.equal(ended.length, 2);
    assert.equal(clock.pendingTimers, 0);
  });
});
