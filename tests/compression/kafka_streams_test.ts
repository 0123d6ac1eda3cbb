import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { CompressionError } from "../../src/core/kafka_error.ts";
import { implementations } from "./implementations.ts";
import { type CodecName, contents, oddInputs } from "./odd_inputs.ts";

/** What the streams of Kafka's own classes wrote, and what they said of odd inputs: base64, or an error behind a "!". */
interface Vectors {
  readonly written: readonly [codec: CodecName, level: number | null, content: string, bytes: string][];
  readonly said: readonly [codec: CodecName, name: string, magic: number, answer: string][];
}

const vectors: Vectors = JSON.parse(
  new TextDecoder().decode(gunzipSync(readFileSync(new URL("../vectors/codecs.json.gz", import.meta.url)))),
);
const CODECS = await implementations();
const LIMIT = 1 << 20;

/** Where we do something else than Kafka's classes, on purpose; `null` where we refuse. */
const DIFFERENCES: { readonly [name in CodecName]: { readonly [input: string]: string | null } } = {
  gzip: {},
  // A cut is a cut: Java takes it for the end.
  snappy: { "a chunk's length cut": null },
  lz4: {
    // What other writers make and Java does not read, or only the first part of.
    "case 091: linked blocks, stored": "hello, world",
    "linked blocks": "hello, hello, hcdefg",
    "case 091: two frames": "hello, world",
    "a skippable frame first": "hello, ",
    "a skippable frame between two": "hello, world",
    "an empty stored block": "hello, ",
    "the old header checksum": "hello, ",
    // What Java does not look at.
    "content size too large": null,
    "content size too small": null,
    "case 091: a wrong content checksum": null,
    "three bytes behind": null,
    "ten bytes behind": null,
    "a match of distance 0": null,
    "a wrong header checksum": null,
  },
  // To Java, nothing and half a frame are contents, too. Newer versions of zstd refuse the block that has no headers.
  zstd: {
    "nothing at all": null,
    "a skippable frame only": null,
    "cut in the second frame": null,
    "a compressed block of nothing": null,
  },
};

for (const { codec, kind, name } of CODECS) {
  describe(`${name}, ${kind}`, () => {
    for (const [writer, level, content, bytes] of vectors.written) {
      if (writer !== name) continue;
      test(`reads what Kafka's stream wrote: ${content}, level ${level ?? "by default"}`, () => {
        const wanted = contents()[content]!;
        assert.deepEqual(codec.decompress(new Uint8Array(Buffer.from(bytes, "base64")), wanted.length), wanted);
      });
    }

    for (const [reader, input, magic, answer] of vectors.said) {
      if (reader !== name) continue;
      const different = DIFFERENCES[name][input];
      const theirs = answer.startsWith("!") ? null : Buffer.from(answer, "base64").toString();
      // Of format 0, Java takes any header checksum: it is wrong there, by an old fault.
      const wanted = different === undefined || (different !== null && magic === 0) ? theirs : different;
      const how = wanted === null ? "refuses" : "reads";
      test(`${how} ${input}${magic === 0 ? ", format 0" : ""}, ${wanted === theirs ? "as" : "unlike"} Kafka's`, () => {
        const { bytes } = oddInputs().find((odd) => odd.codec === name && odd.name === input && odd.magic === magic)!;
        if (wanted !== null) {
          assert.equal(Buffer.from(codec.decompress(bytes, LIMIT)).toString(), wanted);
          return;
        }
        const code = input.includes("2^60") ? "DECOMPRESSION_LIMIT" : "CORRUPT_COMPRESSION";
        assert.throws(
          () => codec.decompress(bytes, LIMIT),
          (error) => error instanceof CompressionError && error.code === code,
        );
      });
    }
  });
}

test("each odd input is answered by Kafka's classes, and each difference is one", () => {
  const key = (...words: readonly unknown[]) => words.join(" | ");
  assert.deepEqual(
    vectors.said.map(([codec, name, magic]) => key(codec, name, magic)),
    oddInputs().map(({ codec, name, magic }) => key(codec, name, magic)),
  );
  for (const [codec, names] of Object.entries(DIFFERENCES)) {
    for (const [name, ours] of Object.entries(names)) {
      const answers = vectors.said.filter((said) => said[0] === codec && said[1] === name).map((said) => said[3]);
      const same = ours === null ? "!" : Buffer.from(ours).toString("base64");
      assert.ok(answers.length > 0 && answers.some((answer) => (ours === null ? answer[0] : answer) !== same), name);
    }
  }
});
