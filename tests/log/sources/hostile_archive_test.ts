import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { nativeInflate } from "../../../adapters/inflate_native.ts";
import { nodeStorage } from "../../../adapters/storage_node.ts";
import { concatenate } from "../../../src/bytes/concatenate.ts";
import { AbortedError, KafkaError, StorageError } from "../../../src/core/kafka_error.ts";
import { seededRandom } from "../../../src/core/random.ts";
import { MemoryStorage } from "../../../src/log/memory_storage.ts";
import { type Archive, type ArchiveOptions, openArchive } from "../../../src/log/sources/archive.ts";
import { contentOf } from "../storage_contract.ts";
import { hasProgram, openPath, PackingPlace, pythonZip } from "./pack.ts";

const place = new PackingPlace();
after(() => place.remove());

const hasZip = hasProgram("zip");
const hasPython = hasProgram("python3");
const bothInflaters: readonly ArchiveOptions[] = [{}, { inflate: nativeInflate }];

/** Opens an archive for the time of `act`. */
async function withArchive<T>(
  content: string | Uint8Array,
  act: (archive: Archive) => Promise<T>,
  options: ArchiveOptions = {},
): Promise<T> {
  const memory = new MemoryStorage();
  let file = typeof content === "string" ? await openPath(content) : undefined;
  if (typeof content !== "string") {
    file = await memory.open("backup", { create: true });
    await file.append([content]);
  }
  const archive = await openArchive(file!, "backup", options);
  try {
    return await act(archive);
  } finally {
    await archive.close();
  }
}

/** Reads all of an archive; answers text by path. */
async function readAll(content: string | Uint8Array, options: ArchiveOptions = {}): Promise<Record<string, string>> {
  return await withArchive(content, async ({ folders }) => {
    const texts: Record<string, string> = {};
    for (const [path, storage] of folders) {
      for (const name of await storage.list()) texts[`${path}/${name}`] = await contentOf(storage, name);
    }
    return texts;
  }, options);
}

/** Opens the only file, and reads it in two steps. */
async function readX(content: string | Uint8Array, options: ArchiveOptions = {}): Promise<Uint8Array> {
  return await withArchive(content, async ({ folders }) => {
    const file = await folders.get("x-0")!.open("a");
    try {
      const bytes = new Uint8Array(file.size);
      await file.readAt(bytes.subarray(0, 10), 0);
      await file.readAt(bytes.subarray(10), 10);
      return bytes;
    } finally {
      await file.close();
    }
  }, options);
}

/** A tar header as the format's description has it. */
function tarHeader(fields: { name: string; size?: string; type?: string; magic?: string }): Uint8Array {
  const header = new Uint8Array(512);
  const put = (at: number, text: string) => header.set(new TextEncoder().encode(text), at);
  put(0, fields.name);
  put(100, "0000644\0");
  put(124, fields.size ?? "00000000000\0");
  put(148, "        ");
  put(156, fields.type ?? "0");
  put(257, fields.magic ?? "ustar\x0000");
  put(148, `${header.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `);
  return header;
}

const joined = (...parts: readonly Uint8Array[]): Uint8Array => concatenate(parts);

function block(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil(bytes.length / 512) * 512);
  padded.set(bytes);
  return padded;
}

const octal = (size: number) => `${size.toString(8).padStart(11, "0")}\0`;
const END = new Uint8Array(1024);

