import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryNetwork } from "../../src/transport/memory_network.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { bytes, isAborted, isConnectionError, read } from "./contract.ts";

describe("memory network", () => {
  test("leads to the listener of that host and port", async () => {
    const network = new MemoryNetwork();
    const accepted: [string, Transport][] = [];
    for (const [host, port] of [["a", 1], ["a", 2], ["b", 1]] as const) {
      await network.listen(host, port, (transport) => accepted.push([`${host}:${port}`, transport]));
    }
    const client = await network.connect("A", 2);
    assert.deepEqual(accepted.map(([name]) => name), ["a:2"]);
    await client.write([bytes(5)]);
    assert.deepEqual([...await read(accepted[0]![1], 1)], [5]);
  });

  test("knows this machine by all its names", async () => {
    const network = new MemoryNetwork();
    const { port } = await network.listen("0.0.0.0", 0, () => {});
    for (const host of ["localhost", "127.0.0.1", "::1"]) (await network.connect(host, port)).close();
  });

  test("gives each listener a free port when asked for 0", async () => {
    const network = new MemoryNetwork();
    const ports = new Set<number>();
    for (let i = 0; i < 5; i++) ports.add((await network.listen("localhost", 0, () => {})).port);
    assert.equal(ports.size, 5);
  });

  test("tells an unknown host from a port without a listener", async () => {
    const network = new MemoryNetwork();
    await network.listen("broker", 9092, () => {});
    await assert.rejects(network.connect("broker", 9093), isConnectionError(/connection refused/, "ECONNREFUSED"));
    await assert.rejects(network.connect("nobody", 9092), isConnectionError(/cannot be resolved/, "ENOTFOUND"));
    await assert.rejects(network.connect("broker", 9092, { tls: true }), isConnectionError(/no TLS/, "NO_TLS"));
  });

  test("refuses and lets in again, as told", async () => {
    const network = new MemoryNetwork();
    await network.listen("broker", 9092, () => {});
    network.setReachability("broker", 9092, "refuse");
    await assert.rejects(network.connect("broker", 9092), isConnectionError(/refused/, "ECONNREFUSED"));
    network.setReachability("broker", 9092, "open");
    (await network.connect("broker", 9092)).close();
  });

  test("does not answer at all, as told, until the signal fires", async () => {
    const clock = new ManualClock();
    const network = new MemoryNetwork({ clock });
    await network.listen("broker", 9092, () => assert.fail("accepted"));
    network.setReachability("broker", 9092, "silent");
    const controller = new AbortController();
    let settled = false;
    const connecting = network.connect("broker", 9092, { signal: controller.signal });
    const outcome = assert.rejects(connecting.finally(() => settled = true), isAborted("too slow"));
    await clock.advance(100_000);
    assert.equal(settled, false);
    controller.abort("too slow");
    await outcome;
  });

  test("shows its connections and cuts them", async () => {
    const network = new MemoryNetwork();
    const seen: string[] = [];
    network.onConnect = ({ host, port, client }) => {
      seen.push(`${host}:${port}`);
      client.maxReadSize = 1;
    };
    await network.listen("a", 1, () => {});
    await network.listen("b", 1, () => {});
    const clients = [await network.connect("a", 1), await network.connect("a", 1), await network.connect("b", 1)];
    assert.deepEqual(seen, ["a:1", "a:1", "b:1"]);
    assert.equal(network.connections("a", 1).length, 2);
    await network.connections("a", 1)[0]!.server.write([bytes(1, 2)]);
    assert.equal(await clients[0]!.read(new Uint8Array(9)), 1);

    assert.equal(network.cutAll("a", 1), 2);
    await assert.rejects(clients[1]!.read(new Uint8Array(1)), isConnectionError(/reset/, "ECONNRESET"));
    assert.deepEqual(network.connections("a", 1), []);

    assert.equal(network.cutAll("b", 1, "end"), 1);
    assert.equal(await clients[2]!.read(new Uint8Array(1)), 0);
    assert.equal(network.cutAll("b", 1), 0);
  });

  test("names the client to the server", async () => {
    const network = new MemoryNetwork();
    let server: Transport | undefined;
    await network.listen("broker", 9092, (transport) => server = transport);
    const client = await network.connect("broker", 9092);
    client.close();
    await assert.rejects(server!.write([bytes(1)]), isConnectionError(/^localhost:\d+: the peer closed/, "EPIPE"));
    await assert.rejects(client.write([bytes(1)]), isConnectionError(/^broker:9092: .* closed on this side/));
  });
});
