import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { concatenate } from "../../src/bytes/concatenate.ts";
import { crc32c } from "../../src/hash/crc32c.ts";
import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { RecordBatchBuilder } from "../../src/records/record_batch_builder.ts";
import { putFile } from "../helpers/memory_copy.ts";
import { baseFiles, damageBases, damagedFiles } from "../log/damaged_sets.ts";
import { FakeWorld, type Ran } from "./fake_io.ts";
import { expectedOf, jsonLines, worldWith } from "./golden_world.ts";

const PLAIN = "/data/plain.v2-create_time-0";
const FIRST = "00000000000000000000.log";

async function dump(set: string, ...words: string[]): Promise<Ran> {
  return await (await worldWith(set)).run(["log", "dump", ...words]);
}

/** A world with the folder `/data/t-0`. */
async function worldOf(files: Readonly<Record<string, Uint8Array>>): Promise<FakeWorld> {
  const world = new FakeWorld();
  const tree = new MemoryStorage();
  for (const [name, bytes] of Object.entries(files)) await putFile(await tree.folder("t-0"), name, bytes);
  world.folders.set("/data", tree);
  return world;
}

/** A batch with one record. */
function batchOf(value: Uint8Array | string | null, baseOffset = 0, timestamp = 1_700_000_000_000): Uint8Array {
  const builder = new RecordBatchBuilder(new Uint8Array(1024));
  builder.append(timestamp, "k", value);
  return builder.seal({ crc32c, baseOffset }).slice();
}

const joined = (...parts: readonly Uint8Array[]): Uint8Array => concatenate(parts);

/** The batch lines of text. */
function batchLines({ out }: Ran): string[] {
  return out.split("\n").filter((line) => line.startsWith("baseOffset: "));
}

describe("log dump: text for people", () => {
  test("keeps the lines of Kafka's tool; adds header values, hex, and one line a record", async () => {
    const { code, err, out } = await dump("01-plain", PLAIN, "--from", "4", "--until", "6");
    assert.deepEqual([code, err], [0, ""]);
    assert.deepEqual(out.split("\n"), [
      `Dumping ${FIRST}`,
      "Log starting offset: 0",
      "baseOffset: 0 lastOffset: 23 count: 24 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 " +
      "partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty " +
      "position: 0 CreateTime: 1700000012425 size: 1821 magic: 2 compresscodec: none crc: 4204585403 isvalid: true",
      "| offset: 4 CreateTime: 1700000002285 keySize: 2 valueSize: 23 sequence: -1 headerKeys: [trace] " +
      "headerValues: [0x0deed5ff7d363aef82001b69adf69ae7] key: Z} " +
      "payload: 0xc100a6114f72263db4da3c5129fcbceb552db265bf68d1",
      "| offset: 5 CreateTime: 1700000002713 keySize: 4 valueSize: 64 sequence: -1 headerKeys: [] key: k-28 " +
      "payload: café | zażółć : order \\ order 👩‍👩‍👧 line\\nfeed ",
      "",
    ]);
  });

  test("shows epochs, the topic's id, snapshots and indexes of a folder", async () => {
    const { out } = await dump("07-transactions", "/data/txn-0", "--batches");
    for (
      const line of [
        "offset: 14 position: 406",
        "timestamp: 1796005414505 offset: 7",
        "version: 0 producerId: 1007 firstOffset: 1 lastOffset: 21 lastStableOffset: 15",
        "producerId: 1009 producerEpoch: 2 coordinatorEpoch: 2 currentTxnFirstOffset: OptionalLong.empty " +
        "lastTimestamp: 1796005414806",
        "epoch: 0 startOffset: 0",
        "topicId: V09SDj_vTIahdMX1ibExrQ",
      ]
    ) assert.ok(out.split("\n").includes(line), line);
    assert.ok(!out.includes("\n| "), "--batches shows no records");
  });

  test("leaves out the zeros behind an index that a killed broker left; --dump-log shows what the tool shows", async () => {
    const name = "00000000000000000318.index";
    const { offsetIndex, offsetIndexSlots } = expectedOf("10a-killed").segments.at(-1);
    assert.ok(offsetIndexSlots > offsetIndex.length);
    for (const form of [[], ["--dump-log"]]) {
      const { out } = await dump("10a-killed", ...form, `/data/crash-0/${name}`);
      assert.equal(out.split("\n").length - 2, offsetIndex.length);
    }
    const empty = await worldOf({ [name]: new Uint8Array(80), [name.replace("index", "log")]: new Uint8Array(0) });
    assert.equal((await empty.run(["log", "dump", `/data/t-0/${name}`])).out, `Dumping /data/t-0/${name}\n`);
    const exact = await empty.run(["log", "dump", "--dump-log", `/data/t-0/${name}`]);
    assert.equal(exact.out, `Dumping /data/t-0/${name}\noffset: 318 position: 0\n`);
  });
});

