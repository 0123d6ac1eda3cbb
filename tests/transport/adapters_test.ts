import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { connect as connectRaw, createServer, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import * as auto from "../../adapters/auto.ts";
import * as node from "../../adapters/node.ts";
import { ConfigError, type ConnectionError } from "../../src/core/kafka_error.ts";
import { FrameReader } from "../../src/transport/frame_reader.ts";
import { type MemoryConnection, MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Connect, Listen, TlsOptions, Transport } from "../../src/transport/transport.ts";
import * as certificates from "./certificates.ts";
import {
  assertSame,
  bytes,
  connectContract,
  isAborted,
  isConnectionError,
  pattern,
  pause,
  read,
  type Stage,
  type Target,
  transportContract,
} from "./contract.ts";
import { memoryPeer, type RawPeer, socketPeer } from "./raw_peer.ts";

const LIMIT = { timeout: 20_000 };

const sockets: [string, Connect][] = [["node", node.connect]];
if ("Deno" in globalThis) sockets.push(["deno", (await import("../../adapters/deno.ts")).connect]);
if ("Bun" in globalThis) sockets.push(["bun", (await import("../../adapters/bun.ts")).connect]);

for (const [name, connect] of sockets) {
  transportContract(name, () => socketStage(connect));
  connectContract(name, connect, silentTarget);
  tlsContract(name, connect);
  wrongPortContract(name, connect);
}
// The adapters behind it have their own runs.
connectContract("auto", auto.connect, silentTarget);
wrongPortContract("auto", auto.connect);
transportContract("node, accepted", () => acceptedStage(node.listen));
transportContract("memory", memoryStage);
const network = new MemoryNetwork();
connectContract("memory", network.connect, () => listenTarget(network.listen));
listenContract("node", node.listen, node.connect);
listenContract("auto", auto.listen, auto.connect);
listenContract("memory", network.listen, network.connect);

describe("node: listen", () => {
  test("refuses a port that cannot be", LIMIT, async () => {
    await assert.rejects(node.listen("127.0.0.1", 70_000, () => {}), isConnectionError(/^listen 127\.0\.0\.1:70000: /));
  });
});

describe("auto", () => {
  test("says in a runtime without sockets what to do", async () => {
    const scope = globalThis as unknown as Record<string, unknown>;
    const names = ["Deno", "process"].filter((name) => name in scope);
    const saved = names.map((name) => Object.getOwnPropertyDescriptor(scope, name)!);
    try {
      names.forEach((name, i) => {
        assert.ok(saved[i]!.configurable);
        Object.defineProperty(scope, name, { value: undefined, configurable: true });
      });
      const connecting = auto.connect("localhost", 9092);
      const listening = auto.listen("localhost", 0, () => {});
      names.forEach((name, i) => Object.defineProperty(scope, name, saved[i]!));
      await assert.rejects(connecting, (error: unknown) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, /no TCP sockets .* pass your own "connect"/);
        return true;
      });
      await assert.rejects(listening, ConfigError);
    } finally {
      names.forEach((name, i) => Object.defineProperty(scope, name, saved[i]!));
    }
  });
});

