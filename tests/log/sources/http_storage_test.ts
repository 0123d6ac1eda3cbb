import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { AbortedError, StorageError } from "../../../src/core/kafka_error.ts";
import { seededRandom } from "../../../src/core/random.ts";
import { httpFile, httpSiblings, httpStorage } from "../../../src/log/sources/http_storage.ts";
import { openArchive } from "../../../src/log/sources/archive.ts";
import type { StoredFile } from "../../../src/log/storage.ts";
import { contentOf, describeReading } from "../storage_contract.ts";
import { hasProgram, PackingPlace } from "./pack.ts";
import { hastyClock, RangeServer } from "./range_server.ts";

const place = new PackingPlace();
const letters = { "/f/letters": "abcdefghij", "/f/nothing": "" };
let server: RangeServer;
before(async () => {
  server = await RangeServer.start({});
});
after(async () => {
  await server.stop();
  place.remove();
});

/** The shared server with nothing but `files`. */
function serve(files: Readonly<Record<string, string | Uint8Array>>): RangeServer {
  server.files.clear();
  server.requests.length = server.headers.length = 0;
  server.intercept = () => false;
  for (const [path, content] of Object.entries(files)) {
    server.files.set(path, { bytes: typeof content === "string" ? new TextEncoder().encode(content) : content });
  }
  return server;
}

const random = seededRandom(9);
const noise = Uint8Array.from({ length: 3_000_000 }, () => random() * 256);

async function readAt(file: StoredFile, position: number, size: number): Promise<Uint8Array> {
  const into = new Uint8Array(size);
  return into.subarray(0, await file.readAt(into, position));
}

function htmlOf(...links: string[]): string {
  return `<html><body>${links.map((link) => `<a href="${link}">x</a>`).join("\n")}</body></html>`;
}

/** Makes the server answer `path` with a page. */
function page(path: string, type: string, text: string): void {
  server.intercept = (request, response) => {
    if (request.url !== path) return false;
    response.writeHead(200, { "content-type": type }).end(text);
    return true;
  };
}

describeReading("http, names given", async () => {
  return await httpStorage(`${serve(letters).url}/f/`, { files: ["letters", "nothing"] });
});
describeReading("http, names of a listing", async () => {
  serve(letters);
  page("/f/", "text/html; charset=utf-8", htmlOf("../", "?C=N;O=D", "letters", "nothing"));
  return await httpStorage(`${server.url}/f`);
});
describeReading("http, without ranges", async () => {
  serve(letters);
  server.intercept = (request, response) => {
    const file = server.files.get(request.url!);
    if (file !== undefined) response.writeHead(200).end(file.bytes);
    return file !== undefined;
  };
  return await httpStorage(`${server.url}/f`, { files: ["letters", "nothing"] });
});