describe("log dump: what is wanted", () => {
  test("--from and --until take batches by the index, in the segments that hold them", async () => {
    const ran = await dump("01-plain", PLAIN, "--from", "440", "--until", "450", "-o", "json");
    const records = jsonLines(ran).filter(({ type }) => type === "record");
    assert.deepEqual(records.map(({ offset }) => offset), [440, 441, 442, 443, 444, 445, 446, 447, 448, 449]);
    const files = new Set(jsonLines(ran).filter(({ type }) => type === "batch").map(({ file }) => file));
    assert.deepEqual([...files], ["00000000000000000196.log", "00000000000000000446.log"]);
  });

  test("--from -N counts from the end, @TIME looks the time up", async () => {
    const last = jsonLines(await dump("01-plain", PLAIN, "--from", "-3", "-o", "json"));
    assert.deepEqual(last.filter(({ type }) => type === "record").map(({ offset }) => offset), [816, 817, 818]);
    const later = jsonLines(await dump("01-plain", PLAIN, "--from", "@1700000104500", "-n", "1", "-o", "json"));
    assert.deepEqual(later.map(({ offset, type }) => [type, offset]), [["batch", undefined], ["record", 236]]);
  });

  test("--key, --grep, --time and --limit pick records; only their batches are shown", async () => {
    const expected = expectedOf("01-plain");
    // deno-lint-ignore no-explicit-any -- the rows of another program
    const offsetsOf = (isWanted: (record: any) => boolean) =>
      expected.records.filter(isWanted).map(([offset]: [number]) => offset);
    const dumped = async (...words: string[]) => jsonLines(await dump("01-plain", PLAIN, "-o", "json", ...words));
    const offsets = async (...words: string[]) =>
      (await dumped(...words)).filter(({ type }) => type === "record").map(({ offset }) => offset);

    const isK19 = ([, , key]: string[]) => key === "ay0xOQ==";
    const all = offsetsOf(isK19);
    assert.ok(all.length > 5);
    assert.deepEqual(await offsets("--key", "k-19"), all);
    assert.deepEqual(await offsets("--key", "hex:6b2d3139"), all);
    assert.deepEqual(await offsets("--key", "base64:ay0xOQ=="), all);
    assert.deepEqual(await offsets("--key", "k-19", "--limit", "2"), all.slice(0, 2));
    assert.deepEqual(
      await offsets("--time", "1700000100000..1700000110000"),
      offsetsOf(([, time]) => time >= 1_700_000_100_000 && time < 1_700_000_110_000),
    );
    const text = (base64: string | null) =>
      base64 === null ? "" : new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
    assert.deepEqual(
      await offsets("--grep", "emp?ty k|^émigré"),
      offsetsOf(([, , key, value, headers]) =>
        [key, value, ...headers.flat()].some((bytes: string | null) =>
          typeof bytes === "string" && /emp?ty k|^émigré/u.test(text(bytes))
        )
      ),
    );
    for (const line of await dumped("--key", "k-19")) assert.ok(["batch", "record"].includes(line.type));
  });

  test("--batches shows no records, and --limit then counts batches", async () => {
    const lines = jsonLines(await dump("01-plain", PLAIN, "--from", "230", "--batches", "--limit", "2", "-o", "json"));
    assert.deepEqual(lines.map(({ lastOffset, type }) => [type, lastOffset]), [["batch", 230], ["batch", 235]]);
    assert.ok(!("recordCount" in lines[0]));
  });

  test("files, folders and whole log directories; names tell them apart", async () => {
    const both = await dump("01-plain", `${PLAIN}/${FIRST}`, `${PLAIN}/00000000000000000196.log`, "--batches");
    assert.deepEqual(
      both.out.split("\n").filter((line) => line.startsWith("Dumping")),
      [`Dumping ${PLAIN}/${FIRST}`, `Dumping ${PLAIN}/00000000000000000196.log`],
    );
    const directory = await dump("09c-retention", "/data", "--batches", "-o", "json");
    assert.equal(directory.code, 0);
    const partition = expectedOf("09c-retention").partition;
    const alone = await dump("09c-retention", `/data/${partition}`, "--batches", "-o", "json");
    assert.deepEqual(jsonLines(directory), jsonLines(alone));
    const checkpoint = await dump("09c-retention", "/data/log-start-offset-checkpoint");
    assert.match(checkpoint.out, /^Dumping .*\ntopic: \S+ partition: 0 offset: \d+\n/);
  });

  test("--decode shows keys and values as utf8, json or hex", async () => {
    const world = await worldOf({ [FIRST]: joined(batchOf('{"id": 12345678901234567890}'), batchOf(null, 1)) });
    const decoded = async (as: string) =>
      (await world.run(["log", "dump", `/data/t-0/${FIRST}`, "-o", "json", "--decode", as])).out.split("\n")
        .filter((line) => line.includes('"record"')).map((line) => line.slice(line.indexOf(',"decoded"')));
    assert.deepEqual(await decoded("json"), [
      ',"decoded":{"key":"k","value":{"id": 12345678901234567890}}}',
      ',"decoded":{"key":"k","value":null}}',
    ]);
    assert.equal((await decoded("utf8"))[0], ',"decoded":{"key":"k","value":"{\\"id\\": 12345678901234567890}"}}');
    assert.equal((await decoded("hex"))[1], ',"decoded":{"key":"6b","value":null}}');
    const { out } = await world.run(["log", "dump", `/data/t-0/${FIRST}`, "--decode", "hex", "-n", "1"]);
    assert.match(out, / key: 6b payload: 7b22/);
  });
});

