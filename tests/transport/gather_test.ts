import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { randomInt, seededRandom } from "../../src/core/random.ts";
import { gather } from "../../src/transport/gather.ts";
import { bytes, pattern } from "./contract.ts";
import { join } from "./raw_peer.ts";

/** The pieces themselves; only the last may be in the scratch buffer. */
function pieces(parts: readonly Uint8Array[], scratch: Uint8Array): Uint8Array[] {
  return [...gather(parts, scratch)];
}

/** Copies of the pieces, taken when they were yielded. */
function copied(parts: readonly Uint8Array[], scratch: Uint8Array): Uint8Array[] {
  const all: Uint8Array[] = [];
  for (const piece of gather(parts, scratch)) all.push(piece.slice());
  return all;
}

describe("gather", () => {
  test("joins small neighbours in the scratch buffer", () => {
    const scratch = new Uint8Array(10);
    const got = pieces([bytes(1), bytes(2, 3), bytes(4)], scratch);
    assert.deepEqual(got, [bytes(1, 2, 3, 4)]);
    assert.equal(got[0]!.buffer, scratch.buffer);
  });

  test("passes a part that stands alone through as it is", () => {
    const scratch = new Uint8Array(10);
    const big = pattern(11);
    const alone = bytes(1, 2);
    assert.equal(pieces([big], scratch)[0], big);
    assert.equal(pieces([bytes(), alone, bytes()], scratch)[0], alone);
    const got = copied([bytes(1), bytes(2), big, bytes(3), bytes(4)], scratch);
    assert.deepEqual(got, [bytes(1, 2), big, bytes(3, 4)]);
    // Ten bytes fill the buffer to the brim; the eleventh begins the next piece.
    assert.deepEqual(copied([pattern(9), bytes(1), bytes(2)], scratch).map((piece) => piece.length), [10, 1]);
  });

  test("yields nothing for nothing", () => {
    assert.deepEqual(pieces([], new Uint8Array(4)), []);
    assert.deepEqual(pieces([bytes(), bytes()], new Uint8Array(4)), []);
  });

  test("keeps every byte and their order, whatever the sizes", () => {
    const random = seededRandom(5);
    for (let round = 0; round < 500; round++) {
      const scratch = new Uint8Array(1 + randomInt(random, 64));
      const parts = Array.from({ length: randomInt(random, 30) }, () => pattern(randomInt(random, 80), random));
      const got = copied(parts, scratch);
      assert.deepEqual(join(got), join(parts));
      assert.ok(got.every((piece) => piece.length > 0));
    }
  });
});
