import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BrokerNode } from "../../src/client/broker_node.ts";
import { clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";
import { ConnectionError, type KafkaError } from "../../src/core/kafka_error.ts";
import { metadataApi } from "../../src/protocol/metadata.ts";
import type { Connect, TlsOptions } from "../../src/transport/transport.ts";
import { frame, type HexHandler, hexStage, int32, isVersions, METADATA, usual } from "./hex_peer.ts";

/** A node at broker:1, and what became of it. */
async function nodeStage(handler?: HexHandler, options?: Partial<ClientOptions>, connect?: Connect) {
  const stage = await hexStage(handler ?? usual);
  const { clock, network } = stage;
  /** When each attempt to connect began. */
  const attempts: number[] = [];
  const counted: Connect = (host, port, options) => {
    attempts.push(clock.now());
    return (connect ?? network.connect)(host, port, options);
  };
  const { client } = clientContext(
    { bootstrapServers: "broker:1", clock, random: () => 0.5, ...options },
    { connect: counted, codecs: () => Promise.resolve({}) },
  );
  const lost: KafkaError[] = [];
  const node = new BrokerNode({
    id: 1,
    address: { host: "broker", port: 1 },
    client,
    connect: counted,
    onDisconnect: (_, error) => lost.push(error),
  });
  /** Connects until it works, `times` at most. */
  const tryToConnect = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const connection = await stage.run(node.connect("main")).catch(() => undefined);
      if (connection !== undefined) return connection;
    }
    return undefined;
  };
  return { ...stage, attempts, node, lost, tryToConnect };
}

const gaps = (times: readonly number[]) => times.slice(1).map((time, i) => Math.round(time - times[i]!));