/** What a TLS client must get right; the peer answers with the name it was asked for and the client's name. */
function tlsContract(name: string, connect: Connect): void {
  const ca = certificates.caCertificate;
  const good = { key: certificates.serverKey, cert: certificates.serverCertificate };
  const other = { key: certificates.otherServerKey, cert: certificates.otherServerCertificate };
  const client = { cert: certificates.clientCertificate, key: certificates.clientKey };

  const serve = async (
    options: { key: string; cert: string; mutual?: boolean },
    run: (hello: (host: string, tls: TlsOptions | true) => Promise<string>) => Promise<void>,
  ) => {
    const { mutual = false, ...identity } = options;
    const server = createTlsServer({ ...identity, ca, requestCert: mutual, rejectUnauthorized: mutual }, (socket) => {
      socket.write(`${socket.servername || "-"} ${socket.getPeerCertificate()?.subject?.CN ?? "-"}`);
    });
    const target = await started(server, "secureConnection");
    try {
      await run(async (host, tls) => {
        const transport = await connect(host, target.port, { tls });
        try {
          const into = new Uint8Array(99);
          return new TextDecoder().decode(into.subarray(0, await transport.read(into)));
        } finally {
          transport.close();
        }
      });
    } finally {
      await target.close();
    }
  };

  describe(`${name}: TLS`, () => {
    test("case 101: trusts a root of one's own, by name and by address", LIMIT, () =>
      serve(good, async (hello) => {
        assert.equal(await hello("localhost", { ca }), "localhost -");
        assert.match(await hello("127.0.0.1", { ca }), / -$/);
      }));

    test("rejects a peer whose issuer is unknown, and says how to trust it", LIMIT, () =>
      serve(good, async (hello) => {
        for (const tls of [true, {}, { ca: certificates.otherCaCertificate }] as const) {
          await assert.rejects(hello("localhost", tls), (error: unknown) => {
            isConnectionError(/^connect localhost:\d+: TLS handshake failed: .*tls\.ca/)(error);
            assert.equal((error as ConnectionError).retriable, false);
            return true;
          });
        }
      }));

    test("rejects a peer with another name, and says which option helps", LIMIT, () =>
      serve(other, async (hello) => {
        for (const host of ["localhost", "127.0.0.1"]) {
          await assert.rejects(hello(host, { ca }), (error: unknown) => {
            isConnectionError(/TLS handshake failed: .*tls\.serverName/, "ERR_TLS_CERT_ALTNAME_INVALID")(error);
            assert.equal((error as ConnectionError).retriable, false);
            return true;
          });
        }
      }));

    test("asks for and checks the name in serverName instead of the host", LIMIT, async () => {
      await serve(other, async (hello) => {
        assert.equal(await hello("localhost", { ca, serverName: "other.example" }), "other.example -");
        assert.equal(await hello("127.0.0.1", { ca, serverName: "other.example" }), "other.example -");
        assert.match(await hello("localhost", { ca, serverName: "127.0.0.9" }), / -$/);
      });
      await serve(good, async (hello) => {
        const wrong = hello("localhost", { ca, serverName: "nobody.example" });
        await assert.rejects(wrong, isConnectionError(/TLS/, "ERR_TLS_CERT_ALTNAME_INVALID"));
        const wrongAddress = hello("localhost", { ca, serverName: "127.0.0.8" });
        await assert.rejects(wrongAddress, isConnectionError(/TLS/, "ERR_TLS_CERT_ALTNAME_INVALID"));
      });
    });

    test("checks nothing when told to", LIMIT, () =>
      serve(other, async (hello) => {
        assert.equal(await hello("localhost", { insecure: true }), "localhost -");
      }));

    test("shows a client certificate", LIMIT, () =>
      serve({ ...good, mutual: true }, async (hello) => {
        assert.equal(await hello("localhost", { ca, ...client }), "localhost kafka-client");
      }));

    test("says that a client certificate is missing", LIMIT, () =>
      serve({ ...good, mutual: true }, async (hello) => {
        await assert.rejects(hello("localhost", { ca }), isConnectionError(/tls\.cert and tls\.key/));
      }));

    test("refuses settings that cannot be right before anything is sent", LIMIT, async () => {
      for (
        const [tls, message] of [
          [{ ca, cert: "client.pem", key: client.key }, /tls\.cert is not PEM text/],
          [{ ca: "/etc/ca.pem" }, /tls\.ca is not PEM text/],
          [{ ca, cert: client.cert }, /belong together/],
        ] as const
      ) {
        await assert.rejects(connect("localhost", 1, { tls }), { name: "ConfigError", message });
      }
    });

    test("carries 12 MB there and back", LIMIT, async () => {
      const server = createTlsServer(good, (socket) => void socket.pipe(socket));
      const target = await started(server, "secureConnection");
      try {
        const transport = await connect("localhost", target.port, { tls: { ca } });
        const data = pattern(12 * 1024 * 1024);
        const sent = transport.write([data.subarray(0, 100), data.subarray(100, 200_000), data.subarray(200_000)]);
        assertSame(await read(transport, data.length), data);
        await sent;
        transport.close();
      } finally {
        await target.close();
      }
    });

    test("rejects a pending write and a pending read on close", LIMIT, async () => {
      const server = createTlsServer(good, (socket) => void socket.pause());
      const target = await started(server, "secureConnection");
      try {
        const transport = await connect("localhost", target.port, { tls: { ca } });
        const reading = assert.rejects(transport.read(new Uint8Array(1)), isConnectionError(/closed on this side/));
        const writing = assert.rejects(transport.write([pattern(24 << 20)]), isConnectionError(/closed on this side/));
        await pause(30);
        transport.close();
        await Promise.all([reading, writing]);
      } finally {
        await target.close();
      }
    });

    test("answers 0 after the last byte when the peer ends", LIMIT, async () => {
      const server = createTlsServer(good, (socket) => void socket.end(pattern(300_000)));
      const target = await started(server, "secureConnection");
      try {
        const transport = await connect("localhost", target.port, { tls: { ca } });
        await pause(30);
        assertSame(await read(transport, 300_000, () => 7000), pattern(300_000));
        assert.equal(await transport.read(new Uint8Array(1)), 0);
        transport.close();
      } finally {
        await target.close();
      }
    });

    test("says that a plaintext port does not speak TLS", LIMIT, async () => {
      const target = await started(
        createServer((socket) => socket.on("data", () => socket.write("HTTP/1.1 400 Bad\r\n"))),
      );
      try {
        await assert.rejects(
          connect("localhost", target.port, { tls: { ca } }),
          isConnectionError(/^connect localhost:\d+: TLS handshake failed: .*plaintext/),
        );
      } finally {
        await target.close();
      }
    });

    test("says that the peer left during the handshake", LIMIT, async () => {
      const target = await started(createServer((socket) => socket.on("data", () => socket.destroy())));
      try {
        await assert.rejects(connect("localhost", target.port, { tls: { ca } }), (error: unknown) => {
          isConnectionError(/^connect localhost:\d+: the peer closed the connection during the TLS handshake/)(error);
          assert.equal((error as ConnectionError).retriable, true);
          return true;
        });
      } finally {
        await target.close();
      }
    });

    test("gives up a handshake that does not move when the signal fires", LIMIT, async () => {
      const target = await silentTarget();
      try {
        const controller = new AbortController();
        const connecting = connect(target.host, target.port, { tls: { ca }, signal: controller.signal });
        const reason = new Error("too slow");
        const rejected = assert.rejects(connecting, isAborted(reason));
        await pause(50);
        controller.abort(reason);
        await rejected;
      } finally {
        await target.close();
      }
    });
  });
}

