import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EmbeddedBroker } from "../../src/broker/embedded_broker.ts";
import { commandTable } from "../../src/cli/command_table.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { FakeWorld } from "./fake_io.ts";

/** A world with a broker at localhost:9092. */
async function withBroker(act: (world: FakeWorld, storage: MemoryStorage) => Promise<void>): Promise<void> {
  const world = new FakeWorld();
  const storage = new MemoryStorage();
  world.folders.set("/data", storage);
  const broker = await EmbeddedBroker.start({ listen: world.network.listen, port: 9092, storage });
  try {
    await act(world, storage);
  } finally {
    await broker.close();
  }
}

/** The records of a listing without what differs between two topics. */
function bare(ndjson: string): unknown[] {
  return ndjson.trimEnd().split("\n").map((line) => {
    const { topic: _topic, offset: _offset, partition: _partition, ...rest } = JSON.parse(line);
    return rest;
  });
}

describe("anykafka: help and usage", () => {
  for (const [name, { load, summary }] of commandTable) {
    test(`${name} --help shows an example first, then every option`, async () => {
      const { code, err, out } = await new FakeWorld().run([...name.split(" "), "--help"]);
      assert.deepEqual([code, err], [0, ""]);
      assert.ok(out.startsWith(`anykafka ${name}`), out);
      assert.ok(out.includes(summary));
      for (const option of Object.keys((await load()).options)) assert.ok(out.includes(`--${option} `), option);
    });
  }

  test("--help names every command, --version the version, --help-json the tree", async () => {
    const world = new FakeWorld();
    const help = await world.run(["--help"]);
    for (const name of commandTable.keys()) assert.ok(help.out.includes(`  ${name} `), name);
    assert.match((await world.run(["--version"])).out, /^\d+\.\d+\.\d+\n$/);
    const tree = JSON.parse((await world.run(["--help-json"])).out);
    assert.deepEqual(Object.keys(tree.commands), [...commandTable.keys()]);
    assert.equal((await world.run([])).code, 2);
  });

  const wrong: [string[], RegExp][] = [
    [["consum", "t"], /no command consum; did you mean consume\?/],
    [["topic"], /topic what\? list, create, describe, delete/],
    [["consume", "t", "--form", "start"], /no option --form; did you mean --from\?/],
    [["consume"], /expected TOPIC, got 0/],
    [["consume", "t", "--from"], /--from needs a value/],
    [["consume", "t", "--from", "yesterday"], /--from yesterday: expected start/],
    [["consume", "t", "--limit", "x"], /--limit x: expected a number/],
    [["consume", "t", "-o", "xml"], /-o xml: expected text, json, raw or hex/],
    [["consume", "t", "--set", "linger.sm=5"], /unknown option linger\.sm; did you mean linger\.ms\?/],
    [["produce", "t", "--set", "linger.ms=soon"], /linger\.ms.* must be an integer/],
    [["produce", "t", "--input", "csv"], /--input csv: expected lines or json/],
    [["broker", "--port", "99999"], /--port 99999: expected 0 to 65535/],
    [["broker", "--topic", "a:0"], /--topic a:0: expected NAME/],
    [["topic", "delete", "t"], /say --yes/],
    [["doctor", "--bootstrap", "a:b:c"], /a:b:c/],
  ];
  for (const [words, message] of wrong) {
    test(`${words.join(" ")} is exit code 2 and says what is wrong`, async () => {
      await withBroker(async (world) => {
        const { code, err, out } = await world.run(words);
        assert.match(err, message);
        assert.deepEqual([code, out], [2, ""]);
      });
    });
  }
});