describe("BrokerNode", () => {
  test("scenario 41: waits longer after each failure, and begins anew once a connection is ready", async () => {
    const { node, network, attempts, tryToConnect, clock } = await nodeStage();
    network.setReachability("broker", 1, "refuse");
    await tryToConnect(8);
    assert.deepEqual(gaps(attempts), [50, 100, 200, 400, 800, 1000, 1000]);
    network.setReachability("broker", 1, "open");
    assert.ok(await tryToConnect(1));
    network.cutAll("broker", 1);
    await clock.flush();
    const lostAt = clock.now();
    await tryToConnect(1);
    assert.equal(attempts.at(-1)! - lostAt, 50);
    node.close();
  });

  test("scenario 41: with the base alone the wait is the same each time", async () => {
    const { node, network, attempts, tryToConnect } = await nodeStage(usual, { reconnectBackoffMs: 30 });
    network.setReachability("broker", 1, "refuse");
    await tryToConnect(5);
    assert.deepEqual(gaps(attempts), [30, 30, 30, 30]);
    node.close();
  });

  test("scenario 41: chance moves the wait by a fifth, and never past the limit", async () => {
    for (
      const [random, expected] of [[0, [40, 80, 160, 320, 640, 800, 800]], [0.999999, [
        60,
        120,
        240,
        480,
        960,
        1000,
        1000,
      ]]] as const
    ) {
      const { node, network, attempts, tryToConnect } = await nodeStage(usual, { random: () => random });
      network.setReachability("broker", 1, "refuse");
      await tryToConnect(8);
      assert.deepEqual(gaps(attempts), expected);
      node.close();
    }
  });

  test("scenario 41: the set-up time doubles with each socket that does not open, and is short again after one that did", async () => {
    const { node, network, attempts, lost, tryToConnect, clock } = await nodeStage();
    network.setReachability("broker", 1, "silent");
    const took: number[] = [];
    for (let i = 0; i < 4; i++) {
      await tryToConnect(1);
      took.push(clock.now() - attempts.at(-1)!);
    }
    assert.deepEqual(took, [10_000, 20_000, 30_000, 30_000]);
    assert.deepEqual(new Set(lost.map(({ code }) => code)), new Set(["CONNECTION_SETUP_TIMED_OUT"]));
    network.setReachability("broker", 1, "open");
    assert.ok(await tryToConnect(1));
    // A connection that stood and is lost is no failure to open one.
    network.setReachability("broker", 1, "silent");
    network.cutAll("broker", 1);
    await clock.flush();
    await tryToConnect(1);
    assert.equal(clock.now() - attempts.at(-1)!, 10_000);
    node.close();
  });

  test("scenario 40: one that hangs up while versions are checked makes the next wait longer, not the set-up time", async () => {
    let hangsUp = true;
    const { node, network, attempts, tryToConnect, clock, lost } = await nodeStage((request, transport) => {
      if (!hangsUp) return usual(request, transport);
      transport.close();
      return undefined;
    });
    await tryToConnect(5);
    assert.deepEqual(gaps(attempts), [50, 100, 200, 400]);
    assert.equal(lost.length, 5);
    assert.match(node.lastError!.message, /closed the connection before it answered/);
    network.setReachability("broker", 1, "silent");
    await tryToConnect(1);
    assert.equal(clock.now() - attempts.at(-1)!, 10_000);
    hangsUp = false;
    network.setReachability("broker", 1, "open");
    assert.ok(await tryToConnect(1));
    assert.equal(node.lastError, undefined);
    node.close();
  });

  test("one whose first answer has nonsense right behind it is not taken for connected", async () => {
    let isBroken = true;
    const { node, run, clock, tryToConnect, lost } = await nodeStage((request, transport) => {
      const answer = usual(request, transport);
      if (!isBroken) return answer;
      // In one chunk: the connection ends before anyone has heard that it is there.
      void transport.write([frame(int32(request.getInt32(4)) + answer), frame(int32(4711))]);
      return undefined;
    });
    await tryToConnect(1);
    await clock.flush();
    assert.equal(node.connection("main"), undefined);
    assert.match(lost[0]!.message, /correlation id 4711 where none was due/);
    isBroken = false;
    const connection = (await tryToConnect(1))!;
    assert.equal((await run(connection.request(metadataApi, { topics: null }))).controllerId, -1);
    node.close();
  });

  test("case 047: where the peer hangs up on a version of ApiVersions, the next attempt begins with a lower one", async () => {
    for (const [highest, expected] of [[3, [4, 3, 3]], [0, [4, 3, 0, 0]], [-1, [4, 3, 0, 4, 3, 0]]] as const) {
      const asked: number[] = [];
      const { node, network, tryToConnect, clock } = await nodeStage((request, transport) => {
        if (!isVersions(request)) return METADATA;
        const version = request.getInt16(2);
        asked.push(version);
        if (version > highest) {
          transport.close();
          return undefined;
        }
        return usual(request, transport);
      });
      const connection = await tryToConnect(highest < 0 ? 6 : 3);
      assert.equal(connection?.versions.pick(metadataApi), highest < 0 ? undefined : 1);
      if (connection !== undefined) {
        // What has worked is begun with.
        network.cutAll("broker", 1);
        await clock.flush();
        assert.ok(await tryToConnect(2));
      }
      assert.deepEqual(asked, expected);
      node.close();
    }
  });

  test("scenario 44: closed for being idle, it is connected to again at once, and no request is lost", async () => {
    const { node, run, clock, attempts, lost, tryToConnect } = await nodeStage(usual, { connectionsMaxIdleMs: 1000 });
    const connection = (await tryToConnect(1))!;
    const ended = () => connection.ended?.code;
    await clock.advance(999);
    await run(connection.request(metadataApi, { topics: null }));
    // Counted from the last request on.
    await clock.advance(999);
    assert.equal(ended(), undefined);
    await clock.advance(1);
    assert.equal(ended(), "CONNECTION_IDLE");
    await assert.rejects(connection.request(metadataApi, { topics: null }), {
      outcome: "not-written",
      retriable: true,
    });
    const again = await run(node.connect("main"));
    assert.equal((await run(again.request(metadataApi, { topics: null }))).controllerId, -1);
    assert.deepEqual(gaps(attempts), [1999]);
    assert.deepEqual(lost, [], "it is no failure");
    node.close();
  });

  test("one that moves keeps its connection, and is connected to at its new address next", async () => {
    const to: string[] = [];
    const { node, network, run, clock, tryToConnect } = await nodeStage(usual, {}, (host, port, options) => {
      to.push(`${host}:${port}`);
      return network.connect("broker", 1, options);
    });
    const connection = (await tryToConnect(1))!;
    node.moveTo({ host: "elsewhere", port: 2 });
    assert.equal(await node.connect("main"), connection);
    assert.equal((await run(connection.request(metadataApi, { topics: null }))).controllerId, -1);
    network.cutAll("broker", 1);
    await clock.flush();
    await tryToConnect(1);
    assert.deepEqual(to, ["broker:1", "elsewhere:2"]);
    // What is being made there, or waits for its back-off, is given up.
    network.cutAll("broker", 1);
    network.setReachability("broker", 1, "silent");
    await clock.flush();
    const making = node.connect("main");
    making.catch(() => {});
    await clock.advance(60);
    network.setReachability("broker", 1, "open");
    node.moveTo({ host: "there", port: 3 });
    await assert.rejects(making, { name: "ConnectionError", retriable: true, message: /listens at there:3 now/ });
    assert.ok(await tryToConnect(1));
    assert.deepEqual(to.slice(2), ["elsewhere:2", "there:3"]);
    node.close();
    assert.equal(clock.pendingTimers, 0);
  });

  test("an ended one rejects what is made and what comes later with the reason", async () => {
    const { node, network, clock } = await nodeStage();
    network.setReachability("broker", 1, "silent");
    const making = node.connect("main");
    making.catch(() => {});
    await clock.flush();
    const reason = new ConnectionError("left the cluster");
    node.close(reason);
    await assert.rejects(making, (error: unknown) => error === reason);
    await assert.rejects(node.connect("main"), (error: unknown) => error === reason);
    assert.equal(clock.pendingTimers, 0);
  });

  test("case 101: TLS has no trailing dot of a name, and no name that was not given", async () => {
    const seen: (boolean | TlsOptions | undefined)[] = [];
    for (const tls of [undefined, { ca: "-----BEGIN X" }, { serverName: "given." }]) {
      for (const host of ["h.", "10.0.0.1", "::1"]) {
        const { node, run } = await nodeStage(usual, { securityProtocol: "SSL", tls }, (_host, _port, options) => {
          seen.push(options?.tls);
          return Promise.reject(new ConnectionError("not here"));
        });
        node.moveTo({ host, port: 9093 });
        await run(node.connect("main")).catch(() => {});
        node.close();
      }
    }
    assert.deepEqual(seen, [
      { serverName: "h" },
      true,
      true,
      { serverName: "h", ca: "-----BEGIN X" },
      { ca: "-----BEGIN X" },
      { ca: "-----BEGIN X" },
      { serverName: "given." },
      { serverName: "given." },
      { serverName: "given." },
    ]);
  });
});