/** Real ports of other kinds, met by a client that expects Kafka's frames. */
function wrongPortContract(name: string, connect: Connect): void {
  const meet = async (target: Target) => {
    try {
      const transport = await connect(target.host, target.port);
      const frames = new FrameReader(transport, { peer: `${target.host}:${target.port}` });
      await transport.write([bytes(0, 0, 0, 9, 0, 18, 0, 0, 0, 0, 0, 0, 0xff, 0xff)]);
      try {
        return await frames.next();
      } finally {
        transport.close();
      }
    } finally {
      await target.close();
    }
  };

  describe(`${name}: wrong ports`, () => {
    test("names HTTP", LIMIT, async () => {
      const target = await started(createHttpServer() as unknown as Server);
      await assert.rejects(meet(target), { name: "ProtocolError", code: "WRONG_PROTOCOL", message: /HTTP/ });
    });

    test("names TLS", LIMIT, async () => {
      const alert = bytes(0x15, 3, 3, 0, 2, 2, 80);
      const target = await started(createServer((socket) => socket.on("data", () => socket.end(alert))));
      await assert.rejects(meet(target), { name: "ProtocolError", code: "WRONG_PROTOCOL", message: /TLS/ });
    });

    test("refuses a port that cannot be", LIMIT, async () => {
      await assert.rejects(connect("127.0.0.1", 70_000), (error: unknown) => {
        isConnectionError(/^connect 127\.0\.0\.1:70000: /)(error);
        assert.equal((error as ConnectionError).retriable, false);
        return true;
      });
    });
  });
}

