import assert from "node:assert/strict";
import { test } from "node:test";
import { javaUtf8 } from "../../../src/cli/dump/java_utf8.ts";
import { fromHex } from "../../helpers/hex.ts";

/** Bytes, and the UTF-16 units that `new String(bytes, UTF_8)` of Java 17 makes of them. */
const VECTORS: readonly (readonly [bytes: string, units: string])[] = [
  ["eda0", "fffd"],
  ["43eda7", "0043fffd"],
  ["dfeda0", "fffdfffd"],
  ["eda0f0", "fffdfffd"],
  ["edbf90", "fffd"],
  ["efeda0", "fffdfffd"],
  ["2bc0eda0", "002bfffdfffd"],
  ["9fedb756", "fffdfffd0056"],
  ["c1ffedbf", "fffdfffdfffd"],
  ["eda0c1c1", "fffdfffdfffd"],
  ["edb4e0ff", "fffdfffdfffd"],
  ["eff3edbf", "fffdfffdfffd"],
  ["f5f5edbf", "fffdfffdfffd"],
  ["6eedbffff3", "006efffdfffdfffd"],
  ["9490f3eda0", "fffdfffdfffdfffd"],
  ["bf38c1edbf", "fffd0038fffdfffd"],
  ["d749eda0f0", "fffd0049fffdfffd"],
  ["eda0edf49f", "fffdfffdfffdfffd"],
  ["edb2f3c3d9", "fffdfffdfffdfffd"],
  ["edbfc041f3", "fffdfffd0041fffd"],
  ["efc2eda9ed", "fffdfffdfffdfffd"],
  ["f441edbdc0", "fffd0041fffdfffd"],
  ["f8f5eda0c1", "fffdfffdfffdfffd"],
  ["41ff", "0041fffd"],
  ["80", "fffd"],
  ["c2", "fffd"],
  ["e1", "fffd"],
  ["f0", "fffd"],
  ["efbbbf41", "feff0041"],
];

test("bytes that are no UTF-8 become the text that Java makes of them", () => {
  for (const [bytes, units] of VECTORS) {
    const text = javaUtf8(fromHex(bytes));
    const ours = Array.from({ length: text.length }, (_, n) => text.charCodeAt(n).toString(16).padStart(4, "0")).join(
      "",
    );
    assert.equal(ours, units, bytes);
  }
});