describe("archives: hostile tar", () => {
  test("the hand-made header is one that is read", async () => {
    const tar = joined(tarHeader({ name: "x-0/a", size: octal(3) }), block("abc"), END);
    assert.deepEqual(await readAll(tar), { "x-0/a": "abc" });
  });

  for (const name of ["../x-0/a", "x-0/../../a", "x-0\\a", "C:/x-0/a", "..", "a/.."]) {
    test(`the name ${name} is refused`, async () => {
      const tar = joined(tarHeader({ name: "x-0/b" }), tarHeader({ name }), END);
      await assert.rejects(readAll(tar), { name: "StorageError", code: "UNSAFE_ARCHIVE", message: /leads out/ });
    });
  }

  test("a real tar with such a name is refused, too", async () => {
    const path = place.pack(place.folder({ "a": "x", "in/b": "y" }), "x.tar", "cd in && tar -cPf OUT b ../a");
    await assert.rejects(readAll(path), { code: "UNSAFE_ARCHIVE" });
  });

  const bad: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ["a size of letters", tarHeader({ name: "x", size: "000000000xyz" }), /size of a member is no number/],
    ["a negative size", tarHeader({ name: "x", size: "\u00ff\u00ff" }), /./],
    [
      "a pax record longer than its header",
      joined(tarHeader({ name: "p", type: "x", size: octal(9) }), block("99 size=1")),
      /no attribute/,
    ],
    [
      "a pax record of length 0",
      joined(tarHeader({ name: "p", type: "x", size: octal(9) }), block("0 size=1\n")),
      /no attribute/,
    ],
    [
      "a pax size that is no number",
      joined(tarHeader({ name: "p", type: "x", size: octal(11) }), block("11 size=-1\n"), tarHeader({ name: "x" })),
      /size of a member is no number/,
    ],
    ["a long name of 2 GiB", tarHeader({ name: "l", type: "L", size: octal(2 ** 31) }), /makes no sense/],
    ["a pax header beyond the end", tarHeader({ name: "l", type: "x", size: octal(4096) }), /cut short/],
  ];
  for (const [what, tar, message] of bad) {
    test(`${what} is damage`, async () => {
      await assert.rejects(readAll(joined(tar, END)), { name: "StorageError", code: "DAMAGED_ARCHIVE", message });
    });
  }

  test("a size beyond the end is damage; the file is there as far as it goes", async () => {
    const tar = joined(tarHeader({ name: "x-0/a", size: octal(2 ** 32) }), block("abc"));
    await withArchive(tar, async ({ damage, folders }) => {
      assert.match(damage!.message, /x-0\/a is there with 512 of 4294967296 bytes/);
      assert.equal((await contentOf(folders.get("x-0")!, "a")).slice(0, 4), "abc\0");
    });
  });

  test("sizes beyond 8 GiB are read, in base 256 and as a pax attribute", async () => {
    const huge = new Uint8Array([...tarHeader({ name: "x-0/a" })]);
    huge.set([0x80, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0], 124);
    const sum = huge.reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 32 : byte), 0);
    huge.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
    const pax = joined(
      tarHeader({ name: "p", type: "x", size: octal(20) }),
      block("20 size=21474836480\n"),
      tarHeader({ name: "x-0/a" }),
    );
    for (const tar of [huge, pax]) {
      await withArchive(joined(tar, block("abc")), ({ damage }) => {
        assert.match(damage!.message, /of 21474836480 bytes/);
        return Promise.resolve();
      });
    }
  });

  test("a sparse file is refused when it is opened, in either form; the others are read", async () => {
    const folder = place.folder({ "x-0/b": "content" });
    for (const format of ["gnu", "pax"]) {
      const command = `truncate -s 20M x-0/a && printf x >> x-0/a && tar --format=${format} -S -cf OUT x-0`;
      await withArchive(place.pack(folder, "x.tar", command), async ({ damage, folders }) => {
        const storage = folders.get("x-0")!;
        assert.deepEqual(await storage.list(), ["a", "b"]);
        assert.equal(damage, undefined);
        assert.equal(await contentOf(storage, "b"), "content");
        await assert.rejects(storage.open("a"), {
          name: "StorageError",
          code: "UNSUPPORTED_ARCHIVE",
          message: /sparse/,
        });
      });
    }
  });

  test("many holes, whose map does not fit the header, do not lose the way", async () => {
    const folder = place.folder({ "x-0/b": "content" });
    const holes =
      "i=0; while [ $i -lt 60 ]; do printf x | dd of=x-0/a bs=1 seek=$((i*100000)) conv=notrunc 2>/dev/null; i=$((i+1)); done";
    const path = place.pack(folder, "x.tar", `${holes}; tar --format=gnu -S -cf OUT x-0/a x-0/b`);
    await withArchive(path, async ({ folders }) => {
      assert.equal(await contentOf(folders.get("x-0")!, "b"), "content");
    });
  });
});