describe("log dump: JSON", () => {
  test("bytes of every length are base64, integers of every length decimal", async () => {
    // RFC 4648, section 10, and all byte values.
    const vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
    const base64 = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const times = [-1, 0, 9, 10, 99_999_999, 100_000_000, 1_700_000_000_000, 8_640_000_000_000_000, 5];
    const parts = vectors.map((value, n) => batchOf(value, n, times[n]));
    const last = [batchOf(bytes, 99_999_999, times[7]), batchOf(null, 2 ** 53 - 2, times[8])];
    const world = await worldOf({ [FIRST]: joined(...parts, ...last) });
    const ran = await world.run(["log", "dump", `/data/t-0/${FIRST}`, "-o", "json"]);
    const records = jsonLines(ran).filter(({ type }) => type === "record");
    assert.deepEqual(records.slice(0, 7).map(({ value }) => value), base64);
    assert.equal(records[7].value, btoa(String.fromCharCode(...bytes)));
    assert.equal(records[8].value, null);
    assert.deepEqual(records.map(({ offset }) => offset), [0, 1, 2, 3, 4, 5, 6, 99_999_999, 2 ** 53 - 2]);
    assert.deepEqual(records.map(({ timestamp }) => timestamp), times);
  });

  test("a timestamp beyond 2^53 is told exactly", async () => {
    const batch = batchOf("v");
    new DataView(batch.buffer).setBigInt64(27, 2n ** 62n + 1n);
    new DataView(batch.buffer).setUint32(17, crc32c(batch.subarray(21)));
    const world = await worldOf({ [FIRST]: batch });
    const { out } = await world.run(["log", "dump", `/data/t-0/${FIRST}`, "-o", "json"]);
    assert.match(out, /"offset":0,"timestamp":"4611686018427387905"/);
  });
});

