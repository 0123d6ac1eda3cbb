import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { RecordBatch } from "../../src/records/record_batch.ts";
import { compareBatch, compareBatches, type ExpectedBatch } from "../helpers/golden_batches.ts";

/** Partition directories that Kafka wrote, and what Kafka's own classes say of them. */
const SETS = ["01-plain", "07-transactions", "08a-compacted", "10a-killed", "14-builder", "15-odd-v2"];
const WITH_ZSTD = ["14-builder", "15-odd-v2"];

const codecs = { ...nativeCodecs(), ...plainCodecs };
const hasZstd = codecs.zstd !== undefined; // not in Node.js 20

describe("batches that Kafka wrote are read as Kafka reads them", () => {
  for (const set of SETS) {
    test(`all of golden set ${set}`, { skip: !hasZstd && WITH_ZSTD.includes(set) }, () => {
      assert.ok(compareBatches(fileURLToPath(new URL(`../golden/${set}`, import.meta.url)), codecs) > 0);
    });
  }

  interface Vector {
    readonly set: string;
    readonly partition: string;
    readonly batch: ExpectedBatch;
    readonly records: readonly (readonly unknown[])[];
    readonly bytes: string;
  }
  const packed = readFileSync(new URL("../vectors/kafka_batches.json.gz", import.meta.url));
  const vectors: Vector[] = JSON.parse(new TextDecoder().decode(gunzipSync(packed)));

  for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
    test(`batches in ${codec}, of several sets`, { skip: codec === "zstd" && !hasZstd }, () => {
      const chosen = vectors.filter(({ batch }) => batch.codec === codec);
      assert.ok(chosen.length >= 3);
      for (const { batch: expected, bytes, records, set } of chosen) {
        const context = { position: expected.position };
        const batch = new RecordBatch(new Uint8Array(Buffer.from(bytes, "base64")), context);
        compareBatch(batch, expected, records, codecs, `${set} at ${expected.position}`);
      }
    });
  }

  test("gzip by node:zlib reads them, too", () => {
    for (const { batch: expected, bytes, records } of vectors.filter(({ batch }) => batch.codec === "gzip")) {
      const batch = new RecordBatch(new Uint8Array(Buffer.from(bytes, "base64")), { position: expected.position });
      compareBatch(batch, expected, records, nativeCodecs(), "native");
    }
  });
});