describe("archives: hostile zip", () => {
  test("an encrypted file is refused when it is opened", { skip: !hasZip }, async () => {
    const path = place.pack(place.folder({ "x-0/a": "secret" }), "x.zip", "zip -q -P pw -r OUT x-0");
    await assert.rejects(readX(path), {
      name: "StorageError",
      code: "UNSUPPORTED_ARCHIVE",
      message: /x-0\/a is encrypted/,
    });
  });

  for (const method of ["BZIP2", "LZMA"] as const) {
    test(`${method} is refused by name`, { skip: !hasPython }, async () => {
      const path = place.pack(place.folder({ "x-0/a": "content content" }), "x.zip", pythonZip({ method }));
      const message = new RegExp(`x-0/a is compressed with ${method}`, "i");
      await assert.rejects(readX(path), { code: "UNSUPPORTED_ARCHIVE", message });
    });
  }

  test("a wrong checksum is told with the last byte, stored and deflated", { skip: !hasZip }, async () => {
    for (const level of [0, 6]) {
      const path = place.pack(
        place.folder({ "x-0/a": "0123456789".repeat(50) }),
        "x.zip",
        `zip -q -${level} -r OUT x-0`,
      );
      const bytes = new Uint8Array(readFileSync(path));
      const directory = new TextDecoder("latin1").decode(bytes).indexOf("PK\x01\x02");
      // The second entry is the file; the first is its folder.
      const entry = new TextDecoder("latin1").decode(bytes).indexOf("PK\x01\x02", directory + 4);
      bytes[entry + 16]! ^= 1;
      for (const options of bothInflaters) {
        await assert.rejects(readX(bytes, options), {
          code: "DAMAGED_ARCHIVE",
          message: /x-0\/a: its checksum is wrong/,
        });
      }
    }
  });

  test("a size that lies is told", { skip: !hasZip }, async () => {
    const path = place.pack(place.folder({ "x-0/a": "0123456789".repeat(50) }), "x.zip", "zip -q -D -r OUT x-0");
    for (const [size, message] of [[100, /more than the 100 bytes/], [900, /ends after 500 of 900 bytes/]] as const) {
      const bytes = new Uint8Array(readFileSync(path));
      const entry = new TextDecoder("latin1").decode(bytes).indexOf("PK\x01\x02");
      new DataView(bytes.buffer).setUint32(entry + 24, size, true);
      for (const options of bothInflaters) {
        await assert.rejects(readX(bytes, options), { code: "DAMAGED_ARCHIVE", message });
      }
    }
  });

  test("names that lead out are refused", { skip: !hasPython }, async () => {
    const path = place.pack(
      place.folder({}),
      "x.zip",
      `python3 -c "import zipfile; zipfile.ZipFile('OUT','w').writestr('x/../../a','x')"`,
    );
    await assert.rejects(readAll(path), { code: "UNSAFE_ARCHIVE" });
  });

  test("a count of files that the list does not have is damage", { skip: !hasZip }, async () => {
    const bytes = new Uint8Array(
      readFileSync(place.pack(place.folder({ "x-0/a": "x" }), "x.zip", "zip -q -r OUT x-0")),
    );
    new DataView(bytes.buffer).setUint16(bytes.length - 22 + 10, 60000, true);
    await assert.rejects(readAll(bytes), { code: "DAMAGED_ARCHIVE", message: /cut short|no entry/ });
  });
});