describe("log dump --bytes", () => {
  test("every byte of a batch stands in it once, with its place, name and meaning", async () => {
    const { code, out } = await dump("01-plain", "--bytes", `${PLAIN}/${FIRST}`, "--from", "24", "-n", "3");
    assert.equal(code, 0);
    const bytes = [...out.matchAll(/^ +(\d+) {2}((?:[0-9a-f]{2}(?: |$))+)/gm)].flatMap(([, at, hex]) =>
      hex!.trim().split(" ").map((pair, i) => [Number(at) + i, parseInt(pair, 16)])
    );
    const world = await worldWith("01-plain");
    const file = await (await world.folders.get("/data")!.folder("plain.v2-create_time-0")).open(FIRST);
    const batch = new Uint8Array(200);
    await file.readAt(batch, 1821);
    await file.close();
    assert.deepEqual(bytes, [...batch].map((byte, i) => [1821 + i, byte]));
    for (
      const line of [
        /^ +1821 {2}00 00 00 00 00 00 00 18 {2}baseOffset +24 /m,
        /^ +1838 {2}78 1a 3d 90 {14}crc +2014985616 +CRC-32C .* right$/m,
        /^ +1864 {2}ff ff ff ff ff ff ff ff {2}producerId +-1 +none/m,
        /^ +1887 {2}6b 2d 32 {17}key +"k-2"$/m,
        /^ +1939 {2}f4 0d {20}timestampDelta +890 +1700000014066: 2023-11-14T22:13:34.066Z$/m,
      ]
    ) assert.match(out, line);
  });

  test("what is compressed is told where it is inflated to; messages of the older formats too", async () => {
    const { out } = await dump("14-v1-gzip", "--bytes", `/data/v1-gzip-0/${FIRST}`, "--from", "2", "-n", "1");
    assert.match(out, /^ +88 {2}00 00 00 f4 +messageSize +244 /m);
    assert.match(out, /^ message 1 at byte 99 of what it inflates to: offset 2$/m);
    assert.match(out, /^ +\+99 {2}00 00 00 00 00 00 00 01 {2}offset +1 /m);
    const wrong = batchOf("v");
    wrong[wrong.length - 2]! ^= 1;
    const world = await worldOf({ [FIRST]: wrong });
    const ran = await world.run(["log", "dump", "--bytes", `/data/t-0/${FIRST}`]);
    assert.match(ran.out, /CRC-32C of all from byte 21 of the batch on: WRONG, the bytes give \d+/);
    assert.equal(ran.code, 3);
  });
});

describe("log dump: damage", () => {
  test("behind bytes that are no batch it goes on with the next right one, says so, and ends with 3", async () => {
    const noise = Uint8Array.from({ length: 100 }, (_, n) => 200 + n % 50);
    const world = await worldOf({
      [FIRST]: joined(batchOf("a"), noise, batchOf("b", 1)),
      "00000000000000000005.log": batchOf("c", 5),
    });
    const ran = await world.run(["log", "dump", "/data/t-0", "-o", "json"]);
    assert.equal(ran.code, 3);
    const size = batchOf("a").length;
    assert.match(
      ran.err,
      new RegExp(
        `^anykafka: .*${FIRST} at byte ${size}: .*; 100 bytes are passed over, up to the next right batch, with offset 1\n$`,
      ),
    );
    const values = jsonLines(ran).filter(({ type }) => type === "record").map(({ value }) => atob(value));
    assert.deepEqual(values, ["a", "b", "c"]);
    const [segment] = jsonLines(ran).filter(({ type }) => type === "segment");
    assert.deepEqual([segment.validBytes, segment.trailingBytes], [2 * size, 100]);
  });

  test("a batch that the end cuts is what a crash leaves: told as Kafka's tool tells it, and no failure", async () => {
    const cut = joined(batchOf("a"), batchOf("b", 1).subarray(0, 40));
    const ran = await (await worldOf({ [FIRST]: cut })).run(["log", "dump", "--dump-log", `/data/t-0/${FIRST}`]);
    assert.deepEqual([ran.code, ran.err], [0, ""]);
    assert.ok(ran.out.endsWith(`isvalid: true\nFound 40 invalid bytes at the end of ${FIRST}\n`), ran.out);
  });

  test("a wrong checksum is shown and told; a batch that cannot be decoded is told, and the next one shown", async () => {
    const wrong = batchOf("a");
    wrong[wrong.length - 2]! ^= 1;
    const undecodable = batchOf("b", 1);
    undecodable[61] = 0x7f;
    new DataView(undecodable.buffer).setUint32(17, crc32c(undecodable.subarray(21)));
    const world = await worldOf({ [FIRST]: joined(wrong, undecodable, batchOf("c", 2)) });
    const ran = await world.run(["log", "dump", `/data/t-0/${FIRST}`]);
    assert.equal(ran.code, 3);
    assert.deepEqual(batchLines(ran).map((line) => / isvalid: (\w+)$/.exec(line)![1]), ["false", "true", "true"]);
    assert.match(
      ran.err,
      /offset 0, .* at byte 0: the checksum is wrong.*\n.*offset 1, .*: record 0 at byte 0 of its records/,
    );
    assert.ok(ran.out.includes("| cannot be decoded: ") && ran.out.includes(" payload: c\n"));
  });

  test("a snapshot with a wrong checksum is told, and the files behind it are shown", async () => {
    const world = await worldWith("07-transactions");
    const folder = await world.folders.get("/data")!.folder("txn-0");
    const name = "00000000000000000086.snapshot";
    const file = await folder.open(name);
    const bytes = new Uint8Array(file.size);
    await file.readAt(bytes, 0);
    bytes[20]! ^= 1;
    await folder.remove(name);
    await putFile(folder, name, bytes);
    const ran = await world.run(["log", "dump", "/data/txn-0", "-o", "json"]);
    assert.equal(ran.code, 3);
    assert.match(ran.err, /^anykafka: 00000000000000000086\.snapshot: its CRC-32C is [^\n]+\n$/);
    assert.equal(jsonLines(ran).filter(({ type }) => type === "snapshot").length, 9);
  });

  test("a codec that is not there is named, and the exit code is 1", async () => {
    const world = await worldWith("05-zstd");
    world.codecs = {};
    const ran = await world.run(["log", "dump", `/data/${expectedOf("05-zstd").partition}`, "-o", "json"]);
    assert.equal(ran.code, 1);
    assert.match(ran.err, /^anykafka: offset 0, \S+\.log at byte 0: no zstd codec .*\n$/);
  });

  test("every fourth variant of 16-damaged is dumped to its end", { timeout: 120_000 }, async () => {
    const codes = new Map<number, number>();
    const world = await worldWith("01-plain");
    for (const base of damageBases()) {
      const files = baseFiles(base);
      for (const { edits, name } of base.cases.filter((_, n) => n % 4 === 0)) {
        const tree = new MemoryStorage();
        const folder = await tree.folder(base.partition);
        for (const [file, bytes] of damagedFiles(files, edits)) {
          // What did not change was dumped before.
          if (bytes !== files.get(file)) await putFile(folder, file, bytes);
        }
        if ((await folder.list()).length === 0) continue;
        world.folders.set("/damaged", tree);
        const ran = await world.run(["log", "dump", `/damaged/${base.partition}`, "-o", "json"]);
        assert.ok(ran.code === 0 || ran.code === 3, `${base.base} ${name}: ${ran.code} ${ran.err}`);
        codes.set(ran.code, (codes.get(ran.code) ?? 0) + 1);
      }
    }
    assert.ok(codes.get(3)! > 50, [...codes].join(" "));
  });
});