describe("files behind URLs: reading", () => {
  test("any place of a large file, in order and not, and side by side", { timeout: 30_000 }, async () => {
    const file = await httpFile(`${serve({ "/x": noise }).url}/x`, { cacheBytes: 1_000_000 });
    assert.equal(file.size, noise.length);
    for (let at = 0; at < noise.length; at += 70_001) {
      assert.deepEqual(await readAt(file, at, 70_001), noise.slice(at, at + 70_001));
    }
    assert.deepEqual(await readAt(file, 2_999_990, 100), noise.slice(2_999_990));
    assert.deepEqual(await readAt(file, 17, 2_500_000), noise.slice(17, 2_500_017));
    const places = Array.from({ length: 20 }, () => Math.floor(random() * 2_900_000));
    const parts = await Promise.all(places.map((at) => readAt(file, at, 1000)));
    for (const [i, at] of places.entries()) assert.deepEqual(parts[i], noise.slice(at, at + 1000));
    await file.close();
  });

  test("reading in order asks for larger and larger parts; reading the same again asks for nothing", async () => {
    const file = await httpFile(`${serve({ "/x": noise }).url}/x`);
    for (let at = 0; at < 1_000_000; at += 1000) await readAt(file, at, 1000);
    assert.deepEqual(server.requests, [
      "/x bytes=0-65535",
      "/x bytes=65536-196607",
      "/x bytes=196608-458751",
      "/x bytes=458752-983039",
      "/x bytes=983040-2031615",
    ]);
    await readAt(file, 500_000, 200_000);
    assert.equal(server.requests.length, 5);
    await file.close();
  });

  test("files of one storage share what is kept", async () => {
    serve({ "/f/a": noise, "/f/b": noise });
    const tree = await httpStorage(`${server.url}/f/`, { files: ["a", "b"], cacheBytes: 256 * 1024 });
    const [a, b] = [await tree.open("a"), await tree.open("b")];
    for (let at = 0; at < 1_000_000; at += 65536) await readAt(a, at, 65536);
    const before = server.requests.length;
    await readAt(b, 0, 100); // what opening it read is no longer there
    assert.equal(server.requests.length, before + 1);
    await a.close();
    await b.close();
  });

  test("a server may give less than it was asked for", async () => {
    serve({ "/x": noise });
    server.intercept = (request, response) => {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range!)!.map(Number) as [
        number,
        number,
        number,
      ];
      const until = Math.min(end + 1, start + 10_000);
      response.writeHead(206, { "content-range": `bytes ${start}-${until - 1}/${noise.length}` });
      response.end(noise.subarray(start, until));
      return true;
    };
    const file = await httpFile(`${server.url}/x`);
    assert.deepEqual(await readAt(file, 5, 100_000), noise.slice(5, 100_005));
    await file.close();
  });

  test("redirections are followed, credentials of the URL go into a header", async () => {
    serve({ "/there": "content" });
    server.intercept = (request, response) => {
      if (request.url !== "/here") return false;
      response.writeHead(302, { location: "/there" }).end();
      return true;
    };
    const file = await httpFile(server.url.replace("//", "//me:p%40ss@") + "/here");
    assert.equal(new TextDecoder().decode(await readAt(file, 0, 100)), "content");
    await file.close();
    assert.equal(server.headers[0]!.authorization, `Basic ${btoa("me:p@ss")}`);
    assert.deepEqual(server.requests, ["/here bytes=0-65535", "/there bytes=0-65535"]);
  });

  test("headers of one's own are sent", async () => {
    serve({ "/x": "content" });
    await (await httpFile(`${server.url}/x`, { headers: { authorization: "Bearer t" } })).close();
    assert.equal(server.headers[0]!.authorization, "Bearer t");
  });

  test("an archive behind a URL is read by ranges alone", async () => {
    const folder = place.folder({ "x-0/a": "content", "x-0/b": noise });
    const { readFileSync } = await import("node:fs");
    const tar = new Uint8Array(readFileSync(place.pack(folder, "x.tar", "tar -cf OUT x-0/b x-0/a")));
    const archive = await openArchive(await httpFile(`${serve({ "/x.tar": tar }).url}/x.tar`), "x.tar");
    assert.equal(await contentOf(archive.folders.get("x-0")!, "a"), "content");
    assert.equal(server.requests.length, 2);
    await archive.close();
  });
});