describe("anykafka: records in and out", () => {
  test("what consume -o json prints, produce --input json takes: keys, nulls, bytes, headers and timestamps stay", async () => {
    await withBroker(async (world) => {
      const lines = [
        { key: "k", value: '{"a":1.10}', headers: [["h", "v"], ["h", "w"]], timestamp: 1700000000000 },
        { key: null, value: "ünï ✓", headers: [], timestamp: 1700000000001 },
        { key: "", value: null, headers: [["empty", ""], ["none", null]], timestamp: 1700000000002 },
        { keyBase64: "/w==", valueBase64: "gICA/w==", headers: [], timestamp: 1700000000003 },
        { key: "\ufeffbom", value: "9007199254740993", headers: [], timestamp: 1700000000004 },
      ];
      const sent = await world.run(["produce", "one", "--input", "json"], {
        input: lines.map((line) => JSON.stringify(line)),
      });
      assert.deepEqual(sent, { code: 0, out: "", err: "5 records sent to one\n" });
      const all = ["--from", "start", "--until", "end", "-o", "json"];
      const first = await world.run(["consume", "one", ...all]);
      assert.equal(first.code, 0);
      assert.equal(first.err, "");
      assert.deepEqual(bare(first.out), lines.map((line) => ({ ...line, timestampType: "CreateTime" })));
      const input = first.out.trimEnd().split("\n");
      assert.equal((await world.run(["produce", "two", "--input", "json"], { input })).code, 0);
      const second = await world.run(["consume", "two", ...all]);
      assert.deepEqual(bare(second.out), bare(first.out));
    });
  });

  test("lines with a key separator; --from, --until, --limit and -o text choose what is printed", async () => {
    await withBroker(async (world) => {
      const input = ["a=1", "b=2=3", "plain", "d=4"];
      await world.run(["produce", "t", "-k", "="], { input });
      const values = async (...words: string[]) => (await world.run(["consume", "t", "--until", "end", ...words])).out;
      assert.equal(await values("--from", "start"), "1\n2=3\nplain\n4\n");
      assert.equal(await values("--from", "-2"), "plain\n4\n");
      assert.equal(await values("--from", "1", "--limit", "2"), "2=3\nplain\n");
      assert.equal(await values("--from", "start", "--limit", "0"), "");
      assert.equal(await values(), "");
      const { out } = await world.run(["consume", "t", "--from", "start", "--until", "3", "-p", "0"]);
      assert.equal(out, "1\n2=3\nplain\n");
    });
  });

  test("log read prints a partition's folder without a broker, as consume does", async () => {
    const world = new FakeWorld();
    const broker = await world.run(["broker", "--data", "/data", "--topic", "t:1"], {
      signal: AbortSignal.abort(),
    });
    assert.equal(broker.code, 0);
    const storage = world.folders.get("/data")!;
    const running = await EmbeddedBroker.start({ listen: world.network.listen, port: 9092, storage });
    await world.run(["produce", "t"], { input: ["x", "y", "z"] });
    const online = await world.run(["consume", "t", "--from", "start", "--until", "end", "-o", "json"]);
    await running.close();
    const offline = await world.run(["log", "read", "/data/t-0", "-o", "json"]);
    assert.deepEqual(offline, { code: 0, out: online.out, err: "" });
    assert.equal((await world.run(["log", "read", "/data/t-0", "--from", "1", "--limit", "1"])).out, "y\n");
    const missing = await world.run(["log", "read", "/nowhere/t-0"]);
    assert.equal(missing.code, 1);
    assert.match(missing.err, /\/nowhere\/t-0: there is no such file or folder \[ENOENT\]/);
  });

  test("a topic that is not there fails with exit code 1 and its name; looking does not make it", async () => {
    await withBroker(async (world) => {
      const settings = ["--set", "default.api.timeout.ms=300"];
      const { code, err } = await world.run(["consume", "nothing", "--from", "start", "--until", "end", ...settings]);
      assert.equal(code, 1);
      assert.match(err, /nothing/);
      assert.equal((await world.run(["topic", "list"])).out, "topic\tpartitions\n");
    });
  });

  test("a bad line of JSON is named by its number", async () => {
    await withBroker(async (world) => {
      const { code, err } = await world.run(["produce", "t", "--input", "json"], { input: ['{"value":"a"}', "{oops"] });
      assert.equal(code, 2);
      assert.match(err, /line 2 is not JSON/);
    });
  });

  test("an interrupted consume is exit code 130", async () => {
    await withBroker(async (world) => {
      await world.run(["produce", "t"], { input: ["a"] });
      const interrupt = new AbortController();
      const running = world.run(["consume", "t", "--from", "start"], { signal: interrupt.signal });
      setTimeout(() => interrupt.abort(), 50);
      assert.equal((await running).code, 130);
    });
  });
});