describe("log dump: how it is called", () => {
  const refused: readonly (readonly [words: readonly string[], message: RegExp])[] = [
    [["-o", "yaml"], /-o yaml: expected text or json/],
    [["-o", "json", "--bytes"], /-o and --bytes are different forms/],
    [["--dump-log", "--bytes"], /--bytes and --dump-log are different forms/],
    [["--print-data-log"], /--print-data-log goes with --dump-log/],
    [["--decode", "avro"], /--decode avro: expected utf8, json, hex, offsets/],
    [["--from", "x"], /--from x: expected start, end/],
    [["--time", "1700000000000"], /--time 1700000000000: expected A\.\.B/],
    [["--key", "hex:0"], /--key hex:0: expected pairs/],
    [["--grep", "("], /--grep \(: /],
    [["--limit", "-1"], /--limit -1: expected a number/],
    [["--dumplog"], /no option --dumplog; did you mean --dump-log/],
  ];
  for (const [words, message] of refused) {
    test(`${words.join(" ")} is refused with 2`, async () => {
      const ran = await dump("01-plain", PLAIN, ...words);
      assert.equal(ran.code, 2);
      assert.match(ran.err, message);
      assert.equal(ran.out, "");
    });
  }

  test("what is not there fails with 1, and says what is meant", async () => {
    assert.equal((await dump("01-plain", "/data/nothing-0")).code, 1);
    assert.equal((await new FakeWorld().run(["log", "dump"])).code, 2);
  });

  test("it stops when the reader of its output has gone", async () => {
    const controller = new AbortController();
    controller.abort();
    const world = await worldWith("01-plain");
    const ran = await world.run(["log", "dump", PLAIN, "-o", "json"], { signal: controller.signal });
    assert.equal(ran.code, 130);
  });

  test("progress is drawn on a terminal alone, and leaves no trace", async () => {
    let drawn = "";
    const world = await worldWith("01-plain");
    const options = { errIsTerminal: true, onErr: (text: string) => void (drawn += text) };
    await world.run(["log", "dump", PLAIN, "-o", "json"], options);
    assert.ok(drawn.endsWith("\r\x1b[2K"), JSON.stringify(drawn));
  });
});