describe("files behind URLs: what goes wrong", () => {
  const change: readonly (readonly [string, Partial<{ etag: string; lastModified: string }>, () => void])[] = [
    ["its ETag", { etag: '"1"' }, () => (server.files.get("/x")!.etag = '"2"')],
    ["a weak ETag", { etag: 'W/"1"' }, () => (server.files.get("/x")!.etag = 'W/"2"')],
    ["its date", { lastModified: "Mon, 30 Nov 2026 08:00:00 GMT" }, () => {
      server.files.get("/x")!.lastModified = "Mon, 30 Nov 2026 09:00:00 GMT";
    }],
    ["its size", {}, () => (server.files.get("/x")!.bytes = noise.subarray(0, 2_000_000))],
    ["its size, down to nothing", {}, () => (server.files.get("/x")!.bytes = noise.subarray(0, 10))],
  ];
  for (const [what, validators, act] of change) {
    test(`a file that changed is told by ${what}`, async () => {
      serve({ "/x": noise });
      Object.assign(server.files.get("/x")!, validators);
      const file = await httpFile(`${server.url}/x`);
      act();
      await assert.rejects(readAt(file, 1_000_000, 10), {
        name: "StorageError",
        code: "FILE_CHANGED",
        message: /open it again/,
      });
      await file.close();
    });
  }

  for (
    const [status, code] of [[404, "ENOENT"], [410, "ENOENT"], [401, "EACCES"], [403, "EACCES"], [
      400,
      "HTTP_STATUS",
    ]] as const
  ) {
    test(`status ${status} is ${code}, at once`, async () => {
      serve({});
      server.intercept = (_, response) => (response.writeHead(status).end(), true);
      await assert.rejects(httpFile(`${server.url}/x`), (error: StorageError) => {
        assert.ok(error instanceof StorageError);
        assert.equal(error.code, code);
        assert.equal(error.file, `${server.url}/x`);
        assert.match(error.message, new RegExp(`answered ${status}`));
        return true;
      });
      assert.equal(server.requests.length, 1);
    });
  }

  test("a busy server is asked again, after longer and longer waits", async () => {
    serve({ "/x": "content" });
    let left = 3;
    server.intercept = (_, response) => {
      if (left-- <= 0) return false;
      response.writeHead(left === 1 ? 429 : 503).end();
      return true;
    };
    const waits: number[] = [];
    const file = await httpFile(`${server.url}/x`, { clock: hastyClock(waits), random: () => 0.5 });
    assert.equal(file.size, 7);
    assert.deepEqual(waits, [200, 400, 800]);
    await file.close();
  });

  test("a server that stays broken is given up", async () => {
    serve({});
    server.intercept = (_, response) => (response.writeHead(500).end(), true);
    const file = httpFile(`${server.url}/x`, { clock: hastyClock(), retries: 2 });
    await assert.rejects(file, { code: "HTTP_STATUS", message: /answered 500/ });
    assert.equal(server.requests.length, 3);
  });

  test("a connection that breaks off is tried again", async () => {
    serve({ "/x": noise });
    let left = 2;
    server.intercept = (_, response) => {
      if (left-- <= 0) return false;
      response.writeHead(206, { "content-range": `bytes 0-65535/${noise.length}`, "content-length": 65536 });
      response.write(noise.subarray(0, 1000), () => response.destroy());
      return true;
    };
    const file = await httpFile(`${server.url}/x`, { clock: hastyClock() });
    assert.deepEqual(await readAt(file, 0, 2000), noise.slice(0, 2000));
    assert.equal(server.requests.length, 3);
    await file.close();
  });

  test("a server that falls silent is an error", async () => {
    serve({ "/x": noise });
    server.intercept = (_, response) => {
      response.writeHead(206, { "content-range": `bytes 0-65535/${noise.length}`, "content-length": 65536 });
      response.write(noise.subarray(0, 1000));
      return true;
    };
    const file = httpFile(`${server.url}/x`, { timeoutMs: 50, retries: 0 });
    await assert.rejects(file, { name: "StorageError", code: "TIMED_OUT", message: /silent for 50 ms/ });
  });

  test("nobody listens", async () => {
    const other = await RangeServer.start({});
    const { url } = other;
    await other.stop();
    await assert.rejects(httpFile(`${url}/x`, { retries: 1, clock: hastyClock() }), (error: StorageError) => {
      assert.ok(error instanceof StorageError);
      assert.match(error.message, /no answer: /);
      return true;
    });
  });

  test("the caller's signal ends a request under way and what comes later", async () => {
    serve({ "/x": noise });
    const controller = new AbortController();
    const file = await httpFile(`${server.url}/x`, { signal: controller.signal });
    server.intercept = () => true; // never answers
    const read = readAt(file, 1_000_000, 10);
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(read, AbortedError);
    await assert.rejects(readAt(file, 2_000_000, 10), AbortedError);
    await file.close();
  });

  test("without ranges a file is read whole up to a limit, whether its length is told or not", async () => {
    serve({});
    for (const headers of [{ "content-length": noise.length }, {}]) {
      server.intercept = (_, response) => (response.writeHead(200, headers).end(noise), true);
      const limited = httpFile(`${server.url}/x`, { maxWholeBytes: noise.length - 1 });
      await assert.rejects(limited, { code: "NO_RANGES", message: /maxWholeBytes=2999999/ });
      const file = await httpFile(`${server.url}/x`, { maxWholeBytes: noise.length });
      assert.deepEqual(await readAt(file, 1_234_567, 10), noise.slice(1_234_567, 1_234_577));
      await file.close();
    }
  });

  const wrong: readonly (readonly [string, Record<string, string>])[] = [
    ["no content-range", {}],
    ["another unit", { "content-range": "lines 0-9/100" }],
    ["an unknown size", { "content-range": "bytes 0-9/*" }],
    ["a size that no number holds", { "content-range": "bytes 0-9/9999999999999999" }],
    ["another place", { "content-range": "bytes 5-14/100" }],
    ["compressed parts", { "content-range": "bytes 0-9/100", "content-encoding": "br" }],
  ];
  for (const [what, headers] of wrong) {
    test(`an answer with ${what} is refused`, async () => {
      serve({});
      server.intercept = (_, response) => (response.writeHead(206, headers).end(), true);
      await assert.rejects(httpFile(`${server.url}/x`, { retries: 0 }), { name: "StorageError" });
    });
  }

  test("more bytes than asked for are refused, and not held", async () => {
    serve({});
    server.intercept = (
      _,
      response,
    ) => (response.writeHead(206, { "content-range": "bytes 0-9/3000000" }).end(noise), true);
    await assert.rejects(httpFile(`${server.url}/x`), { code: "HTTP_RANGE" });
  });

  test("what is no URL of a web server", async () => {
    for (const url of ["orders-0", "ftp://h/x", "file:///etc/passwd"]) {
      await assert.rejects(httpFile(url), { code: "INVALID_CONFIG" });
    }
  });
});

