/**
 * Compares the codecs with the streams by which Kafka's own classes write and read record batches: what each of ours writes, at
 * each level, is read by Java; what Java writes is read by each of ours; and of odd inputs both say what they make of them.
 *
 * Run in every runtime: `node tools/verify_codecs.ts [--write] [--libs DIR]`. `--write` keeps what Java wrote and said as
 * `tests/vectors/codecs.json.gz`, which `npm test` checks without Java.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { COMPRESSION_LEVELS } from "../src/compression/codec.ts";
import { CompressionError } from "../src/core/kafka_error.ts";
import { implementations } from "../tests/compression/implementations.ts";
import { type CodecName, contents, oddInputs } from "../tests/compression/odd_inputs.ts";
import { LIBS } from "./protocol/definitions.ts";

const { values: options } = parseArgs({
  options: { write: { type: "boolean", default: false }, libs: { type: "string", default: LIBS } },
});

const java = spawn("java", ["-Xmx256m", "-cp", `${options.libs}/*`, "tools/java/CodecDriver.java"], {
  stdio: ["pipe", "pipe", "ignore"],
});
const lines = createInterface({ input: java.stdout })[Symbol.asyncIterator]();

/** What Java answers: bytes, or why not. */
async function askJava(
  what: "compress" | "decompress",
  codec: string,
  argument: number | "-",
  bytes: Uint8Array,
): Promise<Uint8Array | string> {
  java.stdin.write(`${what} ${codec} ${argument} ${Buffer.from(bytes).toString("base64")}\n`);
  const { value: answer, done } = await lines.next();
  if (done) throw new Error("Java ended");
  return answer.startsWith("!") ? answer : new Uint8Array(Buffer.from(answer, "base64"));
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

const CODECS = await implementations();
const LEVELS: { readonly [name in CodecName]: readonly (number | undefined)[] } = {
  gzip: [undefined, 1, 6, 9],
  snappy: [undefined],
  lz4: [undefined, 1, 9, 17],
  zstd: [undefined, COMPRESSION_LEVELS.zstd.least, -5, 1, 3, 19, 22],
};
/** What is kept only of the codecs to whose chunks it matters, at the default level: it makes a large file. */
const LARGE: { readonly [content: string]: readonly CodecName[] } = {
  noise: ["snappy", "lz4"],
  "just a snappy chunk": ["snappy"],
  "just an LZ4 block": ["lz4"],
  "an LZ4 block and a byte": ["lz4"],
};

const failures: string[] = [];
const written: [codec: string, level: number | null, content: string, bytes: string][] = [];
const said: [codec: string, name: string, magic: number, answer: string][] = [];
let checked = 0;
let smaller = "";

for (const [codec, levels] of Object.entries(LEVELS) as [CodecName, readonly (number | undefined)[]][]) {
  for (const level of levels) {
    for (const [name, content] of Object.entries(contents())) {
      const where = `${codec}, level ${level ?? "by default"}, ${name}`;
      const theirs = await askJava("compress", codec, level ?? "-", content);
      if (typeof theirs === "string") throw new Error(`Java could not write ${where}: ${theirs}`);
      if (LARGE[name] === undefined || (level === undefined && LARGE[name].includes(codec))) {
        written.push([codec, level ?? null, name, Buffer.from(theirs).toString("base64")]);
      }
      for (const { codec: ours, kind } of CODECS.filter(({ name }) => name === codec)) {
        try {
          if (!isSame(ours.decompress(theirs, content.length), content)) throw new Error("not the content");
        } catch (error) {
          failures.push(`${where}: ${kind} reads Java's wrongly: ${(error as Error).message}`);
        }
        const packed = ours.compress(content, level);
        const back = await askJava("decompress", codec, 2, packed);
        if (typeof back === "string" || !isSame(back, content)) {
          failures.push(
            `${where}: Java reads ${kind}'s wrongly: ${typeof back === "string" ? back : "not the content"}`,
          );
        }
        if (name === "text") smaller += `${where}: Java ${theirs.length} bytes, ${kind} ${packed.length}\n`;
        checked += 2;
      }
    }
  }
}
for (const { codec, name, magic, bytes } of oddInputs()) {
  const answer = await askJava("decompress", codec, magic, bytes);
  said.push([codec, name, magic, typeof answer === "string" ? answer : Buffer.from(answer).toString("base64")]);
}
java.stdin.end();

process.stdout.write(smaller);
for (const [codec, name, magic, answer] of said) {
  const { bytes } = oddInputs().find((odd) => odd.codec === codec && odd.name === name && odd.magic === magic)!;
  for (const { codec: implementation, kind } of CODECS.filter((one) => one.name === codec)) {
    let ours: string;
    try {
      ours = Buffer.from(implementation.decompress(bytes, 1 << 24)).toString("base64");
    } catch (error) {
      if (!(error instanceof CompressionError)) throw error;
      ours = `${error.code}: ${error.message}`;
    }
    const bothRefuse = ours.includes(":") && answer.startsWith("!");
    if (ours !== answer && !bothRefuse) {
      process.stdout.write(
        `${codec}, ${name}, magic ${magic}: Java ${answer.slice(0, 90)} | ${kind} ${ours.slice(0, 90)}\n`,
      );
    }
  }
}
for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
if (options.write && failures.length === 0) {
  writeFileSync("tests/vectors/codecs.json.gz", gzipSync(JSON.stringify({ written, said }), { level: 9 }));
}
process.stdout.write(`${checked - failures.length} passed, ${failures.length} failed\n`);
process.exitCode = failures.length === 0 ? 0 : 1;