describe("archives: bombs and cut archives", () => {
  const zeros = "head -c 20000000 /dev/zero > x-0/a";

  test("what inflates past the limit ends there", { skip: !hasZip, timeout: 30_000 }, async () => {
    const folder = place.folder({ "x-0/b": "" });
    const zip = place.pack(folder, "x.zip", `${zeros}; zip -q -r OUT x-0/a`);
    const tgz = place.pack(folder, "x.tgz", "tar -czf OUT x-0");
    for (const options of bothInflaters) {
      const limited = { ...options, maxInflatedBytes: 1_000_000 };
      const expected = { name: "StorageError", code: "ARCHIVE_TOO_LARGE", message: /maxInflatedBytes=1000000/ };
      await assert.rejects(readX(zip, limited), expected);
      await assert.rejects(readX(tgz, limited), expected);
    }
  });

  test("the beginning of a large deflated file costs its beginning", { skip: !hasZip, timeout: 30_000 }, async () => {
    const zip = place.pack(place.folder({ "x-0/b": "" }), "x.zip", `${zeros}; zip -q -r OUT x-0/a`);
    for (const options of bothInflaters) {
      await withArchive(zip, async ({ folders }) => {
        const file = await folders.get("x-0")!.open("a");
        assert.equal(file.size, 20_000_000);
        assert.equal(await file.readAt(new Uint8Array(100), 1000), 100);
        await file.close();
      }, { ...options, maxInflatedBytes: 9_000_000 });
    }
  });

  test("scratch files are gone after closing", { skip: !hasZip }, async () => {
    const [a, b] = ["content".repeat(100), "more".repeat(100)];
    const folder = place.folder({ "x-0/a": a, "x-0/b": b });
    const scratch = nodeStorage(place.folder({}));
    for (const command of ["zip -q -r OUT x-0", "tar -czf OUT x-0"]) {
      const path = place.pack(folder, "x.zip", command);
      await withArchive(path, async ({ folders }) => {
        const storage = folders.get("x-0")!;
        const left = await storage.open("a");
        await left.readAt(new Uint8Array(7), 0);
        assert.equal(await contentOf(storage, "b"), b);
        assert.equal((await scratch.list()).length, 1);
      }, { scratch });
      assert.deepEqual(await scratch.list(), []);
    }
  });

  test("a tar.gz that is cut gives what comes before", { timeout: 30_000 }, async () => {
    const random = seededRandom(5);
    const noise = (size: number) => Uint8Array.from({ length: size }, () => random() * 256);
    const folder = place.folder({ "x-0/a": noise(100_000), "x-0/b": noise(400_000) });
    const whole = new Uint8Array(readFileSync(place.pack(folder, "x.tgz", "tar -czf OUT x-0/a x-0/b")));
    for (const options of bothInflaters) {
      await withArchive(whole.subarray(0, 300_000), async ({ damage, folders }) => {
        assert.equal(damage!.code, "DAMAGED_ARCHIVE");
        assert.match(damage!.message, /breaks off after \d+ bytes/);
        const [a, b] = [await folders.get("x-0")!.open("a"), await folders.get("x-0")!.open("b")];
        assert.equal(a.size, 100_000);
        assert.ok(b.size > 50_000 && b.size < 400_000, String(b.size));
        await a.close();
        await b.close();
      }, options);
    }
  });

  test("a signal ends the inflating of a tar.gz, and nothing stays behind", async () => {
    const path = place.pack(place.folder({ "x-0/b": "" }), "x.tgz", `${zeros}; tar -czf OUT x-0`);
    const scratch = nodeStorage(place.folder({}));
    for (const options of bothInflaters) {
      const controller = new AbortController();
      controller.abort();
      await assert.rejects(readX(path, { ...options, scratch, signal: controller.signal }), AbortedError);
      assert.deepEqual(await scratch.list(), []);
    }
  });

  test("more members, or more bytes of names, than make sense are refused", { timeout: 60_000 }, async () => {
    // A 64-bit end record that tells of 600,000 files, behind what a zip archive begins with.
    const zip = new DataView(new ArrayBuffer(4 + 56 + 20 + 22));
    for (const [at, signature] of [[0, 0x04034b50], [4, 0x06064b50], [60, 0x07064b50], [80, 0x06054b50]] as const) {
      zip.setUint32(at, signature, true);
    }
    zip.setUint32(4 + 32, 600_000, true);
    zip.setUint32(60 + 8, 4, true);
    const tooMany = { name: "StorageError", code: "ARCHIVE_TOO_LARGE", message: /500000 members/ };
    await assert.rejects(readAll(new Uint8Array(zip.buffer)), tooMany);
    const member = tarHeader({ name: "x-0/a" });
    const named = joined(
      tarHeader({ name: "l", type: "L", size: octal(2 ** 19) }),
      new Uint8Array(2 ** 19).fill(0x61),
      member,
    );
    const names = new Uint8Array(named.length * 130);
    for (let at = 0; at < names.length; at += named.length) names.set(named, at);
    await assert.rejects(readAll(names), {
      name: "StorageError",
      code: "ARCHIVE_TOO_LARGE",
      message: /bytes of names/,
    });
  });

  test("other packers are named", async () => {
    const known: readonly (readonly [string, number[]])[] = [
      ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]],
      ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
      ["bzip2", [0x42, 0x5a, 0x68, 0x39]],
      ["7z", [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
    ];
    for (const [name, magic] of known) {
      const message = new RegExp(`compressed with ${name}`);
      await assert.rejects(readAll(Uint8Array.from(magic)), { code: "UNSUPPORTED_ARCHIVE", message });
    }
    for (const bytes of [new Uint8Array(0), new Uint8Array(4096), new Uint8Array(4096).fill(7)]) {
      await assert.rejects(readAll(bytes), { code: "NOT_AN_ARCHIVE" });
    }
  });
});