describe("files behind URLs: listings", () => {
  test("links lead into the folder or nowhere", async () => {
    serve({ "/l/a b": "1", "/l/x-0/f": "2" });
    const links = [
      "a%20b",
      "x-0/",
      "./c?v=1",
      "/l/d",
      `${server.url}/l/e#top`,
      "../up",
      "/other/g",
      "http://elsewhere.example/l/h",
      "x-0/deeper",
      "..%2Fi",
      "%2e%2e/",
      "j%5Ck",
      "%zz",
      "javascript:void(0)",
      "?C=M;O=A",
      "",
      "b&amp;w",
    ];
    page("/l/", "text/html", htmlOf(...links) + "<A class=x HREF='single'>s</A><a href=bare>b</a>");
    const tree = await httpStorage(`${server.url}/l/`);
    assert.deepEqual(await tree.list(), ["%zz", "a b", "b&w", "bare", "c", "d", "e", "single"]);
    assert.deepEqual(await tree.folders(), ["x-0"]);
    assert.equal(await contentOf(tree, "a b"), "1");
    page("/l/x-0/", "text/html", htmlOf("../", "f"));
    const folder = await tree.folder("x-0");
    assert.deepEqual(await folder.list(), ["f"]);
    assert.equal(await contentOf(folder, "f"), "2");
    await assert.rejects(tree.folder("absent"), { code: "ENOENT" });
  });

  test("the JSON of nginx, and that of Caddy", async () => {
    serve({});
    const nginx = [
      { name: "x-0", type: "directory", mtime: "…" },
      { name: "f", type: "file", size: 3 },
      { name: "../g" },
      5,
      null,
    ];
    page("/l/", "application/json", JSON.stringify(nginx));
    let tree = await httpStorage(`${server.url}/l`);
    assert.deepEqual([await tree.folders(), await tree.list()], [["x-0"], ["f"]]);
    page("/l/", "application/json", JSON.stringify([{ name: "x-0/", is_dir: true }, { name: "f", is_dir: false }]));
    tree = await httpStorage(`${server.url}/l`);
    assert.deepEqual([await tree.folders(), await tree.list()], [["x-0"], ["f"]]);
  });

  test("what is no listing is refused, and so is one that does not end", { timeout: 30_000 }, async () => {
    serve({});
    for (
      const [type, text] of [["application/octet-stream", "x"], ["application/json", "{}"], ["application/json", "["]]
    ) {
      page("/l/", type!, text!);
      await assert.rejects(httpStorage(`${server.url}/l`), { code: "NO_LISTING", message: /name single files/ });
    }
    page("/l/", "text/html", "<a ".repeat(6_000_000));
    await assert.rejects(httpStorage(`${server.url}/l`), { code: "NO_LISTING", message: /longer than/ });
    page("/l/", "text/html", "<a ".repeat(1_000_000));
    assert.deepEqual(await (await httpStorage(`${server.url}/l`)).list(), []);
  });

  test("siblings are asked for, and only those that are there are listed", async () => {
    serve({ "/p/0.log": "l", "/p/0.index": "i" });
    const tree = await httpSiblings(`${server.url}/p/0.log`, ["0.index", "0.timeindex"]);
    assert.deepEqual(await tree.list(), ["0.index", "0.log"]);
    assert.equal(await contentOf(tree, "0.index"), "i");
  });

  test(
    "Python's server: its listings are read, its files whole",
    { skip: !hasProgram("python3"), timeout: 30_000 },
    async () => {
      const folder = place.folder({ "x-0/a & b": "content", "x-0/big": noise.subarray(0, 100_000), "top": "t" });
      const program = spawn("python3", ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"], { cwd: folder });
      try {
        const port = await new Promise<string>((resolve, reject) => {
          program.on("exit", () => reject(new Error("python3 -m http.server ended")));
          program.stdout.on("data", (text) => {
            const found = /port (\d+)/.exec(String(text))?.[1];
            if (found !== undefined) resolve(found);
          });
        });
        const tree = await httpStorage(`http://127.0.0.1:${port}/`);
        assert.deepEqual([await tree.list(), await tree.folders()], [["top"], ["x-0"]]);
        const storage = await tree.folder("x-0");
        assert.deepEqual(await storage.list(), ["a & b", "big"]);
        assert.equal(await contentOf(storage, "a & b"), "content");
        const limited = httpFile(`http://127.0.0.1:${port}/x-0/big`, { maxWholeBytes: 99_999 });
        await assert.rejects(limited, { code: "NO_RANGES" });
      } finally {
        const ended = new Promise((resolve) => program.on("exit", resolve));
        program.kill();
        await ended;
      }
    },
  );
});
