import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { murmur2 } from "../../src/hash/murmur2.ts";

// Java's `Utils.murmur2`: the first six lines of text are in its own test, the others were computed by it.
const TEXTS: readonly [key: string, hash: number][] = [
  ["21", -973932308],
  ["foobar", -790332482],
  ["a-little-bit-long-string", -985981536],
  ["a-little-bit-longer-string", -1486304829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ["abc", 479470107],
  ["", 275646681],
  ["0", 971027396],
  ["a", -1563381124],
  ["ab", 316155434],
  ["abcd", -1323649548],
  ["abcde", 461995741],
  ["abcdef", 1870650108],
  ["abcdefg", -346467175],
  ["abcdefgh", -955427363],
  ["kafka", -798503068],
  ["hello world", 1221641059],
  ["user-42", 1459644460],
  ["é", 186971271],
  ["日本語", 1431860170],
  ["😀", 131881617],
];

const BYTES: readonly [key: number[], hash: number][] = [
  [[0xff], -311467685],
  [[0x80, 0xff], -80095470],
  [[0xff, 0xff, 0xff], 1548199422],
  [[0xff, 0xff, 0xff, 0xff], 644171429],
  [[0], 375494588],
  [[0, 0, 0, 0], 850957120],
  [[0, 0, 0, 1], -173113808],
  [[0, 0, 0, 0, 0, 0, 0, 1], 2100486060],
];

// Partitions for 3, 7, 12 and 100 of them, by Java's rule: the hash's low 31 bits modulo their number.
const PARTITIONS: readonly [key: string, partitions: number[]][] = [
  ["", [0, 2, 9, 81]],
  ["0", [2, 3, 8, 96]],
  ["a", [1, 5, 4, 24]],
  ["ab", [2, 0, 2, 34]],
  ["abc", [0, 4, 3, 7]],
  ["abcd", [2, 5, 8, 0]],
  ["abcde", [1, 4, 1, 41]],
  ["abcdef", [0, 5, 0, 8]],
  ["abcdefg", [1, 4, 1, 73]],
  ["abcdefgh", [0, 0, 9, 85]],
  ["kafka", [1, 3, 4, 80]],
  ["hello world", [1, 2, 7, 59]],
  ["user-42", [1, 1, 4, 60]],
  ["日本語", [1, 6, 10, 70]],
  ["😀", [0, 0, 9, 17]],
];

describe("murmur2", () => {
  test("of text is Java's", () => {
    for (const [key, hash] of TEXTS) assert.equal(murmur2(new TextEncoder().encode(key)), hash, key);
  });

  test("of bytes is Java's", () => {
    for (const [key, hash] of BYTES) assert.equal(murmur2(Uint8Array.from(key)), hash, String(key));
  });

  test("leads to Java's partitions", () => {
    for (const [key, partitions] of PARTITIONS) {
      const hash = murmur2(new TextEncoder().encode(key)) & 0x7fffffff;
      assert.deepEqual([3, 7, 12, 100].map((count) => hash % count), partitions, key);
    }
  });
});