describe("anykafka: topics and doctor", () => {
  test("create, list, describe and delete", async () => {
    await withBroker(async (world) => {
      assert.equal((await world.run(["topic", "create", "orders", "-p", "2"])).code, 0);
      const again = await world.run(["topic", "create", "orders"]);
      assert.equal(again.code, 1);
      assert.match(again.err, /TOPIC_ALREADY_EXISTS/);
      await world.run(["produce", "orders", "-p", "1"], { input: ["a", "b"] });
      assert.equal((await world.run(["topic", "list"])).out, "topic\tpartitions\norders\t2\n");
      const { out } = await world.run(["topic", "describe", "orders"]);
      assert.deepEqual(out.split("\n").slice(1, 3), ["orders\t0\t1\t1\t1\t0\t0", "orders\t1\t1\t1\t1\t0\t2"]);
      const json = JSON.parse((await world.run(["topic", "describe", "orders", "-o", "json"])).out);
      assert.deepEqual([json.name, json.partitions.length], ["orders", 2]);
      assert.equal((await world.run(["topic", "delete", "orders", "--yes"])).code, 0);
      assert.equal((await world.run(["topic", "list"])).out, "topic\tpartitions\n");
    });
  });

  test("doctor is content with a broker", async () => {
    await withBroker(async (world) => {
      const { code, out } = await world.run(["doctor"], { env: { ANYKAFKA_BOOTSTRAP: "localhost:9092" } });
      assert.equal(code, 0, out);
      assert.ok(out.split("\n").slice(0, -1).every((line) => line.startsWith("ok ")), out);
    });
  });

  test("doctor says at which step it fails: a closed port, and a port that speaks HTTP", async () => {
    const world = new FakeWorld();
    const closed = await world.run(["doctor", "-b", "localhost:1"]);
    assert.equal(closed.code, 3);
    assert.match(closed.out, /^FAIL {2}connect to localhost:1: .*ECONNREFUSED/);
    const listener = await world.network.listen("localhost", 8080, (transport) => {
      void transport.write([new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")]);
    });
    const http = await world.run(["doctor", "-b", "localhost:8080"]);
    await listener.close();
    assert.equal(http.code, 3);
    const lines = http.out.split("\n");
    assert.match(lines[0]!, /^ok {4}connect to localhost:8080/);
    assert.match(lines[1]!, /^FAIL {2}ask for versions and metadata: .*HTTP/);
  });

  test("a broker runs until it is interrupted, then ends with 0", async () => {
    const world = new FakeWorld();
    const interrupt = new AbortController();
    const { code, err, out } = await world.run(["broker", "--port", "0"], {
      signal: interrupt.signal,
      onErr: () => interrupt.abort(),
    });
    assert.deepEqual([code, out], [0, ""]);
    assert.match(err, /at 127\.0\.0\.1:\d+, in memory\nbroker stopped\n$/);
  });
});

describe("anykafka: demo", () => {
  const flights = Array.from({ length: 300 }, (_, i) => JSON.stringify({ origin: `AP${i % 17}`, delay: i }));

  test("sent, read back and stored records agree; the folder is gone after", async () => {
    const world = new FakeWorld();
    world.demo = flights;
    const { code, err, out } = await world.run(["demo"]);
    assert.equal(code, 0, out + err);
    assert.equal(err, "", "no progress in a pipe");
    assert.ok(!out.includes("\x1b"));
    const rows = out.split("\n").filter((line) => /^\d\t/.test(line)).map((line) => line.split("\t").map(Number));
    assert.equal(rows.length, 3);
    assert.equal(rows.reduce((sum, [, sent]) => sum + sent!, 0), 300);
    for (const [, sent, read, stored] of rows) assert.deepEqual([read, stored], [sent, sent]);
    assert.equal(world.temporaryFolders, 0);
  });

  test("files that lost records make it fail", async () => {
    const world = new FakeWorld();
    world.demo = flights;
    world.tamper = async (storage) => {
      for (const folder of (await storage.folders()).slice(0, 1)) {
        const file = await (await storage.folder(folder)).open("00000000000000000000.log");
        await file.truncate(0);
        await file.close();
      }
    };
    const { code, out } = await world.run(["demo"]);
    assert.notEqual(code, 0);
    assert.match(out, /differ/);
  });
});
