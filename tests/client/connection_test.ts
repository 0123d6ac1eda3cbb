import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { Reader } from "../../src/bytes/reader.ts";
import type { Connection } from "../../src/client/connection.ts";
import { sleep } from "../../src/core/clock.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import { produceApi } from "../../src/protocol/produce.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { fromHex } from "../helpers/hex.ts";
import { frame, type HexHandler, hexStage, int32, isVersions, METADATA, usual, VERSIONS } from "./hex_peer.ts";

function ask(connection: Connection) {
  const answer = connection.request(metadataApi, { topics: null });
  answer.catch(() => {});
  return answer;
}

/** ApiVersions that also have Produce 0 to 3, and Metadata 0 to `metadata`. */
const versionsWith = (metadata: string) =>
  "0000" + "04" + "0000" + "0000" + "0003" + "00" + "0003" + "0000" + metadata + "00" + "0012" + "0000" + "0004" +
  "00" +
  "00000000" + "00";

describe("Connection: finding out what the peer speaks", () => {
  test("asks for versions first, with the software's name, in the highest version it knows", async () => {
    let first: DataView | undefined;
    const { open } = await hexStage((request) => {
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

  test("case 110: name and version of the software are what a broker takes for such", async () => {
    let first: DataView | undefined;
    const { open } = await hexStage((request) => {
      first ??= request;
      return VERSIONS;
    });
    (await open()).close();
    // Behind the client id "test" and no tags.
    const reader = new Reader(new Uint8Array(first!.buffer), "request", 15);
    const [name, version] = [reader.textField(true), reader.textField(true)];
    // Kafka's own expression (ApiVersionsRequest); whatever does not match it is refused as INVALID_REQUEST.
    for (const part of [name, version]) assert.match(part, /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/);
    assert.equal(name, "anykafka");
  });

  test("scenario 40, case 047: a broker that does not know the version gets the one it names, or version 0", async () => {
    for (
      const [hint, then] of [
        ["00000001" + "0012" + "0000" + "0002", 2],
        ["00000001" + "0012" + "0000" + "0003", 3],
        ["00000000", 0],
        // A range that does not help: only a strictly lower version is worth a try.
        ["00000001" + "0012" + "0000" + "0004", 0],
        ["00000001" + "0003" + "0000" + "0002", 0],
      ] as const
    ) {
      const asked: number[] = [];
      const { open } = await hexStage((request) => {
        asked.push(request.getInt16(2));
        if (asked.length === 1) return "0023" + hint;
        if (then === 3) return VERSIONS;
        return "0000" + "00000001" + "0003" + "0000" + "0001" + (then === 2 ? "00000000" : "");
      });
      const connection = await open();
      assert.deepEqual(asked, [4, then]);
      assert.equal(connection.versions.pick(metadataApi), 1);
      connection.close();
    }
  });

  test("case 047: APIs that nobody here knows are left alone", async () => {
    const { open } = await hexStage(() =>
      "0000" + "03" + "0003" + "0000" + "0001" + "00" + "7fff" + "0000" + "0009" + "00" + "00000000" + "00"
    );
    const connection = await open();
    assert.deepEqual(connection.versions.range(32767), { min: 0, max: 9 });
    assert.equal(connection.versions.pick(metadataApi), 1);
    connection.close();
  });

  test("scenario 40: any other error to ApiVersions is told, and the connection is gone", async () => {
    const { open, ended } = await hexStage(() => "002a" + "01" + "00000000" + "00");
    await assert.rejects(open(), { code: "INVALID_REQUEST", message: /node 1 \(broker:1\): ApiVersions v4/ });
    assert.equal(ended.length, 1);
  });

  test("scenario 40: a broker that refuses version 0 as well is left", async () => {
    const asked: number[] = [];
    const { open, ended } = await hexStage((request) => {
      asked.push(request.getInt16(2));
      return "0023" + "00000000";
    });
    await assert.rejects(open(), { code: "UNSUPPORTED_VERSION", message: /ApiVersions v0/ });
    assert.deepEqual(asked, [4, 0]);
    assert.equal(ended.length, 1);
  });

  test("scenario 40: an answer that is none is a ProtocolError", async () => {
    for (const garbage of ["", "00", "0000", "0000" + "ffffffff0f", "0000" + "05" + "0003", "0023" + "7fffffff"]) {
      const { open, ended } = await hexStage(() => garbage);
      await assert.rejects(open(), { name: "ProtocolError", host: "broker", port: 1 }, garbage);
      assert.equal(ended.length, 1);
    }
  });

  test("scenario 40: a broker that goes away before it answered is told so, with what may be the reason", async () => {
    const { open, ended } = await hexStage((_, transport) => {
      transport.close();
      return undefined;
    });
    await assert.rejects(open(), {
      name: "ConnectionError",
      code: "CONNECTION_CLOSED",
      retriable: true,
      message: /closed the connection before it answered; a listener for TLS or SASL/,
    });
    assert.equal(ended.length, 1);
  });

  test("scenario 40: versions are asked for within the request's time", async () => {
    const { open, clock } = await hexStage(() => undefined);
    await assert.rejects(open(), { code: "REQUEST_TIMED_OUT", message: /no answer to ApiVersions v4 within 500 ms/ });
    assert.equal(clock.now(), 500);
    assert.equal(clock.pendingTimers, 0);
  });

  test("no connection within the set-up time is an error with host and port", async () => {
    const { open, network, clock } = await hexStage(usual);
    network.setReachability("broker", 1, "silent");
    await assert.rejects(open(), { code: "CONNECTION_SETUP_TIMED_OUT", host: "broker", port: 1 });
    assert.equal(clock.now(), 1000);
  });
});

describe("Connection: requests and answers", () => {
  test("answers many requests in the order in which they were sent", async () => {
    const { open } = await hexStage(usual);
    const connection = await open();
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask(connection)));
    assert.deepEqual(answers.map((answer) => answer.controllerId), [-1, -1, -1, -1]);
    connection.close();
  });

  test("correlation ids go on with 0 after 2^31 − 1", async () => {
    const ids: number[] = [];
    const { open, run } = await hexStage((request, transport) => {
      ids.push(request.getInt32(4));
      return usual(request, transport);
    });
    const connection = await open({ firstCorrelationId: 2 ** 31 - 2 });
    for (let i = 0; i < 3; i++) assert.equal((await run(ask(connection))).controllerId, -1);
    assert.deepEqual(ids, [2147483646, 2147483647, 0, 1]);
    connection.close();
  });

  test("scenario 43: answers cut at every byte, two in one chunk, and byte by byte", async () => {
    const answers = [int32(1) + METADATA, int32(2) + METADATA.replace("ffffffff", "00000007")];
    const stream = new Uint8Array([...frame(answers[0]!), ...frame(answers[1]!)]);
    for (let cut = 0; cut <= stream.length; cut++) {
      const { open, run, network, clock } = await hexStage((request, transport) => {
        if (isVersions(request)) return VERSIONS;
        if (request.getInt32(4) === 2) {
          const pieces = cut === 0
            ? Array.from(stream, (byte) => Uint8Array.of(byte))
            : [stream.subarray(0, cut), stream.subarray(cut)];
          void (async () => {
            for (const piece of pieces) {
              await transport.write([piece]);
              await sleep(clock, 1);
            }
          })().catch(() => {});
        }
        return undefined;
      });
      // The versions' answer comes in single bytes, too.
      network.onConnect = ({ client }) => client.maxReadSize = cut % 2 === 0 ? Infinity : 1;
      const connection = await open();
      const got = await run(Promise.all([ask(connection), ask(connection)]));
      assert.deepEqual(got.map(({ controllerId }) => controllerId), [-1, 7], `${cut}`);
      connection.close();
    }
  });

  test("scenario 43: an answer that no request waits for, or another one waits for, ends the connection", async () => {
    for (const id of [4711, 2, 0, -1]) {
      const { open, run, ended } = await hexStage((request, transport) => {
        if (isVersions(request)) return VERSIONS;
        if (request.getInt32(4) === 1) void transport.write([frame(int32(id) + METADATA)]);
        return undefined;
      });
      const connection = await open();
      const sent = [ask(connection), ask(connection)];
      for (const request of sent) {
        await assert.rejects(run(request), {
          name: "ProtocolError",
          outcome: "unknown",
          retriable: true,
          message: new RegExp(`correlation id ${id} where 1 was due`),
        });
      }
      assert.equal(ended.length, 1);
    }
    const { open, clock, ended, network } = await hexStage(usual);
    await open();
    await network.connections("broker", 1)[0]!.server.write([frame(int32(1) + METADATA)]);
    await clock.flush();
    assert.match(ended[0]!.message, /correlation id 1 where none was due/);
  });

  test("scenario 43, case 065: sizes that cannot be, and other protocols, are errors at once", async () => {
    const cases: readonly (readonly [bytes: string, code: string, message: RegExp])[] = [
      ["ffffffff", "INVALID_FRAME_SIZE", /length is -1/],
      ["80000000", "INVALID_FRAME_SIZE", /length is -2147483648/],
      ["00000000", "INVALID_FRAME_SIZE", /length is 0/],
      ["00000003", "INVALID_FRAME_SIZE", /length is 3/],
      ["7fffffff", "FRAME_TOO_LARGE", /2147483647 bytes/],
      ["485454502f312e3120343030", "WRONG_PROTOCOL", /HTTP/],
      ["15030300020246", "WRONG_PROTOCOL", /TLS alert: this port speaks TLS; set securityProtocol to SSL/],
      ["5353482d322e302d4f70656e5353480d0a", "WRONG_PROTOCOL", /text that begins with "SSH-"/],
    ];
    for (const [bytes, code, message] of cases) {
      const { open, clock, ended } = await hexStage((_, transport) => {
        void transport.write([fromHex(bytes)]);
        return undefined;
      });
      await assert.rejects(open(), { name: "ProtocolError", code, message }, bytes);
      assert.equal(clock.now(), 0, bytes);
      assert.equal(ended.length, 1);
    }
    const { open } = await hexStage((_, transport) => {
      transport.close();
      return undefined;
    });
    await assert.rejects(open(), { code: "CONNECTION_CLOSED" });
  });

  test("case 064: before the peer has shown to be a broker it can send 512 KiB, and no more", async () => {
    for (const [size, isRefused] of [[524_288, false], [524_289, true], [104_857_600, true]] as const) {
      const { open, run } = await hexStage((request, transport) => {
        if (!isVersions(request)) return undefined;
        void transport.write([fromHex(int32(size))]);
        return undefined;
      });
      const opening = open({ maxFrameSize: 100 * 1024 * 1024 });
      await assert.rejects(
        run(opening),
        isRefused ? { code: "FRAME_TOO_LARGE" } : { code: "REQUEST_TIMED_OUT" },
        `${size}`,
      );
    }
    // Then it is the client's own limit.
    const brokers = 45_000;
    const large = int32(brokers) + ("00000001" + "000168" + "00002384" + "ffff").repeat(brokers) + "ffffffff" +
      "00000000";
    const { open, run } = await hexStage((request) => isVersions(request) ? VERSIONS : large);
    const connection = await open({ maxFrameSize: 600_000 });
    assert.equal((await run(ask(connection))).brokers.length, brokers);
    connection.close();
  });

  test("a cut or garbled answer is a ProtocolError that names the message", async () => {
    for (const bad of ["", "0000", "7fffffff", "00000001" + "00000001" + "7fff"]) {
      const { open, run } = await hexStage((request) => isVersions(request) ? VERSIONS : bad);
      const connection = await open();
      await assert.rejects(run(ask(connection)), { name: "ProtocolError", message: /Metadata v1 answer: / }, bad);
    }
  });

  test("a broker that goes away in the middle of an answer is told as such", async () => {
    const { open, run } = await hexStage((request, transport) => {
      if (isVersions(request)) return VERSIONS;
      void transport.write([frame("00000001" + METADATA).subarray(0, 9)]).then(() => transport.close());
      return undefined;
    });
    const connection = await open();
    await assert.rejects(run(ask(connection)), { name: "ConnectionError", outcome: "unknown", retriable: true });
  });
});

describe("Connection: time", () => {
  test("scenario 40: a request that is not answered in time ends the connection, and everything that waits", async () => {
    const { open, clock, ended, run } = await hexStage((request) => isVersions(request) ? VERSIONS : undefined);
    const connection = await open();
    const start = clock.now();
    const sent = [1, 2].map(() => ask(connection));
    for (const request of sent) {
      await assert.rejects(run(request), {
        name: "TimeoutError",
        code: "REQUEST_TIMED_OUT",
        outcome: "unknown",
        host: "broker",
        port: 1,
        message: /no answer to Metadata v1 within 500 ms/,
      });
      assert.equal(clock.now() - start, 500);
    }
    assert.equal(ended.length, 1);
    await assert.rejects(ask(connection), { outcome: "not-written" });
  });

  test("case 022: the answer to a request that timed out goes nowhere, and the next request gets its own", async () => {
    let late: Transport | undefined;
    const { open, clock, run } = await hexStage((request, transport) => {
      if (isVersions(request)) return VERSIONS;
      if (late !== undefined) return METADATA.replace("ffffffff", "00000002");
      late = transport;
      return undefined;
    });
    const first = await open({ requestTimeoutMs: 100 });
    await assert.rejects(run(ask(first)), { code: "REQUEST_TIMED_OUT" });
    assert.equal(clock.now(), 100);
    const second = await open();
    const sent = ask(second);
    // The late answer has the correlation id that the second request has on its own connection.
    await late!.write([frame(int32(1) + METADATA.replace("ffffffff", "00000001"))]).catch(() => {});
    assert.equal((await run(sent)).controllerId, 2);
    second.close();
  });

  test("a peer that takes no more bytes cannot hold a request for ever that wants no answer", async () => {
    const { open, clock, ended, network } = await hexStage((request) =>
      isVersions(request) ? versionsWith("0001") : METADATA
    );
    const connection = await open();
    const body = {
      acks: 0,
      timeoutMs: 1,
      topicData: [{ name: "t", partitionData: [{ index: 0, records: new Uint8Array(3 * 1024 * 1024) }] }],
    };
    await clock.advance(2000);
    // As a socket whose peer does not read: the write ends when the connection does.
    network.connections("broker", 1)[0]!.client.write = () => new Promise(() => {});
    const posted = connection.post(produceApi, body);
    posted.catch(() => {});
    await clock.advance(500);
    assert.deepEqual(ended.map(({ code, message }) => [code, message]), [
      ["REQUEST_TIMED_OUT", "node 1 (broker:1): the broker took no requests for 500 ms or more"],
    ]);
    assert.equal(clock.pendingTimers, 0);
  });

  /** A Metadata v8 answer that asks for `ms`. */
  const throttled = (ms: number) => int32(ms) + "00000000" + "ffff" + "ffffffff" + "00000000" + "00000000";
  const answering = (metadata: string, ...answers: readonly (string | undefined)[]): HexHandler => {
    let next = 0;
    return (request) => isVersions(request) ? versionsWith(metadata) : answers[next++];
  };

  test("scenario 41: a throttled answer holds the next request back and gives those in flight more time", async () => {
    const { open, clock, run, ended } = await hexStage(answering("0008", throttled(2000), throttled(0), undefined));
    const connection = await open();
    const start = clock.now();
    await ask(connection);
    assert.equal(connection.throttledUntil, start + 2000);
    await run(ask(connection));
    assert.equal(clock.now() - start, 2000);
    connection.close();
    assert.equal(ended.length, 1);

    // One that was sent before the throttle has 500 ms of its own and 2000 more.
    const other = await hexStage(answering("0008", throttled(2000), undefined));
    const both = await other.open();
    const sent = [ask(both), ask(both)];
    await other.run(sent[0]!);
    await assert.rejects(other.run(sent[1]!), { code: "REQUEST_TIMED_OUT", message: /within 2500 ms/ });
    assert.equal(other.clock.now(), 2500);
  });

  test("scenario 41: a version before KIP-219 throttles by itself, and holds nothing back", async () => {
    const { open, clock, run } = await hexStage(
      answering("0005", throttled(2000).slice(0, -8), throttled(0).slice(0, -8), undefined),
    );
    const connection = await open();
    await ask(connection);
    assert.ok(connection.throttledUntil <= clock.now());
    const sent = [ask(connection), ask(connection)];
    await run(sent[0]!);
    assert.equal(clock.now(), 0);
    await assert.rejects(run(sent[1]!), { code: "REQUEST_TIMED_OUT", message: /within 500 ms/ });
  });

  test("case 077: a throttle of any length ends, and a negative one is none", async () => {
    for (const [ms, held] of [[1, 1], [2147483647, 300_000], [-5, 0], [-2147483648, 0]] as const) {
      const { open, clock, run } = await hexStage(answering("0008", throttled(ms), throttled(0)));
      const connection = await open({ maxIdleMs: 1_000_000 });
      await ask(connection);
      await run(ask(connection));
      assert.equal(clock.now(), held, `${ms}`);
      connection.close();
      assert.equal(clock.pendingTimers, 0);
    }
  });

  test("an unused connection is closed after its idle time, and a closed one leaves no timer", async () => {
    const { open, clock, ended } = await hexStage(usual);
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

test("case 112: no error of a connection shows the key or the certificate it was made with", async () => {
  const { open } = await hexStage(usual);
  const tls = { ca: "-----BEGIN CA-SECRET", cert: "-----BEGIN CERT-SECRET", key: "-----BEGIN KEY-SECRET" };
  await assert.rejects(open({ tls }), (error: unknown) => {
    assert.doesNotMatch(inspect(error, { depth: Infinity }) + JSON.stringify(error), /SECRET/);
    return true;
  });
});
