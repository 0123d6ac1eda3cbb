import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ByteOutput } from "../../src/cli/byte_output.ts";
import type { CommandIo } from "../../src/cli/command.ts";
import { Literal } from "../../src/cli/literal.ts";
import { IntegerWriter } from "../../src/cli/write_integer.ts";
import { AbortedError } from "../../src/core/kafka_error.ts";
import { seeded } from "../helpers/seeded.ts";

/** What `add` wrote. */
async function written(add: (out: ByteOutput) => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const io = { outBytes: (bytes: Uint8Array) => Promise.resolve(void chunks.push(bytes.slice())), signal: quiet() };
  const out = new ByteOutput(io as unknown as CommandIo);
  add(out);
  await out.flush();
  return Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
}

function quiet(): AbortSignal {
  return new AbortController().signal;
}

async function textOf(add: (out: ByteOutput) => void): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await written(add));
}

describe("ByteOutput", () => {
  test("texts, literals and bytes come out in their order", async () => {
    const long = "Größe 東京 ".repeat(100_000);
    const text = await textOf((out) => {
      out.ascii("a");
      out.text("é");
      out.literal(new Literal('{"x":'));
      out.literal(new Literal("ключ"));
      out.bytes(new Uint8Array([0x2d]));
      out.text(long);
      out.literal(new Literal(""));
      out.ascii("z");
    });
    assert.equal(text, `aé{"x":ключ-${long}z`);
  });

  test("integers of every length are what String makes of them", async () => {
    const values: (number | bigint)[] = [0, -1, -9_007_199_254_740_991, 2n ** 63n - 1n, -(2n ** 63n)];
    for (let digits = 1; digits <= 15; digits++) values.push(10 ** digits - 1, 10 ** digits, 10 ** digits + 1);
    values.push(2 ** 53 - 1, 2 ** 31, 2 ** 32);
    const random = seeded(1);
    for (let n = 0; n < 2000; n++) values.push(Math.floor(random() * 10 ** (1 + n % 16)));
    const text = await textOf((out) => {
      for (const value of values) {
        out.integer(value);
        out.ascii("\n");
      }
    });
    assert.deepEqual(text.trimEnd().split("\n"), values.map(String));
  });

  test("integers in a row are the same, whatever comes after what", () => {
    const values = [5, 9_999, 10_000, 10_001, 19_999, 20_000, -1, 20_001, 1_700_000_000_000, 1_700_000_009_999];
    values.push(1_700_000_010_000, 0, 12, 10_000, 2 ** 53 - 1, 999_999_999_999_999, 1_000_000_000_000_000, 99_990_000);
    const writer = new IntegerWriter();
    for (const value of values) {
      const view = new DataView(new ArrayBuffer(64));
      const end = writer.write(view, 3, value);
      assert.equal(new TextDecoder().decode(new Uint8Array(view.buffer, 3, end - 3)), String(value));
    }
  });

  test("base64 of every length is that of the platform", async () => {
    const random = seeded(2);
    for (let length = 0; length < 100; length++) {
      const bytes = Uint8Array.from({ length }, () => random() * 256);
      assert.equal(await textOf((out) => out.base64(bytes)), btoa(String.fromCharCode(...bytes)));
    }
  });

  test("JSON strings are those of JSON.stringify; bytes that are no UTF-8 are refused and leave nothing", async () => {
    const texts = [
      String.fromCharCode(...Array.from({ length: 128 }, (_, n) => n)),
      "",
      '"\\/',
      "\ufeffbom \u2028 \u2029 \u007f \u0080 👩‍👩‍👧 東京",
      "x".repeat(20_000),
      '"'.repeat(20_000),
    ];
    for (const text of texts) {
      const bytes = new TextEncoder().encode(`-${text}-`);
      let isText: boolean | undefined;
      const json = await textOf((out) => isText = out.jsonString(bytes, 1, bytes.length - 2));
      assert.equal(isText, true);
      assert.equal(json, JSON.stringify(text));
    }
    for (const bytes of [[0xff], [0x41, 0x80], [0xc3], [0xed, 0xa0, 0x80]]) {
      const json = await textOf((out) => assert.equal(out.jsonString(new Uint8Array(bytes), 0, bytes.length), false));
      assert.equal(json, "");
    }
  });

  test("what is added while a chunk is written does not get into it", async () => {
    const chunks: Uint8Array[] = [];
    const waiting: (() => void)[] = [];
    const io = {
      outBytes: (bytes: Uint8Array) => {
        chunks.push(bytes);
        return new Promise<void>((resolve) => waiting.push(resolve));
      },
      signal: quiet(),
    };
    const out = new ByteOutput(io as unknown as CommandIo);
    out.ascii("first");
    const flushes = [out.flush()];
    out.ascii("other");
    flushes.push(out.flush());
    out.ascii("third");
    await Promise.resolve();
    assert.deepEqual(chunks.map((chunk) => new TextDecoder().decode(chunk)), ["first"]);
    for (let n = 0; n < 2; n++) {
      waiting.shift()!();
      await flushes[n];
      await Promise.resolve();
    }
    const last = out.flush();
    for (let n = 0; n < 5; n++) await Promise.resolve();
    assert.deepEqual(chunks.slice(1).map((chunk) => new TextDecoder().decode(chunk)), ["other", "third"]);
    waiting.shift()!();
    await last;
  });

  test("flush throws once the reader has gone", async () => {
    const controller = new AbortController();
    const out = new ByteOutput(
      { outBytes: () => Promise.resolve(), signal: controller.signal } as unknown as CommandIo,
    );
    out.ascii("x");
    await out.flush();
    controller.abort();
    await assert.rejects(out.flush(), (error) => error instanceof AbortedError || error === controller.signal.reason);
  });
});