/** What a {@linkcode Listen} must do beside making transports. */
function listenContract(name: string, listen: Listen, connect: Connect): void {
  describe(`${name}: listen`, () => {
    test("takes a free port, accepts, and refuses after it was closed; what was accepted stays", LIMIT, async () => {
      const accepted: Transport[] = [];
      const listener = await listen("127.0.0.1", 0, (transport) => accepted.push(transport));
      assert.ok(listener.port > 0);
      const client = await connect("127.0.0.1", listener.port);
      await client.write([bytes(1)]);
      for (let i = 0; accepted.length === 0 && i < 1000; i++) await pause(1);
      await listener.close();
      await listener.close();
      await assert.rejects(connect("127.0.0.1", listener.port), isConnectionError(/refused/, "ECONNREFUSED"));
      assert.deepEqual([...await read(accepted[0]!, 1)], [1]);
      await accepted[0]!.write([bytes(2)]);
      assert.deepEqual([...await read(client, 1)], [2]);
      client.close();
      assert.equal(await accepted[0]!.read(new Uint8Array(1)), 0);
      accepted[0]!.close();
    });

    test("says that a port is taken", LIMIT, async () => {
      const listener = await listen("127.0.0.1", 0, () => {});
      try {
        await assert.rejects(listen("127.0.0.1", listener.port, () => {}), (error: unknown) => {
          isConnectionError(/^listen 127\.0\.0\.1:\d+: /, "EADDRINUSE")(error);
          assert.equal((error as ConnectionError).port, listener.port);
          return true;
        });
      } finally {
        await listener.close();
      }
      const again = await listen("127.0.0.1", listener.port, () => {});
      await again.close();
    });
  });
}

/** Starts `server` on a free local port and keeps count of its sockets, to end them all. */
async function started(server: Server, event = "connection"): Promise<Target> {
  const open = new Set<Socket>();
  const track = (socket: Socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {});
  };
  server.on("connection", track);
  if (event !== "connection") server.on(event, track);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    host: "127.0.0.1",
    port: (server.address() as { port: number }).port,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A port that accepts and never says a word. */
function silentTarget(): Promise<Target> {
  return started(createServer((socket) => void socket.resume()));
}

/** Connections made by `connect`; a plain server is at the other end. */
async function socketStage(connect: Connect): Promise<Stage> {
  const waiting: ((peer: RawPeer) => void)[] = [];
  const arrived: RawPeer[] = [];
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    const peer = socketPeer(socket);
    const next = waiting.shift();
    if (next === undefined) arrived.push(peer);
    else next(peer);
  });
  const target = await started(server);
  return {
    open: async () => {
      const transport = await connect(target.host, target.port);
      const peer = arrived.shift() ?? await new Promise<RawPeer>((resolve) => waiting.push(resolve));
      return { transport, peer };
    },
    close: () => target.close(),
  };
}

/** Connections accepted by `listen`; a plain socket is at the other end. */
async function acceptedStage(listen: Listen): Promise<Stage> {
  const waiting: ((transport: Transport) => void)[] = [];
  const raw: Socket[] = [];
  const listener = await listen("127.0.0.1", 0, (transport) => waiting.shift()!(transport));
  return {
    open: async () => {
      const accepted = new Promise<Transport>((resolve) => waiting.push(resolve));
      const socket = connectRaw({ host: "127.0.0.1", port: listener.port, noDelay: true });
      raw.push(socket);
      const peer = socketPeer(socket);
      return { transport: await accepted, peer };
    },
    close: async () => {
      for (const socket of raw) socket.destroy();
      await listener.close();
    },
  };
}

async function memoryStage(): Promise<Stage> {
  const network = new MemoryNetwork();
  let last: MemoryConnection | undefined;
  network.onConnect = (connection) => last = connection;
  const listener = await network.listen("broker", 9092, () => {});
  return {
    open: async () => {
      const transport = await network.connect("broker", 9092);
      return { transport, peer: memoryPeer(last!.server) };
    },
    close: () => listener.close(),
  };
}

async function listenTarget(listen: Listen): Promise<Target> {
  const listener = await listen("127.0.0.1", 0, () => {});
  return { host: "127.0.0.1", port: listener.port, close: () => listener.close() };
}