describe("archives: fuzz", () => {
  const packings: readonly (readonly [string, string, boolean])[] = [
    ["tar", "tar --format=pax -cf OUT x-0", true],
    ["tar of GNU", "tar --format=gnu -cf OUT x-0", true],
    ["tar.gz", "tar -czf OUT x-0", true],
    ["zip", "zip -q -r OUT x-0", hasZip],
  ];
  for (const [kind, command, isThere] of packings) {
    test(
      `${kind}: 1000 damaged archives give a result or an error of ours`,
      { skip: !isThere, timeout: 120_000 },
      async () => {
        const longName = `x-0/${"n".repeat(120)}`;
        const folder = place.folder({
          "x-0/a": "0123456789".repeat(30),
          [longName]: "long",
          "x-0/c": new Uint8Array(700),
        });
        const whole = new Uint8Array(readFileSync(place.pack(folder, "f.zip", command)));
        const random = seededRandom(42);
        const int = (limit: number) => Math.floor(random() * limit);
        const codes = new Map<string, number>();
        for (let n = 0; n < 1000; n++) {
          let bytes = whole.slice();
          for (let edits = 1 + int(4); edits > 0; edits--) {
            // Most bytes are padding and data; headers lie at the blocks' starts and at the end.
            const at = random() < 0.5
              ? int(bytes.length)
              : Math.min(bytes.length - 1, int(bytes.length / 512) * 512 + int(200));
            bytes[at] = random() < 0.5 ? bytes[at]! ^ (1 << int(8)) : int(256);
          }
          if (random() < 0.2) bytes = bytes.subarray(0, int(bytes.length));
          try {
            await readAll(bytes, { maxInflatedBytes: 10_000_000 });
            codes.set("read", (codes.get("read") ?? 0) + 1);
          } catch (error) {
            assert.ok(error instanceof KafkaError, `${n}: ${(error as Error).stack}`);
            assert.ok(error instanceof StorageError, error.message);
            codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
          }
        }
        assert.ok(codes.has("DAMAGED_ARCHIVE"), JSON.stringify([...codes]));
      },
    );
  }
});
